/*
 * module.h - hooks through which the parts of reckond notify each other.
 *
 * A part calls only parts that it is built on. In the other direction, a part is notified through
 * the hooks that it names in its module.c; main.c lists the parts. All hooks run in the loop.
 */
#pragma once

#include <stdint.h>

#include "api/calls.h"
#include "base/err.h"

struct host;
struct job;
struct session;

/* A NULL hook is not called. */
struct module {
	/* ---- fronts ---- */
	/* The client no longer waits for this request. */
	void (*request_gone)(struct host *host, uint64_t request);
	/* A dialect process ended, whose requests had the ids from `first` to `last`. */
	void (*front_lost)(struct host *host, uint64_t first, uint64_t last);

	/* ---- jobs ---- */
	void (*job_opened)(struct job *opened); /* an OPEN is done, successful or not */
	void (*job_done)(struct job *job);	 /* it is answered */
	/* The job will not run, or its purpose has failed. */
	void (*job_failed)(struct job *job, enum api_error error, const char *why);

	/* ---- sessions ---- */
	/* The session is open: answer the request that opened it. */
	void (*session_opened)(struct session *session, struct job *opened);
	/* The session is paused or resumed: answer the request that asked for that. */
	void (*session_paused)(struct session *session, uint64_t request);
	/* The session ends: fail waiting work, end running work. Its CLOSE is queued afterwards. */
	void (*session_ends)(struct session *session, enum api_error end, const char *why);
	/* The same because the daemon stops: the next daemon continues with the session. */
	void (*session_leaves)(struct session *session);
	void (*session_gone)(struct session *session); /* it is about to be freed */
	/* Fail work that waits for its box. */
	void (*session_fails)(struct session *session, enum api_error error, const char *why);
	void (*session_goes_on)(struct session *session); /* its box is there: start waiting work */
	void (*box_wanted)(struct session *session);	   /* work needs its box; there is none */
	/* The box is lost, with everything that is not stored. */
	void (*box_lost)(struct session *session, const char *why);

	/* ---- transactions ---- */
	/* Transactions up to `upto` are synced; called for each session that has a part in them. */
	void (*session_transactions_synced)(struct session *session, uint64_t upto);
	/* Transactions from `first` on failed. */
	void (*session_transactions_failed)(struct session *session, uint64_t first,
					    const struct err *failed);
	/* The same for the whole host, after all sessions. */
	void (*transactions_synced)(struct host *host);
	void (*transactions_failed)(struct host *host, uint64_t first, const struct err *failed);
	/* Even the session's row could not be stored; called last. */
	void (*session_lost)(struct session *session, const struct err *failed);
	/* The database was rolled back, so values that were read from it may be wrong. */
	void (*rolled_back)(struct host *host);
	/* Transactions were synced or failed: continue what waited for that. */
	void (*settled)(struct host *host);
};

/* Calls a hook of all modules, in the order of the list, which ends with NULL. */
#define MODULE_EACH(host, hook, ...)                                                           \
	do {                                                                                   \
		for (const struct module *const *at_ = (host)->modules; *at_ != NULL; at_++)   \
			if ((*at_)->hook != NULL)                                              \
				(*at_)->hook(__VA_ARGS__);                                     \
	} while (0)

/* The hooks of each part. */
extern const struct module audit_module, calls_module, executions_module, files_module,
	fronts_module, processes_module, runs_module, sessions_module, volumes_module;
