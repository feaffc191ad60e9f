/*
 * run.c - /run_code: a program in a box of its own, compiled where its language is.
 *
 * Runs in:  reckon-front-sandboxfusion.
 * Reads:    requests of anybody, what hostile programs print.
 * Never:    calls a program's failure ours: graders would ask again, or count nothing.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/sandboxfusion/sandboxfusion.h"

#define STAGE_MS 10000u
#define MEMORY_LEAST (64ull << 20) /* less starts no program */
#define NOT_FOUND 127		   /* of a shell */
#define LOOK_MS 5000u

/* All that clients may name. */
static const struct fusion_language languages[] = {
	{ "python", "python", NULL, true },
	{ "pytest", "python", "pytest \"$main\"", true },
	{ "bash", "bash", NULL, true },
	{ "nodejs", "nodejs", NULL, true },
	{ "typescript", "typescript", NULL, true },
	{ "cpp", "cpp", NULL, false },
	{ "java", "java", NULL, false },
	{ "go", "go", NULL, false },
	{ "rust", "rust", NULL, false },
	{ "D_ut", "D_ut", NULL, false },
	{ "perl", "perl", NULL, true },
	{ "ruby", "ruby", NULL, true },
	{ "php", "php", NULL, true },
	{ "lua", "lua", NULL, true },
	{ "R", "R", NULL, true },
	{ "julia", "julia", NULL, true },
	{ "python2", NULL, NULL, true },
	{ "go_test", NULL, NULL, false },
	{ "csharp", NULL, NULL, false },
	{ "sql", NULL, NULL, true },
	{ "cuda", NULL, NULL, false },
	{ "scala", NULL, NULL, false },
	{ "junit", NULL, NULL, false },
	{ "kotlin_script", NULL, NULL, true },
	{ "jest", NULL, NULL, true },
	{ "verilog", NULL, NULL, false },
	{ "python_gpu", NULL, NULL, true },
	{ "lean", NULL, NULL, true },
	{ "swift", NULL, NULL, false },
	{ "racket", NULL, NULL, true },
	{ "gtest", NULL, NULL, false },
	{ "react", NULL, NULL, true },
};

const struct fusion_language *fusion_language_find(const char *name)
{
	for (size_t i = 0; name != NULL && i < ARRAY_LEN(languages); i++)
		if (strcmp(languages[i].name, name) == 0)
			return &languages[i];
	return NULL;
}

/* ---- a program ------------------------------------------------------------------------------ */

void fusion_code_init(struct fusion_code *code, const struct fusion_language *language)
{
	*code = (struct fusion_code){
		.program = PROGRAM_INIT,
		.language = language,
		.row = language->row != NULL ? program_language_find(language->row) : NULL,
		.compile_ms = STAGE_MS,
		.run_ms = STAGE_MS,
		.compiled = PROGRAM_END_INIT,
		.ran = PROGRAM_END_INIT,
	};
	code->is_missing = code->row == NULL;
}

void fusion_code_done(struct fusion_code *code)
{
	program_done(&code->program);
	program_end_done(&code->compiled);
	program_end_done(&code->ran);
}

int fusion_code_open(struct fusion_code *code, struct request *request)
{
	const uint64_t memory = code->memory_bytes;

	return program_open(&code->program, request,
			    &(struct program_order){
				    .output_bytes = FUSION_OUTPUT_MAX,
				    .memory_bytes = memory != 0 && memory < MEMORY_LEAST ? MEMORY_LEAST
											 : memory });
}

/* A shell that finds no command says so; whether it was the language's, another look tells. */
static int look_for(struct fusion_code *code, const char *command)
{
	cleanup_program_end struct program_end end = PROGRAM_END_INIT;
	cleanup_buf struct buf text = BUF_INIT(256);
	struct err err;

	if (buf_addf(&text, &err, "command -v %.*s", (int)strcspn(command, " "), command) < 0 ||
	    program_run(&code->program,
			&(struct program_stage){ .command = buf_text(&text),
						 .timeout_ms = LOOK_MS },
			&end) < 0)
		return -1;
	code->is_missing = !fusion_is_good(&end);
	return 0;
}

static int run_stage(struct fusion_code *code, const char *command,
		     const struct program_stage *stage, struct program_end *ret)
{
	cleanup_buf struct buf text = BUF_INIT(4096);
	struct program_stage whole = *stage;
	struct err err;

	if (program_language_command(command, code->row->file, &text, &err) < 0)
		return fusion_refuse_field(code->program.request, "language", err.text);
	whole.command = buf_text(&text);
	if (program_run(&code->program, &whole, ret) < 0)
		return -1;
	if (ret->how == PROGRAM_EXITED && ret->code == NOT_FOUND)
		return look_for(code, command);
	return 0;
}

int fusion_code_compile(struct fusion_code *code, const char *text, size_t len)
{
	if (program_put(&code->program, code->row->file, text, len) < 0)
		return -1;
	if (code->row->compile == NULL)
		return 0;
	code->has_compiled = true;
	return run_stage(code, code->row->compile,
			 &(struct program_stage){ .timeout_ms = code->compile_ms },
			 &code->compiled);
}

bool fusion_code_may_run(const struct fusion_code *code)
{
	return !code->is_missing && (!code->has_compiled || fusion_is_good(&code->compiled));
}

int fusion_code_run(struct fusion_code *code, const char *input, size_t input_len)
{
	code->has_run = true;
	return run_stage(code, code->language->run != NULL ? code->language->run : code->row->run,
			 &(struct program_stage){ .input = input,
						  .input_len = input_len,
						  .timeout_ms = code->run_ms },
			 &code->ran);
}

/* ---- a request ------------------------------------------------------------------------------ */

static int read_request(struct request *request, const struct json_value *body,
			struct fusion_code *ret)
{
	if (json_read_text(json_read_member(body, "code"), NULL) == NULL)
		return fusion_refuse_field(request, "code", "Input should be a valid string");
	if (fusion_read_seconds(request, body, "compile_timeout", &ret->compile_ms) < 0 ||
	    fusion_read_seconds(request, body, "run_timeout", &ret->run_ms) < 0 ||
	    fusion_read_memory(request, body, &ret->memory_bytes) < 0)
		return -1;
	return 0;
}

static int run_whole(struct fusion_code *code, const struct json_value *body)
{
	size_t len, input_len;
	const char *text = json_read_text(json_read_member(body, "code"), &len);
	const char *input = json_read_text(json_read_member(body, "stdin"), &input_len);
	cleanup_buf struct buf with_tag = BUF_INIT(FUSION_BODY_MAX);
	struct err err;

	/* PHP prints what is not between tags. */
	if (strcmp(code->language->name, "php") == 0 && strstr(text, "<?php") == NULL) {
		if (buf_adds(&with_tag, "<?php\n", &err) < 0 ||
		    buf_add(&with_tag, text, len, &err) < 0)
			return fusion_refuse_field(code->program.request, "code", err.text);
		text = buf_text(&with_tag);
		len = with_tag.len;
	}
	if (fusion_put_files(&code->program, body) < 0 || fusion_code_compile(code, text, len) < 0)
		return -1;
	return fusion_code_may_run(code) ? fusion_code_run(code, input, input_len) : 0;
}

static void run(struct request *request, struct fusion_code *code, const struct json_value *body)
{
	cleanup_buf struct buf answer = BUF_INIT(FUSION_ANSWER_MAX);
	struct json_writer json;

	if (read_request(request, body, code) < 0)
		return;
	if (!code->is_missing &&
	    (fusion_code_open(code, request) < 0 || run_whole(code, body) < 0))
		return;
	json_write_init(&json, &answer);
	json_write_object_begin(&json);
	fusion_write_outcome(&json, code);
	if (code->is_missing) {
		json_write_key(&json, "files");
		json_write_object_begin(&json);
		json_write_object_end(&json);
	} else if (fusion_write_files(&code->program, body, &json) < 0) {
		return;
	}
	json_write_object_end(&json);
	fusion_answer(request, &json, &answer);
}

void fusion_run_code(struct request *request)
{
	const struct fusion_language *language;
	struct fusion_code code;
	struct json_value *body;

	if (call_json_body(request, FUSION_BODY_MAX, &body) < 0)
		return;
	language = fusion_language_find(json_read_text(json_read_member(body, "language"), NULL));
	if (language == NULL) {
		(void)fusion_refuse_field(request, "language", "Input should be a known language");
	} else {
		fusion_code_init(&code, language);
		run(request, &code, body);
		fusion_code_done(&code);
	}
	json_read_free(body);
}
