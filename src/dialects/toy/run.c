/*
 * run.c - one request that makes six calls in a row: create, put, execute, events, get, delete.
 *
 * Runs in:  reckon-front-toy.
 * Reads:    a body of anybody; events of hostile programs.
 * Never:    stores anything: it deletes the session at the end.
 *
 * The answer is a stream: the events of the execution, then `event: file` with the file `output`,
 * if it is a single line.
 */
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "dialects/events.h"
#include "dialects/toy/toy.h"

#define LINE_MAX_BYTES 4096u
#define IDLE_MS 60000u /* lifetime of a session after its client has left */

/* Puts the request's body into the session as a file. */
static int put_input(struct request *request, const char *session, struct call *call)
{
	const struct http *http = request_head(request);
	struct api_upload upload;
	cleanup_fd int fd = -1;

	if (call_or_refuse(request, API_FILE_PUT,
			   &(struct api_file_put_in){ .session = session,
						      .path = "input",
						      .has_size = !http->is_chunked,
						      .size = http->length },
			   &upload, call) < 0)
		return -1;
	fd = TAKE_FD(call->reply.fd);
	upstream_cancel_when_gone(request, upload.ticket);
	if (request_body_to(request, fd, TOY_BODY_MAX) < 0) {
		upstream_cancel_now(request);
		return -1;
	}
	(void)close(TAKE_FD(fd));
	upstream_cancel_when_gone(request, 0);
	return call_or_refuse(request, API_FILE_COMMIT,
			      &(struct api_file_commit_in){ .ticket = upload.ticket }, NULL, call);
}

/* Sends all events as they come. */
static int send_events(struct request *request, struct api_execution_events_in *in,
		       struct call *call)
{
	struct event_reader reader;
	struct next_event next;

	events_open(&reader, request, API_EXECUTION_EVENTS, in);
	while (events_next(&reader, 0, call, &next) == EVENT_NEXT)
		if (sse_event(request, next.event.id, next.event.name, next.event.data.data,
			      next.event.data.len) < 0)
			return -1;
	return next.kind == EVENT_END ? 0 : -1;
}

static int execute(struct request *request, const char *session, struct call *call)
{
	const char *code = http_header(request_head(request), "x-toy");
	struct api_execute_out out;
	cleanup_arena struct arena arena = { 0 };

	if (call_or_refuse(request, API_EXECUTE,
			   &(struct api_execute_in){ .session = session,
						     .code = { code, strlen(code) },
						     .has_stream = true,
						     .stream = true },
			   &out, call) < 0 ||
	    out.execution == NULL)
		return -1;
	upstream_cancel_when_gone(request, call->frame);
	if (sse_begin(request, NULL) < 0)
		return -1;
	return send_events(request,
			   &(struct api_execution_events_in){
				   .session = session,
				   .execution = arena_text(&arena, out.execution->id,
							   strlen(out.execution->id)) },
			   call);
}

/* Sends the file `output`, if the code wrote one and it is a single line. */
static int send_output(struct request *request, const char *session, struct call *call)
{
	char line[LINE_MAX_BYTES];
	struct api_download download;
	ssize_t len;
	const enum call_status status = call_make(
		request, API_FILE_GET,
		&(struct api_file_get_in){ .session = session, .path = "output" }, &download, call);

	if (status != CALL_OK)
		return status == CALL_GONE ? -1 : 0;
	len = pread(call->reply.fd, line, sizeof(line), 0);
	if (len < 0 || memchr(line, '\n', (size_t)len) != NULL)
		return 0;
	return sse_event(request, 0, "file", line, (size_t)len);
}

void toy_run(struct request *request)
{
	cleanup_call struct call created = CALL_INIT, call = CALL_INIT;
	struct api_session session;

	if (call_or_refuse(request, API_SESSION_CREATE,
			   &(struct api_session_create_in){ .template = "python",
							    .has_idle_timeout_ms = true,
							    .idle_timeout_ms = IDLE_MS },
			   &session, &created) < 0)
		return;
	request_note(request, NULL, session.id, NULL);
	if (put_input(request, session.id, &call) < 0 ||
	    execute(request, session.id, &call) < 0 ||
	    send_output(request, session.id, &call) < 0 ||
	    call_or_refuse(request, API_SESSION_DELETE,
			   &(struct api_session_delete_in){ .session = session.id }, NULL,
			   &call) < 0)
		return;
	answer_end(request);
}
