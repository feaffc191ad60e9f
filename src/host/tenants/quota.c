/*
 * quota.c - checks a tenant's quotas; the loop counts, so requests cannot race past a quota.
 *
 * Runs in:  reckond's loop.
 * Reads:    the tenant's sums, the configuration.
 * Never:    refuses without the quota's name, its value and its limit.
 */
#include "host/tenants/quota.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "host/host.h"

#define CPU_SLOT_NS (300ull * 1000000000u)
#define MEMORY_DEFAULT (1024ull * 1024 * 1024)
#define DISK_DEFAULT MEMORY_DEFAULT
#define AVERAGE_OF 8u
#define RETRY_MAX_S 3600u
#define RETRY_OFTEN_S 60u /* a client may end sessions or executions earlier than the estimate */

static bool is_in_ms(const char *name)
{
	for (unsigned i = 0; i < FRONT_QUOTA_COUNT; i++)
		if (strcmp(front_quota_kinds[i].name, name) == 0)
			return front_quota_kinds[i].is_seconds;
	return false;
}

void refuse(struct host *host, uint64_t request, const struct refusal *refusal)
{
	const char *name = refusal->quota;
	const struct api_reached_quota reached = {
		.name = name,
		.value = refusal->numbers.value,
		.limit = refusal->numbers.limit,
		.in_ms = name != NULL && is_in_ms(name),
	};
	const struct api_queue_place place = { refusal->queue.position,
					       refusal->queue.estimate_ms };

	front_failure(host, request,
		     &(struct api_failure){
			     .error = refusal->error,
			     .message = refusal->message,
			     .cause = refusal->cause,
			     .remedy = refusal->remedy,
			     .retry_s = refusal->retry_s,
			     .scope = name != NULL && !refusal->has_numbers ? name : NULL,
			     .quota = name != NULL && refusal->has_numbers ? &reached : NULL,
			     .queue = refusal->has_queue ? &place : NULL,
		     });
}

/* The value from the configuration, for all tenants. */
static uint64_t standard_of(const struct config *config, enum front_quota quota)
{
	const uint64_t standard[FRONT_QUOTA_COUNT] = {
		[FRONT_QUOTA_SESSIONS] = config->quota_sessions,
		[FRONT_QUOTA_EXECUTIONS] = config->quota_executions,
		[FRONT_QUOTA_QUEUED] = config->quota_queued,
		[FRONT_QUOTA_WORKERS] = config->quota_workers,
		[FRONT_QUOTA_REQUESTS] = config->quota_requests,
		[FRONT_QUOTA_CPU] = config->quota_cpu_ms,
		[FRONT_QUOTA_MEMORY] = config->quota_memory,
		[FRONT_QUOTA_MEMORY_USED] = config->quota_memory_used,
		[FRONT_QUOTA_DISK] = config->quota_disk,
		[FRONT_QUOTA_CPU_WEIGHT] = config->quota_cpu_weight,
		[FRONT_QUOTA_CPU_PERCENT] = config->quota_cpu_percent,
		[FRONT_QUOTA_MAX_WALL] = config->max_wall_ms,
		[FRONT_QUOTA_MAX_MEMORY] = config->max_memory,
		[FRONT_QUOTA_MAX_DISK] = config->max_disk,
		[FRONT_QUOTA_PROCESSES] = config->quota_processes,
	};

	return standard[quota];
}

uint64_t quota_of(const struct host *host, const struct tenant *tenant, enum front_quota quota)
{
	if ((tenant->row.quotas.given >> quota & 1u) != 0)
		return tenant->row.quotas.value[quota];
	return standard_of(&host->config, quota);
}

/* ---- refusing ------------------------------------------------------------------------------- */

/* Always returns false, for callers to return. `queue` NULL: waiting does not help. */
static bool reached(struct host *host, const struct request *req, enum front_quota quota,
		    uint64_t value, uint64_t limit, const struct front_queue *queue)
{
	const struct front_quota_kind *kind = &front_quota_kinds[quota];
	const uint64_t unit = kind->is_seconds ? 1000 : 1;
	char message[160];
	struct refusal refusal = { .error = API_ERR_QUOTA,
				   .message = message,
				   .quota = kind->name,
				   .has_numbers = true,
				   .numbers = { value, limit } };

	(void)snprintf(message, sizeof(message),
		       "the tenant's quota %s is reached: %" PRIu64 " of %" PRIu64, kind->name,
		       value / unit, limit / unit);
	refusal.remedy = "wait, end what is not needed, or ask for a larger quota";
	if (queue != NULL) {
		refusal.has_queue = true;
		refusal.queue = *queue;
		refusal.retry_s = quota_retry_s(queue);
		if (quota != FRONT_QUOTA_CPU && refusal.retry_s > RETRY_OFTEN_S)
			refusal.retry_s = RETRY_OFTEN_S;
	} else {
		refusal.error = quota == FRONT_QUOTA_DISK ? API_ERR_QUOTA_SIZE
							  : API_ERR_QUOTA_CAP;
		refusal.remedy = quota == FRONT_QUOTA_DISK
					 ? "close sessions, or ask for a larger quota"
					 : "ask for less, or for a larger quota";
	}
	observe_refused(host, "quota");
	refuse(host, req->id, &refusal);
	return false;
}

/* ---- requests ------------------------------------------------------------------------------- */

/* A token bucket that holds the requests of one second. */
static void refill(struct tenant *tenant, uint64_t rate)
{
	const uint64_t now = clock_mono_ns();

	if (tenant->tokens_ns == 0 || now - tenant->tokens_ns >= 1000000000u)
		tenant->tokens = rate * 1000u;
	else
		tenant->tokens += (now - tenant->tokens_ns) / 1000u * rate / 1000u;
	if (tenant->tokens > rate * 1000u)
		tenant->tokens = rate * 1000u;
	tenant->tokens_ns = now;
}

bool quota_request(struct host *host, const struct request *req)
{
	struct tenant *tenant = req->tenant;
	const uint64_t rate = quota_of(host, tenant, FRONT_QUOTA_REQUESTS);
	const struct front_queue soon = { .estimate_ms = 1000 };

	if (rate == 0)
		return true;
	refill(tenant, rate);
	if (tenant->tokens < 1000u)
		return reached(host, req, FRONT_QUOTA_REQUESTS, rate, rate, &soon);
	tenant->tokens -= 1000u;
	return true;
}

bool quota_requests_left(const struct host *host, struct tenant *tenant, uint64_t *ret_limit,
			 uint64_t *ret_left, uint64_t *ret_reset_ms)
{
	const uint64_t rate = quota_of(host, tenant, FRONT_QUOTA_REQUESTS);

	if (rate == 0)
		return false;
	refill(tenant, rate);
	*ret_limit = rate;
	*ret_left = tenant->tokens / 1000u;
	*ret_reset_ms = (rate * 1000u - tenant->tokens + rate - 1) / rate;
	return true;
}

/* ---- sessions ------------------------------------------------------------------------------- */

uint64_t quota_memory_of(const struct front_limits *limits)
{
	return limits->memory_bytes != 0 ? limits->memory_bytes : MEMORY_DEFAULT;
}

/* Checks requested limits against the quotas, and sets missing ones to the default or the quota. */
bool quota_limits(struct host *host, const struct request *req, struct front_limits *limits)
{
	const struct {
		enum front_quota quota;
		uint64_t *wanted;
		uint64_t otherwise; /* the default; 0: none */
	} rows[] = {
		{ FRONT_QUOTA_MAX_WALL, &limits->wall_ms, 30000 },
		{ FRONT_QUOTA_MAX_CPU, &limits->cpu_ms, 0 },
		{ FRONT_QUOTA_MAX_MEMORY, &limits->memory_bytes, MEMORY_DEFAULT },
		{ FRONT_QUOTA_MAX_DISK, &limits->disk_bytes, DISK_DEFAULT },
		{ FRONT_QUOTA_MAX_INODES, &limits->inodes, 100000 },
		{ FRONT_QUOTA_MAX_FILE, &limits->file_bytes, 0 },
		{ FRONT_QUOTA_MAX_OUTPUT, &limits->output_bytes, 1 << 20 },
		{ FRONT_QUOTA_MAX_PIDS, &limits->pids, 128 },
		{ FRONT_QUOTA_MAX_CPU_PERCENT, &limits->cpu_percent, 0 },
		{ FRONT_QUOTA_MAX_DISPLAYS, &limits->displays, 64 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const uint64_t most = quota_of(host, req->tenant, rows[i].quota);

		if (most == 0)
			continue;
		if (*rows[i].wanted > most)
			return reached(host, req, rows[i].quota, *rows[i].wanted, most, NULL);
		if (*rows[i].wanted == 0)
			*rows[i].wanted = rows[i].otherwise != 0 && rows[i].otherwise < most
						 ? rows[i].otherwise
						 : most;
	}
	return true;
}

bool quota_idle(struct host *host, const struct request *req, uint64_t idle_ms)
{
	const uint64_t most = quota_of(host, req->tenant, FRONT_QUOTA_MAX_IDLE);

	if (most == 0 || idle_ms <= most)
		return true;
	return reached(host, req, FRONT_QUOTA_MAX_IDLE, idle_ms, most, NULL);
}

uint64_t quota_staying(uint64_t count, uint64_t leaving, uint64_t most)
{
	return count - MIN(leaving, most);
}

bool quota_session(struct host *host, const struct request *req, struct front_limits *limits,
		   bool has_idle, uint64_t *idle_ms)
{
	const struct tenant *tenant = req->tenant;
	const struct front_queue queue = quota_session_queue(host, tenant->sessions);
	const uint64_t sessions = quota_of(host, tenant, FRONT_QUOTA_SESSIONS);
	const uint64_t memory = quota_of(host, tenant, FRONT_QUOTA_MEMORY);
	const uint64_t used = quota_of(host, tenant, FRONT_QUOTA_MEMORY_USED);
	const uint64_t idle = quota_of(host, tenant, FRONT_QUOTA_MAX_IDLE);
	const uint64_t staying = quota_staying(tenant->sessions, tenant->leaving, sessions);
	uint64_t sum;

	if (!quota_limits(host, req, limits) || !quota_disk(host, req, 0))
		return false;
	if (!has_idle && idle != 0 && *idle_ms > idle)
		*idle_ms = idle;
	if (!quota_idle(host, req, *idle_ms))
		return false;
	if (sessions != 0 && staying >= sessions)
		return reached(host, req, FRONT_QUOTA_SESSIONS, staying, sessions, &queue);
	sum = quota_staying(tenant->memory_limits, tenant->leaving_limits, memory) +
	      quota_memory_of(limits);
	if (memory != 0 && sum > memory)
		return reached(host, req, FRONT_QUOTA_MEMORY, sum, memory,
			       quota_memory_of(limits) > memory ? NULL : &queue);
	if (used != 0 && tenant->memory_used >= used)
		return reached(host, req, FRONT_QUOTA_MEMORY_USED, tenant->memory_used, used,
			       &queue);
	return true;
}

uint64_t quota_disk_left(const struct host *host, const struct tenant *tenant)
{
	const uint64_t disk = quota_of(host, tenant, FRONT_QUOTA_DISK);
	const uint64_t sum = tenant->workspaces + tenant->row.stored_bytes + tenant->volume_bytes;

	if (disk == 0)
		return UINT64_MAX;
	return sum < disk ? disk - sum : 0;
}

bool quota_disk(struct host *host, const struct request *req, uint64_t size)
{
	const struct tenant *tenant = req->tenant;
	const uint64_t disk = quota_of(host, tenant, FRONT_QUOTA_DISK);
	const uint64_t sum =
		tenant->workspaces + tenant->row.stored_bytes + tenant->volume_bytes + size;

	if (disk == 0 || (size == 0 ? sum < disk : sum <= disk))
		return true;
	return reached(host, req, FRONT_QUOTA_DISK, sum, disk, NULL);
}

/* ---- executions ----------------------------------------------------------------------------- */

static void roll(struct tenant *tenant)
{
	const uint64_t now = clock_mono_ns() / CPU_SLOT_NS;

	if (now - tenant->cpu_slot >= TENANT_CPU_SLOTS)
		memset(tenant->cpu_ms, 0, sizeof(tenant->cpu_ms));
	else
		for (uint64_t at = tenant->cpu_slot + 1; at <= now; at++)
			tenant->cpu_ms[at % TENANT_CPU_SLOTS] = 0;
	tenant->cpu_slot = now;
}

void quota_note_cpu(struct tenant *tenant, uint64_t ms)
{
	roll(tenant);
	tenant->cpu_ms[tenant->cpu_slot % TENANT_CPU_SLOTS] += ms;
}

/* Also estimates when enough CPU time is older than an hour, so that the rest is below `limit`. */
static bool check_cpu(struct host *host, const struct request *req)
{
	struct tenant *tenant = req->tenant;
	const uint64_t limit = quota_of(host, tenant, FRONT_QUOTA_CPU);
	struct front_queue queue = { 0 };
	uint64_t sum = 0, left;

	if (limit == 0)
		return true;
	roll(tenant);
	for (size_t i = 0; i < TENANT_CPU_SLOTS; i++)
		sum += tenant->cpu_ms[i];
	if (sum < limit)
		return true;
	left = sum;
	for (uint64_t i = 1; i <= TENANT_CPU_SLOTS && left >= limit; i++) {
		left -= tenant->cpu_ms[(tenant->cpu_slot + i) % TENANT_CPU_SLOTS];
		queue.estimate_ms = i * (CPU_SLOT_NS / 1000000u) -
				    clock_mono_ns() % CPU_SLOT_NS / 1000000u;
	}
	return reached(host, req, FRONT_QUOTA_CPU, sum, limit, &queue);
}

bool quota_execution(struct host *host, const struct request *req, const struct session *session,
		     uint64_t timeout_ms)
{
	const struct tenant *tenant = req->tenant;
	const uint64_t most = quota_of(host, tenant, FRONT_QUOTA_MAX_WALL);
	const uint64_t executions = quota_of(host, tenant, FRONT_QUOTA_EXECUTIONS);
	const uint64_t queued = quota_of(host, tenant, FRONT_QUOTA_QUEUED);
	const uint64_t used = quota_of(host, tenant, FRONT_QUOTA_MEMORY_USED);
	const uint64_t waiting = tenant->executions - tenant->started +
				 pool_lane_waiting(host->pools.main, tenant->lane);
	const struct front_queue queue =
		quota_queue(host, waiting, quota_of(host, tenant, FRONT_QUOTA_WORKERS));

	if (most != 0 && timeout_ms > most)
		return reached(host, req, FRONT_QUOTA_MAX_WALL, timeout_ms, most, NULL);
	if (executions != 0 && tenant->executions >= executions)
		return reached(host, req, FRONT_QUOTA_EXECUTIONS, tenant->executions,
			       executions, &queue);
	/* An execution that begins at once does not count as waiting. */
	if (queued != 0 && waiting >= queued && session != NULL && session->queue.running != NULL)
		return reached(host, req, FRONT_QUOTA_QUEUED, waiting, queued, &queue);
	if (used != 0 && tenant->memory_used >= used)
		return reached(host, req, FRONT_QUOTA_MEMORY_USED, tenant->memory_used, used,
			       &queue);
	return quota_disk(host, req, 0) && check_cpu(host, req);
}

bool quota_process(struct host *host, const struct request *req, uint64_t *timeout_ms)
{
	const struct tenant *tenant = req->tenant;
	const uint64_t most = quota_of(host, tenant, FRONT_QUOTA_MAX_WALL);
	const uint64_t processes = quota_of(host, tenant, FRONT_QUOTA_PROCESSES);
	const uint64_t used = quota_of(host, tenant, FRONT_QUOTA_MEMORY_USED);
	const struct front_queue queue = { .estimate_ms = 1000 };

	if (most != 0 && *timeout_ms > most)
		return reached(host, req, FRONT_QUOTA_MAX_WALL, *timeout_ms, most, NULL);
	if (*timeout_ms == 0)
		*timeout_ms = most;
	if (processes != 0 && tenant->processes >= processes)
		return reached(host, req, FRONT_QUOTA_PROCESSES, tenant->processes, processes,
			       &queue);
	if (used != 0 && tenant->memory_used >= used)
		return reached(host, req, FRONT_QUOTA_MEMORY_USED, tenant->memory_used, used,
			       &queue);
	return quota_disk(host, req, 0) && check_cpu(host, req);
}

/* ---- estimates ------------------------------------------------------------------------------ */

static void note(uint64_t *average, uint64_t value)
{
	*average = *average == 0 ? value : (*average * (AVERAGE_OF - 1) + value) / AVERAGE_OF;
}

void quota_note_execution(struct host *host, uint64_t wall_ms)
{
	note(&host->executions.average_ms, wall_ms > 0 ? wall_ms : 1);
}

void quota_note_lifetime(struct host *host, uint64_t ms)
{
	note(&host->sessions.lifetime_ms, ms > 0 ? ms : 1);
}

struct front_queue quota_queue(const struct host *host, uint64_t before, uint64_t workers)
{
	if (workers == 0 || workers > host->config.workers)
		workers = host->config.workers;
	return (struct front_queue){ before, (before + 1) * host->executions.average_ms / workers };
}

/* Assumes that sessions end one after the other, evenly within their average lifetime. */
struct front_queue quota_session_queue(const struct host *host, uint64_t sessions)
{
	const uint64_t lifetime = host->sessions.lifetime_ms != 0 ? host->sessions.lifetime_ms
							 : host->config.idle_ms;

	return (struct front_queue){ 0, lifetime / (sessions > 0 ? sessions : 1) };
}

unsigned quota_retry_s(const struct front_queue *queue)
{
	const uint64_t s = (queue->estimate_ms + 999) / 1000;

	if (s < 1)
		return 1;
	return s < RETRY_MAX_S ? (unsigned)s : RETRY_MAX_S;
}
