/*
 * fuzz_models.c - models.ini.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the input as the text of a file.
 * Never:    opens anything.
 *
 * Besides memory safety: a problem names an existing line, and the settings of each provider that
 * can be chosen are within their limits.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "models/models.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *no_env(const char *name)
{
	(void)name;
	return NULL;
}

static void check(const struct models *models)
{
	const struct models_query query = { .base_url = "http://x", .env = no_env };
	struct models_provider provider;
	struct err err;

	for (size_t i = 0; models_provider_at(models, i, &provider); i++) {
		const bool reads_files = provider.entry != NULL && provider.entry->key_file != NULL;
		struct models_choice choice = { 0 };
		struct agent_settings settings;

		if ((unsigned)provider.protocol >= AGENT_PROTOCOL_COUNT_)
			abort();
		if (!reads_files &&
		    models_choose_provider(models, &provider, &query, &choice, &err) == 0) {
			models_settings_init(&settings);
			if (models_fill(&choice, &settings, &err) == 0 &&
			    (settings.calling >= AGENT_CALLING_COUNT_ || settings.images > 1 ||
			     settings.context_tokens == 0 || settings.context_tokens > 100000000 ||
			     settings.price_in == MODELS_UNSET ||
			     (settings.budget_micro > 0 && !choice.has_price)))
				abort();
		}
		models_choice_done(&choice);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ini_problems problems;
	struct models *models = NULL;
	unsigned lines = 1;
	struct err err;
	int code;

	if (size > MODELS_FILE_MAX)
		return 0;
	code = models_parse((const char *)data, size, true, &models, &problems, &err);
	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	if ((code == 0) != (problems.count == 0) || (code == 0) != (models != NULL))
		abort();
	for (unsigned i = 0; i < problems.count && i < INI_PROBLEMS_MAX; i++)
		if (problems.list[i].line > lines || problems.list[i].text[0] == '\0')
			abort();
	if (models != NULL)
		check(models);
	models_free(models);
	return 0;
}
