/*
 * agent_stream.h - what every fuzzer of a model's stream does with its bytes.
 *
 * The first byte selects the size of the pieces in which the rest arrives. For any bytes, the turn
 * stays within its limits, its calls have unique ids and JSON objects as arguments, and a request
 * of the provider with this turn is valid JSON.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/formats/provider.h"
#include "base/utf8.h"
#include "codec/sse.h"

static inline void expect(bool condition)
{
	if (!condition)
		abort();
}

struct fuzz_stream {
	const struct provider *provider;
	struct decoder decoder;
};

static inline void fuzz_piece(const char *text, size_t len, bool is_thought, void *arg)
{
	(void)is_thought;
	(void)arg;
	expect(utf8_is_valid(text, len));
}

static inline int fuzz_event(const struct sse_event *event, void *arg, struct err *err)
{
	struct fuzz_stream *stream = arg;

	return stream->provider->event(&stream->decoder, event->name, event->data, event->len,
				       err);
}

static inline void fuzz_check_turn(const struct model_turn *turn)
{
	expect(turn->call_count <= MODEL_CALLS_MAX && turn->text.len <= MODEL_TEXT_MAX);
	for (size_t i = 0; i < turn->call_count; i++) {
		struct buf again = BUF_INIT(2 * MODEL_ARGS_MAX * 6);
		enum json_kind kind;
		struct err err;

		for (size_t j = 0; j < i; j++)
			expect(strcmp(turn->calls[i].id, turn->calls[j].id) != 0);
		expect(json_read_compact(buf_text(&turn->calls[i].args), turn->calls[i].args.len,
					 again.max, &again, &kind, &err) == 0 &&
		       kind == JSON_KIND_OBJECT);
		buf_done(&again);
	}
}

static inline void fuzz_send_back(const struct provider *provider, const struct model_conversation *conv)
{
	struct provider_request request;
	struct buf again = BUF_INIT(MODEL_BODY_MAX);
	enum json_kind kind;
	struct err err;

	provider_request_init(&request);
	request.base_url = "http://localhost";
	request.model = "m";
	request.key = "k";
	request.answer_tokens = 1;
	if (provider->request(conv, &request, &err) == 0)
		expect(json_read_compact(buf_text(&request.body), request.body.len, MODEL_BODY_MAX,
					 &again, &kind, &err) == 0);
	buf_done(&again);
	provider_request_done(&request);
}

static inline int fuzz_stream(const struct provider *provider, const uint8_t *data, size_t size)
{
	struct fuzz_stream stream = { .provider = provider };
	struct model_conversation conv;
	struct sse sse;
	struct err err;
	size_t piece;
	int rc = 0;

	if (size < 1)
		return 0;
	piece = data[0] % 64u + 1u;
	model_conversation_init(&conv);
	expect(model_conversation_add_tool(&conv, MODEL_TOOL_CODE, "python", "what it is", "{}", &err) == 0);
	expect(buf_adds(&model_conversation_add(&conv, MODEL_ROLE_USER)->text, "?", &err) == 0);
	decoder_init(&stream.decoder, model_conversation_add(&conv, MODEL_ROLE_MODEL));
	stream.decoder.piece = fuzz_piece;
	sse_init(&sse, MODEL_EVENT_MAX, fuzz_event, &stream);
	for (size_t at = 1; at < size && rc == 0; at += piece)
		rc = sse_feed(&sse, (const char *)data + at,
			      size - at < piece ? size - at : piece, &err);
	if (rc == 0)
		(void)sse_end(&sse, &err);
	sse_done(&sse);
	decoder_done(&stream.decoder);
	expect(model_turn_settle(stream.decoder.turn, "code", 7, &err) == 0);
	fuzz_check_turn(stream.decoder.turn);
	fuzz_send_back(provider, &conv);
	model_conversation_done(&conv);
	return 0;
}
