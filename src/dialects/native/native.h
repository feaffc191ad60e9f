/*
 * native.h - declarations shared by the files of the native API.
 *
 *   native.c    a request: its call and arguments
 *   answer.c    a call's result as its answer
 *   begin.c     calls that start something and may stream its events
 *   follow.c    streamed events; socket.c: the same over a WebSocket
 *   terminal.c  the input and output of a process over a WebSocket
 *   download.c  answers that are files: types, names, conditions, ranges
 *   upload.c    bodies that are files
 *   usage.c     usage as CSV
 */
#pragma once

#include "dialects/call.h"
#include "dialects/events.h"

#define NATIVE_JSON "application/json"

/* A request's call and its arguments: a struct of that call. */
struct native {
	struct request *request;
	const struct api_call *call;
	enum api_id id;
	struct arena *arena;
	void *in;
};

/* Refuses with 400 and the error. */
void native_refuse_invalid(struct request *request, const struct err *err);

/* Whether the client requests this media type by a header. */
bool native_wants(const struct request *request, const char *media);
/* Sends the result as JSON; a result that came as a file is sent unchanged. */
void native_answer(const struct native *native, const void *out, const struct call *call);
/* False: the call starts nothing, and was not made. */
bool native_begin(const struct native *native, struct call *call);

/* A streamed answer: header lines, and an event to send before all others, or NULL. */
struct native_stream {
	const char *headers;
	const char *first_name;
	const struct buf *first;
};

/* Streams the events of what the request started: by the call `id` with `in`. */
void native_follow(struct request *request, enum api_id id, void *in,
		   const struct native_stream *as);
/* Answers a request for events; uses Last-Event-ID. */
void native_events(const struct native *native);
/* Sends one event as a message: {"id": N, "event": NAME, "data": {…}}; gaps and failures, too. */
void native_events_socket(struct request *request, struct event_reader *reader);
/* Sends an event of a process as bytes: 1; 0: it is not output, or it is standard error. */
int native_terminal_send(struct request *request, const struct api_event *event);
/* Handles a message of a terminal's client. */
int native_terminal_take(struct request *request, const struct api_process_events_in *of,
			 const struct websocket_message *message);

void native_download(const struct native *native);
void native_upload(const struct native *native);
void native_usage_csv(struct request *request, const struct api_usage *usage);
