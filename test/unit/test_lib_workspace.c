/*
 * test_lib_workspace.c - scanning and storing a hostile directory from outside its box.
 *
 * Runs in:  the unit suite.
 * Reads:    its own temporary directories.
 * Never:    waits for a race: threads run as fast as they can for a fixed number of rounds.
 */
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "codec/json_read.h"
#include "lib/workspace/workspace.h"

#define SECRET "the secret outside"

struct fixture {
	char path[64], state_path[64];
	int fd, state_fd;
	struct store *store;
};

static int set_up(void **state)
{
	static struct fixture fixture;
	struct err err;
	int fd;

	fixture.fd = unit_mkdir(fixture.path);
	fixture.state_fd = unit_mkdir(fixture.state_path);
	assert_ok(&err, store_open(fixture.state_path, &fixture.store, &err));
	fd = openat(fixture.state_fd, "secret", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, SECRET, strlen(SECRET)), strlen(SECRET));
	(void)close(fd);
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	store_close(fixture->store);
	(void)close(fixture->fd);
	(void)close(fixture->state_fd);
	unit_rmdir(fixture->path);
	unit_rmdir(fixture->state_path);
	return 0;
}

static void put(int dir_fd, const char *path, const char *text)
{
	int fd = openat(dir_fd, path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	(void)close(fd);
}

static struct workspace *scan(struct fixture *fixture)
{
	struct workspace *found = NULL;
	struct err err;

	assert_ok(&err, workspace_scan(fixture->fd, NULL, &found, &err));
	return found;
}

static struct record *new_record(void)
{
	const struct record_head head = { .id = "ex_1",
					  .session = "se_1",
					  .kernel = "python",
					  .sequence = 1,
					  .started_at = "2026-11-21T22:00:00.123Z" };

	return record_new(&head);
}

/* Collects into a record; returns the record's JSON, parsed by the strict reader. */
static struct json_value *collect(struct fixture *fixture, const struct workspace *old,
				  const struct workspace *new)
{
	cleanup_record struct record *record = new_record();
	cleanup_buf struct buf json = BUF_INIT(RECORD_JSON_MAX);
	struct json_value *document = NULL;
	struct err err;

	workspace_collect(fixture->fd, old, new, fixture->store, record);
	assert_ok(&err, record_finish(record, RECORD_OK, &json, &err));
	assert_ok(&err, json_read_parse(json.data, json.len, json.len, &document, &err));
	return document;
}

static const char *field(const struct json_value *document, const char *list, size_t index,
			 const char *key)
{
	const struct json_value *item = json_read_at(json_read_member(document, list), index);

	return json_read_text(json_read_member(item, key), NULL);
}

static size_t count_of(const struct json_value *document, const char *list)
{
	return json_read_count(json_read_member(document, list));
}

UNIT_TEST_WITH(a_scan_lists_everything_but_directories_sorted, set_up, tear_down)
{
	struct fixture *fixture = *state;
	cleanup_workspace struct workspace *found = NULL;
	static const struct {
		const char *path;
		enum workspace_kind kind;
	} expected[] = { { "a.txt", WORKSPACE_FILE },	 { "d/e/deep.txt", WORKSPACE_FILE },
			 { "d/in.txt", WORKSPACE_FILE }, { "link", WORKSPACE_SYMLINK },
			 { "pipe", WORKSPACE_FIFO } };

	put(fixture->fd, "a.txt", "12345");
	assert_int_equal(mkdirat(fixture->fd, "d", 0755), 0);
	assert_int_equal(mkdirat(fixture->fd, "d/e", 0755), 0);
	put(fixture->fd, "d/in.txt", "");
	put(fixture->fd, "d/e/deep.txt", "x");
	assert_int_equal(symlinkat("/etc", fixture->fd, "link"), 0);
	assert_int_equal(mkfifoat(fixture->fd, "pipe", 0644), 0);
	found = scan(fixture);
	assert_int_equal(found->count, 5);
	assert_false(found->is_incomplete);
	for (size_t i = 0; i < found->count; i++) {
		assert_string_equal(found->entries[i].path, expected[i].path);
		assert_int_equal(found->entries[i].kind, expected[i].kind);
	}
	assert_int_equal(found->entries[0].size, 5);
}

UNIT_TEST_WITH(an_unchanged_workspace_has_no_difference, set_up, tear_down)
{
	struct fixture *fixture = *state;
	cleanup_workspace struct workspace *old = NULL, *new = NULL;
	cleanup_free struct workspace_delta *deltas = NULL;
	size_t count = 99;

	put(fixture->fd, "a", "x");
	assert_int_equal(mkdirat(fixture->fd, "d", 0755), 0);
	put(fixture->fd, "d/b", "x");
	old = scan(fixture);
	new = scan(fixture);
	workspace_diff(old, new, &deltas, &count);
	assert_int_equal(count, 0);
}

UNIT_TEST_WITH(changes_are_stored_and_recorded, set_up, tear_down)
{
	struct fixture *fixture = *state;
	cleanup_workspace struct workspace *old = NULL, *new = NULL;
	struct json_value *document;
	uint64_t size = 0;
	struct err err;

	put(fixture->fd, "gone.txt", "1");
	put(fixture->fd, "kept.txt", "1");
	put(fixture->fd, "new_size.csv", "a,b\n");
	old = scan(fixture);
	assert_int_equal(unlinkat(fixture->fd, "gone.txt", 0), 0);
	put(fixture->fd, "abc.txt", "abc");
	put(fixture->fd, "new_size.csv", "a,b\n1,2\n");
	new = scan(fixture);
	document = collect(fixture, old, new);
	assert_int_equal(count_of(document, "files"), 3);
	assert_int_equal(count_of(document, "diagnostics"), 0);
	assert_string_equal(field(document, "files", 0, "path"), "abc.txt");
	assert_string_equal(field(document, "files", 0, "change"), "created");
	assert_string_equal(field(document, "files", 0, "mime"), "text/plain");
	assert_string_equal(field(document, "files", 0, "sha256"),
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_ok(&err, store_stat(fixture->store, field(document, "files", 0, "artifact"), &size,
				   &err));
	assert_int_equal(size, 3);
	assert_string_equal(field(document, "files", 1, "path"), "gone.txt");
	assert_string_equal(field(document, "files", 1, "change"), "deleted");
	assert_null(field(document, "files", 1, "artifact"));
	assert_string_equal(field(document, "files", 2, "path"), "new_size.csv");
	assert_string_equal(field(document, "files", 2, "change"), "modified");
	assert_string_equal(field(document, "files", 2, "mime"), "text/csv");
	json_read_free(document);
}

/* Opening a FIFO would wait for a writer for ever, opening a link would leave the workspace. */
UNIT_TEST_WITH(special_files_are_named_and_never_opened, set_up, tear_down)
{
	struct fixture *fixture = *state;
	cleanup_workspace struct workspace *new = NULL;
	cleanup_buf struct buf list = BUF_INIT(4096);
	struct json_value *document;
	char target[128];
	struct err err;

	(void)snprintf(target, sizeof(target), "%s/secret", fixture->state_path);
	assert_int_equal(symlinkat(target, fixture->fd, "escape"), 0);
	assert_int_equal(symlinkat("loop", fixture->fd, "loop"), 0);
	assert_int_equal(symlinkat(fixture->state_path, fixture->fd, "out"), 0);
	assert_int_equal(mkfifoat(fixture->fd, "pipe", 0644), 0);
	new = scan(fixture);
	document = collect(fixture, NULL, new);
	assert_int_equal(count_of(document, "files"), 4);
	for (size_t i = 0; i < 4; i++) {
		assert_null(field(document, "files", i, "artifact"));
		assert_string_equal(field(document, "files", i, "kind"), i < 3 ? "symlink" : "fifo");
	}
	json_read_free(document);
	assert_ok(&err, workspace_list_json(fixture->fd, new, &list, &err));
	assert_string_equal(buf_text(&list), "[]");
}

UNIT_TEST_WITH(names_that_are_not_utf8_are_escaped, set_up, tear_down)
{
	struct fixture *fixture = *state;
	cleanup_workspace struct workspace *new = NULL;
	struct json_value *document;

	put(fixture->fd, "bad\xff\n\\name", "content");
	assert_int_equal(mkdirat(fixture->fd, "d\xff", 0755), 0);
	put(fixture->fd, "d\xff/inside", "content");
	new = scan(fixture);
	document = collect(fixture, NULL, new);
	assert_int_equal(count_of(document, "files"), 2);
	assert_string_equal(field(document, "files", 0, "path"), "bad\\xff\\x0a\\\\name");
	assert_null(field(document, "files", 0, "artifact"));
	assert_string_equal(field(document, "files", 1, "path"), "d\\xff");
	assert_string_equal(field(document, "files", 1, "kind"), "directory");
	assert_string_equal(field(document, "diagnostics", 0, "code"), "file_not_kept");
	json_read_free(document);
}

UNIT_TEST_WITH(limits_make_a_scan_incomplete_not_wrong, set_up, tear_down)
{
	struct fixture *fixture = *state;
	cleanup_workspace struct workspace *full = NULL, *before = NULL;
	cleanup_free struct workspace_delta *deltas = NULL;
	struct json_value *document;
	size_t count = 0;
	char name[32];

	put(fixture->fd, "early", "x");
	before = scan(fixture);
	assert_int_equal(mkdirat(fixture->fd, "many", 0755), 0);
	for (unsigned i = 0; i < WORKSPACE_ENTRIES_MAX; i++) {
		(void)snprintf(name, sizeof(name), "many/%u", i);
		assert_int_equal(mknodat(fixture->fd, name, S_IFREG | 0644, 0), 0);
	}
	full = scan(fixture);
	assert_true(full->is_incomplete);
	assert_in_range(full->count, 1, WORKSPACE_ENTRIES_MAX);
	/* A file near the top is found despite the many files below. */
	assert_string_equal(full->entries[0].path, "early");
	document = collect(fixture, before, full);
	assert_int_equal(count_of(document, "files"), RECORD_FILES_MAX);
	assert_int_equal(count_of(document, "diagnostics"), 2);
	json_read_free(document);
	/* A file that a limit hid does not count as deleted. */
	workspace_diff(full, full, &deltas, &count);
	assert_int_equal(count, 0);
	free(TAKE_PTR(deltas));
	before->entries[0].path[0] = 'E';
	workspace_diff(before, full, &deltas, &count);
	for (size_t i = 0; i < count; i++)
		assert_int_not_equal(deltas[i].change, WORKSPACE_DELETED);
}

UNIT_TEST_WITH(depth_is_limited, set_up, tear_down)
{
	struct fixture *fixture = *state;
	cleanup_workspace struct workspace *found = NULL;
	int at = openat(fixture->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (unsigned i = 0; i < WORKSPACE_DEPTH_MAX + 10; i++) {
		int next;

		put(at, "f", "x");
		assert_int_equal(mkdirat(at, "d", 0755), 0);
		next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		(void)close(at);
		at = next;
	}
	(void)close(at);
	found = scan(fixture);
	assert_true(found->is_incomplete);
	assert_int_equal(found->count, WORKSPACE_DEPTH_MAX);
}

UNIT_TEST_WITH(a_file_too_large_is_listed_without_content, set_up, tear_down)
{
	struct fixture *fixture = *state;
	cleanup_workspace struct workspace *new = NULL;
	struct json_value *document;
	cleanup_fd int fd = openat(fixture->fd, "hole", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	assert_int_equal(ftruncate(fd, (off_t)WORKSPACE_FILE_MAX + 1), 0);
	new = scan(fixture);
	document = collect(fixture, NULL, new);
	assert_int_equal(count_of(document, "files"), 1);
	assert_null(field(document, "files", 0, "artifact"));
	assert_string_equal(field(document, "diagnostics", 0, "code"), "file_too_large");
	json_read_free(document);
}

UNIT_TEST_WITH(the_list_has_the_documented_members, set_up, tear_down)
{
	struct fixture *fixture = *state;
	const struct timespec times[2] = { { 1, 0 }, { 1700000000, 5 } };
	cleanup_workspace struct workspace *found = NULL;
	cleanup_buf struct buf list = BUF_INIT(4096);
	struct err err;

	put(fixture->fd, "t.csv", "a,b\n");
	assert_int_equal(utimensat(fixture->fd, "t.csv", times, 0), 0);
	found = scan(fixture);
	assert_ok(&err, workspace_list_json(fixture->fd, found, &list, &err));
	assert_string_equal(buf_text(&list), "[{\"path\":\"t.csv\",\"size\":4,\"mime\":\"text/csv\","
			    "\"modified\":\"2023-11-14T22:13:20Z\"}]");
}

/* ---- races ------------------------------------------------------------------------------ */

struct racer {
	int dir_fd;
	const char *target; /* outside */
	atomic_bool stop;
};

/* Turns "victim" into a file, a link out, a directory and a FIFO, and renames a directory. */
static void *race(void *arg)
{
	struct racer *racer = arg;

	while (!atomic_load(&racer->stop)) {
		int fd = openat(racer->dir_fd, "tmp", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

		(void)!write(fd, "inside", 6);
		(void)close(fd);
		(void)renameat(racer->dir_fd, "tmp", racer->dir_fd, "victim");
		(void)!symlinkat(racer->target, racer->dir_fd, "tmp");
		(void)renameat(racer->dir_fd, "tmp", racer->dir_fd, "victim");
		(void)unlinkat(racer->dir_fd, "victim", 0);
		(void)mkdirat(racer->dir_fd, "victim", 0755);
		(void)unlinkat(racer->dir_fd, "victim", AT_REMOVEDIR);
		(void)mkfifoat(racer->dir_fd, "victim", 0644);
		(void)unlinkat(racer->dir_fd, "victim", 0);
		(void)renameat(racer->dir_fd, "d", racer->dir_fd, "e");
		(void)!symlinkat("..", racer->dir_fd, "d");
		(void)unlinkat(racer->dir_fd, "d", 0);
		(void)renameat(racer->dir_fd, "e", racer->dir_fd, "d");
	}
	return NULL;
}

/* No stored file may have the size of SECRET: following a link would store it. */
static void check_round(struct fixture *fixture, size_t *stored)
{
	cleanup_workspace struct workspace *new = scan(fixture);
	struct json_value *document = collect(fixture, NULL, new);

	for (size_t i = 0; i < count_of(document, "files"); i++) {
		const char *artifact = field(document, "files", i, "artifact");
		const char *path = field(document, "files", i, "path");
		uint64_t size = 0;
		struct err err;

		assert_null(strstr(path, "secret"));
		if (artifact == NULL)
			continue;
		assert_ok(&err, store_stat(fixture->store, artifact, &size, &err));
		assert_int_not_equal(size, strlen(SECRET));
		(*stored)++;
	}
	json_read_free(document);
}

UNIT_TEST_WITH(a_racing_box_gets_nothing_from_outside, set_up, tear_down)
{
	struct fixture *fixture = *state;
	char target[128];
	struct racer racer = { .dir_fd = fixture->fd, .target = target };
	pthread_t thread;
	size_t stored = 0;
	int fds = unit_open_fds();

	(void)snprintf(target, sizeof(target), "%s/secret", fixture->state_path);
	assert_int_equal(mkdirat(fixture->fd, "d", 0755), 0);
	put(fixture->fd, "d/in", "in");
	assert_int_equal(pthread_create(&thread, NULL, race, &racer), 0);
	for (int round = 0; round < 2000; round++)
		check_round(fixture, &stored);
	atomic_store(&racer.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(stored > 0);
	assert_int_equal(unit_open_fds(), fds);
}

UNIT_TEST_WITH(a_vanished_file_is_left_out, set_up, tear_down)
{
	struct fixture *fixture = *state;
	cleanup_workspace struct workspace *new = NULL;
	struct json_value *document;

	put(fixture->fd, "a", "x");
	put(fixture->fd, "b", "x");
	new = scan(fixture);
	assert_int_equal(unlinkat(fixture->fd, "a", 0), 0);
	assert_int_equal(unlinkat(fixture->fd, "b", 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", fixture->fd, "b"), 0);
	document = collect(fixture, NULL, new);
	assert_int_equal(count_of(document, "files"), 1);
	assert_string_equal(field(document, "files", 0, "path"), "b");
	assert_null(field(document, "files", 0, "artifact"));
	assert_string_equal(field(document, "diagnostics", 0, "code"), "file_not_kept");
	json_read_free(document);
}
