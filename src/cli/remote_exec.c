/*
 * remote_exec.c - hands a command line to reckon-client.
 *
 * Runs in:  reckon.
 * Reads:    the command line, for help and for --key.
 * Never:    loads what talks to the network; passes a key on in the arguments of a process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/remote.h"

static int set_key(const char *key)
{
	static const char warning[] = "reckon: --key can be seen in the list of processes; "
				      "RECKON_API_KEY cannot\n";

	(void)fputs(warning, stderr);
	return setenv("RECKON_API_KEY", key, 1);
}

/* Everybody can read the arguments of a process: a key goes on in the environment. */
static int strip_key(int argc, char **argv, char **ret)
{
	int count = 0;

	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			while (i < argc)
				ret[count++] = argv[i++];
			break;
		}
		if (strncmp(argv[i], "--key=", 6) == 0) {
			if (set_key(argv[i] + 6) < 0)
				return -1;
		} else if (strcmp(argv[i], "--key") == 0 && i + 1 < argc) {
			if (set_key(argv[++i]) < 0)
				return -1;
		} else {
			ret[count++] = argv[i];
		}
	}
	ret[count] = NULL;
	return count;
}

int remote_exec(const struct opt_command *self, int argc, char **argv)
{
	char **passed = mem_new0((size_t)argc + 1, sizeof(*passed));
	bool help = false;
	struct err err;
	int status;

	if (self->subs != NULL && opt_sub(self, argc, argv, &help, &err) == NULL) {
		free(passed);
		if (!help)
			return cli_complain(&err);
		opt_print_help(stdout, self);
		return EXIT_CODE_OK;
	}
	if (strip_key(argc, argv, passed) < 0) {
		err_sys(&err, "setenv");
		status = cli_complain(&err);
	} else {
		status = cli_exec_libexec("reckon-client", passed);
	}
	free(passed);
	return status;
}
