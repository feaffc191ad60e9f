/*
 * ask.c - answers requests other than cells: kernel info, completion, inspection, history, comms.
 *
 * Runs in:  reckon-jupyter.
 * Reads:    signed messages; JSON from a hostile kernel.
 * Never:    treats a cursor as an offset in bytes: Jupyter counts characters.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/jupyter/jupyter.h"
#include "jupyter/inner.h"

#define HISTORY_MAX ((size_t)512 * 1024 * 1024) /* of the reply, as JSON */
#define ANSWER_MAX ((size_t)32 * 1024 * 1024)

/* ---- answers -------------------------------------------------------------------------------- */

static void reply(struct kernel *kernel, const struct message *request, const char *type,
		  struct json_writer *json, const struct buf *content)
{
	if (content_end(json))
		message_send(kernel, request->socket, request, type, content);
}

/* NULL: the request to the session failed. Then the reply to the client is empty. */
static struct json_value *parse(char *json)
{
	struct json_value *value = NULL;
	struct err err;

	if (json != NULL)
		(void)json_read_parse(json, strlen(json), ANSWER_MAX, &value, &err);
	free(json);
	return value;
}

/* ---- questions ------------------------------------------------------------------------------ */

void ask_complete(struct kernel *kernel, const struct message *request)
{
	cleanup_buf struct buf content = BUF_INIT(ANSWER_MAX);
	size_t len;
	const char *code = message_text(request, "code", &len);
	const size_t cursor = jupyter_cursor_of(request->content, code, len);
	struct json_value *answer;
	struct json_writer json;
	char *text = NULL;

	(void)reckon_complete(kernel->session, code, len, cursor, &text, NULL);
	answer = parse(text);
	json_write_begin_with(&json, &content, "status", "ok");
	jupyter_write_completion(&json, answer, code, len, cursor);
	reply(kernel, request, "complete_reply", &json, &content);
	json_read_free(answer);
}

void ask_inspect(struct kernel *kernel, const struct message *request)
{
	cleanup_buf struct buf content = BUF_INIT(ANSWER_MAX);
	size_t len;
	const char *code = message_text(request, "code", &len);
	int64_t detail = 0;
	struct json_value *answer;
	struct json_writer json;
	char *text = NULL;

	(void)json_read_int(json_read_member(request->content, "detail_level"), &detail);
	(void)reckon_inspect(kernel->session, code, len,
			     jupyter_cursor_of(request->content, code, len), detail > 0, &text,
			     NULL);
	answer = parse(text);
	json_write_begin_with(&json, &content, "status", "ok");
	jupyter_write_value(&json, "found", json_read_member(answer, "found"), "false");
	jupyter_write_value(&json, "data", json_read_member(answer, "data"), "{}");
	jupyter_write_value(&json, "metadata", json_read_member(answer, "metadata"), "{}");
	reply(kernel, request, "inspect_reply", &json, &content);
	json_read_free(answer);
}

void ask_is_complete(struct kernel *kernel, const struct message *request)
{
	cleanup_buf struct buf content = BUF_INIT(ANSWER_MAX);
	size_t len;
	const char *code = message_text(request, "code", &len);
	const char *status;
	struct json_value *answer;
	struct json_writer json;
	char *text = NULL;

	(void)reckon_is_complete(kernel->session, code, len, &text, NULL);
	answer = parse(text);
	status = json_read_text(json_read_member(answer, "status"), NULL);
	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_string(&json, "status", status != NULL ? status : "unknown");
	if (status != NULL && strcmp(status, "incomplete") == 0)
		jupyter_write_value(&json, "indent", json_read_member(answer, "indent"), "\"\"");
	reply(kernel, request, "is_complete_reply", &json, &content);
	json_read_free(answer);
}

void ask_history(struct kernel *kernel, const struct message *request)
{
	cleanup_buf struct buf content = BUF_INIT(HISTORY_MAX);
	struct json_writer json;

	json_write_begin_with(&json, &content, "status", "ok");
	jupyter_history_write(&json, &kernel->history, request->content);
	reply(kernel, request, "history_reply", &json, &content);
}

/* Also called in the control thread, which must not send requests to the session. */
void ask_kernel_info(struct kernel *kernel, const struct message *request)
{
	const struct language *language = kernel->language;
	cleanup_buf struct buf content = BUF_INIT(16384);
	struct json_writer json;
	char text[128];

	json_write_begin_with(&json, &content, "status", "ok");
	json_write_member_string(&json, "protocol_version", "5.4");
	json_write_member_string(&json, "implementation", "reckon");
	json_write_member_string(&json, "implementation_version", RECKON_VERSION);
	json_write_key(&json, "language_info");
	jupyter_write_language(&json, &(struct jupyter_language){
					      .name = language->name,
					      .version = language->version,
					      .mime = language->mime,
					      .suffix = language->suffixes[0],
					      .pygments_lexer = language->pygments_lexer,
					      .codemirror_mode = language->codemirror_mode,
					      .nbconvert_exporter = language->nbconvert_exporter,
				      });
	(void)snprintf(text, sizeof(text), "%s in a Reckon session, template %s",
		       language->prose_name, reckon_session_template(kernel->session));
	json_write_member_string(&json, "banner", text);
	jupyter_write_value(&json, "help_links", NULL, "[]");
	jupyter_write_value(&json, "supported_features", NULL, "[]");
	reply(kernel, request, "kernel_info_reply", &json, &content);
}

/* ---- comms: not supported ------------------------------------------------------------------- */

void ask_comm_info(struct kernel *kernel, const struct message *request)
{
	cleanup_buf struct buf content = BUF_INIT(128);
	struct json_writer json;

	json_write_begin_with(&json, &content, "status", "ok");
	jupyter_write_value(&json, "comms", NULL, "{}");
	reply(kernel, request, "comm_info_reply", &json, &content);
}

static void complain(struct kernel *kernel, const struct message *request, const char *text)
{
	cleanup_buf struct buf content = BUF_INIT(4096);
	struct json_writer json;

	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_string(&json, "name", "stderr");
	json_write_member_string(&json, "text", text);
	if (content_end(&json))
		message_publish(kernel, &kernel->publisher, request, "stream", &content);
}

void ask_comm(struct kernel *kernel, const struct message *request)
{
	cleanup_buf struct buf content = BUF_INIT(ANSWER_MAX);
	const char *id = message_text(request, "comm_id", NULL);
	struct json_writer json;
	char text[256];

	if (strcmp(request->type, "comm_close") == 0)
		return;
	(void)snprintf(text, sizeof(text), "No such comm target: %.100s\n",
		       message_text(request, "target_name", NULL));
	if (strcmp(request->type, "comm_msg") == 0)
		(void)snprintf(text, sizeof(text), "No such comm: %.100s\n", id);
	complain(kernel, request, text);
	if (strcmp(request->type, "comm_open") != 0)
		return;
	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_string(&json, "comm_id", id);
	jupyter_write_value(&json, "data", NULL, "{}");
	if (content_end(&json))
		message_publish(kernel, &kernel->publisher, request, "comm_close", &content);
}
