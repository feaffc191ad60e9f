/*
 * run.h - a question that a model answers by running code in a session; part of host.h.
 *
 *   calls/run.c     what the front asks of it
 *   run.c        its life: made, prepared, asked
 *   end.c        how it ends
 *   events.c     what is told of it, and to whom
 *   calls/conversation.c    conversations: what a run goes on with, what it left
 *   conversation.c   its driver (src/driver): begun, stepped by the loop
 *   cell.c   a cell of it: an execution of the session like any other
 *   model.c  which models there are
 *   told.c   what a model is told of one
 *   persisted.c   what of it is in the database (db/run.h)
 *
 *   PREPARING --session open, files there--> ASKING --DONE, a stop, a failure--> ENDED
 *
 * What is left of one that ended is told for a while from here, with its events, then from its
 * row; its executions stay in the session's history. A job that comes back names the run it was
 * for, so one is freed only when it has no job on its way.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "base/log.h"
#include "agent_client/outcome.h"
#include "driver/driver.h"
#include "host/executions/lease.h"
#include "host/executions/job.h"
#include "host/executions/event_buffer.h"
#include "models/models.h"
#include "api/calls.h"
#include "wire/front.h"
#include "host/runs/told.h"

struct request;
struct host;
struct session;
struct tenant;

enum run_state { RUN_PREPARING, RUN_ASKING, RUN_ENDED };

struct run {
	struct run *next; /* of the host, newest first */
	struct host *host;
	struct tenant *tenant;
	struct session *session; /* NULL: gone */
	char id[ID_SIZE], session_id[ID_SIZE];
	enum run_state state;
	bool made_session, keeps_session;
	struct lease *lease; /* NULL: it goes on whoever leaves */
	bool was_asked;	   /* the model, so that it may have cost something */
	bool is_abandoned; /* they left, and it is ended for that */
	unsigned jobs;	  /* that are to come back */
	struct job *puts; /* files that wait for the session */
	struct event_buffer *events;
	struct buf question;
	struct buf load; /* a conversation that is gone on with; empty: none */
	struct agent_client_tool_result results[AGENT_CALLS_MAX]; /* of calls that wait; copies */
	size_t result_count;
	struct agent_usage before; /* what the run that it goes on with had used */
	char *tools; /* that its cells may call, as asking_keep() has them; NULL: none */
	uint64_t wait_ms; /* a cell, for their answers */
	char **files; /* lines that the model is told */
	size_t file_count;
	char *model; /* PROVIDER/NAME */
	struct agent_settings settings;
	bool has_price;
	struct driver driver; /* outcome, usage and answer are there */
	struct loop_io *io;
	struct execution *cell; /* that waits or runs */
	unsigned refused;	/* cells in a row, by quotas */
	enum agent_stop stop;
	enum api_error failure; /* with `why`, when it ended before it could be asked */
	bool failed;
	struct err why;
	struct buf json; /* the whole, when it has ended */
	uint64_t ended_ns;
	struct waiter *waiters;
	size_t waiter_count;
	struct event_waiter *event_waiters;
	size_t event_waiter_count;
	struct log_context about;
	char actor[72];
};

/* Of the daemon. */
struct runs {
	struct run *first;
	struct models *models; /* that may be asked, or NULL */
};

/* ---- run.c ---- */
/* In PREPARING, with a job to wait for; the caller begins those. */
struct run *run_new(struct host *host, struct tenant *tenant, struct err *err);
void run_discard(struct run *run); /* one that was never begun */
struct run *run_find(struct host *host, const struct tenant *tenant, const char *id);
/* One has ended, and who follows it was not told yet. */
bool run_is_unread(const struct host *host);
/* Of those that have not ended; `tenant` NULL: of all. */
unsigned run_count(const struct host *host, const struct tenant *tenant);
void run_forget(struct host *host, uint64_t request); /* whoever waited went away */
void run_opened(struct run *run);
/* A job came back; or will not run. Either may free the run. */
void run_job_done(struct run *run, const struct job *job);
void run_job_failed(struct run *run, enum api_error error, const char *why);
void run_session_ends(struct session *session, const char *why);
void run_session_gone(struct session *session);
void run_tick(struct host *host);
void run_stop_all(struct host *host, const char *why);
void run_free_all(struct host *host);

/* ---- events.c ---- */
/* What happens from now on is on behalf of it; ends with about_end(). */
void run_act(struct run *run);
/* It is asked as soon as no job is on its way. */
void run_expect(struct run *run, struct job *job);
struct json_writer;
/* {"event":NAME, …}: between the two, members. */
void run_event_begin(struct json_writer *writer, struct buf *json, const char *name);
void run_event_end(struct run *run, struct json_writer *writer, const char *name);
void run_wait_events(struct run *run, uint64_t request, uint64_t after);
void run_publish(struct host *host);		  /* new events to those who wait */
void run_tell(struct run *run);		  /* the same of one */
void run_wait(struct run *run, const struct request *req);
void run_reply_answer(struct host *host, const struct waiter *waiter, struct api_bytes answer);
void run_answer_waiter(struct run *run, const struct waiter *waiter);

/* ---- end.c ---- */
void run_end(struct run *run, enum agent_stop stop, const char *message);
void run_abort(struct run *run, enum api_error error, const char *why);
void run_stop(struct run *run); /* soon, by itself */
/* Soon, when nobody waits for it any more. */
void run_stop_abandoned(struct run *run);
void run_hang_up(struct run *run);
void run_drop_puts(struct run *run);

/* ---- calls/conversation.c ---- */
/* What the run begins or goes on with; -1: it was answered why not. */
int run_conversation_take(struct run *run, const struct request *req,
			  const struct api_run_create_in *in);
bool run_conversation_is_persisted(const struct api_run_create_in *in);
/* The session that the request names, or that of the run it goes on with; NULL: a new one. */
const char *run_conversation_session(struct run *run, const struct api_run_create_in *in);

/* ---- conversation.c ---- */
/* Before anything else of its driver. */
void run_driver_init(struct run *run);
int run_ask(struct run *run, struct err *err);

/* ---- cell.c ---- */
/* Of struct driver_ops. */
int run_cell_execute(const struct driver_cell *cell, struct err *err, void *arg);
void run_cell_end(const struct driver_cell_end *end, void *arg);
void run_cell_done(struct run *run, const struct job *job);
void run_cell_refuse(struct run *run, const char *status, const char *why);

/* ---- persisted.c ---- */
struct db_run;
/* On the disk before anything is answered, or asked. */
int run_keep_begin(const struct run *run, const char *idempotency,
		       const unsigned char hash[32], struct err *err);
void run_keep_session(const struct run *run);
void run_keep_end(const struct run *run);
/* As of one that ended in this daemon. */
void run_kept_reply(struct host *host, const struct request *req, const struct db_run *row);
void run_kept_events(struct host *host, uint64_t request, uint64_t after,
			 const struct db_run *row);

/* ---- model.c ---- */
/* Reads the file of models again. What is wrong with it leaves what was there. */
int run_models_load(struct host *host, struct err *err);
/*
 * `query` NULL: the standard one. ERR_NOT_FOUND: it is none of those that the file names. With its
 * key: models_choice_done().
 */
int run_model_choose(const struct host *host, const char *query, struct models_choice *ret,
		     struct err *err);
/* The names that `model` can be, one after the other: 0 to …; false past the end. */
bool run_model_at(const struct host *host, size_t index, char *ret, size_t size);
/* Of one question, within what the file allows. */
int run_model_settings(struct models_choice *choice, const struct api_run_limits *limits,
			   struct agent_settings *ret, struct err *err);
