/*
 * e2b.h - declarations shared by the files of the E2B dialect.
 *
 *   routes.c     finds a request's side and key, calls its handler, writes errors
 *   e2b.c        answers, paths, bodies
 *   target.c     which sandbox and port a head names; ids of sandboxes and sessions
 *   control.c    /sandboxes: get, kill, time-outs, connect; maps paths to handlers
 *   create.c     creates a sandbox
 *   list.c       lists: filters, pages
 *   pause.c      pauses and resumes sandboxes
 *   network.c    network rules of a sandbox
 *   sandbox.c    a session in the form of E2B
 *   logs.c       output of code and commands
 *   metrics.c    use of memory and processors
 *   templates.c  names of templates; template/ has those that clients build
 *   fork.c       sandboxes that start with the files of another one
 *   volumes.c, volume_content.c  volumes, and their files
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
/* Members of a session's metadata that the dialect adds to the client's. */
#define E2B_TEMPLATE_MEMBER "e2b.template"
#define E2B_WORKDIR_MEMBER "e2b.workdir" /* working directory of its commands */
#define E2B_BUILD_MEMBER "e2b.build"	 /* marks a build's session, which is no sandbox */
#define E2B_OWN_MEMBER "e2b."		 /* prefix of all these members */
#define E2B_SNAPSHOT_PREFIX "e2b.build/" /* of snapshots' names: not listed */

struct e2b_origin;

enum e2b_side { E2B_CONTROL, E2B_ENVD, E2B_INTERPRETER, E2B_PORT };

/* The side, port and sandbox that a head names. */
struct e2b_target {
	enum e2b_side side;
	unsigned port;
	char sandbox[E2B_ID_SIZE]; /* in the client's spelling; "": none */
	char session[E2B_ID_SIZE]; /* its session; "-": no valid id */
	bool is_half;		   /* only one of the two headers for sandbox and port */
};

#define E2B_PARTS_MAX 5u

/* A request. `part`: the parts of its path, decoded. */
struct e2b {
	struct request *request;
	struct e2b_target target;
	struct arena *arena;
	unsigned version; /* of the path: 2 for /v2/…; 0: none */
	const char *part[E2B_PARTS_MAX];
	size_t part_count;
};

/* ---- target.c ---- */
void e2b_target_of(const struct http *http, struct e2b_target *ret);
/* Converts a session's id "se_01K…" to the client's "01k…", as in the host names of ports. */
void e2b_sandbox_id(const char *session, char ret[E2B_ID_SIZE]);
/* The reverse; "-" if `sandbox` is malformed. */
void e2b_session_id(const char *sandbox, char ret[E2B_ID_SIZE]);
/* Converts a client's key: e2b_ and 64 hexadecimal digits become rk_… with the same bits. Copies
 * anything else. */
void e2b_key_of(const char *presented, char *ret, size_t size);
/* The session that a session's token names; false: it is not such a token. */
bool e2b_session_of_token(const char *token, char ret[E2B_ID_SIZE]);

/* ---- e2b.c ---- */
/* Splits the path into version and parts; false: it has too many or no parts, or is malformed. */
bool e2b_take_path(struct e2b *e2b, const char *path);
void e2b_refuse(const struct e2b *e2b, unsigned status, const char *message);
/* A handler of a method and path; "*" in the path stands for any one part. */
struct e2b_route {
	enum http_verb verb;
	const char *path;
	void (*fn)(struct e2b *e2b);
};
/* Answers 405; `verbs` are the methods that the path has, as bits. */
void e2b_refuse_method(const struct e2b *e2b, unsigned verbs);
/* Calls the first route that fits. Answers 405 if only the method differs, else 404. */
void e2b_route(struct e2b *e2b, const struct e2b_route *routes, size_t count);
/* Answers with CORS headers for browsers; `headers`: more of them, or NULL. */
void e2b_answer(const struct e2b *e2b, unsigned status, const struct buf *body,
		const char *headers);
void e2b_answer_empty(const struct e2b *e2b, unsigned status);
/* Finishes `json` and answers with it; 500 if it does not fit its buffer. */
void e2b_answer_json(const struct e2b *e2b, unsigned status, struct json_writer *json,
		     const char *headers);
/* Checks the key before a long or chunked body is read. False: answered with an error. */
bool e2b_may_read(const struct e2b *e2b);
/* Reads the body as an object; empty counts as {}. NULL: answered with an error. */
struct json_value *e2b_take_json(const struct e2b *e2b);
#define cleanup_json __attribute__((cleanup(e2b_json_done)))
static inline void e2b_json_done(struct json_value **value)
{
	json_read_free(*value);
}

/* ---- control.c ---- */
void e2b_control(struct e2b *e2b);
/* Reads environment variables from an object of strings. False: answered with an error. */
bool e2b_take_env(const struct e2b *e2b, const struct json_value *given, struct api_list *ret);

/* ---- create.c ---- */
void e2b_create(struct e2b *e2b);
/* Runs the origin's start command, and waits for its ready command. Negative: it failed and the
 * session was ended, or the client disconnected. */
int e2b_begin(const struct e2b *e2b, const struct e2b_origin *origin, const char *session);

/* ---- fork.c ---- */
void e2b_fork(struct e2b *e2b);

/* ---- pause.c ---- */
#define E2B_PAUSED "session_paused"
void e2b_pause(struct e2b *e2b);
void e2b_connect(struct e2b *e2b); /* also …/resume */
/* Reads what happens to the sandbox at its time-out. False: answered with an error. */
bool e2b_take_lifecycle(const struct e2b *e2b, const struct json_value *body,
			struct api_session_create_in *ret);
/* Lets the session end in `ms`, at least a second. As call_or_refuse(). */
int e2b_end_in(const struct e2b *e2b, const char *id, uint64_t ms, struct api_session *ret,
	       struct call *call);
/* Whether it runs; resumes a paused one that has autoResume. False: answered with an error. */
bool e2b_is_awake(const struct e2b *e2b, const struct api_session *session);

/* ---- network.c ---- */
void e2b_network(struct e2b *e2b);

/* ---- list.c ---- */
void e2b_list(struct e2b *e2b);

/* ---- sandbox.c ---- */
/* The session that the path's second part names; in the arena. */
const char *e2b_session_of(const struct e2b *e2b);
/* Converts a time-out in seconds to ms. False: answered with an error. */
bool e2b_take_timeout(const struct e2b *e2b, const struct json_value *value, uint64_t *ret_ms);
/* The idle time-out for a time-out: a minute longer, at most 30 days. */
uint64_t e2b_idle_ms(uint64_t timeout_ms);
/* The default working directory of commands; NULL: the workspace. False: client disconnected. */
bool e2b_workdir_of(const struct e2b *e2b, const char *session, const char **ret);
/* Writes a sandbox as in the answers of create and connect. */
void e2b_write_sandbox(struct json_writer *json, const struct api_session *session,
		       const char *token);
/* Writes a sandbox as in lists; `is_whole` adds the token (NULL: none), lifecycle and network. */
void e2b_write_listed(struct json_writer *json, const struct api_session *session,
		      const char *token, bool is_whole);
void e2b_write_moment(struct json_writer *json, const char *key, uint64_t ms);
/* Fetches the session's token, and answers with the sandbox. */
void e2b_answer_sandbox(const struct e2b *e2b, unsigned status, const struct api_session *session);

/* ---- logs.c ---- */
void e2b_logs(struct e2b *e2b);

/* ---- metrics.c ---- */
void e2b_metrics(struct e2b *e2b);
void e2b_metrics_of_several(struct e2b *e2b);
void e2b_metrics_of_envd(struct e2b *e2b); /* the last sample, in envd's format */

/* ---- templates.c ---- */
/* What a sandbox starts from: a template or a snapshot; if both are NULL, the default template. The
 * other members come from a template that a client built; NULL: none. */
struct e2b_origin {
	const char *template, *snapshot;
	struct api_list env; /* NAME=VALUE */
	const char *workdir, *start, *ready;
};
/* Finds the template or snapshot by its name. Negative: answered with an error, or the client
 * disconnected. */
int e2b_origin_of(const struct e2b *e2b, const char *wanted, struct e2b_origin *ret);
/* The same only among the server's templates. 1: it exists; 0: it does not; negative: as above. */
int e2b_native_of(const struct e2b *e2b, const char *wanted, struct e2b_origin *ret);
/* As e2b_native_of(), without a result. */
int e2b_is_native(const struct e2b *e2b, const char *name);
void e2b_templates(struct e2b *e2b);

/* ---- snapshots.c ---- */
void e2b_snapshots(struct e2b *e2b);	    /* list */
void e2b_snapshot_make(struct e2b *e2b);    /* of the sandbox in the path */
void e2b_snapshot_remove(struct e2b *e2b); /* DELETE /templates/ID */
/* Finds a snapshot by id or name. 1: found, *ret is its id; 0: none; negative: as above. */
int e2b_snapshot_of(const struct e2b *e2b, const char *wanted, const char **ret);

/* ---- volumes.c ---- */
#define E2B_VOLUME_CONTENT "volumecontent"
void e2b_volumes(struct e2b *e2b);
/* Reads the volumes that a new sandbox mounts. False: answered with an error. */
bool e2b_take_volumes(const struct e2b *e2b, const struct json_value *given, struct api_list *ret);
void e2b_write_volumes(struct json_writer *json, const struct api_session *session);

/* ---- volume_content.c ---- */
void e2b_volume_content(struct e2b *e2b);
