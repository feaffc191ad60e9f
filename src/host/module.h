/*
 * module.h - what the parts of reckond tell each other.
 *
 * Calls go down: a part calls those that it is built on. What those have to tell comes up by the
 * hooks that each part names in its module.c; main.c lists the parts. All of it in the loop.
 */
#pragma once

#include <stdint.h>

#include "api/calls.h"
#include "base/err.h"

struct host;
struct job;
struct session;

/* NULL: it does not care. */
struct module {
	/* ---- fronts ---- */
	/* Nobody waits for this request any more. */
	void (*request_gone)(struct host *host, uint64_t request);
	/* A dialect process died, whose requests had the ids from `first` to `last`. */
	void (*front_lost)(struct host *host, uint64_t first, uint64_t last);

	/* ---- jobs ---- */
	void (*job_opened)(struct job *opened); /* of an OPEN, whatever came of it */
	void (*job_done)(struct job *job);	 /* it was answered */
	/* It will not run, or what it was for cannot be. */
	void (*job_failed)(struct job *job, enum api_error error, const char *why);

	/* ---- sessions ---- */
	/* It lives: whoever opened it is to be answered. */
	void (*session_opened)(struct session *session, struct job *opened);
	/* It is paused, or goes on: whoever asked for that is to be told. */
	void (*session_paused)(struct session *session, uint64_t request);
	/* It ends: what waits fails, what runs is ended. Its last job is queued behind that. */
	void (*session_ends)(struct session *session, enum api_error end, const char *why);
	/* The same because the daemon stops: the next one has it. */
	void (*session_leaves)(struct session *session);
	void (*session_gone)(struct session *session); /* it is freed next */
	/* What waits for its box fails. */
	void (*session_fails)(struct session *session, enum api_error error, const char *why);
	void (*session_goes_on)(struct session *session); /* there is a box for what waits */
	void (*box_wanted)(struct session *session);	   /* and there is none */
	/* Its box is gone, with everything but what is kept. */
	void (*box_lost)(struct session *session, const char *why);

	/* ---- transactions ---- */
	/* Those up to `upto` are on the disk; told for each session that has something in them. */
	void (*session_kept)(struct session *session, uint64_t upto);
	/* Those from `first` on did not happen. */
	void (*session_not_kept)(struct session *session, uint64_t first,
				 const struct err *failed);
	/* The same, once for all sessions, behind them. */
	void (*kept)(struct host *host);
	void (*not_kept)(struct host *host, uint64_t first, const struct err *failed);
	/* Not even the session's row is in the database: told last. */
	void (*session_lost)(struct session *session, const struct err *failed);
	/* Something was rolled back: what was read of the database may be another thing there. */
	void (*rolled_back)(struct host *host);
	/* More is on the disk, or it is known that it will not be: what waited for that goes on. */
	void (*settled)(struct host *host);
};

/* Ends with NULL; they are told in this order. */
#define MODULE_EACH(host, hook, ...)                                                           \
	do {                                                                                   \
		for (const struct module *const *at_ = (host)->modules; *at_ != NULL; at_++)   \
			if ((*at_)->hook != NULL)                                              \
				(*at_)->hook(__VA_ARGS__);                                     \
	} while (0)

/* What each part has to hear. */
extern const struct module audit_module, calls_module, executions_module, files_module,
	fronts_module, processes_module, runs_module, sessions_module, volumes_module;
