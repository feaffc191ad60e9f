/*
 * launch.c - finds reckon-warden; joins the user's running one or starts one.
 *
 * Runs in:  libreckon, once per connection.
 * Reads:    the environment (RECKON_LIBEXEC, XDG_RUNTIME_DIR, RECKON_LOG), its own directory.
 * Never:    passes the caller's environment, descriptors or signal settings to the warden.
 *
 *   caller --lock, bind, listen--> socket --fork, setsid, fork, exec--> reckon-warden (fd 3)
 *
 * Where a service manager starts wardens (launch_manager.c) it gets the socket instead.
 *
 * The socket listens before the warden runs: a connection succeeds at once and waits in the queue,
 * so "started" and "ready" are the same.
 */
#include "lib/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/process/child.h"
#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "base/process/runtime.h"

#define WARDEN_FD 3
#define FAILURE_FD 4
#define BACKLOG 128
#define IDLE_SECONDS 900

struct place {
	int dir_fd;
	char socket_name[64];
	char lock_name[72];
	char path[96]; /* path of the socket, through dir_fd: always short enough for sun_path */
};

/* Data for exec, prepared before the fork: a child may not allocate. */
#define ENV_PASSED 2

struct plan {
	const char *warden;
	char *argv[10];
	char env[ENV_PASSED][40]; /* variables that the caller passes to the warden */
	char *envp[3 + ENV_PASSED];
	int sock;
	int stdio;  /* for descriptors 1 and 2, or -1 to keep them */
	bool daemonize;
};

static bool is_program(const char *path)
{
	return access(path, X_OK) == 0;
}

/* Sets *ret to `dir`/reckon-warden if that is executable. */
static bool try_dir(const char *dir, const char *below, char **ret)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s%s/reckon-warden", dir, below) >= (int)sizeof(path) ||
	    !is_program(path))
		return false;
	*ret = mem_strdup(path);
	return true;
}

int launch_find_warden(char **ret_path, struct err *err)
{
	char self[4096] = "";
	const ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *given = secure_getenv("RECKON_LIBEXEC");
	char *slash;

	if (len > 0) {
		self[len] = '\0';
		slash = strrchr(self, '/');
		if (slash != NULL) {
			*slash = '\0';
			if (try_dir(self, "/../libexec", ret_path))
				return 0;
		}
	}
	if (given != NULL && try_dir(given, "", ret_path))
		return 0;
	/* The prefix may have been moved: reckond is next to the warden, bin/reckon one directory
	 * away. */
	if (len > 0 && (try_dir(self, "", ret_path) ||
			try_dir(self, "/../libexec/reckon", ret_path)))
		return 0;
	if (try_dir(RECKON_LIBEXECDIR, "", ret_path))
		return 0;
	(void)err_set(err, ERR_UNAVAILABLE, "reckon-warden was not found in %.200s",
		      given != NULL ? given : RECKON_LIBEXECDIR);
	return err_remedy(err, "install Reckon, or set RECKON_LIBEXEC to the directory that holds "
			       "reckon-warden");
}

int launch_find_sibling(const char *name, char **ret_path, struct err *err)
{
	cleanup_free char *warden = NULL;
	char path[4096], *slash;

	if (launch_find_warden(&warden, err) < 0)
		return (int)err->code;
	slash = warden != NULL ? strrchr(warden, '/') : NULL;
	if (slash == NULL)
		return err_set(err, ERR_UNAVAILABLE, "reckon-warden has no folder");
	*slash = '\0';
	if (snprintf(path, sizeof(path), "%s/%s", warden, name) >= (int)sizeof(path) ||
	    !is_program(path))
		return err_set(err, ERR_UNAVAILABLE, "%.200s/%s is missing", warden, name);
	*ret_path = mem_strdup(path);
	return 0;
}

/* FNV-1a: distinguishes installations; no security depends on it. */
static uint64_t mix(uint64_t hash, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
	return hash;
}

static int place_init(struct place *place, const char *warden, const char *template_dir,
		      struct err *err)
{
	uint64_t hash = 0xcbf29ce484222325u;
	struct stat st;

	if (stat(warden, &st) < 0)
		return err_sys(err, "%.200s", warden);
	hash = mix(hash, &st.st_dev, sizeof(st.st_dev));
	hash = mix(hash, &st.st_ino, sizeof(st.st_ino));
	hash = mix(hash, &st.st_mtim, sizeof(st.st_mtim));
	hash = mix(hash, &st.st_size, sizeof(st.st_size));
	hash = mix(hash, template_dir, strlen(template_dir));
	if (runtime_dir_open(&place->dir_fd, err) < 0)
		return (int)err->code;
	(void)snprintf(place->socket_name, sizeof(place->socket_name), "warden-%016llx.sock",
		       (unsigned long long)hash);
	(void)snprintf(place->lock_name, sizeof(place->lock_name), "%s.lock", place->socket_name);
	(void)snprintf(place->path, sizeof(place->path), "/proc/self/fd/%d/%s", place->dir_fd,
		       place->socket_name);
	return 0;
}

static void place_address(const struct place *place, struct sockaddr_un *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	_Static_assert(sizeof(place->path) < sizeof(ret->sun_path), "a path fits");
	memcpy(ret->sun_path, place->path, sizeof(place->path));
}

static int new_socket(int *ret_fd, struct err *err)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_sys(err, "socket");
	*ret_fd = fd;
	return 0;
}

/* 1: connected; 0: nothing listens there. */
static int try_connect(const struct place *place, int *ret_sock, struct err *err)
{
	cleanup_fd int sock = -1;
	struct sockaddr_un address;
	int n;

	if (new_socket(&sock, err) < 0)
		return (int)err->code;
	place_address(place, &address);
	do
		n = connect(sock, (const struct sockaddr *)&address, sizeof(address));
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == ECONNREFUSED || errno == ENOENT))
		return 0;
	if (n < 0)
		return err_sys(err, "connect to the warden");
	*ret_sock = TAKE_FD(sock);
	return 1;
}

static int take_lock(const struct place *place, int *ret_fd, struct err *err)
{
	cleanup_fd int fd = openat(place->dir_fd, place->lock_name,
				   O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	int n;

	if (fd < 0)
		return err_sys(err, "open %s", place->lock_name);
	do
		n = flock(fd, LOCK_EX);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(err, "lock %s", place->lock_name);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int listen_at(const struct place *place, int *ret_fd, struct err *err)
{
	cleanup_fd int sock = -1;
	struct sockaddr_un address;

	if (new_socket(&sock, err) < 0)
		return (int)err->code;
	/* We hold the lock and could not connect, so this is the socket of a dead warden. */
	if (unlinkat(place->dir_fd, place->socket_name, 0) < 0 && errno != ENOENT)
		return err_sys(err, "remove the old %s", place->socket_name);
	place_address(place, &address);
	if (bind(sock, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(sock, BACKLOG) < 0)
		return err_sys(err, "listen at %s", place->socket_name);
	*ret_fd = TAKE_FD(sock);
	return 0;
}

/*
 * In the child, until exec: calls only functions that are safe after a fork of a threaded program.
 * Errors are sent as one struct err through FAILURE_FD, which exec closes.
 */
static void __attribute__((noreturn)) become_warden(const struct plan *plan, int failure)
{
	struct err err;

	child_reset_signals(0);
	(void)umask(022);
	/* Move both to high numbers first: sock may be 4 and failure 3. */
	int sock = fcntl(plan->sock, F_DUPFD, 10);
	int fail = fcntl(failure, F_DUPFD, 10);
	int null = open("/dev/null", O_RDONLY);

	if (sock < 0 || fail < 0 || null < 0 || dup2(null, 0) < 0 ||
	    (plan->stdio >= 0 && (dup2(plan->stdio, 1) < 0 || dup2(plan->stdio, 2) < 0)) ||
	    dup2(sock, WARDEN_FD) < 0 || dup3(fail, FAILURE_FD, O_CLOEXEC) < 0 ||
	    close_range(FAILURE_FD + 1, ~0u, 0) < 0 || chdir("/") < 0) {
		(void)err_sys(&err, "prepare to start reckon-warden");
	} else {
		(void)execve(plan->warden, plan->argv, plan->envp);
		(void)err_sys(&err, "start %.200s", plan->warden);
	}
	if (fail >= 0 && write(fcntl(FAILURE_FD, F_GETFD) >= 0 ? FAILURE_FD : fail, &err,
			       sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

static int spawn(const struct plan *plan, pid_t *ret_pid, struct err *err)
{
	cleanup_fd int ours = -1, theirs = -1;
	struct err failed;
	int ends[2];
	ssize_t n;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	ours = ends[0];
	theirs = ends[1];
	pid = fork();
	if (pid < 0)
		return err_sys(err, "fork");
	if (pid == 0) {
		(void)setsid();
		/* Fork twice, so that the shared warden has no parent here and gets no terminal. */
		if (plan->daemonize && fork() != 0)
			_exit(0);
		become_warden(plan, theirs);
	}
	(void)close(TAKE_FD(theirs));
	if (plan->daemonize)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	n = fd_read_full(ours, &failed, sizeof(failed), err);
	if (n == 0) {
		*ret_pid = pid;
		return 0;
	}
	if (!plan->daemonize)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	if (n == (ssize_t)sizeof(failed))
		*err = failed;
	else if (n > 0)
		return err_set(err, ERR_SYSTEM, "reckon-warden could not be started");
	return (int)err->code;
}

/* A fixed environment: a shared warden must not depend on the user who started it. */
static void plan_environment(struct plan *plan)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	static char lang[] = "LANG=C.UTF-8";
	static const char *const passed[ENV_PASSED] = { "RECKON_LOG", "RECKON_ROTATE" };
	size_t count = 0;

	plan->envp[count++] = path;
	plan->envp[count++] = lang;
	for (size_t i = 0; i < ENV_PASSED; i++) {
		const char *value = secure_getenv(passed[i]);

		if (value != NULL && snprintf(plan->env[i], sizeof(plan->env[i]), "%s=%s",
					      passed[i], value) < (int)sizeof(plan->env[i]))
			plan->envp[count++] = plan->env[i];
	}
	plan->envp[count] = NULL;
}

static int start_shared(const struct place *place, const char *warden, const char *template_dir,
			struct err *err)
{
	cleanup_fd int listener = -1, log = -1;
	cleanup_free char *exe = mem_strdup(warden), *dir = mem_strdup(template_dir);
	char log_name[72];
	char idle[16];
	struct plan plan = { .warden = warden, .daemonize = true };
	int started;
	pid_t pid;

	if (listen_at(place, &listener, err) < 0)
		return (int)err->code;
	started = launch_by_manager(listener, template_dir, IDLE_SECONDS, err);
	if (started < 0)
		(void)unlinkat(place->dir_fd, place->socket_name, 0);
	if (started != 0)
		return started < 0 ? started : 0;
	(void)snprintf(idle, sizeof(idle), "%d", IDLE_SECONDS);
	(void)snprintf(log_name, sizeof(log_name), "%.60s.log", place->socket_name);
	log = openat(place->dir_fd, log_name,
		     O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (log < 0)
		return err_sys(err, "open %s", log_name);
	plan_environment(&plan);
	plan.sock = listener;
	plan.stdio = log;
	char *argv[] = { exe, (char[]){ "--listen-fd" }, (char[]){ "3" },
			 (char[]){ "--idle-seconds" }, idle,
			 (char[]){ "--templates" }, dir, NULL };

	memcpy(plan.argv, argv, sizeof(argv));
	if (spawn(&plan, &pid, err) < 0) {
		(void)unlinkat(place->dir_fd, place->socket_name, 0);
		return (int)err->code;
	}
	return 0;
}

int launch_join_shared(const char *warden, const char *template_dir, int *ret_sock,
		       struct err *err)
{
	struct place place = { .dir_fd = -1 };
	cleanup_fd int dir_fd = -1, lock = -1;
	int found;

	if (place_init(&place, warden, template_dir, err) < 0)
		return (int)err->code;
	dir_fd = place.dir_fd;
	found = try_connect(&place, ret_sock, err);
	if (found != 0)
		return found < 0 ? found : 0;
	if (take_lock(&place, &lock, err) < 0)
		return (int)err->code;
	/* Another process may have started it while we waited for the lock. */
	found = try_connect(&place, ret_sock, err);
	if (found != 0)
		return found < 0 ? found : 0;
	if (start_shared(&place, warden, template_dir, err) < 0)
		return (int)err->code;
	found = try_connect(&place, ret_sock, err);
	if (found == 0)
		return err_set(err, ERR_UNAVAILABLE, "reckon-warden ended as soon as it started");
	return found < 0 ? found : 0;
}

int launch_private(const char *warden, const char *template_dir, int *ret_sock, pid_t *ret_pid,
		   struct err *err)
{
	cleanup_fd int ours = -1, theirs = -1;
	cleanup_free char *exe = mem_strdup(warden), *dir = mem_strdup(template_dir);
	struct plan plan = { .warden = warden, .stdio = -1 };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");
	ours = pair[0];
	theirs = pair[1];
	plan_environment(&plan);
	plan.sock = theirs;
	char *argv[] = { exe, (char[]){ "--client-fd" }, (char[]){ "3" }, (char[]){ "--templates" },
			 dir, NULL };

	memcpy(plan.argv, argv, sizeof(argv));
	if (spawn(&plan, ret_pid, err) < 0)
		return (int)err->code;
	*ret_sock = TAKE_FD(ours);
	return 0;
}
