/*
 * metrics.c - calls for metrics of the daemon and of its sessions; reads present values when
 * called.
 *
 * Runs in:  reckond's loop.
 * Reads:    the host's own state, /proc of this process, the state directory.
 * Never:    uses an unbounded number of labels.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "codec/json_write.h"
#include "host/calls/call.h"
#include "host/host.h"
#include "host/operations/observe.h"
#include "host/tenants/usage.h"

#define SAMPLE_INTERVAL_NS 1000000000ull
#define METRICS_MAX (4u * 1024u * 1024u)

/* ---- of a session --------------------------------------------------------------------------- */

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
	/* At most one sample per second, however often clients ask. */
	if (session->box.observed != NULL &&
	    now - session->box.observed->looked_ns > SAMPLE_INTERVAL_NS)
		observe_look(session, now);
	json_write_init(&json, &text);
	json_write_object_begin(&json);
	json_write_member_string(&json, "session", session->row.id);
	json_write_key(&json, "samples");
	json_write_array_begin(&json);
	for (size_t i = 0; session->box.observed != NULL && i < session->box.observed->count; i++)
		(void)add_sample(&json,
				 &session->box.observed->samples[(session->box.observed->first + i) %
								    session->box.observed->count]);
	json_write_array_end(&json);
	json_write_member_uint(&json, "workspace_bytes", session->measured.workspace);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		front_fail(host, req->id, API_ERR_INTERNAL, err.text, "", "", 0);
	else
		reply_session_metrics(host, req->id,
				      &(struct api_session_metrics_out){ { text.data, text.len } });
}

/* ---- present values ------------------------------------------------------------------------- */

static const struct sample *newest(const struct observed *observed)
{
	if (observed == NULL || observed->count == 0)
		return NULL;
	return &observed->samples[(observed->first + observed->count - 1) % observed->count];
}

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
	/* The second number is the number of pages in memory. */
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
	if (job != NULL && job->times.begun_ns != 0)
		now->workers_busy++;
	else if (job != NULL)
		now->workers_waiting++;
}

static void see_sessions(const struct host *host, struct metrics_now *now)
{
	for (const struct session *at = host->sessions.first; at != NULL; at = at->next) {
		const struct sample *sample = newest(at->box.observed);

		now->sessions_opening += at->life == SESSION_OPENING;
		now->sessions_live += life_is_live(at->life);
		now->sessions_closing += life_is_closing(at->life);
		now->jobs_waiting += at->queue.count;
		count_running(at->queue.running, now);
		for (const struct context *each = at->kernels.first; each != NULL; each = each->next)
			count_running(each->running, now);
		now->jobs_waiting += at->file_queue.queued;
		now->processes += process_count(at);
		if (!life_is_live(at->life) || sample == NULL)
			continue;
		now->memory_sessions++;
		now->memory_bytes += sample->memory_bytes;
	}
	for (size_t i = 0; i < HOST_UPLOADS_MAX; i++)
		now->uploads += host->files.uploads[i].ticket != 0;
	now->runs = run_count(host, NULL);
}

/* The first tenants get their ids as labels, the others share one: labels must be bounded. */
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
		.database_bytes = file_bytes(host->place.state_fd, "reckond.db") +
				  file_bytes(host->place.state_fd, "reckond.db-wal"),
		.store_bytes = host->seen.store_bytes,
		.store_objects = host->seen.store_objects,
		.start_s = host->seen.start_s,
		.lifetime_executions = host->seen.lifetime_executions,
		.lifetime_sessions = host->seen.lifetime_sessions,
		.lifetime_cpu_ns = host->seen.lifetime_cpu_ns,
		.is_draining = lifecycle_is_drained(&host->life),
	};
	usage_each(host, see_tenant, now);
	now->is_ready = observe_is_ready(host, ignored, sizeof(ignored));
	if (fstatvfs(host->place.state_fd, &disk) == 0)
		now->disk_free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	see_process(now);
	see_sessions(host, now);
	front_counts(host, &now->front, &now->front_restarts);
}

void handle_metrics(struct host *host, const struct request *req, const struct api_metrics_in *in)
{
	cleanup_buf struct buf text = BUF_INIT(METRICS_MAX);
	static struct metrics_now now; /* large, and used by one thread only */
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
