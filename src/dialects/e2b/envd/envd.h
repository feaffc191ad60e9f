/*
 * envd.h - the side of a sandbox that is its files and processes: what its files share.
 *
 *   files.c       /files: whole files, signed addresses
 *   upload.c      bodies that become files
 *   compose.c     files that become one
 *   envs.c        /envs: variables
 *   path.c        a client's paths, ours
 *   rpc.c         Connect: messages, streams, errors
 *   entry.h       a file or folder as it is told
 *   inside.h      files beside the workspace, by a program in the box
 *   encoded.c     gzip and metadata of uploads and downloads
 *   filesystem.c  the service filesystem.Filesystem
 *   watch.c       its methods that tell of changes: a stream; watcher.c: for those who ask
 */
#pragma once

#include "codec/envelope.h"
#include "dialects/e2b/e2b.h"

#define E2B_RPC_MAX (4u * 1024u * 1024u) /* of one message that a client sends */
#define E2B_PATH_SIZE 4096u

/* ---- path.c ---- */
/* What a client calls a file: whole, and as reckond knows it ("" is the workspace). */
struct e2b_path {
	char whole[E2B_PATH_SIZE];
	const char *inside; /* of `whole`; NULL: it is elsewhere in the box, see inside.h */
};
/* False: it is too long. */
bool e2b_path_of(const char *given, struct e2b_path *ret);
extern const char e2b_path_remedy[];

/* ---- files.c ---- */
void e2b_files(struct e2b *e2b);

/* ---- upload.c ---- */
void e2b_upload(struct e2b *e2b, const char *path);
/* What envd says of a file that was written; `metadata` in JSON, or NULL. */
void e2b_write_written(struct json_writer *json, const char *path, const char *metadata);

bool e2b_is_user(const char *name); /* "" is one, too */
void e2b_refuse_user(const struct e2b *e2b, const char *name);

/* ---- compose.c ---- */
void e2b_compose(struct e2b *e2b);

/* ---- envs.c ---- */
void e2b_envs(struct e2b *e2b);

/* ---- encoded.c ---- */
/* Whether the body is as it is or gzip; answers when it is neither. Called before it is read. */
bool e2b_take_encoding(const struct e2b *e2b, bool *ret_is_gzip);
/* Negative: it was answered. */
int e2b_gunzip_to(const struct e2b *e2b, const char *bytes, size_t len, int fd, uint64_t max);
bool e2b_wants_gzip(const struct http *http);
void e2b_answer_gzip(const struct e2b *e2b, int fd, uint64_t size);
/* What the head says of the files: an object in JSON, NULL: nothing. False: it was refused. */
bool e2b_take_metadata(const struct e2b *e2b, const char **ret_json);
/* Of files that are there. False: it was answered that it cannot be kept. */
bool e2b_keep_metadata(const struct e2b *e2b, const char *const *paths, size_t count,
		       const char *json);

/* ---- rpc.c ---- */
#define E2B_RPC_FILESYSTEM "filesystem.Filesystem"
bool e2b_is_rpc(const struct http *http);
/* Of a stream the error goes into its last message. */
void e2b_rpc_refuse(struct request *request, unsigned status, const char *message);
/* Whether the body is of the media type that the method takes; answers when it is not. */
bool e2b_rpc_check(const struct e2b *e2b);
/* Whether the user that the head names is one of a box; answers when it is not. */
bool e2b_rpc_user(const struct e2b *e2b);
/* The message that asks; NULL when that was answered with an error. */
struct json_value *e2b_rpc_take(const struct e2b *e2b);
/* Answers a unary call. */
void e2b_rpc_answer(const struct e2b *e2b, struct json_writer *json);
void e2b_rpc_empty(const struct e2b *e2b);
/* Of a stream; negative as in httpd.h. `code` NULL: it ends well. */
int e2b_rpc_begin(const struct e2b *e2b);
int e2b_rpc_send(const struct e2b *e2b, struct json_writer *json);
int e2b_rpc_beat(const struct e2b *e2b, const char *message);
void e2b_rpc_end(const struct e2b *e2b, const char *code, const char *message);
#define E2B_RPC_LATE "context deadline exceeded"
/* After how long a silent stream shows a sign of life; how long the client waits, 0: for ever. */
uint64_t e2b_rpc_ping_ms(const struct e2b *e2b);
uint64_t e2b_rpc_timeout_ms(const struct e2b *e2b);
/* A member by its name in JSON. */
const char *e2b_rpc_text(const struct json_value *message, const char *member);

/* ---- filesystem.c ---- */
void e2b_filesystem(struct e2b *e2b, const char *method);

/* ---- watch.c ---- */
void e2b_watch_dir(struct e2b *e2b, const struct json_value *message);

/* ---- watcher.c ---- */
/* The same for clients that ask what is new. */
void e2b_watcher_create(struct e2b *e2b, const struct json_value *message);
void e2b_watcher_events(struct e2b *e2b, const struct json_value *message);
void e2b_watcher_remove(struct e2b *e2b, const struct json_value *message);
