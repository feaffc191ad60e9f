/*
 * languages.c - finds a language by its name, alias or file suffix.
 *
 * Runs in:  every program that names a language.
 * Reads:    names that a person, a model or a client wrote.
 * Never:    decides what a language may do: callers read its row.
 */
#include "languages/languages.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "languages/table.h"

const struct language *language_at(size_t index)
{
	return index < LANGUAGES_MAX ? language_table[index] : NULL;
}

const struct language *language_default(void)
{
	return language_table[0];
}

size_t language_index(const struct language *language)
{
	size_t i = 0;

	while (language_table[i] != NULL && language_table[i] != language)
		i++;
	return i;
}

const struct language *language_find(const char *name)
{
	const struct language *const *at = language_table;

	while (*at != NULL && strcmp((*at)->name, name) != 0)
		at++;
	return *at;
}

const struct language *language_shell(void)
{
	const struct language *const *at = language_table;

	while (*at != NULL && !(*at)->arguments.is_shell)
		at++;
	return *at;
}

const struct language *language_find_or_default(const char *name)
{
	return name != NULL ? language_find(name) : language_default();
}

static bool is_word(const char *word, const char *text, size_t len)
{
	return strlen(word) == len && strncasecmp(word, text, len) == 0;
}

static bool has_word(const char *const *words, const char *text, size_t len)
{
	while (*words != NULL && !is_word(*words, text, len))
		words++;
	return *words != NULL;
}

const struct language *language_find_label(const char *label, size_t len)
{
	const struct language *const *at = language_table;

	while (*at != NULL && !is_word((*at)->name, label, len) &&
	       !has_word((*at)->aliases, label, len))
		at++;
	return *at;
}

const struct language *language_find_path(const char *path)
{
	const struct language *const *at = language_table;
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	/* ".sh" is a hidden file without a suffix. */
	if (dot == NULL || dot == name)
		return NULL;
	while (*at != NULL && !has_word((*at)->suffixes, dot + 1, strlen(dot + 1)))
		at++;
	return *at;
}

int language_unknown(const char *name, struct err *err)
{
	char known[256] = "";
	size_t used = 0;

	for (size_t i = 0; language_table[i] != NULL && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
					 i > 0 ? ", " : "", language_table[i]->name);
	(void)err_set(err, ERR_INVALID, "unknown language \"%.40s\"", name);
	return err_remedy(err, "use one of: %s", known);
}
