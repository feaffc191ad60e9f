/*
 * submit.c - /submit: the code in a model's answer, compiled once and run for each test.
 *
 * Runs in:  reckon-front-sandboxfusion.
 * Reads:    answers of models, tests of any client, output of hostile programs.
 * Never:    stores data sets: the request has the tests, as `provided_data`.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/sandboxfusion/sandboxfusion.h"

#define DATASET "CommonOJDataset"
#define INTERPRETED_MS 20000u
#define TESTS_MAX 1000u
#define SHOWN_MAX 1000u /* bytes shown of each text of a test that passed */
#define SHOWN_CUT "..."

struct submission {
	struct request *request;
	const struct json_value *body, *config, *tests;
	struct fusion_code code;
	const char *text; /* NULL: the answer has no code */
	size_t len;
	struct buf extracted; /* by the grader's logic; `text` may be in it */
	bool runs_all, shows_all;
	bool is_accepted;
};

/* Writes both ends of a text, without cutting a character. */
static void write_shown(struct json_writer *json, const char *key, const char *text, size_t len)
{
	const size_t part = (SHOWN_MAX - strlen(SHOWN_CUT)) / 2;
	cleanup_buf struct buf shown = BUF_INIT(2 * SHOWN_MAX);
	size_t head = part, tail = len - part;
	struct err err;

	while (head > 0 && ((unsigned char)text[head] & 0xc0) == 0x80)
		head--;
	while (tail < len && ((unsigned char)text[tail] & 0xc0) == 0x80)
		tail++;
	if (buf_add(&shown, text, head, &err) == 0 && buf_adds(&shown, SHOWN_CUT, &err) == 0 &&
	    buf_add(&shown, text + tail, len - tail, &err) == 0)
		json_write_member_text(json, key, buf_text(&shown), shown.len);
}

/* `input` or `output` of a test: long texts are cut. */
static void write_streams(struct json_writer *json, const struct json_value *streams)
{
	const struct json_value *value;
	const char *key;

	json_write_object_begin(json);
	for (size_t i = 0; json_read_member_at(streams, i, &key, &value); i++) {
		size_t len = 0;
		const char *text = json_read_text(value, &len);

		if (text != NULL && len > SHOWN_MAX) {
			write_shown(json, key, text, len);
			continue;
		}
		json_write_key(json, key);
		fusion_write_value(json, value);
	}
	json_write_object_end(json);
}

static void write_info(struct json_writer *json, const struct json_value *test, bool is_whole)
{
	const struct json_value *value;
	const char *key;

	json_write_key(json, "test_info");
	if (is_whole || json_read_kind(test) != JSON_KIND_OBJECT) {
		fusion_write_value(json, test);
		return;
	}
	json_write_object_begin(json);
	for (size_t i = 0; json_read_member_at(test, i, &key, &value); i++) {
		json_write_key(json, key);
		if (json_read_kind(value) == JSON_KIND_OBJECT &&
		    (strcmp(key, "input") == 0 || strcmp(key, "output") == 0))
			write_streams(json, value);
		else
			fusion_write_value(json, value);
	}
	json_write_object_end(json);
}

static void write_test(struct json_writer *json, const struct submission *submission,
		       const struct json_value *test, bool passed)
{
	json_write_object_begin(json);
	json_write_member_bool(json, "passed", passed);
	json_write_key(json, "exec_info");
	json_write_object_begin(json);
	fusion_write_outcome(json, &submission->code);
	json_write_key(json, "files");
	json_write_object_begin(json);
	json_write_object_end(json);
	json_write_object_end(json);
	/* Show a failed test whole, because people will look at it. */
	write_info(json, test, !passed || submission->shows_all);
	json_write_object_end(json);
}

/* 1: passed, 0: failed. */
static int run_test(struct submission *submission, const struct json_value *test)
{
	struct program_code *code = &submission->code.code;
	size_t input_len = 0, want_len = 0;
	const char *input = json_read_text(
		json_read_member(json_read_member(test, "input"), "stdin"), &input_len);
	const char *want = json_read_text(
		json_read_member(json_read_member(test, "output"), "stdout"), &want_len);

	if (!program_code_may_run(code))
		return 0;
	if (program_code_run(code, "", input, input_len) < 0)
		return -1;
	return fusion_is_good(&code->ran) && want != NULL &&
	       fusion_is_expected(buf_text(&code->ran.out), code->ran.out.len, want, want_len);
}

static int run_tests(struct submission *submission, struct json_writer *json)
{
	const size_t count = json_read_count(submission->tests);
	int passed = 1;

	submission->is_accepted = submission->text != NULL;
	if (submission->text == NULL)
		return 0;
	if (!submission->code.code.is_missing &&
	    (fusion_code_open(&submission->code, submission->request) < 0 ||
	     program_code_compile(&submission->code.code, submission->text, submission->len) < 0))
		return -1;
	for (size_t i = 0; i < count && (passed == 1 || submission->runs_all); i++) {
		const struct json_value *test = json_read_at(submission->tests, i);

		passed = run_test(submission, test);
		if (passed < 0)
			return -1;
		write_test(json, submission, test, passed == 1);
		submission->is_accepted = submission->is_accepted && passed == 1;
	}
	return 0;
}

static void answer(struct submission *submission)
{
	cleanup_buf struct buf body = BUF_INIT(FUSION_ANSWER_MAX);
	cleanup_buf struct buf id = BUF_INIT(4096);
	const struct json_value *given = json_read_member(submission->body, "id");
	struct json_writer json;
	struct err err;

	if (json_read_dump(given, &id, &err) < 0) {
		(void)fusion_refuse_field(submission->request, "id", "Input should be shorter");
		return;
	}
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_key(&json, "id");
	json_write_raw(&json, buf_text(&id), id.len);
	json_write_key(&json, "tests");
	json_write_array_begin(&json);
	if (run_tests(submission, &json) < 0)
		return;
	json_write_array_end(&json);
	json_write_member_bool(&json, "accepted", submission->is_accepted);
	json_write_member_text(&json, "extracted_code",
			       submission->text != NULL ? submission->text : "", submission->len);
	json_write_member_string(&json, "extracted_type", NULL);
	json_write_member_string(&json, "full_code", NULL);
	json_write_member_string(&json, "test_code", NULL);
	json_write_object_end(&json);
	fusion_answer(submission->request, &json, &body);
}

/* ---- a request ------------------------------------------------------------------------------ */

static const struct json_value *tests_of(const struct json_value *config)
{
	return json_read_member(json_read_member(config, "provided_data"), "test");
}

/* The kind of the data set: `dataset_type` if given; else `dataset`, the name of a stored data
 * set. */
int fusion_check_dataset(struct request *request, const struct json_value *body,
			 const struct json_value *config)
{
	const char *type = json_read_text(json_read_member(config, "dataset_type"), NULL);
	char message[160];

	if (type == NULL)
		type = json_read_text(json_read_member(body, "dataset"), NULL);
	if (type == NULL)
		return fusion_refuse_field(request, "dataset", "Field required");
	if (strcmp(type, DATASET) == 0)
		return 0;
	(void)snprintf(message, sizeof(message), "no eval class found for dataset %.100s", type);
	answer_refuse_simple(request, 400, "dataset", message, NULL);
	return -1;
}

/* Finds the code between fences; code that the grader's logic finds takes precedence. */
static int find_code(struct submission *submission, const char *completion, size_t len)
{
	struct fusion_extraction order = { .request = submission->request,
					   .language = submission->code.language,
					   .completion = completion,
					   .completion_len = len };
	const struct json_value *logic =
		json_read_member(submission->config, "custom_extract_logic");
	bool found = false;

	order.has_fenced = fusion_find_code(completion, len, submission->code.language,
					    submission->code.code.language, &submission->text,
					    &submission->len);
	if (json_read_kind(logic) == JSON_KIND_NULL)
		return 0;
	order.logic = json_read_text(logic, &order.logic_len);
	if (order.logic == NULL)
		return fusion_refuse_field(submission->request, "custom_extract_logic",
					   "Input should be a valid string");
	if (fusion_extract(&order, &submission->extracted, &found) < 0)
		return -1;
	if (found) {
		submission->text = buf_text(&submission->extracted);
		submission->len = submission->extracted.len;
	}
	return 0;
}

static int read_config(struct submission *submission)
{
	const struct json_value *extra = json_read_member(submission->config, "extra");
	const struct json_value *config = submission->config;
	struct program_code *code = &submission->code.code;
	struct request *request = submission->request;
	size_t len;
	const char *completion = json_read_text(json_read_member(submission->body, "completion"),
						&len);

	submission->tests = tests_of(config);
	if (completion == NULL)
		return fusion_refuse_field(request, "completion", "Input should be a valid string");
	if (json_read_kind(submission->tests) != JSON_KIND_ARRAY ||
	    json_read_count(submission->tests) > TESTS_MAX)
		return fusion_refuse_field(request, "provided_data",
					   "test should be an array of at most 1000 tests");
	if (fusion_read_seconds(request, config, "compile_timeout", &code->compile_ms) < 0 ||
	    fusion_read_seconds(request, config, "run_timeout", &code->run_ms) < 0)
		return -1;
	(void)json_read_bool(json_read_member(extra, "run_all_cases"), &submission->runs_all);
	(void)json_read_bool(json_read_member(extra, "return_full_case"), &submission->shows_all);
	return find_code(submission, completion, len);
}

static void submit(struct request *request, const struct json_value *body)
{
	struct submission submission = { .request = request,
					 .body = body,
					 .config = json_read_member(body, "config"),
					 .extracted = BUF_INIT(FUSION_BODY_MAX) };
	const char *name = json_read_text(json_read_member(submission.config, "language"), NULL);
	const struct fusion_language *language = fusion_language_find(name);

	if (fusion_check_dataset(request, body, submission.config) < 0)
		return;
	if (language == NULL) {
		answer_refuse_simple(request, 400, "dataset", "config.language is required", NULL);
		return;
	}
	fusion_code_init(&submission.code, language);
	if (language->is_interpreted)
		submission.code.code.run_ms = INTERPRETED_MS;
	if (read_config(&submission) == 0)
		answer(&submission);
	program_code_done(&submission.code.code);
	buf_done(&submission.extracted);
}

void fusion_submit(struct request *request)
{
	struct json_value *body;

	if (call_json_body(request, FUSION_BODY_MAX, &body) < 0)
		return;
	submit(request, body);
	json_read_free(body);
}
