/*
 * model.c - the models that clients may use over HTTP: those that the daemon's models.ini names.
 *
 * Runs in:  reckond's loop.
 * Reads:    models.ini; environment variables that the file refers to.
 * Never:    uses a model that only a client or the daemon's environment names.
 *
 * A client chooses among [model PROVIDER/NAME], the "model" of a [provider NAME] and that of
 * [default], or uses a name that [aliases] maps to one of these. The limits of [default] are
 * maxima.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"

#define STEPS_MAX 1000u

/* "": no file. A configured file must exist. */
static int file_of(const struct host *host, char *ret, size_t size, bool *ret_named,
		   struct err *err)
{
	*ret_named = host->config.models_file[0] != '\0';
	if (*ret_named)
		(void)snprintf(ret, size, "%s", host->config.models_file);
	else if (host->config.is_private)
		return models_user_file(ret, size, ret_named, err);
	else
		(void)snprintf(ret, size, "%s", geteuid() == 0 ? MODELS_FILE_SYSTEM : "");
	return 0;
}

int run_models_load(struct host *host, struct err *err)
{
	struct models *fresh = NULL;
	struct ini_problems *problems = mem_new0(1, sizeof(*problems));
	char path[4096];
	bool is_named;
	int rc = file_of(host, path, sizeof(path), &is_named, err);

	if (rc == 0 && path[0] != '\0')
		rc = models_load(path, is_named, &fresh, problems, err);
	for (unsigned i = 1; i < problems->count && i < INI_PROBLEMS_MAX; i++)
		log_line(LOG_ERROR, "the file of models is wrong", "line=%u why=\"%s\"",
			 problems->list[i].line, problems->list[i].text);
	free(problems);
	if (rc < 0)
		return err_wrap(err, "models");
	models_free(host->runs.models);
	host->runs.models = fresh;
	return 0;
}

/* The file is trusted, so it may refer to variables; but no variable may choose the model. */
static const char *look_up(const char *name)
{
	return strcmp(name, "RECKON_MODEL") != 0 ? getenv(name) : NULL;
}

static bool is_of_default(const struct models_choice *choice)
{
	const char *model = choice->standard != NULL ? choice->standard->model : NULL;
	const size_t len = strlen(choice->provider);

	return model != NULL && strncmp(model, choice->provider, len) == 0 && model[len] == '/' &&
	       strcmp(model + len + 1, choice->model) == 0;
}

static bool is_named_by_file(const struct models_choice *choice)
{
	const char *of_provider = choice->entry != NULL ? choice->entry->model : NULL;

	return choice->specific != NULL || is_of_default(choice) ||
	       (of_provider != NULL && strcmp(of_provider, choice->model) == 0);
}

static int missing(struct err *err, const char *what)
{
	(void)err_set(err, ERR_NOT_FOUND, "%s", what);
	return err_remedy(err, "whoever runs the daemon names models in models.ini: docs/agent.md");
}

int run_model_choose(const struct host *host, const char *query, struct models_choice *ret,
		     struct err *err)
{
	const struct models_query req = { .model = query, .env = look_up };
	struct err inner;

	*ret = (struct models_choice){ 0 };
	if (host->runs.models == NULL || host->runs.models->count == 0)
		return missing(err, "this daemon has no model");
	if (models_choose(host->runs.models, &req, ret, &inner) < 0) {
		models_choice_done(ret);
		if (query == NULL)
			return missing(err,
				       "no model is named, and this daemon has no standard one");
		/* Does not tell a client about a missing key. */
		log_line(LOG_WARN, "a model cannot be asked", "why=\"%s\"", inner.text);
		return missing(err, "this model cannot be asked here");
	}
	if (ret->is_local || !is_named_by_file(ret)) {
		models_choice_done(ret);
		return missing(err, "this model cannot be asked here");
	}
	return 0;
}

static bool add_name(char *ret, size_t size, const char *provider, const char *model)
{
	const int len = model != NULL ? snprintf(ret, size, "%s/%s", provider, model)
				      : snprintf(ret, size, "%s", provider);

	return len > 0 && (size_t)len < size;
}

/* The name of a model that clients may use because of this entry. */
static bool name_of(const struct models_entry *entry, char *ret, size_t size)
{
	if (entry->section == MODELS_MODEL)
		return add_name(ret, size, entry->name, NULL);
	if (entry->section == MODELS_ALIASES || entry->model == NULL)
		return false;
	return entry->section == MODELS_PROVIDER ? add_name(ret, size, entry->name, entry->model)
						 : add_name(ret, size, entry->model, NULL);
}

bool run_model_at(const struct host *host, size_t index, char *ret, size_t size)
{
	const struct models *models = host->runs.models;

	for (size_t i = 0; models != NULL && i < models->count; i++)
		if (name_of(models->entries[i], ret, size) && index-- == 0)
			return true;
	for (size_t i = 0; models != NULL && i < models->alias_count; i++) {
		const char *pattern = models->aliases[i].pattern;

		if (strpbrk(pattern, "*?[\\") == NULL && index-- == 0)
			return add_name(ret, size, pattern, NULL);
	}
	return false;
}

/* Checks a requested limit against the maximum. */
static int limit(const char *name, uint64_t req, uint64_t most, uint64_t *ret, struct err *err)
{
	if (req == 0)
		return 0;
	if (most != MODELS_UNSET && most != 0 && req > most)
		return err_set(err, ERR_LIMIT, "limits.%s is more than this daemon allows", name);
	*ret = req;
	return 0;
}

int run_model_settings(struct models_choice *choice, const struct api_run_limits *limits,
			   struct agent_settings *ret, struct err *err)
{
	const struct models_entry *most = choice->standard;

	models_settings_init(ret);
	if (limit("steps", limits->steps, most != NULL ? most->steps_max : STEPS_MAX,
		  &ret->steps_max, err) < 0 ||
	    limit("tokens", limits->tokens, most != NULL ? most->tokens_max : 0,
		  &ret->tokens_max, err) < 0 ||
	    limit("budget", limits->budget_micro, most != NULL ? most->budget_micro : 0,
		  &ret->budget_micro, err) < 0 ||
	    limit("wall_s", limits->wall_ms, most != NULL ? most->wall_ms : 0, &ret->wall_ms,
		  err) < 0)
		return (int)err->code;
	if (models_fill(choice, ret, err) < 0)
		return limits->budget_micro != 0
			       ? err_set(err, ERR_INVALID, "limits.budget: the price of this model "
							   "is not known here")
			       : (int)err->code;
	if (ret->steps_max > STEPS_MAX)
		return err_set(err, ERR_LIMIT, "limits.steps is at most %u", STEPS_MAX);
	return 0;
}
