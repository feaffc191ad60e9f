/*
 * command.c - reckon models: lists configured models and checks whether they work.
 *
 * Runs in:  reckon.
 * Reads:    the command line, models.ini.
 * Never:    starts a session.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/models/catalog.h"
#include "cli/cli.h"
#include "cli/run/run.h"

struct query {
	const char **providers; /* ends with NULL */
	size_t count;
	const char *file; /* the argument of --file, or NULL */
	bool json, offline, check;
};

enum { OPT_JSON = OPT_LONG, OPT_OFFLINE, OPT_CHECK, OPT_FILE };

static const struct opt_item models_items[] = {
	{ OPT_OFFLINE, "offline", NULL, "ask no server", OPT_HINT_NONE, NULL, false },
	{ OPT_CHECK, "check", NULL, "check models.ini line by line and exit", OPT_HINT_NONE, NULL,
	  false },
	{ OPT_FILE, "file", "FILE", "read this file instead of models.ini ($RECKON_MODELS)",
	  OPT_HINT_FILE, NULL, false },
	{ OPT_JSON, "json", NULL, "print one JSON object", OPT_HINT_NONE, NULL, false },
};

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct query *query = arg;

	(void)err;
	switch (id) {
	case OPT_JSON:
		query->json = true;
		return 0;
	case OPT_OFFLINE:
		query->offline = true;
		return 0;
	case OPT_CHECK:
		query->check = true;
		return 0;
	case OPT_FILE:
		query->file = value;
		return 0;
	default:
		query->providers =
			mem_grow(query->providers, query->count + 2, sizeof(*query->providers));
		query->providers[query->count++] = value;
		query->providers[query->count] = NULL;
		return 0;
	}
}

static int complain(const struct err *err)
{
	struct err line = *err;

	err_wrap(&line, "models");
	return cli_complain(&line);
}

/* Prints each invalid line in the form of a compiler's messages. */
static int refuse(const struct catalog *catalog, const struct ini_problems *problems,
		  const struct err *err)
{
	if (problems->count == 0) {
		(void)complain(err);
		return EXIT_CODE_USAGE;
	}
	for (unsigned i = 0; i < problems->count && i < INI_PROBLEMS_MAX; i++)
		run_output_line("%s:%u: %s", catalog->path, problems->list[i].line,
				problems->list[i].text);
	if (problems->count > INI_PROBLEMS_MAX)
		run_output_line("and %u more", problems->count - INI_PROBLEMS_MAX);
	return EXIT_CODE_USAGE;
}

static int tell_good(const struct catalog *catalog)
{
	size_t providers = 0, models = 0;

	for (size_t i = 0; i < catalog->models->count; i++) {
		providers += catalog->models->entries[i]->section == MODELS_PROVIDER;
		models += catalog->models->entries[i]->section == MODELS_MODEL;
	}
	if (!catalog->is_there)
		run_output_line("%s is not there, which is good too", catalog->path);
	else
		run_output_line("%s is good: %zu provider%s, %zu model%s", catalog->path, providers,
				providers == 1 ? "" : "s", models, models == 1 ? "" : "s");
	return EXIT_CODE_OK;
}

static int show(struct catalog *catalog, const struct query *query)
{
	struct err err;

	if (catalog_collect(catalog, &err) < 0) {
		(void)complain(&err);
		return EXIT_CODE_USAGE;
	}
	if (!query->offline)
		catalog_ask(catalog);
	return query->json ? catalog_show_json(catalog) : catalog_show(catalog);
}

static int run_query(const struct query *query)
{
	static const char *const all[] = { NULL };
	struct catalog catalog = { .wanted = query->count > 0 ? query->providers : all };
	struct ini_problems problems = { 0 };
	bool is_named = query->file != NULL;
	struct err err;
	int rc = 0, status;

	if (is_named)
		(void)snprintf(catalog.path, sizeof(catalog.path), "%s", query->file);
	else
		rc = models_user_file(catalog.path, sizeof(catalog.path), &is_named, &err);
	catalog.is_there = rc == 0 && access(catalog.path, F_OK) == 0;
	if (rc == 0)
		rc = models_load(catalog.path, is_named, &catalog.models, &problems, &err);
	if (rc < 0)
		status = refuse(&catalog, &problems, &err);
	else
		status = query->check ? tell_good(&catalog) : show(&catalog, query);
	catalog_done(&catalog);
	return status;
}

static int run_models(const struct opt_command *self, int argc, char **argv)
{
	struct query query = { 0 };
	struct err err;
	int status = cli_settle(self, opt_parse(self, argc, argv, take, &query, &err), &err);

	if (status < 0)
		status = run_query(&query);
	free(query.providers);
	return status;
}

const struct opt_command cmd_models_table = {
	.name = "models",
	.operands = "[PROVIDER]...",
	.summary = "list models for reckon ask, and check them",
	.notes = "\n"
		 "Lists models from ~/.config/reckon/models.ini, of OPENAI_API_KEY and similar\n"
		 "variables, and of reckon model install. Requests each server's list of models;\n"
		 "with PROVIDER prints the whole list. Never prints keys. Exit status: 0 if all\n"
		 "work, 1 if one does not, 2 usage.",
	.items = models_items,
	.count = ARRAY_LEN(models_items),
	.operand_hint = OPT_HINT_CHOICE,
	.operand_choices = "openai openai-responses anthropic gemini local",
	.run = run_models,
};
