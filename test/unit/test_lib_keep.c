/*
 * test_lib_keep.c - workspaces stored and restored byte by byte, and failures.
 *
 * Runs in:  the unit suite.
 * Reads:    its own temporary directories.
 * Never:    accepts an incomplete workspace as complete.
 */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "lib/store/persist.h"
#include "lib/workspace/part.h"

struct fixture {
	char state[64], from[64], to[64];
	int state_fd, from_fd, to_fd;
	struct store *store;
	struct manifest *tree;
};

static const struct persist_bounds bounds = { .bytes = 1u << 20, .entries = 1000 };

static int set_up(void **state)
{
	static struct fixture fixture;
	struct err err;

	fixture.state_fd = unit_mkdir(fixture.state);
	fixture.from_fd = unit_mkdir(fixture.from);
	fixture.to_fd = unit_mkdir(fixture.to);
	fixture.tree = persist_new();
	assert_ok(&err, store_open(fixture.state, &fixture.store, &err));
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	persist_free(fixture->tree);
	store_close(fixture->store);
	(void)close(fixture->state_fd);
	(void)close(fixture->from_fd);
	(void)close(fixture->to_fd);
	unit_rmdir(fixture->state);
	unit_rmdir(fixture->from);
	unit_rmdir(fixture->to);
	return 0;
}

static void put(int dir_fd, const char *name, const void *bytes, size_t len)
{
	cleanup_fd int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	struct err err;

	assert_true(fd >= 0);
	assert_ok(&err, fd_write_full(fd, bytes, len, &err));
}

static void run_part(struct fixture *fixture, const struct persist_bounds *within,
		     const struct part *part)
{
	const struct persist_look look = { .part = part };
	struct err err;

	assert_ok(&err, persist_run(fixture->tree, fixture->from_fd, fixture->store, within, &look,
				 &err));
}

static void run(struct fixture *fixture, const struct persist_bounds *within)
{
	run_part(fixture, within, NULL);
}

static reckon_workspace *take(struct fixture *fixture)
{
	reckon_workspace *taken;

	persist_take(fixture->tree, &taken);
	return taken;
}

static const reckon_workspace_entry *find(const reckon_workspace *taken, const char *path)
{
	for (size_t i = 0; i < taken->count; i++)
		if (strcmp(taken->entries[i].path, path) == 0)
			return &taken->entries[i];
	return NULL;
}

static void done(reckon_workspace *taken)
{
	for (size_t i = 0; i < taken->count; i++) {
		free(taken->entries[i].path);
		free(taken->entries[i].content);
	}
	free(taken->entries);
	free(taken);
}

static void assert_file(int dir_fd, const char *name, const void *bytes, size_t len)
{
	cleanup_fd int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	cleanup_free char *found = mem_new0(len + 1, 1);
	struct err err;

	assert_true(fd >= 0);
	assert_int_equal(fd_read_full(fd, found, len + 1, &err), len);
	assert_memory_equal(found, bytes, len);
}

UNIT_TEST_WITH(a_workspace_is_restored_completely, set_up, tear_down)
{
	struct fixture *fixture = *state;
	const struct timespec times[2] = { { 1000000000, 5 }, { 1000000000, 5 } };
	static char zeros[300000];
	reckon_workspace *taken;
	struct stat st, other;
	char target[16] = "";
	struct err err;

	put(fixture->from_fd, "a", "first", 5);
	put(fixture->from_fd, "empty", "", 0);
	put(fixture->from_fd, "zeros", zeros, sizeof(zeros));
	put(fixture->from_fd, "\xff\n", "name", 4);
	assert_int_equal(mkdirat(fixture->from_fd, "d", 0755), 0);
	put(fixture->from_fd, "d/x", "inner", 5);
	assert_int_equal(linkat(fixture->from_fd, "a", fixture->from_fd, "d/same", 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", fixture->from_fd, "s"), 0);
	assert_int_equal(mkfifoat(fixture->from_fd, "p", 0622), 0);
	assert_int_equal(fchmodat(fixture->from_fd, "a", 0741, 0), 0);
	assert_int_equal(fchmodat(fixture->from_fd, "d", 0511, 0), 0);
	assert_int_equal(utimensat(fixture->from_fd, "a", times, 0), 0);
	run(fixture, &bounds);
	taken = take(fixture);
	assert_true(taken->is_whole);
	assert_int_equal(taken->count, 9);
	assert_int_equal(taken->not_kept, 0);
	assert_int_equal(find(taken, "d/same")->kind, RECKON_ENTRY_HARD_LINK);
	assert_string_equal(find(taken, "d/same")->content, "a");

	put(fixture->to_fd, "of the template", "x", 1);
	assert_ok(&err, persist_restore(fixture->tree, fixture->to_fd, fixture->store, taken->entries,
				     taken->count, (uid_t)-1, (gid_t)-1, NULL, &err));
	assert_file(fixture->to_fd, "a", "first", 5);
	assert_file(fixture->to_fd, "empty", "", 0);
	assert_file(fixture->to_fd, "zeros", zeros, sizeof(zeros));
	assert_file(fixture->to_fd, "\xff\n", "name", 4);
	assert_file(fixture->to_fd, "d/x", "inner", 5);
	assert_int_equal(faccessat(fixture->to_fd, "of the template", F_OK, 0), -1);
	assert_int_equal(fstatat(fixture->to_fd, "a", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0741);
	assert_int_equal(st.st_mtim.tv_sec, 1000000000);
	assert_int_equal(st.st_mtim.tv_nsec, 5);
	assert_int_equal(fstatat(fixture->to_fd, "d/same", &other, 0), 0);
	assert_int_equal(st.st_ino, other.st_ino);
	assert_int_equal(fstatat(fixture->to_fd, "d", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0511);
	assert_int_equal(fstatat(fixture->to_fd, "zeros", &st, 0), 0);
	assert_true(st.st_blocks * 512 < (blkcnt_t)sizeof(zeros));
	assert_int_equal(fstatat(fixture->to_fd, "p", &st, 0), 0);
	assert_true(S_ISFIFO(st.st_mode));
	assert_int_equal(readlinkat(fixture->to_fd, "s", target, sizeof(target)), 11);
	assert_string_equal(target, "/etc/passwd");
	done(taken);
	assert_int_equal(fchmodat(fixture->from_fd, "d", 0755, 0), 0);
	assert_int_equal(fchmodat(fixture->to_fd, "d", 0755, 0), 0);
}

UNIT_TEST_WITH(only_changes_are_reported, set_up, tear_down)
{
	struct fixture *fixture = *state;
	reckon_workspace *taken;

	put(fixture->from_fd, "a", "1", 1);
	put(fixture->from_fd, "b", "2", 1);
	run(fixture, &bounds);
	done(take(fixture));
	run(fixture, &bounds);
	taken = take(fixture);
	assert_int_equal(taken->count, 0);
	assert_false(taken->is_whole);
	done(taken);

	assert_int_equal(unlinkat(fixture->from_fd, "a", 0), 0);
	/* A change of the same size is found: each run waits for a tick after its files. */
	put(fixture->from_fd, "b", "3", 1);
	run(fixture, &bounds);
	taken = take(fixture);
	assert_int_equal(taken->count, 2);
	assert_int_equal(find(taken, "a")->kind, RECKON_ENTRY_GONE);
	assert_int_equal(find(taken, "b")->kind, RECKON_ENTRY_FILE);
	done(taken);
}

/* The file keeps its size and inode and, within one tick of the clock, its timestamps. */
UNIT_TEST_WITH(a_change_within_one_clock_tick_is_reported, set_up, tear_down)
{
	struct fixture *fixture = *state;
	char text[16];

	for (unsigned i = 0; i < 100; i++) {
		reckon_workspace *taken;

		/* With only two contents, which are stored soon, a run takes less than a tick. */
		(void)snprintf(text, sizeof(text), "%08u", i % 2);
		put(fixture->from_fd, "a", text, 8);
		run(fixture, &bounds);
		taken = take(fixture);
		assert_non_null(find(taken, "a"));
		done(taken);
	}
}

/* A client changes the part while a cell changes other files: only the part is stored. */
UNIT_TEST_WITH(a_run_on_a_part_stores_only_that_part, set_up, tear_down)
{
	static const char *const paths[] = { "new/deep/x", "gone" };
	const struct part part = { .paths = paths, .count = 2 };
	struct fixture *fixture = *state;
	reckon_workspace *taken;

	put(fixture->from_fd, "cell", "before", 6);
	put(fixture->from_fd, "gone", "1", 1);
	put(fixture->from_fd, "gone-not", "1", 1);
	run(fixture, &bounds);
	done(take(fixture));

	put(fixture->from_fd, "cell", "half of it", 10);
	put(fixture->from_fd, "half", "h", 1);
	assert_int_equal(unlinkat(fixture->from_fd, "gone", 0), 0);
	assert_int_equal(unlinkat(fixture->from_fd, "gone-not", 0), 0);
	assert_int_equal(mkdirat(fixture->from_fd, "new", 0755), 0);
	assert_int_equal(mkdirat(fixture->from_fd, "new/deep", 0755), 0);
	put(fixture->from_fd, "new/deep/x", "put", 3);
	put(fixture->from_fd, "new/beside", "b", 1);
	run_part(fixture, &bounds, &part);
	taken = take(fixture);
	assert_int_equal(taken->count, 4);
	assert_int_equal(find(taken, "gone")->kind, RECKON_ENTRY_GONE);
	assert_int_equal(find(taken, "new")->kind, RECKON_ENTRY_DIRECTORY);
	assert_int_equal(find(taken, "new/deep")->kind, RECKON_ENTRY_DIRECTORY);
	assert_int_equal(find(taken, "new/deep/x")->size, 3);
	done(taken);

	run(fixture, &bounds);
	taken = take(fixture);
	assert_int_equal(find(taken, "cell")->size, 10);
	assert_int_equal(find(taken, "gone-not")->kind, RECKON_ENTRY_GONE);
	assert_non_null(find(taken, "half"));
	assert_non_null(find(taken, "new/beside"));
	assert_null(find(taken, "new/deep/x"));
	done(taken);
}

/* The parent folder became a file, which is not reported: the list still has a folder there. */
UNIT_TEST_WITH(a_part_whose_folder_became_a_file_stays_consistent, set_up, tear_down)
{
	static const char *const paths[] = { "d/x" };
	const struct part part = { .paths = paths, .count = 1 };
	struct fixture *fixture = *state;
	reckon_workspace *taken;

	assert_int_equal(mkdirat(fixture->from_fd, "d", 0755), 0);
	put(fixture->from_fd, "d/x", "1", 1);
	put(fixture->from_fd, "d/y", "1", 1);
	run(fixture, &bounds);
	done(take(fixture));
	assert_int_equal(unlinkat(fixture->from_fd, "d/x", 0), 0);
	assert_int_equal(unlinkat(fixture->from_fd, "d/y", 0), 0);
	assert_int_equal(unlinkat(fixture->from_fd, "d", AT_REMOVEDIR), 0);
	put(fixture->from_fd, "d", "a file", 6);
	run_part(fixture, &bounds, &part);
	taken = take(fixture);
	assert_int_equal(taken->count, 1);
	assert_int_equal(find(taken, "d/x")->kind, RECKON_ENTRY_GONE);
	done(taken);
}

/* A file has two names, one of them outside of the part: then the whole workspace is stored. */
UNIT_TEST_WITH(a_hard_link_out_of_a_part_stores_both_names, set_up, tear_down)
{
	static const char *const paths[] = { "second" };
	const struct part part = { .paths = paths, .count = 1 };
	struct fixture *fixture = *state;
	reckon_workspace *taken;

	put(fixture->from_fd, "other", "1", 1);
	run(fixture, &bounds);
	done(take(fixture));
	put(fixture->from_fd, "first", "f", 1);
	assert_int_equal(linkat(fixture->from_fd, "first", fixture->from_fd, "second", 0), 0);
	run_part(fixture, &bounds, &part);
	taken = take(fixture);
	assert_int_equal(taken->number, 2);
	assert_int_equal(find(taken, "first")->kind, RECKON_ENTRY_FILE);
	assert_int_equal(find(taken, "second")->kind, RECKON_ENTRY_HARD_LINK);
	done(taken);
}

UNIT_TEST_WITH(after_persist_forget_everything_is_reported_again, set_up, tear_down)
{
	struct fixture *fixture = *state;
	reckon_workspace *taken;

	put(fixture->from_fd, "a", "1", 1);
	run(fixture, &bounds);
	done(take(fixture));
	persist_forget(fixture->tree);
	run(fixture, &bounds);
	taken = take(fixture);
	assert_true(taken->is_whole);
	assert_int_equal(taken->count, 1);
	done(taken);
}

UNIT_TEST_WITH(files_over_the_limits_are_reported, set_up, tear_down)
{
	const struct persist_bounds tight = { .bytes = 100, .entries = 1000 };
	const struct persist_bounds few = { .bytes = 100, .entries = 1 };
	struct fixture *fixture = *state;
	static char large[200];
	reckon_workspace *taken;

	put(fixture->from_fd, "a", "small", 5);
	put(fixture->from_fd, "b", large, sizeof(large));
	run(fixture, &tight);
	taken = take(fixture);
	assert_int_equal(find(taken, "a")->kind, RECKON_ENTRY_FILE);
	assert_int_equal(find(taken, "b")->kind, RECKON_ENTRY_NOT_KEPT);
	assert_int_equal(taken->not_kept, 1);
	assert_non_null(strstr(taken->why, "b: "));
	done(taken);
	run(fixture, &few);
	taken = take(fixture);
	assert_true(taken->not_kept > 0);
	done(taken);
}

static void note_missing(const char *path, const char *why, void *arg)
{
	char *report = arg;

	(void)snprintf(report + strlen(report), 200 - strlen(report), "%s: %s;", path, why);
}

UNIT_TEST_WITH(missing_or_damaged_content_fails_the_restore, set_up, tear_down)
{
	struct fixture *fixture = *state;
	char path[200], trash[220], report[200] = "";
	reckon_workspace *taken;
	struct err err;

	put(fixture->from_fd, "dir", "1", 1);
	put(fixture->from_fd, "file", "abc", 3);
	run(fixture, &bounds);
	taken = take(fixture);
	(void)snprintf(path, sizeof(path), "artifacts/%.2s/%s", find(taken, "file")->content,
		       find(taken, "file")->content);
	put(fixture->state_fd, path, "abd", 3);
	assert_int_equal(persist_restore(fixture->tree, fixture->to_fd, fixture->store, taken->entries,
				      taken->count, (uid_t)-1, (gid_t)-1, NULL, &err), ERR_LOST);
	assert_non_null(strstr(err.text, "file could not be restored"));
	assert_non_null(strstr(err.text, "damaged"));
	(void)snprintf(trash, sizeof(trash), "%s.damaged", path);
	assert_int_equal(unlinkat(fixture->state_fd, trash, 0), 0);
	assert_int_equal(persist_restore(fixture->tree, fixture->to_fd, fixture->store, taken->entries,
				      taken->count, (uid_t)-1, (gid_t)-1, NULL, &err), ERR_LOST);
	assert_non_null(strstr(err.text, "missing"));
	/* With a callback for missing files everything else is restored. */
	assert_ok(&err, persist_restore(fixture->tree, fixture->to_fd, fixture->store,
					taken->entries, taken->count, (uid_t)-1, (gid_t)-1,
					&(struct persist_missing){ note_missing, report }, &err));
	assert_string_equal(report, "file: its content is missing in the store;");
	assert_file(fixture->to_fd, "dir", "1", 1);
	assert_int_equal(faccessat(fixture->to_fd, "file", F_OK, 0), -1);
	/* Once the content is back in the store, the file is restored, too. */
	put(fixture->state_fd, path, "abc", 3);
	assert_ok(&err, persist_restore(fixture->tree, fixture->to_fd, fixture->store, taken->entries,
				     taken->count, (uid_t)-1, (gid_t)-1, NULL, &err));
	assert_file(fixture->to_fd, "file", "abc", 3);
	done(taken);
}

UNIT_TEST_WITH(a_manifest_that_leads_outside_is_refused, set_up, tear_down)
{
	struct fixture *fixture = *state;
	char up[] = "../outside", link[] = "l", target[] = "/", in[] = "l/tmp";
	reckon_workspace_entry dot[] = { { .path = up, .kind = RECKON_ENTRY_DIRECTORY } };
	reckon_workspace_entry through[] = {
		{ .path = link, .kind = RECKON_ENTRY_SYMLINK, .content = target },
		{ .path = in, .kind = RECKON_ENTRY_FIFO },
	};
	struct err err;

	assert_true(persist_restore(fixture->tree, fixture->to_fd, fixture->store, dot, 1, (uid_t)-1,
				 (gid_t)-1, NULL, &err) < 0);
	assert_true(persist_restore(fixture->tree, fixture->to_fd, fixture->store, through, 2,
				 (uid_t)-1, (gid_t)-1, NULL, &err) < 0);
}

/* ---- the store ------------------------------------------------------------------------------ */

static int needs_first(const char *sha256, void *arg)
{
	return strcmp(sha256, arg) == 0;
}

static uint64_t collect(struct fixture *fixture, uint64_t age_s, char *needed)
{
	reckon_collected all = { 0 };
	struct err err;

	for (unsigned directory = 0; directory < 256; directory++)
		assert_ok(&err, store_collect(fixture->store, directory, age_s, needs_first, needed,
					      &all, &err));
	return all.objects;
}

UNIT_TEST_WITH(only_old_objects_that_nobody_needs_are_collected, set_up, tear_down)
{
	struct fixture *fixture = *state;
	const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } };
	struct store_object first, second, again;
	char path[200];
	struct err err;

	assert_ok(&err, store_put_bytes(fixture->store, "ar", "one", 3, &first, &err));
	assert_ok(&err, store_put_bytes(fixture->store, "ar", "two", 3, &second, &err));
	assert_int_equal(collect(fixture, 60, first.sha256), 0); /* young */
	(void)snprintf(path, sizeof(path), "artifacts/%.2s/%s", first.sha256, first.sha256);
	assert_int_equal(utimensat(fixture->state_fd, path, old, 0), 0);
	(void)snprintf(path, sizeof(path), "artifacts/%.2s/%s", second.sha256, second.sha256);
	assert_int_equal(utimensat(fixture->state_fd, path, old, 0), 0);
	/* Storing the same content again makes the object young again. */
	assert_ok(&err, store_put_bytes(fixture->store, "ar", "two", 3, &again, &err));
	assert_false(again.was_new);
	assert_int_equal(collect(fixture, 60, first.sha256), 0);
	assert_int_equal(utimensat(fixture->state_fd, path, old, 0), 0);
	assert_int_equal(collect(fixture, 60, first.sha256), 1);
	assert_int_equal(faccessat(fixture->state_fd, path, F_OK, 0), -1);
}

UNIT_TEST_WITH(a_batch_stores_all_its_objects_or_none, set_up, tear_down)
{
	struct fixture *fixture = *state;
	struct store_object objects[150];
	cleanup_fd int fd = -1;
	uint64_t size;
	struct err err;

	store_batch_begin(fixture->store);
	for (unsigned i = 0; i < ARRAY_LEN(objects); i++)
		assert_ok(&err, store_put_bytes(fixture->store, "ar", &i, sizeof(i), &objects[i],
						&err));
	assert_ok(&err, store_batch_commit(fixture->store, &err));
	assert_ok(&err, store_sync(fixture->store, &err));
	for (unsigned i = 0; i < ARRAY_LEN(objects); i++) {
		assert_ok(&err, store_open_sha256(fixture->store, objects[i].sha256, &fd, &size,
						  &err));
		assert_int_equal(size, sizeof(i));
		(void)close(fd);
		fd = -1;
	}
	store_batch_begin(fixture->store);
	assert_ok(&err, store_put_bytes(fixture->store, "ar", "given up", 8, &objects[0], &err));
	store_batch_abandon(fixture->store);
	assert_int_equal(store_open_sha256(fixture->store, objects[0].sha256, &fd, &size, &err),
			 ERR_NOT_FOUND);
}

/* A folder that may be listed but not searched: its entries have names, but unknown types. */
UNIT_TEST_WITH(entries_that_cannot_be_examined_are_counted, set_up, tear_down)
{
	struct fixture *fixture = *state;
	pid_t child;
	int status;

	assert_int_equal(mkdirat(fixture->from_fd, "d", 0755), 0);
	put(fixture->from_fd, "d/a", "1", 1);
	put(fixture->from_fd, "d/b", "2", 1);
	assert_int_equal(fchmodat(fixture->from_fd, "d", 0444, 0), 0);
	assert_int_equal(fchmod(fixture->from_fd, 0755), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct persist_list list = { 0 };
		struct err err;
		const bool may_go = geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0);

		_exit(may_go && persist_scan(fixture->from_fd, NULL, 100, &list, &err) == 0 &&
		      list.unseen == 2 && list.count == 1 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(fchmodat(fixture->from_fd, "d", 0755, 0), 0);
}
