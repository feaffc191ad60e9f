/*
 * tables.c - the options of reckon volume and reckon snapshot.
 *
 * Runs in:  reckon (help, completion), reckon-client.
 * Reads:    nothing.
 * Never:    needs libcurl.
 */
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"

static const struct opt_item where_items[] = {
	REMOTE_OPTIONS,
};

static const struct opt_item one_items[] = {
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

static const struct opt_item list_items[] = {
	{ 'q', "quiet", NULL, "print only names, one per line", OPT_HINT_NONE, NULL, false },
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

/* ---- volume ---- */

static const struct opt_command volume_create_table = {
	.name = "volume create",
	.operands = "NAME",
	.summary = "create a volume and print its name",
	.items = one_items,
	.count = ARRAY_LEN(one_items),
	.run = remote_exec,
};

static const struct opt_command volume_ls_table = {
	.name = "volume ls",
	.operands = "",
	.summary = "list volumes, oldest first",
	.items = list_items,
	.count = ARRAY_LEN(list_items),
	.run = remote_exec,
};

static const struct opt_command volume_show_table = {
	.name = "volume show",
	.operands = "VOLUME",
	.summary = "show a volume and its size",
	.items = one_items,
	.count = ARRAY_LEN(one_items),
	.operand_hint = OPT_HINT_LIVE,
	.operand_choices = OPT_LIVE_VOLUMES,
	.run = remote_exec,
};

static const struct opt_command volume_rm_table = {
	.name = "volume rm",
	.operands = "VOLUME...",
	.summary = "remove volumes and their files",
	.items = where_items,
	.count = ARRAY_LEN(where_items),
	.operand_hint = OPT_HINT_LIVE,
	.operand_choices = OPT_LIVE_VOLUMES,
	.run = remote_exec,
};

static const struct opt_command *const volume_subs[] = {
	&volume_create_table, &volume_ls_table, &volume_show_table, &volume_rm_table, NULL,
};

const struct opt_command cmd_volume_table = {
	.name = "volume",
	.is_minor = true,
	.operands = "COMMAND",
	.summary = "create, list or remove folders that outlive sessions",
	.notes = "\n"
		 "  reckon volume create models\n"
		 "  reckon files put --volume models weights.bin\n"
		 "  reckon run -s tuesday -v models -c 'open(\"/mnt/models/weights.bin\")'\n"
		 "\n"
		 "VOLUME is a name or an id. Several sessions can use a volume at the same time.\n"
		 "`reckon volume COMMAND --help` explains each; see reckon-session(1).",
	.subs = volume_subs,
	.run = remote_exec,
};

/* ---- snapshot ---- */

static const struct opt_item snapshot_create_items[] = {
	{ 'n', "name", "NAME", "name of the snapshot; need not be unique", OPT_HINT_NONE, NULL,
	  false },
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

static const struct opt_command snapshot_create_table = {
	.name = "snapshot create",
	.operands = "SESSION",
	.summary = "save the files of a session and print the id",
	.items = snapshot_create_items,
	.count = ARRAY_LEN(snapshot_create_items),
	.operand_hint = OPT_HINT_LIVE,
	.operand_choices = OPT_LIVE_SESSIONS,
	.run = remote_exec,
};

static const struct opt_item snapshot_ls_items[] = {
	{ 's', "session", "SESSION", "only snapshots of this session (name or id)", OPT_HINT_LIVE,
	  OPT_LIVE_SESSIONS, false },
	{ 'q', "quiet", NULL, "print only ids, one per line", OPT_HINT_NONE, NULL, false },
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

static const struct opt_command snapshot_ls_table = {
	.name = "snapshot ls",
	.operands = "",
	.summary = "list snapshots, newest first",
	.items = snapshot_ls_items,
	.count = ARRAY_LEN(snapshot_ls_items),
	.run = remote_exec,
};

static const struct opt_command snapshot_show_table = {
	.name = "snapshot show",
	.operands = "SNAPSHOT",
	.summary = "show what a snapshot holds",
	.items = one_items,
	.count = ARRAY_LEN(one_items),
	.operand_hint = OPT_HINT_LIVE,
	.operand_choices = OPT_LIVE_SNAPSHOTS,
	.run = remote_exec,
};

static const struct opt_command snapshot_rm_table = {
	.name = "snapshot rm",
	.operands = "SNAPSHOT...",
	.summary = "remove snapshots",
	.items = where_items,
	.count = ARRAY_LEN(where_items),
	.operand_hint = OPT_HINT_LIVE,
	.operand_choices = OPT_LIVE_SNAPSHOTS,
	.run = remote_exec,
};

static const struct opt_command *const snapshot_subs[] = {
	&snapshot_create_table, &snapshot_ls_table, &snapshot_show_table, &snapshot_rm_table, NULL,
};

const struct opt_command cmd_snapshot_table = {
	.name = "snapshot",
	.is_minor = true,
	.operands = "COMMAND",
	.summary = "save a session's files, to start others from them",
	.notes = "\n"
		 "  reckon snapshot create tuesday -n clean\n"
		 "  reckon run -s wednesday --snapshot clean -c 'open(\"sales.csv\").read()'\n"
		 "\n"
		 "SNAPSHOT is an id, or a name (the newest with that name). It has no variables.\n"
		 "`reckon snapshot COMMAND --help` explains each; see reckon-session(1).",
	.subs = snapshot_subs,
	.run = remote_exec,
};
