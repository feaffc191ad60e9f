/*
 * test_agent_client_outcome.c - an outcome lists files up to a limit and counts the rest.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    asks a model.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "agent_client/outcome.h"
#include "base/cleanup.h"

static void add(struct outcome *outcome, size_t number, const char *change)
{
	char path[32];
	const struct outcome_file file = { .path = path, .size = 1 };

	(void)snprintf(path, sizeof(path), "f%zu", number);
	outcome_add_file(outcome, change, &file);
}

static void write_all(const struct outcome *outcome, struct buf *ret)
{
	const struct agent_usage usage = { 0 };
	const struct outcome_frame frame = { .model = "m", .question = "", .stop = "answer",
					     .usage = &usage };
	struct err err;

	buf_clear(ret);
	assert_ok(&err, outcome_write(outcome, &frame, ret, &err));
}

UNIT_TEST(files_beyond_the_limit_are_counted)
{
	cleanup_buf struct buf json = BUF_INIT((size_t)4 << 20);
	struct outcome outcome;

	outcome_init(&outcome, 0);
	for (size_t i = 0; i < OUTCOME_FILES_MAX; i++)
		add(&outcome, i, "created");
	write_all(&outcome, &json);
	assert_non_null(strstr(buf_text(&json), "\"f4095\""));
	assert_null(strstr(buf_text(&json), "files_left_out"));
	add(&outcome, 0, "modified"); /* is listed already */
	assert_int_equal(outcome.files_left_out, 0);
	add(&outcome, OUTCOME_FILES_MAX, "created");
	add(&outcome, OUTCOME_FILES_MAX + 1, "created");
	add(&outcome, OUTCOME_FILES_MAX + 1, "deleted");
	write_all(&outcome, &json);
	assert_null(strstr(buf_text(&json), "\"f4096\""));
	assert_non_null(strstr(buf_text(&json), "\"files_left_out\":2"));
	outcome_done(&outcome);
}
