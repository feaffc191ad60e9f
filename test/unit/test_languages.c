/* The language table: every row is complete, and every name maps to one language. */
#include "unit.h"

#include <string.h>

#include "base/cleanup.h"
#include "languages/languages.h"

static const struct language *labelled(const char *label)
{
	return language_find_label(label, strlen(label));
}

UNIT_TEST(every_row_is_complete)
{
	const unsigned known = LANGUAGE_LISTS_VARIABLES | LANGUAGE_COMPLETES | LANGUAGE_INSPECTS |
			       LANGUAGE_JUDGES_CELLS | LANGUAGE_REQUESTS_INPUT |
			       LANGUAGE_HAS_MAGICS | LANGUAGE_PRELOADS | LANGUAGE_CALLS_TOOLS;
	const struct language *at;
	size_t count = 0;

	for (; (at = language_at(count)) != NULL; count++) {
		const char *texts[] = { at->name, at->prose_name, at->zygote, at->prompt_label,
					at->syntax.comment, at->kernelspec_name,
					at->kernelspec_display_name, at->mime,
					at->tool_description, at->suffixes[0] };

		for (size_t i = 0; i < ARRAY_LEN(texts); i++)
			if (texts[i] == NULL || texts[i][0] == '\0')
				fail_msg("language %zu lacks text %zu", count, i);
		/* OpenAI's and Anthropic's APIs accept no other characters in a tool's name. */
		assert_int_equal(strspn(at->name, "abcdefghijklmnopqrstuvwxyz0123456789_"),
				 strlen(at->name));
		assert_int_equal(at->features & ~known, 0);
		assert_int_equal(language_index(at), count);
	}
	assert_true(count > 0);
	assert_null(language_at(LANGUAGES_MAX));
}

UNIT_TEST(every_name_alias_and_suffix_maps_to_its_language)
{
	const struct language *at;
	char path[64];

	for (size_t i = 0; (at = language_at(i)) != NULL; i++) {
		assert_ptr_equal(language_find(at->name), at);
		assert_ptr_equal(language_find_or_default(at->name), at);
		assert_ptr_equal(labelled(at->name), at);
		for (const char *const *word = at->aliases; *word != NULL; word++) {
			assert_ptr_equal(labelled(*word), at);
			assert_null(language_find(*word));
		}
		for (const char *const *word = at->suffixes; *word != NULL; word++) {
			(void)snprintf(path, sizeof(path), "a.b/c.%s", *word);
			assert_ptr_equal(language_find_path(path), at);
		}
	}
}

/* The names in the build's list are those of the rows, in the same order. */
UNIT_TEST(options_name_every_language)
{
	const char *words = language_words;

	for (size_t i = 0; language_at(i) != NULL; i++) {
		const char *name = language_at(i)->name;

		assert_int_equal(strncmp(words, name, strlen(name)), 0);
		words += strlen(name);
		assert_int_equal(*words, language_at(i + 1) != NULL ? ' ' : '\0');
		words += *words == ' ';
		assert_non_null(strstr(language_help, name));
	}
}

UNIT_TEST(unknown_languages_are_refused)
{
	struct err err;

	assert_null(language_find("cobol"));
	assert_null(language_find(""));
	assert_null(language_find_or_default("cobol"));
	assert_ptr_equal(language_find_or_default(NULL), language_default());
	assert_null(labelled(""));
	assert_null(language_find_label("python", 4));
	assert_ptr_equal(labelled("PYTHON"), labelled("python"));
	assert_null(language_find_path("sh"));
	assert_null(language_find_path(".sh"));
	assert_null(language_find_path("x.sh/README"));
	assert_null(language_find_path("x."));
	assert_non_null(language_find_path("/tmp/X.SH"));
	assert_int_equal(language_unknown("cobol", &err), ERR_INVALID);
	assert_non_null(strstr(err.text, "\"cobol\""));
	for (size_t i = 0; language_at(i) != NULL; i++)
		assert_non_null(strstr(err.remedy, language_at(i)->name));
}
