/*
 * files.c - copies files between the workspace and the host, and into a new session.
 *
 * Runs in:  reckon repl.
 * Reads:    files that the user named; names that a box chose.
 * Never:    follows a link at the target of a write; replaces a file without -f.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/repl/repl.h"
#include "cli/term/table.h"

#define LISTED_MAX 10000

/* ---- files of this side ---- */

static int open_host(const char *path, int *ret_fd, struct err *err)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "open");
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "not a regular file");
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int repl_files_read(const char *path, struct buf *ret, struct err *err)
{
	cleanup_fd int fd = -1;
	int rc = open_host(path, &fd, err);

	if (rc == 0)
		rc = fd_read_all(fd, ret, err);
	if (rc == 0 && ret->data == NULL)
		rc = buf_adds(ret, "", err);
	if (rc == 0)
		rc = run_input_check_source(ret->data, ret->len, err);
	return rc < 0 ? err_wrap(err, "%.200s", path) : 0;
}

/* A file that appears under its name only when it is complete. */
struct target {
	int dir, fd;
	char temp[RUN_FILES_TEMP_SIZE];
	const char *name; /* in `dir` */
};

static int open_target(const char *path, bool force, struct target *target, struct err *err)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";
	struct stat st;

	target->dir = target->fd = -1;
	target->name = text_base_name(path);
	if (slash != NULL && (size_t)(slash - path) + 2 > sizeof(folder))
		return err_set(err, ERR_INVALID, "the name is too long");
	if (slash != NULL)
		(void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path) + 1, path);
	target->dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (target->dir < 0)
		return err_sys(err, "%.200s", folder);
	if (!force && fstatat(target->dir, target->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		err_set(err, ERR_INVALID, "already exists");
		return err_remedy(err, "-f replaces it");
	}
	return run_files_create(target->dir, target->name, target->temp, &target->fd, err);
}

static int commit_target(struct target *target, bool force, struct err *err)
{
	if (force)
		return run_files_commit(target->dir, target->temp, target->name, err);
	/* RENAME_NOREPLACE: a file may have been created there since the check. */
	if (renameat2(target->dir, target->temp, target->dir, target->name, RENAME_NOREPLACE) < 0)
		return err_sys(err, "rename");
	return 0;
}

static void close_target(struct target *target, bool is_good)
{
	if (target->fd >= 0 && !is_good)
		run_files_abandon(target->dir, target->temp);
	if (target->fd >= 0)
		(void)close(target->fd);
	if (target->dir >= 0)
		(void)close(target->dir);
}

int repl_files_write(const char *path, bool force, const void *bytes, size_t len, struct err *err)
{
	struct target target;
	int rc = open_target(path, force, &target, err);

	if (rc == 0)
		rc = fd_write_full(target.fd, bytes, len, err);
	if (rc == 0)
		rc = commit_target(&target, force, err);
	close_target(&target, rc == 0);
	return rc;
}

/* ---- the table of files ---- */

static struct repl_file *file_named(struct repl *repl, const char *name)
{
	for (size_t i = 0; i < repl->file_count; i++)
		if (strcmp(repl->files[i].name, name) == 0)
			return &repl->files[i];
	return NULL;
}

static void note_file(struct repl *repl, const char *name, const char *artifact, const char *host)
{
	struct repl_file *file = file_named(repl, name);

	if (file == NULL) {
		repl->files = mem_grow(repl->files, repl->file_count + 1, sizeof(*repl->files));
		file = &repl->files[repl->file_count++];
		memset(file, 0, sizeof(*file));
		file->name = mem_strdup(name);
	}
	free(file->artifact);
	free(file->host);
	file->artifact = artifact != NULL ? mem_strdup(artifact) : NULL;
	file->host = host != NULL ? mem_strdup(host) : NULL;
}

static void free_file(struct repl_file *file)
{
	free(file->name);
	free(file->artifact);
	free(file->host);
}

static void forget_file(struct repl *repl, const char *name)
{
	struct repl_file *file = file_named(repl, name);

	if (file == NULL)
		return;
	free_file(file);
	*file = repl->files[--repl->file_count];
}

void repl_files_done(struct repl *repl)
{
	for (size_t i = 0; i < repl->file_count; i++)
		free_file(&repl->files[i]);
	free(repl->files);
}

void repl_files_note(struct repl *repl, const struct json_value *record)
{
	const struct json_value *files = json_read_member(record, "files");

	for (size_t i = 0; i < json_read_count(files); i++) {
		const struct json_value *file = json_read_at(files, i);
		const char *path = json_read_text(json_read_member(file, "path"), NULL);
		const char *change = json_read_text(json_read_member(file, "change"), NULL);
		const char *artifact = json_read_text(json_read_member(file, "artifact"), NULL);

		if (path != NULL && change != NULL && strcmp(change, "deleted") == 0)
			forget_file(repl, path);
		else if (path != NULL)
			note_file(repl, path, artifact, NULL);
	}
}

/* ---- %put, %get, %files ---- */

static int put_host(struct repl *repl, const char *path, const char *name, struct err *err)
{
	cleanup_free char *absolute = NULL;
	cleanup_fd int fd = -1;

	if (open_host(path, &fd, err) < 0)
		return (int)err->code;
	if (repl->session->ops->put(repl->session, name, fd, err) < 0) {
		repl_note_lost(repl, err);
		return (int)err->code;
	}
	absolute = realpath(path, NULL);
	note_file(repl, name, NULL, absolute);
	return 0;
}

void repl_files_put(struct repl *repl, char **words, size_t count)
{
	struct err err;

	if (repl_is_lost(repl))
		return;
	if (count < 1 || count > 2) {
		run_output_line("usage: %%put HOSTFILE [NAME]");
		return;
	}
	if (put_host(repl, words[0], count > 1 ? words[1] : text_base_name(words[0]), &err) < 0)
		repl_failed(repl, words[0], &err);
}

static int fetch(struct repl *repl, const char *name, int fd, struct err *err)
{
	const struct session_ops *ops = repl->session->ops;
	const struct repl_file *file = file_named(repl, name);
	cleanup_buf struct buf figure = BUF_INIT(RUN_JSON_MAX);

	if (repl->lost)
		(void)err_set(err, ERR_LOST, "the session is gone");
	else if (ops->get(repl->session, name, NULL, fd, err) == 0)
		return 0;
	repl_note_lost(repl, err);
	if (err->code == ERR_LOST && file != NULL && file->artifact != NULL &&
	    ops->get(repl->session, name, file->artifact, fd, err) == 0)
		return 0;
	if (repl_cells_figure(repl, name, &figure))
		return fd_write_full(fd, buf_text(&figure), figure.len, err);
	return (int)err->code;
}

static int get_file(struct repl *repl, const char *name, const char *path, bool force,
		    struct err *err)
{
	struct target target;
	int rc = open_target(path, force, &target, err);

	if (rc == 0)
		rc = fetch(repl, name, target.fd, err);
	if (rc == 0)
		rc = commit_target(&target, force, err);
	close_target(&target, rc == 0);
	return rc;
}

void repl_files_get(struct repl *repl, char **words, size_t count)
{
	const bool force = count > 0 && strcmp(words[0], "-f") == 0;
	char path[PATH_MAX];
	const char *name, *to;
	struct stat st;
	struct err err;

	words += force;
	count -= force;
	if (count < 1 || count > 2) {
		run_output_line("usage: %%get [-f] NAME [HOSTPATH]");
		return;
	}
	name = words[0];
	if (strncmp(name, "/mnt/data/", 10) == 0)
		name += 10;
	to = count > 1 ? words[1] : text_base_name(name);
	if (stat(to, &st) == 0 && S_ISDIR(st.st_mode)) {
		(void)snprintf(path, sizeof(path), "%s/%s", to, text_base_name(name));
		to = path;
	}
	if (get_file(repl, name, to, force, &err) < 0)
		repl_failed(repl, count > 1 || to == path ? to : name, &err);
	else
		run_output_line("saved as %s", to);
}

static void put_file_row(struct term_table *table, size_t row, const struct json_value *file)
{
	static const char *const keys[] = { "path", "size", "mime", "modified" };
	char size[CLI_SIZE_TEXT];
	int64_t bytes = 0;
	struct err ignored;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		size_t len = 0;
		const char *text = json_read_text(json_read_member(file, keys[i]), &len);

		if (i == 1 && json_read_int(json_read_member(file, keys[i]), &bytes)) {
			cli_format_size((uint64_t)bytes, size);
			text = size;
			len = strlen(size);
		}
		if (i == 3 && len > 19)
			len = 19;
		(void)term_table_cell(table, row, i, text != NULL ? text : "", len, &ignored);
	}
}

void repl_files_list(struct repl *repl)
{
	const struct session_look look = { .kind = SESSION_LOOK_FILES };
	cleanup_buf struct buf shown = BUF_INIT(REPL_ANSWER_MAX);
	struct json_value *files = NULL;
	struct term_table *table;
	struct err err;
	size_t count;

	if (repl_is_lost(repl))
		return;
	if (repl_look(repl, &look, &files, &err) < 0) {
		repl_failed(repl, "files", &err);
		return;
	}
	count = json_read_count(files) < LISTED_MAX ? json_read_count(files) : LISTED_MAX;
	if (count == 0) {
		repl_print("The workspace is empty.\n");
	} else {
		table = term_table_new(4, count);
		term_table_head(table, 0, "name", false);
		term_table_head(table, 1, "size", true);
		term_table_head(table, 2, "type", false);
		term_table_head(table, 3, "modified", false);
		for (size_t i = 0; i < count; i++)
			put_file_row(table, i, json_read_at(files, i));
		if (term_table_draw(table, repl_width(), repl->coloured, &shown, &err) == 0)
			(void)cli_write_stdout(shown.data, shown.len);
		term_table_free(table);
	}
	json_read_free(files);
}

/* ---- after a session was lost ---- */

/* Copies from the store into the session through an anonymous file. */
static bool copy_artifact(struct repl *repl, const char *artifact, const char *name)
{
	const struct session_ops *ops = repl->session->ops;
	cleanup_file FILE *passing = tmpfile();
	struct err ignored;
	int fd;

	if (passing == NULL)
		return false;
	fd = fileno(passing);
	return ops->get(repl->session, name, artifact, fd, &ignored) == 0 &&
	       lseek(fd, 0, SEEK_SET) == 0 && ops->put(repl->session, name, fd, &ignored) == 0;
}

static void say_copied(size_t restored, size_t failed_count)
{
	run_output_line("a new session: no variables, %zu file%s kept", restored,
			restored == 1 ? "" : "s");
	if (failed_count > 0)
		run_output_line("reckon: %zu file%s could not be kept", failed_count,
				failed_count == 1 ? "" : "s");
}

/* A cell's file is copied from the store; a file that the user put is read from the host again. */
static bool restore_file(struct repl *repl, const struct repl_file *file)
{
	cleanup_free char *host = NULL, *name = NULL;
	struct err ignored;

	if (file->artifact != NULL)
		return copy_artifact(repl, file->artifact, file->name);
	if (file->host == NULL)
		return false;
	/* put_host() replaces these strings in the same entry, so pass copies. */
	host = mem_strdup(file->host);
	name = mem_strdup(file->name);
	return put_host(repl, host, name, &ignored) == 0;
}

void repl_files_bring_back(struct repl *repl)
{
	size_t restored = 0, lost = 0;

	for (size_t i = 0; i < repl->file_count; i++) {
		if (restore_file(repl, &repl->files[i])) {
			restored++;
			continue;
		}
		lost++;
		run_output_line("reckon: %s: not kept", repl->files[i].name);
	}
	say_copied(restored, lost);
}
