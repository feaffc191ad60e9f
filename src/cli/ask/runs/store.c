/*
 * store.c - stores runs on disk.
 *
 * Runs in:  reckon ask, reckon chat, reckon runs.
 * Reads:    its own folder, into which a user may have copied runs of other machines.
 * Never:    follows a link in it, or removes a run that is being written.
 */
#include "cli/ask/runs/runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "base/process/runtime.h"

#define FILE_NAME "run.jsonl"
#define DIR_MODE 0700
#define FILE_MODE 0600
#define DAY_DIGITS 6u
#define RANDOM_DIGITS 5u
#define ID_LEN (DAY_DIGITS + 1 + RANDOM_DIGITS) /* "261122-7k3fq" */
#define CHUNK ((size_t)256 * 1024)
#define TRIES 100
#define ENTRIES_MAX 100000u

static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

/* ---- the folder ---- */

int runs_open(bool make, int *ret_dir, struct err *err)
{
	char state[PATH_MAX], path[PATH_MAX + 8];
	cleanup_fd int dir = -1;
	struct stat st;

	if (runtime_state_dir(NULL, state, sizeof(state), err) < 0)
		return (int)err->code;
	(void)snprintf(path, sizeof(path), "%s/runs", state);
	if (make && fs_mkdir_parents(path, DIR_MODE, err) < 0)
		return err_wrap(err, "runs");
	dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 && errno == ENOENT)
		return err_set(err, ERR_NOT_FOUND, "no run was kept yet");
	if (dir < 0 || fstat(dir, &st) < 0)
		return err_sys(err, "%.200s", path);
	if (st.st_uid != geteuid()) {
		err_set(err, ERR_DENIED, "%.200s is not yours", path);
		return err_remedy(err, "RECKON_STATE names a directory of yours");
	}
	/*
	 * Repair the mode, which a umask or the user may have widened: other users must not read
	 * the runs.
	 */
	if ((st.st_mode & 077) != 0 && fchmod(dir, DIR_MODE) < 0)
		return err_sys(err, "%.200s", path);
	*ret_dir = TAKE_FD(dir);
	return 0;
}

static bool is_digit_of_id(char c)
{
	return c != '\0' && strchr(digits, c) != NULL;
}

/* Whether it is a complete id or, with `part`, the beginning of one. */
static bool has_form(const char *text, bool part)
{
	const size_t len = strlen(text);

	if (len > ID_LEN || (len < ID_LEN && !part))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (i < DAY_DIGITS ? text[i] < '0' || text[i] > '9'
		    : i == DAY_DIGITS ? text[i] != '-'
				      : !is_digit_of_id(text[i]))
			return false;
	}
	return true;
}

bool runs_is_id(const char *text)
{
	return has_form(text, false) || (strlen(text) > DAY_DIGITS && has_form(text, true)) ||
	       strcmp(text, "last") == 0;
}

/* ---- listing ---- */

static int newest_first(const void *a, const void *b)
{
	const struct runs_entry *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? 1 : -1;
	if (x->used.tv_nsec != y->used.tv_nsec)
		return x->used.tv_nsec < y->used.tv_nsec ? 1 : -1;
	return strcmp(y->id, x->id);
}

static int run_path(const char *id, char ret[JOURNAL_ID_SIZE + sizeof(FILE_NAME) + 1],
		    struct err *err)
{
	if (!has_form(id, false))
		return err_set(err, ERR_NOT_FOUND, "invalid run '%.60s'", id);
	(void)snprintf(ret, JOURNAL_ID_SIZE + sizeof(FILE_NAME) + 1, "%s/%s", id, FILE_NAME);
	return 0;
}

static bool look_at(int dir, const char *id, struct runs_entry *ret)
{
	char path[JOURNAL_ID_SIZE + sizeof(FILE_NAME) + 1];
	struct err ignored;
	struct stat st;

	if (run_path(id, path, &ignored) < 0 ||
	    fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return false;
	*ret = (struct runs_entry){ .used = st.st_mtim, .bytes = (uint64_t)st.st_size };
	(void)snprintf(ret->id, sizeof(ret->id), "%s", id);
	return true;
}

int runs_list(int dir, struct runs_entry **ret, size_t *ret_count, struct err *err)
{
	const int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_dir DIR *entries = again >= 0 ? fdopendir(again) : NULL;
	struct runs_entry *list = NULL, found;
	const struct dirent *entry;
	size_t count = 0;

	if (entries == NULL) {
		err_sys(err, "runs");
		if (again >= 0)
			(void)close(again);
		return (int)err->code;
	}
	while (count < ENTRIES_MAX && (entry = readdir(entries)) != NULL) {
		if (!look_at(dir, entry->d_name, &found))
			continue;
		list = mem_grow(list, count + 1, sizeof(*list));
		list[count++] = found;
	}
	if (count > 1)
		qsort(list, count, sizeof(*list), newest_first);
	*ret = list;
	*ret_count = count;
	return 0;
}

static bool is_meant(const char *id, const char *given)
{
	return strncmp(id, given, strlen(given)) == 0 ||
	       strncmp(id + DAY_DIGITS + 1, given, strlen(given)) == 0;
}

int runs_find(int dir, const char *given, char ret_id[JOURNAL_ID_SIZE], struct err *err)
{
	cleanup_free struct runs_entry *list = NULL;
	const bool last = given == NULL || strcmp(given, "last") == 0;
	size_t count, meant = 0;

	if (runs_list(dir, &list, &count, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < count; i++) {
		if (!last && !is_meant(list[i].id, given))
			continue;
		if (meant++ == 0)
			memcpy(ret_id, list[i].id, JOURNAL_ID_SIZE);
		if (last || strcmp(list[i].id, given) == 0)
			return 0;
	}
	if (meant == 1 && given[0] != '\0')
		return 0;
	if (last)
		return err_set(err, ERR_NOT_FOUND, "no run was kept yet");
	if (meant > 1)
		err_set(err, ERR_INVALID, "'%.60s' could be any of %zu runs", given, meant);
	else
		err_set(err, ERR_NOT_FOUND, "invalid run '%.60s'", given);
	return err_remedy(err, "reckon runs ls shows what there is");
}

/* ---- one of them ---- */

static int lock(int fd, const char *id, struct err *err)
{
	int n;

	do
		n = flock(fd, LOCK_EX | LOCK_NB);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return err_sys(err, "lock %s", id);
	err_set(err, ERR_DENIED, "run %s is in use", id);
	return err_remedy(err, "end the chat that goes on in it");
}

static int make_id(char ret[JOURNAL_ID_SIZE], struct err *err)
{
	const time_t now = time(NULL);
	char tail[RANDOM_DIGITS + 1];
	uint8_t random[RANDOM_DIGITS];
	struct tm tm;

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return err_sys(err, "getrandom");
	if (localtime_r(&now, &tm) == NULL)
		return err_set(err, ERR_SYSTEM, "the clock shows no day");
	for (size_t i = 0; i < RANDOM_DIGITS; i++)
		tail[i] = digits[random[i] % (sizeof(digits) - 1)];
	tail[RANDOM_DIGITS] = '\0';
	(void)snprintf(ret, JOURNAL_ID_SIZE, "%02u%02u%02u-%s", (unsigned)tm.tm_year % 100u,
		       ((unsigned)tm.tm_mon + 1u) % 100u, (unsigned)tm.tm_mday % 100u, tail);
	return 0;
}

static int open_new(int dir, const char *id, int *ret_fd, struct err *err)
{
	cleanup_fd int folder = openat(dir, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_fd int fd = -1;

	if (folder < 0)
		return err_sys(err, "run %s", id);
	fd = openat(folder, FILE_NAME,
		    O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (fd < 0)
		return err_sys(err, "run %s", id);
	if (lock(fd, id, err) < 0)
		return (int)err->code;
	/* The directory entries must be on disk before the first line. */
	if (fsync(folder) < 0 || fsync(dir) < 0)
		return err_sys(err, "run %s", id);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int runs_new(int dir, char ret_id[JOURNAL_ID_SIZE], int *ret_fd, struct err *err)
{
	for (int i = 0; i < TRIES; i++) {
		if (make_id(ret_id, err) < 0)
			return (int)err->code;
		if (mkdirat(dir, ret_id, DIR_MODE) == 0)
			return open_new(dir, ret_id, ret_fd, err);
		if (errno != EEXIST)
			return err_sys(err, "run %s", ret_id);
	}
	return err_set(err, ERR_SYSTEM, "every run's name is taken");
}

/* Applies the complete lines of `text` to the journal; returns the number of bytes used. */
static ssize_t take_lines(const struct buf *text, bool records, struct journal *journal,
			  struct err *err)
{
	static const char record[] = "{\"type\":\"record\"";
	size_t at = 0;
	const char *end;

	while (at < text->len && (end = memchr(text->data + at, '\n', text->len - at)) != NULL) {
		const size_t len = (size_t)(end - (text->data + at));

		if (!records && journal->lines > 0 && len > sizeof(record) - 1 &&
		    memcmp(text->data + at, record, sizeof(record) - 1) == 0) {
			journal->lines++;
			journal->bytes += len + 1;
		} else if (journal_read(journal, text->data + at, len, err) < 0) {
			return err_wrap(err, "line %zu", journal->lines + 1);
		}
		at += len + 1;
	}
	return (ssize_t)at;
}

static int load(int fd, bool records, struct journal *journal, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(JOURNAL_LINE_MAX + CHUNK);

	for (;;) {
		ssize_t n;
		char *space;

		if (buf_reserve(&text, CHUNK, &space, err) < 0)
			return err_set(err, ERR_PROTOCOL, "line %zu: it is too long",
				       journal->lines + 1);
		n = fd_read_full(fd, space, CHUNK, err);
		if (n < 0)
			return (int)err->code;
		if (n == 0)
			break;
		text.len += (size_t)n;
		text.data[text.len] = '\0';
		n = take_lines(&text, records, journal, err);
		if (n < 0)
			return (int)n;
		buf_consume(&text, (size_t)n);
	}
	journal->is_cut = text.len > 0;
	return journal->lines > 0 ? 0 : err_set(err, ERR_PROTOCOL, "it is empty");
}

static int open_run(int dir, const char *id, bool write, int *ret_fd, struct err *err)
{
	char path[JOURNAL_ID_SIZE + sizeof(FILE_NAME) + 1];
	cleanup_fd int fd = -1;
	struct stat st;

	if (run_path(id, path, err) < 0)
		return (int)err->code;
	fd = fs_open_beneath(dir, path,
			     (write ? O_RDWR | O_APPEND : O_RDONLY) | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "run %s", id);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_PROTOCOL, "run %s: it is not a file", id);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int load_run(int fd, const char *id, bool records, struct journal *journal, struct err *err)
{
	if (load(fd, records, journal, err) < 0) {
		if (err->code == ERR_PROTOCOL && err->remedy[0] == '\0')
			(void)err_remedy(err, "what it holds cannot be read; reckon runs rm %s "
					      "removes it", id);
		return err_wrap(err, "run %s", id);
	}
	/* The folder's name is the id, because a run may have been copied under another name. */
	(void)snprintf(journal->id, sizeof(journal->id), "%s", id);
	return 0;
}

int runs_load(int dir, const char *id, bool records, struct journal *journal, struct err *err)
{
	cleanup_fd int fd = -1;

	if (open_run(dir, id, false, &fd, err) < 0)
		return (int)err->code;
	return load_run(fd, id, records, journal, err);
}

int runs_continue(int dir, const char *id, struct journal *journal, int *ret_fd, struct err *err)
{
	cleanup_fd int fd = -1;

	if (open_run(dir, id, true, &fd, err) < 0 || lock(fd, id, err) < 0 ||
	    load_run(fd, id, true, journal, err) < 0)
		return (int)err->code;
	if (journal->is_cut && ftruncate(fd, (off_t)journal->bytes) < 0)
		return err_sys(err, "run %s", id);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int runs_append(int fd, const struct buf *line, struct err *err)
{
	cleanup_buf struct buf whole = BUF_INIT(JOURNAL_LINE_MAX + 1);

	/* One write, so that a crash leaves at most a line without its newline. */
	if (buf_add(&whole, line->data, line->len, err) < 0 || buf_addc(&whole, '\n', err) < 0 ||
	    fd_write_full(fd, whole.data, whole.len, err) < 0)
		return (int)err->code;
	return fdatasync(fd) < 0 ? err_sys(err, "write to the disk") : 0;
}

/* ---- away with them ---- */

static int remove_locked(int dir, const char *id, struct err *err)
{
	char path[JOURNAL_ID_SIZE + sizeof(FILE_NAME) + 1];

	if (run_path(id, path, err) < 0)
		return (int)err->code;
	if (unlinkat(dir, path, 0) < 0 || unlinkat(dir, id, AT_REMOVEDIR) < 0)
		return err_sys(err, "run %s", id);
	return 0;
}

int runs_remove(int dir, const char *id, struct err *err)
{
	cleanup_fd int fd = -1;

	if (open_run(dir, id, false, &fd, err) < 0 || lock(fd, id, err) < 0)
		return (int)err->code;
	return remove_locked(dir, id, err);
}

int runs_prune(int dir, size_t count_max, uint64_t bytes_max, size_t *ret_removed, struct err *err)
{
	cleanup_free struct runs_entry *list = NULL;
	uint64_t bytes = 0;
	size_t count, retained = 0;
	struct err ignored; /* skip a run that is in use or already gone */

	*ret_removed = 0;
	if (runs_list(dir, &list, &count, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < count; i++) {
		if (retained < count_max && bytes + list[i].bytes <= bytes_max) {
			retained++;
			bytes += list[i].bytes;
		} else if (runs_remove(dir, list[i].id, &ignored) == 0) {
			(*ret_removed)++;
		}
	}
	return 0;
}
