/*
 * control.c - handles requests while a cell runs: interrupts, shutdown, kernel info.
 *
 * Runs in:  reckon-jupyter, in a thread of its own.
 * Reads:    signed messages.
 * Never:    sends the session anything but an interrupt or a kill.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "base/cleanup.h"
#include "jupyter/inner.h"

static void interrupt(struct kernel *kernel, const struct message *request)
{
	atomic_store(&kernel->wants_interrupt, true);
	if (atomic_load(&kernel->is_busy))
		reckon_interrupt(kernel->session);
	reply_ok(kernel, request, "interrupt_reply");
}

static void end(struct kernel *kernel)
{
	atomic_store(&kernel->is_ending, true);
	if (atomic_load(&kernel->is_busy))
		reckon_kill(kernel->session);
}

static void shut_down(struct kernel *kernel, const struct message *request)
{
	cleanup_buf struct buf content = BUF_INIT(128);
	struct json_writer json;

	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_string(&json, "status", "ok");
	json_write_member_bool(&json, "restart", message_flag(request, "restart", false));
	if (content_end(&json)) {
		message_publish(kernel, &kernel->control_publisher, request, "shutdown_reply",
				&content);
		message_send(kernel, request->socket, request, "shutdown_reply", &content);
	}
	end(kernel);
}

static void handle(struct kernel *kernel, const struct message *request)
{
	static const struct {
		const char *type;
		void (*fn)(struct kernel *kernel, const struct message *request);
	} known[] = {
		{ "interrupt_request", interrupt },
		{ "shutdown_request", shut_down },
		{ "kernel_info_request", ask_kernel_info },
	};

	publish_status(kernel, &kernel->control_publisher, request, "busy");
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(known[i].type, request->type) == 0)
			known[i].fn(kernel, request);
	publish_status(kernel, &kernel->control_publisher, request, "idle");
}

/* Whether the process that started the kernel has ended: nobody else would end the kernel. */
static bool is_orphan(pid_t parent)
{
	return getppid() != parent;
}

void *control_main(void *arg)
{
	struct kernel *kernel = arg;
	const pid_t parent = getppid();
	struct message request;

	while (!atomic_load(&kernel->is_ending)) {
		zmq_pollitem_t item = { .socket = kernel->control_socket, .events = ZMQ_POLLIN };

		if (zmq_poll(&item, 1, SOCKETS_TICK_MS) > 0 &&
		    message_receive(kernel, kernel->control_socket, false, &request) > 0) {
			handle(kernel, &request);
			message_done(&request);
		}
		if (is_orphan(parent))
			end(kernel);
	}
	return NULL;
}
