/*
 * files.c - copies files of a workspace into a directory of the user.
 *
 * Runs in:  reckon.
 * Reads:    file names that a box chose.
 * Never:    follows a link, leaves the directory, or creates a file before it is complete.
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
#include "base/file/fs.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/run/run.h"

static int not_writable(const char *path, struct err *err)
{
	err_sys(err, "%.200s", path);
	return err_remedy(err, "choose a directory that you may write to");
}

int run_files_check_dir(const char *path, struct err *err)
{
	cleanup_free char *at = mem_strdup(path);
	struct stat st;

	if (path[0] == '\0')
		return err_set(err, ERR_INVALID, "the name of the directory is empty");
	if (strlen(path) >= PATH_MAX)
		return err_set(err, ERR_INVALID, "the name of the directory is too long");
	/* Check the nearest existing ancestor: missing directories will be created below it. */
	while (stat(at, &st) < 0) {
		char *slash;

		if (errno != ENOENT)
			return not_writable(at, err);
		for (slash = at + strlen(at); slash > at + 1 && slash[-1] == '/'; slash--)
			slash[-1] = '\0';
		slash = strrchr(at, '/');
		if (slash == NULL)
			memcpy(at, ".", 2);
		else
			slash[slash == at] = '\0';
	}
	if (!S_ISDIR(st.st_mode)) {
		err_set(err, ERR_INVALID, "%.200s: is not a directory", at);
		return err_remedy(err, "choose another name");
	}
	if (access(at, W_OK | X_OK) < 0)
		return not_writable(at, err);
	return 0;
}

int run_files_open_dir(const char *path, int *ret_fd, struct err *err)
{
	cleanup_free char *cwd = NULL;
	char absolute[PATH_MAX];
	int fd;

	if (path[0] != '/' && (cwd = getcwd(NULL, 0)) == NULL)
		return err_sys(err, "current directory");
	if ((size_t)snprintf(absolute, sizeof(absolute), "%s%s%s", cwd != NULL ? cwd : "",
			     cwd != NULL ? "/" : "", path) >= sizeof(absolute))
		return err_set(err, ERR_INVALID, "%.200s: the name is too long", path);
	if (fs_mkdir_parents(absolute, 0777, err) < 0)
		return (int)err->code;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return not_writable(path, err);
	*ret_fd = fd;
	return 0;
}

int run_files_create(int dir_fd, const char *path, char temp[RUN_FILES_TEMP_SIZE], int *ret_fd,
		     struct err *err)
{
	const char *slash = strrchr(path, '/');
	char id[ID_SIZE];

	if (!fs_path_is_safe(path)) {
		err_set(err, ERR_DENIED, "refused: the name leads out of the directory");
		return (int)err->code;
	}
	if (id_new(id, "rk", err) < 0)
		return (int)err->code;
	(void)snprintf(temp, RUN_FILES_TEMP_SIZE, "%.*s.%s.part",
		       slash != NULL ? (int)(slash - path + 1) : 0, path, id);
	return fs_create_beneath(dir_fd, temp, (uid_t)-1, (gid_t)-1, ret_fd, err);
}

/* Opens the directory that contains `path`, without following links. */
static int open_parent(int dir_fd, const char *path, int *ret_fd, struct err *err)
{
	char parent[4096];
	const char *slash = strrchr(path, '/');
	const size_t len = slash != NULL ? (size_t)(slash - path) : 0;

	if (len >= sizeof(parent))
		return err_set(err, ERR_INVALID, "the name is too long");
	memcpy(parent, path, len);
	parent[len] = '\0';
	return fs_open_dir_beneath(dir_fd, parent, ret_fd, err);
}

int run_files_commit(int dir_fd, const char *temp, const char *path, struct err *err)
{
	cleanup_fd int parent = -1;

	if (open_parent(dir_fd, path, &parent, err) < 0)
		return (int)err->code;
	if (renameat(parent, text_base_name(temp), parent, text_base_name(path)) < 0)
		return err_sys(err, "rename");
	return 0;
}

void run_files_abandon(int dir_fd, const char *temp)
{
	cleanup_fd int parent = -1;
	struct err ignored;

	if (open_parent(dir_fd, temp, &parent, &ignored) == 0)
		(void)unlinkat(parent, text_base_name(temp), 0);
}
