/*
 * sockets.c - opens the five sockets, and runs the two threads that only pass messages on.
 *
 * Runs in:  reckon-jupyter.
 * Reads:    messages that it passes on unparsed.
 * Never:    lets two threads use one socket.
 *
 *   main       shell, stdin       handles requests, one after the other
 *   control    control            handles requests also while a cell runs
 *   iopub      iopub              sends messages of the other threads (PUSH, PULL) to subscribers
 *   heartbeat  heartbeat          echoes
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "base/cleanup.h"
#include "jupyter/inner.h"

#define PASSAGE "inproc://iopub"
#define LINGER_MS 1000

static int fail(struct err *err, const char *what)
{
	return err_set(err, ERR_SYSTEM, "%s: %s", what, zmq_strerror(zmq_errno()));
}

static int set(void *socket, int option, int value)
{
	return zmq_setsockopt(socket, option, &value, sizeof(value));
}

static void *make(struct kernel *kernel, int type)
{
	void *socket = zmq_socket(kernel->zmq, type);

	if (socket != NULL)
		(void)set(socket, ZMQ_LINGER, LINGER_MS);
	return socket;
}

static int bind_to(struct kernel *kernel, int type, unsigned port, void **ret, struct err *err)
{
	const struct jupyter_connection *connection = kernel->connection;
	const bool is_tcp = strcmp(connection->transport, "tcp") == 0;
	char address[320];

	*ret = make(kernel, type);
	(void)snprintf(address, sizeof(address), is_tcp ? "tcp://%s:%u" : "ipc://%s-%u",
		       connection->ip, port);
	if (*ret == NULL)
		return fail(err, "a socket");
	if (type == ZMQ_ROUTER)
		(void)set(*ret, ZMQ_ROUTER_HANDOVER, 1);
	if (type == ZMQ_XPUB) {
		(void)set(*ret, ZMQ_XPUB_VERBOSE, 1);
		(void)set(*ret, ZMQ_SNDHWM, 0);
	}
	return zmq_bind(*ret, address) == 0 ? 0 : fail(err, address);
}

/* ---- passing on ----------------------------------------------------------------------------- */

static void *echo(void *arg)
{
	struct kernel *kernel = arg;

	(void)zmq_proxy(kernel->heartbeat_socket, kernel->heartbeat_socket, NULL);
	return NULL;
}

/*
 * Passes on a whole message. False: it was the message of one part that ends the thread, or an
 * error.
 */
static bool pass_on(void *from, void *to)
{
	bool is_first = true, more = true;
	zmq_msg_t part;

	while (more) {
		(void)zmq_msg_init(&part);
		if (zmq_msg_recv(&part, from, 0) < 0) {
			(void)zmq_msg_close(&part);
			return errno == EINTR;
		}
		more = zmq_msg_more(&part) != 0;
		if (is_first && !more)
			return zmq_msg_close(&part) != 0;
		is_first = false;
		if (zmq_msg_send(&part, to, more ? ZMQ_SNDMORE : 0) < 0)
			(void)zmq_msg_close(&part);
	}
	return true;
}

/* Answers a new subscription, which arrives as the byte 1 and the topic. */
static void welcome(struct kernel *kernel)
{
	struct publisher own = { kernel->iopub_socket };
	cleanup_buf struct buf content = BUF_INIT(4096);
	char topic[256];
	const int len = zmq_recv(kernel->iopub_socket, topic, sizeof(topic), ZMQ_DONTWAIT);
	struct json_writer json;

	if (len < 1 || len > (int)sizeof(topic) || topic[0] != 1)
		return;
	atomic_store(&kernel->is_followed, true);
	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_text(&json, "subscription", topic + 1, (size_t)len - 1);
	if (content_end(&json))
		message_publish(kernel, &own, NULL, "iopub_welcome", &content);
}

static void *publish_all(void *arg)
{
	struct kernel *kernel = arg;
	bool goes_on = true;

	while (goes_on) {
		zmq_pollitem_t items[] = { { .socket = kernel->iopub_pull, .events = ZMQ_POLLIN },
					   { .socket = kernel->iopub_socket,
					     .events = ZMQ_POLLIN } };

		if (zmq_poll(items, 2, -1) < 0)
			continue;
		if ((items[1].revents & ZMQ_POLLIN) != 0)
			welcome(kernel);
		if ((items[0].revents & ZMQ_POLLIN) != 0)
			goes_on = pass_on(kernel->iopub_pull, kernel->iopub_socket);
	}
	return NULL;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static int open_push(struct kernel *kernel, struct publisher *ret, struct err *err)
{
	ret->push = make(kernel, ZMQ_PUSH);
	if (ret->push == NULL)
		return fail(err, "a socket");
	/* a cell that prints faster than clients read must wait */
	(void)set(ret->push, ZMQ_SNDHWM, 1000);
	return zmq_connect(ret->push, PASSAGE) == 0 ? 0 : fail(err, PASSAGE);
}

static int begin(pthread_t *ret, void *(*fn)(void *), struct kernel *kernel, struct err *err)
{
	const int code = pthread_create(ret, NULL, fn, kernel);

	if (code == 0)
		return 0;
	errno = code;
	return err_sys(err, "a thread");
}

int sockets_open(struct kernel *kernel, struct err *err)
{
	const struct jupyter_connection *connection = kernel->connection;

	kernel->zmq = zmq_ctx_new();
	if (kernel->zmq == NULL)
		return fail(err, "ZeroMQ");
	kernel->iopub_pull = make(kernel, ZMQ_PULL);
	if (kernel->iopub_pull == NULL || zmq_bind(kernel->iopub_pull, PASSAGE) < 0)
		return fail(err, PASSAGE);
	if (bind_to(kernel, ZMQ_ROUTER, connection->hb_port, &kernel->heartbeat_socket, err) < 0 ||
	    bind_to(kernel, ZMQ_XPUB, connection->iopub_port, &kernel->iopub_socket, err) < 0 ||
	    bind_to(kernel, ZMQ_ROUTER, connection->control_port, &kernel->control_socket, err) <
		    0 ||
	    bind_to(kernel, ZMQ_ROUTER, connection->stdin_port, &kernel->stdin_socket, err) < 0 ||
	    bind_to(kernel, ZMQ_ROUTER, connection->shell_port, &kernel->shell, err) < 0 ||
	    open_push(kernel, &kernel->publisher, err) < 0 ||
	    open_push(kernel, &kernel->control_publisher, err) < 0)
		return (int)err->code;
	if (begin(&kernel->iopub, publish_all, kernel, err) < 0 ||
	    begin(&kernel->heartbeat, echo, kernel, err) < 0 ||
	    begin(&kernel->control, control_main, kernel, err) < 0)
		return (int)err->code;
	return 0;
}

/*
 * Sends the last messages first. The heartbeat thread only ends when the ZeroMQ context shuts down.
 */
void sockets_close(struct kernel *kernel)
{
	(void)pthread_join(kernel->control, NULL);
	(void)zmq_send(kernel->publisher.push, "", 0, 0);
	(void)pthread_join(kernel->iopub, NULL);
	(void)zmq_close(kernel->publisher.push);
	(void)zmq_close(kernel->control_publisher.push);
	(void)zmq_close(kernel->iopub_pull);
	(void)zmq_close(kernel->iopub_socket);
	(void)zmq_close(kernel->control_socket);
	(void)zmq_close(kernel->stdin_socket);
	(void)zmq_close(kernel->shell);
	(void)zmq_ctx_shutdown(kernel->zmq);
	(void)pthread_join(kernel->heartbeat, NULL);
	(void)zmq_close(kernel->heartbeat_socket);
	(void)zmq_ctx_term(kernel->zmq);
}
