/*
 * prompts.c - /get_prompts, /get_prompt_by_id, /list_ids, /get_metrics: for the rows of a request.
 *
 * Runs in:  reckon-front-sandboxfusion.
 * Reads:    tasks and labels of any client.
 * Never:    stores data sets: their rows come with the request, as `provided_data`.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/sandboxfusion/sandboxfusion.h"

#define ROWS_MAX 100000u
#define LIMIT 1000000

/* Added to a task's text; the name of the language goes between. */
#define TASK_BEFORE "\n\nWrite a complete program"
#define TASK_BEHIND ". It reads from standard input and writes to standard output."

static int refuse(struct request *request, const char *message)
{
	answer_refuse_simple(request, 400, "dataset", message, NULL);
	return -1;
}

/* Whether the row has an id and a text, and labels in a valid form: none, an object, or text. */
static bool is_row(const struct json_value *row)
{
	const enum json_kind id = json_read_kind(json_read_member(row, "id"));
	const enum json_kind labels = json_read_kind(json_read_member(row, "labels"));

	return (id == JSON_KIND_STRING || id == JSON_KIND_NUMBER) &&
	       json_read_text(json_read_member(row, "content"), NULL) != NULL &&
	       (labels == JSON_KIND_NULL || labels == JSON_KIND_OBJECT ||
		labels == JSON_KIND_STRING);
}

static void write_labels(struct json_writer *json, const struct json_value *labels)
{
	size_t len = 0;
	const char *text = json_read_text(labels, &len);
	struct json_value *parsed = NULL;
	struct err err;

	json_write_key(json, "labels");
	if (text != NULL && json_read_parse(text, len, FUSION_BODY_MAX, &parsed, &err) == 0)
		labels = parsed;
	if (json_read_kind(labels) == JSON_KIND_OBJECT) {
		fusion_write_value(json, labels);
	} else {
		json_write_object_begin(json);
		json_write_object_end(json);
	}
	json_read_free(parsed);
}

static void write_prompt(struct json_writer *json, const struct json_value *row,
			 const struct json_value *config)
{
	cleanup_buf struct buf prompt = BUF_INIT(FUSION_BODY_MAX + 1024);
	const char *language = json_read_text(json_read_member(config, "language"), NULL);
	size_t len = 0;
	const char *content = json_read_text(json_read_member(row, "content"), &len);
	struct err err;

	if (buf_add(&prompt, content, len, &err) < 0 || buf_adds(&prompt, TASK_BEFORE, &err) < 0 ||
	    (language != NULL && buf_addf(&prompt, &err, " in %.40s", language) < 0) ||
	    buf_adds(&prompt, TASK_BEHIND, &err) < 0)
		return;
	json_write_object_begin(json);
	json_write_key(json, "id");
	fusion_write_value(json, json_read_member(row, "id"));
	json_write_member_text(json, "prompt", buf_text(&prompt), prompt.len);
	write_labels(json, json_read_member(row, "labels"));
	json_write_object_end(json);
}

/* ---- many ----------------------------------------------------------------------------------- */

struct page {
	const struct json_value *config, *rows;
	size_t from, to;
};

static int read_number(struct request *request, const struct json_value *body, const char *field,
		       int64_t *ret)
{
	const struct json_value *value = json_read_member(body, field);

	if (json_read_kind(value) == JSON_KIND_NULL ||
	    (json_read_int(value, ret) && *ret >= 0))
		return 0;
	return fusion_refuse_field(request, field, "Input should be a valid integer, at least 0");
}

static int read_page(struct request *request, const struct json_value *body, struct page *ret)
{
	int64_t offset = 0, limit = LIMIT;
	size_t count;

	ret->config = json_read_member(body, "config");
	if (fusion_check_dataset(request, body, ret->config) < 0 ||
	    read_number(request, body, "offset", &offset) < 0 ||
	    read_number(request, body, "limit", &limit) < 0)
		return -1;
	ret->rows = json_read_member(ret->config, "provided_data");
	count = json_read_count(ret->rows);
	if (json_read_kind(ret->rows) == JSON_KIND_NULL)
		return refuse(request, "no data of a dataset is kept here: send provided_data");
	if (json_read_kind(ret->rows) != JSON_KIND_ARRAY || count > ROWS_MAX)
		return refuse(request, "provided_data should be a list of at most 100000 rows");
	ret->from = (uint64_t)offset < count ? (size_t)offset : count;
	ret->to = (uint64_t)limit < count - ret->from ? ret->from + (size_t)limit : count;
	for (size_t i = ret->from; i < ret->to; i++)
		if (!is_row(json_read_at(ret->rows, i)))
			return refuse(request, "each row of provided_data needs id, content and "
					       "maybe labels");
	return 0;
}

static void answer_page(struct request *request, const struct page *page, bool ids_alone)
{
	cleanup_buf struct buf text = BUF_INIT(FUSION_ANSWER_MAX);
	struct json_writer json;

	json_write_init(&json, &text);
	json_write_array_begin(&json);
	for (size_t i = page->from; i < page->to; i++) {
		const struct json_value *row = json_read_at(page->rows, i);

		if (ids_alone)
			fusion_write_value(&json, json_read_member(row, "id"));
		else
			write_prompt(&json, row, page->config);
	}
	json_write_array_end(&json);
	fusion_answer(request, &json, &text);
}

static void many(struct request *request, bool ids_alone)
{
	struct json_value *body;
	struct page page;

	if (call_json_body(request, FUSION_BODY_MAX, &body) < 0)
		return;
	if (read_page(request, body, &page) == 0)
		answer_page(request, &page, ids_alone);
	json_read_free(body);
}

void fusion_get_prompts(struct request *request)
{
	many(request, false);
}

void fusion_list_ids(struct request *request)
{
	many(request, true);
}

/* ---- one ------------------------------------------------------------------------------------ */

static int check_one(struct request *request, const struct json_value *body,
		     const struct json_value *row)
{
	const enum json_kind id = json_read_kind(json_read_member(body, "id"));

	if (id != JSON_KIND_STRING && id != JSON_KIND_NUMBER)
		return fusion_refuse_field(request, "id", "Field required");
	if (json_read_kind(row) == JSON_KIND_NULL)
		return refuse(request, "no data of a dataset is kept here: send provided_data");
	return is_row(row) ? 0
			   : refuse(request, "provided_data should be one row: id, content and "
					     "maybe labels");
}

void fusion_get_prompt_by_id(struct request *request)
{
	cleanup_buf struct buf text = BUF_INIT(FUSION_ANSWER_MAX);
	const struct json_value *config, *row;
	struct json_writer json;
	struct json_value *body;

	if (call_json_body(request, FUSION_BODY_MAX, &body) < 0)
		return;
	config = json_read_member(body, "config");
	row = json_read_member(config, "provided_data");
	if (fusion_check_dataset(request, body, config) == 0 &&
	    check_one(request, body, row) == 0) {
		json_write_init(&json, &text);
		write_prompt(&json, row, config);
		fusion_answer(request, &json, &text);
	}
	json_read_free(body);
}

/* ---- metrics: this kind of data set has none but which answers were accepted ---------------- */

static void metrics(struct request *request, bool needs_results, const char *answer)
{
	cleanup_buf struct buf text = BUF_INIT(64);
	struct json_value *body;
	struct err err;

	if (call_json_body(request, FUSION_BODY_MAX, &body) < 0)
		return;
	if (fusion_check_dataset(request, body, json_read_member(body, "config")) == 0) {
		if (needs_results &&
		    json_read_kind(json_read_member(body, "results")) != JSON_KIND_ARRAY)
			(void)fusion_refuse_field(request, "results",
						  "Input should be a valid list");
		else if (buf_adds(&text, answer, &err) == 0)
			answer_text(request, 200, FUSION_JSON, &text, NULL);
	}
	json_read_free(body);
}

void fusion_get_metrics(struct request *request)
{
	metrics(request, true, "{}");
}

void fusion_get_metrics_function(struct request *request)
{
	metrics(request, false, "{\"function\":null}");
}
