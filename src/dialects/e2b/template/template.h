/*
 * template.h - templates that clients build: what the files of this folder share.
 *
 *   paths.c    which path is what
 *   request.c  a build is asked for; where its files go
 *   start.c    what a build begins with, and its beginning
 *   follow.c   waits for its end when the client is answered
 *   steps.c    steps of a client become lines of the script
 *   script.c   the script that does them in a sandbox
 *   told.c     what the script wrote becomes entries of a log, and what the build found out
 *   settle.c   a build has ended: a snapshot, and tags that lead to it
 *   status.c   how far a build is
 *   tags.c     tags: given, taken away, listed
 *   show.c     templates: listed, shown, removed; which one a sandbox begins with
 *   names.c    names and tags
 *   store.c    their documents
 *
 * A build is a document, and while it goes on a session with one process in it, the script. The
 * request that began it waits for that when its client has its answer (follow.c). Should the front
 * end, whoever asks for the build, or for its template, finds that it has ended and does what is
 * left to do. That is done in an order in which each step may be the last before a crash, and be
 * done again:
 *
 *   waiting    asked for; files may be sent
 *   building   the script runs
 *   finishing  it has done everything; what it found out is written down, the snapshot follows,
 *              then the tags
 *   ready, error
 */
#pragma once

#include "codec/json_get.h"
#include "dialects/e2b/e2b.h"

#define TEMPLATES "e2b.templates" /* collections of documents: by name, */
#define BUILDS "e2b.builds"	  /* by id, */
#define LOGS "e2b.build-logs"	  /* and by the same one */
#define TEMPLATE_NAME_MAX 63u
#define TEMPLATE_TAG_MAX 63u
#define TEMPLATE_TAGS_MAX 32u /* in one request */
#define TEMPLATE_VALUE_MAX ((size_t)1 << 20)
#define TEMPLATE_TAG_DEFAULT "default"
#define TEMPLATE_FOLDER ".e2b-build" /* of the workspace, as long as a build lasts */
#define TEMPLATE_LIFE_MS (2u * 3600u * 1000u) /* of a build's session */
#define TEMPLATE_KEPT_S (7u * 86400u) /* what came of a build, and its log */
#define TEMPLATE_ID_SIZE 40u

/* ---- names.c ---- */
struct template_name {
	char name[TEMPLATE_NAME_MAX + 1]; /* in lower case, without a namespace */
	char tag[TEMPLATE_TAG_MAX + 1];	  /* "": none was said */
};
bool template_name_of(const char *given, struct template_name *ret);
bool template_is_tag(const char *tag);
/* Answers when it is malformed. */
bool template_take_name(const struct e2b *e2b, const char *given, struct template_name *ret);
/* An array of tags; nothing is none. Answers when it is malformed. */
bool template_take_tags(const struct e2b *e2b, const struct json_value *given,
			struct api_list *ret);

/* ---- store.c ---- */
struct template_document {
	struct json_value *value;
	char etag[80];
};
void template_document_done(struct template_document *document);
#define cleanup_document __attribute__((cleanup(template_document_done)))

/* What is asked of a build, and what came of it. Texts are the arena's; NULL: there is none. */
struct build {
	char id[TEMPLATE_ID_SIZE], etag[80];
	const char *template, *status;
	struct api_list tags;		      /* that it was asked for with */
	uint64_t created_ms, updated_ms, finishing_ms;
	uint64_t memory_mb, cpu_count;	      /* 0: what is usual */
	const char *uploads;		      /* the session that files are sent to */
	const char *session, *process;	      /* in which it goes on */
	const char *snapshot;
	struct api_list env;		      /* NAME=VALUE */
	const char *workdir, *start, *ready;
	const char *why, *step;		      /* of an error */
};

/* 1: it is there; 0: it is not; negative: answered, or nobody is left. */
int template_get(const struct e2b *e2b, const char *collection, const char *id,
		 struct template_document *ret);
int build_get(const struct e2b *e2b, const char *id, struct build *ret);
void build_read(const struct e2b *e2b, const struct json_value *value, const char *etag,
		struct build *ret);
/* 0: stored; 1: it is not in the state that build->etag names; negative: answered, or nobody is left. */
int build_put(const struct e2b *e2b, struct build *build);
/* A merge patch of a template, which is made when it is not there and `makes`. */
int template_patch(const struct e2b *e2b, const char *name, const char *patch, bool makes,
		   struct template_document *ret);
/* Whether it was there or not; negative: nobody is left. */
int template_forget(const struct e2b *e2b, const char *collection, const char *id,
		    const char *etag);
void template_end_session(const struct e2b *e2b, const char *session);
/* Ids of builds, the newest first; `state` NULL: all of them. Negative: answered. */
int build_list(const struct e2b *e2b, const char *template, const char *state,
	       struct api_list *ret);

/* ---- script.c ---- */
/* What each script begins with; behind it come the lines of steps.c. */
extern const char template_script_head[], template_script_tail[];
/* A command as E2B runs it. */
struct api_list template_shell(const struct e2b *e2b, const char *command);
/* A command that ends when the one that is given succeeds. */
const char *template_until(const struct e2b *e2b, const char *ready);

/* ---- steps.c ---- */
#define TEMPLATE_SCRIPT_MAX (120u * 1024u)
/* Negative: it was refused. `ret_hashes`: of the files that steps want. */
int template_write_steps(const struct e2b *e2b, const struct json_value *body,
			 const struct build *build, const char *note, struct buf *ret,
			 struct api_list *ret_hashes);
bool template_is_hash(const char *hash);

/* ---- told.c ---- */
struct entry_of_build {
	uint64_t ms;
	const char *level, *step, *text;
	size_t len;
};
struct told {
	struct entry_of_build *entries;
	size_t count, bytes;
	struct api_list env;
	const char *workdir, *why, *step; /* `why`: it failed; NULL: it did not say so */
};
/* Of a process that runs or has ended. Negative: answered, or nobody is left. */
int template_take_told(const struct e2b *e2b, const struct build *build,
		       const struct api_process *process, struct told *ret);
void template_write_entry(struct json_writer *json, const struct entry_of_build *entry);
/* Keeps it, or reads what was kept. */
int template_keep_told(const struct e2b *e2b, const struct build *build, const struct told *told);
int template_kept_told(const struct e2b *e2b, const struct build *build, struct told *ret);

/* ---- settle.c ---- */
/* Does what is left to do; *build is as it is then. `ret`: its log, or NULL. Negative: answered. */
int template_settle(const struct e2b *e2b, struct build *build, struct told *ret);
/* The same of all builds of a template that have not ended. */
int template_settle_all(const struct e2b *e2b, const char *name);
/* Removes the files of builds that no tag leads to; what came of the newest of them stays a while. */
int template_sweep(const struct e2b *e2b, const char *name);
/* A build with its log and snapshot. */
int template_drop_build(const struct e2b *e2b, const struct build *build);

/* ---- follow.c ---- */
/* Of a build that has just begun, behind request_part(): until it is over. */
void template_follow(const struct e2b *e2b, struct build *build);

/* ---- show.c ---- */
/* 1: the build that NAME:TAG leads to, ready; 0: there is none. Negative: answered. */
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
