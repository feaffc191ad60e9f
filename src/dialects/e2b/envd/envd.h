/*
 * envd.h - declarations shared by the files of a sandbox's envd: its files and processes.
 *
 *   files.c       /files: whole files, signed URLs
 *   upload.c      uploads
 *   compose.c     joins files
 *   envs.c        /envs: environment variables
 *   path.c        converts clients' paths
 *   rpc.c         Connect: messages, streams, errors
 *   entry.h       a file or folder in E2B's form
 *   inside.h      files outside the workspace, through a program in the box
 *   encoded.c     gzip and metadata of uploads and downloads
 *   filesystem.c  the service filesystem.Filesystem
 *   watch.c       changes of files as a stream; watcher.c: for clients that poll
 */
#pragma once

#include "codec/envelope.h"
#include "dialects/e2b/e2b.h"

#define E2B_RPC_MAX (4u * 1024u * 1024u) /* of one message from a client */
#define E2B_PATH_SIZE 4096u

/* ---- path.c ---- */
/* A file's absolute path, and its path in the workspace ("": the workspace itself). */
struct e2b_path {
	char whole[E2B_PATH_SIZE];
	const char *inside; /* points into `whole`; NULL: outside the workspace, see inside.h */
};
/* False: it is too long. */
bool e2b_path_of(const char *given, struct e2b_path *ret);
extern const char e2b_path_remedy[];

/* ---- files.c ---- */
void e2b_files(struct e2b *e2b);

/* ---- upload.c ---- */
void e2b_upload(struct e2b *e2b, const char *path);
/* Writes envd's answer for a written file; `metadata`: JSON, or NULL. */
void e2b_write_written(struct json_writer *json, const char *path, const char *metadata);

bool e2b_is_user(const char *name); /* "" counts as one */
void e2b_refuse_user(const struct e2b *e2b, const char *name);

/* ---- compose.c ---- */
void e2b_compose(struct e2b *e2b);

/* ---- envs.c ---- */
void e2b_envs(struct e2b *e2b);

/* ---- encoded.c ---- */
/* Whether the body is gzip or not encoded; else false: answered with an error. Call it before
 * reading the body. */
bool e2b_take_encoding(const struct e2b *e2b, bool *ret_is_gzip);
/* Unpacks into `fd`, at most `max` bytes. Negative: answered with an error, or the client
 * disconnected. */
int e2b_gunzip_to(const struct e2b *e2b, const char *bytes, size_t len, int fd, uint64_t max);
bool e2b_wants_gzip(const struct http *http);
void e2b_answer_gzip(const struct e2b *e2b, int fd, uint64_t size);
/* Reads the files' metadata from the head: a JSON object; NULL: none. False: answered with an
 * error. */
bool e2b_take_metadata(const struct e2b *e2b, const char **ret_json);
/* Stores metadata of existing files. False: answered with an error, or the client disconnected. */
bool e2b_keep_metadata(const struct e2b *e2b, const char *const *paths, size_t count,
		       const char *json);

/* ---- rpc.c ---- */
#define E2B_RPC_FILESYSTEM "filesystem.Filesystem"
bool e2b_is_rpc(const struct http *http);
/* Answers with an error; for a stream, in its last message. */
void e2b_rpc_refuse(struct request *request, unsigned status, const char *message);
/* Whether the body has the media type of the method. False: answered with an error. */
bool e2b_rpc_check(const struct e2b *e2b);
/* Whether the head names no user, or one that a box has. False: answered with an error. */
bool e2b_rpc_user(const struct e2b *e2b);
/* Reads the request's message. NULL: answered with an error. */
struct json_value *e2b_rpc_take(const struct e2b *e2b);
/* Answers a unary call. */
void e2b_rpc_answer(const struct e2b *e2b, struct json_writer *json);
void e2b_rpc_empty(const struct e2b *e2b);
/* Parts of a stream; negative as in httpd.h. `code` NULL: no error. */
int e2b_rpc_begin(const struct e2b *e2b);
int e2b_rpc_send(const struct e2b *e2b, struct json_writer *json);
int e2b_rpc_beat(const struct e2b *e2b, const char *message);
void e2b_rpc_end(const struct e2b *e2b, const char *code, const char *message);
#define E2B_RPC_LATE "context deadline exceeded"
/* How long a stream may be silent before a heartbeat; how long the client waits, 0: no limit. */
uint64_t e2b_rpc_ping_ms(const struct e2b *e2b);
uint64_t e2b_rpc_timeout_ms(const struct e2b *e2b);
/* A text member; "" if missing or not a text. */
const char *e2b_rpc_text(const struct json_value *message, const char *member);

/* ---- filesystem.c ---- */
void e2b_filesystem(struct e2b *e2b, const char *method);

/* ---- watch.c ---- */
void e2b_watch_dir(struct e2b *e2b, const struct json_value *message);

/* ---- watcher.c ---- */
/* The same for clients that poll. */
void e2b_watcher_create(struct e2b *e2b, const struct json_value *message);
void e2b_watcher_events(struct e2b *e2b, const struct json_value *message);
void e2b_watcher_remove(struct e2b *e2b, const struct json_value *message);
