/*
 * cmd_help.c - reckon help, reckon version.
 *
 * Runs in:  reckon.
 * Reads:    the command line.
 * Never:    needs an engine.
 */
#include <stdio.h>

#include "cli/cli.h"

static int take_word(int id, const char *value, void *arg, struct err *err)
{
	const char **word = arg;

	if (id != OPT_OPERAND || word == NULL || *word != NULL)
		return err_set(err, ERR_INVALID, "unexpected argument '%.100s'", value);
	*word = value;
	return 0;
}

static int run_help(const struct opt_command *self, int argc, char **argv)
{
	const struct opt_command *command = NULL;
	const char *word = NULL;
	struct err err;
	int rc = opt_parse(self, argc, argv, take_word, &word, &err);

	if (rc < 0)
		return cli_complain(&err);
	if (word == NULL && rc == 0) {
		opt_print_overview(stdout, cli_commands);
		return EXIT_CODE_OK;
	}
	command = rc > 0 ? self : cli_command_find(word);
	if (command == NULL)
		return cli_unknown_command(word);
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
	.operands = "[COMMAND]",
	.summary = "explain a command",
	.operand_hint = OPT_HINT_CHOICE,
	.operand_choices = "run repl doctor template output artifact bench version help",
	.run = run_help,
};

const struct opt_command cmd_version_table = {
	.name = "version",
	.operands = "",
	.summary = "print the version",
	.run = run_version,
};
