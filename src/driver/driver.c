/*
 * driver.c - the state machine of a conversation.
 *
 * Runs in:  reckon ask, libreckon, reckond.
 * Reads:    frames of reckon-agent, checked by src/agent_client; text of a model.
 * Never:    blocks (except in driver_run()), or keeps a key.
 */
#include "driver/driver.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"

#define QUESTION_MAX ((size_t)4 * 1024 * 1024)
#define FRAMES_IN_A_ROW 64u /* then the loop's other work runs */
#define WAIT_MS 1000
#define WAIT_UNWOKEN_MS 100 /* so that wants_stop() is called without a wake_fd */

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
		.load = BUF_INIT(AGENT_CONVERSATION_MAX),
		.conversation = BUF_INIT(AGENT_CONVERSATION_MAX),
	};
	outcome_init(&driver->outcome, records_max);
}

void driver_close(struct driver *driver)
{
	agent_client_close(TAKE_PTR(driver->client));
	driver->state = DRIVER_CLOSED;
	driver_drop_request(driver);
}

void driver_done(struct driver *driver)
{
	driver_close(driver);
	driver_drop_calls(driver);
	buf_done(&driver->question);
	buf_done(&driver->load);
	buf_done(&driver->conversation);
	buf_done(&driver->prose);
	buf_done(&driver->answer);
	outcome_done(&driver->outcome);
}

int driver_open(struct driver *driver, const char *path, const struct agent_client_model *model,
		struct err *err)
{
	if (agent_client_open(path, model, &driver->client, err) < 0)
		return (int)err->code;
	if (driver->ops->open_output != NULL)
		agent_client_pages(driver->client, driver->ops->open_output, driver->arg);
	agent_client_looks(driver->client, driver->ops->look, driver->arg);
	driver->state = DRIVER_STARTING;
	driver->wall_ms = model->settings.wall_ms;
	driver->has_shell = model->settings.has_shell != 0;
	return 0;
}

int driver_fd(const struct driver *driver)
{
	return agent_client_fd(driver->client);
}

/* ---- frames ---- */

static int take_ready(struct driver *driver, struct err *err)
{
	driver->state = DRIVER_IDLE;
	if (driver->ops->ready != NULL && driver->ops->ready(err, driver->arg) < 0)
		return (int)err->code;
	return driver_send_request(driver, err);
}

static void take_end(struct driver *driver, const struct agent_client_frame *frame)
{
	struct agent_client_end end;
	struct err full; /* the limits of a frame are lower */

	agent_client_read_end(frame, &end);
	driver->stop = end.stop;
	driver->usage = end.usage;
	driver->has_answer = end.answer != NULL && end.answer_len > 0 &&
			     buf_add(&driver->answer, end.answer, end.answer_len, &full) == 0;
	driver->checked = driver->has_answer ? end.checked : (struct agent_checked){ 0 };
	memcpy(driver->message, end.message, sizeof(driver->message));
	memcpy(driver->remedy, end.remedy, sizeof(driver->remedy));
	driver->over_ns = 0;
	driver->state = DRIVER_IDLE;
}

static char *copy_field(const struct agent_client_frame *frame, enum agent_tag tag)
{
	const struct kernel_item *item = agent_find(frame->items, frame->count, tag);
	char *text = mem_new0((size_t)item->len + 1, 1);

	memcpy(text, item->data, item->len);
	return text;
}

static int take_call(struct driver *driver, const struct agent_client_frame *frame, struct err *err)
{
	if (driver->call_count == AGENT_CALLS_MAX)
		return err_set(err, ERR_PROTOCOL, "reckon-agent: more than %u calls",
			       AGENT_CALLS_MAX);
	driver->calls[driver->call_count++] = (struct driver_call){
		.id = copy_field(frame, AGENT_TAG_CALL),
		.name = copy_field(frame, AGENT_TAG_NAME),
		.arguments = copy_field(frame, AGENT_TAG_ARGUMENTS),
	};
	return 0;
}

static int take_conversation(struct driver *driver, const struct agent_client_frame *frame,
			     struct err *err)
{
	const struct kernel_item *json = agent_find(frame->items, frame->count, AGENT_TAG_JSON);

	buf_clear(&driver->conversation);
	return buf_add(&driver->conversation, json->data, json->len, err);
}

static void emit(struct driver *driver, enum driver_event_kind kind, const char *text, size_t len)
{
	const struct driver_event event = { .kind = kind, .text = text, .len = len };

	if (driver->ops->event != NULL)
		driver->ops->event(&event, driver->arg);
}

static void emit_code(struct driver *driver, const struct agent_client_frame *frame,
		      const char *text, size_t len)
{
	const struct driver_event event = {
		.kind = DRIVER_EVENT_CODE,
		.text = text,
		.len = len,
		.call = (size_t)agent_u64(frame->items, frame->count, AGENT_TAG_COUNT, 0),
	};

	if (driver->ops->event != NULL)
		driver->ops->event(&event, driver->arg);
}

static void emit_sealed(struct driver *driver, const struct agent_client_frame *frame)
{
	cleanup_buf struct buf json = BUF_INIT(AGENT_CONVERSATION_MAX);

	if (agent_client_read_sealed(frame, &json))
		emit(driver, DRIVER_EVENT_SEALED, json.data, json.len);
}

static int take_frame(struct driver *driver, const struct agent_client_frame *frame,
		      enum driver_result *ret, struct err *err)
{
	struct err full; /* an answer that long will be cut anyway */
	size_t len;
	const char *text = agent_client_read_text(frame, &len);

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
	case AGENT_CODE:
		emit_code(driver, frame, text, len);
		return 0;
	case AGENT_DISCARD:
		buf_clear(&driver->prose);
		emit(driver, DRIVER_EVENT_DISCARD, text, len);
		return 0;
	case AGENT_SEALED:
		emit_sealed(driver, frame);
		return 0;
	case AGENT_TURN:
		agent_client_read_usage(frame, &driver->usage);
		emit(driver, DRIVER_EVENT_TURN, "", 0);
		return 0;
	case AGENT_EXECUTE:
		if (driver_take_cell(driver, frame, err) < 0)
			return (int)err->code;
		if (driver->state == DRIVER_RUNNING)
			*ret = DRIVER_RUNS;
		return 0;
	case AGENT_CALL:
		return take_call(driver, frame, err);
	case AGENT_CONVERSATION_NOW:
		return take_conversation(driver, frame, err);
	case AGENT_DONE:
		take_end(driver, frame);
		*ret = driver->stop == AGENT_STOP_CALLS ? DRIVER_PARKED : DRIVER_ENDED;
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
		struct agent_client_frame frame;
		int rc;

		if (driver->state == DRIVER_CLOSED) { /* one of the owner's callbacks closed it */
			(void)err_set(err, ERR_LOST, "the conversation has ended");
			return DRIVER_FAILED;
		}
		rc = driver_tell_stop(driver, err);
		/* Read frames also while a cell runs: the question ends at once if the agent is
		 * gone. */
		if (rc == 0)
			rc = agent_client_take(driver->client, &frame, err);
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
	agent_client_wait(driver->client, wake_fd, wake_fd < 0 ? WAIT_UNWOKEN_MS : WAIT_MS);
}

enum driver_result driver_run(struct driver *driver, int wake_fd, struct err *err)
{
	enum driver_result result;

	while ((result = driver_step(driver, err)) == DRIVER_WAITS)
		driver_wait(driver, wake_fd);
	return result;
}
