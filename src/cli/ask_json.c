/*
 * ask_json.c - what a program sees of a question: one object, docs/ask.schema.json.
 *
 * Runs in:  reckon ask.
 * Reads:    records and the model's answer.
 * Never:    writes anything of the key.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "codec/json_write.h"

static void write_steps(struct json_writer *writer, const struct ask *ask)
{
	json_write_key(writer, "steps");
	json_write_array_begin(writer);
	for (size_t i = 0; i < ask->step_count; i++) {
		const struct ask_step *step = &ask->steps[i];

		json_write_object_begin(writer);
		json_write_member_string(writer, "code", step->code);
		json_write_key(writer, "record");
		if (step->record != NULL)
			json_write_raw(writer, step->record, strlen(step->record));
		else
			json_write_null(writer);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static const char *text_of(const struct json_value *object, const char *key)
{
	return json_read_text(json_read_member(object, key), NULL);
}

/* Whether a later step changed the same file. */
static bool is_outdated(struct json_value *const *records, size_t count, size_t step,
			const char *path)
{
	for (size_t i = step + 1; i < count; i++) {
		const struct json_value *files = json_read_member(records[i], "files");

		for (size_t j = 0; j < json_read_count(files); j++) {
			const char *other = text_of(json_read_at(files, j), "path");

			if (other != NULL && strcmp(other, path) == 0)
				return true;
		}
	}
	return false;
}

static void write_file(struct json_writer *writer, const struct ask *ask,
		       const struct json_value *file, const char *path)
{
	cleanup_buf struct buf saved = BUF_INIT(16384);
	int64_t size = 0;
	struct err err;

	(void)json_read_int(json_read_member(file, "size"), &size);
	json_write_object_begin(writer);
	json_write_member_string(writer, "path", path);
	json_write_key(writer, "size");
	json_write_int(writer, size);
	json_write_member_string(writer, "mime", text_of(file, "mime"));
	json_write_member_string(writer, "sha256", text_of(file, "sha256"));
	json_write_member_string(writer, "artifact", text_of(file, "artifact"));
	if (ask->view.run.out_path != NULL &&
	    buf_addf(&saved, &err, "%s/%s", ask->view.run.out_path, path) == 0)
		json_write_member_string(writer, "saved", saved.data);
	else
		json_write_member_string(writer, "saved", NULL);
	json_write_object_end(writer);
}

/* Every file that was made or changed, as it was in the end. */
static void write_files(struct json_writer *writer, const struct ask *ask,
			struct json_value *const *records)
{
	json_write_key(writer, "files");
	json_write_array_begin(writer);
	for (size_t i = 0; i < ask->step_count; i++) {
		const struct json_value *files = json_read_member(records[i], "files");

		for (size_t j = 0; j < json_read_count(files); j++) {
			const struct json_value *file = json_read_at(files, j);
			const char *path = text_of(file, "path");
			const char *change = text_of(file, "change");

			if (path == NULL || change == NULL || strcmp(change, "deleted") == 0 ||
			    is_outdated(records, ask->step_count, i, path))
				continue;
			write_file(writer, ask, file, path);
		}
	}
	json_write_array_end(writer);
}

static void write_usage(struct json_writer *writer, const struct ask *ask)
{
	const struct agent_usage *usage = &ask->usage;
	char cost[40];

	json_write_key(writer, "usage");
	json_write_object_begin(writer);
	json_write_member_uint(writer, "requests", usage->requests);
	json_write_member_uint(writer, "steps", usage->steps);
	json_write_member_uint(writer, "input_tokens", usage->in);
	json_write_member_uint(writer, "cached_tokens", usage->cached);
	json_write_member_uint(writer, "output_tokens", usage->out);
	json_write_member_uint(writer, "reasoning_tokens", usage->reasoning);
	json_write_object_end(writer);
	json_write_key(writer, "cost");
	if (ask_has_price(ask)) {
		const int len = snprintf(cost, sizeof(cost), "%llu.%06llu",
					 (unsigned long long)(usage->cost_micro / 1000000),
					 (unsigned long long)(usage->cost_micro % 1000000));

		json_write_raw(writer, cost, (size_t)len);
	} else {
		json_write_null(writer);
	}
}

/* The answer with links put in place, as a person sees it. */
static int linked_answer(const struct ask *ask, struct buf *ret, struct err *err)
{
	struct ask_link link = { .folder = ask->view.run.out_path };

	if (ask_link_add(&link, buf_text(&ask->answer), ask->answer.len, ret, err) < 0)
		return (int)err->code;
	return ask_link_end(&link, ret, err);
}

static int write_all(const struct ask *ask, struct json_value *const *records, struct buf *ret,
		     struct err *err)
{
	cleanup_buf struct buf answer = BUF_INIT(2 * (size_t)AGENT_ANSWER_MAX);
	cleanup_buf struct buf model = BUF_INIT(4096);
	struct json_writer writer;

	if (linked_answer(ask, &answer, err) < 0 ||
	    buf_addf(&model, err, "%s/%s", ask->provider, ask->model) < 0)
		return (int)err->code;
	json_write_init(&writer, ret);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, "schema", "reckon.ask/1");
	json_write_member_string(&writer, "model", model.data);
	json_write_member_text(&writer, "question", buf_text(&ask->question), ask->question.len);
	json_write_key(&writer, "answer");
	if (ask->answer.len > 0)
		json_write_text(&writer, answer.data, answer.len);
	else
		json_write_null(&writer);
	json_write_member_string(&writer, "stop", agent_stop_name(ask->stop));
	json_write_member_string(&writer, "message",
				 ask->why.text[0] != '\0' ? ask->why.text : NULL);
	write_steps(&writer, ask);
	write_files(&writer, ask, records);
	write_usage(&writer, ask);
	json_write_object_end(&writer);
	return json_write_finish(&writer, err);
}

int ask_json_write(const struct ask *ask, struct buf *ret, struct err *err)
{
	struct json_value **records = mem_new0(ask->step_count + 1, sizeof(*records));
	struct err ignored; /* a record that cannot be read has no files */
	int rc;

	for (size_t i = 0; i < ask->step_count; i++)
		if (ask->steps[i].record != NULL)
			(void)json_read_parse(ask->steps[i].record, strlen(ask->steps[i].record),
					      RUN_JSON_MAX, &records[i], &ignored);
	rc = write_all(ask, records, ret, err);
	if (rc == 0)
		rc = buf_addc(ret, '\n', err);
	for (size_t i = 0; i < ask->step_count; i++)
		json_read_free(records[i]);
	free(records);
	return rc;
}

int ask_json_print(const struct ask *ask)
{
	cleanup_buf struct buf out = BUF_INIT(2 * ASK_RECORDS_MAX);
	struct err err;

	if (ask_json_write(ask, &out, &err) < 0)
		return cli_complain(&err);
	return cli_write_stdout(out.data, out.len);
}
