/*
 * metrics.c - what a sandbox used: memory and processors, as the daemon samples them.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    a query of anybody, samples of reckond.
 * Never:    makes up what was not measured: of the disk there is the last measurement alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/e2b.h"

#define ANSWER_MAX (1u << 20)
#define DISK_DEFAULT (1024u * 1024u * UINT64_C(1024))
#define MEMORY_DEFAULT (1024u * 1024u * UINT64_C(1024))

struct window {
	double start, end; /* seconds since 1970; 0: open */
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

static void write_percent(struct json_writer *json, double percent)
{
	/* In hundredths; json_write_seconds() writes what is left of the point. */
	const double bounded = percent < 0 ? 0 : percent > 1e6 ? 1e6 : percent;

	json_write_key(json, "cpuUsedPct");
	json_write_seconds(json, (uint64_t)(bounded * 100) * UINT64_C(10000000));
}

static void write_sample(struct json_writer *json, const struct api_limits *limits, double t,
			 uint64_t memory, double percent, uint64_t disk)
{
	json_write_object_begin(json);
	e2b_write_moment(json, "timestamp", (uint64_t)(t * 1000));
	json_write_member_uint(json, "timestampUnix", (uint64_t)t);
	json_write_member_uint(json, "cpuCount",
			       limits->cpu_percent != 0 ? (limits->cpu_percent + 99) / 100 : 1);
	write_percent(json, percent);
	json_write_member_uint(json, "memUsed", memory);
	json_write_member_uint(json, "memTotal",
			       limits->memory_bytes != 0 ? limits->memory_bytes : MEMORY_DEFAULT);
	json_write_member_uint(json, "memCache", 0);
	json_write_member_uint(json, "diskUsed", disk);
	json_write_member_uint(json, "diskTotal",
			       limits->disk_bytes != 0 ? limits->disk_bytes : DISK_DEFAULT);
	json_write_object_end(json);
}

static void write_samples(struct json_writer *json, const struct api_limits *limits,
			  const struct json_value *all, const struct window *window)
{
	const struct json_value *samples = json_read_member(all, "samples");
	double before_t = 0, before_cpu = 0;
	int64_t disk = 0;

	(void)json_read_int(json_read_member(all, "workspace_bytes"), &disk);

	for (size_t i = 0; i < json_read_count(samples); i++) {
		const struct json_value *sample = json_read_at(samples, i);
		double t = 0, cpu = 0, percent = 0;
		int64_t memory = 0;

		(void)json_read_double(json_read_member(sample, "t"), &t);
		(void)json_read_double(json_read_member(sample, "cpu_s"), &cpu);
		(void)json_read_int(json_read_member(sample, "memory_bytes"), &memory);
		if (before_t > 0 && t > before_t)
			percent = (cpu - before_cpu) / (t - before_t) * 100;
		before_t = t;
		before_cpu = cpu;
		if (t < window->start || (window->end > 0 && t > window->end))
			continue;
		write_sample(json, limits, t, memory > 0 ? (uint64_t)memory : 0, percent,
			     disk > 0 ? (uint64_t)disk : 0);
	}
}

void e2b_metrics(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call shown = CALL_INIT, call = CALL_INIT;
	cleanup_json struct json_value *all = NULL;
	struct api_session_metrics_out out;
	struct window window = { 0 };
	struct api_session session;
	struct json_writer json;
	char id[E2B_ID_SIZE];
	struct err err;

	e2b_session_id(e2b->part[1], id);
	take_window(e2b, &window);
	if (call_or_refuse(e2b->request, API_SESSION_SHOW,
			   &(struct api_session_show_in){ .session = id }, &session, &shown) < 0 ||
	    call_or_refuse(e2b->request, API_SESSION_METRICS,
			   &(struct api_session_metrics_in){ .session = id }, &out, &call) < 0)
		return;
	if (json_read_parse(out.samples.data, out.samples.len, ANSWER_MAX, &all, &err) < 0) {
		e2b_refuse(e2b, 500, err.text);
		return;
	}
	json_write_init(&json, &body);
	json_write_array_begin(&json);
	write_samples(&json, session.limits, all, &window);
	json_write_array_end(&json);
	e2b_answer_json(e2b, 200, &json, NULL);
}
