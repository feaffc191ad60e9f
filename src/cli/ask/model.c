/*
 * model.c - finds the model, its address and its key.
 *
 * Runs in:  reckon ask, reckon models.
 * Reads:    options, the environment, the user's models.ini.
 * Never:    prints a key, or passes it to anything but reckon-agent.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/ask/ask.h"

int ask_model_file(struct models **ret, struct err *err)
{
	struct ini_problems problems;
	char path[PATH_MAX];
	bool is_named;

	if (models_user_file(path, sizeof(path), &is_named, err) < 0 ||
	    models_load(path, is_named, ret, &problems, err) < 0)
		return (int)err->code;
	return 0;
}

/* Frees the previous model. */
static void forget(struct ask *ask)
{
	free(TAKE_PTR(ask->provider));
	free(TAKE_PTR(ask->model));
	free(TAKE_PTR(ask->base_url));
	free(TAKE_PTR(ask->headers));
	free(TAKE_PTR(ask->key)); /* the agent has the key, and our copy was overwritten */
}

int ask_model_find(struct ask *ask, struct err *err)
{
	const struct models_query query = { .model = ask->model_option,
					    .base_url = ask->base_url_option };
	cleanup_choice struct models_choice choice = { 0 };
	struct models *models = NULL;
	int rc;

	if (ask_model_file(&models, err) < 0)
		return (int)err->code;
	rc = models_choose(models, &query, &choice, err);
	if (rc == 0)
		rc = models_fill(&choice, &ask->settings, err);
	if (rc == 0) {
		ask->is_local = choice.is_local;
		ask->has_price = choice.has_price;
		ask->has_own_url = !choice.is_own;
		forget(ask);
		ask->provider = mem_strdup(choice.provider);
		ask->model = mem_strdup(choice.model);
		ask->base_url = mem_strdup(choice.base_url);
		ask->key = TAKE_PTR(choice.key);
		if (choice.entry != NULL && choice.entry->headers != NULL)
			ask->headers = mem_strdup(choice.entry->headers);
	}
	models_free(models);
	return rc;
}

bool ask_has_price(const struct ask *ask)
{
	return ask->has_price;
}
