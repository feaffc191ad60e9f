/*
 * frames.c - what a dialect process sends, judged and handed on.
 *
 * Runs in:  reckond's loop.
 * Reads:    frames of a process that may be captured; front_may_send(), front_check_handoff()
 *           and the field table judge them.
 * Never:    goes on with a process that broke a rule.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/image.h"
#include "base/cleanup.h"
#include "host/host.h"
#include "host/fronts/inner.h"

#define FRAMES_IN_A_ROW 64

static uint64_t request_of(const struct peer *peer, const struct front_head *head)
{
	return peer->generation << PEER_ID_BITS | head->id;
}

/* A new one, that is to be answered. */
static int take_id(struct peer *peer, const struct front_head *head, uint64_t *ret,
		   struct err *err)
{
	if (head->id > PEER_ID_MASK || head->id <= peer->last_id ||
	    peer->pending_count >= FRONT_PENDING_MAX)
		return err_set(err, ERR_PROTOCOL,
			       "request id %" PRIu64 " is none, or again, or too many", head->id);
	peer->last_id = head->id;
	*ret = request_of(peer, head);
	peer_add_pending(peer, *ret);
	return 0;
}

static int take_call(struct peer *peer, const struct front_head *head, struct err *err)
{
	struct api_bytes rest = { buf_text(&peer->payload), peer->payload.len };
	cleanup_arena struct arena arena = { 0 };
	struct api_caller caller = { 0 };
	struct asked asked = { 0 };
	void *in;

	if (peer->state != FRONT_STATE_SERVING || head->type == 0 ||
	    head->type >= API_CALL_COUNT || api_calls[head->type].is_local)
		return err_set(err, ERR_PROTOCOL, "call %u in state %d", head->type,
			       (int)peer->state);
	asked.call = &api_calls[head->type];
	in = arena_new(&arena, 1, asked.call->takes->size);
	if (api_image_read(&api_type_caller, &rest, &arena, &caller, err) < 0 ||
	    api_image_read(asked.call->takes, &rest, &arena, in, err) < 0)
		return (int)err->code;
	if (rest.len != 0)
		return err_set(err, ERR_PROTOCOL, "a call with %zu bytes too many", rest.len);
	if (take_id(peer, head, &asked.id, err) < 0)
		return (int)err->code;
	answer_call(peer->host, &asked, &caller, in);
	return 0;
}

static int take_control(struct peer *peer, const struct front_head *head, struct err *err)
{
	if (!front_may_send(peer->state, head->type))
		return err_set(err, ERR_PROTOCOL, "frame %u in state %d", head->type,
			       (int)peer->state);
	if (head->type == FRONT_READY) {
		peer_came_up(peer);
		return 0;
	}
	if (head->id > PEER_ID_MASK)
		return err_set(err, ERR_PROTOCOL, "request id %" PRIu64, head->id);
	(void)peer_take_pending(peer, request_of(peer, head));
	answer_cancel(peer->host, request_of(peer, head));
	return 0;
}

static int take_frame(struct peer *peer, const struct front_head *head, int *fd, struct err *err)
{
	const bool is_call = (head->flags & FRONT_FLAG_CALL) != 0;

	if (!is_call && head->type == FRONT_HANDOFF)
		return handoff_take(peer, head, fd, err);
	if (*fd >= 0)
		return err_set(err, ERR_PROTOCOL, "a descriptor from the front");
	return is_call ? take_call(peer, head, err) : take_control(peer, head, err);
}

void peer_on_frame(unsigned ready, void *arg)
{
	struct peer *peer = arg;
	struct front_head head;
	struct err err;

	if ((ready & LOOP_WRITE) != 0)
		peer_flush(peer);
	for (int i = 0; i < FRAMES_IN_A_ROW; i++) {
		cleanup_fd int fd = -1;
		int n = front_recv(peer->sock, &head, &peer->payload, &fd, &err);

		if (n == ERR_TIMEOUT)
			return;
		if (n > 0)
			n = take_frame(peer, &head, &fd, &err);
		else if (n == 0)
			n = err_set(&err, ERR_LOST, "it ended");
		if (n < 0) {
			peer_lost(peer, err.text);
			return;
		}
		if (peer->payload.cap > FRONT_INLINE_MAX * 2)
			buf_done(&peer->payload); /* a large one is no reason to stay large */
	}
}
