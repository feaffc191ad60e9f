/*
 * tar.c - copies a folder to and from a session as one archive.
 *
 * Runs in:  reckon-client.
 * Reads:    files of the user; archives of a server, with names that boxes chose.
 * Never:    writes outside the directory that the user named or through a link in it, creates a
 *           link that leads out of it, creates a file before it is complete, or replaces one
 *           without -f.
 *
 * An archive is first downloaded to a temporary file and checked from end to end, so that nothing
 * is extracted if it is damaged or would overwrite files.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"
#include "cli/run/run.h"
#include "cli/term/progress.h"
#include "codec/tar.h"

#define OPEN_MAX_WALK 32
#define CHUNK ((size_t)64 * 1024)

/* ---- both ----------------------------------------------------------------------------------- */

static int open_scratch(int *ret_fd, struct err *err)
{
	const char *dir = getenv("TMPDIR");
	char name[PATH_MAX];
	int fd;

	dir = dir != NULL && dir[0] != '\0' ? dir : "/tmp";
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0) {
		(void)snprintf(name, sizeof(name), "%s/reckon-XXXXXX", dir);
		fd = mkostemp(name, O_CLOEXEC);
		if (fd >= 0)
			(void)unlink(name);
	}
	if (fd < 0)
		return err_sys(err, "a file for the archive in %.200s", dir);
	*ret_fd = fd;
	return 0;
}

/* Whether the server does not support archives; older ones do not. */
static bool is_not_offered(const struct client *client)
{
	const struct client_answer *last = client_last(client);

	return (last->status == 404 && strcmp(last->code, "not_found") == 0) || last->status == 405;
}

/* Whether the target of a link at `path` leads out of the folder; compares only the texts. */
static bool leads_out(const char *path, const char *target)
{
	int depth = 0;

	for (const char *at = path; (at = strchr(at, '/')) != NULL; at++)
		depth++;
	if (target[0] == '/' || target[0] == '\0')
		return true;
	for (const char *at = target; *at != '\0'; at += strspn(at, "/")) {
		const size_t len = strcspn(at, "/");

		if (len == 2 && at[0] == '.' && at[1] == '.')
			depth--;
		else if (len != 1 || at[0] != '.')
			depth++;
		if (depth < 0)
			return true;
		at += len;
	}
	return false;
}

/* ---- put ------------------------------------------------------------------------------------ */

/* A static variable, because nftw() passes no argument to its callback. */
static struct walk {
	int fd;
	size_t root_len;
	struct err *err;
	int code;
} walk;

static int write_head(const struct tar_entry *entry)
{
	cleanup_buf struct buf head = BUF_INIT(2 * TAR_EXTRA_MAX);

	return tar_write_head(&head, entry, walk.err) < 0
		       ? (int)walk.err->code
		       : fd_write_full(walk.fd, head.data, head.len, walk.err);
}

/* Writes as many bytes as the header says; if the file became shorter, the rest is zeros. */
static int write_file(const char *path, struct tar_entry *entry)
{
	static char chunk[CHUNK];
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	uint64_t left;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(walk.err, "%.200s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(walk.err, ERR_INVALID, "%.200s: is not a regular file", path);
	entry->size = (uint64_t)st.st_size;
	if (write_head(entry) < 0)
		return (int)walk.err->code;
	for (left = entry->size + tar_padding(entry->size); left > 0;) {
		const size_t want = left < CHUNK ? (size_t)left : CHUNK;
		const size_t of_file = entry->size < want ? (size_t)entry->size : want;
		const ssize_t n = fd_read_full(fd, chunk, of_file, walk.err);

		if (n < 0)
			return (int)walk.err->code;
		memset(chunk + n, 0, want - (size_t)n);
		if (fd_write_full(walk.fd, chunk, want, walk.err) < 0)
			return (int)walk.err->code;
		entry->size -= of_file;
		left -= want;
	}
	return 0;
}

static int write_link(const char *path, struct tar_entry *entry)
{
	char target[PATH_MAX];
	const ssize_t len = readlink(path, target, sizeof(target) - 1);
	int code;

	if (len < 0)
		return err_sys(walk.err, "%.200s", path);
	target[len] = '\0';
	if (leads_out(entry->path, target)) {
		run_output_line("reckon: %s leads out of the folder, so it is left out", path);
		return 0;
	}
	entry->link = target;
	code = write_head(entry);
	entry->link = "";
	return code;
}

static int write_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	struct tar_entry entry = { .mode = st->st_mode & 0777u,
				   .mtime = st->st_mtim.tv_sec,
				   .path = path + walk.root_len,
				   .link = "" };

	(void)at;
	entry.path += strspn(entry.path, "/");
	if (type == FTW_DNR || type == FTW_NS) {
		errno = EACCES;
		walk.code = err_sys(walk.err, "%.200s", path);
	} else if (type == FTW_D && entry.path[0] != '\0') {
		entry.kind = TAR_FOLDER;
		walk.code = write_head(&entry);
	} else if (type == FTW_F && S_ISREG(st->st_mode)) {
		walk.code = write_file(path, &entry);
	} else if (type == FTW_SL || type == FTW_SLN) {
		entry.kind = TAR_LINK;
		walk.code = write_link(path, &entry);
	} else if (type != FTW_D) {
		run_output_line("reckon: %s is not a regular file, so it is left out", path);
	}
	return walk.code < 0 ? 1 : 0;
}

static int write_archive(const char *root, int fd, struct err *err)
{
	cleanup_buf struct buf end = BUF_INIT(2 * TAR_BLOCK);

	walk = (struct walk){ .fd = fd, .root_len = strlen(root), .err = err };
	if (nftw(root, write_one, OPEN_MAX_WALK, FTW_PHYS) < 0)
		return err_sys(err, "%.200s", root);
	if (walk.code < 0)
		return walk.code;
	return tar_write_end(&end, err) < 0 ? (int)err->code
					    : fd_write_full(fd, end.data, end.len, err);
}

int remote_tar_put(struct client *client, const char *where, const char *root, struct err *err)
{
	struct json_value *answer = NULL;
	cleanup_fd int fd = -1;
	int64_t renamed = 0;
	struct term_progress progress;
	off_t size;
	int code;

	if (open_scratch(&fd, err) < 0 || write_archive(root, fd, err) < 0)
		return (int)err->code;
	size = lseek(fd, 0, SEEK_CUR);
	if (size < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(err, "the archive");
	term_progress_begin(&progress, root);
	client_on_progress(client, term_progress_fn, &progress);
	code = client_upload(client, where, fd, (uint64_t)size, &answer, err);
	client_on_progress(client, NULL, NULL);
	term_progress_end(&progress);
	if (code < 0)
		return is_not_offered(client) ? 1 : err_wrap(err, "%.200s", root);
	if (json_read_int(json_read_member(answer, "renamed"), &renamed) && renamed > 0)
		run_output_line("reckon: %lld names are not text; their bytes are there as %%XX",
				(long long)renamed);
	json_read_free(answer);
	return 0;
}

/* ---- get ------------------------------------------------------------------------------------ */

struct unpacking {
	struct tar_reader reader;
	struct tar_entry entry;
	int fd, dir_fd;
	const char *base;
	bool force;
	struct buf name;	     /* of the entry, relative to dir_fd */
	struct folder {
		char *name;
		unsigned mode;
	} *folders; /* their modes are set last, because a mode may forbid writing */
	size_t folder_count;
};

static int short_archive(struct err *err)
{
	return err_set(err, ERR_PROTOCOL, "the archive ends too early");
}

static int skip(const struct unpacking *at, uint64_t size, struct err *err)
{
	return lseek(at->fd, (off_t)(size + tar_padding(size)), SEEK_CUR) < 0
		       ? err_sys(err, "the archive")
		       : 0;
}

/* 1: `entry` and `name` are the next entry; 0: end of the archive. */
static int next_entry(struct unpacking *at, struct err *err)
{
	char block[TAR_BLOCK];
	int next;

	do {
		cleanup_free char *extra = NULL;
		ssize_t n = fd_read_full(at->fd, block, sizeof(block), err);

		if (n != (ssize_t)sizeof(block))
			return n < 0 ? (int)err->code : short_archive(err);
		next = tar_read_head(&at->reader, block, &at->entry, err);
		if (next != TAR_EXTRA)
			break;
		extra = mem_new0((size_t)at->entry.size + 1, 1);
		n = fd_read_full(at->fd, extra, (size_t)at->entry.size, err);
		if (n != (ssize_t)at->entry.size)
			return n < 0 ? (int)err->code : short_archive(err);
		if (tar_read_extra(&at->reader, extra, (size_t)n, err) < 0 ||
		    lseek(at->fd, tar_padding(at->entry.size), SEEK_CUR) < 0)
			return err->code != ERR_OK ? (int)err->code : err_sys(err, "the archive");
	} while (next == TAR_EXTRA);
	if (next != TAR_ENTRY)
		return next;
	buf_clear(&at->name);
	if ((at->base[0] != '\0' && buf_addf(&at->name, err, "%s/", at->base) < 0) ||
	    buf_adds(&at->name, at->entry.path, err) < 0)
		return (int)err->code;
	return 1;
}

static int judge(const struct unpacking *at, struct err *err)
{
	const char *name = buf_text(&at->name);
	struct stat st;

	if (at->entry.kind == TAR_OTHER)
		return 0;
	if (!fs_path_is_safe(at->entry.path) || !fs_path_is_safe(name) ||
	    (at->entry.kind == TAR_LINK && leads_out(at->entry.path, at->entry.link)))
		return err_set(err, ERR_DENIED, "refused: %.100s leads out of the folder",
			       at->entry.path);
	if (at->entry.kind == TAR_FOLDER || fstatat(at->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return err_set(err, ERR_INVALID, "%.200s is a folder here", name);
	if (at->force)
		return 0;
	(void)err_set(err, ERR_INVALID, "%.200s already exists", name);
	return err_remedy(err, "-f replaces it");
}

static int judge_all(struct unpacking *at, struct err *err)
{
	const off_t size = lseek(at->fd, 0, SEEK_END);
	int next;

	if (size < 0 || lseek(at->fd, 0, SEEK_SET) < 0)
		return err_sys(err, "the archive");
	while ((next = next_entry(at, err)) > 0)
		if (judge(at, err) < 0 || skip(at, at->entry.size, err) < 0)
			return (int)err->code;
	if (next == 0 && lseek(at->fd, 0, SEEK_CUR) > size)
		return short_archive(err);
	return next;
}

/* Opens the folder that contains the entry; it exists, because an archive lists folders first. */
static int open_parent(const struct unpacking *at, const char **ret_last, int *ret_fd,
		       struct err *err)
{
	const char *name = buf_text(&at->name), *slash = strrchr(name, '/');
	cleanup_free char *parent = mem_strdup(name);

	parent[slash != NULL ? slash - name : 0] = '\0';
	*ret_last = slash != NULL ? slash + 1 : name;
	return fs_open_dir_beneath(at->dir_fd, parent, ret_fd, err);
}

static int make_folder(struct unpacking *at, struct err *err)
{
	cleanup_fd int parent = -1;
	const char *last;
	struct stat st;

	if (open_parent(at, &last, &parent, err) < 0)
		return (int)err->code;
	if (mkdirat(parent, last, 0700) < 0) {
		if (errno != EEXIST || fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return err_sys(err, "make %.200s", buf_text(&at->name));
		/* An existing folder keeps its mode. */
		return S_ISDIR(st.st_mode)
			       ? 0
			       : err_set(err, ERR_INVALID, "%.200s is not a folder here",
					 buf_text(&at->name));
	}
	at->folders = mem_grow(at->folders, at->folder_count + 1, sizeof(*at->folders));
	at->folders[at->folder_count++] =
		(struct folder){ mem_strdup(buf_text(&at->name)), at->entry.mode };
	return 0;
}

static int make_link(const struct unpacking *at, struct err *err)
{
	cleanup_fd int parent = -1;
	const char *last;

	if (open_parent(at, &last, &parent, err) < 0)
		return (int)err->code;
	if (at->force && unlinkat(parent, last, 0) < 0 && errno != ENOENT)
		return err_sys(err, "replace %.200s", buf_text(&at->name));
	return symlinkat(at->entry.link, parent, last) < 0
		       ? err_sys(err, "link %.200s", buf_text(&at->name))
		       : 0;
}

static int copy_bytes(const struct unpacking *at, int to, struct err *err)
{
	static char chunk[CHUNK];

	for (uint64_t left = at->entry.size; left > 0;) {
		const size_t want = left < CHUNK ? (size_t)left : CHUNK;
		const ssize_t n = fd_read_full(at->fd, chunk, want, err);

		if (n != (ssize_t)want)
			return n < 0 ? (int)err->code : short_archive(err);
		if (fd_write_full(to, chunk, want, err) < 0)
			return (int)err->code;
		left -= want;
	}
	return lseek(at->fd, tar_padding(at->entry.size), SEEK_CUR) < 0
		       ? err_sys(err, "the archive")
		       : 0;
}

static mode_t users_umask(void)
{
	const mode_t mask = umask(0);

	(void)umask(mask);
	return mask;
}

static int make_file(const struct unpacking *at, struct err *err)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { .tv_sec = at->entry.mtime } };
	const char *name = buf_text(&at->name);
	char temp[RUN_FILES_TEMP_SIZE];
	cleanup_fd int fd = -1;

	if (run_files_create(at->dir_fd, name, temp, &fd, err) < 0)
		return (int)err->code;
	if (copy_bytes(at, fd, err) == 0) {
		if (fchmod(fd, (mode_t)at->entry.mode & ~users_umask()) < 0 ||
		    futimens(fd, times) < 0)
			(void)err_sys(err, "%.200s", name);
		else if (run_files_commit(at->dir_fd, temp, name, err) == 0)
			return 0;
	}
	run_files_abandon(at->dir_fd, temp);
	return (int)err->code;
}

static int make_one(struct unpacking *at, struct err *err)
{
	switch (at->entry.kind) {
	case TAR_FOLDER:
		return make_folder(at, err);
	case TAR_LINK:
		return make_link(at, err);
	case TAR_FILE:
		return make_file(at, err);
	case TAR_OTHER:
		return skip(at, at->entry.size, err);
	}
	return 0;
}

/* Sets the modes of the folders, the innermost first. */
static int finish_folders(struct unpacking *at, struct err *err)
{
	const mode_t mask = users_umask();
	int code = 0;

	while (at->folder_count > 0) {
		struct folder *folder = &at->folders[--at->folder_count];
		cleanup_fd int fd = -1;

		if (code == 0)
			code = fs_open_dir_beneath(at->dir_fd, folder->name, &fd, err);
		if (code == 0 && fchmod(fd, (mode_t)folder->mode & ~mask) < 0)
			code = err_sys(err, "%.200s", folder->name);
		free(folder->name);
	}
	free(at->folders);
	at->folders = NULL;
	return code;
}

static int make_all(struct unpacking *at, struct err *err)
{
	struct err ignored;
	int next = 0, code;

	if (lseek(at->fd, 0, SEEK_SET) < 0)
		return err_sys(err, "the archive");
	if (at->base[0] != '\0' && mkdirat(at->dir_fd, at->base, 0777) < 0 && errno != EEXIST)
		return err_sys(err, "make %.200s", at->base);
	while ((next = next_entry(at, err)) > 0)
		if (make_one(at, err) < 0) {
			next = (int)err->code;
			break;
		}
	code = finish_folders(at, next < 0 ? &ignored : err);
	return next < 0 ? next : code;
}

/* Reports files that the server left out of the archive. */
static void say_skipped(const struct client *client)
{
	const char *skipped = strstr(client_last(client)->archive, "skipped=");
	const unsigned long count = skipped != NULL ? strtoul(skipped + 8, NULL, 10) : 0;

	if (count > 0)
		run_output_line(
			"reckon: %lu left out: links that lead out of the folder, pipes, sockets, "
			"names that are not text",
			count);
}

int remote_tar_get(struct client *client, const char *where, int dir_fd, const char *base,
		   bool force, struct err *err)
{
	struct unpacking at = { .dir_fd = dir_fd, .base = base, .force = force,
				.name = BUF_INIT((size_t)128 * 1024) };
	cleanup_fd int fd = -1;
	struct term_progress progress;
	int code;

	if (open_scratch(&fd, err) < 0)
		return (int)err->code;
	term_progress_begin(&progress, base[0] != '\0' ? base : NULL);
	client_on_progress(client, term_progress_fn, &progress);
	code = client_download(client, where, fd, NULL, err);
	client_on_progress(client, NULL, NULL);
	term_progress_end(&progress);
	/* The server answers "denied" if the path is not a folder. */
	if (code < 0)
		return is_not_offered(client) || strcmp(client_last(client)->code, "denied") == 0
			       ? 1
			       : code;
	at.fd = fd;
	tar_reader_init(&at.reader);
	code = judge_all(&at, err);
	if (code == 0) {
		tar_reader_done(&at.reader);
		tar_reader_init(&at.reader);
		code = make_all(&at, err);
	}
	if (code == 0)
		say_skipped(client);
	tar_reader_done(&at.reader);
	buf_done(&at.name);
	return code;
}
