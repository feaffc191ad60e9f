/*
 * language.c - bash's row of the language table.
 *
 * Runs in:  every program that names a language.
 * Reads:    nothing.
 * Never:    needs bash: it is data.
 */
#include "languages/table.h"

static const char *const aliases[] = { "sh", "shell", NULL };
static const char *const suffixes[] = { "sh", "bash", NULL };

const struct language language_bash = {
	.name = "bash",
	.prose_name = "bash",
	.aliases = aliases,
	.suffixes = suffixes,
	.syntax = { .comment = "#" },
	.features = LANGUAGE_CALLS_TOOLS | LANGUAGE_LISTS_VARIABLES | LANGUAGE_COMPLETES |
		    LANGUAGE_JUDGES_CELLS,
	.arguments = { "BASH_ARGV0=", "; set --", " ", "", true },
	.script = { .failed = "eval ", .close = "" },
	.exit_error = "ExitStatus",
	.zygote = "reckon-zygote-bash",
	.prompt_label = "bash",
	.kernelspec_name = "bash",
	.kernelspec_display_name = "Bash",
	.mime = "text/x-sh",
	.version = RECKON_BASH_VERSION,
	.pygments_lexer = "bash",
	.codemirror_mode = "\"shell\"",
	.tool_description = "Runs a script in a persistent bash session and returns its output.",
	.tool_words = "each by a command: `reckon-tool NAME '{\"argument\": ...}'` prints its "
		      "value as JSON, "
		      "and exits with 1 where it fails",
};
