/*
 * answer.c - writes the results of stages and runs for SandboxFusion's clients.
 *
 * Runs in:  reckon-front-sandboxfusion.
 * Reads:    output of hostile programs.
 * Never:    leaves out a stream of a stage that ran, because null means no output to some clients.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/sandboxfusion/sandboxfusion.h"

bool fusion_is_good(const struct program_end *end)
{
	return end->how == PROGRAM_EXITED && end->code == 0;
}

static const char *status_of(const struct program_end *end)
{
	if (end->how == PROGRAM_TIMEOUT || end->how == PROGRAM_CPU_LIMIT)
		return "TimeLimitExceeded";
	return end->how == PROGRAM_FAILED ? "Error" : "Finished";
}

static void write_seconds(struct json_writer *json, const char *key, double seconds)
{
	json_write_key(json, key);
	json_write_seconds(json, seconds > 0 ? (uint64_t)(seconds * 1e9) : 0);
}

/* The exit status as a process has it: negative for a signal. */
static int code_of(const struct program_end *end)
{
	if (end->how == PROGRAM_EXITED)
		return end->code;
	return end->how == PROGRAM_SIGNALLED ? -end->code : -SIGKILL;
}

/* Writes the member stderr, with a note. */
static void write_cut(struct json_writer *json, const struct buf *err)
{
	cleanup_buf struct buf noted = BUF_INIT(FUSION_OUTPUT_MAX + 64);
	const bool has_line = err->len > 0 && err->data[err->len - 1] != '\n';
	struct err full;

	(void)buf_add(&noted, buf_text(err), err->len, &full);
	(void)buf_addf(&noted, &full, "%soutput limit exceeded\n", has_line ? "\n" : "");
	json_write_member_text(json, "stderr", buf_text(&noted), noted.len);
}

void fusion_write_stage(struct json_writer *json, const char *key, const struct program_end *end)
{
	if (key != NULL)
		json_write_key(json, key);
	if (end == NULL) {
		json_write_null(json);
		return;
	}
	json_write_object_begin(json);
	json_write_member_string(json, "status", status_of(end));
	write_seconds(json, "execution_time", end->wall_s);
	write_seconds(json, "cpu_time", end->cpu_s);
	json_write_key(json, "return_code");
	if (strcmp(status_of(end), "Finished") == 0)
		json_write_int(json, code_of(end));
	else
		json_write_null(json);
	json_write_member_text(json, "stdout", buf_text(&end->out), end->out.len);
	if (end->how == PROGRAM_OUTPUT_LIMIT)
		write_cut(json, &end->err);
	else
		json_write_member_text(json, "stderr", buf_text(&end->err), end->err.len);
	json_write_object_end(json);
}

/* The stage that failed because of the service; NULL: none. */
static const struct program_end *broken(const struct program_code *code)
{
	if (code->has_compiled && code->compiled.how == PROGRAM_FAILED)
		return &code->compiled;
	return code->has_run && code->ran.how == PROGRAM_FAILED ? &code->ran : NULL;
}

void fusion_write_outcome(struct json_writer *json, const struct fusion_code *fusion)
{
	const struct program_code *code = &fusion->code;
	const struct program_end *fault = broken(code);
	const bool is_good = (!code->has_compiled || fusion_is_good(&code->compiled)) &&
			     code->has_run && fusion_is_good(&code->ran);
	char why[128] = "";

	if (code->is_missing)
		(void)snprintf(why, sizeof(why), "%s is not installed on this host",
			       fusion->language->name);
	json_write_member_string(json, "status",
				 code->is_missing || fault != NULL ? "SandboxError"
				 : is_good			   ? "Success"
								   : "Failed");
	json_write_member_string(json, "message", fault != NULL ? buf_text(&fault->err) : why);
	fusion_write_stage(json, "compile_result",
			   code->has_compiled && !code->is_missing ? &code->compiled : NULL);
	fusion_write_stage(json, "run_result",
			   code->has_run && !code->is_missing ? &code->ran : NULL);
	json_write_member_string(json, "executor_pod_name", NULL);
}

void fusion_write_value(struct json_writer *json, const struct json_value *value)
{
	cleanup_buf struct buf text = BUF_INIT(FUSION_BODY_MAX);
	struct err err;

	if (json_read_dump(value, &text, &err) == 0)
		json_write_raw(json, buf_text(&text), text.len);
	else
		json_write_null(json);
}

void fusion_answer(struct request *request, struct json_writer *json, struct buf *body)
{
	struct err err;

	if (json_write_finish(json, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		answer_text(request, 200, FUSION_JSON, body, NULL);
}
