/*
 * test_cli_parse.c - values of options: sizes, durations, counts, files, mounts and volumes.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    opens a file; neither do the parsers.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/options/parse.h"

#define KIB UINT64_C(1024)

UNIT_TEST(sizes_use_multiples_of_1024)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} rows[] = {
		{ "0", 0 },
		{ "4096", 4096 },
		{ "1K", KIB },
		{ "64k", 64 * KIB },
		{ "1Ki", KIB },
		{ "1KiB", KIB },
		{ "1KB", KIB },
		{ "512M", 512 * KIB * KIB },
		{ "512m", 512 * KIB * KIB },
		{ "1kb", KIB },
		{ "2g", 2 * KIB * KIB * KIB },
		{ "1.5G", 3 * KIB * KIB * KIB / 2 },
		{ "0.125K", 128 },
		{ "2T", 2 * KIB * KIB * KIB * KIB },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t bytes = 7;
		struct err err;

		assert_ok(&err, parse_size(rows[i].text, &bytes, &err));
		if (bytes != rows[i].bytes)
			fail_msg("%s is %llu", rows[i].text, (unsigned long long)bytes);
	}
}

UNIT_TEST(an_invalid_size_is_refused_and_explained)
{
	static const char *const rows[] = {
		"",    " ",   "G",   "-1",    "+1",   "1 G",  "1GG",  "1X",	"1iB",
		"1.5", "1.",  ".5G", "1e3",   "0x10", "1,5G", "1.2345G", "1G ", "1Gi B",
		"nan", "inf", "18446744073709551616", "99999999999999999999T", "20000000T",
		"1\xef\xbc\xa7", "1i",
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t bytes = 7;
		struct err err;

		if (parse_size(rows[i], &bytes, &err) != ERR_INVALID)
			fail_msg("'%s' was taken as %llu", rows[i], (unsigned long long)bytes);
		assert_int_equal(bytes, 7);
		assert_non_null(strstr(err.text, "invalid size"));
		assert_true(err.remedy[0] != '\0');
	}
}

UNIT_TEST(durations_are_milliseconds)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} rows[] = {
		{ "30", 30000 },   { "30s", 30000 }, { "1.5s", 1500 },	{ "250ms", 250 },
		{ "2m", 120000 },  { "1h", 3600000 }, { "0.001", 1 },	{ "0.5h", 1800000 },
		{ "1.25m", 75000 }, { "1ms", 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t ms = 7;
		struct err err;

		assert_ok(&err, parse_duration(rows[i].text, &ms, &err));
		if (ms != rows[i].ms)
			fail_msg("%s is %llu ms", rows[i].text, (unsigned long long)ms);
	}
}

UNIT_TEST(an_invalid_duration_is_refused)
{
	static const char *const rows[] = {
		"",	"0",   "0s",   "0ms",	"-1s", "1 s", "1M",  "1d",	     "1sm",
		"1m30s", "s",  "0.5ms", "1.0005s", "1..5", "forever", "18446744073709551615h",
		"18446744073709552s",
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t ms = 7;
		struct err err;

		if (parse_duration(rows[i], &ms, &err) != ERR_INVALID)
			fail_msg("'%s' was taken as %llu ms", rows[i], (unsigned long long)ms);
		assert_int_equal(ms, 7);
		assert_true(err.remedy[0] != '\0');
	}
}

UNIT_TEST(cpus_become_percent)
{
	uint32_t percent = 0;
	struct err err;

	assert_ok(&err, parse_cpus("1", &percent, &err));
	assert_int_equal(percent, 100);
	assert_ok(&err, parse_cpus("0.5", &percent, &err));
	assert_int_equal(percent, 50);
	assert_ok(&err, parse_cpus("0.01", &percent, &err));
	assert_int_equal(percent, 1);
	assert_err(&err, ERR_INVALID, parse_cpus("0", &percent, &err));
	assert_err(&err, ERR_INVALID, parse_cpus("0.001", &percent, &err));
	assert_err(&err, ERR_INVALID, parse_cpus("0.015", &percent, &err));
	assert_err(&err, ERR_INVALID, parse_cpus("1cpu", &percent, &err));
	assert_err(&err, ERR_INVALID, parse_cpus("99999999999", &percent, &err));
	assert_int_equal(percent, 1);
}

UNIT_TEST(counts_and_ranges_are_whole_numbers)
{
	uint64_t count = 0, offset = 1, length = 1;
	struct err err;

	assert_ok(&err, parse_count("64", &count, &err));
	assert_int_equal(count, 64);
	assert_err(&err, ERR_INVALID, parse_count("6.0", &count, &err));
	assert_err(&err, ERR_INVALID, parse_count("-6", &count, &err));
	assert_err(&err, ERR_INVALID, parse_count("6k", &count, &err));
	assert_ok(&err, parse_range("100-199", &offset, &length, &err));
	assert_int_equal(offset, 100);
	assert_int_equal(length, 100);
	assert_ok(&err, parse_range("5-5", &offset, &length, &err));
	assert_int_equal(length, 1);
	assert_ok(&err, parse_range("7-", &offset, &length, &err));
	assert_int_equal(offset, 7);
	assert_int_equal(length, 0);
	assert_err(&err, ERR_INVALID, parse_range("-7", &offset, &length, &err));
	assert_err(&err, ERR_INVALID, parse_range("7", &offset, &length, &err));
	assert_err(&err, ERR_INVALID, parse_range("9-8", &offset, &length, &err));
	assert_err(&err, ERR_INVALID, parse_range("1-2-3", &offset, &length, &err));
	assert_err(&err, ERR_INVALID,
		   parse_range("1-99999999999999999999999999999", &offset, &length, &err));
	assert_int_equal(offset, 7);
}

UNIT_TEST(environment_needs_a_name)
{
	struct err err;

	assert_ok(&err, parse_env("A=1", &err));
	assert_ok(&err, parse_env("_x9=", &err));
	assert_ok(&err, parse_env("A=b=c \xc3\xbc", &err));
	assert_err(&err, ERR_INVALID, parse_env("A", &err));
	assert_err(&err, ERR_INVALID, parse_env("=1", &err));
	assert_err(&err, ERR_INVALID, parse_env("9A=1", &err));
	assert_err(&err, ERR_INVALID, parse_env("A B=1", &err));
	assert_err(&err, ERR_INVALID, parse_env("A=\xff", &err));
}

UNIT_TEST(template_names_are_plain)
{
	char name[66];
	struct err err;

	memset(name, 'a', sizeof(name));
	name[63] = '\0';
	assert_ok(&err, parse_template(name, &err));
	assert_ok(&err, parse_template("data-2.1_x", &err));
	name[63] = 'a';
	name[64] = '\0';
	assert_err(&err, ERR_INVALID, parse_template(name, &err));
	assert_err(&err, ERR_INVALID, parse_template("", &err));
	assert_err(&err, ERR_INVALID, parse_template("..", &err));
	assert_err(&err, ERR_INVALID, parse_template("a/b", &err));
	assert_err(&err, ERR_INVALID, parse_template("-x", &err));
	assert_err(&err, ERR_INVALID, parse_template("a b", &err));
}

static void assert_file(const char *spec, const char *want_file, const char *want_name)
{
	cleanup_free char *file = NULL;
	cleanup_free char *name = NULL;
	struct err err;

	assert_ok(&err, parse_file_spec(spec, &file, &name, &err));
	assert_string_equal(file, want_file);
	assert_string_equal(name, want_name);
}

UNIT_TEST(files_take_their_own_name_or_another)
{
	assert_file("sales.csv", "sales.csv", "sales.csv");
	assert_file("/srv/x/sales.csv", "/srv/x/sales.csv", "sales.csv");
	assert_file("../up.csv", "../up.csv", "up.csv");
	assert_file("a.csv:in/b.csv", "a.csv", "in/b.csv");
	assert_file("a:b.csv:c.csv", "a:b.csv", "c.csv");
	assert_file("./.hidden", "./.hidden", ".hidden");
}

UNIT_TEST(names_cannot_leave_the_workspace)
{
	static const char *const rows[] = {
		"",	    ":",	   ":x",    "a:",	   "a:/etc/passwd", "a:../x",
		"a:b/../x", "..",	   ".",	    "/",	   "a/..",	    "a:b//c",
		"a:b/",	    "a:x\ny",	   "a:\x1b[2J", "a:\xff",
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *file = NULL, *name = NULL;
		struct err err;

		if (parse_file_spec(rows[i], &file, &name, &err) != ERR_INVALID)
			fail_msg("'%s' was taken as '%s' named '%s'", rows[i], file, name);
		assert_null(file);
		assert_null(name);
	}
}

static void assert_mount(const char *spec, const char *want_source, const char *want_target,
			 bool want_writable)
{
	cleanup_free char *source = NULL;
	cleanup_free char *target = NULL;
	bool writable = !want_writable;
	struct err err;

	assert_ok(&err, parse_mount_spec(spec, &source, &target, &writable, &err));
	assert_string_equal(source, want_source);
	if (want_target == NULL)
		assert_null(target);
	else
		assert_string_equal(target, want_target);
	assert_int_equal(writable, want_writable);
}

UNIT_TEST(mounts_are_read_only_by_default)
{
	assert_mount("/srv/in", "/srv/in", NULL, false);
	assert_mount("/srv/in:ro", "/srv/in", NULL, false);
	assert_mount("/srv/in:rw", "/srv/in", NULL, true);
	assert_mount(".:/mnt/x", ".", "/mnt/x", false);
	assert_mount(".:/mnt/x/y:rw", ".", "/mnt/x/y", true);
	assert_mount("a:b:/mnt/x", "a:b", "/mnt/x", false);
	assert_mount("ro", "ro", NULL, false);
}

UNIT_TEST(mounts_stay_below_mnt)
{
	static const char *const rows[] = {
		"",	   ":",	      ":ro",	       ":/mnt/x",     "a:/etc",	    "a:x",
		"a:/mnt",  "a:/mnt/", "a:/mnt/../etc", "a:/mnt/data", "a:/mnt/data/x", "a:/mnt//x",
		"a:/mnt/x/", "a:/mnt/x:wr", "a::ro",   "a:/mnt/x:ro:ro",
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *source = NULL, *target = NULL;
		bool writable = false;
		struct err err;

		if (parse_mount_spec(rows[i], &source, &target, &writable, &err) != ERR_INVALID)
			fail_msg("'%s' was taken as '%s' at '%s'", rows[i], source, target);
		assert_null(source);
		assert_null(target);
	}
	/* A target that only begins with the name of the workspace is accepted. */
	assert_mount("a:/mnt/database", "a", "/mnt/database", false);
}

static void assert_volume(const char *spec, const char *want_name, const char *want_path,
			  bool want_read_only)
{
	cleanup_free char *name = NULL;
	cleanup_free char *path = NULL;
	bool read_only = !want_read_only;
	struct err err;

	assert_ok(&err, parse_volume_spec(spec, &name, &path, &read_only, &err));
	assert_string_equal(name, want_name);
	if (want_path == NULL)
		assert_null(path);
	else
		assert_string_equal(path, want_path);
	assert_int_equal(read_only, want_read_only);
}

UNIT_TEST(volumes_are_writable_by_default)
{
	assert_volume("models", "models", NULL, false);
	assert_volume("models:ro", "models", NULL, true);
	assert_volume("models:rw", "models", NULL, false);
	assert_volume("vol_01ARZ3NDEKTSV4RRFFQ69G5FAV:/mnt/x", "vol_01ARZ3NDEKTSV4RRFFQ69G5FAV",
		      "/mnt/x", false);
	assert_volume("m.1:/mnt/a b/c:ro", "m.1", "/mnt/a b/c", true);
	assert_volume("ro", "ro", NULL, false);
}

UNIT_TEST(an_invalid_volume_is_refused)
{
	static const char *const rows[] = {
		"",	":",	      ":ro",	  ":/mnt/x",	    "a b",	"/srv",	 "./a",
		"a/b",	"a:/etc",     "a:x",	  "a:/mnt",	    "a:/mnt/",	"a::ro", "a:/mnt//x",
		"a:b:c", "a:/mnt/x:wr/..", "a:/mnt/../x", "a:/mnt/data", "a:/mnt/data/x",
		"0123456789012345678901234567890123456789012345678901234567890123",
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *name = NULL, *path = NULL;
		bool read_only = false;
		struct err err;

		if (parse_volume_spec(rows[i], &name, &path, &read_only, &err) != ERR_INVALID)
			fail_msg("'%s' was taken as '%s' at '%s'", rows[i], name, path);
		assert_null(name);
		assert_null(path);
	}
}
