/*
 * run.c - /run_code: a program in its own box, compiled if its language needs it.
 *
 * Runs in:  reckon-front-sandboxfusion.
 * Reads:    requests of any client, output of hostile programs.
 * Never:    reports a program's failure as the service's: graders would retry, or not count it.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "dialects/sandboxfusion/sandboxfusion.h"

#define MEMORY_LEAST (64ull << 20) /* a program cannot start with less */

/* All names that clients may use. */
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
	{ "python2", "python2", NULL, true },
	{ "go_test", "go_test", NULL, false },
	{ "csharp", "csharp", NULL, false },
	{ "sql", "sql", NULL, true },
	{ "cuda", "cuda", NULL, false },
	{ "scala", "scala", NULL, false },
	{ "kotlin_script", "kotlin_script", NULL, true },
	{ "jest", "jest", NULL, true },
	{ "verilog", "verilog", NULL, false },
	{ "lean", "lean", NULL, true },
	{ "swift", "swift", NULL, false },
	{ "racket", "racket", NULL, true },
	{ "junit", NULL, NULL, false }, /* they would need more than one command */
	{ "gtest", NULL, NULL, false },
	{ "react", NULL, NULL, true },
	{ "python_gpu", NULL, NULL, true },
};

const struct fusion_language *fusion_language_find(const char *name)
{
	for (size_t i = 0; name != NULL && i < ARRAY_LEN(languages); i++)
		if (strcmp(languages[i].name, name) == 0)
			return &languages[i];
	return NULL;
}

/* Whether an earlier row has the label: an object must not have a member twice. */
static bool is_duplicate(size_t before, const char *label)
{
	for (size_t i = 0; i < before; i++) {
		const struct program_language *row =
			languages[i].row != NULL ? program_language_find(languages[i].row) : NULL;

		if (strcasecmp(languages[i].name, label) == 0 ||
		    (row != NULL && strcasecmp(row->name, label) == 0))
			return true;
		for (const char *const *at = row != NULL ? row->aliases : NULL;
		     at != NULL && *at != NULL; at++)
			if (strcasecmp(*at, label) == 0)
				return true;
	}
	return false;
}

static void write_label(struct json_writer *json, size_t index, const char *label)
{
	char lower[64];
	size_t len = 0;

	if (is_duplicate(index, label))
		return;
	for (; label[len] != '\0' && len + 1 < sizeof(lower); len++)
		lower[len] = (char)tolower((unsigned char)label[len]);
	lower[len] = '\0';
	json_write_member_string(json, lower, languages[index].name);
}

void fusion_write_labels(struct json_writer *json)
{
	for (size_t i = 0; i < ARRAY_LEN(languages); i++) {
		const char *name = languages[i].name;
		const struct program_language *row =
			languages[i].row != NULL ? program_language_find(languages[i].row) : NULL;

		write_label(json, i, name);
		if (row != NULL && strcasecmp(row->name, name) != 0)
			write_label(json, i, row->name);
		for (const char *const *at = row != NULL ? row->aliases : NULL;
		     at != NULL && *at != NULL; at++)
			if (strcasecmp(*at, name) != 0 && strcasecmp(*at, row->name) != 0)
				write_label(json, i, *at);
	}
}

/* ---- a program ------------------------------------------------------------------------------ */

void fusion_code_init(struct fusion_code *code, const struct fusion_language *language)
{
	code->language = language;
	code->memory_bytes = 0;
	program_code_init(&code->code,
			  language->row != NULL ? program_language_find(language->row) : NULL);
	code->code.run = language->run;
}

int fusion_code_open(struct fusion_code *code, struct request *request)
{
	const uint64_t memory = code->memory_bytes;

	return program_open(
		&code->code.program, request,
		&(struct program_order){ .output_bytes = FUSION_OUTPUT_MAX,
					 .memory_bytes = memory != 0 && memory < MEMORY_LEAST
								 ? MEMORY_LEAST
								 : memory });
}

/* ---- a request ------------------------------------------------------------------------------ */

static int read_request(struct request *request, const struct json_value *body,
			struct fusion_code *ret)
{
	if (json_read_text(json_read_member(body, "code"), NULL) == NULL)
		return fusion_refuse_field(request, "code", "Input should be a valid string");
	if (fusion_read_seconds(request, body, "compile_timeout", &ret->code.compile_ms) < 0 ||
	    fusion_read_seconds(request, body, "run_timeout", &ret->code.run_ms) < 0 ||
	    fusion_read_memory(request, body, &ret->memory_bytes) < 0)
		return -1;
	return 0;
}

static int run_whole(struct fusion_code *fusion, const struct json_value *body)
{
	struct program_code *code = &fusion->code;
	size_t len, input_len;
	const char *text = json_read_text(json_read_member(body, "code"), &len);
	const char *input = json_read_text(json_read_member(body, "stdin"), &input_len);
	cleanup_buf struct buf with_tag = BUF_INIT(FUSION_BODY_MAX);
	struct err err;

	/* PHP prints text outside of tags: add an opening tag. */
	if (strcmp(fusion->language->name, "php") == 0 && strstr(text, "<?php") == NULL) {
		if (buf_adds(&with_tag, "<?php\n", &err) < 0 ||
		    buf_add(&with_tag, text, len, &err) < 0)
			return fusion_refuse_field(code->program.request, "code", err.text);
		text = buf_text(&with_tag);
		len = with_tag.len;
	}
	if (fusion_put_files(&code->program, body) < 0 || program_code_compile(code, text, len) < 0)
		return -1;
	return program_code_may_run(code) ? program_code_run(code, "", input, input_len) : 0;
}

static void run(struct request *request, struct fusion_code *code, const struct json_value *body)
{
	cleanup_buf struct buf answer = BUF_INIT(FUSION_ANSWER_MAX);
	struct json_writer json;

	if (read_request(request, body, code) < 0)
		return;
	if (!code->code.is_missing &&
	    (fusion_code_open(code, request) < 0 || run_whole(code, body) < 0))
		return;
	json_write_init(&json, &answer);
	json_write_object_begin(&json);
	fusion_write_outcome(&json, code);
	if (code->code.is_missing) {
		json_write_key(&json, "files");
		json_write_object_begin(&json);
		json_write_object_end(&json);
	} else if (fusion_write_files(&code->code.program, body, &json) < 0) {
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
		program_code_done(&code.code);
	}
	json_read_free(body);
}
