/*
 * test_driver.c - the agent driver against a fake agent: what the driver's owners rely on.
 *
 * Runs in:  the unit suite; the driver starts this program as "reckon-agent", the agent.
 * Reads:    frames from its own agent.
 * Never:    calls a model.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "driver/driver.h"

/* ---- the agent: the model's name selects its behavior ---- */

static void send_text(enum agent_type type, enum agent_tag tag, const char *text)
{
	cleanup_buf struct buf payload = BUF_INIT(4096);
	struct err err;

	(void)agent_pack_text(&payload, tag, text, &err);
	(void)agent_send(AGENT_FD, type, 7, &payload, &err);
}

static void end(enum agent_stop stop, const struct kernel_item *text)
{
	cleanup_buf struct buf payload = BUF_INIT(1 << 16);
	const struct agent_usage usage = { .requests = 1, .steps = 1, .in = 7 };
	struct err err;

	(void)agent_pack_u64(&payload, AGENT_TAG_STOP, stop, &err);
	(void)agent_pack(&payload, AGENT_TAG_USAGE, &usage, sizeof(usage), &err);
	if (text != NULL)
		(void)agent_pack(&payload, AGENT_TAG_TEXT, text->data, text->len, &err);
	(void)agent_send(AGENT_FD, AGENT_DONE, 0, &payload, &err);
}

/* Runs one cell and answers with its result; after an interrupt it ends as interrupted. */
static int be_agent(void)
{
	static struct kernel_item items[AGENT_FIELDS_MAX];
	struct buf payload = BUF_INIT(64 << 20);
	char model[16] = "";
	struct kernel_head head;
	bool stopped = false;
	struct err err;

	while (agent_recv(AGENT_FD, &head, &payload, &err) == 1) {
		const int count = kernel_unpack(buf_text(&payload), payload.len, head.field_count,
						items, AGENT_FIELDS_MAX, &err);
		const struct kernel_item *text = agent_find(items, (size_t)count, AGENT_TAG_TEXT);

		if (head.type == AGENT_START) {
			const struct kernel_item *name =
				agent_find(items, (size_t)count, AGENT_TAG_MODEL);

			memcpy(model, name->data, name->len);
			(void)agent_send(AGENT_FD, AGENT_READY, 0, NULL, &err);
		} else if (head.type == AGENT_INTERRUPT) {
			stopped = true;
			if (strcmp(model, "silent") == 0)
				end(AGENT_STOP_INTERRUPTED, NULL);
		} else if (head.type == AGENT_ASK && strcmp(model, "silent") != 0) {
			send_text(AGENT_TEXT, AGENT_TAG_TEXT, "I try ");
			send_text(AGENT_TEXT, AGENT_TAG_TEXT, "this.");
			send_text(AGENT_EXECUTE, AGENT_TAG_CODE,
			    strcmp(model, "binary") == 0 ? "\xff\xfe" : "6*7");
			if (strcmp(model, "dies") == 0)
				return 0;
		} else if (head.type == AGENT_RESULT) {
			end(stopped ? AGENT_STOP_INTERRUPTED : AGENT_STOP_ANSWER, text);
		}
	}
	return 0;
}

/* ---- the driver's owner ---- */

struct owner {
	struct driver driver;
	char log[512]; /* what was called, in order */
	bool is_async, forbids, stops, is_lost;
	enum driver_session session;
};

static void note(struct owner *owner, const char *word, const char *text, size_t len)
{
	const size_t used = strlen(owner->log);

	(void)snprintf(owner->log + used, sizeof(owner->log) - used, "%s(%.*s) ", word, (int)len,
		       text);
}

static void on_event(const struct driver_event *event, void *arg)
{
	static const char *const names[] = { "text", "thought", "notice", "turn" };

	note(arg, names[event->kind], event->text, event->len);
}

static int on_ready(struct err *err, void *arg)
{
	(void)err;
	note(arg, "ready", "", 0);
	return 0;
}

static void on_begin(const struct driver_cell *cell, void *arg)
{
	note(arg, "begin", cell->prose, cell->prose_len);
}

static const char *approve(const struct driver_cell *cell, void *arg)
{
	const struct owner *owner = arg;

	note(arg, "approve", cell->code, cell->len);
	return owner->forbids ? "not allowed" : NULL;
}

static int report(struct owner *owner, struct err *err)
{
	struct outcome_file file = { .path = (char[]){ "a.txt" }, .size = 3 };
	const struct driver_cell_end end = {
		.status = "ok",
		.execution = "ex_1",
		.record = "{}",
		.files = &file,
		.file_count = 1,
		.result = { .status = "ok", .text = "42", .len = 2 },
	};

	return driver_cell_done(&owner->driver, &end, err);
}

static int execute(const struct driver_cell *cell, struct err *err, void *arg)
{
	struct owner *owner = arg;

	note(owner, "execute", cell->code, cell->len);
	if (owner->is_lost)
		return err_set(err, ERR_LOST, "no session");
	return owner->is_async ? 0 : report(owner, err);
}

static void on_end(const struct driver_cell_end *end, void *arg)
{
	note(arg, "end", end->status, strlen(end->status));
}

static enum driver_session look(struct buf *text, struct err *err, void *arg)
{
	const struct owner *owner = arg;

	if (owner->session != DRIVER_SESSION_LIVE)
		(void)buf_adds(text, " (it is gone)", err);
	return owner->session;
}

static bool wants_stop(void *arg)
{
	return ((const struct owner *)arg)->stops;
}

static const struct driver_ops ops = {
	.event = on_event,   .ready = on_ready, .begin = on_begin, .approve = approve,
	.execute = execute,  .end = on_end,	.session = look,   .wants_stop = wants_stop,
};

static void begin(struct owner *owner, const char *name, uint64_t wall_ms)
{
	const struct agent_client_model model = { .settings = { .wall_ms = wall_ms }, .model = name,
					      .base_url = "https://there/v1", .key = "k" };
	struct err err;

	driver_init(&owner->driver, &ops, owner, 1000);
	assert_ok(&err, driver_open(&owner->driver, "/proc/self/exe", &model, &err));
	assert_ok(&err, driver_ask(&owner->driver, &(struct driver_question){ "?", 1, NULL, 0 },
				   &err));
}

UNIT_TEST(two_questions_run_to_their_answers)
{
	const int fds = unit_open_fds();
	struct owner owner = { 0 };
	struct driver *driver = &owner.driver;
	struct err err;

	begin(&owner, "good", 60000);
	assert_int_equal(driver->state, DRIVER_STARTING);
	for (unsigned i = 0; i < 2; i++) {
		assert_err(&err, ERR_INVALID,
			   driver_ask(driver, &(struct driver_question){ "?", 1, NULL, 0 }, &err));
		assert_int_equal(driver_run(driver, -1, &err), DRIVER_ENDED);
		assert_string_equal(owner.log,
				    i == 0 ? "ready() text(I try ) text(this.) begin(I try this.) "
					     "approve(6*7) execute(6*7) end(ok) "
					   : "text(I try ) text(this.) begin(I try this.) "
					     "approve(6*7) execute(6*7) end(ok) ");
		assert_int_equal(driver->stop, AGENT_STOP_ANSWER);
		assert_string_equal(buf_text(&driver->answer), "42");
		assert_int_equal(driver->usage.in, 7);
		assert_int_equal(driver->step, 1);
		assert_int_equal(driver->outcome.step_count, 1);
		assert_string_equal(driver->outcome.steps[0].execution, "ex_1");
		assert_string_equal(driver->outcome.files[0].path, "a.txt");
		owner.log[0] = '\0';
		if (i == 0)
			assert_ok(&err, driver_ask(driver, &(struct driver_question){ "?", 1, NULL, 0 },
						   &err));
	}
	driver_done(driver);
	assert_int_equal(unit_open_fds(), fds);
}

UNIT_TEST(a_cell_may_end_asynchronously)
{
	struct owner owner = { .is_async = true };
	struct driver *driver = &owner.driver;
	struct err err;

	begin(&owner, "good", 60000);
	assert_int_equal(driver_run(driver, -1, &err), DRIVER_RUNS);
	assert_int_equal(driver_step(driver, &err), DRIVER_RUNS);
	assert_false(driver_is_late(driver, UINT64_MAX)); /* the cell has limits of its own */
	driver_cell_begun(driver, "ex_0");
	assert_string_equal(driver->outcome.steps[0].execution, "ex_0");
	assert_ok(&err, report(&owner, &err));
	assert_true(driver_is_late(driver, UINT64_MAX));
	assert_err(&err, ERR_INVALID, report(&owner, &err)); /* the cell has ended already */
	assert_int_equal(driver_run(driver, -1, &err), DRIVER_ENDED);
	driver_done(driver);
}

UNIT_TEST(refused_cells_and_lost_sessions_are_reported_to_the_model)
{
	static const struct {
		const char *model, *result;
		bool forbids, is_binary;
		enum driver_session session;
	} cases[] = {
		{ "good", "not allowed", true, false, DRIVER_SESSION_LIVE },
		{ "binary", "This is not source code: it holds NUL, or bytes that are not UTF-8.",
		  false, true, DRIVER_SESSION_LIVE },
		{ "good", "42 (it is gone)", false, false, DRIVER_SESSION_NEW },
		{ "good", " (it is gone)", false, false, DRIVER_SESSION_LOST },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct owner owner = { .forbids = cases[i].forbids, .session = cases[i].session };
		struct err err;

		begin(&owner, cases[i].model, 60000);
		assert_int_equal(driver_run(&owner.driver, -1, &err), DRIVER_ENDED);
		assert_string_equal(buf_text(&owner.driver.answer), cases[i].result);
		assert_int_equal(strstr(owner.log, "execute") == NULL,
				 cases[i].forbids || cases[i].is_binary);
		assert_string_equal(owner.driver.outcome.steps[0].status,
				    cases[i].forbids || cases[i].is_binary ? "refused" : "ok");
		driver_done(&owner.driver);
	}
}

UNIT_TEST(stop_requests_interrupt_the_agent)
{
	struct owner thinks = { .stops = true }, runs = { .is_async = true };
	struct err err;

	begin(&thinks, "silent", 60000);
	assert_int_equal(driver_run(&thinks.driver, -1, &err), DRIVER_ENDED);
	assert_int_equal(thinks.driver.stop, AGENT_STOP_INTERRUPTED);
	driver_done(&thinks.driver);

	begin(&runs, "good", 60000);
	assert_int_equal(driver_run(&runs.driver, -1, &err), DRIVER_RUNS);
	assert_ok(&err, driver_interrupt(&runs.driver, &err));
	assert_ok(&err, report(&runs, &err));
	assert_int_equal(driver_run(&runs.driver, -1, &err), DRIVER_ENDED);
	assert_int_equal(runs.driver.stop, AGENT_STOP_INTERRUPTED);
	driver_done(&runs.driver);
}

UNIT_TEST(a_dead_agent_a_lost_session_and_a_timeout_fail)
{
	struct owner dies = { .is_async = true }, lost = { .is_lost = true }, late = { 0 };
	struct err err;
	enum driver_result result;

	begin(&dies, "dies", 60000);
	/* The agent dies while its cell runs: the driver does not wait for the cell's end. */
	while ((result = driver_run(&dies.driver, -1, &err)) == DRIVER_RUNS)
		driver_wait(&dies.driver, -1);
	assert_int_equal(result, DRIVER_FAILED);
	assert_int_equal(err.code, ERR_LOST);
	driver_close(&dies.driver);
	assert_int_equal(driver_step(&dies.driver, &err), DRIVER_FAILED);
	driver_done(&dies.driver);

	begin(&lost, "good", 60000);
	assert_int_equal(driver_run(&lost.driver, -1, &err), DRIVER_FAILED);
	assert_string_equal(err.text, "no session");
	driver_done(&lost.driver);

	begin(&late, "silent", 1);
	while ((result = driver_step(&late.driver, &err)) == DRIVER_WAITS &&
	       late.driver.state == DRIVER_STARTING)
		driver_wait(&late.driver, -1);
	late.driver.deadline_ns = clock_mono_ns() - 1; /* as if the deadline had passed */
	assert_int_equal(driver_step(&late.driver, &err), DRIVER_FAILED);
	assert_int_equal(err.code, ERR_TIMEOUT);
	driver_done(&late.driver);
}

int main(int argc, char **argv)
{
	if (argc > 0 && strcmp(argv[0], "reckon-agent") == 0)
		return be_agent();
	return unit_run(NULL, NULL);
}
