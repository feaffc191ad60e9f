/*
 * server.h - what the files of the Jupyter dialect share.
 *
 *   server.c    routes, kernelspecs, the form of an error
 *   ids.c       a kernel's UUID is a session's id in another spelling; pure
 *   kernels.c   kernels as REST knows them: started, listed, interrupted, restarted, ended
 *   channels.c  the WebSocket of a kernel: cells, one after the other, and what is asked beside them
 *   answers.c   what is answered without running code: kernel_info, completion, …
 *   frames.c    messages on a WebSocket, in both forms; pure
 */
#pragma once

#include <stdbool.h>

#include "codec/json_write.h"
#include "dialects/call.h"
#include "dialects/events.h"

#define SERVER_JSON "application/json"
#define SERVER_BODY_MAX (1u * 1024u * 1024u)
#define FRAME_MAX ((size_t)64 * 1024 * 1024)
#define ANSWER_MAX ((size_t)64 * 1024 * 1024)

/* ---- ids.c ---- */
#define UUID_SIZE 37
#define SESSION_ID_SIZE 40

bool server_uuid_of(const char *session, char ret[UUID_SIZE]);
bool server_session_of(const char *uuid, char ret[SESSION_ID_SIZE]);

/* ---- frames.c ---- */
struct frame_part {
	const char *data;
	size_t len;
};

/* A message of a client. Its texts live as long as it. */
struct frame {
	struct buf bytes;		   /* what came */
	struct json_value *whole, *header; /* of the old form: all of it; `header` of the new one */
	struct json_value *content;
	struct buf header_text; /* to be echoed */
	const char *channel, *type;
	const struct json_value *body; /* the content */
};

/* False: it is none, and is not answered. frame_done() it in any case. */
bool frame_read(const char *bytes, size_t len, bool is_binary, struct frame *ret);
void frame_done(struct frame *frame);
const char *frame_text(const struct frame *frame, const char *key, size_t *ret_len);
bool frame_flag(const struct frame *frame, const char *key, bool otherwise);

/* What is sent: `header` and `parent` are JSON objects, `content` as well. */
struct frame_out {
	const char *channel, *id, *type;
	struct frame_part header, parent, content;
};
int frame_write_text(const struct frame_out *out, struct buf *ret, struct err *err);
int frame_write_binary(const struct frame_out *out, struct buf *ret, struct err *err);

/* ---- kernels.c ---- */
void kernels_list(struct request *request);
void kernels_start(struct request *request);
void kernels_show(struct request *request, const char *uuid);
void kernels_end(struct request *request, const char *uuid);
void kernels_interrupt(struct request *request, const char *uuid);
void kernels_restart(struct request *request, const char *uuid);

/* ---- channels.c ---- */
struct channels {
	struct request *request;
	char session[SESSION_ID_SIZE];
	char language[64];
	char id[UUID_SIZE]; /* of our messages */
	uint64_t messages, count;
	bool is_binary;
	bool is_over; /* nobody reads, or the kernel was ended */
};

void channels_serve(struct request *request, const char *uuid);
/* Negative: nobody reads any more. `parent` may be NULL. */
int channels_send(struct channels *channels, const char *channel, const char *type,
		  const struct frame *parent, const struct buf *content);
int channels_status(struct channels *channels, const struct frame *parent, const char *state);

/* ---- answers.c ---- */
/* Whatever is no cell: between busy and idle. */
int answers_handle(struct channels *channels, const struct frame *frame);

/* ---- server.c ---- */
/* The language of a kernelspec, or NULL; and back. */
const char *server_language_of(const char *spec);
const char *server_spec_of(const char *language);
void server_answer(struct request *request, unsigned status, struct json_writer *json,
		   struct buf *body, const char *headers);
void server_answer_nothing(struct request *request);
