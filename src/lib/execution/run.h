/*
 * run.h - one running execution: the state that the loop, the packets and the limits share.
 *
 *   execute.c   begin, the loop, the order of things
 *   packets.c   handles the kernel's packets
 *   stop.c      limits, interrupts, and the kill if they are ignored
 *   report.c    the end: status, error, receipt, diagnostics, files, record
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "lib/client.h"
#include "lib/execution/pipes.h"
#include "lib/execution/questions.h"
#include "lib/record/record.h"
#include "lib/session/session.h"
#include "lib/record/stream.h"
#include "reckon.h"
#include "wire/kernel.h"

#define RUN_TRACEBACK_MAX (256u * 1024u)
#define RUN_INPUT_MAX (1024u * 1024u)

/* Why we asked the program to stop; the first reason stays. */
enum stop_reason { STOP_NONE, STOP_WALL, STOP_CPU, STOP_OUTPUT, STOP_CALLER };

/* How it ended. */
enum run_end {
	RUN_GOING,
	RUN_DONE,      /* the kernel sent DONE                              */
	RUN_DIED,      /* the kernel ended by itself, or by the memory limit */
	RUN_KILLED,    /* it ignored the interrupt, so we ended it */
	RUN_VIOLATION, /* it broke the protocol, so we ended it */
	RUN_INFRA,     /* the warden was lost, or a system call of ours failed */
};

enum run_done { RUN_DONE_OK, RUN_DONE_ERROR, RUN_DONE_INTERRUPTED };

struct run {
	struct reckon_session *session;
	const reckon_execute_options *options;
	const char *code;
	size_t code_len;
	uint64_t wall_ms;
	size_t output_bytes;

	char execution_id[ID_SIZE];
	uint64_t request; /* its number on the wire */
	uint64_t start_ns;
	uint64_t end_ns;
	struct record *record;
	uint64_t events;
	struct buf event;
	struct buf text;

	int pipe[2]; /* read ends of stdout and stderr, -1 after their end */
	struct stream stream[2];
	struct feed feed;
	struct questions questions;
	bool wants_input; /* an INPUT_REQUEST waits for its answer */
	struct buf input;

	struct buf payload;
	struct kernel_item *items;
	struct buf traceback; /* of the kernel's last ERROR */

	struct client_call usage_call;
	bool is_asking_usage;
	uint64_t next_usage_ns;
	struct warden_usage usage; /* the last known usage */
	bool has_usage;

	enum stop_reason stop;
	uint64_t next_interrupt_ns;
	uint64_t kill_ns;

	enum run_end end;
	enum run_done done;
	bool control_ended;
	unsigned packets_in_a_row;
	uint64_t gone_ns; /* how long to wait for the second sign of the kernel's end */
	struct err why; /* for RUN_VIOLATION and RUN_INFRA */
};

/* execute.c */
void run_drain(struct run *run); /* reads all that is in both pipes now */
void run_fail(struct run *run, enum run_end end, const struct err *why);
/* Sends an event to the caller; `stream` is 0 and text NULL except for stream events. */
void run_emit(struct run *run, const char *name, int stream, const struct buf *text);
struct record_moment run_moment(struct run *run);

/* packets.c: handles one packet, if there is one (true); sets run->end at the last. */
bool packet_receive(struct run *run);
void packet_answer_input(struct run *run);
void packet_reply_input(struct run *run, const struct buf *payload);

/* stop.c */
void stop_begin(struct run *run, enum stop_reason reason);
void stop_now(struct run *run); /* on the caller's request, without an interrupt */
void stop_check(struct run *run); /* timers and limits */
uint64_t stop_next_ns(const struct run *run);
const char *stop_seconds(uint64_t ms, char ret[32]);

/* report.c: everything after the end; writes the execution's record to *ret_json. */
int report_finish(struct run *run, enum record_status *ret_status, struct buf *ret_json,
		  struct err *err);
void report_ask(struct run *run); /* asks the warden for the cost, as soon as the execution has
				   * ended */
