/*
 * exec.c - executes reckon-client with the same command line.
 *
 * Runs in:  reckon.
 * Reads:    the command line, for help and for --key.
 * Never:    loads network code; passes a key in the arguments of a process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"

/*
 * All users can read a process's arguments, so the key is passed in the environment. `key` is the
 * value that the parser found, so no other argument is mistaken for it.
 */
static int strip_key(int argc, char **argv, const char *key, char **ret)
{
	static const char warning[] = "reckon: --key can be seen in the list of processes; "
				      "RECKON_API_KEY cannot\n";
	int count = 0;

	for (int i = 0; i < argc; i++) {
		const char *end = argv[i] + strlen(argv[i]);

		if (key != NULL && i + 1 < argc && argv[i + 1] == key)
			i++;
		else if (key == NULL || key <= argv[i] || key > end)
			ret[count++] = argv[i];
	}
	ret[count] = NULL;
	if (key == NULL)
		return 0;
	(void)fputs(warning, stderr);
	return setenv("RECKON_API_KEY", key, 1);
}

int remote_hand_over(int argc, char **argv, const char *key)
{
	char **passed = mem_new0((size_t)argc + 1, sizeof(*passed));
	struct err err;
	int status;

	if (strip_key(argc, argv, key, passed) < 0) {
		err_sys(&err, "setenv");
		status = cli_complain(&err);
	} else {
		status = cli_exec_libexec("reckon-client", passed);
	}
	free(passed);
	return status;
}

/* Only the key matters here; reckon-client reports errors. */
static int note_key(int id, const char *value, void *arg, struct err *err)
{
	(void)err;
	if (id == REMOTE_OPT_KEY)
		*(const char **)arg = value;
	return 0;
}

int remote_exec(const struct opt_command *self, int argc, char **argv)
{
	const struct opt_command *command = self;
	const char *key = NULL;
	bool help = false;
	struct err err;

	if (self->subs != NULL)
		command = opt_sub(self, argc, argv, &help, &err);
	if (help) {
		opt_print_help(stdout, self);
		return EXIT_CODE_OK;
	}
	if (command == NULL)
		return cli_complain(&err);
	(void)opt_parse(command, self->subs != NULL ? argc - 1 : argc,
			self->subs != NULL ? argv + 1 : argv, note_key, &key, &err);
	return remote_hand_over(argc, argv, key);
}
