/*
 * input.c - loads and checks the sources, files and directories of a run before it starts.
 *
 * Runs in:  reckon.
 * Reads:    files that the user named, as the user.
 * Never:    writes anything; blocks on a FIFO or device in place of a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "cli/options/parse.h"
#include "cli/run/run.h"

/* Opens a regular file. The remedy names the most likely mistake. */
static int open_regular(const char *path, int *ret_fd, struct err *err)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0) {
		const int errnum = errno;

		err_sys(err, "%.200s", path);
		if (errnum == ENOENT)
			return err_remedy(err, "check the spelling; paths start at the current "
					       "directory");
		return (int)err->code;
	}
	if (fstat(fd, &st) < 0)
		return err_sys(err, "%.200s", path);
	if (S_ISDIR(st.st_mode)) {
		err_set(err, ERR_INVALID, "%.200s: is a directory", path);
		return err_remedy(err, "name a file; -m shows a whole directory to the code");
	}
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "%.200s: is not a regular file", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Replaces buf's error "full", which says nothing to a user. */
static int too_large(struct err *err)
{
	err_set(err, ERR_INVALID, "source is larger than 4 MiB");
	return err_remedy(err, "data goes in with -f FILE");
}

/* Removes the UTF-8 byte order mark that some Windows editors write. */
static void drop_mark(struct buf *source)
{
	static const char mark[] = "\xef\xbb\xbf";
	const size_t len = sizeof(mark) - 1;

	if (source->len < len || memcmp(source->data, mark, len) != 0)
		return;
	source->len -= len;
	memmove(source->data, source->data + len, source->len);
	source->data[source->len] = '\0';
}

static int load_notebook(struct run *run, const char *path, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(RUN_NOTEBOOK_MAX);
	cleanup_fd int fd = -1;
	int rc;

	if (open_regular(path, &fd, err) < 0)
		return (int)err->code;
	rc = fd_read_all(fd, &text, err);
	if (rc == ERR_LIMIT)
		return err_set(err, ERR_INVALID, "%.200s: is larger than %zu MiB", path,
			       RUN_NOTEBOOK_MAX >> 20);
	if (rc < 0)
		return err_wrap(err, "%.200s", path);
	drop_mark(&text);
	return run_notebook_add(run, path, buf_text(&text), text.len, err) < 0
		       ? err_wrap(err, "%.200s", path)
		       : 0;
}

static int load_cell(struct run_cell *cell, struct err *err)
{
	cleanup_fd int file = -1;
	int fd = STDIN_FILENO, rc;
	const char *name = strcmp(cell->origin, "-") == 0 ? "stdin" : cell->origin;

	if (cell->inline_text != NULL) {
		rc = buf_adds(&cell->source, cell->inline_text, err);
	} else {
		if (strcmp(cell->origin, "-") != 0) {
			if (open_regular(cell->origin, &file, err) < 0)
				return (int)err->code;
			fd = file;
		}
		rc = fd_read_all(fd, &cell->source, err);
	}
	if (rc == ERR_LIMIT)
		rc = too_large(err);
	if (rc == 0 && cell->source.data == NULL)
		rc = buf_adds(&cell->source, "", err); /* an empty source is still a source */
	drop_mark(&cell->source);
	if (rc == 0)
		rc = run_input_check_source(cell->source.data, cell->source.len, err);
	return rc < 0 ? err_wrap(err, "%.200s", name) : 0;
}

/* Loads each source; replaces a notebook by its cells. */
static int load_each(struct run *run, struct err *err)
{
	cleanup_free struct run_cell *named = run->cells;
	const size_t count = run->cell_count;
	int code = 0;

	run->cells = NULL;
	run->cell_count = 0;
	for (size_t i = 0; i < count && code == 0; i++) {
		if (named[i].inline_text == NULL && run_is_notebook(named[i].origin))
			code = load_notebook(run, named[i].origin, err);
		else
			code = load_cell(run_add_cell(run, named[i].origin, named[i].inline_text),
					 err);
	}
	return code;
}

static int load_cells(struct run *run, struct err *err)
{
	size_t from_stdin = 0;

	for (size_t i = 0; i < run->cell_count; i++)
		from_stdin += run->cells[i].inline_text == NULL &&
			      strcmp(run->cells[i].origin, "-") == 0;
	if (run->stdin_path != NULL && strcmp(run->stdin_path, "-") == 0)
		from_stdin++;
	if (from_stdin > 1) {
		err_set(err, ERR_INVALID, "stdin can be read only once");
		return err_remedy(err, "name '-' one time, for a cell or for --stdin");
	}
	return load_each(run, err);
}

static int load_files(struct run *run, struct err *err)
{
	if (run_folders_load(run, err) < 0)
		return err_wrap(err, "--file");
	for (size_t i = 0; i < run->file_count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (strcmp(run->files[i].name, run->files[j].name) != 0)
				continue;
			err_set(err, ERR_INVALID, "--file: two files would be named '%.100s'",
				run->files[i].name);
			return err_remedy(err, "give one another name with FILE:NAME");
		}
		if (open_regular(run->files[i].path, &run->files[i].fd, err) < 0)
			return err_wrap(err, "--file");
	}
	return 0;
}

/* The warden has another working directory, so the source has to be absolute. */
static int load_mount(reckon_mount *mount, struct err *err)
{
	char *absolute = realpath(mount->source, NULL);
	struct stat st;

	if (absolute == NULL)
		return err_sys(err, "--mount: %.200s", mount->source);
	free((void *)(uintptr_t)mount->source);
	mount->source = absolute;
	if (stat(absolute, &st) < 0)
		return err_sys(err, "--mount: %.200s", absolute);
	if (!S_ISDIR(st.st_mode)) {
		err_set(err, ERR_INVALID, "--mount: %.200s: is not a directory", absolute);
		return err_remedy(err, "-f puts a single file into the workspace");
	}
	if (access(absolute, mount->writable ? R_OK | W_OK | X_OK : R_OK | X_OK) < 0)
		return err_sys(err, "--mount: %.200s", absolute);
	return 0;
}

/* A mount without a target uses its directory's name, which must be a valid file name. */
static int check_default_target(const reckon_mount *mount, struct err *err)
{
	const char *slash = strrchr(mount->source, '/');
	cleanup_buf struct buf spec = BUF_INIT(RUN_SOURCE_MAX);
	char *source, *target;
	bool writable;
	int rc;

	if (mount->target != NULL)
		return 0;
	if (buf_addf(&spec, err, "x:/mnt/%s", slash + 1) < 0)
		return (int)err->code;
	rc = parse_mount_spec(spec.data, &source, &target, &writable, err);
	if (rc < 0)
		return err_wrap(err, "--mount");
	free(source);
	free(target);
	return 0;
}

static int load_mounts(struct run *run, struct err *err)
{
	for (size_t i = 0; i < run->mount_count; i++)
		if (load_mount(&run->mounts[i], err) < 0 ||
		    check_default_target(&run->mounts[i], err) < 0)
			return (int)err->code;
	return 0;
}

int run_input_load(struct run *run, struct err *err)
{
	if (run->entry == NULL && (load_cells(run, err) < 0 || run_program_load(run, err) < 0))
		return (int)err->code;
	if (load_files(run, err) < 0 || load_mounts(run, err) < 0)
		return (int)err->code;
	if (run->stdin_path != NULL && strcmp(run->stdin_path, "-") == 0)
		run->stdin_fd = STDIN_FILENO;
	else if (run->stdin_path != NULL &&
		 open_regular(run->stdin_path, &run->stdin_fd, err) < 0)
		return err_wrap(err, "--stdin");
	if (run->out_path != NULL && run_files_check_dir(run->out_path, err) < 0)
		return err_wrap(err, "--output");
	return 0;
}
