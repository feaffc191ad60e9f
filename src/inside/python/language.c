/*
 * language.c - Python's row of the language table.
 *
 * Runs in:  every program that names a language.
 * Reads:    nothing.
 * Never:    needs Python: it is data.
 */
#include "languages/table.h"

/* "tool_code" is how Gemini's models label their own code. */
static const char *const aliases[] = { "py", "python3", "ipython", "tool_code", NULL };
static const char *const suffixes[] = { "py", NULL };

const struct language language_python = {
	.name = "python",
	.prose_name = "Python",
	.aliases = aliases,
	.suffixes = suffixes,
	.syntax = { .comment = "#", .ignores_operator_space = true, .has_equal_quotes = true },
	.features = LANGUAGE_CALLS_TOOLS | LANGUAGE_LISTS_VARIABLES | LANGUAGE_COMPLETES |
		    LANGUAGE_INSPECTS | LANGUAGE_JUDGES_CELLS | LANGUAGE_REQUESTS_INPUT |
		    LANGUAGE_HAS_MAGICS | LANGUAGE_PRELOADS,
	.arguments = { "__import__(\"sys\").argv = [", "", ", ", "]", false },
	.exit_error = "SystemExit",
	.zygote = "reckon-zygote-python",
	.prompt_label = "In",
	.result_label = "Out",
	.kernelspec_name = "python3",
	.kernelspec_display_name = "Python 3",
	.mime = "text/x-python",
	.tool_description = "Runs a cell in a persistent Python session and returns its output, as "
			    "in a notebook.",
	.tool_words =
		"each as a coroutine: `await NAME(argument=...)` (also `tools.NAME`), many at once "
		"with asyncio.gather; what fails raises tools.ToolError",
};
