/*
 * folder.c - decides for which folders of this computer a model may ask.
 *
 * Runs in:  reckon-client.
 * Reads:    paths that a model wrote; the file system.
 * Never:    asks a person about a path that is not what it looks like, or about files that no
 *           model's code should see: secrets, other users' homes, system files.
 *
 * --mount accepts more folders, because the person chooses them.
 */
#include "cli/mcp/folder.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/grant.h"
#include "base/reveal.h"
#include "base/utf8.h"

/*
 * ---- folders that are never offered -----------------------------------------------------------
 */

/* Refused with everything in them. */
static const char *const system_trees[] = { "/boot", "/dev", "/etc", "/proc", "/root", "/run",
					    "/sys",  "/var/lib", "/var/run", "/var/spool" };
/* Refused as a whole; folders in them are allowed. */
static const char *const too_wide[] = { "/home", "/usr", "/var", "/tmp", "/opt", "/mnt" };
/* Folders of secrets; a folder that contains one of them is refused, too. */
static const char *const secrets[] = { ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker",
				       ".password-store", ".mozilla", ".netrc", ".git-credentials" };
/* File systems that show processes, devices or the kernel, wherever they are mounted. */
static const long kernel_types[] = { PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC,
				     SECURITYFS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
				     DEVPTS_SUPER_MAGIC, BPF_FS_MAGIC, PSTOREFS_MAGIC,
				     EFIVARFS_MAGIC, SELINUX_MAGIC };

bool folder_is_within(const char *path, const char *folder)
{
	const size_t len = strlen(folder);

	if (strcmp(folder, "/") == 0)
		return true;
	return strncmp(path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static bool is_home_of_root(const char *tree)
{
	const char *home = getenv("HOME");

	return strcmp(tree, "/root") == 0 && home != NULL && strcmp(home, tree) == 0;
}

static bool is_of_the_system(const char *real)
{
	struct statfs fs;

	for (size_t i = 0; i < ARRAY_LEN(system_trees); i++)
		if (folder_is_within(real, system_trees[i]) && !is_home_of_root(system_trees[i]))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(too_wide); i++)
		if (strcmp(real, too_wide[i]) == 0)
			return true;
	if (statfs(real, &fs) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(kernel_types); i++)
		if ((long)fs.f_type == kernel_types[i])
			return true;
	return false;
}

static bool holds_secrets(const char *real)
{
	cleanup_fd int fd = open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(secrets); i++)
		if (fd >= 0 && fstatat(fd, secrets[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	return false;
}

/*
 * Whether the path looks like what it is: no hidden characters, none that change the text
 * direction.
 */
static bool can_be_shown(const char *real)
{
	const size_t len = strlen(real);
	size_t n;

	for (size_t at = 0; at < len; at += n) {
		n = utf8_sequence(real + at, len - at);
		if (n == 0 || reveal_is_hidden(reveal_decode(real + at, n)))
			return false;
	}
	return true;
}

static const char *why_not(const char *real)
{
	if (!can_be_shown(real))
		return "its name has characters that a person could not see";
	if (strcmp(real, "/") == 0)
		return "it is the whole computer";
	if (strstr(real, "/.") != NULL)
		return "hidden folders hold settings and secrets";
	if (grant_is_too_much(real, true))
		return "it holds the home folder, or what Reckon keeps";
	if (is_of_the_system(real))
		return "it is a folder of the system";
	if (holds_secrets(real))
		return "there are keys or passwords in it";
	return NULL;
}

/*
 * ---- checking a path --------------------------------------------------------------------------
 */

static int find(const char *requested, char ret[PATH_MAX], struct err *err)
{
	const char *home = getenv("HOME");
	char path[PATH_MAX];
	const bool is_home = requested[0] == '~' && (requested[1] == '/' || requested[1] == '\0');

	if ((requested[0] != '/' && !is_home) || (is_home && (home == NULL || home[0] != '/'))) {
		(void)err_set(err, ERR_INVALID, "path must be absolute, or begin with ~/");
		return err_remedy(err, "ask which folder of the computer is meant");
	}
	if (snprintf(path, sizeof(path), "%s%s", is_home ? home : "",
		     requested + (is_home ? 1 : 0)) >= (int)sizeof(path))
		return err_set(err, ERR_INVALID, "path is too long");
	if (realpath(path, ret) == NULL) {
		(void)err_set(err, ERR_NOT_FOUND, "there is no such folder on this computer");
		return err_remedy(err, "ask which folder is meant");
	}
	return 0;
}

int folder_check(const char *requested, bool writable, struct folder *ret, struct err *err)
{
	struct folder folder = { .writable = writable };
	struct stat st;
	const char *why;

	if (find(requested, folder.real, err) < 0)
		return (int)err->code;
	why = why_not(folder.real);
	if (why != NULL) {
		(void)err_set(err, ERR_DENIED, "this folder cannot be granted: %s", why);
		return err_remedy(err, "ask for another one; a person can give folders with "
				       "`reckon mcp --mount`");
	}
	if (stat(folder.real, &st) < 0 || !S_ISDIR(st.st_mode)) {
		(void)err_set(err, ERR_INVALID, "path is not a folder");
		return err_remedy(err, "ask for the folder that the file is in");
	}
	if (access(folder.real, writable ? R_OK | W_OK | X_OK : R_OK | X_OK) < 0)
		return err_set(err, ERR_DENIED, "the user's own account may not %s this folder",
			       writable ? "write to" : "read");
	folder.device = st.st_dev;
	folder.inode = st.st_ino;
	*ret = folder;
	return 0;
}

/* ---- roots ------------------------------------------------------------------------------------ */

static int hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

bool folder_of_uri(const char *uri, char ret[PATH_MAX])
{
	char path[PATH_MAX];
	size_t len = 0;

	if (strncmp(uri, "file://", 7) != 0)
		return false;
	uri += strncmp(uri, "file://localhost/", 17) == 0 ? 16 : 7;
	if (*uri != '/')
		return false;
	for (; *uri != '\0'; uri++) {
		int c = (unsigned char)*uri;

		if (c == '%') {
			const int high = hex(uri[1]), low = high < 0 ? -1 : hex(uri[2]);

			if (low < 0)
				return false;
			c = high * 16 + low;
			uri += 2;
		}
		if (c == 0 || len + 1 >= sizeof(path))
			return false;
		path[len++] = (char)c;
	}
	path[len] = '\0';
	return realpath(path, ret) != NULL;
}
