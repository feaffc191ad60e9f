/*
 * files.c - reckon files: what is in a session's workspace, and in and out of it.
 *
 * Runs in:  reckon-client.
 * Reads:    names that boxes chose; files of the user's.
 * Never:    writes outside the directory that was named, follows a link there, or shows a file
 *           before it is whole; replaces one without -f.
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
#include "cli/remote/remote.h"
#include "cli/run/run.h"
#include "cli/term/look.h"
#include "cli/term/progress.h"
#include "cli/term/table.h"
#include "cli/term/width.h"
#include "codec/json_get.h"

#define OPEN_MAX_WALK 32
#define ROWS_MAX 1000000u

struct files {
	struct remote remote;
	const struct opt_command *self;
	struct client *client;
	struct json_value *session;
	struct json_value **pages; /* {"files": […], "next"} */
	size_t page_count;
	const struct json_value **rows; /* of all pages; files alone */
	size_t row_count;
	const char **names;
	size_t count;
	const char *target;
	bool force;
};

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct files *files = arg;

	if (id == OPT_OPERAND) {
		files->names[files->count++] = value;
		return 0;
	}
	if (id == 'o')
		files->target = value;
	else if (id == 'f')
		files->force = true;
	else
		return remote_take_all(id, value, &files->remote, err);
	return 0;
}

static int path_of(struct files *files, const char *name, struct buf *path, struct err *err)
{
	if (remote_path(path, files->session, "/files/", err) < 0)
		return (int)err->code;
	return client_path_add(path, name, true, err);
}

static void add_page(struct files *files, struct json_value *page)
{
	const struct json_value *rows = json_read_member(page, "files");

	files->pages = mem_grow(files->pages, files->page_count + 1, sizeof(*files->pages));
	files->pages[files->page_count++] = page;
	files->rows = mem_grow(files->rows, files->row_count + json_read_count(rows) + 1,
			       sizeof(*files->rows));
	for (size_t i = 0; i < json_read_count(rows); i++) {
		const char *kind = json_get_str(json_read_at(rows, i), "kind");

		/* A folder is in the paths of what it holds. */
		if (kind[0] == '\0' || strcmp(kind, "file") == 0)
			files->rows[files->row_count++] = json_read_at(rows, i);
	}
}

static int fetch_list(struct files *files, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(64 * 1024);
	const char *next = "";
	bool complete = true;

	if (files->page_count > 0)
		return 0;
	do {
		struct json_value *page;

		if (remote_path(&path, files->session, "/files", err) < 0 ||
		    (next[0] != '\0' && (buf_adds(&path, "?cursor=", err) < 0 ||
					 client_path_add(&path, next, false, err) < 0)) ||
		    client_call(files->client, "GET", buf_text(&path), NULL, &page, err) < 0)
			return (int)err->code;
		add_page(files, page);
		next = json_get_str(page, "next");
	} while (next[0] != '\0' && files->row_count < ROWS_MAX);
	if (next[0] != '\0' ||
	    (json_read_bool(json_read_member(files->pages[0], "complete"), &complete) && !complete))
		run_output_line(
			"reckon: there are more files than a list has; some are missing here");
	return 0;
}

/* What each of them begins with: -1 and go on, or the exit status. */
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
		(void)err_set(&err, ERR_INVALID, "which files?");
		(void)err_remedy(&err, "reckon %s %s", self->name, self->operands);
		return cli_complain_of(self, &err);
	}
	if (remote_open(&files->remote, &files->client, &err) < 0 ||
	    remote_chosen(files->client, &files->remote, true, &files->session, &err) < 0)
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

/* A command that does the same with each of the names. */
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

/* ---- what there is -------------------------------------------------------------------------- */

/* A name without the slashes at its end. */
static size_t name_length(const char *name)
{
	size_t len = strlen(name);

	while (len > 1 && name[len - 1] == '/')
		len--;
	return len;
}

/* Whether `path` is `name`, or below it. */
static bool is_within(const char *path, const char *name)
{
	const size_t len = name_length(name);

	if (len == 0 || (len == 1 && (name[0] == '.' || name[0] == '/')))
		return true;
	return strncmp(path, name, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static const struct json_value *row_at(const struct files *files, size_t i)
{
	return files->rows[i];
}

static size_t row_count(const struct files *files)
{
	return files->row_count;
}

static int draw(const struct files *files, struct buf *text, struct err *err)
{
	static const char *const heads[] = { "PATH", "SIZE", "MODIFIED (UTC)", "TYPE" };
	const char *name = files->count > 0 ? files->names[0] : "";
	size_t width = 1000, lines, rows = 0, at = 0;
	const bool terminal = isatty(STDOUT_FILENO);
	struct term_table *table;
	int code = 0;

	for (size_t i = 0; i < row_count(files); i++)
		rows += is_within(json_get_str(row_at(files, i), "path"), name);
	if (rows == 0)
		return 0;
	term_width_locale();
	if (terminal)
		term_width_window(STDOUT_FILENO, &width, &lines);
	table = term_table_new(ARRAY_LEN(heads), rows);
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		term_table_head(table, i, heads[i], i == 1);
	for (size_t i = 0; code == 0 && i < row_count(files); i++) {
		const struct json_value *row = row_at(files, i);
		char size[CLI_SIZE_TEXT], modified[24];
		const char *const cells[] = { json_get_str(row, "path"), size, modified,
					      json_get_str(row, "mime") };
		int64_t bytes = 0;

		if (!is_within(cells[0], name))
			continue;
		(void)json_read_int(json_read_member(row, "size"), &bytes);
		cli_format_size(bytes > 0 ? (uint64_t)bytes : 0, size);
		(void)snprintf(modified, sizeof(modified), "%.19s", json_get_str(row, "modified"));
		if (strlen(modified) > 10)
			modified[10] = ' ';
		for (size_t j = 0; code == 0 && j < ARRAY_LEN(cells); j++)
			code = term_table_cell(table, at, j, cells[j], strlen(cells[j]), err);
		at++;
	}
	if (code == 0)
		code = term_table_draw(table, width, term_has_colour(STDOUT_FILENO), text, err);
	term_table_free(table);
	return code;
}

static int print_rows(const struct files *files)
{
	cleanup_buf struct buf text = BUF_INIT(CLIENT_JSON_MAX);
	struct err err;

	if (buf_addc(&text, '[', &err) < 0)
		return cli_complain(&err);
	for (size_t i = 0; i < files->row_count; i++)
		if ((i > 0 && buf_addc(&text, ',', &err) < 0) ||
		    json_read_dump(files->rows[i], &text, &err) < 0)
			return cli_complain(&err);
	if (buf_adds(&text, "]\n", &err) < 0)
		return cli_complain(&err);
	return cli_write_stdout(buf_text(&text), text.len);
}

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
	} else if (fetch_list(&files, &err) < 0 ||
		   (!files.remote.json && draw(&files, &text, &err) < 0)) {
		status = cli_complain_of(self, &err);
	} else if (files.remote.json) {
		status = print_rows(&files);
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


/* A folder keeps its name, so `get out` makes out/…; a file comes under its last part. */
static int get_one(struct files *files, const char *name, int dir_fd, struct err *err)
{
	const size_t len = name_length(name);
	size_t base = len, found = 0;

	while (base > 0 && name[base - 1] != '/')
		base--;
	for (size_t i = 0; i < row_count(files); i++) {
		const char *path = json_get_str(row_at(files, i), "path");

		if (!is_within(path, name))
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

/* A folder with all in it, links and modes too. 1: it is none, or the server packs none. */
static int get_folder(struct files *files, const char *name, int dir_fd, struct err *err)
{
	cleanup_buf struct buf where = BUF_INIT(64 * 1024);
	cleanup_free char *plain = mem_strdup(is_within("", name) ? "" : name);
	const char *slash;

	plain[name_length(plain)] = '\0';
	slash = strrchr(plain, '/');
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
		if (code > 0 && (fetch_list(files, err) < 0 ||
				 get_one(files, name, dir_fd, err) < 0))
			return (int)err->code;
	}
	return 0;
}

/* One file, under a name of the user's. */
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

/* Whether TARGET is the name that one file shall have, not a folder to put it into. */
static bool is_file_target(struct files *files, struct err *err)
{
	struct stat st;

	if (files->count != 1 || files->target == NULL ||
	    files->target[strlen(files->target) - 1] == '/' ||
	    (stat(files->target, &st) == 0 && S_ISDIR(st.st_mode)) || fetch_list(files, err) < 0)
		return false;
	for (size_t i = 0; i < row_count(files); i++)
		if (strcmp(json_get_str(row_at(files, i), "path"), files->names[0]) == 0)
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
	if (path_of(files, name, &where, err) < 0)
		return err_wrap(err, "%.200s", file);
	term_progress_begin(&progress, file);
	client_on_progress(files->client, term_progress_fn, &progress);
	code = client_upload(files->client, buf_text(&where), fd, (uint64_t)st.st_size, NULL, err);
	client_on_progress(files->client, NULL, NULL);
	term_progress_end(&progress);
	return code < 0 ? err_wrap(err, "%.200s", file) : 0;
}

/* nftw() hands nothing through to its function. */
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
	const size_t len = name_length(folder);
	cleanup_buf struct buf where = BUF_INIT(64 * 1024);
	cleanup_free char *root = mem_strdup(folder);
	int code;

	root[len] = '\0';
	if (remote_path(&where, files->session, "/archive?path=", err) < 0 ||
	    client_path_add(&where, name, false, err) < 0)
		return (int)err->code;
	code = fs_path_is_safe(name) ? remote_tar_put(files->client, buf_text(&where), root, err)
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

	/* "out/" is the folder out. */
	plain[name_length(plain)] = '\0';
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

	/* All of them at once is hardly what was meant. */
	if (is_within("", name))
		return err_set(err, ERR_INVALID, "'%.200s' names no file", name);
	plain[name_length(plain)] = '\0';
	if (path_of(files, plain, &where, err) < 0 || buf_adds(&where, "?recursive=1", err) < 0)
		return (int)err->code;
	return client_call(files->client, "DELETE", buf_text(&where), NULL, NULL, err);
}

int remote_files_rm(const struct opt_command *self, int argc, char **argv)
{
	return with_each(self, argc, argv, rm_one);
}
