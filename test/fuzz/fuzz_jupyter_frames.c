/*
 * fuzz_jupyter_frames.c - messages on a kernel's WebSocket in both formats; ids.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes.
 * Never:    keeps state between inputs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/jupyter/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An accepted message can be written and read again, in both formats. */
static void write_again(const struct frame *frame)
{
	const struct frame_out out = { .channel = "shell",
				       .id = "1",
				       .type = frame->type,
				       .header = { frame->header_text.data, frame->header_text.len },
				       .parent = { "{}", 2 },
				       .content = { "{}", 2 } };

	for (int is_binary = 0; is_binary < 2; is_binary++) {
		struct buf bytes = BUF_INIT(2 * FRAME_MAX);
		struct frame again;
		struct err err;

		if ((is_binary ? frame_write_binary(&out, &bytes, &err)
			       : frame_write_text(&out, &bytes, &err)) < 0)
			abort();
		if (!frame_read(bytes.data, bytes.len, is_binary, &again) ||
		    strcmp(again.type, frame->type) != 0)
			abort();
		frame_done(&again);
		buf_done(&bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), id[ID_SIZE], uuid[UUID_SIZE];

	if (text == NULL)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	for (int is_binary = 0; is_binary < 2; is_binary++) {
		struct frame frame;

		if (frame_read(text, size, is_binary, &frame))
			write_again(&frame);
		frame_done(&frame);
	}
	if (server_session_of(text, id) && (!server_uuid_of(id, uuid) || strcmp(uuid, text) != 0))
		abort();
	if (server_context_of(text, id) && (!server_uuid_of(id, uuid) || strcmp(uuid, text) != 0))
		abort();
	(void)server_uuid_of(text, uuid);
	free(text);
	return 0;
}
