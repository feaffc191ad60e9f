/*
 * main.c - reckond: serves sessions over HTTP, which outlive the commands that use them.
 *
 * Runs in:  reckond.
 * Reads:    its options; nothing from the network: only fronts read that.
 * Never:    accepts a connection. It keeps the listening socket only to pass it to the next front.
 *
 *   clients ══HTTP══▶ reckon-front ══wire/front.h══▶ reckond ══libreckon══▶ warden, kernels
 *            (no files, no exec, own uid)            (SQLite, threads that wait for cells)
 */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process/priority.h"
#include "base/process/runtime.h"
#include "host/backup/backup.h"
#include "host/operations/doctor.h"
#include "host/calls/tenants/document.h"
#include "host/calls/tenants/snapshot_held.h"
#include "host/host.h"
#include "host/sessions/restart/adopt.h"
#include "host/jobs.h"
#include "host/about.h"
#include "host/private.h"
#include "host/sessions/prewarmed.h"
#include "host/volumes/volume.h"

/* Hooks are called in this order. */
static const struct module *const modules[] = {
	&audit_module, &fronts_module,	 &executions_module, &processes_module,
	&files_module, &volumes_module,	 &runs_module,	      &sessions_module, &calls_module,
	NULL,
};

#define TICK_MS 200u
#define BUSY_MS 20u
#define DESCRIPTORS 65536u
#define ARENAS 4
#define LARGE_BYTES (256 * 1024)
#define IDLE_NS (5ull * 1000000000u) /* without a job: then freed memory goes to the system */

/* ---- state ---------------------------------------------------------------------------------- */

static int open_state(struct host *host, struct err *err)
{
	char dir[sizeof(host->config.state_dir)];
	cleanup_fd int lock = -1;
	reckon_error error;
	const reckon_engine_options engine = { .size = sizeof(engine),
					       .state_dir = host->config.state_dir };

	(void)snprintf(dir, sizeof(dir), "%s", host->config.state_dir);
	/* libreckon creates the directory, and reports what is wrong with it. */
	if (reckon_engine_open(&engine, &host->engine, &error) < 0) {
		(void)err_set(err, (enum err_code)error.code, "%s", error.message);
		return err_remedy(err, "%s", error.remedy);
	}
	host->place.state_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (host->place.state_fd < 0)
		return err_sys(err, "open %.200s", dir);
	if (host->config.is_private && private_state(host, dir, sizeof(dir), err) < 0)
		return (int)err->code;
	lock = openat(host->place.state_fd, "reckond.lock",
		      O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		      0600);
	if (lock < 0)
		return err_sys(err, "open %.200s/reckond.lock", dir);
	if (flock(lock, LOCK_EX | LOCK_NB) < 0) {
		(void)err_set(err, ERR_DENIED, "another reckond uses %.200s", dir);
		return err_remedy(err, "stop it, or choose another --state");
	}
	host->place.lock_fd = TAKE_FD(lock); /* held until the process ends */
	reserve_setup(host);
	return db_open(host->place.state_fd, dir, &host->db, err);
}

/* For `reckon serve --upgrade` and `reckon doctor`, which also check that the lock is held. */
static int sign_lock(struct host *host, struct err *err)
{
	char text[HOST_ADDRESS_SIZE + 40];
	const int len = snprintf(text, sizeof(text), "%d\n%s\n", (int)getpid(), host->door.name);

	if (ftruncate(host->place.lock_fd, 0) < 0 ||
	    pwrite(host->place.lock_fd, text, (size_t)len,
		   0) < 0)
		return err_sys(err, "write reckond.lock");
	return 0;
}

/* ---- the loop ------------------------------------------------------------------------------- */

static struct pool_item *take_job(struct host *host)
{
	struct pool_item *item = pool_take(host->pools.main);

	return item != NULL ? item : pool_take(host->pools.files);
}

static void on_wake(unsigned ready, void *arg)
{
	struct host *host = arg;
	struct pool_item *item;

	(void)ready;
	pool_clear(host->pools.main);
	pool_clear(host->pools.files);
	/* First, because the events of a job that is done are in its buffer already. */
	execution_publish(host);
	if (host->executions.followers > 0)
		run_publish(host);
	item = host->transactions.postponed != NULL ? host->transactions.postponed : take_job(host);
	host->transactions.postponed = NULL;
	if (item == NULL)
		return;
	if (!transaction_begin(host)) {
		host->transactions.postponed = item;
		loop_timer_set(host->transactions.busy_timer, BUSY_MS);
		return;
	}
	host->operations.trim_ns = clock_mono_ns() + IDLE_NS;
	for (; item != NULL; item = take_job(host)) {
		struct job *job = (struct job *)(void *)item;

		about_begin(host, job);
		if (job->session != NULL)
			session_job_done(job->session, job);
		else
			job_types[job->kind].done(job);
		about_end(host);
	}
	transaction_end(host);
}

static void on_busy(void *arg)
{
	on_wake(0, arg);
}

static void trim_tick(struct host *host)
{
	if (host->operations.trim_ns == 0 || clock_mono_ns() < host->operations.trim_ns)
		return;
	host->operations.trim_ns = 0;
	(void)malloc_trim(0);
}

static void on_tick(void *arg)
{
	struct host *host = arg;

	strict_tick(&host->tenants.strict);
	session_tick(host);
	volumes_tick(host);
	prewarmed_tick(host);
	run_tick(host);
	private_tick(host);
	operate_tick(host);
	observe_tick(host);
	retain_tick(host);
	snapshot_tick(host);
	audit_archive_tick(host);
	audit_tick(host);
	trim_tick(host);
	loop_timer_set(host->tick, TICK_MS);
}

/* Writes the rows of cells that have been running for a while. */
static void on_starts(void *arg)
{
	pending_row_write_all(arg);
}

static int set_up(struct host *host, struct err *err)
{
	int fd, file_fd;

	if (loop_new(&host->loop, err) < 0 ||
	    pool_new((unsigned)host->config.workers, work_run, &host->pools.main, err) < 0 ||
	    pool_new(HOST_FILE_WORKERS, work_run, &host->pools.files, err) < 0)
		return (int)err->code;
	tenant_apply(host);
	fd = pool_fd(host->pools.main);
	file_fd = pool_fd(host->pools.files);
	if (loop_io_new(host->loop, fd, on_wake, host, &host->pools.main_io, err) < 0 ||
	    loop_io_new(host->loop, file_fd, on_wake, host, &host->pools.files_io, err) < 0 ||
	    loop_timer_new(host->loop, on_tick, host, &host->tick, err) < 0 ||
	    loop_timer_new(host->loop, on_busy, host, &host->transactions.busy_timer, err) < 0 ||
	    loop_timer_new(host->loop, on_starts, host, &host->sessions.start_timer, err) < 0 ||
	    loop_timer_new(host->loop, once_end, host, &host->sessions.over_timer, err) < 0 ||
	    prewarmed_begin(host, err) < 0 ||
	    loop_signal(host->loop, SIGTERM, operate_stop, host, err) < 0 ||
	    loop_signal(host->loop, SIGINT, operate_stop, host, err) < 0 ||
	    loop_signal(host->loop, SIGHUP, operate_reload, host, err) < 0 ||
	    loop_signal(host->loop, SIGUSR2, operate_upgrade, host, err) < 0)
		return (int)err->code;
	loop_io_want(host->pools.main_io, LOOP_READ);
	loop_io_want(host->pools.files_io, LOOP_READ);
	loop_timer_set(host->tick, TICK_MS);
	return transaction_setup(host, err) < 0 ? (int)err->code : front_start(host, answer_call, err);
}

static void show_key(const struct host *host, const char *key)
{
	(void)dprintf(STDOUT_FILENO,
		      "reckon: your API key, shown this once: %s\n"
		      "reckon: use it so: curl -H 'Authorization: Bearer %s' -d '{}' "
		      "%s/reckon/v1/sessions\n",
		      key, key, host->door.name);
}

/* Needed before the first entry of the audit, because it seals audit.head. */
static int load_secret(struct host *host, struct err *err)
{
	if (sodium_init() < 0)
		return err_set(err, ERR_UNAVAILABLE, "libsodium does not start");
	if (db_secret(host->db, DB_SECRET_LEASE, host->sessions.lease_secret, err) < 0)
		return (int)err->code;
	return db_secret(host->db, DB_SECRET_KEY, host->tenants.key_secret, err);
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
	(void)snprintf(host->place.libexec, sizeof(host->place.libexec), "%s", self);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max < DESCRIPTORS ? files.rlim_max : DESCRIPTORS;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	(void)signal(SIGPIPE, SIG_IGN);
	/* Dialects get their options through environment variables (fronts/child.c). */
	if (host->config.mcp_approve != 0 && setenv("RECKON_MCP_APPROVE", "1", 1) < 0)
		return err_sys(err, "setenv");
	(void)monotonic_now(&host->monotonic); /* from now on it detects leaps of the clock */
	strict_tick(&host->tenants.strict);
	if (open_state(host, err) < 0 ||
	    (host->config.is_private ? private_listen(host, err) : listen_open(host, err)) < 0 ||
	    sign_lock(host, err) < 0 || load_secret(host, err) < 0 ||
	    tenant_setup(host, err) < 0 || audit_setup(host, err) < 0 ||
	    volumes_load(host, err) < 0 || snapshot_load(host, err) < 0 ||
	    persist_revive(host, err) < 0 ||
	    observe_setup(host, err) < 0 ||
	    run_models_load(host, err) < 0 || key_setup(host, key, err) < 0)
		return (int)err->code;
	if (key[0] != '\0')
		audit_note(host, "key.create", "", "ok", "%s", "the first one");
	if (key[0] != '\0' && !host->config.is_private)
		show_key(host, key);
	explicit_bzero(key, sizeof(key));
	if (set_up(host, err) < 0)
		return (int)err->code;
	adopt_start(host);
	(void)lifecycle_move(&host->life, LIFECYCLE_SERVING);
	return 0;
}

static void finish(struct host *host)
{
	transaction_stop(host);
	front_stop(host);
	pending_row_write_all(host);
	observe_save(host);
	retain_stop(host);
	audit_stop(host);
	/*
	 * Sessions are left only after a second signal or a failed front. Their boxes end when the
	 * process ends, which closes the connections to the warden.
	 */
	if (host->sessions.first == NULL) {
		pool_free(host->pools.main);
		pool_free(host->pools.files);
		prewarmed_end(host);
	}
	run_free_all(host);
	persist_stop(host);
	db_close(host->db);
	reserve_stop(host);
	reckon_engine_close(host->engine);
}

static int complain(const struct err *err)
{
	(void)dprintf(STDERR_FILENO, "reckon: serve: %s%s%s%s\n", err->text,
		      err->remedy[0] != '\0' ? " (" : "", err->remedy,
		      err->remedy[0] != '\0' ? ")" : "");
	return err->code == ERR_INVALID || err->code == ERR_DENIED ? 2 : 125;
}

/* Reports all problems of the file, not only the first. */
static int complain_of_config(const struct ini_problems *problems, const struct err *err)
{
	if (problems->count <= 1)
		return complain(err);
	for (unsigned i = 0; i < problems->count && i < INI_PROBLEMS_MAX; i++)
		(void)dprintf(STDERR_FILENO, "reckon: serve: line %u: %s\n",
			      problems->list[i].line, problems->list[i].text);
	(void)complain(err);
	return 2;
}

/* Prints the table of docs/configuration.md. */
static int describe(void)
{
	cleanup_buf struct buf text = BUF_INIT(1u << 20);
	struct err err;

	if (config_describe(&text, &err) < 0)
		return complain(&err);
	(void)dprintf(STDOUT_FILENO, "%s", buf_text(&text));
	return 0;
}

/*
 * The loop frees what the pool's threads allocate. With the allocator's default, which makes an
 * arena for each thread up to eight per processor, a third of the memory was unused holes; and
 * memory of large blocks (records with pictures) was never returned to the system.
 */
static void use_little_memory(void)
{
	(void)mallopt(M_ARENA_MAX, ARENAS);
	(void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	(void)mallopt(M_TRIM_THRESHOLD, LARGE_BYTES);
}

int main(int argc, char **argv)
{
	struct host *host = mem_new0(1, sizeof(*host));
	struct ini_problems problems;
	struct err err;

	log_init("reckond");
	use_little_memory();
	if (argc == 2 && strcmp(argv[1], "describe") == 0)
		return describe();
	if (argc >= 2 && strcmp(argv[1], "audit") == 0)
		return audit_main(argc - 1, argv + 1);
	if (argc >= 2 && (strcmp(argv[1], "backup") == 0 || strcmp(argv[1], "restore") == 0))
		return backup_main(argc - 1, argv + 1);
	if (argc >= 2 && strcmp(argv[1], "doctor") == 0)
		return doctor_main(argc - 1, argv + 1);
	host->door.fd = host->place.state_fd = host->operations.reserve.fd = -1;
	for (size_t i = 0; i < HOST_UPLOADS_MAX; i++)
		host->files.uploads[i].fd = -1;
	if (config_load(argc, argv, &host->config, &problems, &err) < 0)
		return complain_of_config(&problems, &err);
	if (host->config.check_only) {
		(void)dprintf(STDOUT_FILENO, "reckon: the options are good\n");
		return 0;
	}
	if (host->config.upgrade) {
		if (operate_signal(&host->config, SIGUSR2, &err) < 0)
			return complain(&err);
		(void)dprintf(STDOUT_FILENO, "reckon: the daemon was told\n");
		return 0;
	}
	host->modules = modules;
	host->job_types = job_types;
	host->operations.argc = argc;
	host->operations.argv = argv;
	operate_apply(host);
	priority_raise();
	if (start(host, &err) < 0 || loop_run(host->loop, &err) < 0) {
		front_stop(host);
		return complain(&err);
	}
	finish(host);
	if (lifecycle_is_upgrade(&host->life))
		return operate_become(host);
	return host->life.state == LIFECYCLE_FAILED ? 125 : 0;
}
