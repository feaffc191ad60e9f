/*
 * answer.h - what the handlers of calls share; part of host.h.
 */
#pragma once

#include "api/arena.h"
#include "api/calls.h"
#include "host/host.h"

struct request {
	uint64_t id;
	const struct api_call *call;
	const void *in; /* what it takes */
	const struct key *key;	/* NULL: this request brings none; not to be kept */
	bool is_token;		/* it stands for the token of a session, or of a volume */
	struct tenant *tenant;	/* whose it is; with a key */
};
/* A call: `in` is what it takes. */
void answer_call(struct host *host, const struct request *req, const struct api_caller *caller,
		 const void *in);
/* The session of this id, ready for a job; NULL when it was answered with an error. */
struct session *answer_session_named(struct host *host, const struct request *req, const char *id,
				     bool for_job);
/* The same for a job about its files. */
struct session *answer_session_for_files(struct host *host, const struct request *req,
					 const char *id);
/* What somebody wants of a new session; NULL, zero and false: it was left out. */
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
/* A session that the request may have, to be opened; NULL when it was answered with an error. */
struct session *answer_session_add(struct host *host, const struct request *req,
				   const struct session_params *params);
/* It goes through the same door as any that could not be opened, without a thread. */
void answer_open_failed(struct session *session, struct job *job, const struct err *err);
/* With its job, of kind OPEN: gives it what is wanted. False: that could not be, and was answered. */
bool answer_session_prepare(struct host *host, const struct session_params *params,
			    struct session *session, struct job *job);
/* And then queues it. */
void answer_session_open(struct session *session, struct job *job);
struct front_limits session_limits_of(const struct api_limits *limits); /* NULL: none was given */
/* When it is to end, of what was given; false when it was answered that it cannot be. */
bool session_ends(struct host *host, const struct request *req, const uint64_t *in_ms,
		  const uint64_t *at_ms, uint64_t *ret);
/* To whoever waits for what it is now. */
void session_reply_shown(struct session *session, uint64_t request);
/* How a client sees it; what it points at is of the arena. */
void session_show(struct host *host, struct arena *arena, const struct db_session *row,
		  struct api_session *ret);
/* Only what was set; the rest are defaults, which the record of an execution names. */
const struct api_limits *session_tell_limits(struct arena *arena,
					     const struct front_limits *limits);
const struct api_policy *session_tell_policy(struct arena *arena, uint64_t policy);
bool answer_has_scope(const struct host *host, const struct request *req, uint32_t scope);
/* Answers, and is always false. */
bool answer_refuse_scope(struct host *host, const struct request *req, uint32_t scope);
/* Whether the key has what a field of its request needs besides; answers when it has not. */
bool answer_check_scope(struct host *host, const struct request *req, uint32_t scope);
/* Whether the key that asks started that execution, or that run. */
bool execution_is_own(struct host *host, const struct request *req, const char *session,
		      const char *execution);
bool run_is_own(struct host *host, const struct request *req, const char *id);
/* Whether there ever was such a session; answers when there was not. */
bool was_session_named(struct host *host, const struct request *req, const char *id);
/* Room for one, and its second descriptor, which upload_reply() gives to the client; NULL: answered. */
struct upload *upload_begin(struct host *host, const struct request *req, int *ret_fd);
void upload_reply(struct host *host, const struct request *req, uint64_t size_max, int fd);
/* The front names the id of the request as it knows it: without what is its process's. */
enum upload_kind { UPLOAD_FILE, UPLOAD_ARCHIVE, UPLOAD_STORED, UPLOAD_VOLUME };
struct upload *upload_find(struct host *host, const struct request *req, uint64_t ticket,
			   enum upload_kind kind);
void upload_drop(struct upload *upload);
/* The row of that execution; false when it was answered with an error. */
bool execution_find_named(struct host *host, const struct request *req, const char *session,
			  const char *execution, struct db_execution *ret);
/* Variables as reckon.h wants them. */
int answer_take_env(struct job *job, const struct api_list *env, struct err *err);

/* ---- sessions/context.c ---- */
struct context *context_find(const struct session *session, const char *id);
/* The context of that id, NULL for none (`id` NULL); false when it was answered with an error. */
bool context_named(struct host *host, const struct request *req, struct session *session,
		   const char *id, bool for_job, struct context **ret);
/*
 * The same of a request that has code, which may name its language instead: NULL for the session's own kernel when it
 * has that language, else the oldest context of it, which is opened when there is none.
 */
bool context_for_code(struct host *host, const struct request *req, struct session *session,
		      const struct api_execute_in *in, struct context **ret);
/* The texts are the context's own. */
void context_tell(const struct context *context, struct api_context *ret);
/* ---- sessions/context.c ---- */
/* In its session, and nothing else: JOB_CONTEXT_OPEN gives it its kernel and its id. */
struct context *context_new(struct session *session);
bool context_has_room(const struct session *session);
/* The one for code of that language, a new one where there is none; NULL: there is no room. */
struct context *context_of_language(struct session *session, const char *language);
/* `context` NULL: session_enqueue(). */
void context_enqueue(struct session *session, struct context *context, struct job *job);
void context_job_done(struct job *job);
/* `request` (0: none) is answered when it is gone. */
void context_end(struct context *context, enum api_error code, const char *why, uint64_t request);
void context_delete(struct context *context, uint64_t request); /* its row goes with it */
bool context_is_live(const struct context *context); /* parked ones are, too */
/* A fresh kernel; `context` NULL: the session's own. */
void context_restart(struct session *session, struct context *context, uint64_t request);
void context_end_all(struct session *session, enum api_error end, const char *why);
bool context_is_running(const struct session *session);
void context_tick(struct session *session);
void context_pump_all(struct session *session);
void context_fail_waiting(struct session *session, enum api_error end, const char *why);
/* Their kernels are gone, with the box or with an earlier daemon; each comes back when needed. */
void context_park_all(struct session *session, const char *why);
int context_revive(struct session *session, struct err *err);
void context_adopt_all(struct session *session); /* what the daemon before left of them */
/* Rows of all transactions up to `upto` are on the disk; those from `first` on were never there. */
void context_transaction_kept(struct session *session, uint64_t upto);
void context_transaction_failed(struct session *session, uint64_t first);
/* What the context's own kernel left, with its job. */
void context_keep(struct context *context, struct job *job);
