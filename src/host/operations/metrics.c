/*
 * metrics.c - counters and histograms, and their text for Prometheus.
 *
 * Runs in:  reckond's loop.
 * Reads:    its own numbers.
 * Never:    uses a client's text as a label: this file has tables of all values.
 */
#include "host/operations/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define US UINT64_C(1000)
#define MS (US * 1000)
#define S (MS * 1000)

typedef const char *words[METRICS_LABELS_MAX + 1];

static const words none = { "" };
static const words warmths = { "parked", "warm", "cold", "other" };
static const words phases = { "queue", "warden", "shell", "spawn", "ready", "other" };
static const words states = { "closed", "expired", "lost", "other" };
static const words statuses = { "ok",	       "error",		"timeout",
				"interrupted", "out_of_memory", "output_limit",
				"killed",      "kernel_died",	"infra_error",
				"failed",      "cancelled",	"other" };
static const words limits = { "wall_time", "memory", "output", "sessions", "queue", "uploads",
			      "disk",	   "quota",  "host_disk", "descriptors", "other" };
static const words kinds = { "session", "execution", "output", "artifact", "other" };
static const words results = { "ok", "failed" };
static const words queues = { "session", "workers", "other" };
static const words stops = { "answer",	    "max_steps",    "max_tokens", "budget",
			     "max_time",    "stuck",	    "length",	  "refused",
			     "interrupted", "session_lost", "failed",	  "tool_calls" };
static const words causes = { "exit", "signal", "timeout", "cpu_limit", "out_of_memory",
			      "system_call", "session_ended", "lost", "other" };
static const words tokens = { "input", "cached", "output", "reasoning" };

static const struct counter {
	const char *name;
	const char *help;
	const char *label; /* NULL: none */
	const words *values;
} counters[METRICS_COUNTER_COUNT_] = {
	[METRICS_STARTS] = { "reckon_session_starts_total",
			     "Sessions opened, by what their kernel was made from.", "warmth",
			     &warmths },
	[METRICS_START_FAILED] = { "reckon_session_start_failures_total",
				   "Sessions that could not be opened.", NULL, &none },
	[METRICS_ENDS] = { "reckon_session_ends_total", "Sessions that ended.", "state", &states },
	[METRICS_EXECUTIONS] = { "reckon_executions_total", "Executions that ended.", "status",
				 &statuses },
	[METRICS_LIMITS] = { "reckon_limits_reached_total", "Limits that were reached.", "limit",
			     &limits },
	[METRICS_REMOVED] = { "reckon_retention_removed_total",
			      "What retention removed from the state directory.", "kind", &kinds },
	[METRICS_RELOADS] = { "reckon_config_reloads_total", "Reloads of the configuration.",
			      "result", &results },
	[METRICS_DENIED] = { "reckon_requests_denied_total",
			     "Requests without a key that is good, or that may ask this.", NULL,
			     &none },
	[METRICS_AUDIT] = { "reckon_audit_entries_total", "Entries written to the audit.", NULL,
			    &none },
	[METRICS_RUNS] = { "reckon_agent_runs_total",
			   "Questions that models answered, by why they "
			   "ended.",
			   "stop", &stops },
	[METRICS_RUN_STEPS] = { "reckon_agent_steps_total", "Cells that models ran.", NULL, &none },
	[METRICS_RUN_TOKENS] = { "reckon_agent_tokens_total",
				 "Tokens of models, as they are "
				 "billed: cached ones are input, too, and reasoning is output.",
				 "kind", &tokens },
	[METRICS_RUN_COST] = { "reckon_agent_cost_micro_total",
			       "What models cost, in millionths "
			       "of the currency of the prices.",
			       NULL, &none },
	[METRICS_PROCESSES] = { "reckon_processes_total",
				"Processes of clients that ended, by why.", "cause", &causes },
	[METRICS_ADOPTED] = { "reckon_sessions_adopted_total",
			      "Sessions whose kernel an earlier daemon left, or might have.",
			      "result", &results },
};

/* Upper bounds in nanoseconds; 0 ends the list. */
static const uint64_t fast[] = { 500 * US, 1 * MS,  2 * MS,    3 * MS,	 5 * MS,
				 10 * MS,  20 * MS, 50 * MS,   100 * MS, 250 * MS,
				 500 * MS, 1 * S,   2500 * MS, 10 * S,	 0 };
static const uint64_t slow[] = { 1 * MS, 2500 * US, 5 * MS,  10 * MS, 25 * MS, 50 * MS, 100 * MS,
				 250 * MS, 500 * MS, 1 * S,   2500 * MS, 5 * S,	 10 * S,  30 * S,
				 120 * S, 0 };

static const struct histogram {
	const char *name;
	const char *help;
	const char *label;
	const words *values;
	const uint64_t *ends;
} histograms[METRICS_HISTOGRAM_COUNT_] = {
	[METRICS_START_TIME] = { "reckon_session_start_seconds",
				 "Opening a session, from the request on.", "warmth", &warmths,
				 fast },
	[METRICS_START_PHASE] = { "reckon_session_start_phase_seconds",
				  "Parts of opening: queue (until a worker took it), warden (its "
				  "answer, of which shell and spawn), ready (the kernel's first "
				  "word).",
				  "phase", &phases, fast },
	[METRICS_QUEUE_TIME] = { "reckon_queue_wait_seconds",
				 "Jobs that waited for their session, then for a worker.", "queue",
				 &queues, slow },
	[METRICS_WALL] = { "reckon_execution_wall_seconds", "Executions, until their record.", NULL,
			   &none, slow },
	[METRICS_CPU] = { "reckon_execution_cpu_seconds", "CPU time of executions.", NULL, &none,
			  slow },
	[METRICS_COMMIT] = { "reckon_commit_seconds", "Transactions of the database, committed.",
			     NULL, &none, fast },
	[METRICS_SYNC] = { "reckon_sync_seconds", "The database's log, brought to the disk.", NULL,
			   &none, fast },
};

/* ---- counting ------------------------------------------------------------------------------- */

void metrics_add(struct metrics *metrics, enum metrics_counter counter, unsigned label, uint64_t n)
{
	metrics->counters[counter][label] += n;
}

void metrics_observe(struct metrics *metrics, enum metrics_histogram histogram, unsigned label,
		     uint64_t ns)
{
	struct metrics_series *series = &metrics->series[histogram][label];
	const uint64_t *ends = histograms[histogram].ends;
	size_t i = 0;

	while (ends[i] != 0 && ns > ends[i])
		i++;
	series->buckets[i]++;
	series->sum_ns += ns;
}

static unsigned find_word(const words *values, const char *word)
{
	unsigned i = 0;

	while ((*values)[i + 1] != NULL && strcmp((*values)[i], word) != 0)
		i++;
	return i;
}

unsigned metrics_counter_label(enum metrics_counter counter, const char *word)
{
	return find_word(counters[counter].values, word);
}

unsigned metrics_histogram_label(enum metrics_histogram histogram, const char *word)
{
	return find_word(histograms[histogram].values, word);
}

/* ---- the format ----------------------------------------------------------------------------- */

int metrics_family(struct buf *ret, const char *name, const char *type, const char *help,
		   struct err *err)
{
	return buf_addf(ret, err, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static int add_labels(struct buf *ret, const char *const *labels, struct err *err)
{
	const char *before = "{";

	for (; labels != NULL && labels[0] != NULL; labels += 2) {
		if (buf_addf(ret, err, "%s%s=\"", before, labels[0]) < 0)
			return (int)err->code;
		for (const char *at = labels[1]; *at != '\0'; at++) {
			const char *escaped = *at == '\\'  ? "\\\\"
					      : *at == '"' ? "\\\""
					      : *at == '\n' ? "\\n"
							    : NULL;

			if ((escaped != NULL ? buf_adds(ret, escaped, err)
					     : buf_addc(ret, *at, err)) < 0)
				return (int)err->code;
		}
		before = "\",";
	}
	return before[0] == '{' ? 0 : buf_adds(ret, "\"}", err);
}

int metrics_sample(struct buf *ret, const char *name, const char *const *labels, uint64_t value,
		   struct err *err)
{
	if (buf_adds(ret, name, err) < 0 || add_labels(ret, labels, err) < 0)
		return (int)err->code;
	return buf_addf(ret, err, " %" PRIu64 "\n", value);
}

/* 1500000000 as "1.5", 1000 as "0.000001". */
static void seconds(uint64_t ns, char ret[40])
{
	int len = snprintf(ret, 40, "%" PRIu64 ".%09" PRIu64, ns / S, ns % S);

	while (ret[len - 1] == '0')
		ret[--len] = '\0';
	if (ret[len - 1] == '.')
		ret[len - 1] = '\0';
}

int metrics_sample_ns(struct buf *ret, const char *name, const char *const *labels, uint64_t ns,
		      struct err *err)
{
	char text[40];

	seconds(ns, text);
	if (buf_adds(ret, name, err) < 0 || add_labels(ret, labels, err) < 0)
		return (int)err->code;
	return buf_addf(ret, err, " %s\n", text);
}

/* ---- families ------------------------------------------------------------------------------- */

static int write_counter(const struct metrics *metrics, size_t which, struct buf *ret,
			 struct err *err)
{
	const struct counter *counter = &counters[which];

	if (metrics_family(ret, counter->name, "counter", counter->help, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < METRICS_LABELS_MAX && (*counter->values)[i] != NULL; i++) {
		const char *const labels[] = { counter->label, (*counter->values)[i], NULL };

		if (metrics_sample(ret, counter->name, labels, metrics->counters[which][i], err) <
		    0)
			return (int)err->code;
	}
	return 0;
}

static int write_series(const char *name, const char *label, const char *value,
			const uint64_t *ends, const struct metrics_series *series, struct buf *ret,
			struct err *err)
{
	/* Without a label, the bound is the first label. */
	const char *const own[] = { label, value, NULL };
	char line[96], bound[40];
	uint64_t total = 0;

	(void)snprintf(line, sizeof(line), "%s_bucket", name);
	for (size_t i = 0;; i++) {
		const char *const with[] = { label, value, "le", bound, NULL };
		const char *const *labels = label != NULL ? with : with + 2;

		total += series->buckets[i];
		if (ends[i] == 0)
			(void)snprintf(bound, sizeof(bound), "+Inf");
		else
			seconds(ends[i], bound);
		if (metrics_sample(ret, line, labels, total, err) < 0)
			return (int)err->code;
		if (ends[i] == 0)
			break;
	}
	(void)snprintf(line, sizeof(line), "%s_sum", name);
	if (metrics_sample_ns(ret, line, own, series->sum_ns, err) < 0)
		return (int)err->code;
	(void)snprintf(line, sizeof(line), "%s_count", name);
	return metrics_sample(ret, line, own, total, err);
}

static int write_histogram(const struct metrics *metrics, size_t which, struct buf *ret,
			   struct err *err)
{
	const struct histogram *histogram = &histograms[which];

	if (metrics_family(ret, histogram->name, "histogram", histogram->help, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < METRICS_LABELS_MAX && (*histogram->values)[i] != NULL; i++)
		if (strcmp((*histogram->values)[i], "other") != 0 &&
		    write_series(histogram->name, histogram->label, (*histogram->values)[i],
				 histogram->ends, &metrics->series[which][i], ret, err) < 0)
			return (int)err->code;
	return 0;
}

struct number {
	const char *name, *type, *help;
	uint64_t value;
	bool is_ns;
};

static int write_numbers(const struct number *numbers, size_t count, struct buf *ret,
			 struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct number *n = &numbers[i];

		if (metrics_family(ret, n->name, n->type, n->help, err) < 0 ||
		    (n->is_ns ? metrics_sample_ns(ret, n->name, NULL, n->value, err)
			      : metrics_sample(ret, n->name, NULL, n->value, err)) < 0)
			return (int)err->code;
	}
	return 0;
}

static int write_now(const struct metrics_now *now, struct buf *ret, struct err *err)
{
	const char *const version[] = { "version", now->version, NULL };
	const struct number numbers[] = {
		{ "reckon_sessions_max", "gauge", "Sessions that may be open.", now->sessions_max, 0 },
		{ "reckon_jobs_waiting", "gauge", "Jobs that wait for their session.",
		  now->jobs_waiting, 0 },
		{ "reckon_workers", "gauge", "Workers that there may be.", now->workers_max, 0 },
		{ "reckon_workers_busy", "gauge", "Workers with a job.", now->workers_busy, 0 },
		{ "reckon_workers_queue", "gauge", "Jobs that wait for a worker.",
		  now->workers_waiting, 0 },
		{ "reckon_processes_running", "gauge", "Processes of clients that run.", now->processes, 0 },
		{ "reckon_uploads", "gauge", "Uploads under way.", now->uploads, 0 },
		{ "reckon_agent_runs_running", "gauge", "Questions that models answer just now.", now->runs,
		  0 },
		{ "reckon_sessions_memory_bytes", "gauge",
		  "Memory of live sessions, as last looked at.", now->memory_bytes, 0 },
		{ "reckon_sessions_memory_known", "gauge",
		  "Live sessions whose memory was looked at.", now->memory_sessions, 0 },
		{ "reckon_database_bytes", "gauge", "Size of the database.", now->database_bytes, 0 },
		{ "reckon_store_bytes", "gauge", "Size of outputs and artifacts, as last counted.",
		  now->store_bytes, 0 },
		{ "reckon_store_objects", "gauge", "Outputs and artifacts, as last counted.",
		  now->store_objects, 0 },
		{ "reckon_state_free_bytes", "gauge", "Free space where the state directory is.",
		  now->disk_free_bytes, 0 },
		{ "reckon_draining", "gauge", "1: no new sessions are taken.", now->is_draining, 0 },
		{ "reckon_ready", "gauge", "1: as GET /reckon/v1/ready.", now->is_ready, 0 },
		{ "reckon_front_restarts_total", "counter", "Fronts that had to be started again.",
		  now->front_restarts, 0 },
		{ "reckon_lifetime_executions_total", "counter",
		  "Executions that ended, over all starts of the daemon (kept in the database).",
		  now->lifetime_executions, 0 },
		{ "reckon_lifetime_sessions_total", "counter",
		  "Sessions opened, over all starts of the daemon (kept in the database).",
		  now->lifetime_sessions, 0 },
		{ "reckon_lifetime_cpu_seconds_total", "counter",
		  "CPU time of executions, over all starts of the daemon (kept in the database).",
		  now->lifetime_cpu_ns, 1 },
		{ "process_start_time_seconds", "gauge", "When reckond started.", now->start_s, 0 },
		{ "process_cpu_seconds_total", "counter", "CPU time of reckond.", now->cpu_ns, 1 },
		{ "process_resident_memory_bytes", "gauge", "Memory of reckond.",
		  now->resident_bytes, 0 },
		{ "process_open_fds", "gauge", "Descriptors of reckond.", now->descriptors, 0 },
		{ "process_max_fds", "gauge", "Descriptors that reckond may have.",
		  now->descriptors_max, 0 },
	};

	if (metrics_family(ret, "reckon_build_info", "gauge", "The version that runs.", err) < 0 ||
	    metrics_sample(ret, "reckon_build_info", version, 1, err) < 0)
		return (int)err->code;
	return write_numbers(numbers, ARRAY_LEN(numbers), ret, err);
}

static int write_sessions(const struct metrics_now *now, struct buf *ret, struct err *err)
{
	const struct {
		const char *phase;
		uint64_t value;
	} phase_counts[] = { { "opening", now->sessions_opening },
			     { "live", now->sessions_live },
			     { "closing", now->sessions_closing } };

	if (metrics_family(ret, "reckon_sessions", "gauge", "Sessions that are there.", err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < ARRAY_LEN(phase_counts); i++) {
		const char *const labels[] = { "phase", phase_counts[i].phase, NULL };

		if (metrics_sample(ret, "reckon_sessions", labels, phase_counts[i].value, err) < 0)
			return (int)err->code;
	}
	return 0;
}

static int write_front(const struct metrics_now *now, struct buf *ret, struct err *err)
{
	static const uint64_t ends_us[] = { FRONT_LATENCIES_US };
	static const char *const classes[] = { "broken_off", "1xx", "2xx", "3xx", "4xx", "5xx" };
	const struct front_stats *front = &now->front;
	const struct number numbers[] = {
		{ "reckon_http_connections_open", "gauge", "Connections of clients.",
		  page_get(front->connections), 0 },
		{ "reckon_http_connections_total", "counter", "Connections that were taken.",
		  page_get(front->accepted), 0 },
		{ "reckon_http_connections_refused_total", "counter",
		  "Connections beyond what may be.", page_get(front->turned_away), 0 },
		{ "reckon_http_received_bytes_total", "counter", "Bytes of clients.",
		  page_get(front->received), 0 },
		{ "reckon_http_sent_bytes_total", "counter", "Bytes to clients.",
		  page_get(front->sent), 0 },
	};
	struct metrics_series series = { .sum_ns = page_get(front->latency_us) * US };
	uint64_t ends[FRONT_LATENCY_COUNT] = { 0 };

	if (write_numbers(numbers, ARRAY_LEN(numbers), ret, err) < 0 ||
	    metrics_family(ret, "reckon_http_requests_total", "counter",
			   "Requests by class of their status.", err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
		const char *const labels[] = { "code", classes[i], NULL };

		if (metrics_sample(ret, "reckon_http_requests_total", labels,
				   page_get(front->requests[i]), err) < 0)
			return (int)err->code;
	}
	_Static_assert(FRONT_LATENCY_COUNT <= METRICS_BUCKETS_MAX, "they fit a series");
	for (size_t i = 0; i < FRONT_LATENCY_COUNT; i++) {
		series.buckets[i] = page_get(front->latency[i]);
		ends[i] = i < ARRAY_LEN(ends_us) ? ends_us[i] * US : 0;
	}
	if (metrics_family(ret, "reckon_http_request_seconds", "histogram",
			   "From the head of a request to the last byte of its answer.", err) < 0)
		return (int)err->code;
	return write_series("reckon_http_request_seconds", NULL, NULL, ends, &series, ret, err);
}

static uint64_t tenant_value(const struct metrics_tenant *tenant, int which)
{
	const uint64_t values[] = { tenant->sessions, tenant->executions, tenant->cpu_ms * MS,
				    tenant->memory_bytes };

	return values[which];
}

static int write_tenants(const struct metrics_now *now, struct buf *ret, struct err *err)
{
	static const struct number families[] = {
		{ "reckon_tenant_sessions", "gauge", "Sessions of a tenant.", 0, 0 },
		{ "reckon_tenant_executions_total", "counter", "Executions of a tenant.", 0, 0 },
		{ "reckon_tenant_cpu_seconds_total", "counter", "CPU time of a tenant.", 0, 1 },
		{ "reckon_tenant_memory_bytes", "gauge",
		  "Memory of a tenant's sessions, as executions last found it.", 0, 0 },
	};

	for (int f = 0; f < (int)ARRAY_LEN(families); f++) {
		if (metrics_family(ret, families[f].name, families[f].type, families[f].help, err) <
		    0)
			return (int)err->code;
		for (size_t i = 0; i < now->tenant_count; i++) {
			const char *const labels[] = { "tenant", now->tenants[i].id, NULL };
			const uint64_t value = tenant_value(&now->tenants[i], f);

			if ((families[f].is_ns
				     ? metrics_sample_ns(ret, families[f].name, labels, value, err)
				     : metrics_sample(ret, families[f].name, labels, value, err)) <
			    0)
				return (int)err->code;
		}
	}
	return 0;
}

int metrics_write(const struct metrics *metrics, const struct metrics_now *now, struct buf *ret,
		  struct err *err)
{
	for (size_t i = 0; i < METRICS_COUNTER_COUNT_; i++)
		if (write_counter(metrics, i, ret, err) < 0)
			return (int)err->code;
	for (size_t i = 0; i < METRICS_HISTOGRAM_COUNT_; i++)
		if (write_histogram(metrics, i, ret, err) < 0)
			return (int)err->code;
	if (write_sessions(now, ret, err) < 0 || write_now(now, ret, err) < 0)
		return (int)err->code;
	return write_tenants(now, ret, err) < 0 ? (int)err->code : write_front(now, ret, err);
}
