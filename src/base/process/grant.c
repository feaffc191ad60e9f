/*
 * grant.c - folders of this host that a person lets sessions of the private daemon see.
 *
 * Runs in:  programs that a person starts (write), reckond (reads).
 * Reads:    files of the user's own runtime directory; paths that the user, or a model, named.
 * Never:    follows a link inside a granted folder, or trusts a file that other users could have
 *           written.
 */
#include "base/process/grant.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "base/process/runtime.h"
#include "base/text.h"

#define NAME "grant-"
#define NAME_SIZE (sizeof(NAME) + ID_SIZE)
#define FILE_MAX ((size_t)GRANT_FOLDERS_MAX * (PATH_MAX + GRANT_TARGET_SIZE + 64))

/* ---- creating
 * --------------------------------------------------------------------------------- */

/* Removes the files of processes that were killed. */
static void sweep(int dir_fd)
{
	DIR *dir = fdopendir(dup(dir_fd));
	const struct dirent *entry;

	if (dir == NULL)
		return;
	rewinddir(dir);
	while ((entry = readdir(dir)) != NULL) {
		cleanup_fd int fd = -1;

		if (strncmp(entry->d_name, NAME, strlen(NAME)) != 0)
			continue;
		fd = openat(dir_fd, entry->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			(void)unlinkat(dir_fd, entry->d_name, 0);
	}
	(void)closedir(dir);
}

int grant_create(char ret_id[ID_SIZE], int *ret_fd, struct err *err)
{
	cleanup_fd int dir_fd = -1, fd = -1;
	char name[NAME_SIZE];
	struct stat st;

	if (runtime_dir_open(&dir_fd, err) < 0 || id_new(ret_id, "gr", err) < 0)
		return (int)err->code;
	sweep(dir_fd);
	(void)snprintf(name, sizeof(name), NAME "%s", ret_id);
	fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX) < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "note which folders are granted");
	/* Another process removed the file before this one locked it. */
	if (st.st_nlink == 0)
		return err_set(err, ERR_UNAVAILABLE, "the note of granted folders was swept away");
	*ret_fd = TAKE_FD(fd);
	return 0;
}

void grant_remove(const char *id, int fd)
{
	cleanup_fd int dir_fd = -1;
	char name[NAME_SIZE];
	struct err ignored;

	(void)snprintf(name, sizeof(name), NAME "%s", id);
	if (runtime_dir_open(&dir_fd, &ignored) == 0)
		(void)unlinkat(dir_fd, name, 0);
	if (fd >= 0)
		(void)close(fd);
}

/* What Reckon keeps is in it; or code that can write to it could change what the user runs later. */
bool grant_is_too_much(const char *folder, bool writable)
{
	char places[3][PATH_MAX] = { "" }, real[PATH_MAX], link[32];
	const char *home = getenv("HOME");
	cleanup_fd int dir_fd = -1;
	struct err ignored;
	ssize_t len;

	if (home != NULL)
		(void)snprintf(places[0], PATH_MAX, "%s", home);
	(void)runtime_state_dir(NULL, places[1], PATH_MAX, &ignored);
	if (runtime_dir_open(&dir_fd, &ignored) == 0) {
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", dir_fd);
		len = readlink(link, places[2], PATH_MAX - 1);
		places[2][len > 0 ? len : 0] = '\0';
	}
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (realpath(places[i], real) != NULL &&
		    ((writable && text_is_within(real, folder)) ||
		     (i > 0 && text_is_within(folder, real))))
			return true;
	return false;
}

static int choose_target(const char *source, const char *target, char ret[GRANT_TARGET_SIZE],
			 struct err *err)
{
	const char *name = target != NULL && strncmp(target, "/mnt/", 5) == 0 ? target + 5
			   : target != NULL				      ? ""
					    : strrchr(source, '/') + 1;

	if (name[0] == '\0' || strlen(name) > GRANT_TARGET_SIZE - 8 || strchr(name, '/') != NULL ||
	    !fs_path_is_safe(name) || strcmp(name, "data") == 0) {
		(void)err_set(err, ERR_INVALID, "%.200s cannot be mounted at '%.100s'", source,
			      target != NULL ? target : name);
		return err_remedy(err, "name another place, as in %.200s:/mnt/input", source);
	}
	(void)snprintf(ret, GRANT_TARGET_SIZE, "/mnt/%s", name);
	return 0;
}

static bool has_control(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return true;
	return false;
}

static int check_folder(const struct grant_folder *folder, struct stat *ret, struct err *err)
{
	if (has_control(folder->source) || has_control(folder->target))
		return err_set(err, ERR_INVALID, "a folder whose name has control characters");
	if (strcmp(folder->source, "/") == 0)
		return err_set(err, ERR_DENIED, "/ is the whole host: name a folder of it");
	if (stat(folder->source, ret) < 0)
		return err_sys(err, "%.300s", folder->source);
	if (!S_ISDIR(ret->st_mode))
		return err_set(err, ERR_INVALID, "%.300s is not a directory", folder->source);
	if (access(folder->source, folder->writable ? R_OK | W_OK | X_OK : R_OK | X_OK) < 0)
		return err_sys(err, "%.300s", folder->source);
	if (grant_is_too_much(folder->source, folder->writable)) {
		(void)err_set(err, ERR_DENIED, "%.300s is not given%s: it holds %s", folder->source,
			      folder->writable ? " for writing" : "",
			      folder->writable ? "your home folder, or what Reckon keeps"
					       : "what Reckon keeps");
		return err_remedy(err, "name another folder%s",
				  folder->writable ? ", or give it for reading alone" : "");
	}
	return 0;
}

static bool is_taken(int fd, const char *target, bool *ret_full)
{
	cleanup_buf struct buf text = BUF_INIT(FILE_MAX);
	char field[GRANT_TARGET_SIZE + 4];
	struct err ignored;
	size_t lines = 0;

	(void)snprintf(field, sizeof(field), " %s\t", target);
	if (lseek(fd, 0, SEEK_SET) < 0 || fd_read_all(fd, &text, &ignored) < 0)
		return true;
	for (size_t i = 0; i < text.len; i++)
		lines += text.data[i] == '\n';
	*ret_full = lines >= GRANT_FOLDERS_MAX;
	return strstr(buf_text(&text), field) != NULL;
}

/* Completes a folder whose source is known, and writes its line into the grant's file. */
static int add_folder(int fd, const char *target, struct grant_folder *folder, struct err *err)
{
	cleanup_buf struct buf line = BUF_INIT(PATH_MAX + GRANT_TARGET_SIZE + 64);
	bool is_full = false;
	struct stat st;

	if (check_folder(folder, &st, err) < 0)
		return (int)err->code;
	if (folder->inode != 0 && (st.st_dev != folder->device || st.st_ino != folder->inode))
		return err_set(err, ERR_DENIED, "%.300s is another folder now", folder->source);
	if (choose_target(folder->source, target, folder->target, err) < 0)
		return (int)err->code;
	if (is_taken(fd, folder->target, &is_full)) {
		(void)err_set(err, ERR_INVALID, "two folders cannot be mounted at %s",
			      folder->target);
		return err_remedy(err, "name another place, as in %.200s:/mnt/input",
				  folder->source);
	}
	if (is_full)
		return err_set(err, ERR_LIMIT, "more than %u folders", GRANT_FOLDERS_MAX);
	folder->device = st.st_dev;
	folder->inode = st.st_ino;
	if (buf_addf(&line, err, "%c %" PRIu64 " %" PRIu64 " %s\t%s\n",
		     folder->writable ? 'w' : 'r', folder->device, folder->inode, folder->target,
		     folder->source) < 0)
		return (int)err->code;
	if (lseek(fd, 0, SEEK_END) < 0)
		return err_sys(err, "note which folders are granted");
	return fd_write_full(fd, line.data, line.len, err);
}

static int add_or_free(int fd, const char *target, struct grant_folder *folder,
		       struct grant_folder *ret, struct err *err)
{
	if (add_folder(fd, target, folder, err) < 0) {
		grant_folder_done(folder);
		return (int)err->code;
	}
	*ret = *folder;
	return 0;
}

int grant_add(int fd, const char *source, const char *target, bool writable,
	      struct grant_folder *ret, struct err *err)
{
	struct grant_folder folder = { .source = realpath(source, NULL), .writable = writable };

	*ret = (struct grant_folder){ 0 };
	if (folder.source == NULL)
		return err_sys(err, "%.300s", source);
	return add_or_free(fd, target, &folder, ret, err);
}

int grant_add_known(int fd, const struct grant_folder *known, const char *target,
		    struct grant_folder *ret, struct err *err)
{
	struct grant_folder folder = *known;

	*ret = (struct grant_folder){ 0 };
	folder.source = realpath(known->source, NULL);
	if (folder.source == NULL)
		return err_sys(err, "%.300s", known->source);
	if (strcmp(folder.source, known->source) != 0) {
		grant_folder_done(&folder);
		return err_set(err, ERR_DENIED, "%.300s is another folder now", known->source);
	}
	return add_or_free(fd, target, &folder, ret, err);
}

/* ---- reading
 * ---------------------------------------------------------------------------------- */

static int open_grant(int runtime_fd, const char *id, int *ret_fd, struct err *err)
{
	static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	cleanup_fd int fd = -1;
	char name[NAME_SIZE];
	struct stat st;

	if (strncmp(id, "gr_", 3) != 0 || strlen(id) != 29 || strspn(id + 3, digits) != 26)
		return err_set(err, ERR_NOT_FOUND, "no folders were granted by that id");
	(void)snprintf(name, sizeof(name), NAME "%s", id);
	fd = openat(runtime_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 077) != 0)
		return err_set(err, ERR_NOT_FOUND, "no folders were granted by that id");
	/* If the file can be locked, the process that granted the folders is gone. */
	if (flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return err_set(err, ERR_NOT_FOUND,
			       "the program that granted the folders has ended");
	*ret_fd = TAKE_FD(fd);
	return 0;
}

bool grant_is_alive(int runtime_fd, const char *id)
{
	cleanup_fd int fd = -1;
	struct err ignored;

	return open_grant(runtime_fd, id, &fd, &ignored) == 0;
}

/* Parses a line without its newline. */
static bool read_line(char *line, struct grant_folder *ret)
{
	char *tab = strchr(line, '\t');
	char mode;
	int end = 0;

	if (tab == NULL)
		return false;
	*tab = '\0';
	/* NOLINTNEXTLINE(cert-err34-c): written by ourselves; a number too large finds no folder. */
	if (sscanf(line, "%c %" SCNu64 " %" SCNu64 " %n", &mode, &ret->device, &ret->inode, &end) !=
		    3 ||
	    end == 0 || strlen(line + end) >= sizeof(ret->target) || tab[1] != '/')
		return false;
	ret->writable = mode == 'w';
	(void)snprintf(ret->target, sizeof(ret->target), "%s", line + end);
	ret->source = mem_strdup(tab + 1);
	return true;
}

int grant_read(int runtime_fd, const char *id, struct grant *ret, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(FILE_MAX);
	cleanup_fd int fd = -1;
	char *line, *end;

	*ret = (struct grant){ 0 };
	if (open_grant(runtime_fd, id, &fd, err) < 0 || fd_read_all(fd, &text, err) < 0)
		return (int)err->code;
	line = text.data;
	/* A line that is still being written has no newline yet. */
	while (text.len > 0 && ret->count < GRANT_FOLDERS_MAX &&
	       (end = strchr(line, '\n')) != NULL) {
		*end = '\0';
		if (!read_line(line, &ret->folders[ret->count])) {
			grant_done(ret);
			return err_set(err, ERR_PROTOCOL, "the list of granted folders is damaged");
		}
		ret->count++;
		line = end + 1;
	}
	return 0;
}

int grant_folder_open(const struct grant_folder *folder, int *ret_fd, struct err *err)
{
	struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS };
	cleanup_fd int fd = (int)syscall(SYS_openat2, AT_FDCWD, folder->source, &how, sizeof(how));
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != folder->device ||
	    st.st_ino != folder->inode) {
		(void)err_set(err, ERR_DENIED, "%.300s is not the folder that was granted any more",
			      folder->source);
		return err_remedy(err, "start `reckon mcp` again");
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

void grant_folder_done(struct grant_folder *folder)
{
	free(folder->source);
	folder->source = NULL;
}

void grant_done(struct grant *grant)
{
	for (size_t i = 0; i < grant->count; i++)
		grant_folder_done(&grant->folders[i]);
	*grant = (struct grant){ 0 };
}
