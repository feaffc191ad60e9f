/*
 * test_host_config.c - options: accepted values, refused values and their messages, what a
 * reload may change.
 *
 * Runs in:  the unit suite.
 * Reads:    texts of its own, a file it makes.
 * Never:    reads the configuration of this machine.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/config.h"

static struct config config;
static struct ini_problems problems;
static struct err err;

static int parse(const char *text)
{
	config_defaults(&config);
	return config_parse(&config, text, strlen(text), &problems, &err);
}

UNIT_TEST(every_default_is_a_valid_value)
{
	for (size_t i = 0; i < config_row_count; i++) {
		const struct config_row *row = &config_rows[i];

		memset(&config, 0, sizeof(config));
		assert_ok(&err, config_set(&config, row, row->name, row->standard, &err));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(config_rows[k].name, row->name);
	}
	config_defaults(&config);
	assert_string_equal(config.address, "127.0.0.1:7263");
	assert_int_equal(config.idle_ms, 1800 * 1000);
}

UNIT_TEST(a_file_is_parsed)
{
	assert_ok(&err, parse("\xef\xbb\xbf# ours\n\n[server]\nlisten = [::1]:80\npublic = yes ; really\n"
			      "header-timeout=2m\r\n[sessions]\nidle-timeout: 1h\n[log]\n"
			      "log-level = error"));
	assert_string_equal(config.address, "[::1]:80");
	assert_int_equal(config.public_ok, 1);
	assert_int_equal(config.header_timeout_ms, 120000);
	assert_int_equal(config.idle_ms, 3600000);
	assert_int_equal(config.log_level, 3);
	assert_ok(&err, parse(""));
	assert_ok(&err, parse("\n \n\t\n"));
}

/* Each case: the text, the line of the problem, a part of the message. */
UNIT_TEST(each_mistake_is_named_with_its_line)
{
	static const struct {
		const char *text;
		unsigned line;
		const char *words;
	} bad[] = {
		{ "[server]\n\nlistne = 1\n", 3, "\"listne\" is not known" },
		{ "workers = 3\n", 1, "belongs to [server]" },
		{ "[log]\nworkers = 3\n", 2, "belongs to [server]" },
		{ "[server]\nworkers = 0\n", 2, "a number from 1 to 1024" },
		{ "[server]\nworkers = 1025\n", 2, "a number" },
		{ "[server]\nworkers = -1\n", 2, "a number" },
		{ "[server]\nworkers = 1.5\n", 2, "a number" },
		{ "[server]\nworkers = 99999999999999999999\n", 2, "a number" },
		{ "[server]\nworkers =\n", 2, "a number" },
		{ "[server]\nworkers = 5s\n", 2, "a number" },
		{ "[server]\nheader-timeout = 2w\n", 2, "5m, 2h, 7d" },
		{ "[server]\nheader-timeout = 2h\n", 2, "from 1 to 3600" },
		{ "[server]\npublic = perhaps\n", 2, "yes or no" },
		{ "[log]\nlog-level = loud\n", 2, "debug info warn error" },
		{ "[log]\nlog-level = inf\n", 2, "debug info warn error" },
		{ "[server]\nworkers = 3\nworkers = 3\n", 3, "was given before" },
		{ "[server]\nworkers = 3\n  4\n", 3, "begins with a space" },
		{ "[server\n", 1, "neither [section] nor" },
		{ "[server]\njust words\n", 2, "neither [section] nor" },
		{ "[server]\nlisten = x\x01y\n", 2, "control character" },
		{ "[server]\nconfig = /etc/passwd\n", 2, "is not known" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char at[32];

		assert_err(&err, ERR_INVALID, parse(bad[i].text));
		assert_int_equal(problems.count, 1);
		assert_int_equal(problems.list[0].line, bad[i].line);
		if (strstr(err.text, bad[i].words) == NULL)
			fail_msg("%s does not say %s", err.text, bad[i].words);
		(void)snprintf(at, sizeof(at), "line %u: ", bad[i].line);
		assert_non_null(strstr(err.text, at));
	}
}

UNIT_TEST(mistakes_past_the_list_are_counted)
{
	cleanup_buf struct buf text = BUF_INIT(1 << 16);

	for (int i = 0; i < 100; i++)
		assert_ok(&err, buf_addf(&text, &err, "no-such-%d = 1\n", i));
	assert_err(&err, ERR_INVALID, parse(text.data));
	assert_int_equal(problems.count, 100);
	assert_int_equal(problems.list[INI_PROBLEMS_MAX - 1].line, INI_PROBLEMS_MAX);
}

UNIT_TEST(a_long_line_or_a_nul_byte_is_refused)
{
	cleanup_buf struct buf text = BUF_INIT(1 << 16);
	static const char nul[] = "[server]\nworkers = 3\0\n";

	assert_ok(&err, buf_adds(&text, "[server]\nstate = /", &err));
	for (int i = 0; i < 8000; i++)
		assert_ok(&err, buf_addc(&text, i % 150 == 0 ? '=' : 'a', &err));
	assert_err(&err, ERR_INVALID, parse(text.data));
	assert_string_equal(problems.list[0].text, "the line is too long");
	config_defaults(&config);
	assert_err(&err, ERR_INVALID,
		     config_parse(&config, nul, sizeof(nul) - 1, &problems, &err));
	assert_string_equal(problems.list[0].text, "the line has a NUL byte");
}

/* Options on the command line override the file, also when it is loaded again. */
UNIT_TEST(the_command_line_overrides_the_file)
{
	char path[] = "/tmp/test_host_config.XXXXXX", flag[64], workers[] = "--workers=7";
	char name[] = "reckond", public[] = "--public", state_flag[] = "--state=/nowhere";
	char *argv[] = { name, flag, workers, public, state_flag, NULL };
	static const char text[] = "[server]\nworkers = 5\nmax-connections = 9\n";
	cleanup_fd int fd = mkstemp(path);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	(void)snprintf(flag, sizeof(flag), "--config=%s", path);
	for (int again = 0; again < 2; again++) {
		assert_ok(&err, config_load(5, argv, &config, &problems, &err));
		assert_int_equal(config.workers, 7);
		assert_int_equal(config.connections_max, 9);
		assert_int_equal(config.public_ok, 1);
		assert_string_equal(config.state_dir, "/nowhere");
	}
	/* Whoever can write the file controls the daemon, so nobody else may write it. */
	assert_int_equal(fchmod(fd, 0666), 0);
	assert_err(&err, ERR_DENIED, config_load(5, argv, &config, &problems, &err));
	assert_int_equal(unlink(path), 0);
	assert_err(&err, ERR_SYSTEM, config_load(5, argv, &config, &problems, &err));
	assert_int_equal(config.workers, 7);
}

UNIT_TEST(a_wrong_flag_is_named)
{
	char name[] = "reckond", none[] = "--config=", bad[] = "--workers=x", unknown[] = "--wrokers=1";
	char word[] = "word";
	char *one[] = { name, none, bad, NULL }, *two[] = { name, none, unknown, NULL };
	char *three[] = { name, none, word, NULL };

	assert_err(&err, ERR_INVALID, config_load(3, one, &config, &problems, &err));
	assert_non_null(strstr(err.text, "--workers takes a number"));
	assert_err(&err, ERR_INVALID, config_load(3, two, &config, &problems, &err));
	assert_err(&err, ERR_INVALID, config_load(3, three, &config, &problems, &err));
	assert_non_null(strstr(err.text, "'word'"));
}

UNIT_TEST(a_reload_changes_only_reloadable_options)
{
	__attribute__((cleanup(cleanup_free_fn))) struct config *fresh = mem_new0(1, sizeof(*fresh));
	cleanup_buf struct buf fixed = BUF_INIT(4096);

	config_defaults(&config);
	config_defaults(fresh);
	assert_int_equal(config_reload(&config, fresh, &fixed), 0);
	assert_int_equal(fixed.len, 0);
	fresh->idle_ms = 5000;
	fresh->log_level = 0;
	fresh->workers = 3;
	(void)snprintf(fresh->address, sizeof(fresh->address), "127.0.0.1:1");
	assert_int_equal(config_reload(&config, fresh, &fixed), 2);
	assert_string_equal(buf_text(&fixed), "listen workers");
	assert_int_equal(config.idle_ms, 5000);
	assert_int_equal(config.log_level, 0);
	assert_int_equal(config.workers, 64);
	assert_string_equal(config.address, "127.0.0.1:7263");
}
