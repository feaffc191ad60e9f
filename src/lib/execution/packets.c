/*
 * packets.c - handles a kernel's packets during an execution.
 *
 * Runs in:  libreckon, inside reckon_execute().
 * Reads:    packets of a hostile kernel.
 * Never:    accepts a packet out of turn or for another execution: that ends the kernel.
 */
#include <string.h>

#include "base/cleanup.h"
#include "lib/execution/run.h"
#include "wire/kernel.h"

static void violation(struct run *run, const char *what)
{
	struct err err;

	(void)err_set(&err, ERR_PROTOCOL, "the kernel broke the protocol: %s", what);
	run_fail(run, RUN_VIOLATION, &err);
}

static void reply(struct run *run, enum kernel_type type, const struct buf *payload)
{
	struct err err;

	/* A kernel waits for one answer at a time; if the answer does not fit, the kernel is not
	 * reading. */
	if (kernel_send(run->session->control, type, run->request, payload, NULL, 0, &err) ==
	    ERR_TIMEOUT)
		violation(run, "it asks without reading the answers");
}

static void on_bundle(struct run *run, enum record_bundle kind, size_t count)
{
	const struct record_result *result =
		record_add_bundle(run->record, kind, run->items, count);
	struct err err;

	if (result == NULL || run->options->on_event == NULL)
		return;
	buf_clear(&run->event);
	if (record_event_bundle(run_moment(run), kind, result, &run->event, &err) == 0)
		run_emit(run, record_event_bundle_name(kind), 0, NULL);
}

static void on_error(struct run *run, size_t count)
{
	const struct kernel_item *traceback =
		kernel_find(run->items, count, KERNEL_TAG_TRACEBACK);
	struct err err;

	record_set_error_items(run->record, run->items, count);
	buf_clear(&run->traceback);
	if (traceback != NULL)
		(void)buf_add(&run->traceback, traceback->data,
			      traceback->len < RUN_TRACEBACK_MAX ? traceback->len
								 : RUN_TRACEBACK_MAX,
			      &err);
	/* If our interrupt caused the error, only the final result is reported, see report.c. */
	if (run->options->on_event == NULL || run->stop != STOP_NONE)
		return;
	buf_clear(&run->event);
	if (record_event_error(run_moment(run), run->record, &run->event, &err) == 0)
		run_emit(run, RECORD_EVENT_ERROR, 0, NULL);
}

static bool is_true(const struct kernel_item *item)
{
	return item != NULL && item->len == 1 && item->data[0] == '1';
}

static void on_clear(struct run *run, size_t count)
{
	const bool wait = is_true(kernel_find(run->items, count, KERNEL_TAG_WAIT));
	struct err err;

	record_clear(run->record, wait);
	if (run->options->on_event == NULL)
		return;
	buf_clear(&run->event);
	if (record_event_clear(run_moment(run), wait, &run->event, &err) == 0)
		run_emit(run, RECORD_EVENT_CLEAR, 0, NULL);
}

void packet_reply_input(struct run *run, const struct buf *payload)
{
	reply(run, KERNEL_INPUT_REPLY, payload);
}

/* Asks the caller instead of reading a line from its descriptor. */
static void ask_caller(struct run *run, const char *prompt, size_t len, bool password)
{
	cleanup_buf struct buf payload = BUF_INIT(RUN_INPUT_MAX + 64);
	cleanup_free char *line = NULL;
	size_t line_len = 0;
	struct err err;

	if (run->options->on_input(prompt, len, password, &line, &line_len,
				   run->options->on_input_arg) != RECKON_CONTINUE) {
		/* No answer: the program waits for it, so the interrupt reaches it there. */
		stop_begin(run, STOP_CALLER);
		return;
	}
	if (line_len > RUN_INPUT_MAX)
		line_len = RUN_INPUT_MAX;
	if (line != NULL && kernel_pack(&payload, KERNEL_TAG_TEXT, line, line_len, &err) < 0)
		return;
	reply(run, KERNEL_INPUT_REPLY, &payload);
}

static void tell_input(struct run *run, const struct kernel_item *prompt, bool password)
{
	struct err err;

	if (run->options->on_event == NULL)
		return;
	buf_clear(&run->event);
	if (record_event_input(run_moment(run), prompt != NULL ? prompt->data : "",
			       prompt != NULL ? prompt->len : 0, password, &run->event, &err) == 0)
		run_emit(run, RECORD_EVENT_INPUT, 0, NULL);
}

static void on_input(struct run *run, size_t count)
{
	const struct kernel_item *prompt = kernel_find(run->items, count, KERNEL_TAG_PROMPT);
	const bool password = is_true(kernel_find(run->items, count, KERNEL_TAG_PASSWORD));
	/* Expect the answer before the event is sent: it may come at once. */
	const bool is_expected = !run->options->has_stdin && run->options->on_input == NULL &&
				 questions_ask_input(run, run->events + 1);

	tell_input(run, prompt, password);
	if (is_expected)
		return;
	if (run->options->on_input != NULL && !run->options->has_stdin) {
		ask_caller(run, prompt != NULL ? prompt->data : "",
			   prompt != NULL ? prompt->len : 0, password);
		return;
	}
	/* An interrupted question is asked again, and the text typed for it is still available. */
	run->wants_input = true;
}

/*
 * The program's own reads and its questions share one input, in order: bytes that it has not read
 * yet are still in the pipe.
 */
void packet_answer_input(struct run *run)
{
	cleanup_buf struct buf payload = BUF_INIT(RUN_INPUT_MAX + 64);
	struct err err;
	const int n = feed_read_line(&run->feed, &run->input, &err);

	if (n == 0)
		return;
	run->wants_input = false;
	if (n > 0 &&
	    kernel_pack(&payload, KERNEL_TAG_TEXT, buf_text(&run->input), run->input.len, &err) < 0)
		return;
	buf_clear(&run->input);
	reply(run, KERNEL_INPUT_REPLY, &payload);
}

/* So that they can be listed if the kernel is lost. */
static void note_names(struct run *run, size_t count)
{
	struct known *known = &run->session->known;

	for (size_t i = 0; i < count; i++) {
		const struct kernel_item *item = &run->items[i];

		if (item->tag == KERNEL_TAG_VAR_NAME)
			known_add(known, item->data, item->len);
		else if (item->tag == KERNEL_TAG_VAR_GONE)
			known_drop(known, item->data, item->len);
	}
}

static void on_done(struct run *run, size_t count)
{
	const struct kernel_item *status = kernel_find(run->items, count, KERNEL_TAG_STATUS);

	if (kernel_item_is(status, "ok")) {
		run->done = RUN_DONE_OK;
	} else if (kernel_item_is(status, "error")) {
		run->done = RUN_DONE_ERROR;
	} else if (kernel_item_is(status, "interrupted")) {
		run->done = RUN_DONE_INTERRUPTED;
	} else {
		violation(run, "DONE with an unknown status");
		return;
	}
	for (size_t i = 0; i < count; i++)
		if (run->items[i].tag == KERNEL_TAG_NOTE)
			record_add_note(run->record, run->items[i].data, run->items[i].len);
	note_names(run, count);
	run->end = RUN_DONE;
}

static void handle(struct run *run, const struct kernel_head *head, size_t count)
{
	switch ((enum kernel_type)head->type) {
	case KERNEL_DISPLAY:
		on_bundle(run, RECORD_DISPLAY, count);
		return;
	case KERNEL_UPDATE_DISPLAY:
		on_bundle(run, RECORD_UPDATE_DISPLAY, count);
		return;
	case KERNEL_RESULT:
		on_bundle(run, RECORD_RESULT, count);
		return;
	case KERNEL_ERROR:
		on_error(run, count);
		return;
	case KERNEL_CLEAR_OUTPUT:
		on_clear(run, count);
		return;
	case KERNEL_INPUT_REQUEST:
		on_input(run, count);
		return;
	case KERNEL_SYNC:
		run_drain(run);
		reply(run, KERNEL_SYNC_ACK, NULL);
		return;
	case KERNEL_DONE:
		on_done(run, count);
		return;
	case KERNEL_EXECUTE:
	case KERNEL_VARIABLES:
	case KERNEL_COMPLETE:
	case KERNEL_INSPECT:
	case KERNEL_IS_COMPLETE:
	case KERNEL_INPUT_REPLY:
	case KERNEL_SYNC_ACK:
	case KERNEL_SHUTDOWN:
	case KERNEL_CONFIGURE:
	case KERNEL_RESUME:
	case KERNEL_CGROUP_JOIN:
	case KERNEL_PARK:
	case KERNEL_PING:
	case KERNEL_TOOLS:
	case KERNEL_READY:
	case KERNEL_VARIABLES_REPLY:
	case KERNEL_COMPLETE_REPLY:
	case KERNEL_INSPECT_REPLY:
	case KERNEL_IS_COMPLETE_REPLY:
	case KERNEL_PONG:
		break;
	}
	violation(run, "a packet of a kind that is the host's");
}

static void judge(struct run *run, const struct kernel_head *head)
{
	struct err err;
	int n;

	if (!kernel_may_send(run->session->state, head->type)) {
		violation(run, "a packet out of turn");
		return;
	}
	if (head->id != run->request) {
		violation(run, "a packet for another execution");
		return;
	}
	n = kernel_unpack(buf_text(&run->payload), run->payload.len, head->field_count, run->items,
			  KERNEL_FIELDS_MAX, &err);
	if (n < 0)
		violation(run, err.text);
	else
		handle(run, head, (size_t)n);
	/* Free a buffer of megabytes: the execution may last for hours. */
	if (run->payload.cap > 16 * KERNEL_INLINE_MAX)
		buf_done(&run->payload);
}

bool packet_receive(struct run *run)
{
	struct kernel_head head;
	struct err err;
	int n = session_recv(run->session, &head, &run->payload, &err);

	if (n == ERR_TIMEOUT)
		return false;
	if (n == 0 || n == ERR_SYSTEM)
		run->control_ended = true;
	else if (n < 0)
		violation(run, err.text);
	else
		judge(run, &head);
	return true;
}
