/*
 * frames.c - checks and dispatches the frames of a dialect process.
 *
 * Runs in:  reckond's loop.
 * Reads:    frames of a process that may be compromised; front_may_send(), front_check_handoff()
 *           and the field table check them.
 * Never:    continues with a process that violated the protocol.
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

static uint64_t request_of(const struct front_conn *front, const struct front_head *head)
{
	return front->generation << PEER_ID_BITS | head->id;
}

/* Registers a new request, which must be answered. */
static int take_id(struct front_conn *front, const struct front_head *head, uint64_t *ret,
		   struct err *err)
{
	if (head->id > PEER_ID_MASK || head->id <= front->last_id ||
	    front->pending_count >= FRONT_PENDING_MAX)
		return err_set(err, ERR_PROTOCOL,
			       "request id %" PRIu64 " is none, or again, or too many", head->id);
	front->last_id = head->id;
	*ret = request_of(front, head);
	front_add_pending(front, *ret);
	return 0;
}

static int take_call(struct front_conn *front, const struct front_head *head, struct err *err)
{
	struct api_bytes rest = { buf_text(&front->payload), front->payload.len };
	cleanup_arena struct arena arena = { 0 };
	struct api_caller caller = { 0 };
	struct request req = { 0 };
	void *in;

	if (front->state != FRONT_STATE_SERVING || head->type == 0 ||
	    head->type >= API_CALL_COUNT || api_calls[head->type].is_local)
		return err_set(err, ERR_PROTOCOL, "call %u in state %d", head->type,
			       (int)front->state);
	req.call = &api_calls[head->type];
	in = arena_new(&arena, 1, req.call->takes->size);
	if (api_image_read(&api_type_caller, &rest, &arena, &caller, err) < 0 ||
	    api_image_read(req.call->takes, &rest, &arena, in, err) < 0)
		return (int)err->code;
	if (rest.len != 0)
		return err_set(err, ERR_PROTOCOL, "a call with %zu bytes too many", rest.len);
	if (take_id(front, head, &req.id, err) < 0)
		return (int)err->code;
	front->host->fronts.on_call(front->host, &req, &caller, in);
	return 0;
}

static int take_control(struct front_conn *front, const struct front_head *head, struct err *err)
{
	if (!front_may_send(front->state, head->type))
		return err_set(err, ERR_PROTOCOL, "frame %u in state %d", head->type,
			       (int)front->state);
	if (head->type == FRONT_READY) {
		front_came_up(front);
		return 0;
	}
	if (head->id > PEER_ID_MASK)
		return err_set(err, ERR_PROTOCOL, "request id %" PRIu64, head->id);
	(void)front_take_pending(front, request_of(front, head));
	MODULE_EACH(front->host, request_gone, front->host, request_of(front, head));
	return 0;
}

static int take_frame(struct front_conn *front, const struct front_head *head, int *fd,
		      struct err *err)
{
	const bool is_call = (head->flags & FRONT_FLAG_CALL) != 0;

	if (!is_call && head->type == FRONT_HANDOFF)
		return handoff_take(front, head, fd, err);
	if (*fd >= 0)
		return err_set(err, ERR_PROTOCOL, "a descriptor from the front");
	return is_call ? take_call(front, head, err) : take_control(front, head, err);
}

void front_on_frame(unsigned ready, void *arg)
{
	struct front_conn *front = arg;
	struct front_head head;
	struct err err;

	if ((ready & LOOP_WRITE) != 0)
		front_flush(front);
	for (int i = 0; i < FRAMES_IN_A_ROW; i++) {
		cleanup_fd int fd = -1;
		int n = front_recv(front->sock, &head, &front->payload, &fd, &err);

		if (n == ERR_TIMEOUT)
			return;
		if (n > 0)
			n = take_frame(front, &head, &fd, &err);
		else if (n == 0)
			n = err_set(&err, ERR_LOST, "it ended");
		if (n < 0) {
			front_lost(front, err.text);
			return;
		}
		if (front->payload.cap > FRONT_INLINE_MAX * 2)
			buf_done(&front->payload); /* frees a large buffer after use */
	}
}
