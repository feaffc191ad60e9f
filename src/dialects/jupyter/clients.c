/*
 * clients.c - the connections of each kernel and what they share: the number of the last cell, the
 * history, and messages that were sent while no client was connected.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    messages of this process.
 * Never:    sends a message: it queues it for a connection, and wakes the handler that sends it.
 *
 *   a message on iopub  ──▶ every connection      an answer ──▶ the connection that asked
 *   if that is lost: ──▶ one with the same session_id, else stored until such a one comes
 *
 * Of kernels without a connection only the KERNELS_MAX most recently used stay in memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "dialects/jupyter/server.h"

#define KERNELS_MAX 256u
#define HISTORY_BYTES_MAX ((size_t)256 * 1024)

static struct clients *kernels; /* most recently joined first */

/* ---- kernels -------------------------------------------------------------------------------- */

static struct clients *find(const char *kernel)
{
	for (struct clients *at = kernels; at != NULL; at = at->next)
		if (strcmp(at->kernel, kernel) == 0 && !at->has_ended)
			return at;
	return NULL;
}

static void unlink_kernel(const struct clients *clients)
{
	for (struct clients **at = &kernels; *at != NULL; at = &(*at)->next)
		if (*at == clients) {
			*at = clients->next;
			return;
		}
}

static void forget(struct clients *clients)
{
	unlink_kernel(clients);
	queue_done(&clients->queue);
	jupyter_history_done(&clients->history);
	free(clients);
}

static void forget_oldest(void)
{
	struct clients *oldest = NULL;
	unsigned count = 0;

	for (struct clients *at = kernels; at != NULL; at = at->next)
		if (at->first == NULL) {
			oldest = at;
			count++;
		}
	if (count > KERNELS_MAX)
		forget(oldest);
}

static struct clients *find_or_make(const char *kernel)
{
	struct clients *clients = find(kernel);

	if (clients == NULL) {
		clients = mem_new0(1, sizeof(*clients));
		(void)snprintf(clients->kernel, sizeof(clients->kernel), "%.36s", kernel);
		clients->history.bytes_max = HISTORY_BYTES_MAX;
	} else {
		unlink_kernel(clients);
	}
	clients->next = kernels;
	kernels = clients;
	return clients;
}

unsigned clients_count(const char *kernel)
{
	unsigned count = 0;

	for (const struct clients *at = kernels; at != NULL; at = at->next)
		for (const struct channels *each = at->first; each != NULL; each = each->next)
			if ((kernel == NULL || strcmp(at->kernel, kernel) == 0) && !each->is_lost)
				count++;
	return count;
}

/* ---- connections ---------------------------------------------------------------------------- */

static bool has_client(const struct channels *channels)
{
	return !channels->is_lost && !websocket_is_lost(channels->request);
}

static bool is_same_session(const struct channels *channels, const char *session)
{
	return session[0] != '\0' && strcmp(channels->session, session) == 0;
}

static struct channels *first_with_client(const struct clients *clients)
{
	for (struct channels *at = clients->first; at != NULL; at = at->next)
		if (has_client(at))
			return at;
	return NULL;
}

/* Marks the client as gone. If it was the kernel's last one, its later messages are stored. */
static void lose(struct channels *channels)
{
	struct clients *clients = channels->clients;

	if (channels->is_lost)
		return;
	channels->is_lost = true;
	if (first_with_client(clients) == NULL) {
		queue_done(&clients->queue);
		(void)snprintf(clients->session, sizeof(clients->session), "%s", channels->session);
		if (channels->session[0] != '\0')
			queue_move(&channels->queue, &clients->queue);
	}
	queue_done(&channels->queue);
}

void clients_join(struct channels *channels)
{
	struct clients *clients = find_or_make(channels->uuid);

	channels->clients = clients;
	for (struct channels *at = clients->first; at != NULL; at = at->next)
		if (is_same_session(at, channels->session) && has_client(at)) {
			at->is_replaced = true;
			request_wake(at->request);
		}
	if (is_same_session(channels, clients->session))
		queue_move(&clients->queue, &channels->queue);
	queue_done(&clients->queue);
	clients->session[0] = '\0';
	channels->next = clients->first;
	clients->first = channels;
}

void clients_leave(struct channels *channels)
{
	struct clients *clients = channels->clients;

	lose(channels);
	for (struct channels **at = &clients->first; *at != NULL; at = &(*at)->next)
		if (*at == channels) {
			*at = channels->next;
			break;
		}
	if (clients->first == NULL && (clients->has_ended || (clients->cells == 0 &&
							      clients->queue.first == NULL)))
		forget(clients);
	forget_oldest();
}

struct channels *clients_asking(const struct channels *channels)
{
	for (struct channels *at = channels->clients->first; at != NULL; at = at->next)
		if (at->is_lost && is_same_session(at, channels->session) && at->cell != NULL)
			return at;
	return NULL;
}

/* ---- messages ------------------------------------------------------------------------------- */

static void hand_to(struct channels *channels, const struct frame_out *out)
{
	queue_add(&channels->queue, out);
	request_wake(channels->request);
}

static bool is_for_all(const struct frame_out *out)
{
	return strcmp(out->channel, "iopub") == 0;
}

/* Stores a message while no client is connected, if it is for the last one. */
static void keep(struct clients *clients, const char *session, const struct frame_out *out)
{
	if (clients->session[0] != '\0' &&
	    (is_for_all(out) || strcmp(clients->session, session) == 0))
		queue_add(&clients->queue, out);
}

void clients_keep(struct channels *channels, const struct frame_out *out)
{
	struct clients *clients = channels->clients;

	lose(channels);
	for (struct channels *at = clients->first; at != NULL; at = at->next)
		if (has_client(at) && is_same_session(at, channels->session)) {
			hand_to(at, out);
			return;
		}
	if (first_with_client(clients) == NULL)
		keep(clients, channels->session, out);
}

void clients_pass_on(struct channels *channels, const struct frame_out *out)
{
	struct clients *clients = channels->clients;
	const bool is_lost = !has_client(channels);

	if (is_lost)
		lose(channels);
	if (is_lost && (!is_for_all(out) || first_with_client(clients) == NULL)) {
		clients_keep(channels, out);
		return;
	}
	if (!is_for_all(out))
		return;
	for (struct channels *at = clients->first; at != NULL; at = at->next)
		if (at != channels && has_client(at))
			hand_to(at, out);
}

int clients_write_header(struct clients *clients, const char *type, char ret_id[FRAME_ID_SIZE],
			 struct buf *ret, struct err *err)
{
	struct json_writer json;
	char date[40];

	(void)snprintf(ret_id, FRAME_ID_SIZE, "%s_%llu", clients->kernel,
		       (unsigned long long)++clients->messages);
	clock_rfc3339_now(date);
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "msg_id", ret_id);
	json_write_member_string(&json, "msg_type", type);
	json_write_member_string(&json, "username", "reckon");
	json_write_member_string(&json, "session", clients->kernel);
	json_write_member_string(&json, "date", date);
	json_write_member_string(&json, "version", "5.4");
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

/* ---- restarts and ends ---------------------------------------------------------------------- */

static void announce(struct clients *clients, const char *type, const char *content)
{
	cleanup_buf struct buf header = BUF_INIT(4096);
	char id[FRAME_ID_SIZE];
	struct frame_out out = { .channel = "iopub",
				 .id = id,
				 .type = type,
				 .parent = { "{}", 2 },
				 .content = { content, strlen(content) } };
	struct err err;

	if (clients_write_header(clients, type, id, &header, &err) < 0)
		return;
	out.header = (struct frame_part){ header.data, header.len };
	if (first_with_client(clients) == NULL)
		keep(clients, "", &out);
	for (struct channels *at = clients->first; at != NULL; at = at->next)
		if (has_client(at))
			hand_to(at, &out);
}

void clients_restarted(const char *kernel)
{
	struct clients *clients = find(kernel);

	if (clients == NULL)
		return;
	clients->cells = 0;
	jupyter_history_done(&clients->history);
	for (struct channels *at = clients->first; at != NULL; at = at->next)
		at->was_restarted = true;
	announce(clients, "shutdown_reply", "{\"status\":\"ok\",\"restart\":true}");
	announce(clients, "status", "{\"execution_state\":\"starting\"}");
}

void clients_died(const char *kernel)
{
	struct clients *clients = find(kernel);

	if (clients == NULL)
		return;
	announce(clients, "status", "{\"execution_state\":\"restarting\"}");
	announce(clients, "status", "{\"execution_state\":\"starting\"}");
}

void clients_ended(const char *kernel)
{
	struct clients *clients = find(kernel);

	if (clients == NULL)
		return;
	clients->has_ended = true;
	for (struct channels *at = clients->first; at != NULL; at = at->next) {
		at->is_over = true;
		request_wake(at->request);
	}
	if (clients->first == NULL)
		forget(clients);
}
