/*
 * server.h - declarations shared by the files of the Jupyter dialect.
 *
 *   routes.c    maps paths to handlers
 *   config.c    settings of clients
 *   login.c     passwords and cookies instead of tokens
 *   server.c    facts about the server, answers, the error format
 *   ids.c       converts ids to UUIDs and back; no side effects
 *   home.c      the session whose workspace is the folder of notebooks
 *   kernels.c   kernels: find, start, interrupt, restart, end
 *   kernels_rest.c  their REST routes
 *   sessions.c  which notebook has which kernel
 *   contents.c, contents_route.c, change.c, checkpoints.c, bytes.c   files of the workspace
 *   terminals.c shells in it
 *   channels.c  the WebSocket of a kernel: runs its cells one after the other
 *   cell.c      one cell; during_cell.c messages while it runs; send.c messages to the client
 *   clients.c   the connections of a kernel, and what they share; queue.c their queues
 *   answers.c   requests that run no cell: kernel_info, completion, …
 *   frames.c    messages on a WebSocket, in both formats; no side effects
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

/* Convert the id of a session, a context or a document, and back. False: not such an id. */
bool server_uuid_of(const char *id, char ret[UUID_SIZE]);
bool server_session_of(const char *uuid, char ret[ID_SIZE]);
bool server_context_of(const char *uuid, char ret[ID_SIZE]);
bool server_document_of(const char *uuid, char ret[ID_SIZE]);

/* ---- frames.c ---- */
struct frame_part {
	const char *data;
	size_t len;
};

/* A message from a client. Its texts live as long as the struct. */
struct frame {
	struct buf bytes;		   /* as received */
	struct json_value *whole, *header; /* `whole`: of a text frame; `header`: of a binary one */
	struct json_value *content;
	struct buf header_text; /* for the answers, as their parent */
	const char *channel, *type;
	const struct json_value *body; /* the content */
};

/* False: not a valid message; ignore it. Call frame_done() in either case. */
bool frame_read(const char *bytes, size_t len, bool is_binary, struct frame *ret);
void frame_done(struct frame *frame);
const char *frame_text(const struct frame *frame, const char *key, size_t *ret_len);
bool frame_flag(const struct frame *frame, const char *key, bool otherwise);

#define FRAME_ID_SIZE 64
/* A message to a client: `header`, `parent` and `content` are JSON objects. */
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
/* HOME_GONE: answered with an error, or the client disconnected. So is "negative" below. */
enum home home_find(struct request *request, char ret[ID_SIZE]);
/* Finds the home, or creates it. Negative: as above. */
int home_open(struct request *request, char ret[ID_SIZE]);

/* ---- kernels.c ---- */
/* A kernel: the first one of its own session, or a context of the home. */
struct kernel_ref {
	char session[ID_SIZE];
	char context[ID_SIZE]; /* "": the session's first kernel */
	char language[64];
	char created_at[40];
	bool is_busy;
};

const char *kernels_context(const struct kernel_ref *kernel);
void kernels_write(struct json_writer *json, const struct kernel_ref *kernel);
/* Negative: as above. */
int kernels_find(struct request *request, const char *uuid, struct kernel_ref *ret);
/* Starts a kernel: in its own session, or for a notebook's `path` as a context of the home. */
int kernels_make(struct request *request, const char *spec, const char *path,
		 struct kernel_ref *ret);
/* Calls `fn` for each kernel until it returns false. Negative: as above. */
typedef bool kernels_each_fn(const struct kernel_ref *kernel, void *arg);
int kernels_each(struct request *request, kernels_each_fn *fn, void *arg);
enum call_status kernels_make_end(struct request *request, const struct kernel_ref *kernel,
				  struct call *call);
enum call_status kernels_make_interrupt(struct request *request, const struct kernel_ref *kernel,
					struct call *call);
enum call_status kernels_make_restart(struct request *request, const struct kernel_ref *kernel,
				      struct call *call);
/* False: its id cannot be converted. */
bool kernels_uuid(const struct kernel_ref *kernel, char ret[UUID_SIZE]);

/* ---- kernels_rest.c ---- */
void kernels_route(struct request *request, const char *rest);

/* ---- sessions.c, contents.c, terminals.c ---- */
void sessions_route(struct request *request, const char *rest);
void contents_route(struct request *request, const char *rest);
void contents_show(struct request *request, const char *path);
void contents_download(struct request *request, const char *rest);
void terminals_route(struct request *request, const char *rest);
void terminals_serve(struct request *request, const char *name);

/* ---- bytes.c ---- */
#define CONTENTS_MAX ((size_t)64 * 1024 * 1024) /* of a file that is read or written as JSON */
#define CONTENTS_PATH_SIZE 4096u

void bytes_refuse_missing(struct request *request, const char *path);
void bytes_refuse(struct request *request, const struct api_failure *failure, const char *path);
/* Reads a whole file. Negative: as above. */
int bytes_read(struct request *request, const char *session, const char *path, struct buf *ret,
	       struct api_download *ret_file);
/* Creates or replaces a file; `only_new`: fails if it exists. The caller answers a CALL_FAILED. */
enum call_status bytes_write(struct request *request, const char *session, const char *path,
			     const struct buf *bytes, bool only_new, struct call *call);

/* ---- contents.c ---- */
/* A file or folder, from the list of its folder or from the file itself. */
struct entry {
	const char *path;
	const char *modified;
	uint64_t size;
	bool is_folder, has_size;
	const char *sha256; /* NULL: not requested */
};
void contents_begin(struct json_writer *json, const struct entry *entry);
/* Writes its model without content. */
void contents_write(struct json_writer *json, const struct entry *entry);
bool contents_is_notebook(const char *path);
/* Answers with the model of the file or folder at the path, without content. */
void contents_answer(struct request *request, const char *session, const char *path,
		     unsigned status);
/* Lists a folder: {"files": [{"path", "kind", "size", "modified"}]}. Negative: as above. */
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
	size_t size; /* of the struct and its bytes */
	const char *channel; /* a string literal */
	char id[FRAME_ID_SIZE], type[64];
	size_t header, parent, content; /* lengths, in this order in `bytes` */
	char bytes[];
};
struct queue {
	struct queued *first, *last;
	size_t count, bytes;
	uint64_t dropped; /* messages dropped since the client was last told */
};
void queue_add(struct queue *queue, const struct frame_out *out);
struct queued *queue_take(struct queue *queue); /* free() it; NULL: empty */
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
	bool is_lost;	    /* the client is gone; its running cell continues */
	bool is_drained;    /* and all messages that it had sent were read */
	bool is_replaced;   /* by a connection with the same session_id */
	bool is_over;	    /* the kernel has ended */
	bool was_restarted; /* since the running cell began */
	struct clients *clients;
	struct channels *next;
	struct queue queue; /* messages from other connections for this client */
	struct waiting *waiting;
	size_t to_abort;   /* how many of `waiting` came before the client was told of an error */
	struct cell *cell; /* the running one, or NULL */
};

void channels_serve(struct request *request, const char *uuid);

/* ---- clients.c ---- */
struct clients {
	struct clients *next;
	char kernel[UUID_SIZE];
	struct channels *first;
	uint64_t messages, cells; /* numbers of the last message and the last cell */
	struct jupyter_history history;
	char session[SESSION_SIZE]; /* of the last client, while none is connected */
	struct queue queue;	    /* messages for that client */
	bool has_ended;
};
void clients_join(struct channels *channels);
void clients_leave(struct channels *channels);
/* Number of clients of a kernel; NULL: of all kernels. */
unsigned clients_count(const char *kernel);
/* A lost connection of the same session_id whose cell still runs, or NULL. */
struct channels *clients_asking(const struct channels *channels);
/* Hands an iopub message to the kernel's other clients. If its own client is gone and no other gets
 * it, does the same as clients_keep(). */
void clients_pass_on(struct channels *channels, const struct frame_out *out);
/* Marks the client as gone. Hands the message that it did not get to its new connection; if no
 * client is connected, stores it. */
void clients_keep(struct channels *channels, const struct frame_out *out);
int clients_write_header(struct clients *clients, const char *type, char ret_id[FRAME_ID_SIZE],
			 struct buf *ret, struct err *err);
void clients_restarted(const char *kernel);
/* The kernel died by itself, and a new one has replaced it. */
void clients_died(const char *kernel);
void clients_ended(const char *kernel);

/* ---- send.c ---- */
/* Sends a message. `parent` may be NULL. Negative, here and below: the connection ends. */
int channels_send(struct channels *channels, const char *channel, const char *type,
		  const struct frame *parent, const struct buf *content);
/* Sends a text of the server as stderr, to all clients of the kernel. */
int channels_complain(struct channels *channels, const struct frame *parent, const char *text);
int channels_status(struct channels *channels, const struct frame *parent, const char *state);
/* Sends a heartbeat (status busy) to this client alone. */
int channels_beat(struct channels *channels);
/* As websocket_next(), after sending the messages in `queue`. */
int channels_next(struct channels *channels, uint64_t wait_ms, struct websocket_message *ret);

/* ---- during_cell.c ---- */
/* Messages that arrived while a cell ran: a ring. */
struct waiting {
	struct frame *frames;
	size_t first, count, bytes;
};
bool waiting_take(struct waiting *waiting, struct frame *ret);
void waiting_done(struct waiting *waiting);
/* Notes that the running cell has failed: only messages that wait now may be aborted. */
void channels_fail(struct channels *channels);
/* Passes the client's line of input to the running cell that asked for it. */
int channels_answer(struct channels *channels, const struct frame *frame);
/* While a cell runs: waits for the next message, which it handles or keeps, or for reckond. */
int channels_wait_during_cell(struct channels *channels);

/* ---- cell.c ---- */
struct cell {
	struct channels *channels;
	const struct frame *frame;
	uint64_t number;
	char execution[64];
	bool silent, has_error;
	bool may_ask;
	uint64_t question; /* number of the open request for input; 0: none */
	struct json_value *record; /* NULL: the cell has not ended, or has no record */
	char why[256];		   /* why there is no record */
};
/* Runs a cell. 1: cells that wait must be aborted. */
int cell_run(struct channels *channels, const struct frame *frame);
int cell_abort(struct channels *channels, const struct frame *frame);

/* ---- answers.c ---- */
/* Answers any request but a cell, between status busy and idle. */
int answers_handle(struct channels *channels, const struct frame *frame);

/* ---- server.c ---- */
void server_refuse(struct request *request, const struct refusal *refusal);
void server_show_version(struct request *request);
void server_show_me(struct request *request);
/* Answers with all kernelspecs, or with the one named after the slash. */
void server_show_specs(struct request *request, const char *rest);
/* Writes an RFC 3339 time with six digits after the point, which clients require. */
void server_write_moment(struct json_writer *json, const char *key, const char *moment);
/* Checks the key, and ignores the body. Negative: answered with an error, or the client is gone. */
int server_take_nothing(struct request *request);
/* The same, but reads the body: an object, or NULL if empty. Ignores its media type. */
int server_take_object(struct request *request, size_t max, struct json_value **ret);
/* The language of a kernelspec ("": the default one), or NULL; and back. */
const char *server_language_of(const char *spec);
const char *server_spec_of(const char *language);
void server_answer(struct request *request, unsigned status, struct json_writer *json,
		   struct buf *body, const char *headers);
void server_answer_nothing(struct request *request);
