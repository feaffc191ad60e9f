/*
 * program_code.h - runs one text of a language, after compiling it if needed; uses program.h.
 *
 *   struct program_code code;
 *
 *   program_code_init(&code, program_language_find("cpp"));
 *   … program_open(&code.program, …), program_code_compile(), program_code_may_run(), program_code_run()
 *   program_code_done(&code);
 */
#pragma once

#include "dialects/program/program.h"
#include "dialects/program/program_language.h"

struct program_code {
	struct program program;
	const struct program_language *language; /* NULL: unknown, and is_missing */
	const char *run;			 /* instead of the language's `run`; NULL: that */
	const char *file;			 /* file name of the text */
	uint64_t compile_ms, run_ms;
	struct program_end compiled, ran;
	bool has_compiled, has_run; /* whether the stage ran */
	bool is_missing;	    /* this host does not have the language */
};

void program_code_init(struct program_code *code, const struct program_language *language);
void program_code_done(struct program_code *code);
/* Writes the text to its file, and compiles it. */
int program_code_compile(struct program_code *code, const char *text, size_t len);
bool program_code_may_run(const struct program_code *code);
/* `arguments`: shell words, each after a space; "" for none. `input` NULL: nothing. */
int program_code_run(struct program_code *code, const char *arguments, const char *input,
		     size_t input_len);
