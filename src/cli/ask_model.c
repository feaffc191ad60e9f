/*
 * ask_model.c - which model, where it is, and the key to it.
 *
 * Runs in:  reckon ask.
 * Reads:    options and the environment.
 * Never:    shows a key, or gives it to anything but reckon-agent.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/ask.h"

#define LOCAL_CONTEXT 8192u /* what small models were trained with */
#define LOCAL_ANSWER_TOKENS 512u

static const struct known {
	const char *name;
	const char *base_url; /* NULL: there is no other than the one given */
	const char *url_env, *key_env;
	enum agent_protocol protocol;
	enum agent_calling calling;
} providers[] = {
	{ "openai", "https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY",
	  AGENT_PROTOCOL_CHAT, AGENT_CALLING_TOOLS },
	{ "openai-responses", "https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY",
	  AGENT_PROTOCOL_RESPONSES, AGENT_CALLING_TOOLS },
	{ "anthropic", "https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY",
	  AGENT_PROTOCOL_MESSAGES, AGENT_CALLING_TOOLS },
	{ "gemini", "https://generativelanguage.googleapis.com", "GEMINI_BASE_URL",
	  "GEMINI_API_KEY", AGENT_PROTOCOL_GEMINI, AGENT_CALLING_TOOLS },
	/* The same server by three protocols; its address is known when it runs. */
	{ "local", NULL, NULL, NULL, AGENT_PROTOCOL_CHAT, AGENT_CALLING_FENCED },
	{ "local-responses", NULL, NULL, NULL, AGENT_PROTOCOL_RESPONSES, AGENT_CALLING_FENCED },
	{ "local-messages", NULL, NULL, NULL, AGENT_PROTOCOL_MESSAGES, AGENT_CALLING_FENCED },
};

static const char *env(const char *name)
{
	const char *value = name != NULL ? getenv(name) : NULL;

	return value != NULL && value[0] != '\0' ? value : NULL;
}

static const struct known *find_provider(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(providers); i++)
		if (strlen(providers[i].name) == len && strncmp(providers[i].name, name, len) == 0)
			return &providers[i];
	return NULL;
}

/* NULL, and *err set, when it is none. */
static const struct known *which(const struct ask *ask, const char **ret_model, struct err *err)
{
	const char *given = ask->model_option != NULL ? ask->model_option : env("RECKON_MODEL");
	const char *slash = given != NULL ? strchr(given, '/') : NULL;
	const struct known *found;

	if (given == NULL) {
		err_set(err, ERR_INVALID, "no model is chosen");
		err_remedy(err, "--model PROVIDER/NAME or the variable RECKON_MODEL");
		return NULL;
	}
	found = slash != NULL ? find_provider(given, (size_t)(slash - given)) : NULL;
	if (found == NULL || slash[1] == '\0') {
		err_set(err, ERR_INVALID, "--model: '%.100s' is not PROVIDER/NAME", given);
		err_remedy(err, "for example openai/NAME; providers: see reckon ask --help");
		return NULL;
	}
	*ret_model = slash + 1;
	return found;
}

static int check_url(const char *url, struct err *err)
{
	if ((strncmp(url, "https://", 8) == 0 && url[8] != '\0') ||
	    (strncmp(url, "http://", 7) == 0 && url[7] != '\0')) {
		for (const char *at = url; *at != '\0'; at++)
			if ((unsigned char)*at <= 0x20 || *at == 0x7f)
				return err_set(err, ERR_INVALID, "--base-url: it holds a space or "
					       "control character");
		return 0;
	}
	err_set(err, ERR_INVALID, "--base-url: '%.100s' is no address", url);
	return err_remedy(err, "it begins with https:// or http://");
}

int ask_model_find(struct ask *ask, struct err *err)
{
	const char *model = NULL, *url, *key;
	const struct known *provider = which(ask, &model, err);

	if (provider == NULL)
		return (int)err->code;
	ask->is_local = provider->base_url == NULL;
	url = ask->base_url_option != NULL ? ask->base_url_option : env(provider->url_env);
	key = env(provider->key_env);
	if (url == NULL && key == NULL && provider->key_env != NULL) {
		err_set(err, ERR_INVALID, "there is no key for %s", provider->name);
		return err_remedy(err, "set %s, or --base-url to a server without one",
				  provider->key_env);
	}
	/* What is not the provider's own service may be anything: text it can take. */
	if (ask->vision == ASK_AUTO)
		ask->settings.images = url == NULL && !ask->is_local;
	else
		ask->settings.images = ask->vision == ASK_YES;
	ask->has_own_url = url != NULL;
	if (url == NULL)
		url = provider->base_url;
	if (ask->is_local && ask->base_url_option != NULL) {
		err_set(err, ERR_INVALID, "--base-url: a local model has none");
		return err_remedy(err, "openai/NAME asks a server that runs already");
	}
	if (!ask->is_local && check_url(url, err) < 0)
		return (int)err->code;
	if (ask->is_local && ask->settings.context_tokens == ASK_CONTEXT)
		ask->settings.context_tokens = LOCAL_CONTEXT;
	if (ask->is_local && ask->settings.answer_tokens == ASK_ANSWER_TOKENS)
		ask->settings.answer_tokens = LOCAL_ANSWER_TOKENS;
	if (ask->calling_given == ASK_AUTO)
		ask->settings.calling = provider->calling;
	ask->settings.protocol = provider->protocol;
	ask->provider = provider->name;
	ask->model = mem_strdup(model);
	ask->base_url = mem_strdup(url != NULL ? url : "");
	ask->key = mem_strdup(key != NULL ? key : "");
	return 0;
}

bool ask_has_price(const struct ask *ask)
{
	return ask->settings.price_in > 0 || ask->settings.price_out > 0;
}
