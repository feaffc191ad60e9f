/*
 * launch_running.c - connects to the running wardens of this user.
 *
 * Runs in:  libreckon, when boxes of an earlier process are looked for.
 * Reads:    the names in the user's runtime directory.
 * Never:    starts a warden, or waits for one.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/runtime.h"
#include "lib/launch.h"

/* "warden-" and 16 digits and ".sock", as launch.c names them. */
static bool is_warden(const char *name)
{
	const size_t digits = strspn(name + strcspn(name, "-") + (strchr(name, '-') != NULL),
				     "0123456789abcdef");

	return strncmp(name, "warden-", 7) == 0 && digits == 16 && strcmp(name + 23, ".sock") == 0;
}

static int try_connect(int dir_fd, const char *name)
{
	cleanup_fd int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%.40s",
		       dir_fd, name);
	if (sock < 0 || connect(sock, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return TAKE_FD(sock);
}

size_t launch_running(int *ret_socks, size_t max)
{
	cleanup_fd int dir_fd = -1;
	cleanup_dir DIR *dir = NULL;
	struct dirent *entry;
	struct err ignored;
	size_t count = 0;

	if (runtime_dir_open(&dir_fd, &ignored) < 0)
		return 0;
	dir = fdopendir(fcntl(dir_fd, F_DUPFD_CLOEXEC, 0));
	while (dir != NULL && count < max && (entry = readdir(dir)) != NULL) {
		if (!is_warden(entry->d_name))
			continue;
		ret_socks[count] = try_connect(dir_fd, entry->d_name);
		count += ret_socks[count] >= 0;
	}
	return count;
}
