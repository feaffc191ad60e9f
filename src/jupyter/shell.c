/*
 * shell.c - handles shell requests one after the other, each between "busy" and "idle".
 *
 * Runs in:  reckon-jupyter.
 * Reads:    signed messages.
 * Never:    replies to an unknown request: the protocol wants it ignored.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "jupyter/inner.h"

#define HISTORY_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define FOLLOWED_TICKS 500u /* of 2 ms: how long the first request waits for a subscriber */

static void shutdown_here(struct kernel *kernel, const struct message *request)
{
	reply_ok(kernel, request, "shutdown_reply");
	atomic_store(&kernel->is_ending, true);
}

void shell_handle(struct kernel *kernel, const struct message *request)
{
	static const struct {
		const char *type;
		void (*fn)(struct kernel *kernel, const struct message *request);
	} known[] = {
		{ "kernel_info_request", ask_kernel_info },
		{ "complete_request", ask_complete },
		{ "inspect_request", ask_inspect },
		{ "is_complete_request", ask_is_complete },
		{ "history_request", ask_history },
		{ "comm_info_request", ask_comm_info },
		{ "comm_open", ask_comm },
		{ "comm_msg", ask_comm },
		{ "comm_close", ask_comm },
		{ "shutdown_request", shutdown_here },
	};

	publish_status(kernel, &kernel->publisher, request, "busy");
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(known[i].type, request->type) == 0)
			known[i].fn(kernel, request);
	publish_status(kernel, &kernel->publisher, request, "idle");
}

/* After a failed cell: aborts queued cells, and handles other queued requests. */
static void abort_waiting(struct kernel *kernel)
{
	size_t count;

	do { /* if the list was full, more requests may be queued */
		count = kernel->waiting_count;
		for (size_t i = 0; i < count; i++) {
			struct message *request = &kernel->waiting[i];

			if (strcmp(request->type, "execute_request") == 0)
				execute_abort(kernel, request);
			else
				shell_handle(kernel, request);
			message_done(request);
		}
		kernel->waiting_count = 0;
		if (count == WAITING_MAX)
			waiting_collect(kernel);
	} while (kernel->waiting_count > 0);
}

static void handle_next(struct kernel *kernel)
{
	struct message request;

	if (message_receive(kernel, kernel->shell, false, &request) <= 0)
		return;
	if (strcmp(request.type, "execute_request") != 0)
		shell_handle(kernel, &request);
	else if (execute_request(kernel, &request))
		abort_waiting(kernel);
	message_done(&request);
}

/*
 * A client's request can arrive before its subscription to iopub, and what is published until then
 * is lost: jupyter console waits for ever for such an "idle". A client without iopub waits once.
 */
static void wait_for_follower(struct kernel *kernel)
{
	const struct timespec tick = { .tv_nsec = 2000000 };

	for (unsigned i = 0; i < FOLLOWED_TICKS && !atomic_load(&kernel->is_followed); i++)
		(void)nanosleep(&tick, NULL);
}

void shell_serve(struct kernel *kernel)
{
	bool is_first = true;

	publish_status(kernel, &kernel->publisher, NULL, "starting");
	while (!atomic_load(&kernel->is_ending)) {
		zmq_pollitem_t item = { .socket = kernel->shell, .events = ZMQ_POLLIN };

		if (zmq_poll(&item, 1, SOCKETS_TICK_MS) <= 0)
			continue;
		if (is_first)
			wait_for_follower(kernel);
		is_first = false;
		handle_next(kernel);
	}
}

/* The kernel for the SIGINT handler: some clients interrupt with a signal. */
static struct kernel *interrupted;

static void on_interrupt(int number)
{
	(void)number;
	atomic_store(&interrupted->wants_interrupt, true);
	if (atomic_load(&interrupted->is_busy))
		reckon_interrupt(interrupted->session);
}

int jupyter_run(reckon_session *session, const struct language *language,
		const struct jupyter_connection *connection, struct err *err)
{
	struct kernel kernel = { .session = session,
				 .language = language,
				 .connection = connection,
				 .waiting = calloc(WAITING_MAX, sizeof(struct message)),
				 .history = { .bytes_max = HISTORY_BYTES_MAX } };
	const struct sigaction action = { .sa_handler = on_interrupt, .sa_flags = SA_RESTART };

	cleanup_free void *waiting = kernel.waiting;

	if (waiting == NULL)
		return err_sys(err, "requests that wait");
	if (id_new(kernel.id, "jk", err) < 0 || sockets_open(&kernel, err) < 0)
		return (int)err->code;
	interrupted = &kernel;
	(void)sigaction(SIGINT, &action, NULL);
	shell_serve(&kernel);
	sockets_close(&kernel);
	(void)signal(SIGINT, SIG_DFL);
	jupyter_history_done(&kernel.history);
	return 0;
}
