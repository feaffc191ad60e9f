/*
 * test_agent_client.c - the client of reckon-agent, with correct and with faulty agents.
 *
 * Runs in:  the unit suite; it executes itself as "reckon-agent" to be the agent, too.
 * Reads:    frames and records of its own.
 * Never:    asks a model.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "agent_client/record.h"

#define ENOUGH_MS 100
#define TURNS 600

/* ---- the agent: the name of its model selects its behaviour ---- */

static bool receive(struct kernel_head *head, struct buf *payload, struct kernel_item *items,
		 size_t *ret_count)
{
	struct err err;
	int count;

	if (agent_recv(AGENT_FD, head, payload, &err) != 1)
		return false;
	count = kernel_unpack(buf_text(payload), payload->len, head->field_count, items,
			      AGENT_FIELDS_MAX, &err);
	*ret_count = count < 0 ? 0 : (size_t)count;
	return count >= 0;
}

static void send_frame(enum agent_type type, uint64_t id, enum agent_tag tag, const void *data,
		       size_t len)
{
	cleanup_buf struct buf payload = BUF_INIT(1 << 20);
	struct err err;

	if (len > 0)
		(void)agent_pack(&payload, tag, data, len, &err);
	(void)agent_send(AGENT_FD, type, id, &payload, &err);
}

static void end(enum agent_stop stop, const char *text)
{
	cleanup_buf struct buf payload = BUF_INIT(1 << 20);
	const struct agent_usage usage = { .requests = 1, .in = 7 };
	struct err err;

	(void)agent_pack_u64(&payload, AGENT_TAG_STOP, stop, &err);
	(void)agent_pack(&payload, AGENT_TAG_USAGE, &usage, sizeof(usage), &err);
	(void)agent_pack_text(&payload, AGENT_TAG_TEXT, text, &err);
	(void)agent_pack_text(&payload, AGENT_TAG_MESSAGE, "said why", &err);
	(void)agent_send(AGENT_FD, AGENT_DONE, 0, &payload, &err);
}

/* Sends a received frame back as text: "TYPE/ID:", then " TAG=DATA(LENGTH)" for each field. */
static void echo(const struct kernel_head *head, const struct kernel_item *items, size_t count)
{
	cleanup_buf struct buf text = BUF_INIT(1 << 20);
	struct err err;

	(void)buf_addf(&text, &err, "%u/%u:", head->type, (unsigned)head->id);
	for (size_t i = 0; i < count; i++)
		(void)buf_addf(&text, &err, " %u=%.*s(%u)", items[i].tag,
			       items[i].len < 20 ? (int)items[i].len : 20, items[i].data,
			       items[i].len);
	send_frame(AGENT_TEXT, 0, AGENT_TAG_TEXT, buf_text(&text), text.len);
}

static bool is_called(const struct kernel_item *items, size_t count, const char *name)
{
	const struct kernel_item *model = agent_find(items, count, AGENT_TAG_MODEL);

	return model != NULL && model->len == strlen(name) &&
	       memcmp(model->data, name, model->len) == 0;
}

static void request_page(const char *handle, uint64_t id)
{
	static const struct agent_part part = { AGENT_UNIT_LINES, 2, 3, 0 };
	cleanup_buf struct buf payload = BUF_INIT(4096);
	struct err err;

	(void)agent_pack_text(&payload, AGENT_TAG_HANDLE, handle, &err);
	(void)agent_pack(&payload, AGENT_TAG_PART, &part, sizeof(part), &err);
	(void)agent_send(AGENT_FD, AGENT_PAGE, id, &payload, &err);
}

static int be_agent(void)
{
	static struct kernel_item items[AGENT_FIELDS_MAX];
	struct buf payload = BUF_INIT(64 << 20);
	struct kernel_head head;
	size_t count = 0;
	bool reads;

	if (!receive(&head, &payload, items, &count) || head.type != AGENT_START)
		return 1;
	reads = is_called(items, count, "reads");
	if (is_called(items, count, "gone"))
		return 0;
	if (is_called(items, count, "early"))
		send_frame(AGENT_EXECUTE, 1, AGENT_TAG_CODE, "1", 1);
	if (is_called(items, count, "deaf"))
		for (;;)
			(void)pause();
	send_frame(AGENT_READY, 0, 0, NULL, 0);
	while (receive(&head, &payload, items, &count)) {
		echo(&head, items, count);
		if (head.type == AGENT_ASK && reads)
			request_page("out_1", 8);
		else if (head.type == AGENT_PAGED && head.id == 8)
			send_frame(AGENT_EXECUTE, 9, AGENT_TAG_CODE, "6*7", 3);
		else if (head.type == AGENT_RESULT && reads)
			request_page("out_1", 10);
		else if (head.type == AGENT_PAGED)
			end(AGENT_STOP_ANSWER, "42");
		else if (head.type == AGENT_ASK)
			send_frame(AGENT_EXECUTE, 9, AGENT_TAG_CODE, "6*7", 3);
		else if (head.type == AGENT_RESULT)
			end(AGENT_STOP_ANSWER, "42");
		else
			end(AGENT_STOP_INTERRUPTED, "");
	}
	return 0;
}

/* ---- its parent ---- */

static struct agent_client *begin(const char *name, bool images)
{
	struct agent_client_model model = { .settings = { .images = images }, .model = name,
					.base_url = "https://there/v1", .key = "k" };
	struct agent_client *client = NULL;
	struct err err;

	assert_ok(&err, agent_client_open("/proc/self/exe", &model, &client, &err));
	return client;
}

/* Waits for the next frame; returns the result of agent_client_take(). */
static int next(struct agent_client *client, struct agent_client_frame *frame, struct err *err)
{
	int rc = 0;

	for (unsigned i = 0; i < TURNS && rc == 0; i++) {
		rc = agent_client_take(client, frame, err);
		if (rc == 0)
			agent_client_wait(client, -1, ENOUGH_MS);
	}
	return rc;
}

static void expect(struct agent_client *client, struct agent_client_frame *frame, unsigned type)
{
	struct err err;

	assert_int_equal(next(client, frame, &err), 1);
	assert_int_equal(frame->type, type);
}

static void expect_text(struct agent_client *client, const char *text)
{
	struct agent_client_frame frame;
	const char *got;
	size_t len;

	expect(client, &frame, AGENT_TEXT);
	got = agent_client_read_text(&frame, &len);
	assert_int_equal(len, strlen(text));
	assert_memory_equal(got, text, len);
}

UNIT_TEST(a_question_is_asked_and_answered)
{
	static const char *const files[] = { "a.csv (1 KB)", "b.csv (2 KB)" };
	const struct agent_client_result result = { .status = "error", .text = "Traceback", .len = 9,
						.repeat = 0 };
	struct agent_client *client = begin("good", false);
	struct agent_client_frame frame;
	struct agent_client_end ended;
	struct err err;
	const int fds = unit_open_fds();

	assert_int_equal(agent_client_state(client), AGENT_STATE_STARTING);
	for (unsigned i = 0; i < 2; i++) {
		if (i == 0)
			expect(client, &frame, AGENT_READY);
		assert_int_equal(agent_client_state(client), AGENT_STATE_IDLE);
		assert_ok(&err, agent_client_ask(client, "why?", 4, files, i == 0 ? 2 : 0, &err));
		expect_text(client,
			    i == 0 ? "2/0: 9=why?(4) 10=a.csv (1 KB)(12) 10=b.csv (2 KB)(12)"
				   : "2/0: 9=why?(4)");
		expect(client, &frame, AGENT_EXECUTE);
		assert_int_equal(agent_client_state(client), AGENT_STATE_RUNNING);
		assert_ok(&err, agent_client_answer(client, &result, &err));
		expect_text(client, "3/9: 11=error(5) 9=Traceback(9)");
		expect(client, &frame, AGENT_DONE);
		agent_client_read_end(&frame, &ended);
		assert_int_equal(ended.stop, AGENT_STOP_ANSWER);
		assert_int_equal(ended.usage.in, 7);
		assert_int_equal(ended.answer_len, 2);
		assert_memory_equal(ended.answer, "42", 2);
		assert_string_equal(ended.message, "said why");
		assert_string_equal(ended.remedy, "");
	}
	assert_int_equal(unit_open_fds(), fds);
	agent_client_close(client);
	assert_int_equal(unit_open_fds(), fds - 1);
}

/* An agent_client_open_fn. */
static int open_lines(const char *handle, int *ret_fd, struct err *err, void *arg)
{
	static const char lines[] = "one\ntwo\nthree\nfour\n";

	assert_string_equal(handle, "out_1");
	++*(unsigned *)arg;
	*ret_fd = memfd_create("lines", 0);
	if (*ret_fd < 0 || write(*ret_fd, lines, sizeof(lines) - 1) < 0)
		return err_sys(err, "lines");
	return 0;
}

UNIT_TEST(an_output_can_be_read_only_after_a_result_named_it)
{
	const struct agent_client_result result = { .status = "ok", .text = "cut", .len = 3,
						.handles = { "out_1", "out_1" }, .handle_count = 2 };
	const int fds = unit_open_fds();

	for (unsigned has_store = 0; has_store < 2; has_store++) {
		struct agent_client *client = begin("reads", false);
		struct agent_client_frame frame;
		unsigned opened = 0;
		struct err err;

		if (has_store)
			agent_client_pages(client, open_lines, &opened);
		expect(client, &frame, AGENT_READY);
		assert_ok(&err, agent_client_ask(client, "?", 1, NULL, 0, &err));
		expect_text(client, "2/0: 9=?(1)");
		/* No result has named an output yet. */
		expect_text(client, "10/8: 11=ok(2) 9=Error: no output of (58)");
		expect(client, &frame, AGENT_EXECUTE);
		assert_ok(&err, agent_client_answer(client, &result, &err));
		expect_text(client, "3/9: 11=ok(2) 9=cut(3)");
		expect_text(client, has_store ? "10/10: 11=ok(2) 9=two\nthree\n(10)"
					      : "10/10: 11=ok(2) 9=Error: outputs canno(40)");
		assert_int_equal(opened, has_store);
		expect(client, &frame, AGENT_DONE);
		agent_client_close(client);
	}
	assert_int_equal(unit_open_fds(), fds);
}

UNIT_TEST(an_interrupt_is_sent_once)
{
	struct agent_client *client = begin("good", false);
	struct agent_client_frame frame;
	struct err err;

	expect(client, &frame, AGENT_READY);
	assert_ok(&err, agent_client_ask(client, "why?", 4, NULL, 0, &err));
	expect(client, &frame, AGENT_TEXT);
	for (unsigned i = 0; i < 1000; i++)
		assert_ok(&err, agent_client_interrupt(client, &err));
	expect(client, &frame, AGENT_EXECUTE);
	/* The agent sent this call before it received the interrupt: it may be answered. */
	assert_ok(&err, agent_client_answer(
				client, &(struct agent_client_result){ .status = "ok", .text = "" },
				&err));
	expect_text(client, "4/0:");
	expect(client, &frame, AGENT_DONE);
	agent_client_close(client);
}

UNIT_TEST(oversized_text_is_cut_and_oversized_images_are_left_out)
{
	const size_t limit = AGENT_RESULT_MAX, len = limit + 100;
	char *text = mem_new0(len + 1, 1), *image = mem_new0(AGENT_IMAGE_MAX + 1, 1);
	struct agent_client_result result = { .status = "ok", .text = text, .len = len,
					  .repeat = 3, .image_count = AGENT_IMAGES_MAX };

	memset(text, 'a', limit - 1);
	memcpy(text + limit - 1, "\xc3\xa4", 2); /* the limit is within this letter */
	memset(image, 'A', AGENT_IMAGE_MAX);
	for (unsigned i = 0; i < AGENT_IMAGES_MAX; i++)
		result.images[i] = (struct agent_client_image){
			.mime = "image/png", .bytes = image, .is_encoded = i != 2,
			.len = i < 2 ? AGENT_IMAGE_MAX + i : 4 };
	for (unsigned with_images = 0; with_images < 2; with_images++) {
		struct agent_client *client = begin("good", with_images != 0);
		struct agent_client_frame frame;
		const char *got;
		struct err err;
		size_t got_len, images = 0;

		expect(client, &frame, AGENT_READY);
		assert_ok(&err, agent_client_ask(client, "?", 1, NULL, 0, &err));
		expect(client, &frame, AGENT_TEXT);
		expect(client, &frame, AGENT_EXECUTE);
		assert_ok(&err, agent_client_answer(client, &result, &err));
		expect(client, &frame, AGENT_TEXT);
		got = agent_client_read_text(&frame, &got_len);
		assert_non_null(memmem(got, got_len, "(2097151)", 9));
		for (const char *at = got; (at = memmem(at, got_len - (size_t)(at - got), " 13=",
							4)) != NULL; at++)
			images++;
		assert_int_equal(images, with_images != 0 ? AGENT_IMAGES_MAX - 1 : 0);
		if (with_images != 0) /* bytes become base 64 */
			assert_non_null(memmem(got, got_len, "13=image/png(18)", 16));
		agent_client_close(client);
	}
	free(text);
	free(image);
}

UNIT_TEST(a_protocol_error_is_distinguished_from_a_lost_agent)
{
	static const struct {
		const char *name;
		enum err_code code;
	} cases[] = { { "gone", ERR_LOST }, { "early", ERR_PROTOCOL } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct agent_client *client = begin(cases[i].name, false);
		struct agent_client_frame frame;
		struct err err;

		assert_err(&err, cases[i].code, next(client, &frame, &err));
		assert_non_null(strstr(err.text, "reckon-agent"));
		agent_client_close(client);
	}
}

UNIT_TEST(sending_to_an_agent_that_does_not_read_fails)
{
	char *text = mem_new0(60000, 1);
	struct agent_client *client = begin("deaf", false);
	struct err err;
	int rc = 0;

	memset(text, 'q', 60000);
	for (unsigned i = 0; i < 1000 && rc == 0; i++)
		rc = agent_client_ask(client, text, 60000, NULL, 0, &err);
	assert_int_equal(rc, ERR_PROTOCOL);
	assert_non_null(strstr(err.text, "does not read"));
	agent_client_close(client);
	free(text);
}

UNIT_TEST(a_missing_agent_program_is_reported)
{
	const struct agent_client_model model = { .model = "m", .base_url = "http://h/", .key = "" };
	struct agent_client *client = NULL;
	struct agent_client_frame frame;
	struct err err;

	/* Either agent_client_open() fails or the wait for the first frame does. */
	if (agent_client_open("/nonexistent/reckon-agent", &model, &client, &err) == 0)
		assert_true(next(client, &frame, &err) < 0);
	assert_non_null(strstr(err.text, "reckon-agent"));
	agent_client_close(client);
}

UNIT_TEST(a_record_of_a_cell_becomes_a_result_for_the_model)
{
	static const char text[] =
		"{\"status\":\"error\",\"text\":\"boom\",\"repeat\":{\"count\":2,"
		"\"unchanged\":[\"code\",\"files\"]},\"truncated\":{\"stderr\":{\"handle\":"
		"\"out_2\"}},\"text_left_out\":[{\"handle\":\"out_1\"},{\"handle\":null}],"
		"\"results\":["
		"{\"data\":{\"text/plain\":\"x\"}},{\"data\":{\"image/gif\":\"R0==\"}},"
		"{\"data\":{\"image/png\":\"iV==\",\"image/jpeg\":\"no\"}},{\"data\":7},9]}";
	static const char empty[] = "{}";
	struct json_value *record = NULL;
	struct agent_client_result result;
	struct err err;

	assert_ok(&err, json_read_parse(text, strlen(text), 4096, &record, &err));
	agent_client_result_read(record, &result);
	assert_string_equal(result.status, "error");
	assert_int_equal(result.len, 4);
	assert_memory_equal(result.text, "boom", 4);
	assert_int_equal(result.repeat, 2);
	assert_int_equal(result.same, AGENT_SAME_CODE | AGENT_SAME_FILES);
	assert_int_equal(result.handle_count, 2);
	assert_string_equal(result.handles[0], "out_2");
	assert_string_equal(result.handles[1], "out_1");
	assert_int_equal(result.image_count, 2);
	assert_string_equal(result.images[0].mime, "image/gif");
	assert_string_equal(result.images[1].mime, "image/png");
	assert_memory_equal(result.images[1].bytes, "iV==", 4);
	assert_true(result.images[1].is_encoded);
	json_read_free(record);
	assert_ok(&err, json_read_parse(empty, strlen(empty), 4096, &record, &err));
	agent_client_result_read(record, &result);
	assert_string_equal(result.status, "infra_error");
	assert_int_equal(result.len + result.image_count + result.repeat, 0);
	json_read_free(record);
}

int main(int argc, char **argv)
{
	if (argc == 1 && strcmp(argv[0], "reckon-agent") == 0)
		return be_agent();
	return unit_run(NULL, NULL);
}
