/*
 * frames.c - messages on a WebSocket: as one JSON object, or as parts after a table of offsets.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    frames of any client.
 * Never:    follows an offset that does not lie within the frame.
 *
 *   text     {"channel", "header", "parent_header", "metadata", "content", "buffers"}
 *   binary   u64 N, N × u64 offset, channel, header, parent_header, metadata, content, buffer…
 *            (v1.kernel.websocket.jupyter.org; little-endian; the last offset is the frame's length)
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/jupyter/server.h"

#define PARTS_MIN 6u /* number of offsets: five parts, and the end */
#define PARTS_MAX 1024u

void frame_done(struct frame *frame)
{
	json_read_free(TAKE_PTR(frame->content));
	json_read_free(TAKE_PTR(frame->header));
	json_read_free(TAKE_PTR(frame->whole));
	buf_done(&frame->header_text);
	buf_done(&frame->bytes);
}

const char *frame_text(const struct frame *frame, const char *key, size_t *ret_len)
{
	const char *text = json_read_text(json_read_member(frame->body, key), ret_len);

	if (text == NULL && ret_len != NULL)
		*ret_len = 0;
	return text != NULL ? text : "";
}

bool frame_flag(const struct frame *frame, const char *key, bool otherwise)
{
	bool flag = otherwise;

	(void)json_read_bool(json_read_member(frame->body, key), &flag);
	return flag;
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool take_header(struct frame *ret, const struct json_value *header)
{
	struct err err;

	ret->type = json_read_text(json_read_member(header, "msg_type"), NULL);
	return ret->type != NULL && json_read_dump(header, &ret->header_text, &err) == 0;
}

/* "": not a known channel. */
static const char *known_channel(const char *name, size_t len)
{
	static const char *const known[] = { "shell", "control", "stdin", "iopub" };

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (len == strlen(known[i]) && memcmp(name, known[i], len) == 0)
			return known[i];
	return "";
}

static bool read_text(struct frame *ret)
{
	struct err err;

	if (json_read_parse(buf_text(&ret->bytes), ret->bytes.len, FRAME_MAX, &ret->whole, &err) <
	    0)
		return false;
	ret->channel = json_read_text(json_read_member(ret->whole, "channel"), NULL);
	ret->channel = ret->channel != NULL ? known_channel(ret->channel, strlen(ret->channel))
					     : "shell";
	if (ret->channel[0] == '\0')
		return false;
	ret->body = json_read_member(ret->whole, "content");
	return take_header(ret, json_read_member(ret->whole, "header"));
}

static uint64_t number_at(const char *bytes)
{
	uint64_t value = 0;

	for (unsigned i = 8; i > 0; i--)
		value = value << 8 | (unsigned char)bytes[i - 1];
	return value;
}

/* Part `i` by its offsets; false: it does not lie within the frame. */
static bool part_of(const struct buf *frame, uint64_t count, uint64_t i, struct frame_part *ret)
{
	const uint64_t begin = number_at(frame->data + 8 * (i + 1));
	const uint64_t end = number_at(frame->data + 8 * (i + 2));

	if (begin < 8 * (count + 1) || end < begin || end > frame->len)
		return false;
	*ret = (struct frame_part){ frame->data + begin, (size_t)(end - begin) };
	return true;
}

static bool read_binary(struct frame *ret)
{
	const struct buf *bytes = &ret->bytes;
	struct frame_part channel, header, content;
	uint64_t count;
	struct err err;

	if (bytes->len < 8)
		return false;
	count = number_at(bytes->data);
	if (count < PARTS_MIN || count > PARTS_MAX || bytes->len < 8 * (count + 1) ||
	    !part_of(bytes, count, 0, &channel) || !part_of(bytes, count, 1, &header) ||
	    !part_of(bytes, count, 4, &content) ||
	    json_read_parse(header.data, header.len, FRAME_MAX, &ret->header, &err) < 0 ||
	    json_read_parse(content.data, content.len, FRAME_MAX, &ret->content, &err) < 0)
		return false;
	ret->channel = known_channel(channel.data, channel.len);
	ret->body = ret->content;
	return ret->channel[0] != '\0' && take_header(ret, ret->header);
}

bool frame_read(const char *bytes, size_t len, bool is_binary, struct frame *ret)
{
	struct err err;

	*ret = (struct frame){ .bytes = BUF_INIT(FRAME_MAX), .header_text = BUF_INIT(FRAME_MAX) };
	if (buf_add(&ret->bytes, bytes, len, &err) < 0 || len == 0)
		return false;
	return is_binary ? read_binary(ret) : read_text(ret);
}

/* ---- writing -------------------------------------------------------------------------------- */

static void write_raw(struct json_writer *json, const char *key, const struct frame_part *part)
{
	json_write_key(json, key);
	json_write_raw(json, part->data, part->len);
}

int frame_write_text(const struct frame_out *out, struct buf *ret, struct err *err)
{
	const struct frame_part none = { "{}", 2 }, nothing = { "[]", 2 };
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	/* Repeat these outside the header: some clients read them only here. */
	json_write_member_string(&json, "msg_id", out->id);
	json_write_member_string(&json, "msg_type", out->type);
	json_write_member_string(&json, "channel", out->channel);
	write_raw(&json, "header", &out->header);
	write_raw(&json, "parent_header", &out->parent);
	write_raw(&json, "metadata", &none);
	write_raw(&json, "content", &out->content);
	write_raw(&json, "buffers", &nothing);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

static int add_number(struct buf *ret, uint64_t value, struct err *err)
{
	for (unsigned i = 0; i < 8; i++, value >>= 8)
		if (buf_addc(ret, (char)(value & 255u), err) < 0)
			return (int)err->code;
	return 0;
}

int frame_write_binary(const struct frame_out *out, struct buf *ret, struct err *err)
{
	const struct frame_part parts[] = { { out->channel, strlen(out->channel) }, out->header,
					    out->parent, { "{}", 2 }, out->content };
	uint64_t at = 8 * (PARTS_MIN + 1);

	if (add_number(ret, PARTS_MIN, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i <= ARRAY_LEN(parts); i++) {
		if (add_number(ret, at, err) < 0)
			return (int)err->code;
		at += i < ARRAY_LEN(parts) ? parts[i].len : 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (buf_add(ret, parts[i].data, parts[i].len, err) < 0)
			return (int)err->code;
	return 0;
}
