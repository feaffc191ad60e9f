/*
 * daemon_noted.c - finds a private daemon by the address noted in its state directory.
 *
 * Runs in:  clients that name no address.
 * Reads:    STATE/private/reckond.lock: the daemon's pid and address.
 * Never:    trusts another user's daemon: the listening process must be the user's own.
 *
 * Under cron, sudo and su XDG_RUNTIME_DIR differs from that of the shell that started the daemon,
 * so clients would look for its socket in another directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/process/runtime.h"
#include "client/inner.h"

#define NOTE_SIZE (PATH_MAX + 64)

/* Reads the second line, "unix:/DIR/NAME.sock". */
static bool read_note(const char *state, char note[NOTE_SIZE], char **ret_path)
{
	char path[PATH_MAX + 32];
	cleanup_fd int fd = -1;
	ssize_t len;
	char *at;

	(void)snprintf(path, sizeof(path), "%s/private/reckond.lock", state);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	len = fd >= 0 ? read(fd, note, NOTE_SIZE - 1) : -1;
	if (len <= 0)
		return false;
	note[len] = '\0';
	at = strchr(note, '\n');
	if (at == NULL || strncmp(at, "\nunix:/", 7) != 0)
		return false;
	*ret_path = at + 6;
	(*ret_path)[strcspn(*ret_path, "\n")] = '\0';
	return true;
}

/* Opens the socket's directory, if the socket has this state's daemon name. */
static int open_place(const char *state, const char *name)
{
	char note[NOTE_SIZE], file[RUNTIME_NAME_SIZE + 8], *path, *slash;
	cleanup_fd int fd = -1;
	struct stat st;

	if (!read_note(state, note, &path))
		return -1;
	(void)snprintf(file, sizeof(file), "%s.sock", name);
	slash = strrchr(path, '/');
	if (slash == path || strcmp(slash + 1, file) != 0)
		return -1;
	*slash = '\0';
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return -1;
	return TAKE_FD(fd);
}

bool daemon_noted(struct client *client, const char *state, const char *name)
{
	struct url url = client->url;
	cleanup_fd int dir = open_place(state, name);
	struct ucred peer = { .uid = (uid_t)-1 };
	struct err ignored;

	if (dir < 0)
		return false;
	(void)snprintf(url.socket, sizeof(url.socket), "/proc/self/fd/%d/%s.sock", dir, name);
	if (daemon_connect(&url, &peer, &ignored) <= 0 || peer.uid != geteuid())
		return false;
	cleanup_fd_fn(&client->runtime_fd);
	client->runtime_fd = TAKE_FD(dir);
	client->url = url;
	return true;
}
