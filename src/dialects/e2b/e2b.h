/*
 * e2b.h - what the files of the E2B dialect share.
 *
 *   routes.c     a request: which side it is of, its key, the form of an error
 *   e2b.c        answers, paths, bodies
 *   target.c     which sandbox and port a head means; ids of sandboxes and sessions
 *   control.c    /sandboxes: get, kill, time-outs, connect; which path is what
 *   create.c     a new sandbox
 *   list.c       lists: filters, pages
 *   pause.c      paused, and on again
 *   network.c    what a sandbox may reach
 *   sandbox.c    a session as E2B sees it
 *   logs.c       what code and commands wrote
 *   metrics.c    memory and processors
 *   templates.c  names of templates; template/ has those that clients build
 *   fork.c       sandboxes that begin as another one is
 *   volumes.c, volume_content.c  volumes, and what is in them
 */
#pragma once

#include "codec/json_read.h"
#include "codec/json_write.h"
#include "dialects/call.h"

#define E2B_JSON "application/json"
#define E2B_CORS "Access-Control-Allow-Origin: *\r\n" /* for browsers */
#define E2B_BODY_MAX (8u * 1024u * 1024u)
#define E2B_ID_SIZE 64u
#define E2B_KEY_SIZE 129u
#define E2B_ENVD_PORT 49983u
#define E2B_INTERPRETER_PORT 49999u
#define E2B_ENVD_VERSION "0.6.13"
/* Of a session's metadata: what was asked for is kept beside what the client gave. */
#define E2B_TEMPLATE_MEMBER "e2b.template"
#define E2B_WORKDIR_MEMBER "e2b.workdir" /* where its commands begin */
#define E2B_BUILD_MEMBER "e2b.build"	 /* of a session in which a template is built, no sandbox */
#define E2B_OWN_MEMBER "e2b."		 /* all of these begin so */
#define E2B_SNAPSHOT_PREFIX "e2b.build/" /* of names of snapshots that are templates */

struct e2b_origin;

enum e2b_side { E2B_CONTROL, E2B_ENVD, E2B_INTERPRETER, E2B_PORT };

/* What a head means. */
struct e2b_target {
	enum e2b_side side;
	unsigned port;
	char sandbox[E2B_ID_SIZE]; /* as the client spells it; "": none */
	char session[E2B_ID_SIZE]; /* ours; "-" when that is none */
	bool is_half;		   /* a sandbox without a port, or a port without a sandbox */
};

#define E2B_PARTS_MAX 5u

/* A request of one side: its path in parts, decoded. */
struct e2b {
	struct request *request;
	struct e2b_target target;
	struct arena *arena;
	unsigned version; /* of the path: /v2/… is 2; 0 without */
	const char *part[E2B_PARTS_MAX];
	size_t part_count;
};

/* ---- target.c ---- */
void e2b_target_of(const struct http *http, struct e2b_target *ret);
/* "se_01K…" is "01k…" to a client, as in the host names of ports. */
void e2b_sandbox_id(const char *session, char ret[E2B_ID_SIZE]);
void e2b_session_id(const char *sandbox, char ret[E2B_ID_SIZE]);
/* Our key of a client's: e2b_ and 64 hexadecimal digits stand for the same bits as rk_…. */
void e2b_key_of(const char *presented, char *ret, size_t size);
/* The session that a token of one is for; false: it is none. */
bool e2b_session_of_token(const char *token, char ret[E2B_ID_SIZE]);

/* ---- e2b.c ---- */
/* What is behind the path's version; false: it has too many parts, or is malformed. */
bool e2b_take_path(struct e2b *e2b, const char *path);
void e2b_refuse(const struct e2b *e2b, unsigned status, const char *message);
/* Paths with "*" for any part; the first one that fits counts. 405 when only the method does not. */
struct e2b_route {
	enum http_verb verb;
	const char *path;
	void (*fn)(struct e2b *e2b);
};
/* The same by itself: `verbs` are those that there are. */
void e2b_refuse_method(const struct e2b *e2b, unsigned verbs);
void e2b_route(struct e2b *e2b, const struct e2b_route *routes, size_t count);
/* With the headers that a browser wants. `headers` NULL: no further ones. */
void e2b_answer(const struct e2b *e2b, unsigned status, const struct buf *body,
		const char *headers);
void e2b_answer_empty(const struct e2b *e2b, unsigned status);
/* A finished writer's text, or what failed. */
void e2b_answer_json(const struct e2b *e2b, unsigned status, struct json_writer *json,
		     const char *headers);
/* Whether a body may be read that is long, or may be: its key is good. Answers when it is not. */
bool e2b_may_read(const struct e2b *e2b);
/* The body as an object; NULL when that was answered with an error. An empty body is {}. */
struct json_value *e2b_take_json(const struct e2b *e2b);
#define cleanup_json __attribute__((cleanup(e2b_json_done)))
static inline void e2b_json_done(struct json_value **value)
{
	json_read_free(*value);
}

/* ---- control.c ---- */
void e2b_control(struct e2b *e2b);
/* An object of strings, as variables of an environment. False: it was refused. */
bool e2b_take_env(const struct e2b *e2b, const struct json_value *given, struct api_list *ret);

/* ---- create.c ---- */
void e2b_create(struct e2b *e2b);
/* Starts what the origin says, and waits until that is ready. Negative: it was answered. */
int e2b_begin(const struct e2b *e2b, const struct e2b_origin *origin, const char *session);

/* ---- fork.c ---- */
void e2b_fork(struct e2b *e2b);

/* ---- pause.c ---- */
#define E2B_PAUSED "session_paused"
void e2b_pause(struct e2b *e2b);
void e2b_connect(struct e2b *e2b); /* also …/resume */
/* What becomes of it when its time is over; false: it was refused. */
bool e2b_take_lifecycle(const struct e2b *e2b, const struct json_value *body,
			struct api_session_create_in *ret);
int e2b_end_in(const struct e2b *e2b, const char *id, uint64_t ms, struct api_session *ret,
	       struct call *call);
/* It is not paused, or goes on for this; false: it was answered. */
bool e2b_is_awake(const struct e2b *e2b, const struct api_session *session);

/* ---- network.c ---- */
void e2b_network(struct e2b *e2b);

/* ---- list.c ---- */
void e2b_list(struct e2b *e2b);

/* ---- sandbox.c ---- */
/* The session that the path's second part names. */
const char *e2b_session_of(const struct e2b *e2b);
/* The body's `timeout` or `duration` in ms; false when it was answered that it is none. */
bool e2b_take_timeout(const struct e2b *e2b, const struct json_value *value, uint64_t *ret_ms);
/* A session that is unused ends later than its time-out. */
uint64_t e2b_idle_ms(uint64_t timeout_ms);
/* Where commands begin that say nothing; NULL: in the workspace. False: nobody is left to answer. */
bool e2b_workdir_of(const struct e2b *e2b, const char *session, const char **ret);
/* As create and connect answer it. */
void e2b_write_sandbox(struct json_writer *json, const struct api_session *session,
		       const char *token);
/* As in lists; with `token` (or NULL) and the rest of what is known of one. */
void e2b_write_listed(struct json_writer *json, const struct api_session *session,
		      const char *token, bool is_whole);
void e2b_write_moment(struct json_writer *json, const char *key, uint64_t ms);
/* Adds the answer of a session with its token, which is asked for here. */
void e2b_answer_sandbox(const struct e2b *e2b, unsigned status, const struct api_session *session);

/* ---- logs.c ---- */
void e2b_logs(struct e2b *e2b);

/* ---- metrics.c ---- */
void e2b_metrics(struct e2b *e2b);
void e2b_metrics_of_several(struct e2b *e2b);
void e2b_metrics_of_envd(struct e2b *e2b); /* the last sample, in its words */

/* ---- templates.c ---- */
/* What a sandbox begins with: a template, or a snapshot; neither is the default template. The rest is
 * of one that a client has built; NULL: there is none. */
struct e2b_origin {
	const char *template, *snapshot;
	struct api_list env; /* NAME=VALUE */
	const char *workdir, *start, *ready;
};
/* Negative when it was answered that there is none. */
int e2b_origin_of(const struct e2b *e2b, const char *wanted, struct e2b_origin *ret);
/* Among templates of the server. 1: there is one; 0: there is none; negative: answered. */
int e2b_native_of(const struct e2b *e2b, const char *wanted, struct e2b_origin *ret);
int e2b_is_native(const struct e2b *e2b, const char *name);
void e2b_templates(struct e2b *e2b);

/* ---- snapshots.c ---- */
void e2b_snapshots(struct e2b *e2b);	    /* lists them */
void e2b_snapshot_make(struct e2b *e2b);    /* of the path's sandbox */
void e2b_snapshot_remove(struct e2b *e2b); /* by the path of a template */
/* 1: *ret is the id of the snapshot that is called so; 0: there is none; negative: answered. */
int e2b_snapshot_of(const struct e2b *e2b, const char *wanted, const char **ret);

/* ---- volumes.c ---- */
#define E2B_VOLUME_CONTENT "volumecontent"
void e2b_volumes(struct e2b *e2b);
/* What a new sandbox is to have mounted; false: it was refused. */
bool e2b_take_volumes(const struct e2b *e2b, const struct json_value *given, struct api_list *ret);
void e2b_write_volumes(struct json_writer *json, const struct api_session *session);

/* ---- volume_content.c ---- */
void e2b_volume_content(struct e2b *e2b);
