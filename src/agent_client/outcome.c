/*
 * outcome.c - collects the outcome of a question and writes it as one JSON object.
 *
 * Runs in:  libreckon, reckond.
 * Reads:    records and file lists of libreckon; text of a model.
 * Never:    knows a key, so it cannot write one.
 */
#include "agent_client/outcome.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_read.h"
#include "codec/json_write.h"

#define MICRO 1000000u

void outcome_init(struct outcome *outcome, size_t records_max)
{
	*outcome = (struct outcome){ .records_max = records_max };
}

static void free_file(struct outcome_file *file)
{
	free(file->path);
	free(file->mime);
	free(file->sha256);
	free(file->artifact);
}

void outcome_done(struct outcome *outcome)
{
	for (size_t i = 0; i < outcome->step_count; i++) {
		free(outcome->steps[i].prose);
		free(outcome->steps[i].code);
		free(outcome->steps[i].command);
		free(outcome->steps[i].status);
		free(outcome->steps[i].execution);
		free(outcome->steps[i].record);
	}
	for (size_t i = 0; i < outcome->file_count; i++)
		free_file(&outcome->files[i]);
	free(outcome->steps);
	free(outcome->files);
	outcome_init(outcome, outcome->records_max);
}

static char *copy_or_null(const char *text)
{
	return text != NULL ? mem_strdup(text) : NULL;
}

/* The agent's frames bound every text. */
static char *copy_text(const char *text, size_t len)
{
	char *copied = mem_new0(len + 1, 1);

	if (len > 0)
		memcpy(copied, text, len);
	return copied;
}

void outcome_add_step(struct outcome *outcome, const char *prose, size_t prose_len,
		      const char *code, size_t code_len)
{
	outcome->steps = mem_grow(outcome->steps, outcome->step_count + 1, sizeof(*outcome->steps));
	outcome->steps[outcome->step_count++] = (struct outcome_step){
		.prose = copy_text(prose, prose_len),
		.code = copy_text(code, code_len),
	};
}

void outcome_set_command(struct outcome *outcome, const char *json, size_t len)
{
	outcome->steps[outcome->step_count - 1].command = copy_text(json, len);
}

void outcome_begin_step(struct outcome *outcome, const char *execution)
{
	outcome->steps[outcome->step_count - 1].execution = mem_strdup(execution);
}

void outcome_end_step(struct outcome *outcome, const char *status, const char *execution,
		    const char *record)
{
	struct outcome_step *step = &outcome->steps[outcome->step_count - 1];
	const size_t len = record != NULL ? strlen(record) : 0;

	step->status = mem_strdup(status);
	if (execution != NULL && step->execution == NULL)
		step->execution = mem_strdup(execution);
	if (record == NULL || len > outcome->records_max - outcome->record_bytes)
		return;
	outcome->record_bytes += len;
	step->record = copy_text(record, len);
}

void outcome_add_file(struct outcome *outcome, const char *change, const struct outcome_file *file)
{
	const struct outcome_file copied = {
		.path = mem_strdup(file->path),
		.mime = copy_or_null(file->mime),
		.sha256 = copy_or_null(file->sha256),
		.artifact = copy_or_null(file->artifact),
		.size = file->size,
		.is_deleted = strcmp(change, "deleted") == 0,
	};
	struct outcome_file dropped = copied;

	for (size_t i = 0; i < outcome->file_count; i++)
		if (strcmp(outcome->files[i].path, file->path) == 0) {
			dropped = outcome->files[i];
			outcome->files[i] = copied;
			free_file(&dropped);
			return;
		}
	if (outcome->file_count == OUTCOME_FILES_MAX) {
		outcome->files_left_out += !copied.is_deleted; /* those are not listed anyway */
		free_file(&dropped);
		return;
	}
	outcome->files = mem_grow(outcome->files, outcome->file_count + 1, sizeof(*outcome->files));
	outcome->files[outcome->file_count++] = copied;
}

static void write_steps(struct json_writer *writer, const struct outcome *outcome)
{
	json_write_key(writer, "steps");
	json_write_array_begin(writer);
	for (size_t i = 0; i < outcome->step_count; i++) {
		const struct outcome_step *step = &outcome->steps[i];

		json_write_object_begin(writer);
		json_write_member_string(writer, "code", step->code);
		if (step->command != NULL) {
			json_write_key(writer, "command");
			json_write_raw(writer, step->command, strlen(step->command));
		}
		json_write_member_string(writer, "status", step->status);
		json_write_member_string(writer, "execution", step->execution);
		json_write_key(writer, "record");
		if (step->record != NULL)
			json_write_raw(writer, step->record, strlen(step->record));
		else
			json_write_null(writer);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_file(struct json_writer *writer, const struct outcome_file *file,
		       const char *link)
{
	char url[256];

	json_write_object_begin(writer);
	json_write_member_string(writer, "path", file->path);
	json_write_member_uint(writer, "size", file->size);
	json_write_member_string(writer, "mime", file->mime);
	json_write_member_string(writer, "sha256", file->sha256);
	json_write_member_string(writer, "artifact", file->artifact);
	json_write_member_string(writer, "saved", NULL);
	if (link != NULL) {
		(void)snprintf(url, sizeof(url), "%s%s", link,
			       file->artifact != NULL ? file->artifact : "");
		json_write_member_string(writer, "url", file->artifact != NULL ? url : NULL);
	}
	json_write_object_end(writer);
}

static void write_files(struct json_writer *writer, const struct outcome *outcome, const char *link)
{
	json_write_key(writer, "files");
	json_write_array_begin(writer);
	for (size_t i = 0; i < outcome->file_count; i++)
		if (!outcome->files[i].is_deleted)
			write_file(writer, &outcome->files[i], link);
	json_write_array_end(writer);
}

/* Writes an object as JSON, and anything else as a string. */
static void write_arguments(struct json_writer *writer, const char *arguments)
{
	cleanup_buf struct buf json = BUF_INIT(AGENT_ARGUMENTS_MAX);
	enum json_kind kind;
	struct err err;

	json_write_key(writer, "arguments");
	if (json_read_compact(arguments, strlen(arguments), AGENT_ARGUMENTS_MAX, &json, &kind,
			      &err) == 0 &&
	    kind == JSON_KIND_OBJECT)
		json_write_raw(writer, buf_text(&json), json.len);
	else
		json_write_string(writer, arguments);
}

static void write_calls(struct json_writer *writer, const struct outcome_frame *frame)
{
	json_write_key(writer, "calls");
	json_write_array_begin(writer);
	for (size_t i = 0; i < frame->call_count; i++) {
		json_write_object_begin(writer);
		json_write_member_string(writer, "id", frame->calls[i].id);
		json_write_member_string(writer, "name", frame->calls[i].name);
		write_arguments(writer, frame->calls[i].arguments);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

void outcome_write_usage(struct json_writer *writer, const struct agent_usage *usage)
{
	json_write_key(writer, "usage");
	json_write_object_begin(writer);
	json_write_member_uint(writer, "requests", usage->requests);
	json_write_member_uint(writer, "steps", usage->steps);
	json_write_member_uint(writer, "input_tokens", usage->in);
	json_write_member_uint(writer, "cached_tokens", usage->cached);
	json_write_member_uint(writer, "output_tokens", usage->out);
	json_write_member_uint(writer, "reasoning_tokens", usage->reasoning);
	json_write_object_end(writer);
}

void outcome_write_cost(struct json_writer *writer, const struct agent_usage *usage, bool has_price)
{
	char cost[40];
	int len;

	json_write_key(writer, "cost");
	if (!has_price) {
		json_write_null(writer);
		return;
	}
	len = snprintf(cost, sizeof(cost), "%llu.%06llu",
		       (unsigned long long)(usage->cost_micro / MICRO),
		       (unsigned long long)(usage->cost_micro % MICRO));
	json_write_raw(writer, cost, (size_t)len);
}

/* ---- checked claims ---- */

void outcome_read_checked(const struct agent_checked *checked, const char *answer, size_t len,
			  struct outcome_checked *ret)
{
	*ret = (struct outcome_checked){
		.is_checked = checked->is_checked != 0,
		.numbers = checked->numbers,
		.links = checked->links,
		.unsupported = checked->numbers_unsupported + checked->links_unsupported,
	};
	for (size_t i = 0; i < checked->listed && i < AGENT_CLAIMS_MAX; i++) {
		const struct agent_claim *claim = &checked->claims[i];

		if (claim->offset <= len && claim->len <= len - claim->offset)
			ret->claims[ret->count++] = (struct outcome_claim){
				.is_link = claim->kind == AGENT_CLAIM_LINK,
				.text = answer + claim->offset,
				.len = (size_t)claim->len,
			};
	}
}

void outcome_write_checked(struct json_writer *writer, const struct outcome_checked *checked)
{
	json_write_key(writer, "checked");
	if (checked == NULL || !checked->is_checked) {
		json_write_null(writer);
		return;
	}
	json_write_object_begin(writer);
	json_write_member_uint(writer, "numbers", checked->numbers);
	json_write_member_uint(writer, "links", checked->links);
	json_write_member_uint(writer, "unsupported_count", checked->unsupported);
	json_write_key(writer, "unsupported");
	json_write_array_begin(writer);
	for (size_t i = 0; i < checked->count; i++) {
		json_write_object_begin(writer);
		json_write_member_string(writer, "kind",
					 checked->claims[i].is_link ? "link" : "number");
		json_write_member_text(writer, "text", checked->claims[i].text,
				       checked->claims[i].len);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
	json_write_object_end(writer);
}

int outcome_write(const struct outcome *outcome, const struct outcome_frame *frame, struct buf *ret,
		struct err *err)
{
	const bool has_message = frame->message != NULL && frame->message[0] != '\0';
	struct json_writer writer;

	json_write_init(&writer, ret);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, "schema", "reckon.ask/1");
	if (frame->run != NULL)
		json_write_member_string(&writer, "id", frame->run);
	if (frame->session != NULL)
		json_write_member_string(&writer, "session", frame->session);
	json_write_member_string(&writer, "model", frame->model);
	json_write_member_text(&writer, "question", frame->question, frame->question_len);
	json_write_key(&writer, "answer");
	if (frame->answer != NULL)
		json_write_text(&writer, frame->answer, frame->answer_len);
	else
		json_write_null(&writer);
	outcome_write_checked(&writer, frame->checked);
	json_write_member_string(&writer, "stop", frame->stop);
	json_write_member_string(&writer, "message", has_message ? frame->message : NULL);
	if (frame->call_count > 0)
		write_calls(&writer, frame);
	write_steps(&writer, outcome);
	write_files(&writer, outcome, frame->link);
	if (outcome->files_left_out > 0)
		json_write_member_uint(&writer, "files_left_out", outcome->files_left_out);
	outcome_write_usage(&writer, frame->usage);
	outcome_write_cost(&writer, frame->usage, frame->has_price);
	json_write_object_end(&writer);
	return json_write_finish(&writer, err);
}
