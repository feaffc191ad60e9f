/*
 * threads.h - Assistants (v2): assistants, threads, messages, runs and their steps, as documents.
 *
 *   assistants.c       what is asked, with which instructions, tools and files
 *   threads.c          threads; which path is what
 *   messages.c         messages
 *   begin.c            a thread and an assistant become a conversation, and a run of it
 *   runs.c             runs: begun, shown, cancelled, answered
 *   events.c           the events of a run become steps and messages, stored and streamed
 *   write.c            their JSON
 *   kinds.c            the collections of their documents
 *
 * A run of a thread is a run of ours, under the same id; after the application's tools have answered
 * another one goes on with it, its "part". Steps and messages follow from the events of the parts,
 * their ids included, so that whoever looks after the end stores the same ones.
 */
#pragma once

#include "dialects/openai/object.h"
#include "dialects/openai/openai.h"

extern const struct object_kind assistant_kind, thread_kind, thread_message_kind, thread_run_kind,
	thread_step_kind;

/* What of a run changes. */
struct thread_state {
	const char *status;
	uint64_t started_s, completed_s, cancelled_s, failed_s; /* 0: null */
	const char *why;	       /* of "failed" */
	const char *reason;	       /* of "incomplete" */
	const struct json_value *calls; /* that wait for the application */
	const struct json_value *usage; /* of an answer */
};

struct thread_run {
	struct request *request;
	struct run run; /* the part that goes on */
	const struct json_value *object; /* as it was stored */
	char id[NAME_SIZE], thread[NAME_SIZE], assistant[NAME_SIZE];
	char part[ID_SIZE];
	bool is_stream;
	uint64_t count; /* of steps and messages so far */
	bool is_open;	/* a message */
	char message[NAME_SIZE], step[NAME_SIZE], call[NAME_SIZE];
	uint64_t begun_s; /* of what is open */
	struct buf text, code;
	struct buf pictures; /* ids of files, each with '\n' */
	unsigned picture_count;
	struct cites cites;
	struct buf shown; /* the run as it is in the end */
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
/* What is new of it, as a part of a delta: that it is there, its code, or with a record its outputs. */
void thread_write_cell_delta(struct json_writer *json, const struct thread_run *run,
			     const struct json_value *record);
void thread_write_functions(struct json_writer *json, const struct json_value *calls,
			    const struct json_value *outputs);
/* Names the index-th picture of a cell, without storing it again. */
bool thread_picture_id(const char *session, const char *execution, size_t index, char *ret,
		       size_t size);

/* ---- events.c        ---- */
/* Up to its end, of which everything is stored. Negative: nobody is left. */
int thread_follow(struct thread_run *run);
int thread_send(const struct thread_run *run, const char *event, const struct buf *data);
int thread_send_end(const struct thread_run *run);

/* ---- runs.c ---- */
/* POST /threads/{t}/runs with the body of a run. */
void thread_runs_create(struct request *request, const char *thread, const struct json_value *body,
			const struct json_value *created);
void thread_runs_handle(struct request *request, const char *thread, const char *rest);
/* What has ended is stored as that; 1: one still goes on, whose id is *ret. */
int thread_settle(struct request *request, const struct json_value *thread, char ret[NAME_SIZE]);

/* ---- begin.c ---- */
struct thread_order {
	const struct json_value *thread, *assistant, *body; /* "object" of the first two */
	const char *id, *assistant_id;
	const struct json_value *kept; /* the thread's document */
};
/* What of the assistant or the body counts. */
const struct json_value *thread_wish(const struct thread_order *order, const char *key);
int thread_begin(struct request *request, const struct thread_order *order, char ret_run[ID_SIZE]);

/* ---- messages.c ---- */
/* Stores one; appends it to `list` unless that is NULL. Negative: refused. */
int thread_message_add(struct request *request, const char *thread, const struct json_value *body,
		       struct buf *ret);
void thread_messages_handle(struct request *request, const char *thread, const char *rest);

/* ---- assistants.c, threads.c ---- */
void assistants_handle(struct request *request, const char *rest);
void threads_handle(struct request *request, const char *rest);
