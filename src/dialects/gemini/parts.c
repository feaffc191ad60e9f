/*
 * parts.c - writes a run's events as parts of a content.
 *
 * Runs in:  reckon-front-gemini.
 * Reads:    text of a model, records of hostile programs.
 * Never:    leaves an incomplete part.
 */
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_get.h"
#include "dialects/gemini/gemini.h"
#include "dialects/model_api.h"

static void begin(struct json_writer *json, struct buf *part)
{
	json_write_init(json, part);
	json_write_object_begin(json);
}

static int end(struct json_writer *json, struct buf *ret)
{
	struct err err;

	json_write_object_end(json);
	if (json_write_finish(json, &err) < 0 ||
	    (ret->len > 0 && buf_addc(ret, ',', &err) < 0) ||
	    buf_add(ret, json->out->data, json->out->len, &err) < 0)
		return -1;
	return 0;
}

/* ---- signatures ----------------------------------------------------------------------------- */

void signatures_done(struct signatures *signatures)
{
	for (size_t i = 0; i < signatures->count; i++)
		buf_done(&signatures->texts[i]);
	*signatures = (struct signatures){ 0 };
}

int signatures_add(struct signatures *signatures, const struct json_value *sealed)
{
	struct buf *text = &signatures->texts[signatures->count];
	struct err err;

	if (signatures->count == GEMINI_CALLS_MAX)
		return -1;
	*text = BUF_INIT(SEALED_MAX * 2);
	signatures->count++;
	return sealed_text(sealed, text, &err) < 0 ? -1 : 0;
}

/* The oldest signature goes with the current part. */
static void write_signature(struct json_writer *json, struct signatures *signatures)
{
	if (signatures->first == signatures->count)
		return;
	json_write_member_string(json, "thoughtSignature",
				 buf_text(&signatures->texts[signatures->first++]));
	if (signatures->first == signatures->count)
		signatures_done(signatures);
}

int parts_signatures(struct buf *ret, struct signatures *signatures)
{
	while (signatures->count > 0)
		if (parts_text(ret, false, "", 0, signatures) < 0)
			return -1;
	return 0;
}

/* ---- parts ---------------------------------------------------------------------------------- */

int parts_text(struct buf *ret, bool is_thought, const char *text, size_t len,
	       struct signatures *signatures)
{
	cleanup_buf struct buf part = BUF_INIT(GEMINI_OUT_MAX);
	struct json_writer json;

	begin(&json, &part);
	json_write_member_text(&json, "text", text, len);
	if (is_thought)
		json_write_member_bool(&json, "thought", true);
	write_signature(&json, signatures);
	return end(&json, ret);
}

int parts_cell(struct buf *ret, const struct run_event *cell, struct signatures *signatures)
{
	cleanup_buf struct buf part = BUF_INIT(GEMINI_OUT_MAX);
	struct json_writer json;

	begin(&json, &part);
	json_write_key(&json, "executableCode");
	json_write_object_begin(&json);
	json_write_member_string(&json, "language", GEMINI_LANGUAGE_NAME);
	json_write_member_text(&json, "code", cell->text, cell->len);
	if (cell->execution != NULL)
		json_write_member_string(&json, "id", cell->execution);
	json_write_object_end(&json);
	write_signature(&json, signatures);
	return end(&json, ret);
}

/* ---- records -------------------------------------------------------------------------------- */

/* Adds the printed text and the last value, and the error if there is one. */
static void add_output(const struct json_value *record, bool is_ok, struct buf *ret)
{
	const struct json_value *error = json_read_member(record, "error");

	model_api_add_text(record, "stdout", ret);
	model_api_add_values(record, ret);
	if (is_ok)
		return;
	model_api_add_text(record, "stderr", ret);
	model_api_add_text(error, json_get_text(error, "traceback") != NULL ? "traceback" : "value",
			   ret);
}

static const char *outcome_of(const char *status)
{
	if (strcmp(status, "ok") == 0)
		return "OUTCOME_OK";
	return strcmp(status, "timeout") == 0 ? "OUTCOME_DEADLINE_EXCEEDED" : "OUTCOME_FAILED";
}

static int add_image(struct buf *ret, const char *media, const char *base64, size_t len)
{
	cleanup_buf struct buf part = BUF_INIT(GEMINI_OUT_MAX);
	struct json_writer json;

	begin(&json, &part);
	json_write_key(&json, "inlineData");
	json_write_object_begin(&json);
	json_write_member_string(&json, "mimeType", media);
	json_write_member_text(&json, "data", base64, len);
	json_write_object_end(&json);
	return end(&json, ret);
}

static int add_images(struct buf *ret, const struct json_value *results)
{
	static const char *const types[] = { "image/png", "image/jpeg" };

	for (size_t i = 0; i < json_read_count(results); i++)
		for (size_t k = 0; k < ARRAY_LEN(types); k++) {
			const struct json_value *data =
				json_read_member(json_read_at(results, i), "data");
			size_t len;
			const char *base64 =
				json_read_text(json_read_member(data, types[k]), &len);

			if (base64 != NULL && add_image(ret, types[k], base64, len) < 0)
				return -1;
		}
	return 0;
}

int parts_record(struct buf *ret, const struct run_event *record)
{
	cleanup_buf struct buf part = BUF_INIT(GEMINI_OUT_MAX), output = BUF_INIT(GEMINI_OUT_MAX);
	const char *status = json_get_text(record->json, "status");
	struct json_writer json;

	if (status == NULL)
		status = "infra_error";
	add_output(record->json, strcmp(status, "ok") == 0, &output);
	begin(&json, &part);
	json_write_key(&json, "codeExecutionResult");
	json_write_object_begin(&json);
	json_write_member_string(&json, "outcome", outcome_of(status));
	json_write_member_text(&json, "output", buf_text(&output), output.len);
	if (record->execution != NULL)
		json_write_member_string(&json, "id", record->execution);
	json_write_object_end(&json);
	if (end(&json, ret) < 0)
		return -1;
	return add_images(ret, json_read_member(record->json, "results"));
}

/* ---- calls ---------------------------------------------------------------------------------- */

static int add_call(struct buf *ret, const struct json_value *call, struct signatures *signatures)
{
	cleanup_buf struct buf part = BUF_INIT(GEMINI_OUT_MAX), args = BUF_INIT(GEMINI_OUT_MAX);
	const struct json_value *arguments = json_read_member(call, "arguments");
	struct json_writer json;
	struct err err;

	if (json_read_kind(arguments) != JSON_KIND_OBJECT ||
	    json_read_dump(arguments, &args, &err) < 0) {
		buf_clear(&args);
		(void)buf_adds(&args, "{}", &err);
	}
	begin(&json, &part);
	json_write_key(&json, "functionCall");
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", json_get_text(call, "id"));
	json_write_member_string(&json, "name", json_get_text(call, "name"));
	json_write_key(&json, "args");
	json_write_raw(&json, buf_text(&args), args.len);
	json_write_object_end(&json);
	write_signature(&json, signatures);
	return end(&json, ret);
}

int parts_calls(struct buf *ret, const struct json_value *answer, struct signatures *signatures)
{
	const struct json_value *calls = json_read_member(answer, "calls");

	for (size_t i = 0; i < json_read_count(calls); i++)
		if (add_call(ret, json_read_at(calls, i), signatures) < 0)
			return -1;
	return 0;
}
