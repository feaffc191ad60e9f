/*
 * blocks.c - the blocks of a message's content: sent one by one, or collected.
 *
 * Runs in:  reckon-front-anthropic.
 * Reads:    text of a model, records of hostile programs.
 * Never:    opens a block while another one is open.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/anthropic/anthropic.h"

#define CONTENT_MAX ((size_t)64 * 1024 * 1024)
#define EVENT_MAX ((size_t)32 * 1024 * 1024)

void blocks_init(struct blocks *blocks, struct request *request, bool is_stream)
{
	*blocks = (struct blocks){ .request = request,
				   .is_stream = is_stream,
				   .text = BUF_INIT(CONTENT_MAX),
				   .signature = BUF_INIT(SEALED_MAX * 2),
				   .content = BUF_INIT(CONTENT_MAX) };
}

void blocks_done(struct blocks *blocks)
{
	buf_done(&blocks->text);
	buf_done(&blocks->signature);
	buf_done(&blocks->content);
}

int blocks_give_up(const struct blocks *blocks)
{
	answer_break_off(blocks->request);
	return -1;
}

/* ---- events --------------------------------------------------------------------------------- */

static void begin_event(struct json_writer *json, struct buf *out, const char *type,
			unsigned index)
{
	json_write_init(json, out);
	json_write_object_begin(json);
	json_write_member_string(json, "type", type);
	json_write_member_uint(json, "index", index);
}

static int end_event(const struct blocks *blocks, struct json_writer *json, const char *type)
{
	struct err err;

	json_write_object_end(json);
	if (json_write_finish(json, &err) < 0)
		return blocks_give_up(blocks);
	return sse_event(blocks->request, 0, type, json->out->data, json->out->len);
}

static int send_start(const struct blocks *blocks, const char *block, size_t len)
{
	cleanup_buf struct buf out = BUF_INIT(EVENT_MAX);
	struct json_writer json;

	begin_event(&json, &out, "content_block_start", blocks->count);
	json_write_key(&json, "content_block");
	json_write_raw(&json, block, len);
	return end_event(blocks, &json, "content_block_start");
}

static int send_delta(const struct blocks *blocks, const char *type, const char *key,
		      const char *text, size_t len)
{
	cleanup_buf struct buf out = BUF_INIT(EVENT_MAX);
	struct json_writer json;

	begin_event(&json, &out, "content_block_delta", blocks->count);
	json_write_key(&json, "delta");
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", type);
	json_write_member_text(&json, key, text, len);
	json_write_object_end(&json);
	return end_event(blocks, &json, "content_block_delta");
}

static int send_stop(struct blocks *blocks)
{
	cleanup_buf struct buf out = BUF_INIT(128);
	struct json_writer json;

	begin_event(&json, &out, "content_block_stop", blocks->count);
	blocks->count++;
	return end_event(blocks, &json, "content_block_stop");
}

/* ---- blocks --------------------------------------------------------------------------------- */

int blocks_whole(struct blocks *blocks, const struct buf *json)
{
	struct err err;

	if (blocks_close(blocks) < 0)
		return -1;
	if (blocks->is_stream)
		return send_start(blocks, buf_text(json), json->len) < 0 ? -1 : send_stop(blocks);
	if ((blocks->content.len > 0 && buf_addc(&blocks->content, ',', &err) < 0) ||
	    buf_add(&blocks->content, json->data, json->len, &err) < 0)
		return blocks_give_up(blocks);
	blocks->count++;
	return 0;
}

static const char *open_block(enum block_kind kind)
{
	return kind == BLOCK_TEXT
		       ? "{\"type\":\"text\",\"text\":\"\",\"citations\":null}"
		       : "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}";
}

int blocks_text(struct blocks *blocks, enum block_kind kind, const char *text, size_t len)
{
	const bool is_text = kind == BLOCK_TEXT;
	struct err err;

	if (blocks->open != kind) {
		if (blocks_close(blocks) < 0 ||
		    (blocks->is_stream &&
		     send_start(blocks, open_block(kind), strlen(open_block(kind))) < 0))
			return -1;
		blocks->open = kind;
	}
	if (blocks->is_stream)
		return send_delta(blocks, is_text ? "text_delta" : "thinking_delta",
				  is_text ? "text" : "thinking", text, len);
	return buf_add(&blocks->text, text, len, &err) < 0 ? blocks_give_up(blocks) : 0;
}

static int close_whole(struct blocks *blocks, bool is_text)
{
	cleanup_buf struct buf out = BUF_INIT(CONTENT_MAX);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", is_text ? "text" : "thinking");
	json_write_member_text(&json, is_text ? "text" : "thinking", buf_text(&blocks->text),
			       blocks->text.len);
	if (is_text) {
		json_write_key(&json, "citations");
		json_write_null(&json);
	} else {
		json_write_member_string(&json, "signature", buf_text(&blocks->signature));
	}
	json_write_object_end(&json);
	buf_clear(&blocks->text);
	buf_clear(&blocks->signature);
	return json_write_finish(&json, &err) < 0 ? blocks_give_up(blocks) : blocks_whole(blocks, &out);
}

int blocks_close(struct blocks *blocks)
{
	const enum block_kind open = blocks->open;

	if (open == BLOCK_NONE)
		return 0;
	blocks->open = BLOCK_NONE;
	return blocks->is_stream ? send_stop(blocks) : close_whole(blocks, open == BLOCK_TEXT);
}

static int add_redacted(struct blocks *blocks, const struct buf *data)
{
	cleanup_buf struct buf out = BUF_INIT(SEALED_MAX * 2 + 64);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", "redacted_thinking");
	json_write_member_string(&json, "data", buf_text(data));
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0 ? blocks_give_up(blocks) : blocks_whole(blocks, &out);
}

int blocks_sealed(struct blocks *blocks, const struct json_value *sealed)
{
	cleanup_buf struct buf text = BUF_INIT(SEALED_MAX * 2);
	struct err err;

	if (sealed_text(sealed, &text, &err) < 0)
		return 0; /* the client does not send it back */
	if (blocks->open != BLOCK_THINKING)
		return add_redacted(blocks, &text);
	if (blocks->is_stream)
		return send_delta(blocks, "signature_delta", "signature", text.data, text.len) < 0
			       ? -1
			       : blocks_close(blocks);
	if (buf_add(&blocks->signature, text.data, text.len, &err) < 0)
		return blocks_give_up(blocks);
	return blocks_close(blocks);
}

static void write_caller(struct json_writer *json, const struct block_call *call)
{
	json_write_key(json, "caller");
	json_write_object_begin(json);
	json_write_member_string(json, "type", call->caller != NULL ? call->caller : "direct");
	if (call->caller != NULL)
		json_write_member_string(json, "tool_id", call->cell);
	json_write_object_end(json);
}

int blocks_call(struct blocks *blocks, const struct block_call *call)
{
	cleanup_buf struct buf out = BUF_INIT(CONTENT_MAX);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", call->type);
	json_write_member_string(&json, "id", call->id);
	json_write_member_string(&json, "name", call->name);
	json_write_key(&json, "input");
	if (blocks->is_stream)
		json_write_raw(&json, "{}", 2);
	else
		json_write_raw(&json, call->input, call->len);
	write_caller(&json, call);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		return blocks_give_up(blocks);
	if (!blocks->is_stream)
		return blocks_whole(blocks, &out);
	if (blocks_close(blocks) < 0 || send_start(blocks, out.data, out.len) < 0 ||
	    send_delta(blocks, "input_json_delta", "partial_json", "", 0) < 0 ||
	    send_delta(blocks, "input_json_delta", "partial_json", call->input, call->len) < 0)
		return -1;
	return send_stop(blocks);
}
