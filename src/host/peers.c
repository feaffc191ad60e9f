/*
 * peers.c - the dialect processes as a set: an answer finds the process that asked by its request's id.
 *
 * Runs in:  reckond's loop.
 * Reads:    nothing from a process.
 * Never:    answers a process what another one, or an earlier one, asked.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "api/image.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "host/host.h"
#include "host/peer_inner.h"

#define STOP_MS 3000u

struct peer *peer_of_request(const struct host *host, uint64_t request)
{
	const uint64_t generation = request >> PEER_ID_BITS;

	for (size_t i = 0; i < dialect_count(); i++)
		if (host->peers[i] != NULL && host->peers[i]->sock >= 0 &&
		    host->peers[i]->generation == generation)
			return host->peers[i];
	return NULL;
}

struct peer *peer_of_dialect(struct host *host, size_t dialect, struct err *err)
{
	if (host->peers[dialect] == NULL)
		host->peers[dialect] = peer_new(host, dialect, err);
	return host->peers[dialect];
}

bool peer_is_pending(const struct host *host, uint64_t request)
{
	struct peer *peer = peer_of_request(host, request);

	return peer != NULL && peer_has_pending(peer, request);
}

bool peer_is_busy(const struct host *host)
{
	for (size_t i = 0; i < dialect_count(); i++)
		if (host->peers[i] != NULL && host->peers[i]->pending_count > 0)
			return true;
	return false;
}

/* Whom to answer, which is done once; NULL when nobody waits any more. */
static struct peer *take_asker(const struct host *host, uint64_t request)
{
	struct peer *peer = peer_of_request(host, request);

	return peer != NULL && peer_take_pending(peer, request) ? peer : NULL;
}

/* ---- answers -------------------------------------------------------------------------------- */

void peer_reply(struct host *host, uint64_t request, const struct buf *payload, int fd)
{
	struct peer *peer = take_asker(host, request);

	if (peer != NULL)
		peer_post(peer, FRONT_REPLY, false, request, payload, fd);
	else if (fd >= 0)
		(void)close(fd);
}

void peer_reply_call(struct host *host, uint64_t request, const struct api_type *type,
		     const void *out)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	struct peer *peer;
	struct err err;

	if (api_image_write(type, out, &payload, &err) < 0)
		peer_fail(host, request, FRONT_ERR_INTERNAL, err.text, "", "", 0);
	else if ((peer = take_asker(host, request)) != NULL)
		peer_post(peer, FRONT_REPLY, true, request, &payload, -1);
}

static void pack_error(struct buf *payload, enum front_error error, const char *message,
		       const char *cause, const char *remedy, unsigned retry_s)
{
	struct err err;

	if (front_pack_u64(payload, FRONT_TAG_ERROR, error, &err) < 0 ||
	    front_pack_text(payload, FRONT_TAG_MESSAGE, message, &err) < 0 ||
	    front_pack_text(payload, FRONT_TAG_CAUSE, cause, &err) < 0 ||
	    front_pack_text(payload, FRONT_TAG_REMEDY, remedy, &err) < 0 ||
	    front_pack_u64(payload, FRONT_TAG_RETRY_S, retry_s, &err) < 0)
		log_line(LOG_ERROR, "an error was lost", "why=\"%s\"", err.text);
}

void peer_release(struct host *host)
{
	for (size_t i = 0; i < dialect_count(); i++)
		if (host->peers[i] != NULL)
			peer_flush(host->peers[i]);
}

enum front_error peer_unkept(const struct err *err)
{
	return err->errnum == ENOSPC ? FRONT_ERR_DISK_FULL : FRONT_ERR_INTERNAL;
}

static void fail_turns(struct peer *peer, uint64_t first, const struct err *failed)
{
	for (struct outgoing *at = peer->first; at != NULL; at = at->next) {
		if (at->turn < first)
			continue;
		buf_clear(&at->payload);
		if (at->fd >= 0)
			(void)close(at->fd);
		at->fd = -1;
		at->type = FRONT_ERROR;
		at->is_call = false;
		pack_error(&at->payload,
			   peer_unkept(failed),
			   "what was done could not be kept", failed->text, failed->remedy, 0);
		at->turn = first - 1;
	}
	peer_flush(peer);
}

void peer_fail_turns(struct host *host, uint64_t first, const struct err *failed)
{
	for (size_t i = 0; i < dialect_count(); i++)
		if (host->peers[i] != NULL)
			fail_turns(host->peers[i], first, failed);
}

void peer_error(struct host *host, uint64_t request, const struct buf *payload)
{
	struct peer *peer = take_asker(host, request);

	if (peer != NULL)
		peer_post(peer, FRONT_ERROR, false, request, payload, -1);
}

void peer_fail(struct host *host, uint64_t request, enum front_error error, const char *message,
	       const char *cause, const char *remedy, unsigned retry_s)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_INLINE_MAX);
	struct peer *peer = take_asker(host, request);

	if (peer == NULL)
		return;
	pack_error(&payload, error, message, cause, remedy, retry_s);
	peer_post(peer, FRONT_ERROR, false, request, &payload, -1);
}

void peer_fail_err(struct host *host, uint64_t request, const struct err *err)
{
	/* Another process writes: nothing was done, and a moment later it may be. */
	const bool is_busy = err->errnum == EBUSY;

	peer_fail(host, request,
		  is_busy ? FRONT_ERR_UNAVAILABLE : peer_unkept(err),
		  err->text, "", err->remedy, is_busy ? 1 : 0);
}

enum front_error peer_error_of(const reckon_error *error)
{
	static const struct {
		int code;
		enum front_error error;
	} known[] = {
		{ RECKON_EINVALID, FRONT_ERR_INVALID },
		{ RECKON_ENOT_FOUND, FRONT_ERR_NOT_FOUND },
		{ RECKON_EDENIED, FRONT_ERR_DENIED },
		{ RECKON_ELIMIT, FRONT_ERR_LIMIT },
		{ RECKON_ETIMEOUT, FRONT_ERR_TIMEOUT },
		{ RECKON_ELOST, FRONT_ERR_SESSION_LOST },
		{ RECKON_EUNAVAILABLE, FRONT_ERR_UNAVAILABLE },
		{ RECKON_EKERNEL_LOST, FRONT_ERR_KERNEL_LOST },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].code == error->code)
			return known[i].error;
	return FRONT_ERR_INTERNAL;
}

void peer_fail_reckon(struct host *host, uint64_t request, const reckon_error *error)
{
	peer_fail(host, request, peer_error_of(error), error->message, "", error->remedy, 0);
}

void peer_reply_body(struct host *host, uint64_t request, const char *json, size_t len)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_INLINE_MAX);
	cleanup_fd int fd = -1;
	struct err err;
	int code;

	if (len + 64 < FRONT_INLINE_MAX) {
		code = front_pack(&payload, FRONT_TAG_BODY, json, len, &err);
	} else {
		code = fd_memfd_sealed("reckon-body", json, len, &fd, &err);
		if (code == 0)
			code = front_pack_u64(&payload, FRONT_TAG_SIZE, len, &err);
	}
	if (code < 0)
		peer_fail(host, request, FRONT_ERR_INTERNAL, err.text, "", "", 0);
	else
		peer_reply(host, request, &payload, TAKE_FD(fd));
}

/* ---- what they count, and how they are ------------------------------------------------------ */

void peer_counts(const struct host *host, struct front_page *ret, unsigned *ret_restarts)
{
	memset(ret, 0, sizeof(*ret));
	*ret_restarts = 0;
	for (size_t i = 0; i < dialect_count(); i++) {
		if (host->peers[i] == NULL)
			continue;
		front_child_counts(&host->peers[i]->child, ret);
		*ret_restarts += host->peers[i]->restarts;
	}
}

void peer_settings(struct host *host)
{
	for (size_t i = 0; i < dialect_count(); i++)
		if (host->peers[i] != NULL)
			front_child_settings(&host->peers[i]->child, &host->config);
}

static enum api_dialect_state state_of(const struct peer *peer)
{
	if (peer == NULL || (peer->sock < 0 && !peer->was_started))
		return API_DIALECT_STATE_IDLE;
	if (peer->sock < 0)
		return API_DIALECT_STATE_DOWN;
	return peer->state == FRONT_STATE_SERVING ? API_DIALECT_STATE_UP
						  : API_DIALECT_STATE_STARTING;
}

size_t peer_states(const struct host *host, struct api_dialect ret[DIALECTS_MAX])
{
	for (size_t i = 0; i < dialect_count(); i++)
		ret[i] = (struct api_dialect){
			.name = dialect_name(i),
			.state = state_of(host->peers[i]),
			.restarts = host->peers[i] != NULL ? host->peers[i]->restarts : 0,
		};
	return dialect_count();
}

/* ---- the start and the end of all ----------------------------------------------------------- */

int peer_start(struct host *host, struct err *err)
{
	struct peer *native = peer_of_dialect(host, DIALECT_NATIVE, err);

	return native == NULL ? (int)err->code : peer_spawn(native, err);
}

static bool all_have_ended(const struct host *host)
{
	bool have_ended = true;

	for (size_t i = 0; i < dialect_count(); i++)
		if (host->peers[i] != NULL && !front_child_has_ended(&host->peers[i]->child))
			have_ended = false;
	return have_ended;
}

void peer_stop(struct host *host)
{
	const uint64_t end = clock_mono_ns() + STOP_MS * 1000000ull;
	const struct timespec pause = { .tv_nsec = 5000000 };

	/* The end of our side tells each to send what it has and to go. */
	for (size_t i = 0; i < dialect_count(); i++)
		if (host->peers[i] != NULL && host->peers[i]->sock >= 0)
			(void)shutdown(host->peers[i]->sock, SHUT_WR);
	while (!all_have_ended(host) && clock_mono_ns() < end)
		(void)nanosleep(&pause, NULL);
	for (size_t i = 0; i < dialect_count(); i++) {
		if (host->peers[i] == NULL)
			continue;
		peer_free(host->peers[i]);
		host->peers[i] = NULL;
	}
}
