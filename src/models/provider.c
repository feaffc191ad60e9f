/*
 * provider.c - finds providers and entries by name.
 *
 * Runs in:  reckon, reckond and tests.
 * Reads:    the built-in providers and those of a file.
 * Never:    changes any of it.
 */
#include <string.h>

#include "models/models.h"

const struct models_entry *models_entry_find(const struct models *models,
					     enum models_section section, const char *name,
					     size_t name_len)
{
	for (size_t i = 0; models != NULL && i < models->count; i++) {
		const struct models_entry *entry = models->entries[i];

		if (entry->section == section && strlen(entry->name) == name_len &&
		    memcmp(entry->name, name, name_len) == 0)
			return entry;
	}
	return NULL;
}

const char *models_protocol_name(enum agent_protocol protocol)
{
	static const char *const names[AGENT_PROTOCOL_COUNT_] = {
		[AGENT_PROTOCOL_CHAT] = "chat",
		[AGENT_PROTOCOL_RESPONSES] = "responses",
		[AGENT_PROTOCOL_MESSAGES] = "messages",
		[AGENT_PROTOCOL_GEMINI] = "gemini",
	};

	return (unsigned)protocol < AGENT_PROTOCOL_COUNT_ ? names[protocol] : "";
}

bool models_provider_find(const struct models *models, const char *name, size_t len,
			  struct models_provider *ret)
{
	const struct models_builtin *builtin = models_builtin_find(name, len);
	const struct models_entry *entry = models_entry_find(models, MODELS_PROVIDER, name, len);

	if (builtin == NULL && entry == NULL)
		return false;
	*ret = (struct models_provider){
		.name = builtin != NULL ? builtin->name : entry->name,
		.builtin = builtin,
		.entry = entry,
		.protocol = builtin != NULL ? builtin->protocol
					    : (enum agent_protocol)entry->protocol,
		.is_local = builtin != NULL && builtin->base_url == NULL,
	};
	return true;
}

bool models_provider_at(const struct models *models, size_t index, struct models_provider *ret)
{
	const struct models_builtin *builtin = models_builtin_at(index);

	if (builtin != NULL)
		return models_provider_find(models, builtin->name, strlen(builtin->name), ret);
	index -= models_builtin_count();
	for (size_t i = 0; models != NULL && i < models->count; i++) {
		const struct models_entry *entry = models->entries[i];
		const size_t len = strlen(entry->name);

		if (entry->section != MODELS_PROVIDER ||
		    models_builtin_find(entry->name, len) != NULL)
			continue;
		if (index-- == 0)
			return models_provider_find(models, entry->name, len, ret);
	}
	return false;
}
