/*
 * status.c - the progress of a build, and its log.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    queries from clients; logs that builds wrote.
 * Never:    answers more than PAGE entries at once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/template/template.h"

#define ANSWER_MAX (2u << 20)
#define PAGE 100u
#define REASON_ENTRIES 20u

struct page {
	uint64_t offset, limit;
	unsigned least; /* the lowest level that is answered */
};

static const char *const levels[] = { "debug", "info", "warn", "error" };

static unsigned level_of(const char *name)
{
	for (unsigned i = 0; i < ARRAY_LEN(levels); i++)
		if (strcmp(levels[i], name) == 0)
			return i;
	return ARRAY_LEN(levels);
}

static bool take_number(const char *value, uint64_t *ret)
{
	char *end;

	*ret = strtoull(value, &end, 10);
	return value[0] >= '0' && value[0] <= '9' && *end == '\0' && strlen(value) < 16;
}

static bool take_page(const struct e2b *e2b, struct page *ret)
{
	const char *query = request_head(e2b->request)->query;
	char name[64], value[64];
	struct err ignored;
	bool good = true;
	int more;

	*ret = (struct page){ .limit = PAGE };
	while (good && (more = http_query_next(&query, name, sizeof(name), value, sizeof(value),
					       &ignored)) > 0) {
		if (strcmp(name, "logsOffset") == 0)
			good = take_number(value, &ret->offset);
		else if (strcmp(name, "limit") == 0)
			good = take_number(value, &ret->limit) && ret->limit <= PAGE;
		else if (strcmp(name, "level") == 0)
			good = (ret->least = level_of(value)) < ARRAY_LEN(levels);
	}
	if (good && more == 0)
		return true;
	e2b_refuse(e2b, 400, "logsOffset is a number, limit one up to 100, level one of debug, info, "
			     "warn, error");
	return false;
}

static void write_entries(struct json_writer *json, const char *key,
			  const struct script_output *output, const struct page *page)
{
	uint64_t at = 0, count = 0;

	json_write_key(json, key);
	json_write_array_begin(json);
	for (size_t i = 0; i < output->count && count < page->limit; i++) {
		if (level_of(output->entries[i].level) < page->least || at++ < page->offset)
			continue;
		template_write_entry(json, &output->entries[i]);
		count++;
	}
	json_write_array_end(json);
}

static void write_reason(struct json_writer *json, const struct build *build,
			 const struct script_output *output)
{
	const uint64_t from = output->count > REASON_ENTRIES ? output->count - REASON_ENTRIES : 0;

	json_write_key(json, "reason");
	json_write_object_begin(json);
	json_write_member_string(json, "message", build->why);
	if (build->step != NULL)
		json_write_member_string(json, "step", build->step);
	write_entries(json, "logEntries", output,
		      &(struct page){ .offset = from, .limit = REASON_ENTRIES });
	json_write_object_end(json);
}

static const char *status_of(const struct build *build)
{
	return strcmp(build->status, "finishing") == 0 ? "building" : build->status;
}

static void write_status(struct json_writer *json, const struct build *build,
			 const struct script_output *output, const struct page *page)
{
	json_write_object_begin(json);
	json_write_member_string(json, "templateID", build->template);
	json_write_member_string(json, "buildID", build->id);
	json_write_member_string(json, "status", status_of(build));
	json_write_key(json, "logs");
	json_write_array_begin(json);
	json_write_array_end(json);
	write_entries(json, "logEntries", output, page);
	if (build->why != NULL)
		write_reason(json, build, output);
	json_write_object_end(json);
}

void template_status(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	struct template_name name;
	struct json_writer json;
	struct build build;
	struct page page;
	struct script_output output = { 0 };
	int code;

	if (!take_page(e2b, &page))
		return;
	code = build_get(e2b, e2b->part[3], &build);
	if (code < 0)
		return;
	if (code == 0 || !template_name_of(e2b->part[1], &name) ||
	    strcmp(name.name, build.template) != 0) {
		e2b_refuse(e2b, 404, "there is no such build");
		return;
	}
	if (template_settle(e2b, &build, &output) < 0)
		return;
	json_write_init(&json, &body);
	if (strcmp(e2b->part[4], "status") == 0) {
		write_status(&json, &build, &output, &page);
	} else {
		json_write_object_begin(&json);
		write_entries(&json, "logs", &output, &page);
		json_write_object_end(&json);
	}
	e2b_answer_json(e2b, 200, &json, NULL);
}
