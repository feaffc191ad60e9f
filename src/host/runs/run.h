/*
 * run.h - a run: a model answers a question by running code in a session; included by host.h.
 *
 *   calls/run.c           the calls for runs
 *   calls/conversation.c  conversations: what a run continues, and what it leaves
 *   run.c                 its life: created, prepared, asked
 *   end.c                 how it ends
 *   events.c              its events and answer, and the requests that wait for them
 *   conversation.c        its driver (src/driver): started, stepped by the loop
 *   cell.c                its cells, which are ordinary executions of the session
 *   cell_result.c         the result of a cell for the model
 *   model.c               the models that clients may use
 *   persisted.c           its row in the database (db/tables/run.h)
 *
 *   PREPARING --session open, files there--> ASKING --DONE, a stop, a failure--> ENDED
 *
 * Finished runs and their events are served from memory for a while, then from the database; their
 * executions stay in the session's history. Jobs refer to their run, so a run is freed only when
 * none of its jobs is running.
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
#include "host/runs/cell_result.h"

struct request;
struct host;
struct session;
struct tenant;

enum run_state { RUN_PREPARING, RUN_ASKING, RUN_ENDED };

struct run {
	struct run *next; /* in the list of the host, newest first */
	struct host *host;
	struct tenant *tenant;
	struct session *session; /* NULL: it has ended */
	char id[ID_SIZE], session_id[ID_SIZE];
	enum run_state state;
	bool made_session, keeps_session;
	struct lease *lease; /* NULL: it continues if clients disconnect */
	bool has_called_model; /* which may have cost something */
	bool is_abandoned; /* its clients disconnected, so it is stopped */
	unsigned jobs;	  /* number of jobs that have not returned */
	struct job *puts; /* files to write when the session is open */
	struct event_buffer *events;
	struct buf question;
	struct buf load; /* the conversation to continue; empty: none */
	struct agent_client_tool_result results[AGENT_CALLS_MAX]; /* of calls that wait; copied */
	size_t result_count;
	struct agent_usage before; /* usage up to the end of the continued run */
	char *tools; /* tools for its cells, as from asking_keep(); NULL: none */
	uint64_t wait_ms; /* how long a cell waits for their answers */
	char **files; /* file list for the model */
	size_t file_count;
	char *model; /* PROVIDER/NAME */
	struct agent_settings settings;
	bool has_price;
	struct driver driver; /* has outcome, usage and answer */
	struct loop_io *io;
	struct execution *cell; /* waiting or running */
	unsigned refused;	/* consecutive cells that quotas refused */
	enum agent_stop stop;
	enum api_error failure; /* with `why`, if the run failed without an answer */
	bool failed;
	struct err why;
	struct buf json; /* the complete answer, when it has ended */
	uint64_t ended_ns;
	struct waiter *waiters;
	size_t waiter_count;
	struct event_waiter *event_waiters;
	size_t event_waiter_count;
	struct log_context about;
	char actor[72];
};

/* The runs of the daemon. */
struct runs {
	struct run *first;
	struct models *models; /* that clients may use, or NULL */
};

/* ---- run.c ---- */
/* Creates a run in PREPARING. The caller must start a job that it waits for. */
struct run *run_new(struct host *host, struct tenant *tenant, struct err *err);
void run_discard(struct run *run); /* frees a run that was not started */
struct run *run_find(struct host *host, const struct tenant *tenant, const char *id);
/* Whether a run has ended whose last event a reader has not got yet. */
bool run_is_unread(const struct host *host);
/* Number of runs that have not ended; `tenant` NULL: of all tenants. */
unsigned run_count(const struct host *host, const struct tenant *tenant);
void run_forget(struct host *host, uint64_t request); /* its client disconnected */
void run_opened(struct run *run);
/* A job has returned, or will not run. Either may free the run. */
void run_job_done(struct run *run, const struct job *job);
void run_job_failed(struct run *run, enum api_error error, const char *why);
void run_session_ends(struct session *session, const char *why);
void run_session_gone(struct session *session);
void run_tick(struct host *host);
void run_stop_all(struct host *host, const char *why);
void run_free_all(struct host *host);

/* ---- events.c ---- */
/* Sets the run's client as the origin of log lines and audit entries, until about_end(). */
void run_act(struct run *run);
/* The run waits for this job; the model is asked when none is left. */
void run_expect(struct run *run, struct job *job);
struct json_writer;
/* An event is {"event":NAME, …}: write its other members between the two calls. */
void run_event_begin(struct json_writer *writer, struct buf *json, const char *name);
void run_event_end(struct run *run, struct json_writer *writer, const char *name);
void run_wait_events(struct run *run, uint64_t request, uint64_t after);
void run_publish(struct host *host);		  /* sends new events to waiting requests */
void run_tell(struct run *run);		  /* the same for one run */
void run_wait(struct run *run, const struct request *req);
void run_reply_answer(struct host *host, const struct waiter *waiter, struct api_bytes answer);
void run_answer_waiter(struct run *run, const struct waiter *waiter);

/* ---- end.c ---- */
void run_end(struct run *run, enum agent_stop stop, const char *message);
void run_abort(struct run *run, enum api_error error, const char *why);
void run_stop(struct run *run); /* stops it soon, without waiting */
/* Stops the run if no client waits for it any more. */
void run_stop_abandoned(struct run *run);
void run_hang_up(struct run *run);
void run_drop_puts(struct run *run);

/* ---- calls/conversation.c ---- */
/* Takes what the run asks or continues; -1: answered with an error. */
int run_conversation_take(struct run *run, const struct request *req,
			  const struct api_run_create_in *in);
bool run_conversation_is_persisted(const struct api_run_create_in *in);
/* The session that the request names, or that of the continued run; NULL: needs a new one. */
const char *run_conversation_session(struct run *run, const struct api_run_create_in *in);

/* ---- conversation.c ---- */
/* Call before other functions of the driver. */
void run_driver_init(struct run *run);
int run_ask(struct run *run, struct err *err);

/* ---- cell.c ---- */
/* Members of struct driver_ops. */
int run_cell_execute(const struct driver_cell *cell, struct err *err, void *arg);
void run_cell_end(const struct driver_cell_end *end, void *arg);
void run_cell_done(struct run *run, const struct job *job);
void run_cell_refuse(struct run *run, const char *status, const char *why);

/* ---- persisted.c ---- */
struct db_run;
/* Stores the run before the request is answered or the model is asked. */
int run_keep_begin(const struct run *run, const char *idempotency,
		       const unsigned char hash[32], struct err *err);
void run_keep_session(const struct run *run);
void run_keep_end(const struct run *run);
/* Answers from the row, as for a run in memory. */
void run_reply_from_row(struct host *host, const struct request *req, const struct db_run *row);
void run_reply_events_from_row(struct host *host, uint64_t request, uint64_t after,
			       const struct db_run *row);

/* ---- model.c ---- */
/* Reads the file of models. On an error the old models stay in use. */
int run_models_load(struct host *host, struct err *err);
/*
 * Chooses a model; `query` NULL: the default. ERR_NOT_FOUND if the file does not name it. *ret
 * includes the key, so call models_choice_done() soon.
 */
int run_model_choose(const struct host *host, const char *query, struct models_choice *ret,
		     struct err *err);
/* Enumerates the names that `model` may have, from index 0; false: past the end. */
bool run_model_at(const struct host *host, size_t index, char *ret, size_t size);
/* The settings of one run, within the limits of the file. */
int run_model_settings(struct models_choice *choice, const struct api_run_limits *limits,
			   struct agent_settings *ret, struct err *err);
