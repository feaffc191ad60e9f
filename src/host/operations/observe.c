/*
 * observe.c - metrics of the host: what happened is counted where it happens, what is, when asked.
 *
 * Runs in:  reckond's loop.
 * Reads:    the host's own state, /proc and control groups of its boxes, the state directory.
 * Never:    takes longer for many sessions: a tick looks at a few.
 */
#include "host/operations/observe.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/json_write.h"
#include "host/calls/call.h"
#include "host/host.h"
#include "host/tenants/usage.h"

#define LOOKS_IN_A_TICK 4u
#define LOOK_BUSY_NS (2ull * 1000000000u)
#define LOOK_ASKED_NS 1000000000ull
#define LOOK_IDLE_NS (30ull * 1000000000u)
#define STORE_DIRECTORIES 256u
#define SAVE_NS (10ull * 1000000000u)
#define METRICS_MAX (4u * 1024u * 1024u)

int observe_setup(struct host *host, struct err *err)
{
	struct observer *seen = &host->seen;

	seen->start_s = (uint64_t)time(NULL);
	seen->saved_ns = clock_mono_ns();
	if (db_total(host->db, "executions", &seen->lifetime_executions, err) < 0 ||
	    db_total(host->db, "sessions", &seen->lifetime_sessions, err) < 0)
		return (int)err->code;
	return db_total(host->db, "cpu_ns", &seen->lifetime_cpu_ns, err);
}

void observe_save(struct host *host)
{
	struct observer *seen = &host->seen;
	struct err err;

	seen->saved_ns = clock_mono_ns();
	if (db_total_set(host->db, "executions", seen->lifetime_executions, &err) < 0 ||
	    db_total_set(host->db, "sessions", seen->lifetime_sessions, &err) < 0 ||
	    db_total_set(host->db, "cpu_ns", seen->lifetime_cpu_ns, &err) < 0)
		log_line(LOG_WARN, "totals could not be kept", "why=\"%s\"", err.text);
}

/* ---- one sample ----------------------------------------------------------------------------- */

static void push(struct observed *observed, const struct sample *sample)
{
	size_t at;

	if (observed->count < OBSERVE_SAMPLES) {
		at = observed->count++;
	} else {
		at = observed->first;
		observed->first = (observed->first + 1) % OBSERVE_SAMPLES;
	}
	observed->samples[at] = *sample;
}

static void look(struct session *session, uint64_t now)
{
	struct observed *observed = session->observed;
	struct sample sample;
	struct err ignored;

	observed->looked_ns = now;
	observed->next_ns = now + (session->running != NULL ? LOOK_BUSY_NS : LOOK_IDLE_NS);
	if (sample_take(observed->kernel_pid, &sample, &ignored) == 0)
		push(observed, &sample);
}

/* Where a pid of the warden's means nothing to us, what an execution cost is all there is. */
static void note_cost(struct observed *observed, const reckon_cost *cost)
{
	struct timespec now;

	if (observed->kernel_pid > 0)
		return;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	observed->cpu_ns += cost->cpu_ns;
	/* Without a control group nobody knows what the box has now: its most comes next to it. */
	push(observed,
	     &(struct sample){ .at_ms = (uint64_t)now.tv_sec * 1000 +
					(uint64_t)now.tv_nsec / 1000000,
			       .memory_bytes = cost->memory_bytes != 0 ? cost->memory_bytes
								       : cost->memory_peak_bytes,
			       .cpu_ns = observed->cpu_ns });
}

/* ---- what happens --------------------------------------------------------------------------- */

void observe_opened(struct session *session, const struct job *job)
{
	struct observer *seen = &session->host->seen;
	reckon_opening opening = { .size = sizeof(opening) };
	unsigned warmth;

	if (session->handle == NULL ||
	    reckon_session_opening(session->handle, &opening, NULL) < 0) {
		metrics_add(&seen->metrics, METRICS_START_FAILED, 0, 1);
		return;
	}
	const struct {
		const char *phase;
		uint64_t ns;
	} phases[] = {
		{ "queue", job->begun_ns - job->queued_ns }, { "warden", opening.warden_ns },
		{ "shell", opening.shell_ns },		     { "spawn", opening.spawn_ns },
		{ "ready", opening.ready_ns },
	};

	seen->lifetime_sessions++;
	warmth = metrics_counter_label(METRICS_STARTS, opening.warmth);
	metrics_add(&seen->metrics, METRICS_STARTS, warmth, 1);
	metrics_observe(&seen->metrics, METRICS_START_TIME, warmth,
			clock_mono_ns() - job->queued_ns);
	for (size_t i = 0; i < ARRAY_LEN(phases); i++)
		metrics_observe(&seen->metrics, METRICS_START_PHASE,
				metrics_histogram_label(METRICS_START_PHASE, phases[i].phase),
				phases[i].ns);
	session->observed = mem_new0(1, sizeof(*session->observed));
	/* An ordinary user's warden is pid 1 of a namespace of its own. */
	session->observed->kernel_pid = geteuid() == 0 ? opening.kernel_pid : 0;
}

/* It may be another one since the last job. */
void observe_kernel(struct session *session)
{
	reckon_opening opening = { .size = sizeof(opening) };

	if (session->observed == NULL)
		return;
	/* As above: an ordinary user's warden counts its own pids, and ours are other processes. */
	session->observed->kernel_pid = 0;
	if (geteuid() == 0 && !session->kernel_lost &&
	    reckon_session_opening(session->handle, &opening, NULL) == 0)
		session->observed->kernel_pid = opening.kernel_pid;
}

void observe_job(struct host *host, const struct job *job)
{
	struct metrics *metrics = &host->seen.metrics;

	if (job->submitted_ns == 0)
		return;
	metrics_observe(metrics, METRICS_QUEUE_TIME, 0, job->submitted_ns - job->queued_ns);
	metrics_observe(metrics, METRICS_QUEUE_TIME, 1, job->begun_ns - job->submitted_ns);
}

void observe_execution(struct host *host, const struct job *job, const char *status)
{
	static const struct {
		const char *status, *limit;
	} limits[] = { { "timeout", "wall_time" },
		       { "out_of_memory", "memory" },
		       { "output_limit", "output" } };
	struct observer *seen = &host->seen;

	metrics_add(&seen->metrics, METRICS_EXECUTIONS,
		    metrics_counter_label(METRICS_EXECUTIONS, status), 1);
	seen->lifetime_executions++;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if (strcmp(limits[i].status, status) == 0)
			observe_refused(host, limits[i].limit);
	if (job == NULL || job->ended_ns == 0)
		return;
	metrics_observe(&seen->metrics, METRICS_WALL, 0, job->ended_ns - job->begun_ns);
	metrics_observe(&seen->metrics, METRICS_CPU, 0, job->cost.cpu_ns);
	seen->lifetime_cpu_ns += job->cost.cpu_ns;
	if (job->session->observed != NULL)
		note_cost(job->session->observed, &job->cost);
}

void observe_refused(struct host *host, const char *limit)
{
	metrics_add(&host->seen.metrics, METRICS_LIMITS,
		    metrics_counter_label(METRICS_LIMITS, limit), 1);
}

/* ---- samples -------------------------------------------------------------------------------- */

static const struct sample *newest(const struct observed *observed)
{
	if (observed == NULL || observed->count == 0)
		return NULL;
	return &observed->samples[(observed->first + observed->count - 1) % observed->count];
}

/* One of the store's 256 directories in each tick: the whole of it once in a minute. */
static void count_store(struct host *host)
{
	struct observer *seen = &host->seen;
	char path[sizeof(host->config.state_dir) + 20];
	struct dirent *entry;
	struct stat st;
	cleanup_dir DIR *dir = NULL;

	(void)snprintf(path, sizeof(path), "%s/artifacts/%02x", host->config.state_dir,
		       seen->store_next);
	dir = opendir(path);
	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' &&
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			seen->counting_objects++;
			seen->counting_bytes += (uint64_t)st.st_size;
		}
	if (++seen->store_next < STORE_DIRECTORIES)
		return;
	seen->store_objects = seen->counting_objects;
	seen->store_bytes = seen->counting_bytes;
	seen->store_next = 0;
	seen->counting_objects = seen->counting_bytes = 0;
}

void observe_tick(struct host *host)
{
	const uint64_t now = clock_mono_ns();
	unsigned looks = 0;

	for (struct session *at = host->sessions; at != NULL && looks < LOOKS_IN_A_TICK;
	     at = at->next) {
		struct observed *observed = at->observed;

		if (observed == NULL || at->phase != SESSION_LIVE)
			continue;
		/* Work began since it rested: not only after the pause of a resting one. */
		if (observed->next_ns > now &&
		    (at->running == NULL || observed->next_ns < now + LOOK_BUSY_NS))
			continue;
		look(at, now);
		looks++;
	}
	count_store(host);
	if (now - host->seen.saved_ns > SAVE_NS)
		observe_save(host);
}

static int add_sample(struct json_writer *json, const struct sample *sample)
{
	json_write_object_begin(json);
	json_write_key(json, "t");
	json_write_seconds(json, sample->at_ms * 1000000u);
	json_write_member_uint(json, "memory_bytes", sample->memory_bytes);
	json_write_key(json, "cpu_s");
	json_write_seconds(json, sample->cpu_ns);
	json_write_object_end(json);
	return 0;
}

void handle_session_metrics(struct host *host, const struct request *req,
			    const struct api_session_metrics_in *in)
{
	cleanup_buf struct buf text = BUF_INIT(FRONT_INLINE_MAX);
	struct session *session = answer_session_named(host, req, in->session, false);
	const uint64_t now = clock_mono_ns();
	struct json_writer json;
	struct err err;

	if (session == NULL)
		return;
	/* At most one look in a second, however often somebody asks. */
	if (session->observed != NULL && now - session->observed->looked_ns > LOOK_ASKED_NS)
		look(session, now);
	json_write_init(&json, &text);
	json_write_object_begin(&json);
	json_write_member_string(&json, "session", session->row.id);
	json_write_key(&json, "samples");
	json_write_array_begin(&json);
	for (size_t i = 0; session->observed != NULL && i < session->observed->count; i++)
		(void)add_sample(&json, &session->observed->samples[(session->observed->first + i) %
								    session->observed->count]);
	json_write_array_end(&json);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		front_fail(host, req->id, API_ERR_INTERNAL, err.text, "", "", 0);
	else
		reply_session_metrics(host, req->id,
				      &(struct api_session_metrics_out){ { text.data, text.len } });
}

/* ---- what is -------------------------------------------------------------------------------- */

static uint64_t file_bytes(int dir_fd, const char *name)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_size : 0;
}

static void see_process(struct metrics_now *now)
{
	struct timespec cpu = { 0 };
	struct rlimit files = { 0 };
	char text[128] = "", *end;
	cleanup_fd int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	cleanup_dir DIR *dir = opendir("/proc/self/fd");

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	now->cpu_ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	/* The second number: pages in memory. */
	if (statm >= 0 && read(statm, text, sizeof(text) - 1) > 0) {
		(void)strtoull(text, &end, 10);
		now->resident_bytes = strtoull(end, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
	}
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		now->descriptors_max = files.rlim_cur;
	for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
		now->descriptors += entry->d_name[0] != '.';
}

static void count_running(const struct job *job, struct metrics_now *now)
{
	if (job != NULL && job->begun_ns != 0)
		now->workers_busy++;
	else if (job != NULL)
		now->workers_waiting++;
}

static void see_sessions(const struct host *host, struct metrics_now *now)
{
	for (const struct session *at = host->sessions; at != NULL; at = at->next) {
		const struct sample *sample = newest(at->observed);

		now->sessions_opening += at->phase == SESSION_OPENING;
		now->sessions_live += at->phase == SESSION_LIVE;
		now->sessions_closing += at->phase == SESSION_CLOSING;
		now->jobs_waiting += at->queued;
		count_running(at->running, now);
		for (const struct context *each = at->contexts; each != NULL; each = each->next)
			count_running(each->running, now);
		now->jobs_waiting += at->file_queue.queued;
		now->processes += process_count(at);
		if (at->phase != SESSION_LIVE || sample == NULL)
			continue;
		now->memory_sessions++;
		now->memory_bytes += sample->memory_bytes;
	}
	for (size_t i = 0; i < HOST_UPLOADS_MAX; i++)
		now->uploads += host->uploads[i].ticket != 0;
	now->runs = run_count(host, NULL);
}

/* The first ones by their id, the rest together: a label must not grow without bound. */
static void see_tenant(const struct usage_view *view, void *arg)
{
	struct metrics_now *now = arg;
	struct metrics_tenant *tenant;

	if (now->tenant_count < METRICS_TENANTS_MAX) {
		tenant = &now->tenants[now->tenant_count++];
		(void)snprintf(tenant->id, sizeof(tenant->id), "%s", view->tenant);
	} else {
		tenant = &now->tenants[METRICS_TENANTS_MAX];
		(void)snprintf(tenant->id, sizeof(tenant->id), "other");
		now->tenant_count = METRICS_TENANTS_MAX + 1;
	}
	tenant->sessions += view->sessions;
	tenant->executions += view->since_start.executions;
	tenant->cpu_ms += view->since_start.cpu_ms;
	tenant->memory_bytes += view->memory_used_bytes;
}

static void see(struct host *host, struct metrics_now *now)
{
	struct statvfs disk;
	char ignored[200];

	*now = (struct metrics_now){
		.version = RECKON_VERSION,
		.sessions_max = host->config.sessions_max,
		.workers_max = host->config.workers,
		.database_bytes = file_bytes(host->state_fd, "reckond.db") +
				  file_bytes(host->state_fd, "reckond.db-wal"),
		.store_bytes = host->seen.store_bytes,
		.store_objects = host->seen.store_objects,
		.start_s = host->seen.start_s,
		.lifetime_executions = host->seen.lifetime_executions,
		.lifetime_sessions = host->seen.lifetime_sessions,
		.lifetime_cpu_ns = host->seen.lifetime_cpu_ns,
		.is_draining = host->is_draining,
	};
	usage_each(host, see_tenant, now);
	now->is_ready = observe_is_ready(host, ignored, sizeof(ignored));
	if (fstatvfs(host->state_fd, &disk) == 0)
		now->disk_free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	see_process(now);
	see_sessions(host, now);
	front_counts(host, &now->front, &now->front_restarts);
}

bool metrics_are_open(const struct host *host)
{
	return host->config.metrics == CONFIG_METRICS_LOOPBACK && host->is_loopback;
}

void handle_metrics(struct host *host, const struct request *req, const struct api_metrics_in *in)
{
	cleanup_buf struct buf text = BUF_INIT(METRICS_MAX);
	static struct metrics_now now; /* large, and of this one thread */
	struct err err;

	(void)in;
	if (host->config.metrics == CONFIG_METRICS_OFF) {
		front_fail(host, req->id, API_ERR_NOT_FOUND, "metrics are off", "",
			  "start the daemon with --metrics key", 0);
		return;
	}
	see(host, &now);
	if (metrics_write(&host->seen.metrics, &now, &text, &err) < 0)
		front_fail(host, req->id, API_ERR_INTERNAL, err.text, "", "", 0);
	else
		reply_metrics(host, req->id, &(struct api_metrics_out){ buf_text(&text) });
}
