/*
 * stream.c - passes on the events of an execution or process, in order and once, across broken
 * connections.
 *
 * Runs in:  programs that are clients of a daemon.
 * Reads:    events of a server; their JSON may hold what a box wrote.
 * Never:    runs a cell twice: a repeated request has the same Idempotency-Key.
 *
 *   POST …/executions (key) ──events──▶  breaks  ──▶ GET …/events, Last-Event-ID ──events──▶ done
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "client/inner.h"
#include "codec/sse.h"

#define TRIES_MAX 6u /* in a row without an event: about 10 s */
#define PAUSE_MS 100u

struct stream {
	struct client *client;
	const struct client_execution *execution;
	const struct client_stream *plan; /* the stream to follow; or NULL */
	const struct transfer *transfer; /* the current exchange */
	struct sse sse;
	char id[ID_SIZE]; /* of the execution, once it is known */
	bool is_done;
	struct client_answer failure; /* of a "failed" event; status 0: there was none */
	bool is_dead; /* the private daemon is gone */
	unsigned events; /* on this connection */
};

static int take_failure(struct stream *stream, const struct sse_event *event, struct err *err)
{
	struct json_value *document = NULL;
	int code;

	stream->is_done = true;
	if (json_read_parse(event->data, event->len, CLIENT_JSON_MAX, &document, err) < 0)
		return err_wrap(err, "%s", stream->client->name);
	/* The server lost the session or the execution: there is no record. */
	code = answer_error(stream->client, json_read_member(document, "error"), 410, err);
	stream->failure = stream->client->last;
	json_read_free(document);
	return code;
}

static int on_event(const struct sse_event *event, void *arg, struct err *err)
{
	struct stream *stream = arg;
	int code;

	if (stream->is_done)
		return 0;
	stream->events++;
	if (strcmp(event->name, "failed") == 0)
		return take_failure(stream, event, err);
	code = stream->execution->on_event(event->name, event->data, event->len,
					   stream->execution->on_event_arg, err);
	if (code == 0 &&
	    strcmp(event->name, stream->plan != NULL ? stream->plan->last : "done") == 0)
		stream->is_done = true;
	return code;
}

static void note_id(struct stream *stream, const char *id)
{
	if (stream->id[0] != '\0' || id[0] == '\0')
		return;
	(void)snprintf(stream->id, sizeof(stream->id), "%s", id);
	if (stream->execution->on_begun != NULL)
		stream->execution->on_begun(stream->id, stream->execution->on_event_arg);
}

static int on_bytes(const char *bytes, size_t len, void *arg, struct err *err)
{
	struct stream *stream = arg;

	/* The reply's head comes before all events. */
	note_id(stream, stream->transfer->execution);
	return sse_feed(&stream->sse, bytes, len, err);
}

static int on_wake(const char *execution, void *arg, struct err *err)
{
	struct stream *stream = arg;

	note_id(stream, execution);
	return stream->execution->on_wake(stream->id, stream->execution->on_wake_arg, err);
}

/* Connects to the events: sends the request, or resumes the stream of an earlier request. */
static int connect_once(struct stream *stream, const char *key, bool *ret_again, bool *ret_turn,
			struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);
	char header[64 + ID_SIZE];
	const bool is_first = stream->plan == NULL && stream->id[0] == '\0';
	struct transfer transfer = {
		.client = stream->client,
		.method = is_first ? "POST" : "GET",
		.body = is_first ? stream->execution->body : NULL,
		.header = header,
		.accept = "text/event-stream",
		.sink = on_bytes,
		.sink_arg = stream,
		.is_stream = true,
		.wake_fd = stream->execution->wake_fd,
		.on_wake = on_wake,
		.on_wake_arg = stream,
	};
	int code;

	if (is_first)
		(void)snprintf(header, sizeof(header), "Idempotency-Key: %s", key);
	else
		(void)snprintf(header, sizeof(header), "Last-Event-ID: %s",
			       stream->sse.id[0] != '\0' ? stream->sse.id : "0");
	if ((stream->plan != NULL ? buf_adds(&path, stream->plan->path, err)
				  : buf_addf(&path, err, "sessions/%s/executions%s%s%s",
					     stream->execution->session, is_first ? "" : "/",
					     stream->id, is_first ? "" : "/events")) < 0)
		return (int)err->code;
	transfer.path = buf_text(&path);
	sse_restart(&stream->sse);
	stream->transfer = &transfer;
	code = transfer_run(&transfer, err);
	stream->transfer = NULL;
	if (stream->failure.status != 0)
		stream->client->last = stream->failure;
	if (is_first)
		note_id(stream, transfer.execution);
	/* A reply that ends before its last event is broken, too: a proxy may cause that. */
	*ret_again = !stream->is_done && (code == 0 || transfer.is_broken);
	if (*ret_again && code == 0)
		code = err_set(err, ERR_UNAVAILABLE, "%s ended the stream of events",
			       stream->client->name);
	/* A private daemon that is gone does not come back by itself. */
	if (stream->client->is_private && transfer.is_broken &&
	    transfer.result == CURLE_COULDNT_CONNECT)
		stream->is_dead = true;
	transfer_done(&transfer);
	/* A refusal, which does not count as a broken connection. */
	*ret_turn = wait_for_turn(&transfer, code, &code, err);
	return code;
}

static void pause_before(unsigned tries)
{
	const unsigned ms = PAUSE_MS << tries;
	const struct timespec pause = { .tv_sec = ms / 1000,
					.tv_nsec = (long)(ms % 1000) * 1000000 };

	(void)nanosleep(&pause, NULL);
}

static int follow(struct stream *stream, const char *key, struct err *err)
{
	unsigned tries = 0;
	bool again = false, turn = false;

	for (;;) {
		int code;

		stream->events = 0;
		code = connect_once(stream, key, &again, &turn, err);
		if (turn)
			continue;
		if (!again)
			return code;
		if (stream->events > 0)
			tries = 0;
		if (tries++ == TRIES_MAX || stream->is_dead)
			break;
		pause_before(tries);
	}
	(void)err_wrap(err, "the connection broke while %s ran",
		       stream->plan != NULL ? "the process" : "the cell");
	err->code = ERR_UNAVAILABLE;
	if (stream->plan != NULL && !stream->is_dead)
		return err_remedy(err, "reckon ps -a -s SESSION says what became of it");
	return err_remedy(
		err, stream->is_dead ? "reckon session show says what became of the session"
				     : "if the daemon still runs, so does the cell: reckon logs -s "
				       "SESSION has its record");
}

int client_execute(struct client *client, const struct client_execution *execution,
		   struct err *err)
{
	struct stream stream = { .client = client, .execution = execution };
	cleanup_buf struct buf body = BUF_INIT(CLIENT_JSON_MAX);
	struct client_execution with_stream = *execution;
	char key[ID_SIZE];
	int code;

	/* {"code": …} becomes {"stream":true,"code": …} */
	if (id_new(key, "ik", err) < 0 || buf_adds(&body, "{\"stream\":true,", err) < 0 ||
	    buf_add(&body, buf_text(execution->body) + 1, execution->body->len - 1, err) < 0)
		return (int)err->code;
	with_stream.body = &body;
	stream.execution = &with_stream;
	sse_init(&stream.sse, CLIENT_JSON_MAX, on_event, &stream);
	code = follow(&stream, key, err);
	sse_done(&stream.sse);
	return code;
}

static int wake_plan(const char *id, void *arg, struct err *err)
{
	const struct client_stream *plan = arg;

	(void)id;
	return plan->on_wake(plan->on_wake_arg, err);
}

int client_follow(struct client *client, const struct client_stream *plan, struct err *err)
{
	struct client_stream own = *plan;
	const struct client_execution execution = {
		.on_event = plan->on_event,
		.on_event_arg = plan->on_event_arg,
		.wake_fd = plan->wake_fd,
		.on_wake = wake_plan,
		.on_wake_arg = &own,
	};
	struct stream stream = { .client = client, .execution = &execution, .plan = &own };
	int code;

	sse_init(&stream.sse, CLIENT_JSON_MAX, on_event, &stream);
	code = follow(&stream, "", err);
	sse_done(&stream.sse);
	return code;
}
