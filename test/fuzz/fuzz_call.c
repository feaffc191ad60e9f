/*
 * fuzz_call.c - typed calls: images of a captured process, bodies and queries of any client.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes: one for the kind of data, a call's name, a line feed, the data.
 * Never:    keeps state between inputs.
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

/* An accepted value can be written as an image: the one that it was read from, if any. */
static void same_again(const struct api_type *type, const void *value, const char *image,
		       size_t len)
{
	cleanup_buf struct buf again = BUF_INIT(1u << 24);
	struct err err;

	if (api_check(type, value, &err) < 0 || api_image_write(type, value, &again, &err) < 0 ||
	    (image != NULL && (again.len != len || memcmp(buf_text(&again), image, len) != 0)))
		abort();
}

static bool has_json(const struct api_type *type)
{
	for (size_t i = 0; i < type->count; i++)
		if (type->fields[i].kind == API_JSON ||
		    (type->fields[i].type != NULL && has_json(type->fields[i].type)))
			return true;
	return false;
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
	/* Only reckond makes the JSON within a value, so it is not tested with bytes of others. */
	if (is_answer && !has_json(call->gives) &&
	    api_write_body(call, value, &body, &err) < 0 && err.code != ERR_LIMIT)
		abort();
}

/* Reads an error's image and writes it as a response to a client. */
static void failure(const char *text, size_t len)
{
	cleanup_buf struct buf body = BUF_INIT(1u << 24);
	cleanup_arena struct arena arena = { 0 };
	struct api_bytes rest = { text, len };
	struct api_failure value = { 0 };
	struct err err;

	if (api_image_read(&api_type_failure, &rest, &arena, &value, &err) < 0) {
		if (err.code != ERR_PROTOCOL)
			abort();
		return;
	}
	same_again(&api_type_failure, &value, text, len - rest.len);
	if (api_write_failure(&value, &body, &err) < 0 && err.code != ERR_LIMIT)
		abort();
}

static void request(const struct api_call *call, bool is_query, const char *text, size_t len)
{
	cleanup_arena struct arena arena = { 0 };
	void *in = arena_new(&arena, 1, call->takes->size);
	char *query = arena_text(&arena, text, strnlen(text, len));
	struct err err;
	int code;

	code = api_take_path(call, query, &arena, in, &err);
	if (code < 0 && err.code != ERR_INVALID)
		abort();
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

/* Finds a call by its name, so that a corpus survives new rows; other names select any call. */
static const struct api_call *find(const char *name, size_t len)
{
	size_t number = len;

	for (size_t i = 1; i < API_CALL_COUNT; i++)
		if (strlen(api_calls[i].name) == len && memcmp(api_calls[i].name, name, len) == 0)
			return &api_calls[i];
	for (size_t i = 0; i < len; i++)
		number = number * 31 + (unsigned char)name[i];
	return &api_calls[1 + number % (API_CALL_COUNT - 1)];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct api_call *call;
	const uint8_t *rest;
	size_t len;
	char *text;

	if (size < 2 || (rest = memchr(data + 1, '\n', size - 1)) == NULL)
		return 0;
	call = find((const char *)data + 1, (size_t)(rest - data) - 1);
	rest++;
	len = size - (size_t)(rest - data);
	/* A copy of exactly this size, so that a sanitizer detects a read past it. */
	text = malloc(len + 1);
	if (text == NULL)
		abort();
	memcpy(text, rest, len);
	text[len] = '\0';
	if (data[0] == 'F')
		failure(text, len);
	else if (data[0] % 4 < 2)
		image(call, data[0] % 4 == 1, text, len);
	else
		request(call, data[0] % 4 == 3, text, len);
	free(text);
	return 0;
}
