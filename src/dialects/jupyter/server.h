/*
 * server.h - what the files of the Jupyter dialect share.
 *
 *   routes.c    which path is whose
 *   config.c    settings of clients
 *   login.c     passwords and cookies instead of tokens
 *   server.c    what the server is, answers, the form of an error
 *   ids.c       a kernel's UUID is another spelling of an id; pure
 *   home.c      the session whose workspace is the folder of notebooks
 *   kernels.c   kernels: found, made, interrupted, restarted, ended
 *   kernels_rest.c  as REST knows them
 *   sessions.c  which notebook has which kernel
 *   contents.c, contents_route.c, change.c, checkpoints.c, bytes.c   files of the workspace
 *   terminals.c shells in it
 *   channels.c  the WebSocket of a kernel: cells, one after the other, and what is asked beside them
 *   cell.c      one cell; during_cell.c what comes while it runs; send.c messages to the client
 *   clients.c   the connections of a kernel, and what they share; queue.c messages that wait for one
 *   answers.c   what is answered without running code: kernel_info, completion, …
 *   frames.c    messages on a WebSocket, in both forms; pure
 */
#pragma once

#include <stdbool.h>

#include "codec/json_write.h"
#include "codec/jupyter/jupyter_history.h"
#include "dialects/call.h"
#include "dialects/events.h"

#define SERVER_JSON "application/json"
#define SERVER_BODY_MAX (1u * 1024u * 1024u)
#define FRAME_MAX ((size_t)64 * 1024 * 1024)
#define ANSWER_MAX ((size_t)64 * 1024 * 1024)

static inline void server_json_done(struct json_value **value)
{
	json_read_free(*value);
}
#define cleanup_json __attribute__((cleanup(server_json_done)))

/* ---- ids.c ---- */
#define UUID_SIZE 37
#define ID_SIZE 40

/* Of a session, a context or a document, and back. */
bool server_uuid_of(const char *id, char ret[UUID_SIZE]);
bool server_session_of(const char *uuid, char ret[ID_SIZE]);
bool server_context_of(const char *uuid, char ret[ID_SIZE]);
bool server_document_of(const char *uuid, char ret[ID_SIZE]);

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

#define FRAME_ID_SIZE 64
/* What is sent: `header` and `parent` are JSON objects, `content` as well. */
struct frame_out {
	const char *channel, *id, *type;
	struct frame_part header, parent, content;
};
int frame_write_text(const struct frame_out *out, struct buf *ret, struct err *err);
int frame_write_binary(const struct frame_out *out, struct buf *ret, struct err *err);

/* ---- config.c ---- */
void config_route(struct request *request, const char *rest);

/* ---- login.c ---- */
/* Uses the key in the session's cookie, if the request has no other. */
void login_use_cookie(struct request *request);
void login_show_home(struct request *request);
void login_show_form(struct request *request);
void login_take_password(struct request *request);
void login_end(struct request *request);

/* ---- home.c ---- */
enum home { HOME_GONE = -1, HOME_NONE = 0, HOME_FOUND = 1 };
/* HOME_GONE: it was answered. */
enum home home_find(struct request *request, char ret[ID_SIZE]);
/* Made when it is not there yet; negative: it was answered. */
int home_open(struct request *request, char ret[ID_SIZE]);

/* ---- kernels.c ---- */
/* A session, or a context of the home. */
struct kernel_ref {
	char session[ID_SIZE];
	char context[ID_SIZE]; /* "": its first kernel */
	char language[64];
	char created_at[40];
	bool is_busy;
};

const char *kernels_context(const struct kernel_ref *kernel);
void kernels_write(struct json_writer *json, const struct kernel_ref *kernel);
/* Negative: it was answered. */
int kernels_find(struct request *request, const char *uuid, struct kernel_ref *ret);
/* A session of its own, or, with the path of a notebook, a context of the home. */
int kernels_make(struct request *request, const char *spec, const char *path,
		 struct kernel_ref *ret);
/* `fn` for each; it ends when `fn` returns false. Negative: it was answered. */
typedef bool kernels_each_fn(const struct kernel_ref *kernel, void *arg);
int kernels_each(struct request *request, kernels_each_fn *fn, void *arg);
enum call_status kernels_make_end(struct request *request, const struct kernel_ref *kernel,
				  struct call *call);
enum call_status kernels_make_interrupt(struct request *request, const struct kernel_ref *kernel,
					struct call *call);
enum call_status kernels_make_restart(struct request *request, const struct kernel_ref *kernel,
				      struct call *call);
/* False: it has none. */
bool kernels_uuid(const struct kernel_ref *kernel, char ret[UUID_SIZE]);

/* ---- kernels_rest.c ---- */
void kernels_route(struct request *request, const char *rest);

/* ---- sessions.c, contents.c, terminals.c: what is behind their paths ---- */
void sessions_route(struct request *request, const char *rest);
void contents_route(struct request *request, const char *rest);
void contents_show(struct request *request, const char *path);
void contents_download(struct request *request, const char *rest);
void terminals_route(struct request *request, const char *rest);
void terminals_serve(struct request *request, const char *name);

/* ---- bytes.c ---- */
#define CONTENTS_MAX ((size_t)64 * 1024 * 1024) /* of one file, read or written through JSON */
#define CONTENTS_PATH_SIZE 4096u

void bytes_refuse_missing(struct request *request, const char *path);
void bytes_refuse(struct request *request, const struct api_failure *failure, const char *path);
/* The content of a file. Negative: it was answered. */
int bytes_read(struct request *request, const char *session, const char *path, struct buf *ret,
	       struct api_download *ret_file);
/* Replaces it, or only makes it; API_ERR_EXISTS… are the caller's in `call`. */
enum call_status bytes_write(struct request *request, const char *session, const char *path,
			     const struct buf *bytes, bool only_new, struct call *call);

/* ---- contents.c ---- */
/* A file or folder, as the list of its folder or the file itself tells it. */
struct entry {
	const char *path;
	const char *modified;
	uint64_t size;
	bool is_folder, has_size;
	const char *sha256; /* NULL: not asked for */
};
void contents_begin(struct json_writer *json, const struct entry *entry);
/* Without its content. */
void contents_write(struct json_writer *json, const struct entry *entry);
bool contents_is_notebook(const char *path);
/* What is at the path is answered so, without its content. */
void contents_answer(struct request *request, const char *session, const char *path,
		     unsigned status);
/* The names of a folder, as JSON: {"files": [{"path", "kind", "size", "modified"}]} */
int contents_list(struct request *request, const char *session, const char *folder,
		  struct json_value **ret);

/* ---- change.c, checkpoints.c ---- */
void change_make(struct request *request, const char *folder);
void change_write(struct request *request, const char *path);
void change_move(struct request *request, const char *path);
void change_remove(struct request *request, const char *path);
void checkpoints_route(struct request *request, const char *path, const char *rest);

/* ---- queue.c ---- */
struct queued {
	struct queued *next;
	size_t size; /* of all of it */
	const char *channel; /* a literal */
	char id[FRAME_ID_SIZE], type[64];
	size_t header, parent, content; /* their lengths */
	char bytes[];
};
struct queue {
	struct queued *first, *last;
	size_t count, bytes;
	uint64_t dropped; /* of them, since somebody was told */
};
void queue_add(struct queue *queue, const struct frame_out *out);
struct queued *queue_take(struct queue *queue); /* for free(); NULL: there is none */
struct frame_out queued_frame(const struct queued *message);
void queue_move(struct queue *from, struct queue *to);
void queue_done(struct queue *queue);

/* ---- channels.c ---- */
#define SESSION_SIZE 128 /* of a client's session_id */
struct channels {
	struct request *request;
	struct kernel_ref kernel;
	char uuid[UUID_SIZE];
	char session[SESSION_SIZE]; /* "": the client gave none */
	bool is_binary;
	bool is_lost;	    /* without its client; cells that it began go on */
	bool is_drained;    /* and all that the client had sent was taken */
	bool is_replaced;   /* by a connection with the same session_id */
	bool is_over;	    /* the kernel was ended */
	bool was_restarted; /* since a cell began */
	struct clients *clients;
	struct channels *next;
	struct queue queue; /* messages of others that its client is to get */
	struct waiting *waiting;
	size_t to_abort;   /* of those: they came before the client was told of an error */
	struct cell *cell; /* that runs, or NULL */
};

void channels_serve(struct request *request, const char *uuid);

/* ---- clients.c ---- */
struct clients {
	struct clients *next;
	char kernel[UUID_SIZE];
	struct channels *first;
	uint64_t messages, cells; /* numbers of the last ones */
	struct jupyter_history history;
	char session[SESSION_SIZE]; /* of the client that was connected last; while nobody is */
	struct queue queue;	    /* for that one */
	bool has_ended;
};
void clients_join(struct channels *channels);
void clients_leave(struct channels *channels);
/* How many clients a kernel has; NULL: all kernels. */
unsigned clients_count(const char *kernel);
/* A lost connection of the same session whose cell runs, or NULL. */
struct channels *clients_asking(const struct channels *channels);
/* To those that are to have it besides the client of this connection. */
void clients_pass_on(struct channels *channels, const struct frame_out *out);
/* What this connection's client did not get: it is lost. */
void clients_keep(struct channels *channels, const struct frame_out *out);
int clients_write_header(struct clients *clients, const char *type, char ret_id[FRAME_ID_SIZE],
			 struct buf *ret, struct err *err);
void clients_restarted(const char *kernel);
/* It died by itself; a fresh one is in its place. */
void clients_died(const char *kernel);
void clients_ended(const char *kernel);

/* ---- send.c ---- */
/* Negative: nobody reads any more. `parent` may be NULL. */
int channels_send(struct channels *channels, const char *channel, const char *type,
		  const struct frame *parent, const struct buf *content);
/* A text of ours on stderr, for all. */
int channels_complain(struct channels *channels, const struct frame *parent, const char *text);
int channels_status(struct channels *channels, const struct frame *parent, const char *state);
/* A sign of life, for this client alone. */
int channels_beat(struct channels *channels);
/* As websocket_next(); what others gave the client to hear is sent before. */
int channels_next(struct channels *channels, uint64_t wait_ms, struct websocket_message *ret);

/* ---- during_cell.c ---- */
/* Messages that came while a cell ran. */
struct waiting {
	struct frame *frames;
	size_t first, count, bytes;
};
bool waiting_take(struct waiting *waiting, struct frame *ret);
void waiting_done(struct waiting *waiting);
/* What waits now does not run when the cell fails that runs. */
void channels_fail(struct channels *channels);
/* What the client says to the question of a cell that runs. */
int channels_answer(struct channels *channels, const struct frame *frame);
/* While a cell runs: until the next message, which is answered or kept, or until reckond answers. */
int channels_wait_during_cell(struct channels *channels);

/* ---- cell.c ---- */
struct cell {
	struct channels *channels;
	const struct frame *frame;
	uint64_t number;
	char execution[64];
	bool silent, has_error;
	bool may_ask;
	uint64_t question; /* that waits for its answer; 0: none does */
	struct json_value *record; /* NULL: it has not ended, or has none */
	char why[256];		   /* of one that has none */
};
/* 1: what waits behind it is not to run. */
int cell_run(struct channels *channels, const struct frame *frame);
int cell_abort(struct channels *channels, const struct frame *frame);

/* ---- answers.c ---- */
/* Whatever is not a cell: between busy and idle. */
int answers_handle(struct channels *channels, const struct frame *frame);

/* ---- server.c ---- */
void server_refuse(struct request *request, const struct refusal *refusal);
void server_show_version(struct request *request);
void server_show_me(struct request *request);
/* All kernelspecs, or the one behind the slash. */
void server_show_specs(struct request *request, const char *rest);
/* "2026-11-25T06:11:43.196Z", with the six digits that clients insist on. */
void server_write_moment(struct json_writer *json, const char *key, const char *moment);
/* The key is good, and the body is nothing to us. Negative: it was answered. */
int server_take_nothing(struct request *request);
/* The body: an object, or NULL when it is empty; its type is never looked at. */
int server_take_object(struct request *request, size_t max, struct json_value **ret);
/* A text of an object; "" when it is missing, null or of another kind. */
/* The language of a kernelspec, or NULL; and back. */
const char *server_language_of(const char *spec);
const char *server_spec_of(const char *language);
void server_answer(struct request *request, unsigned status, struct json_writer *json,
		   struct buf *body, const char *headers);
void server_answer_nothing(struct request *request);
