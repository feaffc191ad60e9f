/*
 * answer.h - what the handlers of calls share; included by host.h.
 */
#pragma once

#include "api/arena.h"
#include "api/calls.h"
#include "host/host.h"

struct request {
	uint64_t id;
	const struct api_call *call;
	const void *in; /* its checked arguments */
	const struct key *key;	/* NULL: it has none; valid only during the call */
	bool is_token;		/* `key` was made from the token of a session or a volume */
	struct tenant *tenant;	/* of the key */
};
/* Handles a call; `in` has its arguments. */
void answer_call(struct host *host, const struct request *req, const struct api_caller *caller,
		 const void *in);
/* The session with this id, ready for a job; NULL: answered with an error. */
struct session *answer_session_named(struct host *host, const struct request *req, const char *id,
				     bool for_job);
/* The same for a job about its files. */
struct session *answer_session_for_files(struct host *host, const struct request *req,
					 const char *id);
/* Parameters of a new session; NULL, zero and false mean that the request left them out. */
struct session_params {
	const char *template_name, *language, *name;
	struct front_limits limits;
	struct api_bytes metadata;
	bool has_idle;
	uint64_t idle_ms;
	uint64_t policy;  /* FRONT_POLICY_… */
	uint64_t ends_ms; /* since 1970; 0: never */
	struct api_list env, tools;
};
/* Adds a session, if the request may have one; NULL: answered with an error. */
struct session *answer_session_add(struct host *host, const struct request *req,
				   const struct session_params *params);
/* Ends the session like one that could not be opened, without using a thread. */
void answer_open_failed(struct session *session, struct job *job, const struct err *err);
/* Stores the parameters in the session and in its OPEN job. False: answered with an error. */
bool answer_session_prepare(struct host *host, const struct session_params *params,
			    struct session *session, struct job *job);
/* Queues the OPEN job. */
void answer_session_open(struct session *session, struct job *job);
struct front_limits session_limits_of(const struct api_limits *limits); /* NULL: no limits */
/* When the session expires, from one of both fields; false: answered with an error. */
bool session_ends(struct host *host, const struct request *req, const uint64_t *in_ms,
		  const uint64_t *at_ms, uint64_t *ret);
/* Answers a request with the session's present state. */
void session_reply_shown(struct session *session, uint64_t request);
/* What clients see of a session; `arena` owns the texts. */
void session_show(struct host *host, struct arena *arena, const struct db_session *row,
		  struct api_session *ret);
/* Only limits that were set; the records of executions have the defaults. */
const struct api_limits *session_tell_limits(struct arena *arena,
					     const struct front_limits *limits);
const struct api_policy *session_tell_policy(struct arena *arena, uint64_t policy);
bool answer_has_scope(const struct host *host, const struct request *req, uint32_t scope);
/* Answers the request; always returns false. */
bool answer_refuse_scope(struct host *host, const struct request *req, uint32_t scope);
/* Whether the key has a scope that a field of the request needs; if not, answers the request. */
bool answer_check_scope(struct host *host, const struct request *req, uint32_t scope);
/* Whether the request's key started this execution, or this run. */
bool execution_is_own(struct host *host, const struct request *req, const char *session,
		      const char *execution);
bool run_is_own(struct host *host, const struct request *req, const char *id);
/* Whether this session exists or existed; if not, answers the request. */
bool was_session_named(struct host *host, const struct request *req, const char *id);
/*
 * Reserves an upload; *ret_fd is a duplicate of its descriptor, which upload_reply() sends. NULL:
 * answered with an error.
 */
struct upload *upload_begin(struct host *host, const struct request *req, int *ret_fd);
void upload_reply(struct host *host, const struct request *req, uint64_t size_max, int fd);
/* Finds an upload by its ticket, which is the id of the request without the process's part. */
enum upload_kind { UPLOAD_FILE, UPLOAD_ARCHIVE, UPLOAD_STORED, UPLOAD_VOLUME };
struct upload *upload_find(struct host *host, const struct request *req, uint64_t ticket,
			   enum upload_kind kind);
void upload_drop(struct upload *upload);
/* The row of the execution; false: answered with an error. */
bool execution_find_named(struct host *host, const struct request *req, const char *session,
			  const char *execution, struct db_execution *ret);
/* Stores the variables in the format of reckon.h. */
int answer_take_env(struct job *job, const struct api_list *env, struct err *err);

/* ---- sessions/context.c ---- */
struct context *context_find(const struct session *session, const char *id);
/* The context with this id (NULL: none); false: answered with an error. */
bool context_named(struct host *host, const struct request *req, struct session *session,
		   const char *id, bool for_job, struct context **ret);
/*
 * The same for a request with code, which may name its language instead of a context. *ret is NULL
 * for the session's own kernel, if that has the language, otherwise the oldest context of the
 * language; opens one if there is none.
 */
bool context_for_code(struct host *host, const struct request *req, struct session *session,
		      const struct api_execute_in *in, struct context **ret);
/* The texts belong to the context. */
void context_tell(const struct context *context, struct api_context *ret);
/* ---- sessions/context.c ---- */
/* Adds a context to the session; JOB_CONTEXT_OPEN sets its kernel and id. */
struct context *context_new(struct session *session);
bool context_has_room(const struct session *session);
/* The context for code of this language; adds one if there is none. NULL: too many kernels. */
struct context *context_of_language(struct session *session, const char *language);
/* `context` NULL: calls session_enqueue(). */
void context_enqueue(struct session *session, struct context *context, struct job *job);
void context_job_done(struct job *job);
/* Answers `request` (0: none) when the context is closed. */
void context_end(struct context *context, enum api_error code, const char *why, uint64_t request);
void context_delete(struct context *context, uint64_t request); /* also removes its row */
bool context_is_live(const struct context *context); /* or parked */
/* Starts a new kernel; `context` NULL: the session's own. */
void context_restart(struct session *session, struct context *context, uint64_t request);
void context_end_all(struct session *session, enum api_error end, const char *why);
bool context_is_running(const struct session *session);
void context_tick(struct session *session);
void context_pump_all(struct session *session);
void context_fail_waiting(struct session *session, enum api_error end, const char *why);
/*
 * The kernels are lost with the box or an earlier daemon; each context gets a new one when needed.
 */
void context_park_all(struct session *session, const char *why);
int context_revive(struct session *session, struct err *err);
void context_adopt_all(struct session *session); /* adopts kernels that the earlier daemon left */
/* Transactions up to `upto` are synced; those from `first` on have failed. */
void context_transaction_synced(struct session *session, uint64_t upto);
void context_transaction_failed(struct session *session, uint64_t first);
/* Stores variables of the context that the job returned. */
void context_keep(struct context *context, struct job *job);
