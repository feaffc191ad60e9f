/*
 * remove.c - shared code of commands that remove things by name.
 *
 * Runs in:  reckon-client.
 * Reads:    the command line.
 * Never:    removes anything before all names are parsed.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"

int remote_need(const struct opt_command *self, const char *name, struct err *err)
{
	const int len = (int)strcspn(self->name, " ");
	char noun[32] = { 0 };

	if (name != NULL && name[0] != '\0')
		return 0;
	for (int i = 0; i < len && i + 1 < (int)sizeof(noun); i++)
		noun[i] = (char)toupper((unsigned char)self->name[i]);
	(void)err_set(err, ERR_INVALID, "missing argument %s", noun);
	return err_remedy(err, "reckon %.*s ls shows what there is", len, self->name);
}

struct removal {
	struct remote remote;
	int (*check)(const char *name, struct err *err);
	const char **names;
	size_t count;
};

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct removal *removal = arg;

	if (id != OPT_OPERAND)
		return remote_take(&removal->remote, id, value) ? 0 : remote_unexpected(value, err);
	removal->names[removal->count++] = value;
	return removal->check != NULL ? removal->check(value, err) : 0;
}

/* Tries all names; the exit status is that of the first failure. */
static int remove_all(const struct opt_command *self, const struct removal *removal,
		      int (*rm)(struct client *client, const char *name, struct err *err))
{
	struct client *client;
	struct err err;
	int status = EXIT_CODE_OK;

	if (remote_open(&removal->remote, &client, &err) < 0)
		return cli_complain_of(self, &err);
	for (size_t i = 0; i < removal->count; i++)
		if (remote_need(self, removal->names[i], &err) < 0 ||
		    rm(client, removal->names[i], &err) < 0) {
			const int worse = cli_complain_of(self, &err);

			status = status == EXIT_CODE_OK ? worse : status;
		}
	client_close(client);
	return status;
}

int remote_remove(const struct opt_command *self, int argc, char **argv,
		  int (*check)(const char *name, struct err *err),
		  int (*rm)(struct client *client, const char *name, struct err *err))
{
	struct removal removal = { .remote = { .where = { .no_start = true } }, .check = check };
	struct err err;
	int status;

	removal.names = mem_new0((size_t)argc + 1, sizeof(*removal.names));
	status = remote_parse(self, argc, argv, take, &removal);
	if (status < 0 && removal.count == 0) {
		(void)remote_need(self, NULL, &err);
		status = cli_complain_of(self, &err);
	} else if (status < 0) {
		status = remove_all(self, &removal, rm);
	}
	free(removal.names);
	return status;
}
