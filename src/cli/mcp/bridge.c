/*
 * bridge.c - reckon mcp: forwards messages from stdin to the daemon's /mcp, and answers to stdout.
 *
 * Runs in:  reckon-client, until its client closes stdin.
 * Reads:    lines of the user's client; answers of the daemon.
 * Never:    implements a tool, except for folders of this computer (folders.c): the daemon
 *           implements all others.
 *
 * Each message is one POST, so that several can run at once. This file only reads a message's
 * method, its id, and members that are repeated in HTTP headers. A modern client cancels with a
 * notification on stdin, which becomes a closed connection to the daemon.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/id.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/mcp/folders.h"
#include "cli/mcp/granted.h"
#include "cli/mcp/mcp.h"
#include "cli/options/parse.h"
#include "codec/base64.h"
#include "codec/json_get.h"
#include "codec/json_write.h"
#include "codec/sse.h"

#define LINE_MAX_BYTES ((size_t)12 * 1024 * 1024)
#define ANSWER_MAX ((size_t)72 * 1024 * 1024)
#define ID_MAX 512
#define CHUNK 65536
#define POLL_MS 1000
#define LEAVE_ROUNDS 20 /* polls after the end of stdin, to receive pending answers */
#define META "io.modelcontextprotocol/"

struct bridge {
	struct client *client;
	const char *max_text;
	bool approve; /* a person approves calls */
	const char *name;  /* of the default session */
	struct granted granted; /* folders of this host */
	struct folders *folders; /* that a model may ask for; NULL: this daemon cannot mount them */
	char own[ID_SIZE]; /* the generated name; the session ends with this process */
	char session[128]; /* Mcp-Session-Id */
	char version[40];  /* agreed with an older client */
	struct message *messages;
	bool is_broken; /* stdout has no reader any more */
};

/* A message that was sent and has no answer yet. */
struct message {
	struct message *next;
	struct bridge *bridge;
	struct client_exchange *exchange;
	struct buf text, answer;
	struct sse sse;
	char id[ID_MAX]; /* as JSON; "": a notification */
	char type[64];
	bool is_modern, is_initialize, has_answered, is_over, is_retry, needs_retry;
};

/* ---- out -------------------------------------------------------------------------------------- */

static void put_line(struct bridge *bridge, const char *text, size_t len)
{
	struct err ignored;

	if (bridge->is_broken || len == 0)
		return;
	if (fd_write_full(STDOUT_FILENO, text, len, &ignored) < 0 ||
	    fd_write_full(STDOUT_FILENO, "\n", 1, &ignored) < 0)
		bridge->is_broken = true;
}

static void put_error(struct bridge *bridge, const char *id, const char *text)
{
	cleanup_buf struct buf line = BUF_INIT(16384);
	struct json_writer json;
	struct err ignored;

	json_write_init(&json, &line);
	json_write_object_begin(&json);
	json_write_member_string(&json, "jsonrpc", "2.0");
	json_write_key(&json, "id");
	json_write_raw(&json, id, strlen(id));
	json_write_key(&json, "error");
	json_write_object_begin(&json);
	json_write_key(&json, "code");
	json_write_int(&json, -32000);
	json_write_member_string(&json, "message", text);
	json_write_object_end(&json);
	json_write_object_end(&json);
	if (json_write_finish(&json, &ignored) == 0)
		put_line(bridge, buf_text(&line), line.len);
}

/* An answer in JSON: forwarded if it is a message with this id, else its error is reported. */
static void put_answer(struct message *message, unsigned status)
{
	struct json_value *document = NULL;
	const char *text = NULL;
	struct err err;

	if (json_read_parse(buf_text(&message->answer), message->answer.len, ANSWER_MAX, &document,
			    &err) == 0) {
		if (json_read_member(document, "id") != NULL || message->id[0] == '\0') {
			if (message->id[0] != '\0')
				put_line(message->bridge, buf_text(&message->answer),
					 message->answer.len);
			message->has_answered = true;
		}
		text = json_read_text(json_read_member(json_read_member(document, "error"),
						       "message"), NULL);
	}
	if (!message->has_answered && message->id[0] != '\0') {
		put_error(message->bridge, message->id,
			  text != NULL	 ? text
			  : status == 200 ? "the daemon's answer could not be read"
					 : "the daemon did not answer");
		message->has_answered = true;
	}
	json_read_free(document);
}

static int on_event(const struct sse_event *event, void *arg, struct err *err)
{
	struct message *message = arg;
	struct json_value *document = NULL;

	if (event->len == 0)
		return 0;
	put_line(message->bridge, event->data, event->len);
	if (json_read_parse(event->data, event->len, ANSWER_MAX, &document, err) == 0) {
		message->has_answered |= json_read_member(document, "result") != NULL ||
					 json_read_member(document, "error") != NULL;
		json_read_free(document);
	}
	return 0;
}

/* ---- the exchange ----------------------------------------------------------------------------- */

static void take_header(const char *line, size_t len, const char *name, char *ret, size_t size)
{
	const size_t name_len = strlen(name);

	if (len <= name_len + 1 || strncasecmp(line, name, name_len) != 0 || line[name_len] != ':')
		return;
	line += name_len + 1;
	len -= name_len + 1;
	while (len > 0 && *line == ' ') {
		line++;
		len--;
	}
	while (len > 0 && (line[len - 1] == '\r' || line[len - 1] == '\n'))
		len--;
	if (len < size) {
		memcpy(ret, line, len);
		ret[len] = '\0';
	}
}

static void on_header(const char *line, size_t len, void *arg)
{
	struct message *message = arg;

	take_header(line, len, "content-type", message->type, sizeof(message->type));
	if (message->is_initialize)
		take_header(line, len, "mcp-session-id", message->bridge->session,
			    sizeof(message->bridge->session));
}

static bool on_bytes(const char *bytes, size_t len, void *arg)
{
	struct message *message = arg;
	struct err ignored;

	if (strncasecmp(message->type, "text/event-stream", 17) == 0)
		return sse_feed(&message->sse, bytes, len, &ignored) == 0;
	return buf_add(&message->answer, bytes, len, &ignored) == 0;
}

static void note_version(struct message *message)
{
	struct json_value *document = NULL;
	const char *version;
	struct err ignored;

	if (json_read_parse(buf_text(&message->answer), message->answer.len, ANSWER_MAX, &document,
			    &ignored) < 0)
		return;
	version = json_read_text(json_read_member(json_read_member(document, "result"),
						  "protocolVersion"), NULL);
	if (version != NULL && strspn(version, "0123456789-") == strlen(version))
		(void)snprintf(message->bridge->version, sizeof(message->bridge->version), "%s",
			       version);
	json_read_free(document);
}

static void on_end(void *arg, unsigned status, const char *why, bool unreached)
{
	struct message *message = arg;
	char text[256];

	message->is_over = true;
	if (unreached && !message->is_retry) {
		message->needs_retry = true;
		return;
	}
	if (why == NULL && message->answer.len > 0) {
		if (message->is_initialize)
			note_version(message);
		put_answer(message, status);
	} else if (why != NULL && !message->has_answered && message->id[0] != '\0') {
		(void)snprintf(text, sizeof(text), "the connection to the daemon broke: %s", why);
		put_error(message->bridge, message->id, text);
	}
}

/* ---- in --------------------------------------------------------------------------------------- */

/* Encodes a value for a header. */
static int add_value(struct buf *line, const char *value, struct err *err)
{
	bool is_plain = value[0] != ' ';

	for (const char *at = value; *at != '\0'; at++)
		is_plain &= *at >= ' ' && *at <= '~';
	if (is_plain && strncmp(value, "=?", 2) != 0)
		return buf_adds(line, value, err);
	return buf_adds(line, "=?base64?", err) < 0 ||
			       base64_encode(value, strlen(value), line, err) < 0 ||
			       buf_adds(line, "?=", err) < 0
		       ? (int)err->code
		       : 0;
}

static int begin(struct message *message, const struct json_value *document, struct err *err)
{
	struct bridge *bridge = message->bridge;
	const struct json_value *params = json_read_member(document, "params");
	const char *method = json_get_c_text(document, "method"),
		   *name = json_get_c_text(params, "name");
	const char *version =
		json_get_c_text(json_read_member(params, "_meta"), META "protocolVersion");
	struct buf lines[7] = { BUF_INIT(256), BUF_INIT(256), BUF_INIT(256), BUF_INIT(16384),
				BUF_INIT(64),  BUF_INIT(128), BUF_INIT(64) };
	const char *headers[12] = { "Content-Type: application/json",
				   "Accept: application/json, text/event-stream" };
	size_t count = 2;
	int code = 0;

	message->is_modern = version != NULL;
	message->is_initialize = method != NULL && strcmp(method, "initialize") == 0;
	if (!message->is_modern)
		version = bridge->version[0] != '\0' && !message->is_initialize ? bridge->version
										: NULL;
	if (name == NULL)
		name = json_get_c_text(params, "uri");
	if (version != NULL && strlen(version) < 40 &&
	    (code = buf_addf(&lines[0], err, "MCP-Protocol-Version: %s", version)) == 0)
		headers[count++] = buf_text(&lines[0]);
	if (code == 0 && !message->is_modern && !message->is_initialize &&
	    bridge->session[0] != '\0' &&
	    (code = buf_addf(&lines[1], err, "Mcp-Session-Id: %s", bridge->session)) == 0)
		headers[count++] = buf_text(&lines[1]);
	if (code == 0 && message->is_modern && method != NULL &&
	    (code = buf_adds(&lines[2], "Mcp-Method: ", err)) == 0 &&
	    (code = add_value(&lines[2], method, err)) == 0)
		headers[count++] = buf_text(&lines[2]);
	if (code == 0 && message->is_modern && name != NULL &&
	    (code = buf_adds(&lines[3], "Mcp-Name: ", err)) == 0 &&
	    (code = add_value(&lines[3], name, err)) == 0)
		headers[count++] = buf_text(&lines[3]);
	if (code == 0 && bridge->max_text != NULL &&
	    (code = buf_addf(&lines[4], err, "Reckon-Max-Text: %s", bridge->max_text)) == 0)
		headers[count++] = buf_text(&lines[4]);
	if (code == 0 && (code = buf_addf(&lines[5], err, "Reckon-Session: %s", bridge->name)) == 0)
		headers[count++] = buf_text(&lines[5]);
	if (bridge->approve || bridge->granted.for_writing)
		headers[count++] = bridge->approve ? "Reckon-Approve: 1" : "Reckon-Approve: writes";
	if (code == 0 && bridge->granted.id[0] != '\0' &&
	    (code = buf_addf(&lines[6], err, "Reckon-Grant%s: %s",
			     bridge->granted.has_mounts ? "" : "-Later", bridge->granted.id)) == 0)
		headers[count++] = buf_text(&lines[6]);
	if (bridge->folders != NULL)
		headers[count++] = "Reckon-Folders: ask";
	if (code == 0)
		code = client_exchange_begin(
			bridge->client,
			&(struct client_request){ .method = "POST", .path = "/mcp",
						  .headers = headers, .body = &message->text,
						  .arg = message, .on_header = on_header,
						  .on_bytes = on_bytes, .on_end = on_end },
			&message->exchange, err);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		buf_done(&lines[i]);
	return code;
}

static void message_free(struct message *message)
{
	client_exchange_end(message->exchange);
	buf_done(&message->text);
	buf_done(&message->answer);
	sse_done(&message->sse);
	free(message);
}

/* Cancels a request of a modern client. 1: the request was running, and is aborted. */
static bool cancel(struct bridge *bridge, const struct json_value *document)
{
	const char *method = json_get_c_text(document, "method");
	const struct json_value *which =
		json_read_member(json_read_member(document, "params"), "requestId");
	cleanup_buf struct buf id = BUF_INIT(ID_MAX - 1);
	struct err ignored;

	if (method == NULL || strcmp(method, "notifications/cancelled") != 0 || which == NULL ||
	    json_read_dump(which, &id, &ignored) < 0)
		return false;
	for (struct message *at = bridge->messages; at != NULL; at = at->next)
		if (at->is_modern && strcmp(at->id, buf_text(&id)) == 0) {
			client_exchange_end(at->exchange);
			at->exchange = NULL;
			at->is_over = true;
			return true;
		}
	return false;
}

/* `may_ask`: the message comes from the client, so its person may have to be asked first. */
static void send_line(struct bridge *bridge, const char *line, size_t len, bool may_ask,
		      bool is_retry)
{
	struct message *message;
	struct json_value *document = NULL;
	cleanup_buf struct buf id = BUF_INIT(ID_MAX - 1);
	struct err err;

	if (len == 0)
		return;
	if (json_read_parse(line, len, LINE_MAX_BYTES, &document, &err) == 0 &&
	    (cancel(bridge, document) ||
	     (may_ask && bridge->folders != NULL &&
	      folders_take(bridge->folders, document, line, len)))) {
		json_read_free(document);
		return;
	}
	message = mem_new0(1, sizeof(*message));
	message->bridge = bridge;
	message->is_retry = is_retry;
	message->text = BUF_INIT(LINE_MAX_BYTES);
	message->answer = BUF_INIT(ANSWER_MAX);
	sse_init(&message->sse, ANSWER_MAX, on_event, message);
	if (json_read_member(document, "method") != NULL &&
	    json_read_member(document, "id") != NULL &&
	    json_read_dump(json_read_member(document, "id"), &id, &err) == 0)
		(void)snprintf(message->id, sizeof(message->id), "%s", buf_text(&id));
	else if (document == NULL)
		(void)snprintf(message->id, sizeof(message->id), "null");
	message->next = bridge->messages;
	bridge->messages = message;
	if (buf_add(&message->text, line, len, &err) < 0 || begin(message, document, &err) < 0) {
		message->is_over = true;
		if (message->id[0] != '\0')
			put_error(bridge, message->id, err.text);
	}
	json_read_free(document);
}

/* ---- the loop --------------------------------------------------------------------------------- */

static void sweep(struct bridge *bridge)
{
	struct message **at = &bridge->messages;
	struct message *again = NULL;

	while (*at != NULL) {
		struct message *message = *at;

		if (!message->is_over) {
			at = &message->next;
			continue;
		}
		*at = message->next;
		if (message->needs_retry) {
			message->next = again;
			again = message;
		} else {
			message_free(message);
		}
	}
	while (again != NULL) {
		struct message *message = again;
		struct err err;

		again = message->next;
		if (client_revive(bridge->client, &err) == 0)
			send_line(bridge, buf_text(&message->text), message->text.len, false, true);
		else if (message->id[0] != '\0')
			put_error(bridge, message->id, err.text);
		message_free(message);
	}
}

static void take_lines(struct bridge *bridge, struct buf *in)
{
	const char *end;

	while (in->len > 0 && (end = memchr(in->data, '\n', in->len)) != NULL) {
		size_t len = (size_t)(end - in->data);

		if (len > 0 && in->data[len - 1] == '\r')
			len--;
		send_line(bridge, in->data, len, true, false);
		buf_consume(in, (size_t)(end - in->data) + 1);
	}
}

/* 0: end of input. */
static int read_some(struct bridge *bridge, struct buf *in)
{
	char *space;
	struct err err;
	ssize_t n;

	if (buf_reserve(in, CHUNK, &space, &err) < 0) {
		put_error(bridge, "null", "a message is longer than 12 MiB");
		return 0;
	}
	do
		n = read(STDIN_FILENO, space, CHUNK);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return 0;
	in->len += (size_t)n;
	in->data[in->len] = '\0';
	take_lines(bridge, in);
	return 1;
}

static bool has_reader(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	return poll(&out, 1, 0) <= 0 || (out.revents & (POLLERR | POLLHUP)) == 0;
}

static bool ignore_bytes(const char *bytes, size_t len, void *arg)
{
	(void)bytes;
	(void)len;
	(void)arg;
	return true;
}

static void note_end(void *arg, unsigned status, const char *why, bool unreached)
{
	(void)status;
	(void)why;
	(void)unreached;
	*(bool *)arg = true;
}

/* Ends a session with a generated name, and all that runs in it. */
static void end_session(struct bridge *bridge)
{
	char line[160];
	const char *headers[] = { line, NULL };
	struct client_exchange *exchange = NULL;
	bool is_over = false, ready;
	struct err err;

	if (bridge->own[0] == '\0')
		return;
	(void)snprintf(line, sizeof(line), "Reckon-Session: %s", bridge->own);
	if (client_exchange_begin(bridge->client,
				  &(struct client_request){ .method = "DELETE", .path = "/mcp",
							    .headers = headers, .arg = &is_over,
							    .on_bytes = ignore_bytes,
							    .on_end = note_end },
				  &exchange, &err) < 0)
		return;
	for (int i = 0; i < LEAVE_ROUNDS && !is_over; i++)
		if (client_exchange_poll(bridge->client, -1, POLL_MS, &ready, &err) < 0)
			break;
	client_exchange_end(exchange);
}

static int serve(struct bridge *bridge, struct err *err)
{
	cleanup_buf struct buf in = BUF_INIT(LINE_MAX_BYTES + CHUNK);
	bool is_open = true, ready;
	int rounds = 0;

	while (!bridge->is_broken && (is_open || (bridge->messages != NULL && has_reader() &&
						  rounds++ < LEAVE_ROUNDS))) {
		if (client_exchange_poll(bridge->client, is_open ? STDIN_FILENO : -1, POLL_MS,
					 &ready, err) < 0)
			return (int)err->code;
		sweep(bridge);
		if (ready)
			is_open = read_some(bridge, &in) > 0;
	}
	return 0;
}

/* ---- folders of this host --------------------------------------------------------------------- */

static void put_for_folders(void *arg, const char *line, size_t len)
{
	put_line(arg, line, len);
}

static void forward(void *arg, const char *line, size_t len)
{
	send_line(arg, line, len, false, false);
}

static int grant_requested(void *arg, const struct folder *folder, struct grant_folder *ret,
			   struct err *err)
{
	struct bridge *bridge = arg;

	return granted_add_requested(&bridge->granted, folder, ret, err);
}

static const struct folders_calls folders_calls = { .put = put_for_folders,
						    .forward = forward,
						    .grant = grant_requested };

int mcp_bridge(const struct opt_command *self, const struct mcp_options *options)
{
	struct bridge bridge = { .max_text = options->max_text, .approve = options->approve,
				  .name = options->remote.session, .granted = GRANTED_NONE };
	struct err err;
	int status = EXIT_CODE_OK;

	if (bridge.name == NULL) {
		if (id_new(bridge.own, "mcp", &err) < 0)
			return cli_complain_of(self, &err);
		bridge.name = bridge.own;
	}
	if (remote_open(&options->remote, &bridge.client, &err) < 0)
		return cli_complain_of(self, &err);
	if (client_is_private(bridge.client))
		bridge.folders = folders_new(&folders_calls, &bridge);
	if (granted_take_mounts(&bridge.granted, bridge.client, options, &err) < 0 || serve(&bridge, &err) < 0)
		status = cli_complain_of(self, &err);
	while (bridge.messages != NULL) {
		struct message *next = bridge.messages->next;

		message_free(bridge.messages);
		bridge.messages = next;
	}
	end_session(&bridge);
	folders_free(bridge.folders);
	granted_end(&bridge.granted);
	client_close(bridge.client);
	return status;
}
