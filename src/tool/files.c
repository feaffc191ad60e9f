/*
 * files.c - reckon-files: reads and changes files of a box for a client outside of it.
 *
 * Runs in:  a box, started by reckond for a client.
 * Reads:    standard input: one line of JSON, then the content for "write"; files of the box.
 * Never:    has more rights than other code in the box.
 *
 *   {"command": "stat", "path"}                      {"entry"}
 *   {"command": "list", "path", "depth"}             {"entries": […]}, in pre-order
 *   {"command": "mkdir", "path"}                     {"entry", "is_new"}
 *   {"command": "move", "path", "to"}                {"entry"}
 *   {"command": "remove", "path"}                    {}
 *   {"command": "read", "path"}                      {"size"}, and the bytes after that line
 *   {"command": "write", "path", "prefix", "attributes"}
 *   {"command": "compose", "path", "paths"}          {}; joins `paths` as `path`, removes them
 *   {"command": "attributes", "paths", "prefix", "attributes"}
 *           replaces the attributes that begin with the prefix
 *
 * It prints one line of JSON with the result, or {"error", "message"}.
 */
#include "tool/files.h"

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

#define LINE_MAX_BYTES ((size_t)1 << 20)
#define CHUNK 65536u

/* ---- answers -------------------------------------------------------------------------------- */

static int print(struct json_writer *json)
{
	struct err err;

	json_write_object_end(json);
	if (json_write_finish(json, &err) < 0 || buf_addc(json->out, '\n', &err) < 0 ||
	    fd_write_full(STDOUT_FILENO, json->out->data, json->out->len, &err) < 0) {
		(void)fprintf(stderr, "reckon-files: %s\n", err.text);
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

static void begin(struct json_writer *json, struct buf *out)
{
	json_write_init(json, out);
	json_write_object_begin(json);
}

int files_fail(const char *code, const char *fmt, ...)
{
	cleanup_buf struct buf out = BUF_INIT(FILES_OUTPUT_MAX);
	struct json_writer json;
	char text[2 * PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	begin(&json, &out);
	json_write_member_string(&json, "error", code);
	json_write_member_string(&json, "message", text);
	(void)print(&json);
	return EXIT_FAILURE;
}

int files_fail_as(int number, const char *path)
{
	static const struct {
		int number;
		const char *code;
	} known[] = {
		{ ENOENT, "not_found" }, { ENOTDIR, "not_folder" }, { EISDIR, "is_folder" },
		{ EACCES, "denied" }, { EPERM, "denied" }, { EROFS, "denied" },
		{ ELOOP, "loop" }, { ENOSPC, "full" }, { EDQUOT, "full" },
		{ ENOTSUP, "no_attributes" },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].number == number)
			return files_fail(known[i].code, "%s: %s", path, strerror(number));
	return files_fail("invalid", "%s: %s", path, strerror(number));
}

static int answer_entry(const char *path, bool is_new)
{
	cleanup_buf struct buf out = BUF_INIT(FILES_OUTPUT_MAX);
	struct json_writer json;
	struct stat st;

	if (lstat(path, &st) < 0)
		return files_fail_as(errno, path);
	begin(&json, &out);
	json_write_member_bool(&json, "is_new", is_new);
	json_write_key(&json, "entry");
	files_write_entry(&json, path, &st);
	return print(&json);
}

static int answer_nothing(void)
{
	cleanup_buf struct buf out = BUF_INIT(16);
	struct json_writer json;

	begin(&json, &out);
	return print(&json);
}

/* ---- commands ------------------------------------------------------------------------------- */

static int list(const char *path, const struct json_value *input)
{
	cleanup_buf struct buf out = BUF_INIT(FILES_OUTPUT_MAX);
	struct json_writer json;
	int64_t depth = 1;
	struct stat st;

	(void)json_read_int(json_read_member(input, "depth"), &depth);
	if (stat(path, &st) < 0)
		return files_fail_as(errno, path);
	if (!S_ISDIR(st.st_mode))
		return files_fail("not_folder", "path is not a directory: %s", path);
	begin(&json, &out);
	json_write_key(&json, "entries");
	json_write_array_begin(&json);
	if (files_walk(&json, path, depth) < 0)
		return files_fail_as(errno, path);
	json_write_array_end(&json);
	return print(&json);
}

/* Makes the folders above `path`; with `whole` also `path`. Negative: see errno. */
int files_make_folders(const char *path, bool whole)
{
	char folder[PATH_MAX];

	for (size_t i = 1;; i++) {
		if (path[i] != '/' && !(path[i] == '\0' && whole)) {
			if (path[i] == '\0')
				return 0;
			continue;
		}
		memcpy(folder, path, i);
		folder[i] = '\0';
		/* For an existing folder, mkdir() can also fail with EROFS. */
		if (mkdir(folder, 0755) < 0 && errno != EEXIST) {
			const int number = errno;
			struct stat st;

			errno = number;
			if (stat(folder, &st) < 0 || !S_ISDIR(st.st_mode)) {
				errno = number;
				return -1;
			}
		}
		if (path[i] == '\0')
			return 0;
	}
}

static int mkdir_one(const char *path)
{
	struct stat st;

	if (stat(path, &st) == 0)
		return S_ISDIR(st.st_mode)
			       ? answer_entry(path, false)
			       : files_fail("is_file",
					    "path already exists but it is not a directory: %s",
					    path);
	if (files_make_folders(path, true) < 0)
		return files_fail_as(errno, path);
	return answer_entry(path, true);
}

static int move_one(const char *path, const struct json_value *input)
{
	const char *to = json_read_text(json_read_member(input, "to"), NULL);
	struct stat st;

	if (to == NULL || to[0] != '/' || strlen(to) >= PATH_MAX)
		return files_fail("invalid", "to: an absolute path is required");
	if (lstat(path, &st) < 0)
		return files_fail_as(errno, path);
	if (files_make_folders(to, false) < 0)
		return files_fail_as(errno, to);
	if (rename(path, to) < 0 && (errno != EXDEV || files_carry(path, to) < 0))
		return files_fail_as(errno, errno == ENOENT ? path : to);
	return answer_entry(to, true);
}

static int read_one(const char *path)
{
	cleanup_buf struct buf out = BUF_INIT(1024);
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct json_writer json;
	char chunk[CHUNK];
	struct stat st;
	struct err err;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return files_fail_as(errno, path);
	if (S_ISDIR(st.st_mode))
		return files_fail("is_folder", "path '%s' is a directory", path);
	if (!S_ISREG(st.st_mode))
		return files_fail("invalid", "%s: not a regular file", path);
	begin(&json, &out);
	json_write_member_uint(&json, "size", (uint64_t)st.st_size);
	if (print(&json) != EXIT_SUCCESS)
		return EXIT_FAILURE;
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		if (fd_write_full(STDOUT_FILENO, chunk, (size_t)n, &err) < 0)
			return EXIT_FAILURE;
	return n < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* `ahead`: content that was already read, together with the line of JSON. */
static int write_one(const char *path, const struct json_value *input, const char *ahead,
		     size_t len)
{
	cleanup_fd int fd = -1;
	char chunk[CHUNK];
	struct err err;
	ssize_t n;

	if (files_make_folders(path, false) < 0)
		return files_fail_as(errno, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0644);
	if (fd < 0)
		return files_fail_as(errno, path);
	if (fd_write_full(fd, ahead, len, &err) < 0)
		return files_fail_as(err.errnum, path);
	while ((n = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0)
		if (fd_write_full(fd, chunk, (size_t)n, &err) < 0)
			return files_fail_as(err.errnum, path);
	if (n < 0)
		return files_fail_as(errno, path);
	if (files_set_attributes(fd, input) < 0)
		return files_fail_as(errno, path);
	return answer_entry(path, true);
}

static int set_attributes(const struct json_value *input)
{
	const struct json_value *paths = json_read_member(input, "paths");

	for (size_t i = 0; i < json_read_count(paths); i++) {
		const char *path = json_read_text(json_read_at(paths, i), NULL);
		cleanup_fd int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
						 : -1;

		if (path == NULL)
			return files_fail("invalid", "paths: texts are required");
		if (fd < 0 || files_set_attributes(fd, input) < 0)
			return files_fail_as(errno, path);
	}
	return answer_nothing();
}

static int compose(const char *path, const struct json_value *input)
{
	const int status = files_compose(json_read_member(input, "paths"), path);

	return status == EXIT_SUCCESS ? answer_nothing() : status;
}

/* ---- the program ---------------------------------------------------------------------------- */

static int run(const struct json_value *input, const char *ahead, size_t ahead_len)
{
	const char *command = json_read_text(json_read_member(input, "command"), NULL);
	size_t len = 0;
	const char *path = json_read_text(json_read_member(input, "path"), &len);

	if (command == NULL)
		return files_fail("invalid", "command: is required");
	if (strcmp(command, "attributes") == 0)
		return set_attributes(input);
	if (path == NULL || path[0] != '/' || strlen(path) != len || len >= PATH_MAX)
		return files_fail("invalid", "path: an absolute path is required");
	if (strcmp(command, "stat") == 0)
		return answer_entry(path, false);
	if (strcmp(command, "list") == 0)
		return list(path, input);
	if (strcmp(command, "mkdir") == 0)
		return mkdir_one(path);
	if (strcmp(command, "move") == 0)
		return move_one(path, input);
	if (strcmp(command, "remove") == 0)
		return files_remove(path) < 0 && errno != ENOENT ? files_fail_as(errno, path)
								 : answer_nothing();
	if (strcmp(command, "read") == 0)
		return read_one(path);
	if (strcmp(command, "write") == 0)
		return write_one(path, input, ahead, ahead_len);
	if (strcmp(command, "compose") == 0)
		return compose(path, input);
	return files_fail("invalid", "command: unknown");
}

int main(void)
{
	cleanup_buf struct buf text = BUF_INIT(LINE_MAX_BYTES + CHUNK);
	struct json_value *input = NULL;
	const char *end = NULL;
	char chunk[CHUNK];
	struct err err;
	int status;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)umask(022);
	while (end == NULL) {
		const ssize_t n = read(STDIN_FILENO, chunk, sizeof(chunk));

		if (n <= 0 || text.len > LINE_MAX_BYTES ||
		    buf_add(&text, chunk, (size_t)n, &err) < 0)
			return files_fail("invalid", "there is no line of JSON");
		end = memchr(text.data, '\n', text.len);
	}
	if (json_read_parse(text.data, (size_t)(end - text.data), LINE_MAX_BYTES, &input, &err) < 0)
		return files_fail("invalid", "%s", err.text);
	status = run(input, end + 1, text.len - (size_t)(end + 1 - text.data));
	json_read_free(input);
	return status;
}
