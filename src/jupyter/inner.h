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
#define SIGNATURES_KEPT 256u

/* One thread's way to all subscribers. */
struct publisher {
	void *push;
};

struct message;

struct kernel {
	reckon_session *session;
	const struct language *language;
	const struct jupyter_connection *connection;
	void *zmq;
	char id[SESSION_SIZE]; /* of messages: one for each process */
	atomic_ulong messages;
	atomic_bool is_ending, is_busy, wants_interrupt;
	/* main thread */
	void *shell, *stdin_socket;
	struct publisher publisher;
	uint64_t count; /* of cells */
	struct jupyter_history history;
	struct message *waiting; /* behind a cell that failed */
	size_t waiting_count;
	/* threads */
	pthread_t heartbeat, iopub, control;
	void *heartbeat_socket, *iopub_socket, *iopub_pull, *control_socket;
	struct publisher control_publisher;
};

/* A message that was received and is signed as it has to be. */
struct message {
	void *socket;
	struct buf parts[WIRE_PARTS_MAX];
	size_t count;
	struct wire_message wire;
	struct json_value *header, *content;
	const char *type;
};

/* ---- message.c ---- */
/* 1: one is there; 0: none is (with `wait`: it was nothing that counts); message_done() it. */
int message_receive(const struct kernel *kernel, void *socket, bool wait, struct message *ret);
void message_done(struct message *message);
/* To whoever sent `parent`, on `socket`. */
void message_send(struct kernel *kernel, void *socket, const struct message *parent,
		  const char *type, const struct buf *content);
/* To all; `parent` may be NULL. */
void message_publish(struct kernel *kernel, struct publisher *publisher,
		     const struct message *parent, const char *type, const struct buf *content);
void publish_status(struct kernel *kernel, struct publisher *publisher,
		    const struct message *parent, const char *state);
/* {"status": "ok"} */
void reply_ok(struct kernel *kernel, const struct message *request, const char *type);
/* Text of the content; "" when it is missing. `ret_len` may be NULL. */
const char *message_text(const struct message *message, const char *key, size_t *ret_len);
bool message_flag(const struct message *message, const char *key, bool otherwise);
/* Ends the text; false: it grew too long. */
bool content_end(struct json_writer *json);

/* ---- sockets.c ---- */
int sockets_open(struct kernel *kernel, struct err *err);
void sockets_close(struct kernel *kernel);
#define SOCKETS_TICK_MS 100

/* ---- waiting.c ---- */
#define WAITING_MAX ((size_t)256)
/*
 * Takes what waits behind a cell that failed, before the client is told of it: what it sends
 * afterwards is to run.
 */
void waiting_collect(struct kernel *kernel);

/* ---- shell.c, execute.c, ask.c, control.c ---- */
void shell_serve(struct kernel *kernel);
/* One request between busy and idle. */
void shell_handle(struct kernel *kernel, const struct message *request);
/* True: what waits behind it is not to run. */
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
