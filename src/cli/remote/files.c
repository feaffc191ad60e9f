/*
 * files.c - reckon files: lists, copies and removes files of a session's workspace or a volume.
 *
 * Runs in:  reckon-client.
 * Reads:    names that boxes chose; files of the user.
 * Never:    writes outside the directory that the user named, follows a link in it, or creates a
 *           file before it is complete; replaces a file without -f.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options/parse.h"
#include "cli/remote/files.h"
#include "cli/run/run.h"
#include "cli/storage/storage.h"
#include "cli/term/progress.h"
#include "codec/json_get.h"

#define OPEN_MAX_WALK 32

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct files *files = arg;

	if (id == OPT_OPERAND) {
		files->names[files->count++] = value;
		return 0;
	}
	if (id == 'o')
		files->target = value;
	else if (id == REMOTE_OPT_VOLUME)
		files->volume = value;
	else if (id == 'f')
		files->force = true;
	else
		return remote_take_all(id, value, &files->remote, err);
	return 0;
}

static int path_of(struct files *files, const char *name, struct buf *path, struct err *err)
{
	if ((files->volume != NULL
		     ? storage_volume_path(path, files->volume, "/files/", err)
		     : remote_path(path, files->session, "/files/", err)) < 0)
		return (int)err->code;
	return client_path_add(path, name, true, err);
}

static int choose(struct files *files, struct err *err)
{
	struct json_value *volume;

	if (files->volume == NULL)
		return remote_chosen(files->client, &files->remote, true, &files->session, err);
	if (storage_volume(files->client, files->volume, &volume, err) < 0)
		return (int)err->code;
	json_read_free(volume);
	return 0;
}

/* The common beginning of all subcommands. -1: go on; else the exit status. */
static int begin(struct files *files, const struct opt_command *self, int argc, char **argv,
		 bool needs_names)
{
	struct err err;
	int status;

	files->self = self;
	files->remote.where.no_start = true;
	files->names = mem_new0((size_t)argc + 1, sizeof(*files->names));
	status = remote_parse(self, argc, argv, take, files);
	if (status >= 0)
		return status;
	if (needs_names && files->count == 0) {
		(void)err_set(&err, ERR_INVALID, "missing argument FILE");
		(void)err_remedy(&err, "reckon %s %s", self->name, self->operands);
		return cli_complain_of(self, &err);
	}
	if (files->volume != NULL && files->remote.session != NULL) {
		(void)err_set(&err, ERR_INVALID, "--session and --volume cannot be used together");
		return cli_complain_of(self, &err);
	}
	if (remote_open(&files->remote, &files->client, &err) < 0 || choose(files, &err) < 0)
		return cli_complain_of(self, &err);
	return -1;
}

static int end(struct files *files, int status)
{
	for (size_t i = 0; i < files->page_count; i++)
		json_read_free(files->pages[i]);
	free(files->pages);
	free(files->rows);
	json_read_free(files->session);
	client_close(files->client);
	free(files->names);
	return status;
}

/* Runs a subcommand that handles each name in the same way. */
static int with_each(const struct opt_command *self, int argc, char **argv,
		     int (*fn)(struct files *files, const char *name, struct err *err))
{
	struct files files = { 0 };
	struct err err;
	int status = begin(&files, self, argc, argv, true);

	if (status >= 0)
		return end(&files, status);
	for (size_t i = 0; i < files.count; i++)
		if (fn(&files, files.names[i], &err) < 0)
			return end(&files, cli_complain_of(self, &err));
	return end(&files, EXIT_CODE_OK);
}

/* ---- ls ------------------------------------------------------------------------------------- */

int remote_files_ls(const struct opt_command *self, int argc, char **argv)
{
	cleanup_buf struct buf text = BUF_INIT(CLIENT_JSON_MAX);
	struct files files = { 0 };
	struct err err;
	int status = begin(&files, self, argc, argv, false);

	if (status >= 0)
		return end(&files, status);
	if (files.count > 1) {
		(void)remote_unexpected(files.names[1], &err);
		status = cli_complain_of(self, &err);
	} else if (files_fetch(&files, files.count > 0 ? files.names[0] : "", &err) < 0 ||
		   (!files.remote.json && files_draw(&files, &text, &err) < 0)) {
		status = cli_complain_of(self, &err);
	} else if (files.remote.json) {
		status = files_print_rows(&files);
	} else if (text.len > 0) {
		status = cli_write_stdout(buf_text(&text), text.len);
	} else {
		(void)fputs("reckon: no files\n", stderr);
		status = EXIT_CODE_OK;
	}
	return end(&files, status);
}

/* ---- get ------------------------------------------------------------------------------------ */

static int get_to(struct files *files, const char *path, int dir_fd, const char *as,
		  struct err *err)
{
	cleanup_buf struct buf where = BUF_INIT(64 * 1024);
	char temp[RUN_FILES_TEMP_SIZE];
	cleanup_fd int fd = -1;
	struct term_progress progress;
	struct stat st;
	int code;

	if (!files->force && fs_path_is_safe(as) &&
	    fstatat(dir_fd, as, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		(void)err_set(err, ERR_INVALID, "%.200s already exists", as);
		return err_remedy(err, "-f replaces it");
	}
	if (path_of(files, path, &where, err) < 0 ||
	    run_files_create(dir_fd, as, temp, &fd, err) < 0)
		return (int)err->code;
	term_progress_begin(&progress, path);
	client_on_progress(files->client, term_progress_fn, &progress);
	code = client_download(files->client, buf_text(&where), fd, NULL, err);
	client_on_progress(files->client, NULL, NULL);
	term_progress_end(&progress);
	if (code == 0 && run_files_commit(dir_fd, temp, as, err) == 0)
		return 0;
	run_files_abandon(dir_fd, temp);
	return (int)err->code;
}


/*
 * A folder keeps its path, so `get out` creates out/…; a file is created under its last component.
 */
static int get_one(struct files *files, const char *name, int dir_fd, struct err *err)
{
	const size_t len = files_name_length(name);
	size_t base = len, found = 0;

	while (base > 0 && name[base - 1] != '/')
		base--;
	for (size_t i = 0; i < files->row_count; i++) {
		const char *path = json_get_str(files->rows[i], "path");

		if (!files_is_within(path, name))
			continue;
		found++;
		if (get_to(files, path, dir_fd, strlen(path) > base ? path + base : path, err) < 0)
			return err_wrap(err, "%.200s", path);
	}
	if (found == 0) {
		(void)err_set(err, ERR_NOT_FOUND, "%.200s: there is no such file", name);
		return err_remedy(err, "reckon files ls shows what there is");
	}
	return 0;
}

/*
 * Gets a folder with all it contains, links and modes too. 1: not a folder, or the server cannot
 * make archives.
 */
static int get_folder(struct files *files, const char *name, int dir_fd, struct err *err)
{
	cleanup_buf struct buf where = BUF_INIT(64 * 1024);
	cleanup_free char *plain = mem_strdup(files_is_within("", name) ? "" : name);
	const char *slash;

	plain[files_name_length(plain)] = '\0';
	slash = strrchr(plain, '/');
	if (files->volume != NULL)
		return 1;
	if (remote_path(&where, files->session, "/archive?format=tar", err) < 0 ||
	    (plain[0] != '\0' && (buf_adds(&where, "&path=", err) < 0 ||
				  client_path_add(&where, plain, false, err) < 0)))
		return (int)err->code;
	return remote_tar_get(files->client, buf_text(&where), dir_fd,
			      slash != NULL ? slash + 1 : plain, files->force, err);
}

static int get_all(struct files *files, const char *dir, struct err *err)
{
	cleanup_fd int dir_fd = -1;

	if (run_files_open_dir(dir, &dir_fd, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < files->count; i++) {
		const char *name = files->names[i];
		const int code = get_folder(files, name, dir_fd, err);

		if (code < 0)
			return err_wrap(err, "%.200s", name);
		if (code > 0 && (files_fetch(files, name, err) < 0 ||
				 get_one(files, name, dir_fd, err) < 0))
			return (int)err->code;
	}
	return 0;
}

/* Gets one file under a name that the user chose. */
static int get_as(struct files *files, const char *target, struct err *err)
{
	cleanup_free char *for_dir = mem_strdup(target), *for_name = mem_strdup(target);
	cleanup_fd int dir_fd = open(dirname(for_dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir_fd < 0)
		return err_sys(err, "%.200s", target);
	return get_to(files, files->names[0], dir_fd, basename(for_name), err);
}

static int get_to_stdout(struct files *files, struct err *err)
{
	cleanup_buf struct buf where = BUF_INIT(64 * 1024);

	if (isatty(STDOUT_FILENO)) {
		(void)err_set(err, ERR_INVALID, "a file is not written to a terminal as it is");
		return err_remedy(err, "-o FILE saves it");
	}
	if (files->count != 1)
		return err_set(err, ERR_INVALID, "one file goes to stdout");
	if (path_of(files, files->names[0], &where, err) < 0)
		return (int)err->code;
	return client_download(files->client, buf_text(&where), STDOUT_FILENO, NULL, err);
}

/* Whether TARGET is a new name for one file, and not a folder for several. */
static bool is_file_target(struct files *files, struct err *err)
{
	struct stat st;

	if (files->count != 1 || files->target == NULL ||
	    files->target[strlen(files->target) - 1] == '/' ||
	    (stat(files->target, &st) == 0 && S_ISDIR(st.st_mode)) ||
	    files_fetch(files, files->names[0], err) < 0)
		return false;
	for (size_t i = 0; i < files->row_count; i++)
		if (strcmp(json_get_str(files->rows[i], "path"), files->names[0]) == 0)
			return true;
	return false;
}

int remote_files_get(const struct opt_command *self, int argc, char **argv)
{
	struct files files = { 0 };
	struct err err;
	int code, status = begin(&files, self, argc, argv, true);

	if (status >= 0)
		return end(&files, status);
	if (files.target != NULL && files.target[0] == '\0')
		code = err_set(&err, ERR_INVALID, "the name of the target is empty");
	else if (files.target != NULL && strcmp(files.target, "-") == 0)
		code = get_to_stdout(&files, &err);
	else if (is_file_target(&files, &err))
		code = get_as(&files, files.target, &err);
	else
		code = get_all(&files, files.target != NULL ? files.target : ".", &err);
	return end(&files, code < 0 ? cli_complain_of(self, &err) : EXIT_CODE_OK);
}

/* ---- put ------------------------------------------------------------------------------------ */

static int put_file(struct files *files, const char *file, const char *name, struct err *err)
{
	cleanup_buf struct buf where = BUF_INIT(64 * 1024);
	cleanup_fd int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct term_progress progress;
	struct stat st;
	int code;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "%.200s", file);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "%.200s: is not a regular file", file);
	if (!fs_path_is_safe(name))
		return err_set(err, ERR_INVALID, "'%.200s' is not a name for a file there", name);
	if (path_of(files, name, &where, err) < 0 ||
	    (files->volume != NULL && buf_addf(&where, err, "?mode=%u", st.st_mode & 0777) < 0))
		return err_wrap(err, "%.200s", file);
	term_progress_begin(&progress, file);
	client_on_progress(files->client, term_progress_fn, &progress);
	code = client_upload(files->client, buf_text(&where), fd, (uint64_t)st.st_size, NULL, err);
	client_on_progress(files->client, NULL, NULL);
	term_progress_end(&progress);
	return code < 0 ? err_wrap(err, "%.200s", file) : 0;
}

/* A static variable, because nftw() passes no argument to its callback. */
static struct walk {
	struct files *files;
	struct err *err;
	const char *name;
	size_t root_len;
	int code;
} walk;

static int walk_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	cleanup_buf struct buf name = BUF_INIT(PATH_MAX * 2);

	(void)st;
	(void)at;
	if (type == FTW_D)
		return 0;
	if (type != FTW_F || !S_ISREG(st->st_mode)) {
		run_output_line("reckon: %s is not a regular file, so it is left out", path);
		return 0;
	}
	walk.code = buf_addf(&name, walk.err, "%s%s", walk.name, path + walk.root_len);
	if (walk.code == 0)
		walk.code = put_file(walk.files, path, buf_text(&name), walk.err);
	return walk.code < 0 ? 1 : 0;
}

static int put_folder(struct files *files, const char *folder, const char *name, struct err *err)
{
	const size_t len = files_name_length(folder);
	cleanup_buf struct buf where = BUF_INIT(64 * 1024);
	cleanup_free char *root = mem_strdup(folder);
	int code;

	root[len] = '\0';
	if (files->volume == NULL && (remote_path(&where, files->session, "/archive?path=", err) < 0 ||
				      client_path_add(&where, name, false, err) < 0))
		return (int)err->code;
	code = files->volume == NULL && fs_path_is_safe(name)
		       ? remote_tar_put(files->client, buf_text(&where), root, err)
		       : 1;
	if (code <= 0)
		return code;
	walk = (struct walk){ .files = files, .err = err, .name = name, .root_len = len };
	if (nftw(root, walk_one, OPEN_MAX_WALK, FTW_PHYS) < 0)
		return err_sys(err, "%.200s", root);
	return walk.code;
}

static int put_one(struct files *files, const char *spec, struct err *err)
{
	cleanup_free char *file = NULL, *name = NULL;
	cleanup_free char *plain = mem_strdup(spec);
	struct stat st;

	/* "out/" names the folder out. */
	plain[files_name_length(plain)] = '\0';
	if (parse_file_spec(plain, &file, &name, err) < 0)
		return (int)err->code;
	if (stat(file, &st) < 0)
		return err_sys(err, "%.200s", file);
	return S_ISDIR(st.st_mode) ? put_folder(files, file, name, err)
				   : put_file(files, file, name, err);
}

int remote_files_put(const struct opt_command *self, int argc, char **argv)
{
	return with_each(self, argc, argv, put_one);
}

/* ---- rm ------------------------------------------------------------------------------------- */

static int rm_one(struct files *files, const char *name, struct err *err)
{
	cleanup_buf struct buf where = BUF_INIT(64 * 1024);
	cleanup_free char *plain = mem_strdup(name);

	/* Removing everything is probably a mistake. */
	if (files_is_within("", name))
		return err_set(err, ERR_INVALID, "invalid file name '%.200s'", name);
	plain[files_name_length(plain)] = '\0';
	if (path_of(files, plain, &where, err) < 0 ||
	    (files->volume == NULL && buf_adds(&where, "?recursive=1", err) < 0))
		return (int)err->code;
	return client_call(files->client, "DELETE", buf_text(&where), NULL, NULL, err);
}

int remote_files_rm(const struct opt_command *self, int argc, char **argv)
{
	return with_each(self, argc, argv, rm_one);
}
