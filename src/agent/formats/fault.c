/*
 * fault.c - classifies the errors of a model's server.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    hostile JSON, and HTTP status codes.
 * Never:    limits the number of retries; that is up to the caller.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/formats/provider.h"
#include "base/cleanup.h"
#include "codec/json_get.h"

#define KEY_PART 3u /* a shorter part of a key says nothing */
#define RETRY_MS_MAX (24.0 * 3600 * 1000)

void fault_set(struct fault *fault, enum fault_kind kind, const char *fmt, ...)
{
	va_list ap;

	*fault = (struct fault){ .kind = kind };
	va_start(ap, fmt);
	(void)vsnprintf(fault->text, sizeof(fault->text), fmt, ap);
	va_end(ap);
}

/* By the codes that providers use in `code`, `type` or `status`. */
static enum fault_kind kind_of_word(const char *word)
{
	static const struct {
		const char *word;
		enum fault_kind kind;
	} words[] = {
		{ "insufficient_quota", FAULT_QUOTA },
		{ "billing_error", FAULT_QUOTA },
		{ "billing_hard_limit_reached", FAULT_QUOTA },
		{ "content_filter", FAULT_FILTERED },
		{ "content_policy_violation", FAULT_FILTERED },
		{ "context_length_exceeded", FAULT_CONTEXT },
		{ "exceed_context_size_error", FAULT_CONTEXT },
		{ "request_too_large", FAULT_CONTEXT },
		{ "rate_limit_exceeded", FAULT_BUSY },
		{ "rate_limit_error", FAULT_BUSY },
		{ "overloaded_error", FAULT_BUSY },
		{ "api_error", FAULT_BUSY },
		{ "server_error", FAULT_BUSY },
		{ "timeout_error", FAULT_BUSY },
		{ "RESOURCE_EXHAUSTED", FAULT_BUSY },
		{ "UNAVAILABLE", FAULT_BUSY },
		{ "INTERNAL", FAULT_BUSY },
		{ "DEADLINE_EXCEEDED", FAULT_BUSY },
		{ "authentication_error", FAULT_KEY },
		{ "permission_error", FAULT_KEY },
		{ "invalid_api_key", FAULT_KEY },
		{ "UNAUTHENTICATED", FAULT_KEY },
		{ "PERMISSION_DENIED", FAULT_KEY },
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].kind;
	return FAULT_NONE;
}

static enum fault_kind kind_of_status(unsigned status)
{
	switch (status) {
	case 401:
	case 403:
		return FAULT_KEY;
	case 402:
		return FAULT_QUOTA;
	case 413:
		return FAULT_CONTEXT;
	case 408:
	case 409:
	case 429:
		return FAULT_BUSY;
	default:
		return status >= 500 ? FAULT_BUSY : FAULT_REQUEST;
	}
}

/* Gemini: details: [{"@type": "…RetryInfo", "retryDelay": "34.4s"}] */
static uint64_t retry_delay(const struct json_value *error)
{
	const struct json_value *details = json_read_member(error, "details");

	for (size_t i = 0; i < json_read_count(details); i++) {
		const char *delay = json_get_str(json_read_at(details, i), "retryDelay");
		char *end;
		const double ms = strtod(delay, &end) * 1000;

		if (end != delay && strcmp(end, "s") == 0 && ms >= 0 && ms < RETRY_MS_MAX)
			return (uint64_t)ms;
	}
	return 0;
}

void fault_judge(unsigned status, const struct json_value *error, struct fault *ret)
{
	static const char *const keys[] = { "code", "type", "status" };
	const struct json_value *inner = json_read_member(error, "error");
	const char *message;
	enum fault_kind kind = FAULT_NONE;
	int64_t number;

	if (json_read_kind(error) == JSON_KIND_ARRAY) {
		error = json_read_at(error, 0);
		inner = json_read_member(error, "error");
	}
	if (json_read_kind(inner) == JSON_KIND_OBJECT)
		error = inner;
	for (size_t i = 0; i < ARRAY_LEN(keys) && kind == FAULT_NONE; i++)
		kind = kind_of_word(json_get_str(error, keys[i]));
	/* Errors inside a stream, as OpenRouter's, have only this number. */
	if (status == 0 && json_read_int(json_read_member(error, "code"), &number) &&
	    number >= 400 && number < 600)
		status = (unsigned)number;
	if (kind == FAULT_NONE)
		kind = status != 0 ? kind_of_status(status) : FAULT_REQUEST;
	message = json_get_str(error, "message");
	if (message[0] == '\0' && json_read_text(inner, NULL) != NULL)
		message = json_read_text(inner, NULL);
	fault_set(ret, kind, "%s", message[0] != '\0' ? message : "it does not say why");
	ret->status = status;
	ret->retry_ms = retry_delay(error);
}

void fault_read(unsigned status, const char *json, size_t len, struct fault *ret)
{
	struct json_value *document = NULL;
	struct err ignored; /* text that is not JSON is quoted unchanged */

	if (json_read_parse(json, len, MODEL_EVENT_MAX, &document, &ignored) == 0) {
		fault_judge(status, document, ret);
		json_read_free(document);
		return;
	}
	fault_set(ret, kind_of_status(status), "%.*s", (int)(len > 200 ? 200 : len), json);
	ret->status = status;
}

void fault_hide(struct fault *fault, const char *key)
{
	const size_t len = strlen(key), shown = len < 3 ? len : 3;

	for (char *at = fault->text; len > 0 && (at = strstr(at, key)) != NULL; at += shown) {
		memset(at, '*', shown);
		memmove(at + shown, at + len, strlen(at + len) + 1);
	}
	/* The text may have been cut in the middle of the key. */
	for (size_t n = len; n-- > KEY_PART;) {
		const size_t text_len = strlen(fault->text);

		if (n <= text_len && memcmp(fault->text + text_len - n, key, n) == 0)
			fault->text[text_len - n] = '\0';
	}
}
