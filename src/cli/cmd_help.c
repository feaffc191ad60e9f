/*
 * cmd_help.c - reckon help, reckon version.
 *
 * Runs in:  reckon.
 * Reads:    the command line.
 * Never:    needs an engine.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/cli.h"

static int take_word(int id, const char *value, void *arg, struct err *err)
{
	char **words = arg; /* names of a command and of its subcommand */

	if (id != OPT_OPERAND || words == NULL || words[1] != NULL)
		return err_set(err, ERR_INVALID, "unexpected argument '%.100s'", value);
	words[words[0] != NULL] = (char *)(uintptr_t)value;
	return 0;
}

static int run_help(const struct opt_command *self, int argc, char **argv)
{
	const struct opt_command *command = NULL;
	char *words[3] = { NULL };
	bool help;
	struct err err;
	int rc = opt_parse(self, argc, argv, take_word, words, &err);

	if (rc < 0)
		return cli_complain(&err);
	if (words[0] == NULL && rc == 0) {
		opt_print_overview(stdout, cli_command_list);
		return EXIT_CODE_OK;
	}
	command = rc > 0 ? self : cli_command_find(words[0]);
	if (command == NULL)
		return cli_unknown_command(words[0]);
	if (words[1] != NULL && command->subs == NULL) {
		err_set(&err, ERR_INVALID, "help: unexpected argument '%.100s'", words[1]);
		return cli_complain(&err);
	}
	if (words[1] != NULL && (command = opt_sub(command, 2, words, &help, &err)) == NULL)
		return cli_complain(&err);
	opt_print_help(stdout, command);
	return EXIT_CODE_OK;
}

static int run_version(const struct opt_command *self, int argc, char **argv)
{
	struct err err;
	int rc = opt_parse(self, argc, argv, take_word, NULL, &err);

	if (rc < 0)
		return cli_complain(&err);
	if (rc > 0)
		opt_print_help(stdout, self);
	else
		(void)printf("reckon %s\n", RECKON_VERSION);
	return EXIT_CODE_OK;
}

const struct opt_command cmd_help_table = {
	.name = "help",
	.is_minor = true,
	.operands = "[COMMAND]...",
	.summary = "explain a command",
	.operand_hint = OPT_HINT_CHOICE,
	.operand_choices = "run repl doctor template output artifact bench version help",
	.run = run_help,
};

const struct opt_command cmd_version_table = {
	.name = "version",
	.is_minor = true,
	.operands = "",
	.summary = "print the version",
	.run = run_version,
};
