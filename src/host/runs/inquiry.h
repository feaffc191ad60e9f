/*
 * inquiry.h - a question that a model answers by running code in a session; part of host.h.
 *
 *   calls/run.c     what the front asks of it
 *   inquiry.c        its life: prepared, asked, ended; who waits for it
 *   calls/talk.c    conversations: what a run goes on with, what it left
 *   talk.c   its driver (src/driver): begun, stepped by the loop, ended; its events
 *   cell.c   a cell of it: an execution of the session like any other
 *   model.c  which models there are
 *   kept.c   what of it is in the database (db/run.h)
 *
 *   PREPARING --session open, files there--> ASKING --DONE, a stop, a failure--> ENDED
 *
 * Outside it is called a run. What is left of one that ended is told for a while from here, with
 * its events, then from its row; its executions stay in the session's history. A job that comes back names the inquiry it was for,
 * so one is freed only when it has no job on its way.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "base/log.h"
#include "converse/outcome.h"
#include "driver/driver.h"
#include "host/executions/hold.h"
#include "host/executions/job.h"
#include "host/executions/ring.h"
#include "models/models.h"
#include "api/calls.h"
#include "wire/front.h"

struct asked;
struct host;
struct session;
struct tenant;

enum inquiry_state { INQUIRY_PREPARING, INQUIRY_ASKING, INQUIRY_ENDED };

struct inquiry {
	struct inquiry *next; /* of the host, newest first */
	struct host *host;
	struct tenant *tenant;
	struct session *session; /* NULL: gone */
	char id[ID_SIZE], session_id[ID_SIZE];
	enum inquiry_state state;
	bool made_session, keeps_session;
	struct hold *hold; /* NULL: it goes on whoever leaves */
	bool was_asked;	   /* the model, so that it may have cost something */
	bool is_abandoned; /* they left, and it is ended for that */
	unsigned jobs;	  /* that are to come back */
	struct job *puts; /* files that wait for the session */
	struct ring *ring;
	struct buf question;
	struct buf load; /* a conversation that is gone on with; empty: none */
	struct converse_tool_result results[AGENT_CALLS_MAX]; /* of calls that wait; copies */
	size_t result_count;
	struct agent_usage before; /* what the run that it goes on with had used */
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

/* What a cell's thread found for the model. */
struct job_told {
	struct buf text;
	uint64_t repeat, same;
	struct converse_image images[AGENT_IMAGES_MAX]; /* their bytes are allocated */
	size_t image_count;
	struct outcome changes; /* files alone */
};

/* ---- inquiry.c ---- */
/* In PREPARING, with a job to wait for; the caller begins those. */
struct inquiry *inquiry_new(struct host *host, struct tenant *tenant, struct err *err);
void inquiry_discard(struct inquiry *inquiry); /* one that was never begun */
struct inquiry *inquiry_find(struct host *host, const struct tenant *tenant, const char *id);
/* One has ended, and who follows it was not told yet. */
bool inquiry_is_unread(const struct host *host);
/* Of those that have not ended; `tenant` NULL: of all. */
unsigned inquiry_count(const struct host *host, const struct tenant *tenant);
void inquiry_wait(struct inquiry *inquiry, const struct asked *asked);
void inquiry_wait_events(struct inquiry *inquiry, uint64_t request, uint64_t after);
void inquiry_forget(struct host *host, uint64_t request); /* whoever waited went away */
void inquiry_publish(struct host *host);		  /* new events to those who wait */
void inquiry_tell(struct inquiry *inquiry);		  /* the same of one */
/* It is asked as soon as no job is on its way. */
void inquiry_expect(struct inquiry *inquiry, struct job *job);
void inquiry_opened(struct inquiry *inquiry);
/* A job came back; or will not run. Either may free the inquiry. */
void inquiry_job_done(struct inquiry *inquiry, const struct job *job);
void inquiry_job_failed(struct inquiry *inquiry, enum api_error error, const char *why);
void inquiry_end(struct inquiry *inquiry, enum agent_stop stop, const char *message);
void inquiry_fail(struct inquiry *inquiry, enum api_error error, const char *why);
void inquiry_stop(struct inquiry *inquiry); /* soon, by itself */
void inquiry_session_ends(struct session *session, const char *why);
void inquiry_session_gone(struct session *session);
void inquiry_tick(struct host *host);
void inquiry_stop_all(struct host *host, const char *why);
void inquiry_free_all(struct host *host);
/* What happens from now on is on behalf of it; ends with answer_end(). */
void inquiry_act(struct inquiry *inquiry);

/* ---- calls/talk.c ---- */
/* What the run begins or goes on with; -1: it was answered why not. */
int talk_take(struct inquiry *inquiry, const struct asked *asked,
	      const struct api_run_create_in *in);
bool talk_is_kept(const struct api_run_create_in *in);
/* The session that the request names, or that of the run it goes on with; NULL: a new one. */
const char *talk_session(struct inquiry *inquiry, const struct api_run_create_in *in);

/* ---- talk.c ---- */
/* Before anything else of its driver. */
void inquiry_driver_init(struct inquiry *inquiry);
int inquiry_ask(struct inquiry *inquiry, struct err *err);
void inquiry_hang_up(struct inquiry *inquiry);
struct json_writer;
/* {"event":NAME, …}: between the two, members. */
void inquiry_event_begin(struct json_writer *writer, struct buf *json, const char *name);
void inquiry_event_end(struct inquiry *inquiry, struct json_writer *writer, const char *name);

/* ---- cell.c ---- */
/* Of struct driver_ops. */
int inquiry_cell_execute(const struct driver_cell *cell, struct err *err, void *arg);
void inquiry_cell_end(const struct driver_cell_end *end, void *arg);
void inquiry_cell_done(struct inquiry *inquiry, const struct job *job);
/* The one that runs is to end. */
void inquiry_cell_stop(struct inquiry *inquiry);
void inquiry_cell_refuse(struct inquiry *inquiry, const char *status, const char *why);
/* In a thread of the pool. */
struct job_told *job_told_new(const reckon_execution *done);
void job_told_free(struct job_told *told); /* NULL is fine */

/* ---- kept.c ---- */
struct db_run;
/* On the disk before anything is answered, or asked. */
int inquiry_keep_begin(const struct inquiry *inquiry, const char *idempotency,
		       const unsigned char hash[32], struct err *err);
void inquiry_keep_session(const struct inquiry *inquiry);
void inquiry_keep_end(const struct inquiry *inquiry);
/* As of one that ended in this daemon. */
void inquiry_kept_reply(struct host *host, const struct asked *asked, const struct db_run *row);
void inquiry_kept_events(struct host *host, uint64_t request, uint64_t after,
			 const struct db_run *row);

/* ---- model.c ---- */
/* Reads the file of models again. What is wrong with it leaves what was there. */
int inquiry_models_load(struct host *host, struct err *err);
/*
 * `wish` NULL: the standard one. ERR_NOT_FOUND: it is none of those that the file names. With its
 * key: models_choice_done().
 */
int inquiry_model_choose(const struct host *host, const char *wish, struct models_choice *ret,
			 struct err *err);
/* The names that `model` can be, one after the other: 0 to …; false past the end. */
bool inquiry_model_at(const struct host *host, size_t index, char *ret, size_t size);
/* Of one question, within what the file allows. */
int inquiry_model_settings(struct models_choice *choice, const struct api_run_limits *limits,
			   struct agent_settings *ret, struct err *err);
