/*
 * test_lib_store.c - storing and reading objects; a failure leaves no files.
 *
 * Runs in:  the unit suite.
 * Reads:    its own temporary directory.
 * Never:    fills a real disk: a file size limit stands in for a full one.
 */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "lib/store/store.h"

#define ABC_SHA256 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

struct fixture {
	char path[64];
	int dir_fd;
	struct store *store;
};

static int set_up(void **state)
{
	static struct fixture fixture;
	struct err err;

	fixture.dir_fd = unit_mkdir(fixture.path);
	assert_ok(&err, store_open(fixture.path, &fixture.store, &err));
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	store_close(fixture->store);
	(void)close(fixture->dir_fd);
	unit_rmdir(fixture->path);
	return 0;
}

static int source(const char *bytes, size_t len)
{
	struct err err;
	int fd;

	assert_ok(&err, fd_memfd_sealed("source", bytes, len, &fd, &err));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static int count_entries(int dir_fd, const char *path)
{
	cleanup_dir DIR *dir = fdopendir(openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	const struct dirent *entry;
	int count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		count += entry->d_name[0] != '.' ? 1 : 0;
	return count;
}

static struct store_object put(struct fixture *fixture, const char *bytes, size_t len)
{
	cleanup_fd int fd = source(bytes, len);
	struct store_object object;
	struct err err;

	assert_ok(&err, store_put_fd(fixture->store, fd, len, &object, &err));
	return object;
}

static int get(struct fixture *fixture, const char *id, uint64_t offset, uint64_t length,
	       struct buf *ret, struct err *err)
{
	cleanup_fd int fd = openat(fixture->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	int result;

	assert_true(fd >= 0);
	result = store_get(fixture->store, id, offset, length, fd, err);
	if (result < 0)
		return result;
	buf_clear(ret);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd_read_all(fd, ret, err);
}

UNIT_TEST_WITH(content_is_read_by_id, set_up, tear_down)
{
	struct fixture *fixture = *state;
	struct store_object object = put(fixture, "abc", 3);
	cleanup_buf struct buf got = BUF_INIT(64);
	uint64_t size = 0;
	struct stat st;
	struct err err;

	assert_string_equal(object.sha256, ABC_SHA256);
	assert_string_equal(object.id, "ar_ba7816bf8f01cfea414140de5dae2223");
	assert_int_equal(object.size, 3);
	assert_true(object.was_new);
	assert_int_equal(object.head_len, 3);
	assert_memory_equal(object.head, "abc", 3);
	assert_int_equal(fstatat(fixture->dir_fd, "artifacts/ba/" ABC_SHA256, &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(fstatat(fixture->dir_fd, "artifacts/ba", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(count_entries(fixture->dir_fd, "artifacts/tmp"), 0);

	assert_ok(&err, store_stat(fixture->store, object.id, &size, &err));
	assert_int_equal(size, 3);
	assert_ok(&err, get(fixture, object.id, 0, 0, &got, &err));
	assert_string_equal(buf_text(&got), "abc");
	assert_ok(&err, get(fixture, object.id, 1, 1, &got, &err));
	assert_string_equal(buf_text(&got), "b");
	assert_ok(&err, get(fixture, object.id, 2, 99, &got, &err));
	assert_string_equal(buf_text(&got), "c");
	assert_ok(&err, get(fixture, object.id, 3, 0, &got, &err));
	assert_int_equal(got.len, 0);
	assert_err(&err, ERR_INVALID, get(fixture, object.id, 4, 0, &got, &err));
}

UNIT_TEST_WITH(the_same_content_is_stored_once, set_up, tear_down)
{
	struct fixture *fixture = *state;
	struct store_object first = put(fixture, "abc", 3);
	struct stat before, after;
	struct store_object second;

	assert_int_equal(fstatat(fixture->dir_fd, "artifacts/ba/" ABC_SHA256, &before, 0), 0);
	second = put(fixture, "abc", 3);
	assert_int_equal(fstatat(fixture->dir_fd, "artifacts/ba/" ABC_SHA256, &after, 0), 0);
	assert_false(second.was_new);
	assert_string_equal(first.id, second.id);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_int_equal(count_entries(fixture->dir_fd, "artifacts/ba"), 1);
	assert_int_equal(count_entries(fixture->dir_fd, "artifacts/tmp"), 0);
}

UNIT_TEST_WITH(a_damaged_object_is_replaced, set_up, tear_down)
{
	struct fixture *fixture = *state;
	struct store_object object = put(fixture, "abc", 3);
	cleanup_buf struct buf got = BUF_INIT(64);
	struct err err;
	int fd = openat(fixture->dir_fd, "artifacts/ba/" ABC_SHA256, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0);
	(void)close(fd);
	assert_true(put(fixture, "abc", 3).was_new);
	assert_ok(&err, get(fixture, object.id, 0, 0, &got, &err));
	assert_string_equal(buf_text(&got), "abc");
}

UNIT_TEST_WITH(no_more_than_the_given_length_is_copied, set_up, tear_down)
{
	struct fixture *fixture = *state;
	cleanup_fd int fd = source("abcdef", 6);
	struct store_object object;
	struct err err;

	assert_ok(&err, store_put_fd(fixture->store, fd, 3, &object, &err));
	assert_string_equal(object.sha256, ABC_SHA256);
	/* A source that ends early is stored up to its end. */
	assert_int_equal(lseek(fd, 3, SEEK_SET), 3);
	assert_ok(&err, store_put_fd(fixture->store, fd, 1000, &object, &err));
	assert_int_equal(object.size, 3);
}

UNIT_TEST_WITH(malformed_and_unknown_ids_are_refused, set_up, tear_down)
{
	static const char *const malformed[] = {
		"",
		"ar_",
		"ar_ba7816bf8f01cfea414140de5dae222",
		"ar_ba7816bf8f01cfea414140de5dae22233",
		"ar_BA7816BF8F01CFEA414140DE5DAE2223",
		"ar_../../../../../../../../etc/passw",
		"xx_ba7816bf8f01cfea414140de5dae2223",
		"ba7816bf8f01cfea414140de5dae2223",
		("ar_" ABC_SHA256),
	};
	struct fixture *fixture = *state;
	uint64_t size = 77;
	struct err err;

	(void)put(fixture, "abc", 3);
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++)
		assert_err(&err, ERR_INVALID, store_stat(fixture->store, malformed[i], &size, &err));
	assert_err(&err, ERR_NOT_FOUND,
		   store_stat(fixture->store, "ar_ba000000000000000000000000000000", &size, &err));
	assert_err(&err, ERR_NOT_FOUND,
		   store_stat(fixture->store, "ar_00000000000000000000000000000000", &size, &err));
	assert_int_equal(size, 77);
}

UNIT_TEST_WITH(an_ambiguous_id_is_refused, set_up, tear_down)
{
	struct fixture *fixture = *state;
	struct store_object object = put(fixture, "abc", 3);
	char twin[] = "artifacts/ba/" ABC_SHA256;
	uint64_t size;
	struct err err;
	int fd;

	twin[strlen(twin) - 1] = '0';
	fd = openat(fixture->dir_fd, twin, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_err(&err, ERR_NOT_FOUND, store_stat(fixture->store, object.id, &size, &err));
}

UNIT_TEST_WITH(a_link_in_place_of_an_object_is_not_followed, set_up, tear_down)
{
	struct fixture *fixture = *state;
	struct store_object object = put(fixture, "abc", 3);
	uint64_t size;
	struct err err;

	assert_int_equal(unlinkat(fixture->dir_fd, "artifacts/ba/" ABC_SHA256, 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", fixture->dir_fd, "artifacts/ba/" ABC_SHA256), 0);
	assert_true(store_stat(fixture->store, object.id, &size, &err) < 0);
}

UNIT_TEST_WITH(a_spooled_stream_has_a_handle, set_up, tear_down)
{
	struct fixture *fixture = *state;
	cleanup_buf struct buf got = BUF_INIT(1u << 20);
	struct store_object object;
	struct store_spool *spool;
	struct err err;

	assert_ok(&err, store_spool_open(fixture->store, 200000, &spool, &err));
	for (int i = 0; i < 2000; i++)
		assert_ok(&err, store_spool_append(spool, "0123456789", 10, &err));
	assert_int_equal(store_spool_size(spool), 20000);
	assert_ok(&err, store_spool_finish(spool, &object, &err));
	assert_memory_equal(object.id, "out_", 4);
	assert_int_equal(strlen(object.id), 36);
	assert_int_equal(object.head_len, MIME_HEAD_SIZE);
	assert_ok(&err, get(fixture, object.id, 19995, 0, &got, &err));
	assert_string_equal(buf_text(&got), "56789");
}

UNIT_TEST_WITH(a_spool_stops_at_its_limit_and_stores_what_fits, set_up, tear_down)
{
	struct fixture *fixture = *state;
	struct store_object object;
	struct store_spool *spool;
	struct err err;

	assert_ok(&err, store_spool_open(fixture->store, 3, &spool, &err));
	assert_ok(&err, store_spool_append(spool, "a", 1, &err));
	assert_err(&err, ERR_LIMIT, store_spool_append(spool, "bcdef", 5, &err));
	assert_err(&err, ERR_LIMIT, store_spool_append(spool, "g", 1, &err));
	assert_ok(&err, store_spool_finish(spool, &object, &err));
	assert_string_equal(object.sha256, ABC_SHA256);
}

UNIT_TEST_WITH(an_abandoned_spool_leaves_nothing, set_up, tear_down)
{
	struct fixture *fixture = *state;
	struct store_spool *spool;
	struct err err;
	int fds = unit_open_fds();

	assert_ok(&err, store_spool_open(fixture->store, 100, &spool, &err));
	assert_ok(&err, store_spool_append(spool, "abc", 3, &err));
	assert_int_equal(count_entries(fixture->dir_fd, "artifacts/tmp"), 1);
	store_spool_abandon(spool);
	store_spool_abandon(NULL);
	assert_int_equal(count_entries(fixture->dir_fd, "artifacts/tmp"), 0);
	assert_int_equal(unit_open_fds(), fds);
}

UNIT_TEST_WITH(a_write_that_fails_leaves_nothing, set_up, tear_down)
{
	struct fixture *fixture = *state;
	struct rlimit old, small;
	char bytes[100000];
	cleanup_fd int fd = -1;
	struct store_object object;
	struct store_spool *spool;
	struct err err;
	int fds;

	memset(bytes, 'x', sizeof(bytes));
	fd = source(bytes, sizeof(bytes));
	fds = unit_open_fds();
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 70000;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_err(&err, ERR_SYSTEM,
		   store_put_fd(fixture->store, fd, sizeof(bytes), &object, &err));
	assert_ok(&err, store_spool_open(fixture->store, 1u << 20, &spool, &err));
	assert_err(&err, ERR_SYSTEM, store_spool_append(spool, bytes, sizeof(bytes), &err));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	/* The stream has a hole now: it must not become an object when writing works again. */
	assert_err(&err, ERR_SYSTEM, store_spool_append(spool, "x", 1, &err));
	assert_err(&err, ERR_SYSTEM, store_spool_finish(spool, &object, &err));
	assert_int_equal(count_entries(fixture->dir_fd, "artifacts/tmp"), 0);
	assert_int_equal(count_entries(fixture->dir_fd, "artifacts"), 1);
	assert_int_equal(unit_open_fds(), fds);
}

UNIT_TEST_WITH(opening_sweeps_leftovers_but_not_work_in_progress, set_up, tear_down)
{
	struct fixture *fixture = *state;
	struct store *second = NULL;
	struct store_object object;
	struct store_spool *spool;
	struct err err;
	int fd = openat(fixture->dir_fd, "artifacts/tmp/left", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	(void)close(fd);
	assert_ok(&err, store_spool_open(fixture->store, 100, &spool, &err));
	assert_ok(&err, store_spool_append(spool, "abc", 3, &err));
	assert_int_equal(count_entries(fixture->dir_fd, "artifacts/tmp"), 2);
	assert_ok(&err, store_open(fixture->path, &second, &err));
	assert_int_equal(count_entries(fixture->dir_fd, "artifacts/tmp"), 1);
	assert_ok(&err, store_spool_finish(spool, &object, &err));
	assert_string_equal(object.sha256, ABC_SHA256);
	store_close(second);
}
