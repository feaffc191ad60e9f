/*
 * main.c - reckond: sessions that outlive a command, for whoever has a key.
 *
 * Runs in:  reckond.
 * Reads:    its options; nothing from the network, which is the front's alone.
 * Never:    accepts a connection. It holds the listening socket only to hand it to the next front.
 *
 *   clients ══HTTP══▶ reckon-front ══wire/front.h══▶ reckond ══libreckon══▶ warden, kernels
 *            (no files, no exec, own uid)            (SQLite, threads that wait for cells)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/runtime.h"
#include "host/host.h"

#define TICK_MS 200u
#define BACKLOG 1024
#define DESCRIPTORS 65536u

static const struct option options[] = {
	{ "listen", required_argument, NULL, 'l' },
	{ "state", required_argument, NULL, 's' },
	{ "public", no_argument, NULL, 'p' },
	{ "private", no_argument, NULL, 'P' },
	{ "idle-exit", required_argument, NULL, 'e' },
	{ "workers", required_argument, NULL, 'w' },
	{ "max-sessions", required_argument, NULL, 'm' },
	{ "max-connections", required_argument, NULL, 'c' },
	{ "idle-timeout", required_argument, NULL, 'i' },
	{ "header-timeout", required_argument, NULL, 'H' },
	{ "body-timeout", required_argument, NULL, 'B' },
	{ NULL, 0, NULL, 0 },
};

static int take_number(const char *name, const char *text, unsigned long min, unsigned long max,
		       unsigned long *ret, struct err *err)
{
	char *end;

	errno = 0;
	*ret = strtoul(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || *ret < min || *ret > max)
		return err_set(err, ERR_INVALID, "--%s takes a number from %lu to %lu", name, min,
			       max);
	return 0;
}

static int take_option(struct config *config, int opt, const char *name, struct err *err)
{
	unsigned long n = 0;

	switch (opt) {
	case 'l':
		if (snprintf(config->address, sizeof(config->address), "%s", optarg) >=
		    (int)sizeof(config->address))
			return err_set(err, ERR_INVALID, "--listen: the address is too long");
		return 0;
	case 's':
		config->state_dir = optarg;
		return 0;
	case 'p':
		config->public_ok = true;
		return 0;
	case 'P':
		config->is_private = true;
		return 0;
	case 'e':
		if (take_number(name, optarg, 1, 30ul * 86400, &n, err) == 0)
			config->idle_exit_ms = n * 1000;
		return (int)err->code;
	case 'w':
		if (take_number(name, optarg, 1, 1024, &n, err) == 0)
			config->workers = (unsigned)n;
		return (int)err->code;
	case 'm':
		if (take_number(name, optarg, 1, 240, &n, err) == 0)
			config->sessions_max = (unsigned)n;
		return (int)err->code;
	case 'c':
		if (take_number(name, optarg, 1, 60000, &n, err) == 0)
			config->connections_max = (unsigned)n;
		return (int)err->code;
	case 'i':
		if (take_number(name, optarg, 1, 30ul * 86400, &n, err) == 0)
			config->idle_ms = n * 1000;
		return (int)err->code;
	case 'H':
		if (take_number(name, optarg, 1, 3600, &n, err) == 0)
			config->header_timeout_ms = n * 1000;
		return (int)err->code;
	case 'B':
		if (take_number(name, optarg, 1, 3600, &n, err) == 0)
			config->body_timeout_ms = n * 1000;
		return (int)err->code;
	default:
		return err_set(err, ERR_INVALID, "unknown option; see reckon serve --help");
	}
}

static int parse(struct config *config, int argc, char **argv, struct err *err)
{
	int opt, index = 0;

	*config = (struct config){ .address = "127.0.0.1:7263",
				   .workers = 64,
				   .sessions_max = 200,
				   .connections_max = 10000,
				   .idle_exit_ms = 900u * 1000u,
				   .header_timeout_ms = 30u * 1000u,
				   .body_timeout_ms = 60u * 1000u };
	err_clear(err);
	opterr = 0;
	while ((opt = getopt_long(argc, argv, "", options, &index)) != -1)
		if (take_option(config, opt, options[index].name, err) < 0)
			return (int)err->code;
	if (optind < argc)
		return err_set(err, ERR_INVALID, "unexpected argument '%.100s'", argv[optind]);
	/* A person's session outlasts a lunch. */
	if (config->idle_ms == 0)
		config->idle_ms = (config->is_private ? 8u * 3600u : 1800u) * 1000u;
	return 0;
}

/* ---- listening ------------------------------------------------------------------------------ */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* "127.0.0.1:7263" or "[::1]:7263": addresses only, nothing is asked of a resolver. */
static int parse_address(const char *text, union address *ret, socklen_t *ret_len, struct err *err)
{
	const char *colon = strrchr(text, ':');
	char host[64];
	unsigned long port;
	size_t len = colon != NULL ? (size_t)(colon - text) : 0;

	memset(ret, 0, sizeof(*ret));
	if (colon == NULL || len == 0 || len >= sizeof(host)) {
		(void)err_set(err, ERR_INVALID, "--listen takes ADDRESS:PORT");
		return err_remedy(err, "for example 127.0.0.1:7263 or [::1]:7263");
	}
	if (take_number("listen: the port", colon + 1, 0, 65535, &port, err) < 0)
		return (int)err->code;
	memcpy(host, text, len);
	host[len] = '\0';
	if (host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		ret->v6.sin6_family = AF_INET6;
		ret->v6.sin6_port = htons((uint16_t)port);
		*ret_len = sizeof(ret->v6);
		if (inet_pton(AF_INET6, host + 1, &ret->v6.sin6_addr) == 1)
			return 0;
	} else {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = htons((uint16_t)port);
		*ret_len = sizeof(ret->v4);
		if (inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1)
			return 0;
	}
	(void)err_set(err, ERR_INVALID, "--listen: %.60s is no address", host);
	return err_remedy(err, "names are not looked up; use 127.0.0.1 or [::1]");
}

static bool is_loopback(const union address *address)
{
	if (address->any.sa_family == AF_INET)
		return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

/* Port 0 is whatever is free: what it came to stands in the line that says we are ready. */
static void name_socket(struct host *host)
{
	union address address;
	socklen_t len = sizeof(address);
	char text[64] = "";

	(void)snprintf(host->listening, sizeof(host->listening), "http://%s", host->config.address);
	if (getsockname(host->listen_fd, &address.any, &len) < 0)
		return;
	if (address.any.sa_family == AF_INET &&
	    inet_ntop(AF_INET, &address.v4.sin_addr, text, sizeof(text)) != NULL)
		(void)snprintf(host->listening, sizeof(host->listening), "http://%s:%u", text,
			       ntohs(address.v4.sin_port));
	else if (inet_ntop(AF_INET6, &address.v6.sin6_addr, text, sizeof(text)) != NULL)
		(void)snprintf(host->listening, sizeof(host->listening), "http://[%s]:%u", text,
			       ntohs(address.v6.sin6_port));
}

static int listen_on(struct host *host, struct err *err)
{
	const int one = 1;
	union address address;
	socklen_t len = 0;

	if (parse_address(host->config.address, &address, &len, err) < 0)
		return (int)err->code;
	if (!is_loopback(&address) && !host->config.public_ok) {
		(void)err_set(err, ERR_DENIED, "%s can be reached from other machines, and this is "
			      "HTTP without TLS", host->config.address);
		return err_remedy(err, "put a proxy with TLS in front of 127.0.0.1, or say "
				       "--public if the network is trusted");
	}
	host->listen_fd = socket(address.any.sa_family,
				 SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (host->listen_fd < 0)
		return err_sys(err, "socket");
	(void)setsockopt(host->listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(host->listen_fd, &address.any, len) < 0 || listen(host->listen_fd, BACKLOG) < 0) {
		(void)err_sys(err, "listen on %s", host->config.address);
		return err_remedy(err, "stop what listens there, or choose another --listen");
	}
	name_socket(host);
	return 0;
}

/* ---- state ---------------------------------------------------------------------------------- */

static int open_state(struct host *host, struct err *err)
{
	char dir[4096];
	cleanup_fd int lock = -1;
	reckon_error error;
	const reckon_engine_options engine = { .size = sizeof(engine),
					       .state_dir = host->config.state_dir };

	/* libreckon makes the directory, and says what is wrong with it. */
	if (reckon_engine_open(&engine, &host->engine, &error) < 0) {
		(void)err_set(err, (enum err_code)error.code, "%s", error.message);
		return err_remedy(err, "%s", error.remedy);
	}
	if (runtime_state_dir(host->config.state_dir, dir, sizeof(dir), err) < 0)
		return (int)err->code;
	host->state_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (host->state_fd < 0)
		return err_sys(err, "open %.200s", dir);
	if (host->config.is_private && private_state(host, dir, sizeof(dir), err) < 0)
		return (int)err->code;
	lock = openat(host->state_fd, "reckond.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		      0600);
	if (lock < 0)
		return err_sys(err, "open %.200s/reckond.lock", dir);
	if (flock(lock, LOCK_EX | LOCK_NB) < 0) {
		(void)err_set(err, ERR_DENIED, "another reckond uses %.200s", dir);
		return err_remedy(err, "stop it, or choose another --state");
	}
	(void)TAKE_FD(lock); /* held until the process ends */
	return db_open(host->state_fd, dir, &host->db, err);
}

static int recover(struct host *host, struct err *err)
{
	int lost = 0;

	if (db_recover(host->db, "the daemon ended without a word (a crash, or it was killed)",
		       &lost, err) < 0)
		return (int)err->code;
	if (lost > 0)
		log_line(LOG_WARN, "sessions of an earlier run are lost", "count=%d", lost);
	return 0;
}

/* ---- the loop ------------------------------------------------------------------------------- */

static void on_wake(unsigned ready, void *arg)
{
	struct host *host = arg;
	struct pool_item *item;

	(void)ready;
	pool_clear(host->pool);
	/* Before the jobs: the events of one that is done are in its ring already. */
	execution_publish(host);
	while ((item = pool_take(host->pool)) != NULL) {
		struct job *job = (struct job *)(void *)item;

		session_job_done(job->session, job);
	}
}

static void on_tick(void *arg)
{
	struct host *host = arg;

	session_tick(host);
	private_tick(host);
	loop_timer_set(host->tick, TICK_MS);
}

static void on_stop(void *arg)
{
	struct host *host = arg;
	struct session *next;

	if (host->is_stopping) {
		loop_stop(host->loop);
		return;
	}
	private_leave(host);
	host->is_stopping = true;
	for (struct session *at = host->sessions; at != NULL; at = next) {
		next = at->next;
		session_end(at, FRONT_ERR_SESSION_LOST, "the daemon was stopped", 0);
	}
	if (host->sessions == NULL)
		loop_stop(host->loop);
}

static int set_up(struct host *host, struct err *err)
{
	int fd;

	if (loop_new(&host->loop, err) < 0 ||
	    pool_new(host->config.workers, work_run, &host->pool, err) < 0)
		return (int)err->code;
	fd = pool_fd(host->pool);
	if (loop_io_new(host->loop, fd, on_wake, host, &host->wake_io, err) < 0 ||
	    loop_timer_new(host->loop, on_tick, host, &host->tick, err) < 0 ||
	    loop_signal(host->loop, SIGTERM, on_stop, host, err) < 0 ||
	    loop_signal(host->loop, SIGINT, on_stop, host, err) < 0)
		return (int)err->code;
	loop_io_want(host->wake_io, LOOP_READ);
	loop_timer_set(host->tick, TICK_MS);
	return peer_start(host, err);
}

static void show_key(const struct host *host, const char *key)
{
	(void)dprintf(STDOUT_FILENO,
		      "reckon: your API key, shown this once: %s\n"
		      "reckon: use it so: curl -H 'Authorization: Bearer %s' -d '{}' "
		      "%s/reckon/v1/sessions\n",
		      key, key, host->listening);
}

static int start(struct host *host, struct err *err)
{
	static char self[512];
	char key[KEY_TEXT_SIZE];
	struct rlimit files;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		return err_sys(err, "/proc/self/exe");
	self[len] = '\0';
	*strrchr(self, '/') = '\0';
	(void)snprintf(host->libexec, sizeof(host->libexec), "%s", self);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max < DESCRIPTORS ? files.rlim_max : DESCRIPTORS;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	(void)signal(SIGPIPE, SIG_IGN);
	if (open_state(host, err) < 0 ||
	    (host->config.is_private ? private_listen(host, err) : listen_on(host, err)) < 0 ||
	    recover(host, err) < 0 || key_setup(host, key, err) < 0)
		return (int)err->code;
	if (key[0] != '\0' && !host->config.is_private)
		show_key(host, key);
	explicit_bzero(key, sizeof(key));
	return set_up(host, err);
}

static void finish(struct host *host)
{
	peer_stop(host);
	/* Only after a second signal or a broken front are there sessions left: their boxes end with
	 * the connections to the warden, which the process takes along. */
	if (host->sessions == NULL)
		pool_free(host->pool);
	db_close(host->db);
	reckon_engine_close(host->engine);
}

int main(int argc, char **argv)
{
	struct host *host = mem_new0(1, sizeof(*host));
	struct err err;

	log_init("reckond");
	host->listen_fd = host->state_fd = -1;
	for (size_t i = 0; i < HOST_UPLOADS_MAX; i++)
		host->uploads[i].fd = -1;
	if (parse(&host->config, argc, argv, &err) < 0 || start(host, &err) < 0 ||
	    loop_run(host->loop, &err) < 0) {
		(void)dprintf(STDERR_FILENO, "reckon: serve: %s%s%s%s\n", err.text,
			      err.remedy[0] != '\0' ? " (" : "", err.remedy,
			      err.remedy[0] != '\0' ? ")" : "");
		peer_stop(host);
		return err.code == ERR_INVALID || err.code == ERR_DENIED ? 2 : 125;
	}
	finish(host);
	return host->exit_status;
}
