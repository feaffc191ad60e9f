/*
 * test_lib_execute.c - ordinary executions: output, order, results, events, input, files.
 *
 * Runs in:  the unit suite, against a fake warden and kernel.
 * Reads:    records and events.
 * Never:    needs a box.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file/fd.h"
#include "support/lib_fixture.h"

static const struct fake_config plain;

UNIT_TEST(test_output_of_a_cell)
{
	struct fixture fixture;

	fixture_open(&fixture, &plain, NULL);
	{
		cleanup_result struct result result =
			fixture_run(&fixture, "out hello\nerr oops\nresult 42", NULL);

		assert_string_equal(result_status(&result), "ok");
		assert_int_equal(reckon_execution_exit_code(result.execution), 0);
		assert_string_equal(result_text(&result, "stdout"), "hello\n");
		assert_string_equal(result_text(&result, "stderr"), "oops\n");
		assert_int_equal(json_read_count(result_member(&result, "results")), 1);
		assert_string_equal(result_text(&result, "session"),
				    reckon_session_id(fixture.session));
	}
	fixture_close(&fixture);
}

UNIT_TEST(test_an_id_that_the_caller_chose)
{
	reckon_execute_options options = { .size = sizeof(options),
					   .execution_id = "ex_01M80J7VB7V2AAK080YDMN3VFR" };
	struct fixture fixture;
	reckon_execution *done;
	reckon_error err;

	fixture_open(&fixture, &plain, NULL);
	{
		cleanup_result struct result result = fixture_run(&fixture, "out a", &options);

		assert_string_equal(result_text(&result, "id"), options.execution_id);
	}
	for (const char *const *id = (const char *const[]){ "", "ex_", "se_01M80J7VB7V2AAK080YDMN3VFR",
							    "ex_01M80J7VB7V2AAK080YDMN3VF\"",
							    "ex_01M80J7VB7V2AAK080YDMN3VFRX", NULL };
	     *id != NULL; id++) {
		options.execution_id = *id;
		assert_int_equal(reckon_execute(fixture.session, "", 0, &options, &done, &err),
				 RECKON_EINVALID);
	}
	assert_int_equal(reckon_session_check(fixture.session, &err), RECKON_OK);
	fixture_close(&fixture);
}

UNIT_TEST(test_a_failing_cell_keeps_the_session)
{
	struct fixture fixture;

	fixture_open(&fixture, &plain, NULL);
	{
		cleanup_result struct result bad =
			fixture_run(&fixture, "error KeyError\ndone error", NULL);
		cleanup_result struct result good = fixture_run(&fixture, "out again", NULL);

		assert_string_equal(result_status(&bad), "error");
		assert_string_equal(result_error(&bad), "KeyError");
		assert_int_equal(reckon_execution_exit_code(bad.execution), 1);
		assert_string_equal(result_text(&good, "stdout"), "again\n");
	}
	fixture_close(&fixture);
}

/* Events as one text: names, and for stream events the number and the text. */
struct seen {
	struct buf text;
	uint64_t seq;
	const char *stop_at;
};

static int on_event(const reckon_event *event, void *arg)
{
	struct seen *seen = arg;
	struct json_value *json;
	int64_t seq = 0;
	struct err err;

	assert_ok(&err, json_read_parse(event->json, event->json_len, event->json_len, &json,
					&err));
	assert_string_equal(json_read_text(json_read_member(json, "event"), NULL), event->name);
	assert_true(json_read_int(json_read_member(json, "seq"), &seq));
	assert_int_equal(seq, seen->seq + 1);
	seen->seq++;
	json_read_free(json);
	if (event->text != NULL)
		assert_ok(&err, buf_addf(&seen->text, &err, "%d<%.*s>", event->stream,
					 (int)event->text_len, event->text));
	else
		assert_ok(&err, buf_addf(&seen->text, &err, "%s ", event->name));
	return seen->stop_at != NULL && strstr(buf_text(&seen->text), seen->stop_at) != NULL
		       ? RECKON_STOP
		       : RECKON_CONTINUE;
}

static void run_seen(struct fixture *fixture, const char *code, struct seen *seen)
{
	const reckon_execute_options options = { .size = sizeof(options),
						 .on_event = on_event,
						 .on_event_arg = seen };
	cleanup_result struct result result = { NULL, NULL };

	seen->text = BUF_INIT(1 << 20);
	seen->seq = 0;
	result = fixture_run(fixture, code, &options);
}

UNIT_TEST(test_events_are_in_order)
{
	struct fixture fixture;
	struct seen seen = { .stop_at = NULL };

	fixture_open(&fixture, &plain, NULL);
	run_seen(&fixture,
		 "out 1\nsync\nerr 2\nsync\nout 3\nsync\ndisplay a x\nout 4\nsync\nresult r", &seen);
	assert_string_equal(buf_text(&seen.text),
			    "1<1\n>2<2\n>1<3\n>display_data 1<4\n>execute_result done ");
	buf_done(&seen.text);
	fixture_close(&fixture);
}

UNIT_TEST(test_utf8_across_reads)
{
	struct fixture fixture;
	struct seen seen = { .stop_at = NULL };

	fixture_open(&fixture, &plain, NULL);
	/* "é" in two writes with a wait between, then a byte that is never UTF-8. */
	run_seen(&fixture, "raw c3\nsync\nraw a9\nsync\nraw ff\nsync\nraw e282", &seen);
	assert_string_equal(buf_text(&seen.text),
			    "1<\xc3\xa9>1<\xef\xbf\xbd>1<\xef\xbf\xbd\xef\xbf\xbd>done ");
	buf_done(&seen.text);
	fixture_close(&fixture);
}

UNIT_TEST(test_displays)
{
	const reckon_session_options options = { .size = sizeof(options), .limits.displays = 2 };
	struct fixture fixture;

	fixture_open(&fixture, &plain, &options);
	{
		cleanup_result struct result updated =
			fixture_run(&fixture, "display a one\nupdate a two", NULL);
		cleanup_result struct result many =
			fixture_run(&fixture, "display a 1\ndisplay b 2\ndisplay c 3", NULL);
		cleanup_result struct result cleared =
			fixture_run(&fixture, "display a 1\nclear\ndisplay b 2", NULL);
		const struct json_value *first = json_read_at(result_member(&updated, "results"), 0);

		assert_int_equal(json_read_count(result_member(&updated, "results")), 1);
		assert_string_equal(json_read_text(json_read_member(json_read_member(first, "data"),
								    "text/plain"),
						   NULL),
				    "two");
		assert_int_equal(json_read_count(result_member(&many, "results")), 2);
		assert_true(result_has_diagnostic(&many, "display_limit"));
		assert_int_equal(json_read_count(result_member(&cleared, "results")), 1);
	}
	fixture_close(&fixture);
}

UNIT_TEST(test_output_past_the_limit)
{
	const reckon_session_options options = { .size = sizeof(options),
						 .limits.output_bytes = 1000 };
	struct fixture fixture;
	char *whole;

	fixture_open(&fixture, &plain, &options);
	{
		cleanup_result struct result fits = fixture_run(&fixture, "flood 1000", NULL);
		cleanup_result struct result cut = fixture_run(&fixture, "flood 300000", NULL);
		const struct json_value *truncated =
			json_read_member(result_member(&cut, "truncated"), "stdout");
		const char *text = result_text(&cut, "stdout");
		const char *handle = json_read_text(json_read_member(truncated, "handle"), NULL);
		char path[128];
		FILE *file;
		reckon_error err;
		int64_t total = 0;

		assert_int_equal(strlen(result_text(&fits, "stdout")), 1000);
		assert_null(json_read_member(result_member(&fits, "truncated"), "stdout"));
		assert_true(strlen(text) < 1200);
		assert_memory_equal(text, "000000000000.\n000000000001.\n", 28);
		assert_string_equal(text + strlen(text) - 15, "21427.\n00000002");
		assert_true(json_read_int(json_read_member(truncated, "bytes_total"), &total));
		assert_int_equal(total, 300000);
		assert_non_null(handle);
		(void)snprintf(path, sizeof(path), "%s/whole", fixture.state);
		file = fopen(path, "w+");
		assert_non_null(file);
		assert_int_equal(reckon_artifact_get(fixture.engine, handle, 0, 0, fileno(file),
						     &err),
				 0);
		assert_int_equal(fseek(file, 0, SEEK_END), 0);
		assert_int_equal(ftell(file), 300000);
		rewind(file);
		whole = calloc(1, 300000 + 1);
		assert_int_equal(fread(whole, 1, 300000, file), 300000);
		/* Lossless: each line is where it was printed. */
		for (int i = 0; i < 300000 / 14; i++)
			assert_int_equal(atoi(whole + (size_t)i * 14), i);
		free(whole);
		(void)fclose(file);
	}
	fixture_close(&fixture);
}

UNIT_TEST(test_input)
{
	reckon_execute_options options = { .size = sizeof(options), .has_stdin = 1 };
	struct fixture fixture;
	int ends[2];

	fixture_open(&fixture, &plain, NULL);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "ada\nrest of it", 14), 14);
	(void)close(ends[1]);
	options.stdin_fd = ends[0];
	{
		cleanup_result struct result given =
			fixture_run(&fixture, "input\nreadall\ninput", &options);
		cleanup_result struct result none = fixture_run(&fixture, "input\nreadall", NULL);

		assert_string_equal(result_text(&given, "stdout"),
				    "got <ada>\nrest of itend of input\n");
		assert_string_equal(result_text(&none, "stdout"), "end of input\n");
	}
	(void)close(ends[0]);
	fixture_close(&fixture);
}

/* Answers two prompts, then reports the end of input; counts the prompts in *arg. */
static int answer_twice(const char *prompt, size_t prompt_len, int password, char **ret_line,
			size_t *ret_len, void *arg)
{
	int *prompts = arg;

	assert_int_equal(prompt_len, strlen("name? "));
	assert_memory_equal(prompt, "name? ", prompt_len);
	assert_int_equal(password, 0);
	if (++*prompts <= 2) {
		*ret_line = strdup("ada");
		*ret_len = 3;
	}
	return RECKON_CONTINUE;
}

static int stop_at_prompt(const char *prompt, size_t prompt_len, int password, char **ret_line,
		       size_t *ret_len, void *arg)
{
	(void)prompt;
	(void)prompt_len;
	(void)password;
	(void)ret_line;
	(void)ret_len;
	++*(int *)arg;
	return RECKON_STOP;
}

UNIT_TEST(test_input_on_request)
{
	int prompts = 0;
	reckon_execute_options options = { .size = sizeof(options),
					   .on_input = answer_twice,
					   .on_input_arg = &prompts };
	struct fixture fixture;

	fixture_open(&fixture, &plain, NULL);
	{
		cleanup_result struct result result =
			fixture_run(&fixture, "input\ninput\ninput", &options);

		assert_string_equal(result_text(&result, "stdout"),
				    "got <ada>\ngot <ada>\nend of input\n");
		assert_int_equal(prompts, 3);
	}
	options.on_input = stop_at_prompt;
	{
		cleanup_result struct result result = fixture_run(&fixture, "input", &options);

		/* The waiting cell is interrupted; this kernel ignores that, so it is killed. */
		assert_string_equal(result_text(&result, "status"), "killed");
		assert_int_equal(prompts, 4);
	}
	fixture_close(&fixture);
}

UNIT_TEST(test_large_input)
{
	reckon_execute_options options = { .size = sizeof(options), .has_stdin = 1 };
	FILE *file = tmpfile();
	struct fixture fixture;

	assert_non_null(file);
	for (int i = 0; i < 50000; i++)
		assert_int_equal(fprintf(file, "%09d\n", i), 10);
	(void)fflush(file);
	rewind(file);
	options.stdin_fd = fileno(file);
	fixture_open(&fixture, &plain, NULL);
	{
		cleanup_result struct result all = fixture_run(&fixture, "readall", &options);
		const char *text = result_text(&all, "stdout");

		assert_int_equal(strlen(text), 500000);
		assert_string_equal(text + 499990, "000049999\n");
	}
	/* A program that does not read its input ends, too. */
	rewind(file);
	{
		cleanup_result struct result none = fixture_run(&fixture, "out done", &options);

		assert_string_equal(result_status(&none), "ok");
	}
	(void)fclose(file);
	fixture_close(&fixture);
}

UNIT_TEST(test_files_outlive_their_session)
{
	struct fixture fixture;

	fixture_open(&fixture, &plain, NULL);
	{
		cleanup_result struct result made =
			fixture_run(&fixture, "file out.csv a,b", NULL);
		cleanup_result struct result quiet = fixture_run(&fixture, "out nothing", NULL);
		const struct json_value *files = result_member(&made, "files");
		const char *artifact = json_read_text(
			json_read_member(json_read_at(files, 0), "artifact"), NULL);
		int ends[2];
		char text[16] = "";
		reckon_error err;

		assert_int_equal(json_read_count(files), 1);
		assert_int_equal(json_read_count(result_member(&quiet, "files")), 0);
		reckon_session_close(fixture.session);
		fixture.session = NULL;
		assert_non_null(artifact);
		assert_int_equal(pipe(ends), 0);
		assert_int_equal(reckon_artifact_get(fixture.engine, artifact, 0, 0, ends[1], &err),
				 0);
		assert_int_equal(read(ends[0], text, sizeof(text)), 3);
		assert_string_equal(text, "a,b");
		(void)close(ends[0]);
		(void)close(ends[1]);
	}
	fixture_close(&fixture);
}

/* Late output of an earlier cell's child is reported, and never mixed into a later cell. */
UNIT_TEST(test_stray_output)
{
	struct fixture fixture;
	bool was_reported = false;

	fixture_open(&fixture, &plain, NULL);
	{
		cleanup_result struct result first = fixture_run(&fixture, "stray LATE\nout 1", NULL);

		assert_string_equal(result_status(&first), "ok");
	}
	for (int i = 0; i < 300 && !was_reported; i++) {
		cleanup_result struct result next = fixture_run(&fixture, "out 2", NULL);

		assert_string_equal(result_text(&next, "stdout"), "2\n");
		was_reported = result_has_diagnostic(&next, "stray_output");
		(void)usleep(5000);
	}
	assert_true(was_reported);
	fixture_close(&fixture);
}

UNIT_TEST(test_receipt_and_denials)
{
	struct fake_config config = { .usage = { .cpu_user_ns = 250000000,
						 .memory_peak_bytes = 12345678,
						 .pids_refused = 3,
						 .denied_count = 1,
						 .denied = { { "ptrace", 2 } } } };
	struct fixture fixture;

	fixture_open(&fixture, &config, NULL);
	{
		cleanup_result struct result result = fixture_run(&fixture, "out 1", NULL);
		const struct json_value *receipt = result_member(&result, "receipt");
		int64_t number = 0;

		assert_true(json_read_int(json_read_member(receipt, "memory_peak_bytes"), &number));
		assert_int_equal(number, 12345678);
		assert_true(json_read_int(json_read_member(json_read_member(receipt,
									    "syscalls_denied"),
							   "ptrace"),
					  &number));
		assert_int_equal(number, 2);
		assert_true(result_has_diagnostic(&result, "syscall_denied"));
		assert_true(result_has_diagnostic(&result, "process_limit"));
	}
	fixture_close(&fixture);
}

UNIT_TEST(test_no_descriptor_leaks)
{
	struct fixture fixture;
	int before;

	fixture_open(&fixture, &plain, NULL);
	before = unit_open_fds();
	for (int i = 0; i < 20; i++) {
		cleanup_result struct result result =
			fixture_run(&fixture, "out 1\ndisplay a b\nerror E\ndone error", NULL);

		assert_string_equal(result_status(&result), "error");
	}
	/* The fake kernel closes its pipes after DONE: at most the last pair may still be open. The
	 * session keeps a pair open for empty input. */
	assert_true(unit_open_fds() <= before + 2 + 2);
	fixture_close(&fixture);
}
