/*
 * during_cell.c - handles messages while a cell runs, or keeps them until it has ended.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    messages of any client.
 * Never:    keeps more than WAITING_MAX messages or WAITING_BYTES_MAX bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "dialects/jupyter/server.h"

#define WAITING_MAX 256u
#define WAITING_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define CLOSE_TOO_MUCH 1009u
#define BUSY_MS 20000u /* heartbeat interval */
#define LINE_MAX_BYTES 65536u /* of a line of input */

static int keep_waiting(struct channels *channels, struct waiting *waiting, struct frame *frame)
{
	if (waiting->frames == NULL)
		waiting->frames = mem_new0(WAITING_MAX, sizeof(*waiting->frames));
	if (waiting->count == WAITING_MAX ||
	    waiting->bytes + frame->bytes.len > WAITING_BYTES_MAX) {
		frame_done(frame);
		websocket_close(channels->request, CLOSE_TOO_MUCH, "too many messages wait");
		return -1;
	}
	waiting->bytes += frame->bytes.len;
	waiting->frames[(waiting->first + waiting->count++) % WAITING_MAX] = *frame;
	return 0;
}

bool waiting_take(struct waiting *waiting, struct frame *ret)
{
	if (waiting->count == 0)
		return false;
	*ret = waiting->frames[waiting->first];
	waiting->first = (waiting->first + 1) % WAITING_MAX;
	waiting->count--;
	waiting->bytes -= ret->bytes.len;
	return true;
}

void waiting_done(struct waiting *waiting)
{
	struct frame frame;

	while (waiting_take(waiting, &frame))
		frame_done(&frame);
	free(waiting->frames);
}

/* The asking cell runs on this connection, or on a lost one of the same client. */
int channels_answer(struct channels *channels, const struct frame *frame)
{
	cleanup_call struct call call = CALL_INIT;
	struct channels *asking = channels->cell != NULL ? channels : clients_asking(channels);
	struct cell *cell = asking != NULL ? asking->cell : NULL;
	const char *line = frame_text(frame, "value", NULL);
	const uint64_t question = cell != NULL ? cell->question : 0;

	if (question == 0)
		return 0; /* no cell asks */
	cell->question = 0;
	/* reckond would refuse a longer line, and the cell would wait on: end its input instead. */
	struct api_execution_input_in in = { .session = channels->kernel.session,
					     .execution = cell->execution,
					     .has_seq = true,
					     .seq = question };

	if (strlen(line) > LINE_MAX_BYTES)
		in.has_end = in.end = true;
	else
		in.text = line;
	return call_make(channels->request, API_EXECUTION_INPUT, &in, NULL, &call) == CALL_GONE ? -1
												: 0;
}

/* Keeps requests that the kernel answers: they, and so this handler, would wait for the cell. */
static int take_during_cell(struct channels *channels, const struct websocket_message *message)
{
	struct frame frame;
	int code = 0;

	if (!frame_read(message->bytes, message->len, message->kind == WEBSOCKET_BINARY, &frame)) {
		frame_done(&frame);
		return 0;
	}
	if (strcmp(frame.type, "input_reply") == 0)
		code = channels_answer(channels, &frame);
	else if (strcmp(frame.channel, "control") != 0 &&
		 strcmp(frame.type, "kernel_info_request") != 0)
		return keep_waiting(channels, channels->waiting, &frame);
	else
		code = answers_handle(channels, &frame);
	frame_done(&frame);
	return code;
}

int channels_wait_during_cell(struct channels *channels)
{
	struct websocket_message message;
	int what;

	if (channels->is_drained)
		return upstream_wait(channels->request, 0);
	what = channels_next(channels, BUSY_MS, &message);
	if (what < 0) {
		channels->is_drained = websocket_is_lost(channels->request);
		return channels->is_drained ? 0 : -1;
	}
	if (what == 0)
		return channels_beat(channels);
	return what == 1 ? take_during_cell(channels, &message) : 0;
}

void channels_fail(struct channels *channels)
{
	channels->to_abort = channels->waiting->count;
}
