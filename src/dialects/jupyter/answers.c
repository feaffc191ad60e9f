/*
 * answers.c - answers requests that run no cell, between status busy and idle, as a kernel does.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    messages of any client; answers of hostile kernels, which are JSON.
 * Never:    replies to a request of unknown type, as the protocol requires.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/jupyter/jupyter.h"
#include "dialects/jupyter/server.h"
#include "languages/languages.h"

static int reply(struct channels *channels, const struct frame *frame, const char *type,
		 struct json_writer *json, const struct buf *content)
{
	struct err err;

	json_write_object_end(json);
	if (json_write_finish(json, &err) < 0)
		return 0; /* too long: drop it */
	return channels_send(channels, frame->channel, type, frame, content);
}

/* Parses a call's result; *ret NULL: the call failed, so the reply will be empty. Negative: the
 * connection ends. */
static int parse(enum call_status status, const struct api_bytes *bytes, struct json_value **ret)
{
	struct err err;

	*ret = NULL;
	if (status == CALL_GONE)
		return -1;
	if (status == CALL_OK)
		(void)json_read_parse(bytes->data, bytes->len, ANSWER_MAX, ret, &err);
	return 0;
}

static int kernel_info(struct channels *channels, const struct frame *frame)
{
	const struct language *found = language_find(channels->kernel.language);
	const struct language *language = found != NULL ? found : language_default();
	cleanup_buf struct buf content = BUF_INIT(16384);
	struct json_writer json;

	json_write_begin_with(&json, &content, "status", "ok");
	json_write_member_string(&json, "protocol_version", "5.4");
	json_write_member_string(&json, "implementation", "reckon");
	json_write_member_string(&json, "implementation_version", RECKON_VERSION);
	json_write_key(&json, "language_info");
	jupyter_write_language(&json, &(struct jupyter_language){
					      .name = channels->kernel.language,
					      .version = language->version,
					      .mime = language->mime,
					      .suffix = language->suffixes[0],
					      .pygments_lexer = language->pygments_lexer,
					      .codemirror_mode = language->codemirror_mode,
					      .nbconvert_exporter = language->nbconvert_exporter,
				      });
	json_write_member_string(&json, "banner", "A kernel in a Reckon session");
	jupyter_write_value(&json, "help_links", NULL, "[]");
	jupyter_write_value(&json, "supported_features", NULL, "[]");
	return reply(channels, frame, "kernel_info_reply", &json, &content);
}

static int complete(struct channels *channels, const struct frame *frame)
{
	cleanup_buf struct buf content = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_complete_out out = { 0 };
	struct json_value *answer;
	struct json_writer json;
	size_t len;
	const char *code = frame_text(frame, "code", &len);
	const size_t cursor = jupyter_cursor_of(frame->body, code, len);
	int sent;

	if (parse(call_make(
			  channels->request, API_COMPLETE,
			  &(struct api_complete_in){ .session = channels->kernel.session,
						     .context = kernels_context(&channels->kernel),
						     .code = { code, len },
						     .has_cursor = true,
						     .cursor = cursor },
			  &out, &call),
		  &out.answer, &answer) < 0)
		return -1;
	json_write_begin_with(&json, &content, "status", "ok");
	jupyter_write_completion(&json, answer, code, len, cursor);
	sent = reply(channels, frame, "complete_reply", &json, &content);
	json_read_free(answer);
	return sent;
}

static int inspect(struct channels *channels, const struct frame *frame)
{
	cleanup_buf struct buf content = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_inspect_out out = { 0 };
	struct json_value *answer;
	struct json_writer json;
	int64_t detail = 0;
	size_t len;
	const char *code = frame_text(frame, "code", &len);
	int sent;

	(void)json_read_int(json_read_member(frame->body, "detail_level"), &detail);
	if (parse(call_make(channels->request, API_INSPECT,
			    &(struct api_inspect_in){
				    .session = channels->kernel.session,
				    .context = kernels_context(&channels->kernel),
				    .code = { code, len },
				    .has_cursor = true,
				    .cursor = jupyter_cursor_of(frame->body, code, len),
				    .has_detail = true,
				    .detail = detail > 0 },
			    &out, &call),
		  &out.answer, &answer) < 0)
		return -1;
	json_write_begin_with(&json, &content, "status", "ok");
	jupyter_write_value(&json, "found", json_read_member(answer, "found"), "false");
	jupyter_write_value(&json, "data", json_read_member(answer, "data"), "{}");
	jupyter_write_value(&json, "metadata", json_read_member(answer, "metadata"), "{}");
	sent = reply(channels, frame, "inspect_reply", &json, &content);
	json_read_free(answer);
	return sent;
}

static int is_complete(struct channels *channels, const struct frame *frame)
{
	cleanup_buf struct buf content = BUF_INIT(4096);
	cleanup_call struct call call = CALL_INIT;
	struct api_is_complete_out out = { 0 };
	struct json_value *answer;
	struct json_writer json;
	const char *status;
	size_t len;
	const char *code = frame_text(frame, "code", &len);
	int sent;

	if (parse(call_make(channels->request, API_IS_COMPLETE,
			    &(struct api_is_complete_in){
				    .session = channels->kernel.session,
				    .context = kernels_context(&channels->kernel),
				    .code = { code, len } },
			    &out, &call),
		  &out.answer, &answer) < 0)
		return -1;
	status = json_read_text(json_read_member(answer, "status"), NULL);
	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_string(&json, "status", status != NULL ? status : "unknown");
	if (status != NULL && strcmp(status, "incomplete") == 0)
		jupyter_write_value(&json, "indent", json_read_member(answer, "indent"), "\"\"");
	sent = reply(channels, frame, "is_complete_reply", &json, &content);
	json_read_free(answer);
	return sent;
}

/* Answers with the kernel's cells since its start, of all clients. */
static int history(struct channels *channels, const struct frame *frame)
{
	cleanup_buf struct buf content = BUF_INIT(ANSWER_MAX);
	struct json_writer json;

	json_write_begin_with(&json, &content, "status", "ok");
	jupyter_history_write(&json, &channels->clients->history, frame->body);
	return reply(channels, frame, "history_reply", &json, &content);
}

/* ---- comms: there are none ------------------------------------------------------------------ */

static int comm_info(struct channels *channels, const struct frame *frame)
{
	cleanup_buf struct buf content = BUF_INIT(256);
	struct json_writer json;

	json_write_begin_with(&json, &content, "status", "ok");
	jupyter_write_value(&json, "comms", NULL, "{}");
	return reply(channels, frame, "comm_info_reply", &json, &content);
}

static int complain(struct channels *channels, const struct frame *frame, const char *what,
		    const char *name)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "No such comm%s: %.100s\n", what, name);
	return channels_complain(channels, frame, text);
}

static int comm_message(struct channels *channels, const struct frame *frame)
{
	return complain(channels, frame, "", frame_text(frame, "comm_id", NULL));
}

/* Closes the comm at once, because no target exists. */
static int comm_open(struct channels *channels, const struct frame *frame)
{
	cleanup_buf struct buf content = BUF_INIT(4096);
	struct json_writer json;
	struct err err;

	if (complain(channels, frame, " target", frame_text(frame, "target_name", NULL)) < 0)
		return -1;
	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_string(&json, "comm_id", frame_text(frame, "comm_id", NULL));
	jupyter_write_value(&json, "data", NULL, "{}");
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		return 0;
	return channels_send(channels, "iopub", "comm_close", frame, &content);
}

static int interrupt(struct channels *channels, const struct frame *frame)
{
	cleanup_buf struct buf content = BUF_INIT(128);
	cleanup_call struct call call = CALL_INIT;
	struct json_writer json;

	if (kernels_make_interrupt(channels->request, &channels->kernel, &call) == CALL_GONE)
		return -1;
	json_write_begin_with(&json, &content, "status", "ok");
	return reply(channels, frame, "interrupt_reply", &json, &content);
}

/* Without `restart` it ends the kernel for good: no kernel manager would start it again. */
static int shut_down(struct channels *channels, const struct frame *frame)
{
	cleanup_buf struct buf content = BUF_INIT(128);
	cleanup_call struct call call = CALL_INIT;
	const bool restarts = frame_flag(frame, "restart", false);
	struct json_writer json;

	if ((restarts ? kernels_make_restart : kernels_make_end)(
		    channels->request, &channels->kernel, &call) == CALL_GONE)
		return -1;
	json_write_begin_with(&json, &content, "status", "ok");
	json_write_member_bool(&json, "restart", restarts);
	return reply(channels, frame, "shutdown_reply", &json, &content);
}

int answers_handle(struct channels *channels, const struct frame *frame)
{
	static const struct {
		const char *type;
		int (*fn)(struct channels *channels, const struct frame *frame);
	} known[] = {
		{ "kernel_info_request", kernel_info }, { "complete_request", complete },
		{ "inspect_request", inspect },		{ "is_complete_request", is_complete },
		{ "comm_info_request", comm_info },	{ "history_request", history },
		{ "comm_open", comm_open },		{ "comm_msg", comm_message },
		{ "interrupt_request", interrupt },	{ "shutdown_request", shut_down },
	};

	if (channels_status(channels, frame, "busy") < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(known[i].type, frame->type) == 0 && known[i].fn(channels, frame) < 0)
			return -1;
	return channels_status(channels, frame, "idle");
}
