/*
 * event.c - the parts of a record, as events while they happen.
 *
 * Runs in:  libreckon.
 * Reads:    streams of a hostile program, as text.
 * Never:    writes a line that is not one JSON object.
 */
#include "lib/record/record.h"

#include <string.h>

#include "codec/json_write.h"
#include "lib/record/state.h"

const char *record_event_bundle_name(enum record_bundle kind)
{
	static const char *const names[] = { "display_data", "update_display_data",
					     "execute_result" };

	return names[kind];
}

static void begin(struct json_writer *writer, struct buf *ret, struct record_moment moment,
		  const char *name)
{
	json_write_init(writer, ret);
	json_write_object_begin(writer);
	json_write_member_string(writer, "event", name);
	json_write_member_uint(writer, "seq", moment.seq);
	json_write_key(writer, "t");
	json_write_seconds(writer, moment.elapsed_ns);
}

static int end(struct json_writer *writer, size_t before, struct err *err)
{
	struct buf *ret = writer->out;

	json_write_object_end(writer);
	if (json_write_finish(writer, err) == 0)
		return 0;
	if (ret->data != NULL)
		ret->data[ret->len = before] = '\0';
	return err_wrap(err, "event");
}

int record_event_stream(struct record_moment moment, enum record_stream stream, const char *text,
			size_t len, struct buf *ret, struct err *err)
{
	size_t before = ret->len;
	struct json_writer writer;

	begin(&writer, ret, moment, RECORD_EVENT_STREAM);
	json_write_member_string(&writer, "name", stream == RECORD_STDOUT ? "stdout" : "stderr");
	json_write_member_text(&writer, "text", text, len);
	return end(&writer, before, err);
}

int record_event_bundle(struct record_moment moment, enum record_bundle kind,
			const struct record_result *result, struct buf *ret, struct err *err)
{
	size_t before = ret->len;
	struct json_writer writer;

	begin(&writer, ret, moment, record_event_bundle_name(kind));
	json_write_key(&writer, "data");
	json_write_raw(&writer, buf_text(&result->data), result->data.len);
	json_write_key(&writer, "metadata");
	json_write_raw(&writer, buf_text(&result->metadata), result->metadata.len);
	json_write_member_string(&writer, "display_id", result->display_id);
	return end(&writer, before, err);
}

int record_event_error(struct record_moment moment, const struct record *record, struct buf *ret,
		       struct err *err)
{
	size_t before = ret->len;
	struct json_writer writer;

	begin(&writer, ret, moment, RECORD_EVENT_ERROR);
	json_write_key(&writer, "error");
	record_write_failure(&writer, &record->failure);
	return end(&writer, before, err);
}

int record_event_clear(struct record_moment moment, bool wait, struct buf *ret, struct err *err)
{
	size_t before = ret->len;
	struct json_writer writer;

	begin(&writer, ret, moment, RECORD_EVENT_CLEAR);
	json_write_member_bool(&writer, "wait", wait);
	return end(&writer, before, err);
}

int record_event_input(struct record_moment moment, const char *prompt, size_t len, bool password,
		       struct buf *ret, struct err *err)
{
	size_t before = ret->len;
	struct json_writer writer;

	begin(&writer, ret, moment, RECORD_EVENT_INPUT);
	json_write_member_text(&writer, "prompt", prompt, len);
	json_write_member_bool(&writer, "password", password);
	return end(&writer, before, err);
}

int record_event_tool(struct record_moment moment, const struct record_call *call, struct buf *ret,
		      struct err *err)
{
	size_t before = ret->len;
	struct json_writer writer;

	begin(&writer, ret, moment, RECORD_EVENT_TOOL);
	json_write_member_string(&writer, "id", call->id);
	json_write_member_string(&writer, "name", call->name);
	json_write_key(&writer, "arguments");
	json_write_raw(&writer, call->arguments, call->len);
	json_write_member_uint(&writer, "wait_s", call->wait_ms / 1000);
	return end(&writer, before, err);
}

int record_event_done(struct record_moment moment, const char *record_json, size_t len,
		      struct buf *ret, struct err *err)
{
	size_t before = ret->len;
	struct json_writer writer;

	begin(&writer, ret, moment, RECORD_EVENT_DONE);
	json_write_key(&writer, "record");
	json_write_raw(&writer, record_json, len);
	return end(&writer, before, err);
}
