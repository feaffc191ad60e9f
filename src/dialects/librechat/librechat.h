/*
 * librechat.h - declarations shared by the files of the LibreChat dialect.
 *
 *   routes.c     maps paths to handlers
 *   librechat.c  the error format
 *   ids.c        converts Reckon's ids to LibreChat's
 *   owner.c      owners of files: a user or an entity
 *   store.c      finds files of sessions that may have ended
 *   exec.c       /exec: a program
 *   machine.c    boxes that persist between runs
 *   inputs.c     its files, into its box
 *   outputs.c    changes of its files
 *   files.c      lists and downloads
 *   upload.c     uploads as forms
 *   programmatic.h  /exec/programmatic: programs that call tools
 *
 * A *storage session* is a session, usually an ended one, whose artifacts hold the files.
 */
#pragma once

#include <stdbool.h>

#include "codec/json_write.h"
#include "dialects/call.h"
#include "dialects/program/program.h"
#include "dialects/program/program_code.h"

#define LIBRECHAT_JSON "application/json"
#define LIBRECHAT_BODY_MAX (50u * 1024u * 1024u)
#define LIBRECHAT_FILES_MAX 200u
#define LIBRECHAT_LIST_MAX ((size_t)4 * 1024 * 1024)

/* ---- ids.c ---- */
#define LIBRECHAT_ID_LEN 21
#define LIBRECHAT_ID_SIZE (LIBRECHAT_ID_LEN + 1)
#define OURS_SIZE 40

#define LIBRECHAT_READ_ONLY 1u /* of a file: its changes are not stored */

/* Writes "" if the id cannot be converted. */
void librechat_session_id(const char *session, char ret[LIBRECHAT_ID_SIZE]);
void librechat_file_id(const char *artifact, unsigned flags, char ret[LIBRECHAT_ID_SIZE]);
/* False: not a valid id. An artifact's id loses its last digit: the result is a prefix. */
bool librechat_session_of(const char *id, char ret[OURS_SIZE]);
bool librechat_artifact_of(const char *id, char ret[OURS_SIZE], unsigned *ret_flags);

/* ---- owner.c ---- */
#define LIBRECHAT_OWNER_SIZE 256

/* The requester, as LibreChat reports it; "": unknown. */
struct librechat_owner {
	char user[LIBRECHAT_OWNER_SIZE];
	char entity[LIBRECHAT_OWNER_SIZE]; /* an agent or skill that the request uses */
};

/* `body` may be NULL. Here and below: negative means that an answer was sent. */
int librechat_who(struct request *request, const struct json_value *body,
		  struct librechat_owner *ret);
/* Files of this kind belong to all users of the entity. */
bool librechat_is_shared(const char *kind);
/* From now on files of the session (se_…) belong to the user, and to requests for the entity. */
int librechat_own(struct request *request, const char *session, const char *user,
		  const char *entity);
/* 1: they may use this session's files; 0: it belongs to another user. `entity` NULL: that of
 * `who`. */
int librechat_may_use(struct request *request, const char *session,
		      const struct librechat_owner *who, const char *entity);

/* ---- store.c ---- */
struct librechat_file {
	char session[LIBRECHAT_ID_SIZE], id[LIBRECHAT_ID_SIZE];
	char artifact[OURS_SIZE];
	char name[PROGRAM_PATH_MAX];
	uint64_t size;
	char mime[128], sha256[72], created_at[40];
	unsigned flags;
};

/* 1: found; 0: the key's tenant has no such file. */
int librechat_find(struct request *request, const char *session, const char *id,
		   struct librechat_file *ret);
/* Calls `fn` for each file of a session once, in its newest version; false stops. As
 * librechat_find(). */
typedef bool librechat_each_fn(const struct librechat_file *file, void *arg);
int librechat_each(struct request *request, const char *session, librechat_each_fn *fn, void *arg);
/* Opens a file: the caller closes the descriptor. As librechat_find(). */
int librechat_open(struct request *request, const struct librechat_file *file, int *ret_fd,
		   uint64_t *ret_size);

/* ---- exec.c ---- */
struct librechat_input {
	struct librechat_file file; /* `name`: its path in the box */
	char artifact[PROGRAM_ARTIFACT_SIZE]; /* its artifact in the run's session */
	bool is_changed; /* changed or deleted */
};

struct librechat_exec {
	struct program_code code;
	struct librechat_owner who;
	struct librechat_input *inputs;
	size_t count;
	const char *hint; /* of the persistent machine that it runs on; NULL: its own box */
	bool is_reused;
};

void librechat_exec(struct request *request);

/* ---- machine.c ---- */
/* Refuses requests that expect persistent state. */
bool librechat_expects_state(struct request *request);
/* The requested persistent machine; *ret NULL: none. */
int librechat_hint(struct request *request, const struct json_value *body, const char **ret);
/* Gives the program the machine's session, which it creates if missing. */
int librechat_machine(struct request *request, struct librechat_exec *exec, const char *hint,
		      uint64_t output_bytes);

/* ---- inputs.c ---- */
int librechat_find_inputs(struct request *request, const struct json_value *body,
			  struct librechat_exec *exec);
int librechat_put_inputs(struct request *request, struct librechat_exec *exec);

/* ---- outputs.c ---- */
/* Writes the member "files": files that the program created or changed, then unchanged inputs.
 * `files` is the list of a process or a record. */
void librechat_write_outputs(struct json_writer *json, struct librechat_exec *exec,
			     const struct json_value *files);

/* ---- files.c ---- */
void librechat_list(struct request *request, const char *session);
void librechat_show(struct request *request, const char *session, const char *id);
void librechat_delete(struct request *request, const char *session, const char *id);
void librechat_download(struct request *request, const char *session, const char *id);

/* ---- upload.c ---- */
void librechat_upload(struct request *request, bool is_batch);

/* ---- librechat.c ---- */
/* A member that is a text; else "". */
void librechat_answer(struct request *request, unsigned status, struct json_writer *json,
		      struct buf *body);
void librechat_refuse(struct request *request, const struct refusal *refusal);
int librechat_refuse_file(struct request *request);
