/*
 * operate.c - reload (SIGHUP), drain, graceful stop, upgrade to a new binary (SIGUSR2).
 *
 * Runs in:  reckond's loop; operate_signal() in a second reckond that signals the first.
 * Reads:    signals, the configuration, STATE/reckond.lock.
 * Never:    replaces a working configuration or binary by one that does not work.
 *
 * An upgrade stops sessions as a stop does, and the new binary restores them. The listening socket
 * stays open across execve(), as descriptor 3 with LISTEN_FDS, as from a service manager. New
 * clients wait in its queue for the new front; none is refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/child.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/calls/call.h"
#include "host/host.h"
#include "host/private.h"

#define LISTEN_FD_FIRST 3
#define UNREAD_NS (2ull * 1000000000u)

/* ---- SIGHUP --------------------------------------------------------------------------------- */

void operate_apply(struct host *host)
{
	log_set((enum log_level)host->config.log_level, (enum log_format)host->config.log_format,
		(unsigned)host->config.log_rate);
	front_settings(host);
	tenant_apply(host);
}

static void refuse_reload(struct host *host, const struct ini_problems *problems,
			  const struct err *err)
{
	metrics_add(&host->seen.metrics, METRICS_RELOADS, 1, 1);
	audit_note(host, "config.reload", host->config.config_file, "failed", "%.300s", err->text);
	for (unsigned i = 0; i < problems->count && i < INI_PROBLEMS_MAX; i++)
		log_line(LOG_ERROR, "the configuration is wrong", "line=%u why=\"%s\"",
			 problems->list[i].line, problems->list[i].text);
	log_line(LOG_ERROR, "the configuration was not reloaded: the old one holds", "why=\"%s\"",
		 err->text);
}

void operate_reload(void *arg)
{
	cleanup_buf struct buf fixed = BUF_INIT(4096);
	struct host *host = arg;
	struct config *fresh = mem_new0(1, sizeof(*fresh));
	struct ini_problems problems;
	char state[64];
	struct err err;
	unsigned changed;

	if (lifecycle_is_ending(&host->life)) {
		free(fresh);
		return;
	}
	(void)snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		       clock_mono_ns() / 1000);
	notify_manager(state);
	if (config_load(host->operations.argc, host->operations.argv, fresh, &problems, &err) < 0) {
		refuse_reload(host, &problems, &err);
	} else {
		changed = config_reload(&host->config, fresh, &fixed);
		operate_apply(host);
		if (run_models_load(host, &err) < 0)
			log_line(LOG_ERROR, "the models were not reloaded: the old ones hold",
				 "why=\"%s\"", err.text);
		metrics_add(&host->seen.metrics, METRICS_RELOADS, 0, 1);
		audit_note(host, "config.reload", host->config.config_file, "ok", "changed=%u",
			   changed);
		log_line(LOG_INFO, "the configuration was reloaded", "changed=%u", changed);
		if (fixed.len > 0)
			log_line(LOG_WARN, "some options need a restart", "options=\"%s\"",
				 buf_text(&fixed));
	}
	notify_manager("READY=1");
	free(fresh);
}

/* ---- drain ---------------------------------------------------------------------------------- */

static struct api_draining set_draining(struct host *host, bool on)
{
	/* `drain --wait` repeats the call, so reports only changes. */
	if (on != lifecycle_is_drained(&host->life) &&
	    lifecycle_move(&host->life, on ? LIFECYCLE_DRAINING : LIFECYCLE_SERVING)) {
		log_line(LOG_WARN, on ? "draining" : "accepting new sessions", "sessions=%u",
			 host->sessions.count);
		audit_note(host, on ? "daemon.drain" : "daemon.undrain", "", "ok", "sessions=%u",
			   host->sessions.count);
	}
	return (struct api_draining){ on, host->sessions.count };
}

void handle_drain(struct host *host, const struct request *req, const struct api_drain_in *in)
{
	const struct api_draining now = set_draining(host, true);

	(void)in;
	reply_drain(host, req->id, &now);
}

void handle_undrain(struct host *host, const struct request *req, const struct api_undrain_in *in)
{
	const struct api_draining now = set_draining(host, false);

	(void)in;
	reply_undrain(host, req->id, &now);
}

/* ---- stop ----------------------------------------------------------------------------------- */

static bool any_runs(const struct host *host)
{
	for (const struct session *at = host->sessions.first; at != NULL; at = at->next)
		if ((at->queue.running != NULL && at->queue.running->kind == JOB_EXECUTE) ||
		    context_is_running(at))
			return true;
	return run_count(host, NULL) > 0;
}

/* Whether a client that follows a stream has not got its end yet. */
static bool any_is_unread(const struct host *host)
{
	for (const struct session *at = host->sessions.first; at != NULL; at = at->next)
		for (const struct execution *each = at->executions.first; each != NULL;
		     each = each->next)
			if (event_buffer_is_unread(each->events))
				return true;
	return run_is_unread(host);
}

/*
 * Whether nothing needs the grace period any more. A reader that disconnected may never come back,
 * so waits for readers only for UNREAD_NS.
 */
static bool grace_is_over(struct host *host)
{
	const uint64_t now = clock_mono_ns();

	if (now >= host->operations.grace_end_ns)
		return true;
	if (any_runs(host)) {
		host->operations.unread_until_ns = 0;
		return false;
	}
	if (host->operations.unread_until_ns == 0)
		host->operations.unread_until_ns = now + UNREAD_NS;
	return now >= host->operations.unread_until_ns || !any_is_unread(host);
}

/* Fails queued executions, except cells of a run, which is still running. */
static void fail_waiting(struct session *session)
{
	struct execution *next;

	for (struct execution *at = session->executions.first; at != NULL; at = next) {
		struct job *job =
			at->state == EXECUTION_QUEUED ? session_unqueue(session, at) : NULL;

		next = at->next;
		if (job == NULL)
			continue;
		if (job->run == NULL)
			job_fail(job, API_ERR_UNAVAILABLE, "the daemon is stopping");
		else if (job->context != NULL)
			context_enqueue(session, job->context, job);
		else
			session_enqueue(session, job);
	}
	process_fail_waiting(session, API_ERR_UNAVAILABLE, "the daemon is stopping");
}

static void end_sessions(struct host *host)
{
	struct session *next;

	run_stop_all(host, "the daemon is stopping");
	for (struct session *at = host->sessions.first; at != NULL; at = next) {
		next = at->next;
		session_leave(at);
	}
	if (host->sessions.first == NULL)
		loop_stop(host->loop);
}

static void end_grace(struct host *host)
{
	if (lifecycle_move(&host->life, lifecycle_is_upgrade(&host->life) ? LIFECYCLE_UPGRADING
									  : LIFECYCLE_STOPPING))
		end_sessions(host);
}

/* Begins the end, with a grace period if something runs. */
static void begin_end(struct host *host, bool is_upgrade)
{
	const bool waits = host->config.stop_grace_ms > 0 && any_runs(host);
	const enum lifecycle_state grace =
		is_upgrade ? LIFECYCLE_UPGRADE_GRACE : LIFECYCLE_STOP_GRACE;
	const enum lifecycle_state end = is_upgrade ? LIFECYCLE_UPGRADING : LIFECYCLE_STOPPING;

	if (!lifecycle_move(&host->life, waits ? grace : end))
		return;
	private_leave(host);
	notify_manager(is_upgrade ? "STATUS=upgrading" : "STOPPING=1");
	if (!waits) {
		end_sessions(host);
		return;
	}
	host->operations.grace_end_ns = clock_mono_ns() + host->config.stop_grace_ms * 1000000u;
	for (struct session *at = host->sessions.first; at != NULL; at = at->next)
		fail_waiting(at);
}

void operate_stop(void *arg)
{
	struct host *host = arg;

	/* A second signal ends the grace period; a third one also ends the wait for sessions. */
	if (lifecycle_is_in_grace(&host->life))
		end_grace(host);
	else if (lifecycle_is_ending(&host->life))
		loop_stop(host->loop);
	else
		begin_end(host, false);
}

void operate_tick(struct host *host)
{
	if (lifecycle_is_in_grace(&host->life) && grace_is_over(host))
		end_grace(host);
}

/* ---- SIGUSR2 -------------------------------------------------------------------------------- */

static void binary_path(const struct host *host, char *ret, size_t size)
{
	/* Not /proc/self/exe, which stays the old file. */
	(void)snprintf(ret, size, "%s/reckond", host->place.libexec);
}

/* Whether the new binary starts and accepts our options. */
static bool is_good_binary(const struct host *host)
{
	char path[600], check[] = "--check-config";
	char **argv = mem_new0((size_t)host->operations.argc + 2, sizeof(*argv));
	pid_t pid;
	int status = -1;

	binary_path(host, path, sizeof(path));
	for (int i = 0; i < host->operations.argc; i++)
		argv[i] = host->operations.argv[i];
	argv[host->operations.argc] = check;
	pid = fork();
	if (pid == 0) {
		/*
		 * Other threads may hold locks, so only async-signal-safe functions may be called.
		 */
		const int null_fd = open("/dev/null", O_RDWR);

		child_reset_signals(0);
		if (null_fd >= 0 && dup2(null_fd, 0) >= 0 && dup2(null_fd, 1) >= 0)
			(void)execv(path, argv);
		_exit(127);
	}
	free(argv);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void operate_upgrade(void *arg)
{
	struct host *host = arg;

	if (lifecycle_is_ending(&host->life))
		return;
	if (host->config.is_private) {
		log_line(LOG_WARN, "a private daemon ends by itself: it is not upgraded", NULL);
		return;
	}
	if (!is_good_binary(host)) {
		log_line(LOG_ERROR, "no upgrade: the new binary does not start",
			 "path=\"%s/reckond\"", host->place.libexec);
		return;
	}
	log_line(LOG_WARN, "the daemon becomes its new binary", "sessions=%u",
		 host->sessions.count);
	begin_end(host, true);
}

int operate_become(struct host *host)
{
	char path[600], pid[24];
	sigset_t none;

	binary_path(host, path, sizeof(path));
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	/* dup2() with two equal descriptors would leave close-on-exec set. */
	if ((host->door.fd == LISTEN_FD_FIRST ? fcntl(LISTEN_FD_FIRST, F_SETFD, 0)
						: dup2(host->door.fd, LISTEN_FD_FIRST)) < 0 ||
	    setenv("LISTEN_FDS", "1", 1) < 0 || setenv("LISTEN_PID", pid, 1) < 0)
		return 125;
	(void)execv(path, host->operations.argv);
	log_line(LOG_ERROR, "the new binary cannot be started", "path=\"%s\"", path);
	return 125;
}

/* ---- from another process ------------------------------------------------------------------- */

int operate_signal(const struct config *config, int sig, struct err *err)
{
	cleanup_fd int dir = open(config->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int lock = -1;
	char text[24] = "";
	long pid;

	if (dir < 0)
		return err_sys(err, "open %.200s", config->state_dir);
	lock = openat(dir, "reckond.lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return err_set(err, ERR_NOT_FOUND, "no daemon uses %.200s", config->state_dir);
	if (read(lock, text, sizeof(text) - 1) <= 0 || (pid = strtol(text, NULL, 10)) <= 1)
		return err_set(err, ERR_NOT_FOUND, "the daemon of %.200s has not said its pid",
			       config->state_dir);
	if (kill((pid_t)pid, sig) < 0)
		return err_sys(err, "signal the daemon (%ld)", pid);
	return 0;
}
