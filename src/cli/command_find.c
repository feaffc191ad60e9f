/*
 * command_find.c - finds a command by its name.
 *
 * Runs in:  reckon, reckon-client.
 * Reads:    a word of the command line.
 * Never:    depends on a command: its caller sets the list.
 */
#include <string.h>

#include "cli/cli.h"

const struct opt_command *const *cli_command_list;

static const char *command_name_next(size_t index, const void *arg)
{
	(void)arg;
	return cli_command_list[index] != NULL ? cli_command_list[index]->name : NULL;
}

const struct opt_command *cli_command_find(const char *name)
{
	for (size_t i = 0; cli_command_list[i] != NULL; i++)
		if (strcmp(cli_command_list[i]->name, name) == 0)
			return cli_command_list[i];
	return NULL;
}

int cli_unknown_command(const char *word)
{
	const char *near = opt_nearest(word, command_name_next, NULL);
	struct err err;

	err_set(&err, ERR_INVALID, "%.100s: no such command", word);
	if (near != NULL)
		err_remedy(&err, "did you mean reckon %s?", near);
	else
		err_remedy(&err, "see reckon --help");
	return cli_complain(&err);
}

int cli_run_sub(const struct opt_command *self, int argc, char **argv)
{
	bool help = false;
	struct err err;
	const struct opt_command *sub = opt_sub(self, argc, argv, &help, &err);

	if (sub != NULL)
		return sub->run(sub, argc - 1, argv + 1);
	if (!help)
		return cli_complain(&err);
	opt_print_help(stdout, self);
	return EXIT_CODE_OK;
}
