/*
 * daemon.c - finds or starts the user's private daemon.
 *
 * Runs in:  clients that name no address.
 * Reads:    the environment (as base/process/runtime.h says), the log of a start that failed.
 * Never:    starts two: a second client waits for the lock, then finds the first one's daemon.
 *           Never passes the caller's descriptors or signal settings on.
 *
 *   client ──connect──▶ RUNTIME/NAME.sock   none? ──lock, again none? ──▶ reckond --private
 *
 * Only the user can open the directory, and the daemon checks each peer's uid. So no key is needed:
 * a process that could read it could connect anyway.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/process/child.h"
#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/process/runtime.h"
#include "client/inner.h"

#define ENV_MAX 16
#define LOG_TAIL 4096
#define START_MS 30000
#define STOP_MS 30000
#define OTHER_MS 50
#define OTHER_TRIES 200
#define PAGE 200

/* Filled before the fork: the child of a program with threads may make only async-signal-safe
 * calls. */
struct plan {
	char path[PATH_MAX];
	char state[PATH_MAX];
	char *argv[6];
	char *envp[ENV_MAX + 1];
	int log;
	int ready; /* the daemon's stdout: it writes there when it is ready, or closes it */
};

/* reckond is next to this program, or in the libexec directory of the installation. */
static int find_program(char *ret, size_t size, struct err *err)
{
	static const char *const places[] = { "", "/../libexec", "/../libexec/reckon" };
	const char *given = secure_getenv("RECKON_LIBEXEC");
	char self[PATH_MAX];
	const ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		return err_sys(err, "/proc/self/exe");
	self[len] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (snprintf(ret, size, "%s%s/reckond", self, places[i]) < (int)size &&
		    access(ret, X_OK) == 0)
			return 0;
	if (given != NULL && snprintf(ret, size, "%s/reckond", given) < (int)size &&
	    access(ret, X_OK) == 0)
		return 0;
	(void)err_set(err, ERR_UNAVAILABLE, "reckond was not found");
	return err_remedy(err,
			  "install Reckon, or set RECKON_LIBEXEC to the directory that holds it");
}

/* Passes on the variables that locate files and set up logging, and no others. */
static void plan_environment(struct plan *plan)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	static char lang[] = "LANG=C.UTF-8";
	static const char *const passed[] = { "HOME=", "XDG_RUNTIME_DIR=", "XDG_STATE_HOME=",
					      "RECKON_LIBEXEC=", "RECKON_TEMPLATES=",
					      "RECKON_LOG=", "RECKON_ROTATE=" };
	size_t count = 0;

	plan->envp[count++] = path;
	plan->envp[count++] = lang;
	for (char **at = environ; *at != NULL; at++)
		for (size_t i = 0; i < ARRAY_LEN(passed); i++)
			if (strncmp(*at, passed[i], strlen(passed[i])) == 0 && count < ENV_MAX)
				plan->envp[count++] = *at;
	plan->envp[count] = NULL;
}

static void __attribute__((noreturn)) become_daemon(const struct plan *plan)
{
	const int log = fcntl(plan->log, F_DUPFD, 10), ready = fcntl(plan->ready, F_DUPFD, 10);
	const int null_fd = open("/dev/null", O_RDONLY);

	child_reset_signals(0);
	(void)umask(022);
	if (log < 0 || ready < 0 || null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(ready, 1) < 0 ||
	    dup2(log, 2) < 0 || close_range(3, ~0u, 0) < 0 || chdir("/") < 0)
		_exit(126);
	(void)execve(plan->path, plan->argv, plan->envp);
	_exit(127);
}

/* Waits until the daemon writes a line (1) or ends (0). */
static int wait_for(int fd, struct err *err)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	char line[256];
	ssize_t n;
	int polled;

	do
		polled = poll(&ready, 1, START_MS);
	while (polled < 0 && errno == EINTR);
	if (polled == 0) {
		(void)err_set(err, ERR_TIMEOUT, "your private daemon does not get ready");
		return err_remedy(err,
				  "its log is beside its socket; reckon serve --private starts one "
				  "in the foreground");
	}
	do
		n = read(fd, line, sizeof(line));
	while (n < 0 && errno == EINTR);
	return n < 0 ? err_sys(err, "wait for your private daemon") : n > 0;
}

/* Reads why there is no daemon from the last line that its start wrote to the log. */
static int why_not(int log, off_t from, struct err *err)
{
	char text[LOG_TAIL + 1];
	ssize_t n = pread(log, text, LOG_TAIL, from);
	char *line;

	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n > 0 ? n : 0] = '\0';
	line = strrchr(text, '\n');
	line = line != NULL ? line + 1 : text;
	if (strncmp(line, "reckon: serve: ", 15) == 0)
		line += 15;
	return err_set(err, ERR_UNAVAILABLE, "your private daemon does not start%s%.260s",
		       line[0] != '\0' ? ": " : "", line);
}

static int spawn(struct plan *plan, struct err *err)
{
	cleanup_fd int ours = -1, theirs = -1;
	const off_t from = lseek(plan->log, 0, SEEK_END);
	int ends[2], ready;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	ours = ends[0];
	theirs = ends[1];
	plan->ready = theirs;
	pid = fork();
	if (pid < 0)
		return err_sys(err, "fork");
	if (pid == 0) {
		(void)setsid();
		/* The second fork detaches the daemon from its parent and from any terminal. */
		if (fork() != 0)
			_exit(0);
		become_daemon(plan);
	}
	(void)close(TAKE_FD(theirs));
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	ready = wait_for(ours, err);
	return ready == 0 ? why_not(plan->log, from, err) : ready < 0 ? ready : 0;
}

static int start(struct client *client, const char *state, const char *name, struct err *err)
{
	static char program[] = "reckond", private[] = "--private", option[] = "--state";
	/* 8 h: a session should survive a person's long break. */
	static char idle[] = "--idle-timeout=28800";
	char log_name[RUNTIME_NAME_SIZE + 8];
	cleanup_fd int log = -1;
	struct plan plan = { .log = -1 };

	if (find_program(plan.path, sizeof(plan.path), err) < 0)
		return (int)err->code;
	(void)snprintf(log_name, sizeof(log_name), "%s.log", name);
	log = openat(client->runtime_fd, log_name,
		     O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (log < 0)
		return err_sys(err, "open %s", log_name);
	plan.log = log;
	(void)snprintf(plan.state, sizeof(plan.state), "%s", state);
	char *argv[] = { program, private, idle, option, plan.state, NULL };

	memcpy(plan.argv, argv, sizeof(argv));
	plan_environment(&plan);
	return spawn(&plan, err);
}

static int take_lock(int dir_fd, const char *name, int *ret_fd, struct err *err)
{
	char lock_name[RUNTIME_NAME_SIZE + 8];
	cleanup_fd int fd = -1;
	int n;

	(void)snprintf(lock_name, sizeof(lock_name), "%s.start", name);
	fd = openat(dir_fd, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, "open %s", lock_name);
	do
		n = flock(fd, LOCK_EX);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_sys(err, "lock %s", lock_name);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Whether a daemon ever ran for this state: its successor can report on the old sessions. */
static bool has_history(const char *state)
{
	char path[PATH_MAX + 32];

	(void)snprintf(path, sizeof(path), "%s/private/reckond.db", state);
	return access(path, F_OK) == 0;
}

/* Whether a daemon runs or is starting: between two daemons the lock is free only for an
 * instant. */
static bool is_starting(const char *state)
{
	char path[PATH_MAX + 32];
	cleanup_fd int fd = -1;

	(void)snprintf(path, sizeof(path), "%s/private/reckond.lock", state);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

static int place(struct client *client, char state[PATH_MAX], char name[RUNTIME_NAME_SIZE],
		 struct err *err)
{
	if (runtime_state_dir(NULL, state, PATH_MAX, err) < 0 ||
	    (client->runtime_fd < 0 && runtime_dir_open(&client->runtime_fd, err) < 0))
		return (int)err->code;
	runtime_daemon_name(state, name);
	return 0;
}

/* Tries the socket of this user's environment, then the address that the daemon noted. */
static int look(struct client *client, const char *state, const char *name, struct err *err)
{
	const int found = daemon_connect(&client->url, NULL, err);

	return found == 0 && daemon_noted(client, state, name) ? 1 : found;
}

/*
 * Starts a daemon and connects to it. A client with another XDG_RUNTIME_DIR uses another lock: if
 * its daemon was faster, connects to that one.
 */
static int start_and_find(struct client *client, const char *state, const char *name,
			  struct err *err)
{
	const struct timespec pause = { .tv_nsec = OTHER_MS * 1000000L };
	int found, code = start(client, state, name, err);

	for (unsigned tries = 0; code < 0 && tries < OTHER_TRIES && is_starting(state); tries++) {
		if (daemon_noted(client, state, name))
			return 0;
		(void)nanosleep(&pause, NULL);
	}
	if (code < 0)
		return code;
	found = look(client, state, name, err);
	return found == 0 ? err_set(err, ERR_UNAVAILABLE, "your private daemon ended at once")
			  : found < 0 ? found : 0;
}

int daemon_find(struct client *client, enum daemon_start may_start, struct err *err)
{
	char state[PATH_MAX], name[RUNTIME_NAME_SIZE];
	cleanup_fd int lock = -1;
	int found;

	if (place(client, state, name, err) < 0)
		return (int)err->code;
	(void)snprintf(client->url.base, sizeof(client->url.base), "http://localhost");
	(void)snprintf(client->url.socket, sizeof(client->url.socket), "/proc/self/fd/%d/%s.sock",
		       client->runtime_fd, name);
	client->url.is_loopback = true;
	found = look(client, state, name, err);
	if (found != 0)
		return found < 0 ? found : 0;
	if (may_start == DAEMON_START_NEVER)
		return err_set(err, ERR_NOT_FOUND, "your private daemon does not run");
	if (may_start == DAEMON_START_AGAIN && !has_history(state)) {
		(void)err_set(err, ERR_NOT_FOUND,
			      "your private daemon never ran, so it has nothing");
		return err_remedy(err, "reckon session create, or reckon run -s NAME, starts it");
	}
	if (take_lock(client->runtime_fd, name, &lock, err) < 0)
		return (int)err->code;
	/* Another client may have started it while this one waited for the lock. */
	found = look(client, state, name, err);
	if (found != 0)
		return found < 0 ? found : 0;
	return start_and_find(client, state, name, err);
}

/* ---- a daemon of another version ------------------------------------------------------------ */

/* Whether the running program differs from the one that this client would start. */
static bool is_outdated(const struct client *client, const char *name)
{
	char path[PATH_MAX], ours[RUNTIME_PROGRAM_SIZE], theirs[RUNTIME_PROGRAM_SIZE] = "";
	char file[RUNTIME_NAME_SIZE + 16];
	cleanup_fd int fd = -1;
	struct err ignored;

	if (find_program(path, sizeof(path), &ignored) < 0 ||
	    runtime_program(path, ours, &ignored) < 0)
		return false;
	(void)snprintf(file, sizeof(file), "%s.program", name);
	fd = openat(client->runtime_fd, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	/* An older daemon did not write this file: then `theirs` stays "". */
	if (fd >= 0 && read(fd, theirs, sizeof(theirs) - 1) < 0)
		return false;
	return strcmp(ours, theirs) != 0;
}

/* Counts sessions of this page that would lose variables or a running cell. */
static size_t count_kernels(const struct json_value *sessions)
{
	size_t found = 0;

	for (size_t i = 0; i < json_read_count(sessions); i++) {
		const struct json_value *session = json_read_at(sessions, i);
		const char *status = json_read_text(json_read_member(session, "status"), NULL);
		const char *kernel = json_read_text(json_read_member(session, "kernel"), NULL);
		int64_t pending = 0;

		(void)json_read_int(json_read_member(session, "pending"), &pending);
		found += status != NULL && strcmp(status, "live") == 0 &&
			 (pending > 0 || kernel == NULL || strcmp(kernel, "lost") != 0);
	}
	return found;
}

int daemon_kernels(struct client *client, size_t *ret, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);
	char next[ID_SIZE] = "";
	const char *text;

	*ret = 0;
	do {
		struct json_value *page;

		buf_clear(&path);
		if (buf_addf(&path, err, "sessions?limit=%d%s%s", PAGE,
			     next[0] != '\0' ? "&before=" : "", next) < 0 ||
		    client_call(client, "GET", buf_text(&path), NULL, &page, err) < 0)
			return (int)err->code;
		*ret += count_kernels(json_read_member(page, "sessions"));
		text = json_read_text(json_read_member(page, "next"), NULL);
		(void)snprintf(next, sizeof(next), "%s", text != NULL ? text : "");
		json_read_free(page);
	} while (next[0] != '\0');
	return 0;
}

int daemon_end(const struct client *client, struct err *err)
{
	cleanup_fd int pidfd = -1;
	struct pollfd ended = { .events = POLLIN };
	struct ucred peer = { 0 };
	int polled;

	if (daemon_connect(&client->url, &peer, err) < 0)
		return (int)err->code;
	pidfd = peer.pid > 0 ? (int)syscall(SYS_pidfd_open, peer.pid, 0) : -1;
	if (pidfd < 0 || syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0) < 0)
		return err_sys(err, "end your private daemon");
	ended.fd = pidfd;
	do
		polled = poll(&ended, 1, STOP_MS);
	while (polled < 0 && errno == EINTR);
	return polled > 0 ? 0 : err_set(err, ERR_TIMEOUT, "your private daemon does not end");
}

static void tell(const struct client *client, const char *text, const char *remedy)
{
	if (client->on_note != NULL)
		client->on_note(text, remedy, client->on_note_arg);
}

int daemon_renew(struct client *client, struct err *err)
{
	char state[PATH_MAX], name[RUNTIME_NAME_SIZE], text[160];
	cleanup_fd int lock = -1;
	size_t kernels;

	if (place(client, state, name, err) < 0)
		return (int)err->code;
	if (!is_outdated(client, name))
		return 0;
	if (take_lock(client->runtime_fd, name, &lock, err) < 0)
		return (int)err->code;
	/* Another client may have replaced the daemon while this one waited for the lock. */
	if (!is_outdated(client, name))
		return 0;
	if (daemon_kernels(client, &kernels, err) < 0)
		return (int)err->code;
	if (kernels > 0) {
		(void)snprintf(text, sizeof(text),
			       "your private daemon is of another version than this command, and "
			       "stays: %zu session%s would lose variables", kernels,
			       kernels == 1 ? "" : "s");
		tell(client, text,
		     "end them (reckon session ls); then the next command starts a new one");
		return 0;
	}
	if (daemon_end(client, err) < 0 || start_and_find(client, state, name, err) < 0)
		return (int)err->code;
	tell(client, "your private daemon was of another version, and was started anew", "");
	return 0;
}

/* ---- information and shutdown --------------------------------------------------------------- */

int client_private(struct client *client, struct client_private *ret, struct err *err)
{
	struct ucred peer = { 0 };
	char dir[32], *at = ret->socket;
	ssize_t len;

	memset(ret, 0, sizeof(*ret));
	if (!client->is_private)
		return err_set(err, ERR_INVALID, "%s is not your private daemon", client->name);
	if (daemon_connect(&client->url, &peer, err) < 0 ||
	    daemon_kernels(client, &ret->kernels, err) < 0)
		return (int)err->code;
	ret->pid = peer.pid;
	(void)snprintf(dir, sizeof(dir), "/proc/self/fd/%d", client->runtime_fd);
	len = readlink(dir, at, sizeof(ret->socket) - RUNTIME_NAME_SIZE - 8);
	(void)snprintf(at + (len > 0 ? len : 0), RUNTIME_NAME_SIZE + 8, "%s",
		       strrchr(client->url.socket, '/'));
	return 0;
}

int client_private_end(struct client *client, struct err *err)
{
	if (!client->is_private)
		return err_set(err, ERR_INVALID, "%s is not your private daemon", client->name);
	return daemon_end(client, err);
}
