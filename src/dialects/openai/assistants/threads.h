/*
 * threads.h - Assistants (v2): assistants, threads, messages, runs and their steps, as documents.
 *
 *   assistants.c       assistants: model, instructions, tools and files
 *   threads.c          threads; maps paths to handlers
 *   messages.c         messages
 *   begin.c            makes a conversation of a thread and an assistant, and starts a run
 *   runs.c             runs: start, show, cancel them, take results
 *   events.c           converts a run's events into steps and messages
 *   write.c            their JSON
 *   kinds.c            the collections of their documents
 *
 * A run of a thread is a Reckon run with the same id. After results of the application's tools
 * another Reckon run continues it, its "part". The events of the parts determine steps, messages
 * and their ids, so every request that reads the run after its end stores the same ones.
 */
#pragma once

#include "dialects/openai/object.h"
#include "dialects/openai/openai.h"

extern const struct object_kind assistant_kind, thread_kind, thread_message_kind, thread_run_kind,
	thread_step_kind;

/* The changing fields of a run. */
struct thread_state {
	const char *status;
	uint64_t started_s, completed_s, cancelled_s, failed_s; /* 0: null */
	const char *why;	       /* for "failed" */
	const char *reason;	       /* for "incomplete" */
	const struct json_value *calls; /* calls that wait for the application */
	const struct json_value *usage; /* an answer's usage */
};

struct thread_run {
	struct request *request;
	struct run run; /* the active part */
	const struct json_value *object; /* the stored object */
	char id[NAME_SIZE], thread[NAME_SIZE], assistant[NAME_SIZE];
	char part[ID_SIZE];
	bool is_stream;
	uint64_t count; /* number of steps and messages so far */
	bool is_open;	/* a message is open */
	char message[NAME_SIZE], step[NAME_SIZE], call[NAME_SIZE];
	uint64_t begun_s; /* of the open step or message */
	struct buf text, code;
	struct buf pictures; /* ids of files, each followed by '\n' */
	unsigned picture_count;
	struct cites cites;
	struct buf shown; /* the run's final state */
};
int thread_run_open(struct thread_run *run, struct request *request,
		    const struct json_value *value, struct err *err);
void thread_run_done(struct thread_run *run);

/* ---- write.c ---- */
void thread_write_run(struct json_writer *json, const struct json_value *object,
		      const struct thread_state *state);
/* `details`: JSON. */
void thread_write_step(struct json_writer *json, const struct thread_run *run, const char *type,
		       const char *status, const struct buf *details);
void thread_write_message(struct json_writer *json, const struct thread_run *run, bool is_whole);
void thread_write_annotations(struct json_writer *json, const struct thread_run *run,
			      bool is_delta);
void thread_write_cell(struct json_writer *json, const struct thread_run *run,
		       const struct json_value *record);
/* Writes what is new of a cell, as part of a delta: its start, its code, or its outputs
 * (record). */
void thread_write_cell_delta(struct json_writer *json, const struct thread_run *run,
			     const struct json_value *record);
void thread_write_functions(struct json_writer *json, const struct json_value *calls,
			    const struct json_value *outputs);
/* The id of a cell's index-th picture, which is not stored again. */
bool thread_picture_id(const char *session, const char *execution, size_t index, char *ret,
		       size_t size);

/* ---- events.c        ---- */
/* Follows it to the end, and stores everything. Negative: the client is gone. */
int thread_follow(struct thread_run *run);
int thread_send(const struct thread_run *run, const char *event, const struct buf *data);
int thread_send_end(const struct thread_run *run);

/* ---- runs.c ---- */
/* Handles POST /threads/{t}/runs with the body of a run. */
void thread_runs_create(struct request *request, const char *thread, const struct json_value *body,
			const struct json_value *created);
void thread_runs_handle(struct request *request, const char *thread, const char *rest);
/* Stores a run that has ended; 1: one is still active, its id is in *ret. */
int thread_settle(struct request *request, const struct json_value *thread, char ret[NAME_SIZE]);

/* ---- begin.c ---- */
struct thread_order {
	const struct json_value *thread, *assistant, *body; /* "object" of the two documents */
	const char *id, *assistant_id;
	const struct json_value *document; /* the thread's document */
};
/* A field of the body, else of the assistant. */
const struct json_value *thread_option(const struct thread_order *order, const char *key);
/* How many of the thread's last messages the model gets; 0: all. False: the body's truncation
 * strategy is not supported. */
bool thread_truncation(const struct thread_order *order, uint64_t *ret_last);
int thread_begin(struct request *request, const struct thread_order *order, char ret_run[ID_SIZE]);

/* ---- messages.c ---- */
/* Stores a message; appends it to `list` unless that is NULL. Negative: refused. */
int thread_message_add(struct request *request, const char *thread, const struct json_value *body,
		       struct buf *ret);
void thread_messages_handle(struct request *request, const char *thread, const char *rest);

/* ---- assistants.c ---- */
/* Checks that all tools of an assistant or a run are supported, and not too many. */
int assistant_check_tools(const struct json_value *body, struct err *err);
/* The same of the files in its "tool_resources", or a thread's. */
int assistant_check_resources(const struct json_value *body, struct err *err);

/* ---- assistants.c, threads.c ---- */
void assistants_handle(struct request *request, const char *rest);
void threads_handle(struct request *request, const char *rest);
