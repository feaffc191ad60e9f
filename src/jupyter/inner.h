/* inner.h - what the files of a Jupyter kernel share; see jupyter.h. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "codec/json_read.h"
#include "codec/json_write.h"
#include "codec/jupyter/jupyter_history.h"
#include "jupyter/jupyter.h"
#include "jupyter/wire.h"

#define MESSAGE_MAX ((size_t)256 * 1024 * 1024)
#define SESSION_SIZE 40
#define RECENT_SIGNATURES 256u

/* One thread's socket to the iopub thread, which sends to all subscribers. */
struct publisher {
	void *push;
};

struct message;

struct kernel {
	reckon_session *session;
	const struct language *language;
	const struct jupyter_connection *connection;
	void *zmq;
	char id[SESSION_SIZE]; /* session id in message headers; one per process */
	atomic_ulong messages;
	atomic_bool is_ending, is_busy, wants_interrupt;
	atomic_bool is_followed; /* somebody has subscribed to iopub */
	/* main thread */
	void *shell, *stdin_socket;
	struct publisher publisher;
	uint64_t count; /* number of the last cell */
	struct jupyter_history history;
	struct message *waiting; /* requests queued behind a cell that failed */
	size_t waiting_count;
	/* threads */
	pthread_t heartbeat, iopub, control;
	void *heartbeat_socket, *iopub_socket, *iopub_pull, *control_socket;
	struct publisher control_publisher;
};

/* A received message whose signature was checked. */
struct message {
	void *socket;
	struct buf parts[WIRE_PARTS_MAX];
	size_t count;
	struct wire_message wire;
	struct json_value *header, *content;
	const char *type;
};

/* ---- message.c ---- */
/* 1: *ret is a message, for message_done(). 0: there is none; with `wait`: or it was not valid. */
int message_receive(const struct kernel *kernel, void *socket, bool wait, struct message *ret);
void message_done(struct message *message);
/* Sends to the sender of `parent`, on `socket`. */
void message_send(struct kernel *kernel, void *socket, const struct message *parent,
		  const char *type, const struct buf *content);
/* Sends to all subscribers; `parent` may be NULL. */
void message_publish(struct kernel *kernel, struct publisher *publisher,
		     const struct message *parent, const char *type, const struct buf *content);
void publish_status(struct kernel *kernel, struct publisher *publisher,
		    const struct message *parent, const char *state);
/* Replies {"status": "ok"}. */
void reply_ok(struct kernel *kernel, const struct message *request, const char *type);
/* The content's text `key`, or "" if it is missing. `ret_len` may be NULL. */
const char *message_text(const struct message *message, const char *key, size_t *ret_len);
bool message_flag(const struct message *message, const char *key, bool otherwise);
/* Ends the object. False: that failed, and the message must be dropped. */
bool content_end(struct json_writer *json);

/* ---- sockets.c ---- */
int sockets_open(struct kernel *kernel, struct err *err);
void sockets_close(struct kernel *kernel);
#define SOCKETS_TICK_MS 100

/* ---- waiting.c ---- */
#define WAITING_MAX ((size_t)256)
/*
 * Collects the requests that are queued behind a failed cell, before the client gets the cell's
 * reply: cells that it sends after the reply must run.
 */
void waiting_collect(struct kernel *kernel);

/* ---- shell.c, execute.c, ask.c, control.c ---- */
void shell_serve(struct kernel *kernel);
/* Handles one request, between the status messages "busy" and "idle". */
void shell_handle(struct kernel *kernel, const struct message *request);
/* True: queued cells must not run. */
bool execute_request(struct kernel *kernel, const struct message *request);
void execute_abort(struct kernel *kernel, const struct message *request);
void ask_kernel_info(struct kernel *kernel, const struct message *request);
void ask_complete(struct kernel *kernel, const struct message *request);
void ask_inspect(struct kernel *kernel, const struct message *request);
void ask_is_complete(struct kernel *kernel, const struct message *request);
void ask_history(struct kernel *kernel, const struct message *request);
void ask_comm_info(struct kernel *kernel, const struct message *request);
void ask_comm(struct kernel *kernel, const struct message *request);
void *control_main(void *arg);
