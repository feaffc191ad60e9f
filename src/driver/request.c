/*
 * request.c - starts a request: a question, a conversation, results of the application's tools.
 *
 * Runs in:  reckon ask, libreckon, reckond.
 * Reads:    the owner's questions and results.
 * Never:    sends a request before the agent is ready, or two at once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "driver/driver.h"

/* An agent ends a question in time by itself. After this grace period it is broken. */
#define GRACE_NS (UINT64_C(30) * 1000000000u)
/* The agent's clock starts when it has read the question: at our end of the time it is over there. */
#define SLACK_NS (UINT64_C(100) * 1000000u)

void driver_drop_request(struct driver *driver)
{
	for (size_t i = 0; i < driver->file_count; i++)
		free(driver->files[i]);
	free(driver->files);
	driver->files = NULL;
	driver->file_count = 0;
	for (; driver->image_count > 0; driver->image_count--) {
		free((char *)(uintptr_t)driver->images[driver->image_count - 1].mime);
		free((void *)(uintptr_t)driver->images[driver->image_count - 1].bytes);
	}
	for (; driver->result_count > 0; driver->result_count--) {
		free((char *)(uintptr_t)driver->results[driver->result_count - 1].call);
		free((char *)(uintptr_t)driver->results[driver->result_count - 1].text);
	}
	driver->has_question = driver->is_continued = false;
	buf_clear(&driver->question);
}

void driver_drop_calls(struct driver *driver)
{
	while (driver->call_count > 0) {
		struct driver_call *call = &driver->calls[--driver->call_count];

		free(call->id);
		free(call->name);
		free(call->arguments);
	}
}

void driver_take_outcome(struct driver *driver, struct outcome *ret)
{
	*ret = driver->outcome;
	outcome_init(&driver->outcome, ret->records_max);
}

/* Drops the results of the previous question. */
static void forget(struct driver *driver)
{
	const size_t records_max = driver->outcome.records_max;

	outcome_done(&driver->outcome);
	outcome_init(&driver->outcome, records_max);
	driver_drop_calls(driver);
	driver_drop_request(driver);
	buf_clear(&driver->prose);
	buf_clear(&driver->answer);
	buf_clear(&driver->conversation);
	driver->usage = (struct agent_usage){ 0 };
	driver->checked = (struct agent_checked){ 0 };
	driver->step = 0;
	driver->over_ns = 0;
	driver->stop = AGENT_STOP_FAILED;
	driver->has_answer = driver->is_stopping = false;
	driver->message[0] = driver->remedy[0] = '\0';
}

static int begin(struct driver *driver, struct err *err)
{
	if ((driver->state != DRIVER_STARTING && driver->state != DRIVER_IDLE) ||
	    driver->has_question || driver->is_continued)
		return err_set(err, ERR_INVALID, "a question is being answered");
	forget(driver);
	driver->deadline_ns = clock_mono_ns() + driver->wall_ms * 1000000u + GRACE_NS;
	return 0;
}

static int send_load(struct driver *driver, struct err *err)
{
	int rc = 0;

	if (driver->load.len > 0)
		rc = agent_client_load(driver->client, driver->load.data, driver->load.len, err);
	buf_done(&driver->load);
	return rc;
}

int driver_send_request(struct driver *driver, struct err *err)
{
	int rc = 0;

	if (!driver->has_question && !driver->is_continued)
		return 0;
	if (send_load(driver, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < driver->image_count; i++)
		agent_client_show(driver->client, &driver->images[i]);
	rc = driver->has_question
		     ? agent_client_ask(driver->client, buf_text(&driver->question),
					driver->question.len, (const char *const *)driver->files,
					driver->file_count, err)
		     : agent_client_continue(driver->client, driver->results, driver->result_count,
					     err);
	driver->state = DRIVER_THINKING;
	driver->over_ns = clock_mono_ns() + driver->wall_ms * 1000000u + SLACK_NS;
	driver_drop_request(driver);
	return rc;
}

static void copy_images(struct driver *driver, const struct driver_question *question)
{
	for (size_t i = 0; i < question->image_count && i < AGENT_IMAGES_MAX; i++) {
		const struct agent_client_image *image = &question->images[i];
		char *bytes = mem_new0(image->len + 1, 1);

		memcpy(bytes, image->bytes, image->len);
		driver->images[driver->image_count++] =
			(struct agent_client_image){ .mime = mem_strdup(image->mime),
						     .bytes = bytes,
						     .len = image->len,
						     .is_encoded = image->is_encoded };
	}
}

int driver_ask(struct driver *driver, const struct driver_question *question, struct err *err)
{
	if (begin(driver, err) < 0 ||
	    buf_add(&driver->question, question->text, question->len, err) < 0)
		return (int)err->code;
	driver->files = mem_new0(question->file_count + 1, sizeof(*driver->files));
	for (size_t i = 0; i < question->file_count; i++)
		driver->files[driver->file_count++] = mem_strdup(question->files[i]);
	copy_images(driver, question);
	driver->has_question = true;
	return driver->state == DRIVER_IDLE ? driver_send_request(driver, err) : 0;
}

int driver_load(struct driver *driver, const char *json, size_t len, struct err *err)
{
	if (driver->state != DRIVER_STARTING && driver->state != DRIVER_IDLE)
		return err_set(err, ERR_INVALID, "a question is being answered");
	buf_clear(&driver->load);
	if (buf_add(&driver->load, json, len, err) < 0)
		return err_set(err, ERR_LIMIT, "a conversation of %zu bytes; at most %u", len,
			       AGENT_CONVERSATION_MAX);
	return 0;
}

int driver_resume(struct driver *driver, const struct agent_client_image *images, size_t count,
		  struct err *err)
{
	const struct driver_question question = { .images = images, .image_count = count };

	if (begin(driver, err) < 0)
		return (int)err->code;
	copy_images(driver, &question);
	driver->is_continued = true;
	return driver->state == DRIVER_IDLE ? driver_send_request(driver, err) : 0;
}

int driver_continue(struct driver *driver, const struct agent_client_tool_result *results,
		    size_t count, struct err *err)
{
	if (count > AGENT_CALLS_MAX)
		return err_set(err, ERR_LIMIT, "%zu results; at most %u", count, AGENT_CALLS_MAX);
	if (begin(driver, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < count; i++) {
		char *text = mem_new0(results[i].len + 1, 1);

		if (results[i].len > 0)
			memcpy(text, results[i].text, results[i].len);
		driver->results[driver->result_count++] = (struct agent_client_tool_result){
			.call = mem_strdup(results[i].call),
			.text = text,
			.len = results[i].len,
			.failed = results[i].failed,
		};
	}
	driver->is_continued = true;
	return driver->state == DRIVER_IDLE ? driver_send_request(driver, err) : 0;
}
