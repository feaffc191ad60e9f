/*
 * fuzz_call.c - typed calls: images of a captured process, bodies and queries of anybody.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes. The first says what they are, the second which call.
 * Never:    keeps anything.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/calls.h"
#include "api/check.h"
#include "api/image.h"
#include "api/json_in.h"
#include "api/json_out.h"
#include "api/route.h"
#include "base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was let through is written as it came, but for what is said in several ways. */
static void same_again(const struct api_type *type, const void *value, const char *image,
		       size_t len)
{
	cleanup_buf struct buf again = BUF_INIT(1u << 24);
	struct err err;

	if (api_check(type, value, &err) < 0 || api_image_write(type, value, &again, &err) < 0 ||
	    (image != NULL && (again.len != len || memcmp(buf_text(&again), image, len) != 0)))
		abort();
}

static void image(const struct api_call *call, bool is_answer, const char *text, size_t len)
{
	const struct api_type *type = is_answer ? call->gives : call->takes;
	cleanup_buf struct buf body = BUF_INIT(1u << 24);
	cleanup_arena struct arena arena = { 0 };
	struct api_bytes rest = { text, len };
	void *value = arena_new(&arena, 1, type->size);
	struct err err;

	if (api_image_read(type, &rest, &arena, value, &err) < 0) {
		if (err.code != ERR_PROTOCOL)
			abort();
		return;
	}
	same_again(type, value, text, len - rest.len);
	/* Its JSON is reckond's own: not for strangers to make. */
	if (is_answer && !call->is_whole && call != &api_calls[API_VARIABLES] &&
	    api_write_body(call, value, &body, &err) < 0 && err.code != ERR_LIMIT)
		abort();
}

static void request(const struct api_call *call, bool is_query, const char *text, size_t len)
{
	cleanup_arena struct arena arena = { 0 };
	void *in = arena_new(&arena, 1, call->takes->size);
	char *query = arena_text(&arena, text, strnlen(text, len));
	struct err err;
	int code;

	api_take_path(call, query, &arena, in);
	code = is_query ? api_take_query(call->takes, query, &arena, in, &err)
			: api_take_body(call->takes, text, len, &arena, in, &err);
	if (code == 0)
		code = api_check(call->takes, in, &err);
	if (code < 0 && (err.text[0] == '\0' ||
			 (err.code != ERR_INVALID && err.code != ERR_LIMIT)))
		abort();
	if (code == 0)
		same_again(call->takes, in, NULL, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct api_call *call;
	char *text;

	if (size < 2)
		return 0;
	call = &api_calls[1 + data[1] % (API_CALL_COUNT - 1)];
	/* As long as it is, so that one byte too many is seen. */
	text = malloc(size - 1);
	if (text == NULL)
		abort();
	memcpy(text, data + 2, size - 2);
	text[size - 2] = '\0';
	if (data[0] % 4 < 2)
		image(call, data[0] % 4 == 1, text, size - 2);
	else
		request(call, data[0] % 4 == 3, text, size - 2);
	free(text);
	return 0;
}
