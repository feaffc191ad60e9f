/*
 * transcript.c - collects turns of a conversation from OpenAI's single items.
 *
 * Runs in:  reckon-front-openai and tests.
 * Reads:    text of any client.
 * Never:    writes a result before its call.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/openai/openai.h"

void transcript_init(struct transcript *transcript, struct json_writer *writer)
{
	*transcript = (struct transcript){ .writer = writer,
					   .text = BUF_INIT(OPENAI_CONVERSATION_MAX),
					   .calls = BUF_INIT(OPENAI_CONVERSATION_MAX),
					   .results = BUF_INIT(OPENAI_CONVERSATION_MAX),
					   .images = BUF_INIT(OPENAI_CONVERSATION_MAX),
					   .sealed = BUF_INIT(OPENAI_CONVERSATION_MAX) };
}

void transcript_done(struct transcript *transcript)
{
	buf_done(&transcript->text);
	buf_done(&transcript->calls);
	buf_done(&transcript->results);
	buf_done(&transcript->images);
	buf_done(&transcript->sealed);
}

static int begin(struct json_writer *json, struct buf *out, struct err *err)
{
	if (out->len > 0 && buf_addc(out, ',', err) < 0)
		return (int)err->code;
	json_write_init(json, out);
	json_write_object_begin(json);
	return 0;
}

static int end(struct json_writer *json, struct err *err)
{
	json_write_object_end(json);
	return json_write_finish(json, err);
}

static int write_array(struct json_writer *writer, const char *key, struct buf *items,
		       struct err *err)
{
	cleanup_buf struct buf array = BUF_INIT(OPENAI_CONVERSATION_MAX);

	if (buf_addc(&array, '[', err) < 0 ||
	    buf_add(&array, buf_text(items), items->len, err) < 0 || buf_addc(&array, ']', err) < 0)
		return (int)err->code;
	json_write_key(writer, key);
	json_write_raw(writer, array.data, array.len);
	buf_clear(items);
	return 0;
}

/* Results without a turn of the model here belong to an earlier turn of the conversation. */
int transcript_close(struct transcript *transcript, struct err *err)
{
	struct json_writer *writer = transcript->writer;

	/* Reasoning with nothing after it belongs to a turn that is not here: drop it. */
	if (transcript->is_open && (transcript->has_output || transcript->sealed.len == 0)) {
		json_write_object_begin(writer);
		json_write_member_string(writer, "role", "assistant");
		json_write_member_text(writer, "text", buf_text(&transcript->text),
				       transcript->text.len);
		if (write_array(writer, "calls", &transcript->calls, err) < 0 ||
		    (transcript->sealed.len > 0 &&
		     write_array(writer, "sealed", &transcript->sealed, err) < 0))
			return (int)err->code;
		json_write_object_end(writer);
		buf_clear(&transcript->text);
	}
	buf_clear(&transcript->sealed);
	transcript->is_open = transcript->has_output = false;
	if (transcript->results.len > 0) {
		json_write_object_begin(writer);
		json_write_member_string(writer, "role", "tool");
		if (write_array(writer, "results", &transcript->results, err) < 0 ||
		    write_array(writer, "images", &transcript->images, err) < 0)
			return (int)err->code;
		json_write_object_end(writer);
	}
	return 0;
}

/* Text of the model after results begins its next turn. */
static int open_turn(struct transcript *transcript, struct err *err)
{
	if (transcript->results.len > 0 && transcript_close(transcript, err) < 0)
		return (int)err->code;
	transcript->is_open = true;
	return 0;
}

int transcript_assistant(struct transcript *transcript, const char *text, size_t len,
			 struct err *err)
{
	if ((transcript->calls.len > 0 && transcript_close(transcript, err) < 0) ||
	    open_turn(transcript, err) < 0 ||
	    (transcript->text.len > 0 && buf_addc(&transcript->text, '\n', err) < 0))
		return (int)err->code;
	transcript->has_output = true;
	return buf_add(&transcript->text, text, len, err);
}

/* Reasoning comes before its effects: after calls it begins the next turn. */
int transcript_sealed(struct transcript *transcript, const char *text, size_t len, struct err *err)
{
	cleanup_buf struct buf one = BUF_INIT(OPENAI_CONVERSATION_MAX);
	struct json_writer json;

	json_write_init(&json, &one);
	if (!sealed_write(text, len, &json))
		return 0; /* not sealed by us: no provider could read it */
	if (json_write_finish(&json, err) < 0 ||
	    (transcript->calls.len > 0 && transcript_close(transcript, err) < 0) ||
	    open_turn(transcript, err) < 0 ||
	    (transcript->sealed.len > 0 && buf_addc(&transcript->sealed, ',', err) < 0))
		return (int)err->code;
	return buf_add(&transcript->sealed, one.data, one.len, err);
}

static int begin_call(struct transcript *transcript, struct json_writer *json, const char *id,
		      const char *name, struct err *err)
{
	if (open_turn(transcript, err) < 0 || begin(json, &transcript->calls, err) < 0)
		return (int)err->code;
	transcript->has_output = true;
	json_write_member_string(json, "id", id);
	json_write_member_string(json, "name", name);
	json_write_key(json, "arguments");
	return 0;
}

int transcript_call(struct transcript *transcript, const char *id, const char *name,
		    const char *arguments, size_t len, struct err *err)
{
	struct json_writer json;

	if (begin_call(transcript, &json, id, name, err) < 0)
		return (int)err->code;
	json_write_text(&json, arguments, len);
	return end(&json, err);
}

int transcript_code(struct transcript *transcript, const char *id, const char *code, size_t len,
		    struct err *err)
{
	struct json_writer json;

	if (begin_call(transcript, &json, id, OPENAI_CODE_LANGUAGE, err) < 0)
		return (int)err->code;
	json_write_object_begin(&json);
	json_write_member_text(&json, "code", code, len);
	json_write_object_end(&json);
	return end(&json, err);
}

int transcript_result(struct transcript *transcript, const char *id, const char *text, size_t len,
		      struct err *err)
{
	struct json_writer json;

	if (begin(&json, &transcript->results, err) < 0)
		return (int)err->code;
	json_write_member_string(&json, "id", id);
	json_write_member_text(&json, "text", text, len);
	return end(&json, err);
}

int transcript_image(struct transcript *transcript, const char *url, struct err *err)
{
	static const char data[] = "data:image/", mark[] = ";base64,";
	const char *comma = strstr(url, mark);
	struct json_writer json;

	if (strncmp(url, data, sizeof(data) - 1) != 0 || comma == NULL || comma - url > 60)
		return err_set(err, ERR_INVALID,
			       "image_url: only data URLs (data:image/png;base64,…) "
			       "are taken: there is no network here");
	if (begin(&json, &transcript->images, err) < 0)
		return (int)err->code;
	json_write_member_text(&json, "mime", url + 5, (size_t)(comma - url) - 5);
	json_write_member_string(&json, "base64", comma + sizeof(mark) - 1);
	return end(&json, err);
}

int transcript_user(struct transcript *transcript, const char *role, const struct buf *text,
		    const char *const *files, size_t file_count, struct err *err)
{
	struct json_writer *writer = transcript->writer;

	json_write_object_begin(writer);
	json_write_member_string(writer, "role", role);
	json_write_member_text(writer, "text", buf_text(text), text->len);
	if (write_array(writer, "images", &transcript->images, err) < 0)
		return (int)err->code;
	json_write_key(writer, "files");
	json_write_array_begin(writer);
	for (size_t i = 0; i < file_count; i++)
		json_write_string(writer, files[i]);
	json_write_array_end(writer);
	json_write_object_end(writer);
	return 0;
}
