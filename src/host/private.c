/*
 * private.c - the private daemon of one user: a socket in the user's directory instead of a port.
 *
 * Runs in:  reckond, with --private.
 * Reads:    the environment, as base/process/runtime.h says.
 * Never:    listens while another daemon uses the same state: it holds a lock for its whole life.
 *
 * Only the user can connect: the directory is the user's alone, and the front checks the uid of
 * each connection. So no key is needed. The daemon ends after some time without sessions and
 * requests. It removes its socket first, so that the next client starts a new daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/log.h"
#include "base/process/runtime.h"
#include "host/host.h"
#include "host/private.h"

#define BACKLOG 1024

int private_state(struct host *host, char *dir, size_t size, struct err *err)
{
	const size_t len = strlen(dir);
	cleanup_fd int fd = -1;

	if (mkdirat(host->place.state_fd, "private", 0700) < 0 && errno != EEXIST)
		return err_sys(err, "make %.200s/private", dir);
	fd = openat(host->place.state_fd, "private",
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, "open %.200s/private", dir);
	if (snprintf(dir + len, size - len, "/private") >= (int)(size - len))
		return err_set(err, ERR_INVALID, "path too long: %.200s", dir);
	(void)close(host->place.state_fd);
	host->place.state_fd = TAKE_FD(fd);
	return 0;
}

static int take_lock(int dir_fd, const char *name, struct err *err)
{
	char lock_name[RUNTIME_NAME_SIZE + 8];
	cleanup_fd int fd = -1;

	(void)snprintf(lock_name, sizeof(lock_name), "%s.lock", name);
	fd = openat(dir_fd, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, "open %s", lock_name);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		(void)err_set(err, ERR_DENIED, "your private daemon is already running");
		return err_remedy(err, "reckon session ls uses it");
	}
	(void)TAKE_FD(fd); /* held until the process ends */
	return 0;
}

static int listen_at(struct host *host, int dir_fd, const char *name, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char dir[32], path[HOST_ADDRESS_SIZE - 8];
	ssize_t len;

	(void)snprintf(host->door.socket_name, sizeof(host->door.socket_name), "%s.sock", name);
	(void)snprintf(dir, sizeof(dir), "/proc/self/fd/%d", dir_fd);
	/* Uses the descriptor, because the path of the directory may be too long for sun_path. */
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", dir,
		       host->door.socket_name);
	/* We hold the lock, so an existing socket belongs to a daemon that has ended. */
	if (unlinkat(dir_fd, host->door.socket_name, 0) < 0 && errno != ENOENT)
		return err_sys(err, "remove the old %s", host->door.socket_name);
	host->door.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (host->door.fd < 0)
		return err_sys(err, "socket");
	if (bind(host->door.fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    fchmodat(dir_fd, host->door.socket_name, 0600, 0) < 0 ||
	    listen(host->door.fd, BACKLOG) < 0)
		return err_sys(err, "listen at %s", host->door.socket_name);
	len = readlink(dir, path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = '\0';
	if (snprintf(host->door.name, sizeof(host->door.name), "unix:%s/%s", path,
		     host->door.socket_name) >= (int)sizeof(host->door.name))
		(void)snprintf(host->door.name, sizeof(host->door.name), "unix:%s",
			       host->door.socket_name);
	return 0;
}

/*
 * Written before clients can connect: a client with another version of the program may replace us.
 */
static int note_program(int dir_fd, const char *name, struct err *err)
{
	char program[RUNTIME_PROGRAM_SIZE], file[RUNTIME_NAME_SIZE + 16];
	cleanup_fd int fd = -1;

	if (runtime_program("/proc/self/exe", program, err) < 0)
		return (int)err->code;
	(void)snprintf(file, sizeof(file), "%s.program", name);
	fd = openat(dir_fd, file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, "open %s", file);
	return fd_write_full(fd, program, strlen(program), err);
}

int private_listen(struct host *host, struct err *err)
{
	char state[4096], name[RUNTIME_NAME_SIZE];

	host->door.runtime_fd = -1;
	if (runtime_state_dir(host->config.state_dir, state, sizeof(state), err) < 0 ||
	    runtime_dir_open(&host->door.runtime_fd, err) < 0)
		return (int)err->code;
	runtime_daemon_name(state, name);
	if (take_lock(host->door.runtime_fd, name, err) < 0 ||
	    note_program(host->door.runtime_fd, name, err) < 0)
		return (int)err->code;
	host->door.last_request_ns = clock_mono_ns();
	return listen_at(host, host->door.runtime_fd, name, err);
}

void private_leave(struct host *host)
{
	if (host->config.is_private && host->door.socket_name[0] != '\0')
		(void)unlinkat(host->door.runtime_fd, host->door.socket_name, 0);
	host->door.socket_name[0] = '\0';
}

void private_tick(struct host *host)
{
	if (!host->config.is_private || lifecycle_is_ending(&host->life) ||
	    host->sessions.first != NULL || front_is_busy(host) ||
	    clock_mono_ns() - host->door.last_request_ns < host->config.idle_exit_ms * 1000000u)
		return;
	log_line(LOG_INFO, "nobody needs it, so the private daemon ends", NULL);
	private_leave(host);
	(void)lifecycle_move(&host->life, LIFECYCLE_STOPPING);
	loop_stop(host->loop);
}
