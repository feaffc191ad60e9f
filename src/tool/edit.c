/*
 * edit.c - reckon-edit: shows and changes text files, for the text editor that a model calls.
 *
 * Runs in:  a box, started by code.
 * Reads:    one JSON object on standard input; files of the box.
 * Never:    has more rights than other code in the box.
 *
 *   {"command": "view", "path", "view_range": [first, last]}     a last line of -1: to the end
 *   {"command": "create", "path", "file_text"}
 *   {"command": "str_replace", "path", "old_str", "new_str"}
 *
 * It prints one line of JSON with the result. After that line, `view` prints the text unchanged.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/utf8.h"
#include "codec/json_read.h"
#include "codec/json_write.h"

#define INPUT_MAX ((size_t)16 * 1024 * 1024)
#define FILE_MAX ((size_t)8 * 1024 * 1024)
#define OUTPUT_MAX ((size_t)64 * 1024 * 1024)
#define SHOWN_MAX ((size_t)1024 * 1024)
#define ENTRIES_MAX 1000u
#define DEPTH 2u

static const char no_file[] = "file_not_found";
static const char wrong[] = "invalid_tool_input";

/* ---- answers -------------------------------------------------------------------------------- */

/* Prints everything with one write, because other programs of the cell print as well. */
static int print(struct json_writer *json, const char *text, size_t len)
{
	struct err err;

	json_write_object_end(json);
	if (json_write_finish(json, &err) < 0 || buf_addc(json->out, '\n', &err) < 0 ||
	    buf_add(json->out, text, len, &err) < 0 ||
	    fd_write_full(STDOUT_FILENO, json->out->data, json->out->len, &err) < 0) {
		(void)fprintf(stderr, "reckon-edit: %s\n", err.text);
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

static int fail(const char *code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int fail(const char *code, const char *fmt, ...)
{
	cleanup_buf struct buf out = BUF_INIT(OUTPUT_MAX);
	struct json_writer json;
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_write_begin_with(&json, &out, "type", "error");
	json_write_member_string(&json, "error_code", code);
	json_write_member_string(&json, "error_message", text);
	(void)print(&json, "", 0);
	return EXIT_FAILURE;
}

static int fail_as(int number, const char *path)
{
	return fail(number == ENOENT || number == ENOTDIR ? no_file : wrong, "%.500s: %s", path,
		    strerror(number));
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Returns 0, or the exit status after printing the error. */
static int read_text(const char *path, struct buf *ret)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	struct err err;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_as(errno, path);
	if (!S_ISREG(st.st_mode))
		return fail(wrong, "%.500s: not a regular file", path);
	if (fd_read_all(fd, ret, &err) < 0)
		return fail(wrong, "%.500s: %s", path, err.text);
	if (!utf8_is_valid(buf_text(ret), ret->len) || memchr(buf_text(ret), '\0', ret->len) != NULL)
		return fail(wrong, "%.500s: not a text in UTF-8 (%zu bytes): use code to look at it",
			    path, ret->len);
	return 0;
}

/* Allocates the space first, so that a full workspace leaves the file unchanged. */
static int write_text(const char *path, const char *text, size_t len)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
	struct stat st;
	struct err err;
	int number;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_as(errno, path);
	if (!S_ISREG(st.st_mode))
		return fail(wrong, "%.500s: not a regular file", path);
	number = len > 0 ? posix_fallocate(fd, 0, (off_t)len) : 0;
	if (number != 0 && number != EOPNOTSUPP)
		return fail_as(number, path);
	if (fd_write_full(fd, text, len, &err) < 0)
		return fail(wrong, "%.500s: %s", path, err.text);
	return ftruncate(fd, (off_t)len) < 0 ? fail_as(errno, path) : 0;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static size_t count_breaks(const char *text, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; text != NULL && i < len; i++)
		count += text[i] == '\n';
	return count;
}

/* The last line may lack its newline. */
static size_t count_lines(const char *text, size_t len)
{
	return count_breaks(text, len) + (text != NULL && len > 0 && text[len - 1] != '\n');
}

/* The offset of a line, counted from 1; the end of the text if there is no such line. */
static size_t offset_of(const struct buf *text, size_t line)
{
	size_t at = 0;

	for (; line > 1 && at < text->len; line--) {
		const char *end = memchr(text->data + at, '\n', text->len - at);

		at = end != NULL ? (size_t)(end - text->data) + 1 : text->len;
	}
	return at;
}

/* ---- view ----------------------------------------------------------------------------------- */

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int list(const char *path, unsigned depth, unsigned *count, struct buf *ret)
{
	struct dirent **entries;
	const int found = scandir(path, &entries, is_shown, alphasort);
	struct err err;
	int rc = 0;

	for (int i = 0; i < found; i++) {
		cleanup_buf struct buf each = BUF_INIT(8192);
		struct stat st;

		if (rc == 0 && *count < ENTRIES_MAX &&
		    buf_addf(&each, &err, "%s/%s", path, entries[i]->d_name) == 0 &&
		    lstat(buf_text(&each), &st) == 0) {
			(*count)++;
			rc = buf_addf(ret, &err, "%s%s\n", buf_text(&each),
				      S_ISDIR(st.st_mode) ? "/" : "");
			if (rc == 0 && S_ISDIR(st.st_mode) && depth > 1)
				rc = list(buf_text(&each), depth - 1, count, ret);
		}
		free(entries[i]);
	}
	if (found >= 0)
		free(entries);
	return rc;
}

static bool read_range(const struct json_value *input, size_t total, size_t *first, size_t *last)
{
	const struct json_value *range = json_read_member(input, "view_range");
	int64_t from = 1, to = -1;

	if (json_read_kind(range) != JSON_KIND_NULL &&
	    (json_read_count(range) != 2 || !json_read_int(json_read_at(range, 0), &from) ||
	     !json_read_int(json_read_at(range, 1), &to)))
		return false;
	if (from < 1 || (uint64_t)from > (total > 0 ? total : 1) || (to != -1 && to < from))
		return false;
	*first = (size_t)from;
	*last = to == -1 || (uint64_t)to > total ? total : (size_t)to;
	return true;
}

static int view(const struct json_value *input, const char *path)
{
	cleanup_buf struct buf text = BUF_INIT(FILE_MAX), out = BUF_INIT(OUTPUT_MAX);
	size_t total, first, last, from, to;
	struct json_writer json;
	unsigned count = 0;
	struct stat st;
	int rc;

	if (stat(path, &st) < 0)
		return fail_as(errno, path);
	rc = S_ISDIR(st.st_mode) ? list(path, DEPTH, &count, &text) : read_text(path, &text);
	if (rc != 0)
		return S_ISDIR(st.st_mode) ? fail(wrong, "%.500s: too long a list", path) : rc;
	total = count_lines(buf_text(&text), text.len);
	if (!read_range(input, total, &first, &last))
		return fail(wrong, "view_range: [first, last], of %zu lines", total);
	from = offset_of(&text, first);
	to = offset_of(&text, last + 1);
	if (to - from > SHOWN_MAX)
		return fail(wrong, "%.500s: these are %zu bytes, more than 1 MiB: say which of the "
			    "%zu lines with view_range", path, to - from, total);
	json_write_begin_with(&json, &out, "type", "view");
	json_write_member_string(&json, "file_type", "text");
	json_write_member_uint(&json, "start_line", first);
	json_write_member_uint(&json, "num_lines", total > 0 ? last - first + 1 : 0);
	json_write_member_uint(&json, "total_lines", total);
	return print(&json, buf_text(&text) + from, to - from);
}

/* ---- create --------------------------------------------------------------------------------- */

static int make_folders(const char *path)
{
	char folder[PATH_MAX];

	for (size_t i = 1; path[i] != '\0'; i++) {
		if (path[i] != '/')
			continue;
		memcpy(folder, path, i);
		folder[i] = '\0';
		if (mkdir(folder, 0777) < 0 && errno != EEXIST)
			return fail_as(errno, folder);
	}
	return 0;
}

static int create(const struct json_value *input, const char *path)
{
	cleanup_buf struct buf out = BUF_INIT(OUTPUT_MAX);
	size_t len = 0;
	const char *text = json_read_text(json_read_member(input, "file_text"), &len);
	struct json_writer json;
	struct stat st;
	bool was_there;
	int rc;

	if (text == NULL)
		return fail(wrong, "file_text: the whole text of the file is required");
	was_there = stat(path, &st) == 0;
	rc = make_folders(path);
	if (rc == 0)
		rc = write_text(path, text, len);
	if (rc != 0)
		return rc;
	json_write_begin_with(&json, &out, "type", "create");
	json_write_member_bool(&json, "is_file_update", was_there);
	return print(&json, "", 0);
}

/* ---- str_replace ---------------------------------------------------------------------------- */

/* The replaced and the new text, in whole lines. */
struct change {
	size_t line; /* number of the first line, from 1 */
	const char *old_text, *new_text;
	size_t old_len, new_len;
};

static void write_lines(struct json_writer *json, char mark, const char *text, size_t len)
{
	while (text != NULL && len > 0) {
		const char *end = memchr(text, '\n', len);
		const size_t line = end != NULL ? (size_t)(end - text) : len;
		cleanup_buf struct buf marked = BUF_INIT(FILE_MAX * 2 + 1);
		struct err err;

		if (buf_addc(&marked, mark, &err) == 0 && buf_add(&marked, text, line, &err) == 0)
			json_write_text(json, buf_text(&marked), marked.len);
		text += line + (end != NULL);
		len -= line + (end != NULL);
	}
}

static int tell(const struct change *change)
{
	cleanup_buf struct buf out = BUF_INIT(OUTPUT_MAX);
	struct json_writer json;

	json_write_begin_with(&json, &out, "type", "str_replace");
	json_write_member_uint(&json, "old_start", change->line);
	json_write_member_uint(&json, "old_lines", count_lines(change->old_text, change->old_len));
	json_write_member_uint(&json, "new_start", change->line);
	json_write_member_uint(&json, "new_lines", count_lines(change->new_text, change->new_len));
	json_write_key(&json, "lines");
	json_write_array_begin(&json);
	write_lines(&json, '-', change->old_text, change->old_len);
	write_lines(&json, '+', change->new_text, change->new_len);
	json_write_array_end(&json);
	return print(&json, "", 0);
}

/* Finds the only occurrence of the text. Returns 0, or the exit status after printing the error. */
static int find(const struct buf *file, const char *text, size_t len, const char *path,
		size_t *ret)
{
	const char *at = memmem(buf_text(file), file->len, text, len), *more = at;
	size_t count = 0;

	while (more != NULL) {
		count++;
		more = memmem(more + len, file->len - (size_t)(more + len - file->data), text, len);
	}
	if (count != 1)
		return fail(wrong, count == 0 ? "%.500s: old_str is not in the file"
					      : "%.500s: old_str is in the file %zu times: give "
						"more of the text around it",
			    path, count);
	*ret = (size_t)(at - file->data);
	return 0;
}

static int str_replace(const struct json_value *input, const char *path)
{
	cleanup_buf struct buf file = BUF_INIT(FILE_MAX), text = BUF_INIT(FILE_MAX);
	size_t old_len = 0, new_len = 0, at, from, to;
	const char *old_str = json_read_text(json_read_member(input, "old_str"), &old_len);
	const char *new_str = json_read_text(json_read_member(input, "new_str"), &new_len);
	const char *end;
	struct err err;
	int rc = read_text(path, &file);

	if (rc != 0)
		return rc;
	if (old_str == NULL || old_len == 0)
		return fail(wrong, "old_str: the text to replace is required");
	rc = find(&file, old_str, old_len, path, &at);
	if (rc != 0)
		return rc;
	new_str = new_str != NULL ? new_str : "";
	if (buf_add(&text, file.data, at, &err) < 0 || buf_add(&text, new_str, new_len, &err) < 0 ||
	    buf_add(&text, file.data + at + old_len, file.len - at - old_len, &err) < 0)
		return fail(wrong, "%.500s: it would become longer than 8 MiB", path);
	rc = write_text(path, buf_text(&text), text.len);
	if (rc != 0)
		return rc;
	for (from = at; from > 0 && file.data[from - 1] != '\n'; from--)
		;
	to = at + old_len;
	/* Unless whole lines replace whole lines, the rest of the last line changes as well. */
	if (old_str[old_len - 1] != '\n' ||
	    (new_len > 0 ? new_str[new_len - 1] != '\n' : from != at)) {
		end = memchr(file.data + to, '\n', file.len - to);
		to = end != NULL ? (size_t)(end - file.data) + 1 : file.len;
	}
	return tell(&(struct change){ .line = count_breaks(buf_text(&file), from) + 1,
				      .old_text = file.data + from,
				      .old_len = to - from,
				      .new_text = buf_text(&text) + from,
				      .new_len = to - from + new_len - old_len });
}

/* ---- the program ---------------------------------------------------------------------------- */

static int run(const struct json_value *input)
{
	const char *command = json_read_text(json_read_member(input, "command"), NULL);
	size_t len = 0;
	const char *path = json_read_text(json_read_member(input, "path"), &len);

	if (path == NULL || len == 0 || strlen(path) != len || len >= PATH_MAX)
		return fail(wrong, "path: the path of a file is required");
	if (command != NULL && strcmp(command, "view") == 0)
		return view(input, path);
	if (command != NULL && strcmp(command, "create") == 0)
		return create(input, path);
	if (command != NULL && strcmp(command, "str_replace") == 0)
		return str_replace(input, path);
	return fail(wrong, "command: one of view, create, str_replace");
}

int main(void)
{
	cleanup_buf struct buf text = BUF_INIT(INPUT_MAX);
	struct json_value *input = NULL;
	struct err err;
	int status;

	(void)signal(SIGPIPE, SIG_IGN);
	if (fd_read_all(STDIN_FILENO, &text, &err) < 0 ||
	    json_read_parse(buf_text(&text), text.len, INPUT_MAX, &input, &err) < 0)
		return fail(wrong, "%s", err.text);
	status = run(input);
	json_read_free(input);
	return status;
}
