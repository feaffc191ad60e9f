/*
 * native.h - what the files of the native API share.
 *
 *   native.c    a request: which call, its parts
 *   answer.c    what a call gave, as its answer
 *   begin.c     calls that begin something, which may be answered with its events
 *   follow.c    answers that are streams of events; socket.c: the same over a WebSocket
 *   terminal.c  the input and output of a process over a WebSocket
 *   download.c  answers that are files: types, names, conditions, ranges
 *   upload.c    bodies that are files
 *   usage.c     usage as CSV
 */
#pragma once

#include "dialects/call.h"
#include "dialects/events.h"

#define NATIVE_JSON "application/json"

/* What a request names, and what it takes: a struct of its call. */
struct native {
	struct request *request;
	const struct api_call *call;
	enum api_id id;
	struct arena *arena;
	void *in;
};

/* 400, with what is wrong. */
void native_refuse_invalid(struct request *request, const struct err *err);

/* Whether the client asks for this media type by a header. */
bool native_wants(const struct request *request, const char *media);
/* What the call gave, as JSON; what came as a file goes out as it is. */
void native_answer(const struct native *native, const void *out, const struct call *call);
/* False: the call begins nothing, and was not made. */
bool native_begin(const struct native *native, struct call *call);

/* An answer that is a stream: lines of its head, an event that goes before all others, or NULL. */
struct native_stream {
	const char *headers;
	const char *first_name;
	const struct buf *first;
};

/* The events of what the request began, as its answer: by the call `id`, which takes `in`. */
void native_follow(struct request *request, enum api_id id, void *in,
		   const struct native_stream *as);
/* A request for events: Last-Event-ID counts. */
void native_events(const struct native *native);
/* One event as a message: {"id": N, "event": NAME, "data": {…}}; gaps and failures too. */
void native_events_socket(struct request *request, struct event_reader *reader);
/* An event of a process as bytes: 1; 0: it is none of output, or of standard error. */
int native_terminal_send(struct request *request, const struct api_event *event);
/* What the client of a terminal sent. */
int native_terminal_take(struct request *request, const struct api_process_events_in *of,
			 const struct websocket_message *message);

void native_download(const struct native *native);
void native_upload(const struct native *native);
void native_usage_csv(struct request *request, const struct api_usage *usage);
