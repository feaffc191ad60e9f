/*
 * fronts.c - the set of dialect processes: sends each answer to the process that made the request.
 *
 * Runs in:  reckond's loop.
 * Reads:    nothing from a process.
 * Never:    sends an answer to another or a later process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "api/check.h"
#include "api/image.h"
#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/log.h"
#include "host/host.h"
#include "host/fronts/inner.h"
#include "host/descriptors.h"

#define STOP_MS 3000u

bool front_is_pending(const struct host *host, uint64_t request)
{
	struct front_conn *front = front_of_request(host, request);

	return front != NULL && front_has_pending(front, request);
}

bool front_is_busy(const struct host *host)
{
	for (size_t i = 0; i < dialect_count(); i++)
		if (host->fronts.of[i] != NULL && host->fronts.of[i]->pending_count > 0)
			return true;
	return false;
}

/* The process that made the request, which is no longer pending then; NULL: nobody waits. */
static struct front_conn *take_asker(const struct host *host, uint64_t request)
{
	struct front_conn *front = front_of_request(host, request);

	return front != NULL && front_take_pending(front, request) ? front : NULL;
}

/* ---- answers -------------------------------------------------------------------------------- */

void front_reply_call(struct host *host, uint64_t request, const struct api_type *type,
		     const void *out)
{
	front_reply_call_fd(host, request, type, out, -1);
}

/*
 * If the whole answer is one long JSON value, puts it into a sealed file that goes with the image,
 * which gets null in its place: the dialect can send the file as it is. *out becomes a copy with
 * the null.
 */
static int put_apart(const struct api_type *type, const void **out, struct arena *arena,
		     int *ret_fd, struct err *err)
{
	for (size_t i = 0; i < type->count; i++) {
		const struct api_field *field = &type->fields[i];
		const struct api_bytes *json = api_at(field, *out);
		void *copy;

		if (field->place != API_WHOLE || field->kind != API_JSON || json->data == NULL ||
		    json->len <= API_APART_MIN)
			continue;
		if (fd_memfd_sealed("reckon-body", json->data, json->len, ret_fd, err) < 0)
			return (int)err->code;
		copy = arena_new(arena, 1, type->size);
		memcpy(copy, *out, type->size);
		*(struct api_bytes *)api_to(field, copy) = (struct api_bytes){ "null", 4 };
		*out = copy;
		return 0;
	}
	return 0;
}

void front_reply_call_fd(struct host *host, uint64_t request, const struct api_type *type,
			const void *out, int fd)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	cleanup_fd int file = fd;
	struct front_conn *front;
	struct err err;

	cleanup_arena struct arena arena = { 0 };

	if (!front_is_pending(host, request))
		return;
	if (file < 0 && put_apart(type, &out, &arena, &file, &err) < 0)
		front_fail(host, request, API_ERR_INTERNAL, err.text, "", "", 0);
	else if (api_image_write(type, out, &payload, &err) < 0)
		front_fail(host, request, API_ERR_INTERNAL, err.text, "", "", 0);
	else if ((front = take_asker(host, request)) != NULL)
		front_post(front, FRONT_REPLY, request, &payload, TAKE_FD(file));
}

/* "" becomes NULL. */
static const char *text_or_null(const char *text)
{
	return text != NULL && text[0] != '\0' ? text : NULL;
}

static void write_failure(struct buf *payload, const struct api_failure *failure)
{
	struct err err;

	if (api_image_write(&api_type_failure, failure, payload, &err) < 0)
		log_line(LOG_ERROR, "an error was lost", "why=\"%s\"", err.text);
}

void front_release(struct host *host)
{
	for (size_t i = 0; i < dialect_count(); i++)
		if (host->fronts.of[i] != NULL)
			front_flush(host->fronts.of[i]);
}

enum api_error front_storage_error(const struct err *err)
{
	return err->errnum == ENOSPC ? API_ERR_DISK_FULL : API_ERR_INTERNAL;
}

static void fail_turns(struct front_conn *front, uint64_t first, const struct err *failed)
{
	for (struct outgoing *at = front->first; at != NULL; at = at->next) {
		if (at->transaction < first)
			continue;
		at->transaction = first - 1;
		if (at->is_reading)
			continue;
		buf_clear(&at->payload);
		if (at->fd >= 0)
			(void)close(at->fd);
		at->fd = -1;
		at->type = FRONT_ERROR;
		write_failure(&at->payload,
			      &(struct api_failure){ .error = front_storage_error(failed),
						     .message = "what was done could not be kept",
						     .cause = text_or_null(failed->text),
						     .remedy = text_or_null(failed->remedy) });
	}
	front_flush(front);
}

void front_fail_transactions(struct host *host, uint64_t first, const struct err *failed)
{
	for (size_t i = 0; i < dialect_count(); i++)
		if (host->fronts.of[i] != NULL)
			fail_turns(host->fronts.of[i], first, failed);
}

void front_failure(struct host *host, uint64_t request, const struct api_failure *failure)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	struct front_conn *front = take_asker(host, request);

	if (front == NULL)
		return;
	write_failure(&payload, failure);
	front_post(front, FRONT_ERROR, request, &payload, -1);
}

void front_fail(struct host *host, uint64_t request, enum api_error error, const char *message,
	       const char *cause, const char *remedy, unsigned retry_s)
{
	front_failure(host, request,
		     &(struct api_failure){ .error = error,
					    .message = message,
					    .cause = text_or_null(cause),
					    .remedy = text_or_null(remedy),
					    .retry_s = retry_s });
}

void front_fail_err(struct host *host, uint64_t request, const struct err *err)
{
	/* Another process writes: nothing was changed, and a retry may succeed. */
	const bool is_busy = err->errnum == EBUSY;

	front_fail(host, request, is_busy ? API_ERR_UNAVAILABLE : front_storage_error(err),
		   err->text, "", err->remedy, is_busy ? 1 : 0);
}

enum api_error front_error_of(const reckon_error *error)
{
	static const struct {
		int code;
		enum api_error error;
	} known[] = {
		{ RECKON_EINVALID, API_ERR_INVALID },
		{ RECKON_ENOT_FOUND, API_ERR_NOT_FOUND },
		{ RECKON_EDENIED, API_ERR_DENIED },
		{ RECKON_ELIMIT, API_ERR_LIMIT },
		{ RECKON_ETIMEOUT, API_ERR_TIMEOUT },
		/*
		 * The box is lost: the session gets another one (restore_park()), and a retry may
		 * succeed.
		 */
		{ RECKON_ELOST, API_ERR_UNAVAILABLE },
		{ RECKON_EUNAVAILABLE, API_ERR_UNAVAILABLE },
		{ RECKON_EKERNEL_LOST, API_ERR_KERNEL_LOST },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].code == error->code)
			return known[i].error;
	return API_ERR_INTERNAL;
}

void front_fail_reckon(struct host *host, uint64_t request, const reckon_error *error)
{
	/* libreckon's remedy is not for clients of a daemon. */
	if (error->code == RECKON_ELOST)
		front_fail(host, request, front_error_of(error), error->message, "",
			  "ask again: the session gets another box, with its files", 1);
	else if ((error->code == RECKON_ESYSTEM || error->code == RECKON_EUNAVAILABLE) &&
		 !descriptors_are_left())
		front_fail(
			host, request, API_ERR_OVERLOADED, DESCRIPTORS_NONE_LEFT, error->message,
			"wait until something ends, or raise the daemon's limit of open files", 1);
	else
		front_fail(host, request, front_error_of(error), error->message, "", error->remedy,
			   0);
}

/* ---- counters and states -------------------------------------------------------------------- */

void front_counts(const struct host *host, struct front_stats *ret, unsigned *ret_restarts)
{
	memset(ret, 0, sizeof(*ret));
	*ret_restarts = 0;
	for (size_t i = 0; i < dialect_count(); i++) {
		if (host->fronts.of[i] == NULL)
			continue;
		front_child_counts(&host->fronts.of[i]->child, ret);
		*ret_restarts += host->fronts.of[i]->restarts;
	}
}

void front_settings(struct host *host)
{
	for (size_t i = 0; i < dialect_count(); i++)
		if (host->fronts.of[i] != NULL)
			front_child_settings(&host->fronts.of[i]->child, &host->config);
}

static enum api_dialect_state state_of(const struct front_conn *front)
{
	if (front == NULL || (front->sock < 0 && !front->was_started))
		return API_DIALECT_STATE_IDLE;
	if (front->sock < 0)
		return API_DIALECT_STATE_DOWN;
	return front->state == FRONT_STATE_SERVING ? API_DIALECT_STATE_UP
						  : API_DIALECT_STATE_STARTING;
}

size_t front_states(const struct host *host, struct api_dialect ret[DIALECTS_MAX])
{
	for (size_t i = 0; i < dialect_count(); i++)
		ret[i] = (struct api_dialect){
			.name = dialect_name(i),
			.state = state_of(host->fronts.of[i]),
			.restarts = host->fronts.of[i] != NULL ? host->fronts.of[i]->restarts : 0,
		};
	return dialect_count();
}

/* ---- start and stop ------------------------------------------------------------------------- */

int front_start(struct host *host, front_call_fn *on_call, struct err *err)
{
	struct front_conn *native = front_of_dialect(host, DIALECT_NATIVE, err);

	host->fronts.on_call = on_call;
	host->fronts.on_frame = front_on_frame;
	return native == NULL ? (int)err->code : front_spawn(native, err);
}

static bool all_have_ended(const struct host *host)
{
	bool have_ended = true;

	for (size_t i = 0; i < dialect_count(); i++)
		if (host->fronts.of[i] != NULL && !front_child_has_ended(&host->fronts.of[i]->child))
			have_ended = false;
	return have_ended;
}

void front_stop(struct host *host)
{
	const uint64_t end = clock_mono_ns() + STOP_MS * 1000000ull;
	const struct timespec pause = { .tv_nsec = 5000000 };

	/* End of file on its socket tells a process to send its answers and exit. */
	for (size_t i = 0; i < dialect_count(); i++)
		if (host->fronts.of[i] != NULL && host->fronts.of[i]->sock >= 0)
			(void)shutdown(host->fronts.of[i]->sock, SHUT_WR);
	while (!all_have_ended(host) && clock_mono_ns() < end)
		(void)nanosleep(&pause, NULL);
	for (size_t i = 0; i < dialect_count(); i++) {
		if (host->fronts.of[i] == NULL)
			continue;
		front_free(host->fronts.of[i]);
		host->fronts.of[i] = NULL;
	}
}

const struct module fronts_module = {
	.transactions_failed = front_fail_transactions,
	.settled = front_release,
};
