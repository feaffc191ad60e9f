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

#define SANDBOXES_MAX 100u /* asked for at once */
#define IDS_SIZE 8192u

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

/* Of a sandbox: all samples of the window, or the last one. Negative: as of call_or_refuse(). */
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

void e2b_metrics(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_metrics struct metrics metrics = METRICS_INIT;
	struct window window = { 0 };
	struct json_writer json;
	char id[E2B_ID_SIZE];
	enum call_status status;

	e2b_session_id(e2b->part[1], id);
	take_window(e2b, &window);
	status = fetch(e2b, id, &metrics);
	if (status == CALL_FAILED)
		call_refuse(e2b->request, metrics.shown.failure != NULL ? metrics.shown.failure
									: metrics.call.failure);
	if (status != CALL_OK)
		return;
	json_write_init(&json, &body);
	json_write_array_begin(&json);
	write_samples(&json, metrics.session.limits, metrics.all, &window);
	json_write_array_end(&json);
	e2b_answer_json(e2b, 200, &json, NULL);
}

/* ---- of several ----------------------------------------------------------------------------- */

/* Appends the ids, each once; false: there are too many, or it was answered. */
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

/* The last sample of each, by its id. Those that are not there, or have none, are left out. */
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
