/*
 * execute.c - a job in its own box: its files, the compiler, the program; and the answer.
 *
 * Runs in:  reckon-front-piston.
 * Reads:    bodies of any client, output of hostile programs.
 * Never:    keeps a box for the next job.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "codec/base64.h"
#include "codec/json_write.h"
#include "dialects/piston/piston.h"

#define OUTPUT_MAX (16u * 1024u * 1024u)
#define ANSWER_MAX ((size_t)256 * 1024 * 1024)
#define MEMORY_LEAST (64ull << 20) /* a program cannot start with less */
#define PROBE_MS 20000u

static int refuse(const struct piston_execution *execution, const char *message)
{
	answer_refuse_simple(execution->request, 400, "invalid", message, NULL);
	return -1;
}

/* ---- files ---------------------------------------------------------------------------------- */

static int unhex(const char *text, size_t len, struct buf *ret, struct err *err)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i + 1 < len; i += 2) {
		const char *high = strchr(digits, text[i] | 0x20);
		const char *low = strchr(digits, text[i + 1] | 0x20);

		if (high == NULL || low == NULL || *high == '\0' || *low == '\0')
			return err_set(err, ERR_INVALID, "no hexadecimal number");
		if (buf_addc(ret, (char)((high - digits) << 4 | (low - digits)), err) < 0)
			return (int)err->code;
	}
	return 0;
}

static int put_file(struct piston_execution *execution, const char *name, const struct json_value *file)
{
	cleanup_buf struct buf decoded = BUF_INIT(PISTON_BODY_MAX);
	const char *encoding = json_read_text(json_read_member(file, "encoding"), NULL);
	size_t len;
	const char *content = json_read_text(json_read_member(file, "content"), &len);
	struct err err;
	int code = 0;

	if (encoding != NULL && strcmp(encoding, "base64") == 0)
		code = base64_decode(content, len, &decoded, &err);
	else if (encoding != NULL && strcmp(encoding, "hex") == 0)
		code = unhex(content, len, &decoded, &err);
	else
		return program_put(&execution->program, name, content, len);
	if (code < 0)
		return refuse(execution, err.text);
	return program_put(&execution->program, name, buf_text(&decoded), decoded.len);
}

/* The first text file is the one that runs. */
static int put_files(struct piston_execution *execution)
{
	const struct json_value *files = execution->job.files;

	for (size_t i = 0; i < json_read_count(files); i++) {
		const struct json_value *file = json_read_at(files, i);
		const char *given = json_read_text(json_read_member(file, "name"), NULL);
		const char *encoding = json_read_text(json_read_member(file, "encoding"), NULL);
		const bool is_main = execution->main_file[0] == '\0' &&
				     (encoding == NULL || strcmp(encoding, "utf8") == 0);
		char name[PROGRAM_PATH_MAX];

		if (given != NULL && given[0] != '\0')
			(void)snprintf(name, sizeof(name), "%s", given);
		else if (is_main)
			(void)snprintf(name, sizeof(name), "%s", execution->job.language->file);
		else
			(void)snprintf(name, sizeof(name), "file%zu.code", i);
		if (is_main)
			(void)snprintf(execution->main_file, sizeof(execution->main_file), "%s",
				       name);
		if (put_file(execution, name, file) < 0)
			return -1;
	}
	return 0;
}

/* ---- stages --------------------------------------------------------------------------------- */

/* Finds out whether this host has the language in a suitable version. */
static int find_runtime(struct piston_execution *execution)
{
	cleanup_program_end struct program_end end = PROGRAM_END_INIT;
	cleanup_buf struct buf command = BUF_INIT(4096);
	const struct program_language *language = execution->job.language;
	const char *version = NULL;
	char why[192];
	struct err err;

	if (program_language_probe(language, &command, &err) < 0)
		return refuse(execution, err.text);
	if (program_run(&execution->program,
			&(struct program_stage){ .command = buf_text(&command),
						 .timeout_ms = PROBE_MS },
			&end) < 0)
		return -1;
	if (end.out.len > 0)
		version = piston_version_of(end.out.data, language->name);
	if (version == NULL || !piston_version_fits(execution->job.wanted, version)) {
		(void)snprintf(why, sizeof(why), "%s-%.60s runtime is unknown", language->name,
			       execution->job.wanted);
		return refuse(execution, why);
	}
	(void)snprintf(execution->version, sizeof(execution->version), "%s", version);
	return 0;
}

int piston_run_stage(struct piston_execution *execution, const char *command, bool is_run,
		     struct program_end *ret)
{
	cleanup_buf struct buf text = BUF_INIT(60000);
	const struct piston_job *job = &execution->job;
	struct err err;
	int code = program_language_command(command, execution->main_file, &text, &err);

	for (size_t i = 0; is_run && code == 0 && i < json_read_count(job->args); i++) {
		code = buf_addc(&text, ' ', &err);
		if (code == 0)
			code = text_quote_for_shell(
				json_read_text(json_read_at(job->args, i), NULL), &text, &err);
	}
	if (code < 0)
		return refuse(execution, "args are too long");
	return program_run(&execution->program,
			   &(struct program_stage){
				   .command = buf_text(&text),
				   .input = is_run ? job->input : NULL,
				   .input_len = job->input_len,
				   .timeout_ms = is_run ? job->run_ms : job->compile_ms,
				   .cpu_ms = is_run ? job->run_cpu_ms : job->compile_cpu_ms,
				   .interactive = execution->interactive },
			   ret);
}

/* ---- the answer ----------------------------------------------------------------------------- */

void piston_judge(const struct program_end *end, struct piston_verdict *ret)
{
	const char *name = NULL;

	*ret = (struct piston_verdict){ .code = -1 };
	switch (end->how) {
	case PROGRAM_EXITED:
		ret->code = end->code;
		if (end->code != 0) {
			ret->status = "RE";
			ret->message = "Exited with error status";
		}
		return;
	case PROGRAM_SIGNALLED:
		ret->status = "SG";
		ret->message = "Caught fatal signal";
		name = sigabbrev_np(end->code);
		(void)snprintf(ret->signal, sizeof(ret->signal), "SIG%s",
			       name != NULL ? name : "KILL");
		return;
	case PROGRAM_TIMEOUT:
		ret->status = "TO";
		ret->message = "Time limit exceeded (wall clock)";
		break;
	case PROGRAM_CPU_LIMIT:
		ret->status = "TO";
		ret->message = "Time limit exceeded";
		break;
	case PROGRAM_OUT_OF_MEMORY:
		ret->status = "SG";
		ret->message = "Memory limit exceeded";
		break;
	case PROGRAM_OUTPUT_LIMIT: /* the longer stream is the one that was cut */
		ret->status = end->err.len > end->out.len ? "EL" : "OL";
		ret->message = end->err.len > end->out.len ? "stderr length exceeded"
							   : "stdout length exceeded";
		break;
	case PROGRAM_FAILED:
		ret->status = "XX";
		ret->message = "the sandbox failed";
		break;
	}
	(void)snprintf(ret->signal, sizeof(ret->signal), "SIGKILL");
}

static void write_stage(struct json_writer *json, const char *name, const struct program_end *end)
{
	struct piston_verdict verdict;

	piston_judge(end, &verdict);
	json_write_key(json, name);
	json_write_object_begin(json);
	json_write_member_text(json, "stdout", buf_text(&end->out), end->out.len);
	json_write_member_text(json, "stderr", buf_text(&end->err), end->err.len);
	json_write_member_text(json, "output", buf_text(&end->both), end->both.len);
	json_write_key(json, "code");
	if (verdict.code < 0)
		json_write_null(json);
	else
		json_write_int(json, verdict.code);
	json_write_member_string(json, "signal", verdict.signal[0] != '\0' ? verdict.signal : NULL);
	json_write_member_string(json, "message", verdict.message);
	json_write_member_string(json, "status", verdict.status);
	json_write_member_uint(json, "cpu_time", (uint64_t)(end->cpu_s * 1000));
	json_write_member_uint(json, "wall_time", (uint64_t)(end->wall_s * 1000));
	json_write_member_uint(json, "memory", end->memory_bytes);
	json_write_object_end(json);
}

static void answer(const struct piston_execution *execution, const struct program_end *compile,
		   const struct program_end *run)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "language", execution->job.language->name);
	json_write_member_string(&json, "version", execution->version);
	if (compile != NULL)
		write_stage(&json, "compile", compile);
	write_stage(&json, "run", run);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		answer_refuse_simple(execution->request, 500, "internal", err.text, NULL);
	else
		answer_text(execution->request, 200, PISTON_JSON, &body, NULL);
}

/* ---- a job ---------------------------------------------------------------------------------- */

int piston_prepare(struct piston_execution *execution)
{
	const uint64_t memory = execution->job.memory_bytes;

	return program_open(&execution->program, execution->request,
			    &(struct program_order){
				    .output_bytes = OUTPUT_MAX,
				    .memory_bytes = memory != 0 && memory < MEMORY_LEAST
							    ? MEMORY_LEAST
							    : memory }) < 0 ||
			       find_runtime(execution) < 0 || put_files(execution) < 0
		       ? -1
		       : 0;
}

bool piston_has_compiled(const struct program_end *compiled)
{
	return compiled->how == PROGRAM_EXITED && compiled->code == 0;
}

static void run(struct piston_execution *execution)
{
	cleanup_program_end struct program_end compiled = PROGRAM_END_INIT;
	cleanup_program_end struct program_end ran = PROGRAM_END_INIT;
	const struct program_language *language = execution->job.language;
	const bool compiles = language->compile != NULL;

	compiled.both.max = ran.both.max = (size_t)2 * OUTPUT_MAX;
	if (piston_prepare(execution) < 0)
		return;
	if (compiles && piston_run_stage(execution, language->compile, false, &compiled) < 0)
		return;
	/* If compilation failed, nothing ran: Piston's clients get the compiler's result twice. */
	if (compiles && !piston_has_compiled(&compiled)) {
		answer(execution, &compiled, &compiled);
		return;
	}
	if (piston_run_stage(execution, language->run, true, &ran) == 0)
		answer(execution, compiles ? &compiled : NULL, &ran);
}

void piston_execute(struct request *request)
{
	struct piston_execution execution = { .request = request, .program = PROGRAM_INIT };
	struct json_value *body;
	char why[192];

	if (call_json_body(request, PISTON_BODY_MAX, &body) < 0)
		return;
	if (piston_job_read(body, &execution.job, why, sizeof(why)))
		run(&execution);
	else
		(void)refuse(&execution, why);
	program_done(&execution.program);
	json_read_free(body);
}
