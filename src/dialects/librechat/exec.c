/*
 * exec.c - /exec: a program in its own box, or in its conversation's, with files of earlier runs
 *          and uploads.
 *
 * Runs in:  reckon-front-librechat.
 * Reads:    bodies of any client, output of hostile programs.
 * Never:    keeps a box for the next run unless requested: usually only files persist.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "codec/json_get.h"
#include "dialects/librechat/librechat.h"

#define RUN_MS 60000u
#define RUN_MS_MAX 300000u
#define COMPILE_MS 60000u
#define OUTPUT_MAX (1u * 1024u * 1024u)
#define ANSWER_MAX ((size_t)64 * 1024 * 1024)
#define ARGUMENTS_MAX 32768u

/* ---- the answer ----------------------------------------------------------------------------- */

/* Appends the reason for the program's end to its output, which models read. */
static void add_note(struct program_end *end)
{
	const char *note = end->how == PROGRAM_TIMEOUT || end->how == PROGRAM_CPU_LIMIT
				   ? "Time limit exceeded"
			   : end->how == PROGRAM_OUT_OF_MEMORY ? "Out of memory"
			   : end->how == PROGRAM_OUTPUT_LIMIT  ? "stdout length exceeded"
			   : end->how == PROGRAM_SIGNALLED     ? "Ended by a signal"
							       : NULL;
	struct err ignored;

	if (note == NULL)
		return;
	if (end->err.len > 0 && end->err.data[end->err.len - 1] != '\n')
		(void)buf_addc(&end->err, '\n', &ignored);
	(void)buf_addf(&end->err, &ignored, "%s\n", note);
}

static void answer(struct request *request, struct librechat_exec *exec)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	struct program_code *code = &exec->code;
	struct program_end *end = code->has_run ? &code->ran : &code->compiled;
	char session[LIBRECHAT_ID_SIZE];
	struct json_writer json;

	add_note(end);
	librechat_session_id(code->program.session, session);
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "session_id", session);
	if (exec->hint != NULL) {
		json_write_member_string(&json, "runtime_session_id", session);
		json_write_member_string(&json, "runtime_status", exec->is_reused ? "reused" : "new");
	}
	json_write_member_text(&json, "stdout", buf_text(&end->out), end->out.len);
	json_write_member_text(&json, "stderr", buf_text(&end->err), end->err.len);
	json_write_key(&json, "code");
	if (end->how == PROGRAM_EXITED)
		json_write_int(&json, end->code);
	else
		json_write_null(&json);
	json_write_member_uint(&json, "wall_time", (uint64_t)(end->wall_s * 1000));
	librechat_write_outputs(&json, exec, exec->code.ran.files);
	json_write_object_end(&json);
	librechat_answer(request, 200, &json, &body);
}

/* ---- a request ------------------------------------------------------------------------------ */

/* Makes a shell word of each argument; a single text is one argument. */
static int read_arguments(const struct json_value *body, struct buf *ret, struct err *err)
{
	const struct json_value *args = json_read_member(body, "args");
	size_t len = 0;
	const char *text = json_read_text(args, &len);

	/* A NUL would cut an argument. */
	if (text != NULL && strlen(text) != len)
		return err_set(err, ERR_INVALID, "args hold a NUL");
	if (text != NULL && text[0] != '\0')
		return buf_addc(ret, ' ', err) < 0 || text_quote_for_shell(text, ret, err) < 0 ? -1
											       : 0;
	for (size_t i = 0; i < json_read_count(args); i++) {
		text = json_read_text(json_read_at(args, i), &len);
		if (text == NULL || strlen(text) != len)
			return err_set(err, ERR_INVALID, "args must be texts");
		if (buf_addc(ret, ' ', err) < 0 || text_quote_for_shell(text, ret, err) < 0)
			return -1;
	}
	return 0;
}

/* Hides our files from the user's: names that begin with a dot are ours. */
static void hide(struct program_code *code, char *name, size_t size)
{
	if (code->language->compile != NULL)
		return;
	(void)snprintf(name, size, ".%s", code->language->file);
	code->file = name;
}

static int refuse_language(struct request *request, const struct json_value *body)
{
	char message[96];

	(void)snprintf(message, sizeof(message), "Unsupported language: %.50s",
		       json_get_str(body, "lang"));
	answer_refuse_simple(request, 400, "unsupported_language", message, NULL);
	return -1;
}

static int open_box(struct request *request, struct librechat_exec *exec)
{
	if (exec->hint != NULL)
		return librechat_machine(request, exec, exec->hint, OUTPUT_MAX);
	return program_open(&exec->code.program, request,
			    &(struct program_order){ .output_bytes = OUTPUT_MAX });
}

static int run(struct request *request, const struct json_value *body, struct librechat_exec *exec)
{
	struct program_code *code = &exec->code;
	cleanup_buf struct buf arguments = BUF_INIT(ARGUMENTS_MAX);
	double timeout = 0;
	size_t len;
	const char *text = json_read_text(json_read_member(body, "code"), &len);
	char name[64];
	bool has_failed;
	struct err err;

	if (code->is_missing)
		return refuse_language(request, body);
	if (text == NULL || read_arguments(body, &arguments, &err) < 0) {
		answer_refuse_simple(request, 400, "invalid_request",
				     text == NULL ? "code must be a text"
				     : err.code == ERR_LIMIT
					     ? "args have at most 32 KiB together"
					     : "args are no texts",
				     NULL);
		return -1;
	}
	code->compile_ms = COMPILE_MS;
	code->run_ms = RUN_MS;
	if (json_read_double(json_read_member(body, "timeout"), &timeout) && timeout >= 1)
		code->run_ms = timeout < RUN_MS_MAX ? (uint64_t)timeout : RUN_MS_MAX;
	hide(code, name, sizeof(name));
	has_failed = librechat_find_inputs(request, body, exec) < 0 ||
		     open_box(request, exec) < 0 ||
		     librechat_own(request, code->program.session, exec->who.user, "") < 0 ||
		     librechat_put_inputs(request, exec) < 0 ||
		     program_code_compile(code, text, len) < 0 ||
		     (program_code_may_run(code) &&
		      program_code_run(code, buf_text(&arguments), NULL, 0) < 0);
	code->file = NULL;
	if (has_failed)
		return -1;
	return code->is_missing ? refuse_language(request, body) : 0;
}

void librechat_exec(struct request *request)
{
	struct librechat_exec exec = { 0 };
	struct json_value *body;

	if (call_json_body(request, LIBRECHAT_BODY_MAX, &body) < 0)
		return;
	program_code_init(&exec.code, program_language_find(json_get_str(body, "lang")));
	if (librechat_hint(request, body, &exec.hint) == 0 && run(request, body, &exec) == 0) {
		if (exec.code.ran.how == PROGRAM_FAILED || exec.code.compiled.how == PROGRAM_FAILED)
			answer_refuse_simple(request, 500, "execution_failed",
					     "the sandbox failed", NULL);
		else
			answer(request, &exec);
	}
	program_code_done(&exec.code);
	free(exec.inputs);
	json_read_free(body);
}
