/*
 * metrics.c - a sandbox's use of memory and processors, from the daemon's samples.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    queries from clients, samples from reckond.
 * Never:    invents values: all samples show the last measured use of the disk.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/e2b/e2b.h"

#define ANSWER_MAX (1u << 20)
#define MIB (1024u * 1024u)
#define DISK_DEFAULT (MIB * UINT64_C(1024))
#define MEMORY_DEFAULT (MIB * UINT64_C(1024))

#define SANDBOXES_MAX 100u /* in one request */
#define IDS_SIZE 8192u

struct window {
	double start, end; /* seconds since 1970; 0: no limit */
};

static void take_window(const struct e2b *e2b, struct window *ret)
{
	const char *query = request_head(e2b->request)->query;
	char name[32], value[64];
	struct err ignored;

	while (http_query_next(&query, name, sizeof(name), value, sizeof(value), &ignored) > 0) {
		if (strcmp(name, "start") == 0)
			ret->start = strtod(value, NULL);
		else if (strcmp(name, "end") == 0)
			ret->end = strtod(value, NULL);
	}
}

/* One sample, with the sandbox's limits. */
struct sample {
	double t, percent; /* seconds since 1970; of one processor */
	uint64_t memory, disk;
	uint64_t cpu_count, memory_total, disk_total;
};

static void write_percent(struct json_writer *json, const char *key, double percent)
{
	/* Cuts it to hundredths; json_write_seconds() writes billionths as a decimal number. */
	const double bounded = percent < 0 ? 0 : percent > 1e6 ? 1e6 : percent;

	json_write_key(json, key);
	json_write_seconds(json, (uint64_t)(bounded * 100) * UINT64_C(10000000));
}

static void write_sample(struct json_writer *json, const struct sample *sample)
{
	json_write_object_begin(json);
	e2b_write_moment(json, "timestamp", (uint64_t)(sample->t * 1000));
	json_write_member_uint(json, "timestampUnix", (uint64_t)sample->t);
	json_write_member_uint(json, "cpuCount", sample->cpu_count);
	write_percent(json, "cpuUsedPct", sample->percent);
	json_write_member_uint(json, "memUsed", sample->memory);
	json_write_member_uint(json, "memTotal", sample->memory_total);
	json_write_member_uint(json, "memCache", 0);
	json_write_member_uint(json, "diskUsed", sample->disk);
	json_write_member_uint(json, "diskTotal", sample->disk_total);
	json_write_object_end(json);
}

/* Sets what does not depend on a sample: the limits, and the use of the disk. */
static void begin_sample(const struct api_limits *limits, const struct json_value *all,
			 struct sample *ret)
{
	int64_t disk = 0;

	(void)json_read_int(json_read_member(all, "workspace_bytes"), &disk);
	*ret = (struct sample){
		.disk = disk > 0 ? (uint64_t)disk : 0,
		.cpu_count = limits->cpu_percent != 0 ? (limits->cpu_percent + 99) / 100 : 1,
		.memory_total = limits->memory_bytes != 0 ? limits->memory_bytes : MEMORY_DEFAULT,
		.disk_total = limits->disk_bytes != 0 ? limits->disk_bytes : DISK_DEFAULT,
	};
}

/* Reads sample number `at`. *cpu_s and sample->t come in with the values of the sample before, from
 * which it computes the percentage; the first sample has 0. */
static void take_sample(const struct json_value *samples, size_t at, double *cpu_s,
			struct sample *sample)
{
	const struct json_value *from = json_read_at(samples, at);
	const double before_t = sample->t, before_cpu = *cpu_s;
	int64_t memory = 0;

	(void)json_read_double(json_read_member(from, "t"), &sample->t);
	(void)json_read_double(json_read_member(from, "cpu_s"), cpu_s);
	(void)json_read_int(json_read_member(from, "memory_bytes"), &memory);
	sample->memory = memory > 0 ? (uint64_t)memory : 0;
	sample->percent = before_t > 0 && sample->t > before_t
				  ? (*cpu_s - before_cpu) / (sample->t - before_t) * 100
				  : 0;
}

static void write_samples(struct json_writer *json, const struct api_limits *limits,
			  const struct json_value *all, const struct window *window)
{
	const struct json_value *samples = json_read_member(all, "samples");
	struct sample sample;
	double cpu_s = 0;

	begin_sample(limits, all, &sample);
	for (size_t i = 0; i < json_read_count(samples); i++) {
		take_sample(samples, i, &cpu_s, &sample);
		if (sample.t >= window->start && (window->end <= 0 || sample.t <= window->end))
			write_sample(json, &sample);
	}
}

/* The samples of a sandbox, and the calls whose replies they come from. */
struct metrics {
	struct json_value *all;
	struct call shown, call;
	struct api_session session;
};
#define METRICS_INIT ((struct metrics){ .shown = CALL_INIT, .call = CALL_INIT })

static void metrics_done(struct metrics *metrics)
{
	json_read_free(metrics->all);
	call_done(&metrics->shown);
	call_done(&metrics->call);
}
#define cleanup_metrics __attribute__((cleanup(metrics_done)))

static enum call_status fetch(const struct e2b *e2b, const char *id, struct metrics *ret)
{
	struct api_session_metrics_out out;
	struct err ignored;
	enum call_status status =
		call_make(e2b->request, API_SESSION_SHOW,
			  &(struct api_session_show_in){ .session = id }, &ret->session,
			  &ret->shown);

	if (status == CALL_OK)
		status = call_make(e2b->request, API_SESSION_METRICS,
				   &(struct api_session_metrics_in){ .session = id }, &out,
				   &ret->call);
	if (status == CALL_OK)
		(void)json_read_parse(out.samples.data, out.samples.len, ANSWER_MAX, &ret->all,
				      &ignored);
	return status;
}

static bool fetch_or_refuse(const struct e2b *e2b, const char *id, struct metrics *ret)
{
	const enum call_status status = fetch(e2b, id, ret);

	if (status == CALL_FAILED)
		call_refuse(e2b->request, ret->shown.failure != NULL ? ret->shown.failure
								     : ret->call.failure);
	return status == CALL_OK;
}

void e2b_metrics(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_metrics struct metrics metrics = METRICS_INIT;
	struct window window = { 0 };
	struct json_writer json;
	char id[E2B_ID_SIZE];

	e2b_session_id(e2b->part[1], id);
	take_window(e2b, &window);
	if (!fetch_or_refuse(e2b, id, &metrics))
		return;
	json_write_init(&json, &body);
	json_write_array_begin(&json);
	write_samples(&json, metrics.session.limits, metrics.all, &window);
	json_write_array_end(&json);
	e2b_answer_json(e2b, 200, &json, NULL);
}

/* ---- several sandboxes ---------------------------------------------------------------------- */

/* Reads `sandbox_ids`, each id once; false: too many or none, or the query is malformed. */
static bool take_ids(const struct e2b *e2b, const char **ids, size_t *ret_count)
{
	const char *query = request_head(e2b->request)->query;
	char *value = arena_new(e2b->arena, 1, IDS_SIZE), *rest, name[32];
	struct err ignored;
	size_t count = 0;
	int more;

	while ((more = http_query_next(&query, name, sizeof(name), value, IDS_SIZE, &ignored)) >
	       0) {
		if (strcmp(name, "sandbox_ids") != 0)
			continue;
		for (char *id = strtok_r(value, ",", &rest); id != NULL;
		     id = strtok_r(NULL, ",", &rest)) {
			size_t at = 0;

			while (at < count && strcmp(ids[at], id) != 0)
				at++;
			if (at == SANDBOXES_MAX)
				return false;
			if (at == count)
				ids[count++] = arena_text(e2b->arena, id, strlen(id));
		}
	}
	*ret_count = count;
	return more == 0 && count > 0;
}

static void write_last(struct json_writer *json, const char *sandbox, struct metrics *metrics)
{
	const struct json_value *samples = json_read_member(metrics->all, "samples");
	const size_t count = json_read_count(samples);
	struct window window = { 0 };

	if (count == 0)
		return;
	(void)json_read_double(json_read_member(json_read_at(samples, count - 1), "t"),
			       &window.start);
	json_write_key(json, sandbox);
	write_samples(json, metrics->session.limits, metrics->all, &window);
}

/* Answers with each sandbox's last sample, by id; leaves out sandboxes that do not exist or have no
 * sample. */
void e2b_metrics_of_several(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	const char **ids = arena_new(e2b->arena, SANDBOXES_MAX, sizeof(*ids));
	struct json_writer json;
	size_t count;

	if (!take_ids(e2b, ids, &count)) {
		e2b_refuse(e2b, 400, "sandbox_ids has 1 to 100 ids, with commas between them");
		return;
	}
	if (call_check_key(e2b->request) < 0)
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_key(&json, "sandboxes");
	json_write_object_begin(&json);
	for (size_t i = 0; i < count; i++) {
		cleanup_metrics struct metrics metrics = METRICS_INIT;
		char id[E2B_ID_SIZE];
		enum call_status status;

		e2b_session_id(ids[i], id);
		status = fetch(e2b, id, &metrics);
		if (status == CALL_GONE)
			return;
		if (status == CALL_OK)
			write_last(&json, ids[i], &metrics);
	}
	json_write_object_end(&json);
	json_write_object_end(&json);
	e2b_answer_json(e2b, 200, &json, NULL);
}

/* ---- in envd's format ----------------------------------------------------------------------- */

static void write_of_envd(struct json_writer *json, const struct sample *sample)
{
	json_write_object_begin(json);
	json_write_member_uint(json, "ts", (uint64_t)sample->t);
	json_write_member_uint(json, "cpu_count", sample->cpu_count);
	write_percent(json, "cpu_used_pct", sample->percent);
	json_write_member_uint(json, "mem_total", sample->memory_total);
	json_write_member_uint(json, "mem_used", sample->memory);
	json_write_member_uint(json, "mem_cache", 0);
	json_write_member_uint(json, "mem_total_mib", sample->memory_total / MIB);
	json_write_member_uint(json, "mem_used_mib", sample->memory / MIB);
	json_write_member_uint(json, "disk_used", sample->disk);
	json_write_member_uint(json, "disk_total", sample->disk_total);
	json_write_object_end(json);
}

/* Answers with the last sample; without one, with zeros and the current time. */
void e2b_metrics_of_envd(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_metrics struct metrics metrics = METRICS_INIT;
	const struct json_value *samples;
	struct json_writer json;
	struct sample sample;
	double cpu_s = 0;

	if (!fetch_or_refuse(e2b, e2b->target.session, &metrics) ||
	    !e2b_is_awake(e2b, &metrics.session))
		return;
	samples = json_read_member(metrics.all, "samples");
	begin_sample(metrics.session.limits, metrics.all, &sample);
	for (size_t i = 0; i < json_read_count(samples); i++)
		take_sample(samples, i, &cpu_s, &sample);
	if (sample.t <= 0)
		sample.t = (double)clock_wall_ms() / 1000;
	json_write_init(&json, &body);
	write_of_envd(&json, &sample);
	e2b_answer_json(e2b, 200, &json, NULL);
}
