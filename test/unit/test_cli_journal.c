/*
 * test_cli_journal.c - journals of stored runs: their lines, and the directory of the runs.
 *
 * Runs in:  the unit suite.
 * Reads:    its own temporary directory.
 * Never:    writes to the user's directory.
 */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/ask/runs/runs.h"

#define RUN                                                                                      \
	"{\"type\":\"run\",\"at\":\"t\",\"schema\":\"reckon.run/1\",\"id\":\"i\","               \
	"\"command\":\"chat\"}"
#define USAGE                                                                                    \
	"\"usage\":{\"requests\":1,\"steps\":1,\"input_tokens\":2,\"cached_tokens\":0,"            \
	"\"output_tokens\":3,\"reasoning_tokens\":0},\"cost\":0.5"

static const struct agent_usage usage = {
	.requests = 2, .steps = 1, .in = 300, .cached = 100, .out = 20, .reasoning = 5,
	.cost_micro = 1234567,
};

static int read_text(struct journal *journal, const char *line, struct err *err)
{
	return journal_read(journal, line, strlen(line), err);
}

/* ---- lines ---- */

static void feed(struct journal *journal, struct buf *line, int written, struct err *err)
{
	assert_int_equal(written, 0);
	assert_null(memchr(line->data, '\n', line->len));
	assert_ok(err, journal_read(journal, buf_text(line), line->len, err));
	buf_clear(line);
}

UNIT_TEST(written_lines_are_read_back)
{
	static const char code[] = "print('\xf0\x9f\x98\x80')\0#", record[] =
		"{\"schema\":\"reckon.execution/1\",\"status\":\"ok\",\"text\":\"x\\u001B[1m\"}";
	static const struct agent_settings settings = { .steps_max = 8, .wall_ms = 1500 };
	const struct journal_setting setting = {
		.model = "openai/m", .language = "bash", .calling = "tools", .settings = &settings,
	};
	const struct journal_brief brief = { "refused", "no", 2, 0 };
	const struct journal_end end = {
		.text = "it is\xff", .len = 6, .stop = AGENT_STOP_STUCK, .message = "four times",
		.usage = &usage, .has_cost = true,
	};
	cleanup_buf struct buf line = BUF_INIT(JOURNAL_LINE_MAX);
	cleanup_journal struct journal journal;
	struct err err;

	journal_init(&journal);
	feed(&journal, &line, journal_write_run(&line, "261122-7k3fq", "ask", &err), &err);
	feed(&journal, &line, journal_write_setting(&line, &setting, &err), &err);
	feed(&journal, &line, journal_write_session(&line, "se_1", "tuesday", NULL, &err), &err);
	feed(&journal, &line, journal_write_file(&line, "/tmp/a\nb", "b", &err), &err);
	feed(&journal, &line, journal_write_file(&line, "/tmp/c", "b", &err), &err);
	feed(&journal, &line, journal_write_text(&line, JOURNAL_QUESTION, "q\n?", 3, &err), &err);
	feed(&journal, &line, journal_write_text(&line, JOURNAL_PROSE, "hm", 2, &err), &err);
	feed(&journal, &line, journal_write_cell(&line, 1, code, sizeof(code) - 1, &err), &err);
	feed(&journal, &line, journal_write_record(&line, 1, record, sizeof(record) - 1, &err), &err);
	feed(&journal, &line, journal_write_cell(&line, 2, "x", 1, &err), &err);
	feed(&journal, &line, journal_write_brief(&line, 2, &brief, &err), &err);
	feed(&journal, &line, journal_write_cell(&line, 3, "y", 1, &err), &err);
	feed(&journal, &line, journal_write_answer(&line, &end, &err), &err);
	assert_string_equal(journal.id, "261122-7k3fq");
	assert_string_equal(journal.language, "bash");
	assert_null(journal.base_url);
	assert_string_equal(journal.session_name, "tuesday");
	assert_int_equal(journal.file_count, 1);
	assert_string_equal(journal.files[0].path, "/tmp/c");
	assert_int_equal(journal.cell_count, 3);
	/* Code loses NUL, and bytes that are not UTF-8 are replaced for JSON. */
	assert_string_equal(journal_cell(&journal, 1)->text, "print('\xf0\x9f\x98\x80')#");
	assert_string_equal(journal_cell(&journal, 1)->record, record);
	assert_string_equal(journal_cell(&journal, 2)->status, "refused");
	assert_null(journal_cell(&journal, 3)->status);
	assert_string_equal(journal.items[journal.item_count - 1].text, "it is\xef\xbf\xbd");
	assert_int_equal(journal.questions[0].stop, AGENT_STOP_STUCK);
	assert_memory_equal(&journal.questions[0].usage, &usage, sizeof(usage));
}

UNIT_TEST(counts_of_a_captured_agent_are_limited)
{
	struct agent_usage huge;
	cleanup_buf struct buf line = BUF_INIT(JOURNAL_LINE_MAX);
	cleanup_journal struct journal journal;
	struct err err;

	memset(&huge, 0xff, sizeof(huge));
	journal_init(&journal);
	assert_ok(&err, read_text(&journal, RUN, &err));
	feed(&journal, &line, journal_write_text(&line, JOURNAL_QUESTION, "q", 1, &err), &err);
	feed(&journal, &line, journal_write_usage(&line, &huge, true, &err), &err);
	assert_int_equal(journal.questions[0].usage.in, JOURNAL_TOKENS_MAX);
}

UNIT_TEST(invalid_lines_are_refused_and_change_nothing)
{
	static const char *const first[] = {
		"", "1", "[]", "{}", "{\"type\":1}", "{\"type\":\"question\",\"text\":\"q\"}",
		"{\"type\":\"run\"}",
		"{\"type\":\"run\",\"at\":\"t\",\"schema\":\"reckon.run/2\",\"id\":\"i\",\"command\":\"c\"}",
		"{\"type\":\"run\",\"at\":\"t\",\"schema\":\"reckon.run/1\",\"id\":\"i\\n\",\"command\":\"c\"}",
		"{\"type\":\"run\",\"at\":\"t\",\"schema\":\"reckon.run/1\",\"id\":"
		"\"a-name-that-is-longer-than-any-id\",\"command\":\"c\"}",
		"{\"type\":\"run\",\"type\":\"run\"}", RUN "x",
	};
	static const char *const later[] = {
		RUN,
		"{\"type\":\"setting\",\"model\":\"m\",\"language\":\"python\",\"calling\":\"tools\"}",
		"{\"type\":\"setting\",\"model\":\"o/m\",\"language\":\"perl\",\"calling\":\"tools\"}",
		"{\"type\":\"setting\",\"model\":\"o/\\u001b[2J\",\"language\":\"bash\",\"calling\":\"t\"}",
		"{\"type\":\"session\",\"id\":7,\"name\":null,\"url\":null}",
		"{\"type\":\"file\",\"path\":\"relative\",\"name\":\"n\"}",
		"{\"type\":\"file\",\"path\":\"/p\",\"name\":\"\"}",
		"{\"type\":\"question\"}", "{\"type\":\"question\",\"text\":\"\\u0000\"}",
		"{\"type\":\"cell\",\"cell\":2,\"code\":\"x\"}",
		"{\"type\":\"cell\",\"cell\":-1,\"code\":\"x\"}",
		"{\"type\":\"record\",\"cell\":1,\"record\":{\"status\":\"ok\"}}",
		"{\"type\":\"record\",\"cell\":0,\"record\":{\"status\":\"ok\"}}",
		"{\"type\":\"usage\"," USAGE "}", "{\"type\":\"undo\"}", "{\"type\":\"resume\"}",
		"{\"type\":\"answer\",\"text\":null,\"stop\":\"answer\",\"message\":null," USAGE "}",
	};
	static const char *const after_question[] = {
		"{\"type\":\"usage\",\"usage\":{},\"cost\":null}",
		"{\"type\":\"answer\",\"text\":null,\"stop\":\"whim\",\"message\":null," USAGE "}",
		"{\"type\":\"answer\",\"text\":3,\"stop\":\"answer\",\"message\":null," USAGE "}",
		"{\"type\":\"record\",\"cell\":1,\"record\":null,\"status\":\"ok\",\"text\":\"\"}",
		"{\"type\":\"record\",\"cell\":1,\"record\":[]}",
		"{\"type\":\"record\",\"cell\":1,\"record\":{}}",
	};
	cleanup_journal struct journal journal;
	struct err err;

	journal_init(&journal);
	for (size_t i = 0; i < ARRAY_LEN(first); i++)
		assert_err(&err, ERR_PROTOCOL, read_text(&journal, first[i], &err));
	assert_ok(&err, read_text(&journal, RUN, &err));
	for (size_t i = 0; i < ARRAY_LEN(later); i++)
		assert_err(&err, ERR_PROTOCOL, read_text(&journal, later[i], &err));
	assert_int_equal(journal.item_count, 0);
	assert_ok(&err, read_text(&journal, "{\"type\":\"question\",\"text\":\"q\"}", &err));
	assert_ok(&err, read_text(&journal, "{\"type\":\"cell\",\"cell\":1,\"code\":\"x\"}", &err));
	for (size_t i = 0; i < ARRAY_LEN(after_question); i++)
		assert_err(&err, ERR_PROTOCOL, read_text(&journal, after_question[i], &err));
	assert_int_equal(journal.item_count, 2);
	assert_int_equal(journal.lines, 3);
	/* A line of an unknown type, as from a later version, is ignored. */
	assert_ok(&err, read_text(&journal, "{\"type\":\"dream\",\"of\":[\"sheep\"]}", &err));
	assert_int_equal(journal.item_count, 2);
}

#define ANSWER "{\"type\":\"answer\",\"text\":\"9\",\"stop\":\"answer\",\"message\":null,"
#define COUNTS "\"numbers\":1,\"links\":0,\"unsupported_count\":1,"

UNIT_TEST(checked_claims_are_stored_with_their_answer)
{
	static const char *const wrong[] = {
		ANSWER "\"checked\":7," USAGE "}",
		ANSWER "\"checked\":{}," USAGE "}",
		ANSWER "\"checked\":{" COUNTS "\"unsupported\":[7]}," USAGE "}",
		ANSWER "\"checked\":{" COUNTS
		       "\"unsupported\":[{\"kind\":\"whim\",\"text\":\"9\"}]}," USAGE "}",
		ANSWER "\"checked\":{" COUNTS "\"unsupported\":[{\"kind\":\"number\"}]}," USAGE "}",
	};
	cleanup_journal struct journal journal;
	cleanup_buf struct buf line = BUF_INIT(JOURNAL_LINE_MAX);
	struct outcome_checked checked = { .is_checked = true,
					   .numbers = 2,
					   .links = 1,
					   .unsupported = 2,
					   .count = 2,
					   .claims = { { false, "9 %!", 3 }, { true, "a.csv", 5 } } };
	const struct journal_end end = { .text = "9 %",
					 .len = 3,
					 .stop = AGENT_STOP_ANSWER,
					 .checked = &checked,
					 .usage = &usage };
	struct err err;
	size_t number;

	journal_init(&journal);
	assert_ok(&err, read_text(&journal, RUN, &err));
	assert_ok(&err, read_text(&journal, "{\"type\":\"question\",\"text\":\"q\"}", &err));
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		assert_err(&err, ERR_PROTOCOL, read_text(&journal, wrong[i], &err));
		assert_int_equal(journal.questions[0].checked.count, 0);
	}
	assert_int_equal(journal.questions[0].stop, AGENT_STOP_COUNT_);
	feed(&journal, &line, journal_write_answer(&line, &end, &err), &err);
	memset(&checked, 0, sizeof(checked));
	journal_read_checked(&journal.questions[0], &checked);
	assert_true(checked.is_checked && checked.claims[1].is_link);
	assert_int_equal(checked.unsupported, 2);
	assert_int_equal(checked.count, 2);
	assert_string_equal(checked.claims[0].text, "9 %");
	assert_string_equal(checked.claims[1].text, "a.csv");
	/* The question can be undone once. */
	assert_true(journal_last_live(&journal, &number));
	feed(&journal, &line, journal_write_undo(&line, &err), &err);
	assert_true(journal.questions[0].is_undone);
	assert_false(journal_last_live(&journal, &number));
	assert_err(&err, ERR_PROTOCOL, read_text(&journal, "{\"type\":\"undo\"}", &err));
}

UNIT_TEST(a_question_without_an_answer_can_be_resumed)
{
	struct journal_end end = { .text = "half", .len = 4, .message = "cut", .usage = &usage };
	cleanup_buf struct buf line = BUF_INIT(JOURNAL_LINE_MAX);
	cleanup_journal struct journal journal;
	struct err err;

	journal_init(&journal);
	assert_false(journal_is_open(&journal));
	assert_ok(&err, read_text(&journal, RUN, &err));
	feed(&journal, &line, journal_write_text(&line, JOURNAL_QUESTION, "q", 1, &err), &err);
	assert_true(journal_is_open(&journal));
	end.stop = AGENT_STOP_LENGTH;
	feed(&journal, &line, journal_write_answer(&line, &end, &err), &err);
	assert_true(journal_is_open(&journal));
	feed(&journal, &line, journal_write_resume(&line, &err), &err);
	/* The partial answer becomes prose, and another answer may follow. */
	assert_int_equal(journal.questions[0].stop, AGENT_STOP_COUNT_);
	assert_null(journal.questions[0].message);
	assert_int_equal(journal.items[1].kind, JOURNAL_PROSE);
	end.stop = AGENT_STOP_ANSWER;
	feed(&journal, &line, journal_write_answer(&line, &end, &err), &err);
	assert_false(journal_is_open(&journal));
	assert_err(&err, ERR_PROTOCOL, read_text(&journal, "{\"type\":\"resume\"}", &err));
	feed(&journal, &line, journal_write_text(&line, JOURNAL_QUESTION, "r", 1, &err), &err);
	feed(&journal, &line, journal_write_undo(&line, &err), &err);
	assert_false(journal_is_open(&journal));
}

/* ---- the directory ---- */

struct place {
	char path[64];
	int dir; /* the directory of the runs */
};

static int place_open(void **state)
{
	static struct place place;
	struct err err;
	const int fd = unit_mkdir(place.path);

	(void)close(fd);
	*state = &place;
	return setenv("RECKON_STATE", place.path, 1) == 0 ? runs_open(true, &place.dir, &err) : -1;
}

static int place_close(void **state)
{
	struct place *place = *state;

	(void)close(place->dir);
	unit_rmdir(place->path);
	return 0;
}

static int add(const struct place *place, char id[JOURNAL_ID_SIZE])
{
	cleanup_buf struct buf line = BUF_INIT(JOURNAL_LINE_MAX);
	struct err err;
	int fd;

	assert_ok(&err, runs_new(place->dir, id, &fd, &err));
	assert_ok(&err, buf_adds(&line, RUN, &err));
	assert_ok(&err, runs_append(fd, &line, &err));
	return fd;
}

static void put(const struct place *place, const char *id, const char *bytes, size_t len)
{
	char path[128];
	cleanup_fd int fd = -1;

	(void)snprintf(path, sizeof(path), "%s/run.jsonl", id);
	fd = openat(place->dir, path, O_WRONLY | O_TRUNC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
}

UNIT_TEST_WITH(runs_are_private_to_the_user, place_open, place_close)
{
	const struct place *place = *state;
	char id[JOURNAL_ID_SIZE], path[128];
	struct stat st;
	struct err err;
	int fd = add(place, id), dir;

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(fstatat(place->dir, id, &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	/* runs_open() makes a directory private again that others could read. */
	(void)snprintf(path, sizeof(path), "%s/runs", place->path);
	assert_int_equal(chmod(path, 0755), 0);
	assert_ok(&err, runs_open(false, &dir, &err));
	assert_int_equal(fstat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	(void)close(dir);
	(void)close(fd);
}

UNIT_TEST_WITH(an_incomplete_last_line_is_ignored, place_open, place_close)
{
	static const char text[] = RUN "\n{\"type\":\"question\",\"text\":\"q\"}\n{\"type\":\"ques";
	const struct place *place = *state;
	struct journal journal;
	char id[JOURNAL_ID_SIZE];
	struct stat st;
	struct err err;
	int fd = add(place, id);

	(void)close(fd);
	put(place, id, text, sizeof(text) - 1);
	journal_init(&journal);
	assert_ok(&err, runs_load(place->dir, id, true, &journal, &err));
	assert_true(journal.is_cut);
	assert_int_equal(journal.question_count, 1);
	journal_done(&journal);
	/* runs_continue() removes the incomplete line. */
	assert_ok(&err, runs_continue(place->dir, id, &journal, &fd, &err));
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, (off_t)(strrchr(text, '\n') + 1 - text));
	journal_done(&journal);
	(void)close(fd);
}

UNIT_TEST_WITH(an_invalid_line_is_reported_with_its_number, place_open, place_close)
{
	static const char text[] = RUN "\n{\"type\":\"question\",\"text\":\"q\"}\nwhat\n";
	const struct place *place = *state;
	const size_t long_len = JOURNAL_LINE_MAX + (size_t)1024 * 1024;
	cleanup_free char *long_line = malloc(long_len);
	struct journal journal;
	char id[JOURNAL_ID_SIZE];
	struct err err;

	(void)close(add(place, id));
	journal_init(&journal);
	put(place, id, text, sizeof(text) - 1);
	assert_err(&err, ERR_PROTOCOL, runs_load(place->dir, id, true, &journal, &err));
	assert_non_null(strstr(err.text, "line 3"));
	journal_done(&journal);
	assert_non_null(long_line);
	memset(long_line, 'x', long_len);
	put(place, id, long_line, long_len);
	assert_err(&err, ERR_PROTOCOL, runs_load(place->dir, id, true, &journal, &err));
	assert_non_null(strstr(err.text, "too long"));
	put(place, id, "", 0);
	assert_err(&err, ERR_PROTOCOL, runs_load(place->dir, id, true, &journal, &err));
	journal_done(&journal);
}

UNIT_TEST_WITH(a_run_that_is_open_cannot_be_continued_or_removed, place_open, place_close)
{
	const struct place *place = *state;
	struct journal journal;
	char id[JOURNAL_ID_SIZE];
	struct err err;
	int fd = add(place, id), other;
	size_t removed;

	journal_init(&journal);
	assert_err(&err, ERR_DENIED, runs_continue(place->dir, id, &journal, &other, &err));
	assert_err(&err, ERR_DENIED, runs_remove(place->dir, id, &err));
	assert_ok(&err, runs_prune(place->dir, 0, 0, &removed, &err));
	assert_int_equal(removed, 0);
	(void)close(fd);
	assert_ok(&err, runs_prune(place->dir, 0, 0, &removed, &err));
	assert_int_equal(removed, 1);
	assert_err(&err, ERR_NOT_FOUND, runs_find(place->dir, NULL, id, &err));
}

UNIT_TEST_WITH(the_oldest_runs_are_pruned_first, place_open, place_close)
{
	const struct place *place = *state;
	struct runs_entry *list;
	char ids[4][JOURNAL_ID_SIZE], found[JOURNAL_ID_SIZE];
	size_t removed, count;
	struct err err;

	for (int i = 0; i < 4; i++) {
		const struct timespec times[2] = { { .tv_sec = 1000 + i }, { .tv_sec = 1000 + i } };
		const int fd = add(place, ids[i]);

		assert_int_equal(futimens(fd, times), 0);
		(void)close(fd);
	}
	assert_ok(&err, runs_find(place->dir, "last", found, &err));
	assert_string_equal(found, ids[3]);
	assert_ok(&err, runs_find(place->dir, ids[1] + 7, found, &err));
	assert_string_equal(found, ids[1]);
	assert_err(&err, ERR_INVALID, runs_find(place->dir, "2", found, &err));
	assert_err(&err, ERR_NOT_FOUND, runs_find(place->dir, "../runs", found, &err));
	assert_ok(&err, runs_prune(place->dir, 3, UINT64_MAX / 2, &removed, &err));
	assert_int_equal(removed, 1);
	assert_ok(&err, runs_prune(place->dir, 3, 2 * sizeof(RUN), &removed, &err));
	assert_int_equal(removed, 1);
	assert_ok(&err, runs_list(place->dir, &list, &count, &err));
	assert_int_equal(count, 2);
	assert_string_equal(list[0].id, ids[3]);
	assert_string_equal(list[1].id, ids[2]);
	free(list);
}

UNIT_TEST_WITH(links_are_not_followed, place_open, place_close)
{
	const struct place *place = *state;
	struct journal journal;
	struct err err;

	assert_int_equal(symlinkat("/etc", place->dir, "261122-aaaaa"), 0);
	assert_int_equal(mkdirat(place->dir, "261122-bbbbb", 0700), 0);
	assert_int_equal(symlinkat("/etc/passwd", place->dir, "261122-bbbbb/run.jsonl"), 0);
	journal_init(&journal);
	assert_true(runs_load(place->dir, "261122-aaaaa", true, &journal, &err) < 0);
	assert_true(runs_load(place->dir, "261122-bbbbb", true, &journal, &err) < 0);
	assert_true(runs_load(place->dir, "../x", true, &journal, &err) < 0);
	assert_int_equal(journal.lines, 0);
}
