/*
 * test_base_fs.c - paths beneath a directory that hostile code changes.
 *
 * Runs in:  the unit suite.
 * Reads:    its own temporary directory.
 * Never:    touches a file outside of it; the tests verify this.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/file/fs.h"

#define NOBODY ((uid_t)-1)

/* TMP/secret is outside; TMP/ws is the workspace that `ws` points to. */
struct place {
	char path[64];
	int outside;
	int ws;
};

static void write_at(int dir, const char *name, const char *text)
{
	cleanup_fd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void assert_contents(int dir, const char *name, const char *text)
{
	cleanup_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	char got[64] = "";

	assert_true(fd >= 0);
	assert_true(read(fd, got, sizeof(got) - 1) >= 0);
	assert_string_equal(got, text);
}

static int place_open(void **state)
{
	static struct place place;

	place.outside = unit_mkdir(place.path);
	write_at(place.outside, "secret", "secret");
	assert_int_equal(mkdirat(place.outside, "ws", 0755), 0);
	place.ws = openat(place.outside, "ws", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(place.ws >= 0);
	*state = &place;
	return 0;
}

/* Expects after every test that the file outside is unchanged. */
static int place_close(void **state)
{
	struct place *place = *state;

	assert_contents(place->outside, "secret", "secret");
	(void)close(place->ws);
	(void)close(place->outside);
	unit_rmdir(place->path);
	return 0;
}

UNIT_TEST(safe_paths_are_accepted)
{
	static const char *const rows[] = {
		"a",	 "a.txt",  "out/chart.png", ".hidden", "..a",	       "a..",  "...",
		"a/...", "a b/c d", "-rf",	    "a\\b",    "\xc3\xbc.txt", "*?[]", "~root",
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!fs_path_is_safe(rows[i]))
			fail_msg("refused: %s", rows[i]);
}

UNIT_TEST(unsafe_paths_are_refused)
{
	static const char *const rows[] = {
		"",	    "/",     "/etc/passwd", ".",	 "..",	      "../a",	   "a/..",
		"a/../b",   "./a",   "a/.",	    "a/./b",	 "a//b",      "a/",	   "//",
		"a\nb",	    "a\tb",  "\x1b[2J",	    "\x7f",	 "\x01",      "a/\xff",	   "\xc0\xaf",
		"\xed\xa0\x80", "\xc0\xae\xc0\xae/a", "a/\x80",
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (fs_path_is_safe(rows[i]))
			fail_msg("row %zu was accepted: %s", i, rows[i]);
}

UNIT_TEST(lengths_of_names_and_paths_are_limited)
{
	char path[5000];

	memset(path, 'a', sizeof(path));
	path[255] = '\0';
	assert_true(fs_path_is_safe(path));
	path[255] = 'a';
	path[256] = '\0';
	assert_false(fs_path_is_safe(path));
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = i % 2 == 0 ? 'a' : '/';
	path[4095] = '\0';
	assert_true(fs_path_is_safe(path));
	path[4095] = '/';
	path[4096] = 'a';
	path[4097] = '\0';
	assert_false(fs_path_is_safe(path));
}

UNIT_TEST_WITH(files_are_created_with_their_parents, place_open, place_close)
{
	const struct place *place = *state;
	cleanup_fd int fd = -1, again = -1, read_fd = -1;
	struct err err;
	struct stat st;

	assert_ok(&err, fs_create_beneath(place->ws, "a/b/c.txt", NOBODY, NOBODY, &fd, &err));
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_ok(&err, fd_write_full(fd, "long text", 9, &err));
	assert_ok(&err, fs_create_beneath(place->ws, "a/b/c.txt", NOBODY, NOBODY, &again, &err));
	assert_ok(&err, fd_write_full(again, "new", 3, &err));
	assert_contents(place->ws, "a/b/c.txt", "new");
	assert_ok(&err, fs_open_file_beneath(place->ws, "a/b/c.txt", &read_fd, &st, &err));
	assert_int_equal(st.st_size, 3);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(fcntl(read_fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

/* Only root can change an owner; another user passes its own ids. */
UNIT_TEST_WITH(created_files_and_parents_get_the_owner, place_open, place_close)
{
	const struct place *place = *state;
	uid_t uid = geteuid() == 0 ? 65533 : geteuid();
	gid_t gid = geteuid() == 0 ? 65533 : getegid();
	cleanup_fd int fd = -1;
	struct err err;
	struct stat st;

	assert_ok(&err, fs_create_beneath(place->ws, "p/q/f", uid, gid, &fd, &err));
	for (const char *const *name = (const char *const[]){ "p", "p/q", "p/q/f", NULL }; *name;
	     name++) {
		assert_int_equal(fstatat(place->ws, *name, &st, AT_SYMLINK_NOFOLLOW), 0);
		assert_int_equal(st.st_uid, uid);
		assert_int_equal(st.st_gid, gid);
	}
}

UNIT_TEST_WITH(unsafe_paths_open_nothing, place_open, place_close)
{
	const struct place *place = *state;
	struct err err;
	struct stat st;
	int fd = -7;

	assert_err(&err, ERR_INVALID,
		   fs_open_file_beneath(place->ws, "../secret", &fd, &st, &err));
	assert_err(&err, ERR_INVALID,
		   fs_create_beneath(place->ws, "../new", NOBODY, NOBODY, &fd, &err));
	assert_err(&err, ERR_INVALID,
		   fs_create_beneath(place->ws, "/tmp/new", NOBODY, NOBODY, &fd, &err));
	assert_err(&err, ERR_INVALID, fs_open_dir_beneath(place->ws, "..", &fd, &err));
	assert_err(&err, ERR_NOT_FOUND, fs_open_file_beneath(place->ws, "none", &fd, &st, &err));
	write_at(place->ws, "file", "x");
	assert_err(&err, ERR_NOT_FOUND,
		   fs_open_file_beneath(place->ws, "file/below", &fd, &st, &err));
	assert_int_equal(fd, -7);
}

UNIT_TEST_WITH(symbolic_links_are_not_followed, place_open, place_close)
{
	const struct place *place = *state;
	struct err err;
	struct stat st;
	int fd = -7;

	write_at(place->ws, "inside", "inside");
	assert_int_equal(symlinkat("../secret", place->ws, "out"), 0);
	assert_int_equal(symlinkat("inside", place->ws, "in"), 0);
	assert_int_equal(symlinkat("absent", place->ws, "dangling"), 0);
	assert_int_equal(symlinkat("/proc/self/exe", place->ws, "magic"), 0);
	for (const char *const *name =
		     (const char *const[]){ "out", "in", "dangling", "magic", NULL };
	     *name; name++) {
		assert_err(&err, ERR_DENIED,
			   fs_open_file_beneath(place->ws, *name, &fd, &st, &err));
		assert_err(&err, ERR_DENIED,
			   fs_create_beneath(place->ws, *name, NOBODY, NOBODY, &fd, &err));
	}
	assert_int_equal(fstatat(place->ws, "absent", &st, 0), -1);
	assert_contents(place->ws, "inside", "inside");
	assert_int_equal(fd, -7);
}

UNIT_TEST_WITH(symbolic_links_as_parents_are_not_followed, place_open, place_close)
{
	const struct place *place = *state;
	struct err err;
	struct stat st;
	int fd = -7;

	assert_int_equal(symlinkat("..", place->ws, "up"), 0);
	assert_int_equal(symlinkat("/", place->ws, "root"), 0);
	assert_int_equal(mkdirat(place->ws, "real", 0755), 0);
	assert_int_equal(symlinkat("../..", place->ws, "real/up"), 0);
	for (const char *const *name =
		     (const char *const[]){ "up/secret", "root/tmp", "real/up/secret", NULL };
	     *name; name++) {
		assert_err(&err, ERR_DENIED,
			   fs_open_file_beneath(place->ws, *name, &fd, &st, &err));
		assert_err(&err, ERR_DENIED,
			   fs_create_beneath(place->ws, *name, NOBODY, NOBODY, &fd, &err));
	}
	assert_err(&err, ERR_DENIED,
		   fs_create_beneath(place->ws, "up/new/file", NOBODY, NOBODY, &fd, &err));
	assert_err(&err, ERR_DENIED, fs_open_dir_beneath(place->ws, "up", &fd, &err));
	assert_err(&err, ERR_DENIED, fs_open_dir_beneath(place->ws, "real/up", &fd, &err));
	assert_int_equal(fstatat(place->outside, "new", &st, 0), -1);
	assert_int_equal(fd, -7);
}

UNIT_TEST_WITH(removing_stays_inside, place_open, place_close)
{
	const struct place *place = *state;
	struct err err;
	struct stat st;

	assert_int_equal(symlinkat("..", place->ws, "up"), 0);
	assert_int_equal(symlinkat("../secret", place->ws, "out"), 0);
	assert_int_equal(mkdirat(place->ws, "dir", 0755), 0);
	write_at(place->ws, "dir/file", "x");
	assert_err(&err, ERR_DENIED, fs_remove_beneath(place->ws, "up/secret", &err));
	assert_err(&err, ERR_INVALID, fs_remove_beneath(place->ws, "../secret", &err));
	assert_err(&err, ERR_INVALID, fs_remove_beneath(place->ws, "", &err));
	assert_err(&err, ERR_INVALID, fs_remove_beneath(place->ws, "dir", &err));
	assert_err(&err, ERR_NOT_FOUND, fs_remove_beneath(place->ws, "none", &err));
	assert_err(&err, ERR_NOT_FOUND, fs_remove_beneath(place->ws, "none/none", &err));
	assert_err(&err, ERR_DENIED, fs_remove_beneath(place->ws, "dir/file/none", &err));
	/* The call removes the link, not its target. */
	assert_ok(&err, fs_remove_beneath(place->ws, "out", &err));
	assert_int_equal(fstatat(place->outside, "secret", &st, 0), 0);
	assert_ok(&err, fs_remove_beneath(place->ws, "dir/file", &err));
	assert_ok(&err, fs_remove_beneath(place->ws, "dir", &err));
	assert_int_equal(fstatat(place->ws, "dir", &st, AT_SYMLINK_NOFOLLOW), -1);
}

/* A FIFO without a peer would block an ordinary open for ever. */
UNIT_TEST_WITH(only_regular_files_are_opened, place_open, place_close)
{
	const struct place *place = *state;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	cleanup_fd int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cleanup_fd int reader = -1;
	struct err err;
	struct stat st;
	int fd = -7;

	assert_int_equal(mkfifoat(place->ws, "fifo", 0666), 0);
	assert_int_equal(mkdirat(place->ws, "dir", 0755), 0);
	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/ws/sock", place->path);
	assert_int_equal(bind(sock, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_err(&err, ERR_DENIED, fs_open_file_beneath(place->ws, "fifo", &fd, &st, &err));
	assert_err(&err, ERR_DENIED, fs_open_file_beneath(place->ws, "dir", &fd, &st, &err));
	assert_true(fs_open_file_beneath(place->ws, "sock", &fd, &st, &err) < 0);
	assert_true(fs_create_beneath(place->ws, "fifo", NOBODY, NOBODY, &fd, &err) < 0);
	assert_true(fs_create_beneath(place->ws, "sock", NOBODY, NOBODY, &fd, &err) < 0);
	assert_true(fs_create_beneath(place->ws, "dir", NOBODY, NOBODY, &fd, &err) < 0);
	reader = openat(place->ws, "fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(reader >= 0);
	assert_err(&err, ERR_DENIED,
		   fs_create_beneath(place->ws, "fifo", NOBODY, NOBODY, &fd, &err));
	assert_int_equal(fd, -7);
}

UNIT_TEST_WITH(directories_are_opened_and_files_are_not, place_open, place_close)
{
	const struct place *place = *state;
	cleanup_fd int self = -1, sub = -1;
	struct stat st, want;
	struct err err;
	int fd = -7;

	write_at(place->ws, "file", "x");
	assert_int_equal(mkdirat(place->ws, "sub", 0755), 0);
	assert_ok(&err, fs_open_dir_beneath(place->ws, "", &self, &err));
	assert_int_equal(fstat(self, &st), 0);
	assert_int_equal(fstat(place->ws, &want), 0);
	assert_int_equal(st.st_ino, want.st_ino);
	assert_ok(&err, fs_open_dir_beneath(place->ws, "sub", &sub, &err));
	assert_err(&err, ERR_DENIED, fs_open_dir_beneath(place->ws, "file", &fd, &err));
	assert_true(fs_open_dir_beneath(place->ws, "none", &fd, &err) < 0);
	assert_int_equal(fd, -7);
}

struct racer {
	int ws;
	atomic_bool stop;
};

/* Swaps a directory and a link to the outside as fast as it can, as hostile code would. */
static void *swap_for_ever(void *arg)
{
	struct racer *racer = arg;

	while (!atomic_load(&racer->stop))
		(void)renameat2(racer->ws, "dir", racer->ws, "link", RENAME_EXCHANGE);
	return NULL;
}

UNIT_TEST_WITH(a_rename_race_never_leads_outside, place_open, place_close)
{
	const struct place *place = *state;
	struct racer racer = { .ws = place->ws };
	int opened = 0, made = 0, refused = 0;
	struct stat secret, st;
	pthread_t thread;
	struct err err;

	assert_int_equal(mkdirat(place->ws, "dir", 0755), 0);
	write_at(place->ws, "dir/secret", "decoy");
	assert_int_equal(symlinkat("..", place->ws, "link"), 0);
	assert_int_equal(fstatat(place->outside, "secret", &secret, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, swap_for_ever, &racer), 0);
	for (int i = 0; i < 4000 || ((opened == 0 || made == 0 || refused == 0) && i < 400000);
	     i++) {
		cleanup_fd int fd = -1, new = -1;

		if (fs_open_file_beneath(place->ws, "dir/secret", &fd, &st, &err) == 0) {
			assert_int_not_equal(st.st_ino, secret.st_ino);
			opened++;
		} else {
			refused++;
		}
		if (fs_create_beneath(place->ws, "dir/made/secret", NOBODY, NOBODY, &new, &err) ==
		    0)
			made++;
	}
	atomic_store(&racer.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	/* If one side of the race never won, the loop would prove nothing. */
	assert_true(opened > 0 && made > 0 && refused > 0);
	assert_int_equal(fstatat(place->outside, "made", &st, 0), -1);
}

UNIT_TEST_WITH(missing_parents_are_created, place_open, place_close)
{
	const struct place *place = *state;
	char path[128];
	struct err err;
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/x/y/z", place->path);
	assert_ok(&err, fs_mkdir_parents(path, 0700, &err));
	assert_ok(&err, fs_mkdir_parents(path, 0700, &err));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	(void)snprintf(path, sizeof(path), "%s/secret/y", place->path);
	assert_err(&err, ERR_SYSTEM, fs_mkdir_parents(path, 0700, &err));
	assert_int_equal(err.errnum, ENOTDIR);
	assert_err(&err, ERR_INVALID, fs_mkdir_parents("relative", 0700, &err));
	assert_err(&err, ERR_INVALID, fs_mkdir_parents("", 0700, &err));
}


UNIT_TEST(a_path_is_joined_up_to_a_maximum_length)
{
	cleanup_free char *below = fs_join("a/b", "c", 5), *top = fs_join("", "c", 1);

	assert_string_equal(below, "a/b/c");
	assert_string_equal(top, "c");
	assert_null(fs_join("a/b", "c", 4));
}

int main(void)
{
	(void)umask(022);
	return unit_run(NULL, NULL);
}
