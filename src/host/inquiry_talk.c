/*
 * inquiry_talk.c - the reckon-agent of a question: started, listened to, ended.
 *
 * Runs in:  reckond's loop.
 * Reads:    frames that src/converse has checked; words of a model, which go out as JSON text.
 * Never:    waits for the agent, or keeps the key once it was told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_write.h"
#include "host/host.h"

#define FRAMES_IN_A_ROW 64
#define EVENT_MAX ((size_t)8 * 1024 * 1024)
/* An agent ends a question by itself. One that does not by so much later is taken for broken. */
#define GRACE_NS (UINT64_C(30) * 1000000000u)

/* ---- events --------------------------------------------------------------------------------- */

void inquiry_event_begin(struct json_writer *writer, struct buf *json, const char *name)
{
	json_write_init(writer, json);
	json_write_object_begin(writer);
	json_write_member_string(writer, "event", name);
}

void inquiry_event_end(struct inquiry *inquiry, struct json_writer *writer, const char *name)
{
	struct err err;

	json_write_object_end(writer);
	if (json_write_finish(writer, &err) == 0)
		ring_push(inquiry->ring, name, writer->out->data, writer->out->len);
	else
		log_line(LOG_WARN, "an event could not be told", "run=%s why=\"%s\"", inquiry->id,
			 err.text);
}

static void push_text(struct inquiry *inquiry, const char *name, const char *text, size_t len)
{
	cleanup_buf struct buf json = BUF_INIT(EVENT_MAX);
	struct json_writer writer;

	inquiry_event_begin(&writer, &json, name);
	json_write_member_text(&writer, "text", text, len);
	inquiry_event_end(inquiry, &writer, name);
}

static void push_begin(struct inquiry *inquiry)
{
	cleanup_buf struct buf json = BUF_INIT(4096);
	struct json_writer writer;

	inquiry_event_begin(&writer, &json, "run");
	json_write_member_string(&writer, "id", inquiry->id);
	json_write_member_string(&writer, "session", inquiry->session_id);
	json_write_member_string(&writer, "model", inquiry->model);
	inquiry_event_end(inquiry, &writer, "run");
}

static void push_turn(struct inquiry *inquiry)
{
	cleanup_buf struct buf json = BUF_INIT(4096);
	struct json_writer writer;

	inquiry_event_begin(&writer, &json, "turn");
	outcome_write_usage(&writer, &inquiry->usage);
	inquiry_event_end(inquiry, &writer, "turn");
}

/* ---- frames --------------------------------------------------------------------------------- */

static int put_question(struct inquiry *inquiry, struct err *err)
{
	return converse_ask(inquiry->talk, buf_text(&inquiry->question), inquiry->question.len,
			    (const char *const *)inquiry->files, inquiry->file_count, err);
}

static void take_end(struct inquiry *inquiry, const struct converse_frame *frame)
{
	struct converse_end end;
	struct err err; /* its ceiling is that of a frame */

	converse_read_end(frame, &end);
	inquiry->usage = end.usage;
	inquiry->has_answer = end.answer != NULL && end.answer_len > 0 &&
			      buf_add(&inquiry->answer, end.answer, end.answer_len, &err) == 0;
	(void)err_set(&err, ERR_LIMIT, "%s", end.message);
	inquiry_end(inquiry, end.stop, err.text);
}

static void take_cell(struct inquiry *inquiry, const struct converse_frame *frame)
{
	const struct kernel_item *code = agent_find(frame->items, frame->count, AGENT_TAG_CODE);

	outcome_add_step(&inquiry->outcome, buf_text(&inquiry->prose), inquiry->prose.len,
			 code->data, code->len);
	buf_clear(&inquiry->prose);
	inquiry_cell(inquiry, code->data, code->len);
}

static int take_frame(struct inquiry *inquiry, const struct converse_frame *frame,
		      struct err *err)
{
	struct err full; /* prose past its ceiling is an answer that is cut anyway */
	size_t len;
	const char *text = converse_read_text(frame, &len);

	switch (frame->type) {
	case AGENT_READY:
		return put_question(inquiry, err);
	case AGENT_TEXT:
		(void)buf_add(&inquiry->prose, text, len, &full);
		push_text(inquiry, "text", text, len);
		return 0;
	case AGENT_THOUGHT:
		push_text(inquiry, "thought", text, len);
		return 0;
	case AGENT_NOTICE:
		push_text(inquiry, "notice", text, len);
		return 0;
	case AGENT_TURN:
		converse_read_usage(frame, &inquiry->usage);
		push_turn(inquiry);
		return 0;
	case AGENT_EXECUTE:
		take_cell(inquiry, frame);
		return 0;
	case AGENT_DONE:
		take_end(inquiry, frame);
		return 0;
	default:
		return err_set(err, ERR_PROTOCOL, "reckon-agent: frame %u has no meaning here",
			       frame->type);
	}
}

static void on_frame(unsigned ready, void *arg)
{
	struct inquiry *inquiry = arg;
	struct converse_frame frame;
	struct err err;
	int rc = 1;

	(void)ready;
	inquiry_act(inquiry);
	for (unsigned i = 0; i < FRAMES_IN_A_ROW && rc > 0 && inquiry->talk != NULL; i++) {
		rc = converse_take(inquiry->talk, &frame, &err);
		if (rc > 0 && take_frame(inquiry, &frame, &err) < 0)
			rc = -1;
	}
	if (rc < 0)
		inquiry_end(inquiry, AGENT_STOP_FAILED, err.text);
	else
		inquiry_tell(inquiry);
	answer_end(inquiry->host);
}

/* ---- what was left out ---- */

/* A converse_open_fn: of this talk's cells alone. */
static int open_output(const char *handle, int *ret_fd, struct err *err, void *arg)
{
	const struct inquiry *inquiry = arg;
	reckon_error error;
	uint64_t size;

	if (reckon_artifact_open(inquiry->host->engine, handle, ret_fd, &size, &error) == RECKON_OK)
		return 0;
	return err_set(err, (enum err_code)error.code, "%s", error.message);
}

/* ---- the process ---------------------------------------------------------------------------- */

static int start(struct inquiry *inquiry, struct models_choice *choice, struct err *err)
{
	const struct host *host = inquiry->host;
	struct converse_model model = {
		.settings = inquiry->settings,
		.model = choice->model,
		.base_url = choice->base_url,
		.key = choice->key,
		.language = inquiry->session->row.language,
	};
	char path[600];

	converse_network(&model);
	(void)snprintf(path, sizeof(path), "%s/reckon-agent", host->libexec);
	if (converse_open(path, &model, &inquiry->talk, err) < 0)
		return (int)err->code;
	converse_pages(inquiry->talk, open_output, inquiry);
	return 0;
}

int inquiry_ask(struct inquiry *inquiry, struct err *err)
{
	struct models_choice choice;
	int rc;

	if (inquiry->session == NULL)
		return err_set(err, ERR_LOST, "the session is gone");
	/* The key is fetched when it is needed, and not before. */
	if (inquiry_model_choose(inquiry->host, inquiry->model, &choice, err) < 0)
		return (int)err->code;
	rc = start(inquiry, &choice, err);
	models_choice_done(&choice);
	if (rc < 0 || loop_io_new(inquiry->host->loop, converse_fd(inquiry->talk), on_frame, inquiry,
				  &inquiry->io, err) < 0)
		return (int)err->code;
	loop_io_want(inquiry->io, LOOP_READ);
	inquiry->state = INQUIRY_ASKING;
	inquiry->was_asked = true;
	inquiry->deadline_ns =
		clock_mono_ns() + inquiry->settings.wall_ms * 1000000u + GRACE_NS;
	push_begin(inquiry);
	inquiry_tell(inquiry);
	return 0;
}

void inquiry_hang_up(struct inquiry *inquiry)
{
	loop_io_free(TAKE_PTR(inquiry->io));
	converse_close(TAKE_PTR(inquiry->talk));
}
