/*
 * settings.c - checks a program's settings for a model.
 *
 * Runs in:  libreckon.
 * Reads:    options of a caller.
 * Never:    reads the environment.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/agent/agent.h"

#define STEPS 8u
#define STEPS_MAX 1000u
#define WALL_MS (UINT64_C(15) * 60 * 1000)
#define CONTEXT 100000u
#define ANSWER_TOKENS 8192u
#define RETRIES 4u

static int choose(const char *what, const char *value, const char *const *words, size_t count,
		  uint64_t *ret, struct err *err)
{
	for (size_t i = 0; i < count; i++)
		if (value != NULL && strcmp(words[i], value) == 0) {
			*ret = i;
			return 0;
		}
	(void)err_set(err, ERR_INVALID, "invalid %s '%.40s'", what, value != NULL ? value : "");
	return err_remedy(err, "reckon_agent.h lists the values");
}

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
	return value != 0 ? value : otherwise;
}

static int read_settings(const reckon_agent_options *options, struct agent_settings *ret,
			 struct err *err)
{
	static const char *const protocols[AGENT_PROTOCOL_COUNT_] = { "chat", "responses",
								      "messages", "gemini" };
	static const char *const callings[AGENT_CALLING_COUNT_] = { "tools", "fenced", "schema" };
	static const char *const verifies[AGENT_VERIFY_COUNT_] = { "off", "mark", "ask" };
	const char *verify = options->verify != NULL ? options->verify : verifies[AGENT_VERIFY_ASK];
	const char *calling = options->calling != NULL ? options->calling : callings[0];

	*ret = (struct agent_settings){
		.images = options->images != 0,
		.steps_max = or_default(options->max_steps, STEPS),
		.tokens_max = options->max_tokens,
		.budget_micro = options->budget_micro,
		.wall_ms = or_default(options->wall_ms, WALL_MS),
		.context_tokens = or_default(options->context_tokens, CONTEXT),
		.answer_tokens = or_default(options->answer_tokens, ANSWER_TOKENS),
		.retries = or_default(options->retries, RETRIES),
		.price_in = options->price_in,
		.price_cached = options->price_cached,
		.price_out = options->price_out,
		.persists_conversation = options->keep_conversation != 0,
	};
	if (choose("protocol", options->protocol, protocols, ARRAY_LEN(protocols), &ret->protocol,
		   err) < 0 ||
	    choose("verify", verify, verifies, ARRAY_LEN(verifies), &ret->verify, err) < 0 ||
	    choose("calling", calling, callings, ARRAY_LEN(callings), &ret->calling, err) < 0)
		return (int)err->code;
	if (ret->steps_max > STEPS_MAX)
		return err_set(err, ERR_INVALID, "max_steps is %" PRIu64 ", at most %u",
			       ret->steps_max, STEPS_MAX);
	if (options->text_bytes != 0 &&
	    (options->text_bytes < 1024 || options->text_bytes > 1048576))
		return err_set(err, ERR_INVALID, "text_bytes is %" PRIu64 ", from 1 KiB to 1 MiB",
			       options->text_bytes);
	if (ret->budget_micro > 0 && ret->price_in == 0 && ret->price_out == 0)
		return err_set(err, ERR_INVALID, "a budget needs a price");
	return 0;
}

static int check_place(const reckon_agent_options *options, struct err *err)
{
	const char *url = options->base_url;

	if (options->model == NULL || options->model[0] == '\0')
		return err_set(err, ERR_INVALID, "no model is named");
	if (url == NULL || (strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0)) {
		(void)err_set(err, ERR_INVALID, "base_url: invalid address '%.100s'",
			      url != NULL ? url : "");
		return err_remedy(err, "it begins with https:// or http://");
	}
	return 0;
}

int agent_read_settings(const reckon_agent_options *options, struct agent_settings *ret,
			struct err *err)
{
	return read_settings(options, ret, err) < 0 || check_place(options, err) < 0
		       ? (int)err->code
		       : 0;
}
