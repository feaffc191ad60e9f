/*
 * admin_tables.c - the options of reckon key, tenant and usage.
 *
 * Runs in:  reckon, reckon-client.
 * Reads:    nothing.
 * Never:    does anything itself.
 */
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"

#define SCOPES "admin sessions execute files read agent"

/* ---- keys ---- */

static const struct opt_item key_create_items[] = {
	{ 't', "tenant", "TENANT", "tenant of the key (that of your own key)", OPT_HINT_NONE, NULL,
	  false },
	{ 'S', "scope", "SCOPE", "may be repeated (all but admin and agent)", OPT_HINT_CHOICE,
	  SCOPES, true },
	{ 'e', "expires", "TIME", "lifetime, such as 3600, 12h, 90d (unlimited)", OPT_HINT_NONE,
	  NULL, false },
	{ 'A', "mcp-approve", NULL, "let a person approve what MCP clients with this key do",
	  OPT_HINT_NONE, NULL, false },
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

static const struct opt_command key_create_table = {
	.name = "key create",
	.operands = "[NAME]",
	.summary = "create an API key and show it once",
	.items = key_create_items,
	.count = ARRAY_LEN(key_create_items),
	.run = remote_exec,
};

static const struct opt_item key_ls_items[] = {
	{ 't', "tenant", "TENANT", "only keys of this tenant", OPT_HINT_NONE, NULL, false },
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

static const struct opt_command key_ls_table = {
	.name = "key ls",
	.operands = "",
	.summary = "list API keys",
	.items = key_ls_items,
	.count = ARRAY_LEN(key_ls_items),
	.run = remote_exec,
};

static const struct opt_item plain_items[] = {
	REMOTE_OPTIONS,
};

static const struct opt_command key_rm_table = {
	.name = "key rm",
	.operands = "KEY",
	.summary = "revoke an API key at once",
	.items = plain_items,
	.count = ARRAY_LEN(plain_items),
	.run = remote_exec,
};

static const struct opt_item key_rotate_items[] = {
	{ 'o', "overlap", "TIME", "time that the old key stays valid (24h)", OPT_HINT_NONE, NULL,
	  false },
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

static const struct opt_command key_rotate_table = {
	.name = "key rotate",
	.operands = "KEY",
	.summary = "replace a key and show the new one once",
	.items = key_rotate_items,
	.count = ARRAY_LEN(key_rotate_items),
	.run = remote_exec,
};

static const struct opt_command *const key_subs[] = {
	&key_create_table, &key_ls_table, &key_rotate_table, &key_rm_table, NULL,
};

const struct opt_command cmd_key_table = {
	.name = "key",
	.of_daemon = true,
	.operands = "COMMAND",
	.summary = "create, list, rotate or revoke API keys",
	.notes = "\n"
		 "  reckon key create ci --tenant team --scope execute --scope read --expires 90d\n"
		 "\n"
		 "KEY is an id as `reckon key ls` shows it. Needs a key with the scope admin.\n"
		 "`reckon key COMMAND --help` explains each command.",
	.subs = key_subs,
	.run = remote_exec,
};

/* ---- tenants ---- */

#define QUOTA_OPTION                                                                              \
	{ 'q', "quota", "NAME=VALUE", "as sessions=5; NAME= takes it away; may be repeated",      \
	  OPT_HINT_NONE, NULL, true }

static const struct opt_item tenant_create_items[] = {
	QUOTA_OPTION,
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

static const struct opt_command tenant_create_table = {
	.name = "tenant create",
	.operands = "NAME",
	.summary = "create a tenant",
	.items = tenant_create_items,
	.count = ARRAY_LEN(tenant_create_items),
	.run = remote_exec,
};

static const struct opt_item tenant_look_items[] = {
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

static const struct opt_command tenant_ls_table = {
	.name = "tenant ls",
	.operands = "",
	.summary = "list tenants",
	.items = tenant_look_items,
	.count = ARRAY_LEN(tenant_look_items),
	.run = remote_exec,
};

static const struct opt_command tenant_show_table = {
	.name = "tenant show",
	.operands = "TENANT",
	.summary = "show a tenant's quotas and usage",
	.items = tenant_look_items,
	.count = ARRAY_LEN(tenant_look_items),
	.run = remote_exec,
};

static const struct opt_item tenant_set_items[] = {
	QUOTA_OPTION,
	{ 'n', "name", "NAME", "rename it", OPT_HINT_NONE, NULL, false },
	{ 'x', "state", "STATE", "active, or suspended: requests are refused", OPT_HINT_CHOICE,
	  "active suspended", false },
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

static const struct opt_command tenant_set_table = {
	.name = "tenant set",
	.operands = "TENANT",
	.summary = "change a tenant",
	.items = tenant_set_items,
	.count = ARRAY_LEN(tenant_set_items),
	.run = remote_exec,
};

static const struct opt_command tenant_rm_table = {
	.name = "tenant rm",
	.operands = "TENANT",
	.summary = "remove a tenant; its history stays",
	.items = plain_items,
	.count = ARRAY_LEN(plain_items),
	.run = remote_exec,
};

static const struct opt_item forget_items[] = {
	{ 'b', "begun-by", "KEY", "only runs that the key key_… began", OPT_HINT_NONE, NULL,
	  false },
	{ 'l', "live", NULL, "keep live sessions, remove their history", OPT_HINT_NONE, NULL,
	  false },
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

static const struct opt_command tenant_forget_table = {
	.name = "tenant forget",
	.operands = "[TENANT]",
	.summary = "remove a tenant's conversations with models",
	.notes = "\n"
		 "Removes questions, answers and conversations, their sessions with history and\n"
		 "files, and what other protocols stored about them. Without TENANT: your own;\n"
		 "that needs only the scope agent.\n",
	.items = forget_items,
	.count = ARRAY_LEN(forget_items),
	.run = remote_exec,
};

static const struct opt_command *const tenant_subs[] = {
	&tenant_create_table, &tenant_ls_table, &tenant_show_table, &tenant_set_table,
	&tenant_rm_table, &tenant_forget_table, NULL,
};

const struct opt_command cmd_tenant_table = {
	.name = "tenant",
	.of_daemon = true,
	.operands = "COMMAND",
	.summary = "manage the tenants of a daemon and their quotas",
	.notes = "\n"
		 "  reckon tenant create team --quota sessions=20 --quota cpu_s_per_hour=3600\n"
		 "\n"
		 "TENANT is a name or an id. Quotas: docs/tenants.md. Needs a key with the scope\n"
		 "admin. `reckon tenant COMMAND --help` explains each command.",
	.subs = tenant_subs,
	.run = remote_exec,
};

/* ---- usage ---- */

static const struct opt_item usage_items[] = {
	{ 't', "tenant", "TENANT", "only this tenant", OPT_HINT_NONE, NULL, false },
	{ 'f', "from", "DAY", "first day, such as 2026-11-22", OPT_HINT_NONE, NULL, false },
	{ 'u', "to", "DAY", "last day", OPT_HINT_NONE, NULL, false },
	{ 'c', "csv", NULL, "comma-separated values", OPT_HINT_NONE, NULL, false },
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

const struct opt_command cmd_usage_table = {
	.name = "usage",
	.of_daemon = true,
	.operands = "",
	.summary = "show what tenants used, by day",
	.items = usage_items,
	.count = ARRAY_LEN(usage_items),
	.run = remote_exec,
};
