/*
 * test_models_limits.c - models.ini at its limits: each maximum is accepted, one more is refused.
 *
 * Runs in:  the unit suite.
 * Reads:    texts of its own.
 * Never:    reads the configuration or the environment of this machine.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "models/models.h"
#include "wire/agent.h"

#define PROVIDER "protocol = messages\nbase-url = https://llm.example/v1\n"

static void add_repeated(struct buf *text, char letter, size_t count)
{
	struct err err;

	for (size_t i = 0; i < count; i++)
		assert_ok(&err, buf_add(text, &letter, 1, &err));
}

static void sections(struct buf *text, size_t count)
{
	struct err err;

	for (size_t i = 0; i < count; i++)
		assert_ok(&err, buf_addf(text, &err, "[provider p%zu]\n" PROVIDER, i));
}

static void aliases(struct buf *text, size_t count)
{
	struct err err;

	assert_ok(&err, buf_adds(text, "[provider work]\n" PROVIDER "[aliases]\n", &err));
	for (size_t i = 0; i < count; i++)
		assert_ok(&err, buf_addf(text, &err, "a%zu = work/m\n", i));
}

static void provider_name(struct buf *text, size_t count)
{
	struct err err;

	assert_ok(&err, buf_adds(text, "[provider ", &err));
	add_repeated(text, 'p', count);
	assert_ok(&err, buf_adds(text, "]\n" PROVIDER, &err));
}

static void headers(struct buf *text, size_t count)
{
	struct err err;

	assert_ok(&err, buf_adds(text, "[provider work]\n" PROVIDER "headers = ", &err));
	for (size_t i = 0; i < count; i++)
		assert_ok(&err, buf_addf(text, &err, "%sX-H%zu: v", i > 0 ? " | " : "", i));
	assert_ok(&err, buf_adds(text, "\n", &err));
}

UNIT_TEST(each_limit_is_exact)
{
	static const struct {
		const char *what;
		size_t most;
		void (*write)(struct buf *text, size_t count);
	} rows[] = {
		{ "sections", MODELS_ENTRIES_MAX, sections },
		{ "aliases", MODELS_ALIASES_MAX, aliases },
		{ "a provider's name", MODELS_NAME_MAX, provider_name },
		{ "headers", AGENT_HEADERS_MAX, headers },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t over = 0; over < 2; over++) {
			cleanup_buf struct buf text = BUF_INIT(MODELS_FILE_MAX);
			struct ini_problems problems = { 0 };
			struct models *models = NULL;
			struct err err;
			int code;

			rows[i].write(&text, rows[i].most + over);
			code = models_parse(buf_text(&text), text.len, true, &models, &problems,
					    &err);
			if ((code == 0) != (over == 0))
				fail_msg("%s: %zu give %d, %s", rows[i].what, rows[i].most + over,
					 code, problems.count > 0 ? problems.list[0].text : "");
			models_free(models);
		}
}
