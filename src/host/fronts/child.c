/*
 * child.c - starts and reaps a dialect's process, which shares a page of counters with reckond.
 *
 * Runs in:  reckond's loop.
 * Reads:    numbers in the page, which the front writes: only as counters.
 * Never:    passes a process more than its socket, its page, its own environment variables and,
 *           to the native one, the listener.
 */
#include "host/fronts/child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/child.h"
#include "base/cleanup.h"
#include "base/file/fd.h"
#include "host/host.h"

#define ENV_MAX 16

/* ---- counters ------------------------------------------------------------------------------- */

static void add_counts(struct front_stats *to, const struct front_stats *from)
{
	page_add(to->accepted, page_get(from->accepted));
	page_add(to->turned_away, page_get(from->turned_away));
	page_add(to->received, page_get(from->received));
	page_add(to->sent, page_get(from->sent));
	page_add(to->latency_us, page_get(from->latency_us));
	for (size_t i = 0; i < ARRAY_LEN(to->requests); i++)
		page_add(to->requests[i], page_get(from->requests[i]));
	for (size_t i = 0; i < ARRAY_LEN(to->latency); i++)
		page_add(to->latency[i], page_get(from->latency[i]));
}

void front_child_drop_page(struct front_child *child)
{
	if (child->page == NULL)
		return;
	add_counts(&child->before, child->page);
	(void)munmap(child->page, sizeof(*child->page));
	child->page = NULL;
}

void front_child_counts(const struct front_child *child, struct front_stats *ret)
{
	add_counts(ret, &child->before);
	if (child->page == NULL)
		return;
	add_counts(ret, child->page);
	page_set(ret->connections, page_get(child->page->connections));
}

void front_child_settings(const struct front_child *child, const struct config *config)
{
	struct front_stats *page = child->page;

	if (page == NULL)
		return;
	page_set(page->header_ms, config->header_timeout_ms);
	page_set(page->body_ms, config->body_timeout_ms);
	page_set(page->log_level, config->log_level);
	page_set(page->log_format, config->log_format);
	page_set(page->log_rate, config->log_rate);
}

/* ---- the process ---------------------------------------------------------------------------- */

const char *front_child_program(size_t dialect)
{
	static char name[80];

	(void)snprintf(name, sizeof(name), "reckon-front-%s", dialect_name(dialect));
	return name;
}

/* The daemon's environment variables for this dialect: RECKON_NAME_…, such as RECKON_MCP_… . */
static void environment_of(const char *dialect, char *ret[ENV_MAX + 1])
{
	char prefix[64];
	size_t count = 0;
	const size_t len = (size_t)snprintf(prefix, sizeof(prefix), "reckon_%s_", dialect);

	for (char **at = environ; *at != NULL && count < ENV_MAX; at++)
		if (strncasecmp(*at, prefix, len) == 0)
			ret[count++] = *at;
	ret[count] = NULL;
}

/*
 * Runs between fork and exec of a program with threads, so it calls only async-signal-safe
 * functions. Without a `listener` (-1), /dev/null takes its place.
 */
static void __attribute__((noreturn)) become_front(const char *path, char *const *argv,
						   char *const *environment, int sock,
						   int listener, int page)
{
	const int high_sock = fcntl(sock, F_DUPFD, 10);
	const int high_page = fcntl(page, F_DUPFD, 10);
	const int null_fd = open("/dev/null", O_RDONLY);
	const int high_listener = fcntl(listener >= 0 ? listener : null_fd, F_DUPFD, 10);

	child_reset_signals(0);
	if (high_sock < 0 || high_listener < 0 || high_page < 0 || null_fd < 0 ||
	    dup2(null_fd, 0) < 0 || dup2(STDERR_FILENO, 1) < 0 || dup2(high_sock, FRONT_FD) < 0 ||
	    dup2(high_listener, FRONT_LISTEN_FD) < 0 || dup2(high_page, FRONT_PAGE_FD) < 0 ||
	    close_range(FRONT_PAGE_FD + 1, ~0u, 0) < 0)
		_exit(126);
	(void)execve(path, argv, environment);
	_exit(127);
}

/*
 * Makes a new page for each process. The counts of the old page are added to `before`, then it is
 * unmapped.
 */
static int new_page(struct front_child *child, const struct config *config, int *ret_fd,
		    struct err *err)
{
	cleanup_fd int fd = memfd_create("reckon-page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *page;

	/* Seals the size: a front that shrank the page would crash its reader. */
	if (fd < 0 || ftruncate(fd, sizeof(*child->page)) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return err_sys(err, "make a page for the front");
	page = mmap(NULL, sizeof(*child->page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return err_sys(err, "map a page for the front");
	front_child_drop_page(child);
	child->page = page;
	front_child_settings(child, config);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int front_child_spawn(struct host *host, size_t dialect, struct front_child *child,
		      int *ret_sock, struct err *err)
{
	const struct config *config = &host->config;
	cleanup_fd int ours = -1, theirs = -1, page = -1;
	const int listener = dialect == DIALECT_NATIVE ? host->door.fd : -1;
	char path[600], connections[24], name[80];
	char hosts[sizeof(config->allowed_hosts)];
	char *argv[] = { name, connections, hosts, NULL };
	char *environment[ENV_MAX + 1];
	int pair[2];

	(void)snprintf(name, sizeof(name), "%s", front_child_program(dialect));
	(void)snprintf(path, sizeof(path), "%s/%s", host->place.libexec, name);
	(void)snprintf(connections, sizeof(connections), "%" PRIu64, config->connections_max);
	(void)snprintf(hosts, sizeof(hosts), "%s", config->allowed_hosts);
	if (access(path, X_OK) < 0)
		return err_sys(err, "%.200s", path);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");
	ours = pair[0];
	theirs = pair[1];
	if (fd_set_nonblock(ours, true, err) < 0 || new_page(child, config, &page, err) < 0)
		return (int)err->code;
	environment_of(dialect_name(dialect), environment);
	child->pid = fork();
	if (child->pid < 0)
		return err_sys(err, "fork");
	if (child->pid == 0)
		become_front(path, argv, environment, theirs, listener, page);
	*ret_sock = TAKE_FD(ours);
	return 0;
}

void front_child_end(struct front_child *child, int sig)
{
	if (child->pid <= 0)
		return;
	if (sig != 0)
		(void)kill(child->pid, sig);
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
	child->pid = -1;
}

bool front_child_has_ended(struct front_child *child)
{
	if (child->pid > 0 && waitpid(child->pid, NULL, WNOHANG) != 0)
		child->pid = -1;
	return child->pid <= 0;
}
