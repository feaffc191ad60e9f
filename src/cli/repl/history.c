/*
 * history.c - the history of complete cells.
 *
 * Runs in:  reckon repl.
 * Reads:    the user's history file.
 * Never:    makes the file readable for others; fails a session because of it.
 */
#include "cli/repl/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "base/utf8.h"

struct history {
	char *cell[HISTORY_CELLS_MAX];
	size_t count;
	int fd; /* open for appending, or -1 */
};

int history_path(char ret[PATH_MAX], struct err *err)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	int n;

	if (state != NULL && state[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s/reckon/history", state);
	else if (home != NULL && home[0] == '/')
		n = snprintf(ret, PATH_MAX, "%s/.local/state/reckon/history", home);
	else
		return err_set(err, ERR_NOT_FOUND, "neither XDG_STATE_HOME nor HOME is set");
	if (n >= PATH_MAX)
		return err_set(err, ERR_INVALID, "the path of the history is too long");
	return 0;
}

static void keep(struct history *history, const char *text, size_t len)
{
	if (history->count == HISTORY_CELLS_MAX) {
		free(history->cell[0]);
		memmove(history->cell, history->cell + 1,
			(HISTORY_CELLS_MAX - 1) * sizeof(history->cell[0]));
		history->count--;
	}
	history->cell[history->count] = mem_new0(len + 1, 1);
	memcpy(history->cell[history->count++], text, len);
}

static bool is_wanted(const struct history *history, const char *text, size_t len)
{
	const char *last = history->count > 0 ? history->cell[history->count - 1] : "";

	return len > 0 && len <= HISTORY_CELL_BYTES_MAX && memchr(text, '\0', len) == NULL &&
	       utf8_is_valid(text, len) && (strlen(last) != len || memcmp(last, text, len) != 0);
}

static int escape(const char *text, size_t len, struct buf *ret, struct err *err)
{
	for (size_t i = 0; i < len; i++) {
		const char *written = text[i] == '\n'	? "\\n"
				      : text[i] == '\r' ? "\\r"
				      : text[i] == '\\' ? "\\\\"
							: NULL;

		if ((written != NULL ? buf_adds(ret, written, err) : buf_addc(ret, text[i], err)) <
		    0)
			return (int)err->code;
	}
	return buf_addc(ret, '\n', err);
}

/* In place, because the result is never longer. */
static size_t unescape(char *text, size_t len)
{
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] != '\\' || i + 1 == len) {
			text[out++] = text[i];
			continue;
		}
		i++;
		text[out++] = text[i] == 'n' ? '\n' : text[i] == 'r' ? '\r' : text[i];
	}
	return out;
}

static size_t take_lines(struct history *history, struct buf *file)
{
	size_t lines = 0;

	for (size_t at = 0; at < file->len;) {
		char *line = file->data + at;
		char *end = memchr(line, '\n', file->len - at);
		size_t len = end != NULL ? (size_t)(end - line) : file->len - at;

		at += len + 1;
		lines++;
		len = unescape(line, len);
		if (is_wanted(history, line, len))
			keep(history, line, len);
	}
	return lines;
}

/* Writes the newest cells to a new file, which replaces the old one. */
static int shorten(const struct history *history, const char *path, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(HISTORY_FILE_MAX * 2);
	cleanup_fd int fd = -1;
	char temp[PATH_MAX];

	for (size_t i = 0; i < history->count; i++)
		if (escape(history->cell[i], strlen(history->cell[i]), &text, err) < 0)
			return (int)err->code;
	if (snprintf(temp, sizeof(temp), "%s.%ld", path, (long)getpid()) >= PATH_MAX)
		return err_set(err, ERR_INVALID, "the path of the history is too long");
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(err, "%.200s", temp);
	if (fd_write_full(fd, buf_text(&text), text.len, err) == 0 && rename(temp, path) == 0)
		return 0;
	(void)unlink(temp);
	return err_set(err, ERR_SYSTEM, "%.200s: not shortened", path);
}

static int open_file(const char *path, int *ret_fd, struct stat *ret_st, struct err *err)
{
	cleanup_fd int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW |
					       O_NONBLOCK | O_NOCTTY, 0600);

	if (fd < 0 || fstat(fd, ret_st) < 0)
		return err_sys(err, "%.200s", path);
	if (!S_ISREG(ret_st->st_mode))
		return err_set(err, ERR_INVALID, "%.200s: not a regular file", path);
	if (ret_st->st_uid == geteuid() && (ret_st->st_mode & 077) != 0)
		(void)fchmod(fd, 0600);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int load(struct history *history, const char *path, struct err *err)
{
	cleanup_buf struct buf file = BUF_INIT(HISTORY_FILE_MAX);
	cleanup_free char *folder = mem_strdup(path);
	cleanup_fd int fd = -1;
	struct stat st;

	*strrchr(folder, '/') = '\0';
	if (fs_mkdir_parents(folder, 0700, err) < 0 || open_file(path, &fd, &st, err) < 0)
		return (int)err->code;
	/* Of a file that grew too large, read only the end. */
	if (st.st_size > (off_t)HISTORY_FILE_MAX - 4096)
		(void)lseek(fd, -(off_t)(HISTORY_FILE_MAX / 2), SEEK_END);
	if (fd_read_all(fd, &file, err) < 0)
		return (int)err->code;
	if (take_lines(history, &file) > (size_t)2 * HISTORY_CELLS_MAX ||
	    st.st_size > (off_t)HISTORY_FILE_MAX / 2) {
		if (shorten(history, path, err) < 0)
			return (int)err->code;
		(void)close(TAKE_FD(fd));
		if (open_file(path, &fd, &st, err) < 0)
			return (int)err->code;
	}
	history->fd = TAKE_FD(fd);
	return 0;
}

int history_open(const char *path, struct history **ret, struct err *err)
{
	struct history *history = mem_new0(1, sizeof(*history));

	history->fd = -1;
	*ret = history;
	return path != NULL ? load(history, path, err) : 0;
}

void history_free(struct history *history)
{
	if (history == NULL)
		return;
	for (size_t i = 0; i < history->count; i++)
		free(history->cell[i]);
	if (history->fd >= 0)
		(void)close(history->fd);
	free(history);
}

void history_add(struct history *history, const char *text, size_t len)
{
	cleanup_buf struct buf line = BUF_INIT((size_t)HISTORY_CELL_BYTES_MAX * 2 + 2);
	struct err ignored;

	if (!is_wanted(history, text, len))
		return;
	keep(history, text, len);
	/* A single write, so that lines of concurrent sessions do not mix. */
	if (history->fd >= 0 && escape(text, len, &line, &ignored) == 0)
		(void)fd_write_full(history->fd, line.data, line.len, &ignored);
}

size_t history_count(const struct history *history)
{
	return history->count;
}

const char *history_at(const struct history *history, size_t index)
{
	return history->cell[index];
}
