/*
 * test_lib_session.c - options, mounts, files, branches, doctor.
 *
 * Runs in:  the unit suite, against a fake warden and kernel.
 * Reads:    its own temporary directories.
 * Never:    needs a box.
 */
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <reckon_files.h>

#include "lib/session/branch.h"
#include "support/lib_fixture.h"

static const struct fake_config plain;

static void refuse(struct fixture *fixture, const reckon_session_options *options, const char *why)
{
	reckon_session *session = NULL;
	reckon_error err;

	assert_int_equal(reckon_session_open(fixture->engine, options, &session, &err),
			 RECKON_EINVALID);
	if (strstr(err.message, why) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.message, why);
	assert_null(session);
}

UNIT_TEST(test_wrong_options)
{
	static const char *const bad_env[] = { "NOVALUE", NULL };
	const reckon_mount at_data = { "/tmp", "/mnt/data", 0 }, outside = { "/tmp", "/etc", 0 },
			   dots = { "/tmp", "/mnt/../etc", 0 }, below = { "/tmp", "/mnt/data/x", 0 };
	struct fixture fixture;
	reckon_session_options options = { .size = 0 };

	fixture_open_engine(&fixture, &plain);
	refuse(&fixture, &options, "size");
	options.size = sizeof(options);
	options.template_name = "../etc";
	refuse(&fixture, &options, "template");
	options.template_name = NULL;
	options.language = "";
	refuse(&fixture, &options, "language");
	options.language = NULL;
	options.limits.output_bytes = UINT64_MAX;
	refuse(&fixture, &options, "output_bytes");
	options.limits.output_bytes = 0;
	options.env = bad_env;
	refuse(&fixture, &options, "NOVALUE");
	options.env = NULL;
	options.mount_count = 1;
	options.mounts = &at_data;
	refuse(&fixture, &options, "workspace");
	options.mounts = &below;
	refuse(&fixture, &options, "workspace");
	options.mounts = &outside;
	refuse(&fixture, &options, "/etc");
	options.mounts = &dots;
	refuse(&fixture, &options, "..");
	options.mount_count = 9;
	refuse(&fixture, &options, "9 mounts");
	fixture_close(&fixture);
}

/* An older caller's struct is shorter, a newer one's longer. */
UNIT_TEST(test_other_versions_of_options)
{
	struct {
		reckon_session_options known;
		uint64_t unknown;
	} newer = { .known = { .size = sizeof(newer) } };
	const reckon_session_options older = { .size = offsetof(reckon_session_options, mounts) };
	struct fixture fixture;
	reckon_error err;

	fixture_open(&fixture, &plain, &older);
	reckon_session_close(fixture.session);
	assert_int_equal(reckon_session_open(fixture.engine, &newer.known, &fixture.session, &err),
			 0);
	reckon_session_close(fixture.session);
	fixture.session = NULL;
	newer.unknown = 1;
	refuse(&fixture, &newer.known, "too old");
	fixture_close(&fixture);
}

static int file_with(const char *text)
{
	char name[] = "/tmp/reckon-unit-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	(void)unlink(name);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

UNIT_TEST(test_files)
{
	struct fixture fixture;
	reckon_error err;
	char text[16] = "", *json;
	int fd = file_with("1,2,3"), back = file_with("");

	fixture_open(&fixture, &plain, NULL);
	assert_int_equal(reckon_file_put(fixture.session, "in/a.csv", fd, &err), 0);
	assert_int_equal(reckon_file_get(fixture.session, "in/a.csv", back, &err), 0);
	assert_int_equal(pread(back, text, sizeof(text), 0), 5);
	assert_string_equal(text, "1,2,3");
	assert_int_equal(reckon_file_list(fixture.session, &json, &err), 0);
	assert_non_null(strstr(json, "\"in/a.csv\""));
	free(json);
	{
		/* The file that the host put is not reported as a file of the cell. */
		cleanup_result struct result result = fixture_run(&fixture, "file b.txt x", NULL);

		assert_int_equal(json_read_count(result_member(&result, "files")), 1);
	}
	{
		uint64_t size = 0;
		char bytes[8];
		int opened = -1;

		assert_int_equal(reckon_file_open(fixture.session, "in/a.csv", &opened, &size, &err),
				 0);
		assert_int_equal(size, 5);
		assert_int_equal(read(opened, bytes, sizeof(bytes)), 5);
		(void)close(opened);
		assert_int_equal(reckon_file_delete(fixture.session, "in/a.csv", &err), 0);
		assert_int_equal(reckon_file_delete(fixture.session, "in/a.csv", &err),
				 RECKON_ENOT_FOUND);
		assert_int_equal(reckon_file_open(fixture.session, "../up", &opened, &size, &err),
				 RECKON_EINVALID);
	}
	assert_int_equal(reckon_file_get(fixture.session, "none", back, &err), RECKON_ENOT_FOUND);
	assert_int_equal(reckon_file_put(fixture.session, "../up", fd, &err), RECKON_EINVALID);
	assert_int_equal(reckon_file_get(fixture.session, "/etc/passwd", back, &err),
			 RECKON_EINVALID);
	(void)close(fd);
	(void)close(back);
	fixture_close(&fixture);
}

UNIT_TEST(test_branch)
{
	reckon_session *copy = NULL;
	struct fixture fixture, other;
	reckon_error err;

	fixture_open(&fixture, &plain, NULL);
	{
		cleanup_result struct result result = fixture_run(&fixture, "file a.txt one", NULL);

		assert_string_equal(result_status(&result), "ok");
	}
	assert_int_equal(session_branch(fixture.session, &copy, &err), 0);
	assert_string_not_equal(reckon_session_id(copy), reckon_session_id(fixture.session));
	other = fixture;
	other.session = copy;
	{
		cleanup_result struct result in_copy =
			fixture_run(&other, "file b.txt two\nout copy", NULL);
		cleanup_result struct result in_parent = fixture_run(&fixture, "out parent", NULL);
		int64_t sequence = 0;

		/* The files of the parent are not reported as new. */
		assert_int_equal(json_read_count(result_member(&in_copy, "files")), 1);
		assert_string_equal(result_text(&in_copy, "stdout"), "copy\n");
		assert_string_equal(result_text(&in_parent, "stdout"), "parent\n");
		assert_true(json_read_int(result_member(&in_copy, "sequence"), &sequence));
		assert_int_equal(sequence, 2);
	}
	reckon_session_close(copy);
	{
		cleanup_result struct result result = fixture_run(&fixture, "exit 1", NULL);

		assert_string_equal(result_status(&result), "kernel_died");
	}
	assert_int_equal(session_branch(fixture.session, &copy, &err), RECKON_EKERNEL_LOST);
	fixture_close(&fixture);
}

UNIT_TEST(test_doctor)
{
	struct fixture fixture;
	struct json_value *value;
	reckon_error error;
	struct err err;
	char *json;

	fixture_open_engine(&fixture, &plain);
	assert_int_equal(reckon_engine_doctor(fixture.engine, &json, &error), 0);
	assert_ok(&err, json_read_parse(json, strlen(json), strlen(json), &value, &err));
	assert_int_equal(json_read_count(json_read_member(value, "walls")), 1);
	json_read_free(value);
	free(json);
	fixture_close(&fixture);
}

/* A dead kernel in one session does not affect another session of the same engine. */
UNIT_TEST(test_sessions_are_independent)
{
	struct fixture fixture, other;
	reckon_error err;

	fixture_open(&fixture, &plain, NULL);
	other = fixture;
	assert_int_equal(reckon_session_open(fixture.engine, NULL, &other.session, &err), 0);
	{
		cleanup_result struct result dead = fixture_run(&other, "exit 1", NULL);
		cleanup_result struct result alive = fixture_run(&fixture, "out yes", NULL);

		assert_string_equal(result_status(&dead), "kernel_died");
		assert_string_equal(result_text(&alive, "stdout"), "yes\n");
	}
	/* other.session stays open on purpose: the engine closes it. */
	fixture_close(&fixture);
}

UNIT_TEST(a_list_of_modules_may_end_with_a_comma)
{
	static const char ini[] = "[template]\nname = t\npython = 3.11\n"
				  "[preload]\nmodules = numpy, json, \n";
	char state_dir[64], path[128], *json = NULL;
	const int fd = unit_mkdir(state_dir);
	reckon_engine *engine = NULL;
	reckon_error err;
	FILE *file;

	assert_int_equal(mkdirat(fd, "templates", 0755), 0);
	assert_int_equal(mkdirat(fd, "templates/t", 0755), 0);
	(void)close(fd);
	(void)snprintf(path, sizeof(path), "%s/templates/t/template.ini", state_dir);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(ini, 1, sizeof(ini) - 1, file), sizeof(ini) - 1);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(reckon_engine_open(&(reckon_engine_options){
						    .size = sizeof(reckon_engine_options),
						    .state_dir = state_dir },
					    &engine, &err),
			 0);
	assert_int_equal(reckon_template_list(engine, "t", &json, &err), 0);
	assert_non_null(strstr(json, "\"preload\":[\"numpy\",\"json\"]"));
	free(json);
	reckon_engine_close(engine);
	unit_rmdir(state_dir);
}
