/*
 * language.c - the toy language's row of the language table.
 *
 * Runs in:  every program that names a language, in test builds.
 * Reads:    nothing.
 * Never:    needs the kernel: it is data.
 */
#include "languages/table.h"

static const char *const aliases[] = { "sums", NULL };
static const char *const suffixes[] = { "toy", NULL };

const struct language language_toy = {
	.name = "toy",
	.prose_name = "the toy language",
	.aliases = aliases,
	.suffixes = suffixes,
	.syntax = { .comment = ";", .ignores_operator_space = true },
	.zygote = "reckon-zygote-toy",
	.prompt_label = "toy",
	.result_label = "=",
	.kernelspec_name = "toy",
	.kernelspec_display_name = "Toy",
	.mime = "text/x-toy",
	.version = RECKON_VERSION,
	.pygments_lexer = "text",
	.codemirror_mode = "\"null\"",
	.tool_description =
		"Adds and subtracts integers, one sum in each line; _ is the last value.",
};
