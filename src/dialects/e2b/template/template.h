/*
 * template.h - templates that clients build: declarations shared by the files of this folder.
 *
 *   paths.c    maps paths to handlers
 *   request.c  creates a build; receives its files
 *   start.c    starts a build: its origin, session, files and script
 *   follow.c   waits for its end after the client has its answer
 *   steps.c    converts a client's steps into lines of the script
 *   script.c   the script that runs them in a sandbox
 *   output.c   converts the script's output into a log and the build's results
 *   settle.c   finishes a build that has ended: its snapshot, and tags that lead to it
 *   status.c   the progress of a build
 *   tags.c     assigns, removes and lists tags
 *   show.c     lists, shows and removes templates; finds the one that a sandbox starts from
 *   names.c    names and tags
 *   store.c    the documents of templates and builds
 *
 * A build is a document and, while it runs, a session with one process, the script. The handler
 * that started it waits for that process after its client has the answer (follow.c). If the front
 * ends before, the next request for the build or its template finds that the process has ended, and
 * finishes the build. The order of the steps is such that a crash may follow any of them, and that
 * each can be repeated:
 *
 *   waiting    created; the client may send files
 *   building   the script runs
 *   finishing  the script has succeeded, and the document has its results; the snapshot follows,
 *              then the tags
 *   ready, error
 */
#pragma once

#include "codec/json_get.h"
#include "dialects/e2b/e2b.h"

#define TEMPLATES "e2b.templates" /* collection of documents, by name */
#define BUILDS "e2b.builds"	  /* the same by a build's id */
#define LOGS "e2b.build-logs"	  /* the same */
#define TEMPLATE_NAME_MAX 63u
#define TEMPLATE_TAG_MAX 63u
#define TEMPLATE_TAGS_MAX 32u /* in one request */
#define TEMPLATE_VALUE_MAX ((size_t)1 << 20)
#define TEMPLATE_TAG_DEFAULT "default"
#define TEMPLATE_FOLDER ".e2b-build" /* in the workspace, during a build */
#define TEMPLATE_LIFE_MS (2u * 3600u * 1000u) /* of a build's session */
#define TEMPLATE_RETENTION_S (7u * 86400u) /* lifetime of a log, and of a build without snapshot */
#define TEMPLATE_ID_SIZE 40u

/* ---- names.c ---- */
struct template_name {
	char name[TEMPLATE_NAME_MAX + 1]; /* in lower case, without a namespace */
	char tag[TEMPLATE_TAG_MAX + 1];	  /* "": none */
};
bool template_name_of(const char *given, struct template_name *ret);
bool template_is_tag(const char *tag);
/* The same; false: malformed, answered with an error. */
bool template_take_name(const struct e2b *e2b, const char *given, struct template_name *ret);
/* Reads an array of tags, or none. False: malformed, answered with an error. */
bool template_take_tags(const struct e2b *e2b, const struct json_value *given,
			struct api_list *ret);

/* ---- store.c ---- */
struct template_document {
	struct json_value *value;
	char etag[80];
};
void template_document_done(struct template_document *document);
#define cleanup_document __attribute__((cleanup(template_document_done)))

/* A build: the client's options, its state and results. Texts are in the arena; NULL: none. */
struct build {
	char id[TEMPLATE_ID_SIZE], etag[80];
	const char *template, *status;
	struct api_list tags;		      /* that will lead to it */
	uint64_t created_ms, updated_ms, finishing_ms;
	uint64_t memory_mb, cpu_count;	      /* 0: the default */
	const char *uploads;		      /* the session that receives its files */
	const char *session, *process;	      /* where its script runs */
	const char *snapshot;
	struct api_list env;		      /* NAME=VALUE */
	const char *workdir, *start, *ready;
	const char *why, *step;		      /* why it failed, and in which step */
};

/* 1: found; 0: not. Negative, here and below: answered with an error, or client disconnected. */
int template_get(const struct e2b *e2b, const char *collection, const char *id,
		 struct template_document *ret);
int build_get(const struct e2b *e2b, const char *id, struct build *ret);
void build_read(const struct e2b *e2b, const struct json_value *value, const char *etag,
		struct build *ret);
/* Stores the build. 0: stored; 1: not, because its document has changed since build->etag. */
int build_put(const struct e2b *e2b, struct build *build);
/* Applies a merge patch to a template; `makes`: creates it if missing. 1: *ret is the result; 0: no
 * such template. */
int template_patch(const struct e2b *e2b, const char *name, const char *patch, bool makes,
		   struct template_document *ret);
/* Deletes a document, if it has the etag (NULL: any). Negative: the client disconnected. */
int template_forget(const struct e2b *e2b, const char *collection, const char *id,
		    const char *etag);
void template_end_session(const struct e2b *e2b, const char *session);
/* Lists ids of builds, newest first. `template` NULL: of all; `state` ("waiting", "building" or
 * "over") NULL: in any state. */
int build_list(const struct e2b *e2b, const char *template, const char *state,
	       struct api_list *ret);

/* ---- script.c ---- */
/* The start and the end of each script; the lines of steps.c go between. */
extern const char template_script_head[], template_script_tail[];
/* The arguments of a shell that runs a command as E2B does. */
struct api_list template_shell(const struct e2b *e2b, const char *command);
/* A command that repeats the given one until it succeeds. */
const char *template_until(const struct e2b *e2b, const char *ready);

/* ---- steps.c ---- */
#define TEMPLATE_SCRIPT_MAX (120u * 1024u)
/* Appends the whole script. Negative: answered with an error. `ret_hashes`: of the files that the
 * steps need. */
int template_write_steps(const struct e2b *e2b, const struct json_value *body,
			 const struct build *build, const char *note, struct buf *ret,
			 struct api_list *ret_hashes);
bool template_is_hash(const char *hash);

/* ---- output.c ---- */
struct entry_of_build {
	uint64_t ms;
	const char *level, *step, *text;
	size_t len;
};
struct script_output {
	struct entry_of_build *entries;
	size_t count, bytes;
	struct api_list env;
	const char *workdir, *why, *step; /* `why`: the reported failure; NULL: none */
};
/* Reads the script's output so far; the process may have ended. */
int template_read_output(const struct e2b *e2b, const struct build *build,
			 const struct api_process *process, struct script_output *ret);
void template_write_entry(struct json_writer *json, const struct entry_of_build *entry);
/* Stores the log, and reads a stored one. Reading a missing one gives an empty log. */
int template_store_log(const struct e2b *e2b, const struct build *build,
		       const struct script_output *output);
int template_load_log(const struct e2b *e2b, const struct build *build, struct script_output *ret);

/* ---- settle.c ---- */
/* Finishes a build whose script has ended, and updates *build. `ret`: receives its log, or NULL. */
int template_settle(const struct e2b *e2b, struct build *build, struct script_output *ret);
/* The same for all pending builds of a template. 0: done, or no such template. */
int template_settle_all(const struct e2b *e2b, const char *name);
/* Deletes snapshots of builds that no tag leads to, and old ones of these builds entirely. */
int template_sweep(const struct e2b *e2b, const char *name);
/* Deletes a build with its log and snapshot; ends its sessions if it is not over. */
int template_drop_build(const struct e2b *e2b, const struct build *build);

/* ---- follow.c ---- */
/* Waits for the end of a build, and finishes it. Call it after request_part(). */
void template_follow(const struct e2b *e2b, struct build *build);

/* ---- show.c ---- */
/* Finds the build that NAME:TAG leads to, if it is ready. 1: found; 0: none. */
int template_find(const struct e2b *e2b, const char *wanted, struct build *ret);
void template_list(struct e2b *e2b);
void template_show(struct e2b *e2b);
void template_remove(struct e2b *e2b);

/* ---- request.c, start.c, status.c, tags.c ---- */
void template_request(struct e2b *e2b);
void template_link(struct e2b *e2b);
void template_upload(struct e2b *e2b);
void template_start(struct e2b *e2b);
void template_status(struct e2b *e2b);
void template_tags_assign(struct e2b *e2b);
void template_tags_remove(struct e2b *e2b);
void template_tags_list(struct e2b *e2b);
