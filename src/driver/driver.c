/*
 * driver.c - the state machine of a conversation.
 *
 * Runs in:  reckon ask, libreckon, reckond.
 * Reads:    frames of reckon-agent, which src/converse has checked; words of a model.
 * Never:    blocks (but in driver_run()), or keeps a key.
 */
#include "driver/driver.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"

#define QUESTION_MAX ((size_t)4 * 1024 * 1024)
#define FRAMES_IN_A_ROW 64u /* then a loop's other work has its turn */
#define WAIT_MS 1000
#define WAIT_UNWOKEN_MS 100 /* so that wants_stop() is heard without a wake_fd */
/* An agent ends a question by itself. One that does not within this time is broken. */
#define GRACE_NS (UINT64_C(30) * 1000000000u)

void driver_init(struct driver *driver, const struct driver_ops *ops, void *arg,
		 size_t records_max)
{
	*driver = (struct driver){
		.ops = ops,
		.arg = arg,
		.stop = AGENT_STOP_FAILED,
		.question = BUF_INIT(QUESTION_MAX),
		.prose = BUF_INIT(AGENT_ANSWER_MAX),
		.answer = BUF_INIT(AGENT_ANSWER_MAX),
	};
	outcome_init(&driver->outcome, records_max);
}

static void drop_question(struct driver *driver)
{
	for (size_t i = 0; i < driver->file_count; i++)
		free(driver->files[i]);
	free(driver->files);
	driver->files = NULL;
	driver->file_count = 0;
	driver->has_question = false;
	buf_clear(&driver->question);
}

void driver_close(struct driver *driver)
{
	converse_close(TAKE_PTR(driver->talk));
	driver->state = DRIVER_CLOSED;
	drop_question(driver);
}

void driver_done(struct driver *driver)
{
	driver_close(driver);
	buf_done(&driver->question);
	buf_done(&driver->prose);
	buf_done(&driver->answer);
	outcome_done(&driver->outcome);
}

int driver_open(struct driver *driver, const char *path, const struct converse_model *model,
		struct err *err)
{
	if (converse_open(path, model, &driver->talk, err) < 0)
		return (int)err->code;
	if (driver->ops->open_output != NULL)
		converse_pages(driver->talk, driver->ops->open_output, driver->arg);
	driver->state = DRIVER_STARTING;
	driver->wall_ms = model->settings.wall_ms;
	return 0;
}

int driver_fd(const struct driver *driver)
{
	return converse_fd(driver->talk);
}

/* ---- questions ---- */

static void forget(struct driver *driver)
{
	const size_t records_max = driver->outcome.records_max;

	outcome_done(&driver->outcome);
	outcome_init(&driver->outcome, records_max);
	buf_clear(&driver->prose);
	buf_clear(&driver->answer);
	driver->usage = (struct agent_usage){ 0 };
	driver->step = 0;
	driver->stop = AGENT_STOP_FAILED;
	driver->has_answer = driver->is_stopping = false;
	driver->message[0] = driver->remedy[0] = '\0';
}

void driver_take_outcome(struct driver *driver, struct outcome *ret)
{
	*ret = driver->outcome;
	outcome_init(&driver->outcome, ret->records_max);
}

static int send_question(struct driver *driver, struct err *err)
{
	const int rc = converse_ask(driver->talk, buf_text(&driver->question),
				    driver->question.len, (const char *const *)driver->files,
				    driver->file_count, err);

	driver->state = DRIVER_THINKING;
	drop_question(driver);
	return rc;
}

int driver_ask(struct driver *driver, const struct driver_question *question, struct err *err)
{
	if ((driver->state != DRIVER_STARTING && driver->state != DRIVER_IDLE) ||
	    driver->has_question)
		return err_set(err, ERR_INVALID, "a question is being answered");
	forget(driver);
	drop_question(driver);
	if (buf_add(&driver->question, question->text, question->len, err) < 0)
		return (int)err->code;
	driver->files = mem_new0(question->file_count + 1, sizeof(*driver->files));
	for (size_t i = 0; i < question->file_count; i++)
		driver->files[driver->file_count++] = mem_strdup(question->files[i]);
	driver->has_question = true;
	driver->deadline_ns = clock_mono_ns() + driver->wall_ms * 1000000u + GRACE_NS;
	return driver->state == DRIVER_IDLE ? send_question(driver, err) : 0;
}

static int take_ready(struct driver *driver, struct err *err)
{
	driver->state = DRIVER_IDLE;
	if (driver->ops->ready != NULL && driver->ops->ready(err, driver->arg) < 0)
		return (int)err->code;
	return driver->has_question ? send_question(driver, err) : 0;
}

/* ---- an end ---- */

static void take_end(struct driver *driver, const struct converse_frame *frame)
{
	struct converse_end end;
	struct err full; /* its ceiling is that of a frame */

	converse_read_end(frame, &end);
	driver->stop = end.stop;
	driver->usage = end.usage;
	driver->has_answer = end.answer != NULL && end.answer_len > 0 &&
			     buf_add(&driver->answer, end.answer, end.answer_len, &full) == 0;
	memcpy(driver->message, end.message, sizeof(driver->message));
	memcpy(driver->remedy, end.remedy, sizeof(driver->remedy));
	driver->state = DRIVER_IDLE;
}

/* ---- frames ---- */

static void emit(struct driver *driver, enum driver_event_kind kind, const char *text, size_t len)
{
	const struct driver_event event = { .kind = kind, .text = text, .len = len };

	if (driver->ops->event != NULL)
		driver->ops->event(&event, driver->arg);
}

static int take_frame(struct driver *driver, const struct converse_frame *frame,
		      enum driver_result *ret, struct err *err)
{
	struct err full; /* prose past its ceiling is an answer that is cut anyway */
	size_t len;
	const char *text = converse_read_text(frame, &len);

	switch (frame->type) {
	case AGENT_READY:
		return take_ready(driver, err);
	case AGENT_TEXT:
		(void)buf_add(&driver->prose, text, len, &full);
		emit(driver, DRIVER_EVENT_TEXT, text, len);
		return 0;
	case AGENT_THOUGHT:
		emit(driver, DRIVER_EVENT_THOUGHT, text, len);
		return 0;
	case AGENT_NOTICE:
		emit(driver, DRIVER_EVENT_NOTICE, text, len);
		return 0;
	case AGENT_TURN:
		converse_read_usage(frame, &driver->usage);
		emit(driver, DRIVER_EVENT_TURN, "", 0);
		return 0;
	case AGENT_EXECUTE:
		if (driver_take_cell(driver, frame, err) < 0)
			return (int)err->code;
		if (driver->state == DRIVER_RUNNING)
			*ret = DRIVER_RUNS;
		return 0;
	case AGENT_DONE:
		take_end(driver, frame);
		*ret = DRIVER_ENDED;
		return 0;
	default:
		return err_set(err, ERR_PROTOCOL, "reckon-agent: frame %u has no meaning here",
			       frame->type);
	}
}

enum driver_result driver_step(struct driver *driver, struct err *err)
{
	enum driver_result result = DRIVER_WAITS;

	for (unsigned i = 0; i < FRAMES_IN_A_ROW && result == DRIVER_WAITS; i++) {
		struct converse_frame frame;
		int rc;

		if (driver->state == DRIVER_CLOSED) { /* within one of the owner's calls */
			(void)err_set(err, ERR_LOST, "the conversation has ended");
			return DRIVER_FAILED;
		}
		rc = driver_tell_stop(driver, err);
		/* Also while a cell runs: an agent that is gone ends the question at once. */
		if (rc == 0)
			rc = converse_take(driver->talk, &frame, err);
		if (rc == 0)
			break;
		if (rc < 0 || take_frame(driver, &frame, &result, err) < 0)
			return DRIVER_FAILED;
	}
	if (result == DRIVER_WAITS && driver->state == DRIVER_RUNNING)
		return DRIVER_RUNS;
	if (result == DRIVER_WAITS && driver_is_late(driver, clock_mono_ns())) {
		(void)err_set(err, ERR_TIMEOUT, "reckon-agent did not keep its time limit");
		return DRIVER_FAILED;
	}
	return result;
}

void driver_wait(const struct driver *driver, int wake_fd)
{
	converse_wait(driver->talk, wake_fd, wake_fd < 0 ? WAIT_UNWOKEN_MS : WAIT_MS);
}

enum driver_result driver_run(struct driver *driver, int wake_fd, struct err *err)
{
	enum driver_result result;

	while ((result = driver_step(driver, err)) == DRIVER_WAITS)
		driver_wait(driver, wake_fd);
	return result;
}
