/*
 * program_code.h - one text of a language, compiled where that is its way, and run: on top of program.h.
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
	const struct program_language *language; /* NULL: none, and is_missing */
	const char *run;			 /* in place of the language's; NULL: that */
	const char *file;			 /* what the text is called */
	uint64_t compile_ms, run_ms;
	struct program_end compiled, ran;
	bool has_compiled, has_run; /* the stage took place */
	bool is_missing;	    /* the host does not have the language */
};

void program_code_init(struct program_code *code, const struct program_language *language);
void program_code_done(struct program_code *code);
/* Puts the text where it runs from, and compiles it. */
int program_code_compile(struct program_code *code, const char *text, size_t len);
bool program_code_may_run(const struct program_code *code);
/* `arguments`: words of a shell, each after a space; "" for none. `input` NULL: nothing. */
int program_code_run(struct program_code *code, const char *arguments, const char *input,
		     size_t input_len);
