/*
 * program_code.c - the stages of a program that consists of one text.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    nothing but the results of stages.
 * Never:    runs a program that did not compile.
 */
#include "dialects/program/program_code.h"

#include <string.h>

#include "base/cleanup.h"

#define STAGE_MS 10000u
#define COMMAND_MAX 60000u
#define NOT_FOUND 127 /* a shell's exit status */
#define LOOK_MS 5000u

void program_code_init(struct program_code *code, const struct program_language *language)
{
	*code = (struct program_code){
		.program = PROGRAM_INIT,
		.language = language,
		.file = language != NULL ? language->file : NULL,
		.compile_ms = STAGE_MS,
		.run_ms = STAGE_MS,
		.compiled = PROGRAM_END_INIT,
		.ran = PROGRAM_END_INIT,
		.is_missing = language == NULL,
	};
}

void program_code_done(struct program_code *code)
{
	program_done(&code->program);
	program_end_done(&code->compiled);
	program_end_done(&code->ran);
}

/* The shell's "not found" status may come from the program itself: check whether the language
 * exists. */
static int look_for(struct program_code *code, const char *command)
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
	code->is_missing = end.how != PROGRAM_EXITED || end.code != 0;
	return 0;
}

static int run_stage(struct program_code *code, const char *command, const char *arguments,
		     const struct program_stage *stage, struct program_end *ret)
{
	cleanup_buf struct buf text = BUF_INIT(COMMAND_MAX);
	struct program_stage whole = *stage;
	struct err err;

	if (program_language_command(command, code->file, &text, &err) < 0 ||
	    buf_adds(&text, arguments, &err) < 0) {
		answer_refuse_simple(code->program.request, 400, "invalid", "a command is too long",
				     NULL);
		return -1;
	}
	whole.command = buf_text(&text);
	if (program_run(&code->program, &whole, ret) < 0)
		return -1;
	if (ret->how == PROGRAM_EXITED && ret->code == NOT_FOUND)
		return look_for(code, command);
	return 0;
}

int program_code_compile(struct program_code *code, const char *text, size_t len)
{
	if (program_put(&code->program, code->file, text, len) < 0)
		return -1;
	if (code->language->compile == NULL)
		return 0;
	code->has_compiled = true;
	return run_stage(code, code->language->compile, "",
			 &(struct program_stage){ .timeout_ms = code->compile_ms },
			 &code->compiled);
}

bool program_code_may_run(const struct program_code *code)
{
	return !code->is_missing && (!code->has_compiled || (code->compiled.how == PROGRAM_EXITED &&
							     code->compiled.code == 0));
}

int program_code_run(struct program_code *code, const char *arguments, const char *input,
		     size_t input_len)
{
	code->has_run = true;
	return run_stage(code, code->run != NULL ? code->run : code->language->run, arguments,
			 &(struct program_stage){ .input = input,
						  .input_len = input_len,
						  .timeout_ms = code->run_ms },
			 &code->ran);
}
