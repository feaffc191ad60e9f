/*
 * choose.c - makes address, key and settings of a query, the environment and a file.
 *
 * Runs in:  reckon, reckond and tests.
 * Reads:    the environment, a key file.
 * Never:    puts a key into a message, or reads one from a file that other users can read.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "models/models.h"

/* Defaults; those of small local models match their training. */
#define STANDARD_STEPS 8u
#define STANDARD_WALL_MS (UINT64_C(15) * 60 * 1000)
#define STANDARD_CONTEXT 100000u
#define STANDARD_ANSWER 8192u
#define STANDARD_RETRIES 4u
#define LOCAL_CONTEXT 8192u
#define LOCAL_ANSWER 512u

/* ---- keys ---- */

static const char *look(const struct models_query *query, const char *name)
{
	const char *value = NULL;

	if (name != NULL)
		value = query->env != NULL ? query->env(name) : getenv(name);
	return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Only its owner (this user or root) may read it; root may also let a group read it. */
static int check_owner(int fd, const char *path, struct err *err)
{
	const mode_t others = S_IRWXO, group = S_IRWXG;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(err, "%.200s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "%.200s is not a file", path);
	if ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & others) != 0 ||
	    ((st.st_mode & group) != 0 && (st.st_uid != 0 || (st.st_mode & S_IWGRP) != 0))) {
		err_set(err, ERR_DENIED, "%.200s: others can read this key", path);
		return err_remedy(err, "chmod 600 it");
	}
	return 0;
}

/* Reads the file's only line. */
static int read_key_file(const char *given, char **ret, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(MODELS_KEY_MAX + 2);
	const char *home = secure_getenv("HOME");
	char path[8192];
	cleanup_fd int fd = -1;
	size_t len;
	int rc = 0;

	(void)snprintf(path, sizeof(path), "%s%s", given[0] == '~' && home != NULL ? home : "",
		       given[0] == '~' ? given + 1 : given);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_sys(err, "%.200s", path);
	if (check_owner(fd, path, err) < 0)
		return (int)err->code;
	if (fd_read_all(fd, &text, err) < 0)
		return err_set(err, ERR_INVALID, "%.200s holds no key: it is too long", path);
	len = text.len;
	while (len > 0 && strchr("\r\n \t", text.data[len - 1]) != NULL)
		len--;
	if (len == 0)
		rc = err_set(err, ERR_INVALID, "%.200s holds no key: it is empty", path);
	for (size_t i = 0; i < len && rc == 0; i++)
		if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f)
			rc = err_set(err, ERR_INVALID, "%.200s holds no key: it has control "
				     "characters or lines", path);
	if (rc == 0) {
		*ret = mem_new0(len + 1, 1);
		memcpy(*ret, text.data, len);
	}
	if (text.data != NULL)
		explicit_bzero(text.data, text.cap);
	return rc;
}

static void take_key(struct models_choice *choice, const char *value, const char *from)
{
	choice->key = mem_strdup(value);
	(void)snprintf(choice->key_from, sizeof(choice->key_from), "%s", from);
}

static int find_key(struct models_choice *choice, const struct models_query *query, struct err *err)
{
	const struct models_builtin *builtin = choice->builtin;
	const struct models_entry *entry = choice->entry;
	const char *names[] = { entry != NULL ? entry->key_env : NULL,
				builtin != NULL ? builtin->key_env : NULL };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (look(query, names[i]) != NULL) {
			take_key(choice, look(query, names[i]), names[i]);
			return 0;
		}
	if (entry != NULL && entry->key != NULL) {
		take_key(choice, entry->key, "key");
	} else if (entry != NULL && entry->key_file != NULL) {
		if (read_key_file(entry->key_file, &choice->key, err) < 0)
			return err_wrap(err, "%s: key-file", choice->provider);
		(void)snprintf(choice->key_from, sizeof(choice->key_from), "key-file");
	} else {
		take_key(choice, "", "");
	}
	return 0;
}

int models_key_check(const struct models_choice *choice, struct err *err)
{
	const struct models_entry *entry = choice->entry;

	if (!choice->is_local && choice->base_url[0] == '\0') {
		err_set(err, ERR_INVALID, "there is no address of %s", choice->provider);
		return err_remedy(err, "set %s, or base-url of [provider %s] in models.ini",
				  choice->builtin->url_env, choice->provider);
	}
	if (choice->is_local || choice->key[0] != '\0')
		return 0;
	if (entry != NULL && entry->key_env != NULL) {
		err_set(err, ERR_INVALID, "there is no key for %s", choice->provider);
		return err_remedy(err, "set %s", entry->key_env);
	}
	if (!choice->is_own || choice->builtin->key_env == NULL)
		return 0;
	err_set(err, ERR_INVALID, "there is no key for %s", choice->provider);
	return err_remedy(err, "set %s, or --base-url to a server without one",
			  choice->builtin->key_env);
}

/* ---- the choice ---- */

static int find_url(struct models_choice *choice, const struct models_query *query, struct err *err)
{
	const struct models_builtin *builtin = choice->builtin;
	const char *url = query->base_url, *what = "--base-url";

	if (choice->is_local) {
		if (url == NULL)
			return 0;
		err_set(err, ERR_INVALID, "--base-url: a local model has none");
		return err_remedy(err, "openai/NAME asks a server that runs already");
	}
	if (url == NULL && builtin != NULL) {
		url = look(query, builtin->url_env);
		what = builtin->url_env;
	}
	if (url == NULL && choice->entry != NULL) {
		url = choice->entry->base_url;
		what = "base-url";
	}
	if (url == NULL && builtin != NULL) {
		url = builtin->base_url;
		choice->is_own = true;
	}
	if (url == NULL) /* models_parse() rejects such a provider */
		return err_set(err, ERR_INVALID, "%s has no base-url", choice->provider);
	if (url[0] != '\0' && models_url_check(url, what, err) < 0)
		return (int)err->code;
	(void)snprintf(choice->base_url, sizeof(choice->base_url), "%s", url);
	return 0;
}

int models_choose_provider(const struct models *models, const struct models_provider *provider,
			   const struct models_query *query, struct models_choice *ret,
			   struct err *err)
{
	char full[MODELS_NAME_MAX + MODELS_MODEL_MAX + 2];

	ret->builtin = provider->builtin;
	ret->entry = provider->entry;
	ret->standard = models_entry_find(models, MODELS_DEFAULT, "", 0);
	ret->protocol = provider->protocol;
	ret->is_local = provider->is_local;
	(void)snprintf(ret->provider, sizeof(ret->provider), "%s", provider->name);
	if (ret->model[0] == '\0' && ret->entry != NULL && ret->entry->model != NULL)
		(void)snprintf(ret->model, sizeof(ret->model), "%s", ret->entry->model);
	(void)snprintf(full, sizeof(full), "%s/%s", ret->provider, ret->model);
	ret->specific = models_entry_find(models, MODELS_MODEL, full, strlen(full));
	if (find_url(ret, query, err) < 0)
		return (int)err->code;
	return find_key(ret, query, err);
}

const char *models_alias_resolve(const struct models *models, const char *name)
{
	const char *slash = strchr(name, '/');
	const size_t len = slash != NULL ? (size_t)(slash - name) : strlen(name);

	if (models == NULL || models_entry_find(models, MODELS_PROVIDER, name, len) != NULL ||
	    models_entry_find(models, MODELS_MODEL, name, strlen(name)) != NULL)
		return name;
	for (size_t i = 0; i < models->alias_count; i++)
		if (fnmatch(models->aliases[i].pattern, name, 0) == 0)
			return models->aliases[i].model;
	return name;
}

/* The requested model: the caller's query, else the environment, else the file. */
static const char *wanted(const struct models *models, const struct models_query *query)
{
	const struct models_entry *standard = models_entry_find(models, MODELS_DEFAULT, "", 0);

	if (query->model != NULL)
		return query->model;
	if (look(query, "RECKON_MODEL") != NULL)
		return look(query, "RECKON_MODEL");
	return standard != NULL ? standard->model : NULL;
}

static bool is_good_model(const char *name)
{
	if (name[0] == '\0' || strlen(name) > MODELS_MODEL_MAX)
		return false;
	for (; *name != '\0'; name++)
		if ((unsigned char)*name < 0x20 || *name == 0x7f)
			return false;
	return true;
}

int models_choose(const struct models *models, const struct models_query *query,
		  struct models_choice *ret, struct err *err)
{
	const char *requested = wanted(models, query);
	const char *given = requested != NULL ? models_alias_resolve(models, requested) : NULL;
	const char *slash = given != NULL ? strchr(given, '/') : NULL;
	struct models_provider provider;

	*ret = (struct models_choice){ 0 };
	if (given == NULL) {
		err_set(err, ERR_INVALID, "no model is chosen");
		return err_remedy(err, "--model PROVIDER/NAME, the variable RECKON_MODEL, or "
				       "\"model\" in models.ini");
	}
	if (!models_provider_find(models, given, slash != NULL ? (size_t)(slash - given)
							       : strlen(given), &provider) ||
	    (slash != NULL && !is_good_model(slash + 1))) {
		err_set(err, ERR_INVALID, "--model: '%.100s' is not PROVIDER/NAME", given);
		return err_remedy(err, "for example openai/NAME; reckon models lists providers");
	}
	if (slash != NULL)
		(void)snprintf(ret->model, sizeof(ret->model), "%s", slash + 1);
	if (models_choose_provider(models, &provider, query, ret, err) < 0)
		return (int)err->code;
	if (ret->model[0] == '\0') {
		err_set(err, ERR_INVALID, "--model: %s has no model of its own", ret->provider);
		return err_remedy(err, "%s/NAME, or \"model\" of [provider %s] in models.ini",
				  ret->provider, ret->provider);
	}
	return models_key_check(ret, err);
}

void models_choice_done(struct models_choice *choice)
{
	if (choice->key != NULL)
		explicit_bzero(choice->key, strlen(choice->key));
	free(choice->key);
	choice->key = NULL;
}

/* ---- settings ---- */

void models_settings_init(struct agent_settings *settings)
{
	*settings = (struct agent_settings){
		.protocol = MODELS_UNSET,	.calling = MODELS_UNSET,
		.images = MODELS_UNSET,		.steps_max = MODELS_UNSET,
		.tokens_max = MODELS_UNSET,	.budget_micro = MODELS_UNSET,
		.wall_ms = MODELS_UNSET,	.context_tokens = MODELS_UNSET,
		.answer_tokens = MODELS_UNSET,	.retries = MODELS_UNSET,
		.price_in = MODELS_UNSET,	.price_cached = MODELS_UNSET,
		.price_out = MODELS_UNSET,	.limit = MODELS_UNSET,
		.echo = MODELS_UNSET,		.verify = MODELS_UNSET,
	};
}

/* Takes a number from the model's section, else its provider's, else [default], else
 * `otherwise`. */
static void fill(const struct models_choice *choice, size_t offset, uint64_t otherwise,
		 uint64_t *number)
{
	const struct models_entry *entries[] = { choice->specific, choice->entry,
						 choice->standard };

	for (size_t i = 0; i < ARRAY_LEN(entries) && *number == MODELS_UNSET; i++)
		if (entries[i] != NULL)
			memcpy(number, (const char *)entries[i] + offset, sizeof(*number));
	if (*number == MODELS_UNSET)
		*number = otherwise;
}

/* Takes all prices from one section: a mix of two would be wrong. */
static void fill_price(struct models_choice *choice, struct agent_settings *settings)
{
	const struct models_entry *entries[] = { choice->specific, choice->entry };

	for (size_t i = 0; i < ARRAY_LEN(entries) && settings->price_in == MODELS_UNSET; i++) {
		if (entries[i] == NULL)
			continue;
		settings->price_in = entries[i]->price_in;
		settings->price_out = entries[i]->price_out;
		settings->price_cached = entries[i]->price_cached;
		if (entries[i]->price_written != MODELS_UNSET)
			settings->price_written = entries[i]->price_written;
	}
	choice->has_price = settings->price_in != MODELS_UNSET;
	if (!choice->has_price)
		settings->price_in = settings->price_out = settings->price_cached = 0;
	if (settings->price_cached == MODELS_UNSET)
		settings->price_cached = settings->price_in;
}

static int fill_budget(const struct models_choice *choice, struct agent_settings *settings,
		       struct err *err)
{
	const bool has_budget = settings->budget_micro != MODELS_UNSET;

	fill(choice, offsetof(struct models_entry, budget_micro), 0, &settings->budget_micro);
	if (settings->budget_micro == 0 || choice->has_price)
		return 0;
	/* the file's budget does not apply to a local model */
	if (choice->is_local && !has_budget) {
		settings->budget_micro = 0;
		return 0;
	}
	if (has_budget)
		err_set(err, ERR_INVALID, "--budget needs --price");
	else
		err_set(err, ERR_INVALID, "models.ini has a budget, and no price of %s/%.100s",
			choice->provider, choice->model);
	return err_remedy(err, "--price IN:OUT[:CACHED], of a million tokens, or price-in and "
			       "price-out in models.ini");
}

int models_fill(struct models_choice *choice, struct agent_settings *settings, struct err *err)
{
	const enum agent_calling calling = choice->builtin != NULL ? choice->builtin->calling
								   : AGENT_CALLING_TOOLS;
	const bool is_local = choice->is_local;

#define FILL(member, otherwise) \
	fill(choice, offsetof(struct models_entry, member), otherwise, &settings->member)
	FILL(calling, calling);
	/* A server that is not the provider's own service may be anything: assume text only. */
	FILL(images, choice->is_own && choice->builtin != NULL && choice->builtin->takes_images);
	FILL(steps_max, STANDARD_STEPS);
	FILL(tokens_max, 0);
	FILL(wall_ms, STANDARD_WALL_MS);
	FILL(context_tokens, is_local ? LOCAL_CONTEXT : STANDARD_CONTEXT);
	FILL(answer_tokens, is_local ? LOCAL_ANSWER : STANDARD_ANSWER);
	FILL(retries, STANDARD_RETRIES);
	FILL(limit, choice->builtin != NULL ? choice->builtin->limit : AGENT_LIMIT_AUTO);
	FILL(echo, choice->builtin != NULL ? choice->builtin->echo : AGENT_ECHO_AUTO);
	FILL(verify, AGENT_VERIFY_ASK);
#undef FILL
	settings->protocol = choice->protocol;
	fill_price(choice, settings);
	return fill_budget(choice, settings, err);
}
