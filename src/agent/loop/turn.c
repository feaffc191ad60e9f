/*
 * turn.c - gets one answer of the model: request, stream, retries.
 *
 * Runs in:  reckon-agent.
 * Reads:    responses of a model's server.
 * Never:    repeats a request whose answer was partly sent to the parent without saying so.
 */
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#include "agent/formats/code_stream.h"
#include "agent/formats/fenced.h"
#include "agent/loop/check.h"
#include "agent/loop/retry.h"
#include "base/clock.h"
#include "codec/sse.h"

#define CONTEXT_TRIES 3u
#define ADAPT_MAX 3u /* in a whole conversation */
#define SCALE_MAX 400u /* percent; a larger factor means that the server counts something else */
#define SCALE_FROM 2000u /* tokens; in a shorter conversation the server's own additions dominate */
#define ESTIMATE_BYTES 4u /* per token, if the server does not count */

/* One attempt at a request. */
struct attempt {
	struct loop *loop;
	struct decoder decoder;
	struct sse sse;
	size_t shown; /* bytes of the turn's text that were sent */
	bool has_sent; /* something was sent: the parent has to discard it if this attempt fails */
	struct code_stream codes[MODEL_CALLS_MAX];
	bool enough;  /* a code block is complete, so the rest is not needed */
	bool gone;    /* sending to the parent failed */
};

/* In fenced mode code is shown when it runs; an object for a schema is never shown. */
static void show(struct attempt *attempt, bool at_end)
{
	struct loop *loop = attempt->loop;
	const struct buf *text = &attempt->decoder.turn->text;
	size_t prose = text->len;
	struct fenced found;
	struct err err;

	if (loop->settings.calling == AGENT_CALLING_SCHEMA || loop_checks_answer(loop))
		return;
	if (loop->settings.calling == AGENT_CALLING_FENCED) {
		if (!at_end)
			prose = fenced_prose(buf_text(text), text->len, loop->language);
		if (fenced_find(buf_text(text), text->len, loop->language, &found)) {
			prose = found.start;
			/* An incomplete last line may continue, and then is not a closing fence. */
			attempt->enough = found.complete && text->data[found.end - 1] == '\n';
		}
	}
	if (prose <= attempt->shown)
		return;
	attempt->has_sent = true;
	if (link_text(loop->link, AGENT_TEXT, text->data + attempt->shown, prose - attempt->shown,
		      &err) < 0)
		attempt->gone = true;
	attempt->shown = prose;
}

static void on_piece(const char *text, size_t len, bool is_thought, void *arg)
{
	struct attempt *attempt = arg;
	struct err err;

	attempt->has_sent = attempt->has_sent || is_thought;
	if (!is_thought)
		show(attempt, false);
	else if (link_text(attempt->loop->link, AGENT_THOUGHT, text, len, &err) < 0)
		attempt->gone = true;
}

static void on_sealed(const char *members, size_t len, void *arg)
{
	struct attempt *attempt = arg;
	struct err err;

	attempt->has_sent = true;
	if (link_sealed(attempt->loop->link, attempt->loop->conversation.made_by, members, len,
			&err) < 0)
		attempt->gone = true;
}

/* Sends the new part of the code in the calls. */
static void show_code(struct attempt *attempt)
{
	const struct model_turn *turn = attempt->decoder.turn;
	const struct model_tool *tool = model_conversation_code_tool(&attempt->loop->conv);

	for (size_t i = 0; tool != NULL && i < turn->call_count; i++) {
		const struct model_call *call = &turn->calls[i];
		cleanup_buf struct buf code = BUF_INIT(MODEL_ARGS_MAX);
		struct err err; /* of a piece that is too long: the cell itself tells it all */

		if (call->name == NULL || call->too_long || strcmp(call->name, tool->name) != 0 ||
		    code_stream_feed(&attempt->codes[i], buf_text(&call->args), call->args.len,
				     &code, &err) < 0 ||
		    code.len == 0)
			continue;
		attempt->has_sent = true;
		if (link_code(attempt->loop->link, i, code.data, code.len, &err) < 0)
			attempt->gone = true;
	}
}

static int on_event(const struct sse_event *event, void *arg, struct err *err)
{
	struct attempt *attempt = arg;
	struct decoder *decoder = &attempt->decoder;

	if (attempt->loop->provider->event(decoder, event->name, event->data,
						   event->len, err) < 0)
		return (int)err->code;
	show_code(attempt);
	if (attempt->gone)
		return err_set(err, ERR_LOST, "nobody listens any more");
	if (decoder->fault.kind != FAULT_NONE)
		return err_set(err, ERR_UNAVAILABLE, "%s", decoder->fault.text);
	return attempt->enough ? err_set(err, ERR_LIMIT, "that is enough") : 0;
}

static int on_bytes(const char *bytes, size_t len, void *arg, struct err *err)
{
	struct attempt *attempt = arg;

	return sse_feed(&attempt->sse, bytes, len, err);
}

static bool on_watch(void *arg)
{
	struct attempt *attempt = arg;

	return link_watch(attempt->loop->link);
}

static int post(struct attempt *attempt, struct net_answer *answer, struct err *err)
{
	struct loop *loop = attempt->loop;
	struct provider_request request;
	struct net_call call = {
		.request = &request,
		.bytes = on_bytes,
		.watch = on_watch,
		.arg = attempt,
		.watch_fd = loop->link->sock,
		.deadline_ns = loop->deadline_ns,
	};
	int rc;

	provider_request_init(&request);
	request.base_url = loop->base_url;
	request.model = loop->model;
	request.key = loop->key;
	request.answer_tokens = loop->settings.answer_tokens;
	request.ways = loop->ways;
	rc = loop->provider->request(&loop->conv, &request, err);
	if (rc == 0)
		rc = provider_more_headers(&request, loop->headers, err);
	if (rc == 0)
		rc = net_send(loop->net, &call, answer, err);
	if (rc == 0 && answer->status == 200 && answer->is_stream)
		rc = sse_end(&attempt->sse, err);
	provider_request_done(&request);
	return rc;
}

/* Sets `ret` to what went wrong, if anything did. */
static void judge(struct attempt *attempt, const struct net_answer *answer, int rc,
		  const struct err *err, struct fault *ret)
{
	const struct decoder *decoder = &attempt->decoder;

	*ret = (struct fault){ 0 };
	if (attempt->enough)
		return;
	if (decoder->fault.kind != FAULT_NONE)
		*ret = decoder->fault;
	else if (rc < 0 && answer->may_retry)
		fault_set(ret, FAULT_BUSY, "%s", err->text);
	else if (rc < 0)
		fault_set(ret, FAULT_BROKEN, "%s", err->text);
	else if (answer->status != 200)
		fault_read(answer->status, buf_text(&answer->body), answer->body.len, ret);
	else if (!answer->is_stream)
		fault_set(ret, FAULT_BROKEN, "the answer is not a stream of events");
	else if (!decoder->ended)
		fault_set(ret, FAULT_BUSY, "the stream ended in the middle of the answer");
	if (ret->kind != FAULT_NONE && answer->retry_ms > 0)
		ret->retry_ms = answer->retry_ms;
	fault_hide(ret, attempt->loop->key);
}

/* Adapts to the server's count: numbers have more tokens than words. */
static void measure(struct loop *loop, uint64_t percent)
{
	if (percent < 100)
		percent = 100;
	loop->scale = percent < SCALE_MAX ? percent : SCALE_MAX;
}

/*
 * The price of writing to the cache. Servers of the Messages protocol charge a quarter more than
 * for other input, unless the settings say otherwise.
 */
static uint64_t price_of_writes(const struct agent_settings *settings)
{
	if (settings->price_written != 0)
		return settings->price_written;
	return settings->protocol == AGENT_PROTOCOL_MESSAGES ? settings->price_in * 5 / 4
							     : settings->price_in;
}

static void count(struct loop *loop, const struct model_turn *turn, uint64_t estimate)
{
	const struct agent_settings *settings = &loop->settings;
	struct agent_usage *sum = &loop->usage;
	struct model_usage usage = turn->usage;

	if (usage.in == 0)
		usage.in = estimate;
	else if (estimate > SCALE_FROM)
		measure(loop, usage.in * 100 / estimate);
	if (usage.out == 0)
		usage.out = (turn->text.len + turn->thoughts.len + ESTIMATE_BYTES - 1) /
			    ESTIMATE_BYTES;
	if (usage.cached > usage.in)
		usage.cached = usage.in;
	sum->requests++;
	sum->in += usage.in;
	sum->cached += usage.cached;
	sum->out += usage.out;
	sum->reasoning += usage.reasoning;
	if (usage.written > usage.in - usage.cached)
		usage.written = usage.in - usage.cached;
	sum->cost_micro += ((usage.in - usage.cached - usage.written) * settings->price_in +
			    usage.written * price_of_writes(settings) +
			    usage.cached * settings->price_cached +
			    usage.out * settings->price_out) /
			   1000000u;
}

static void describe(struct loop_end *end, const struct loop *loop, const struct fault *fault)
{
	const enum agent_stop stop = fault->kind == FAULT_FILTERED ? AGENT_STOP_REFUSED
								   : AGENT_STOP_FAILED;
	struct err *why = &end->why;

	if (fault->status != 0)
		loop_stop(end, stop, "%s: HTTP %u: %s", loop->provider->name,
			  fault->status, fault->text);
	else
		loop_stop(end, stop, "%s: %s", loop->provider->name, fault->text);
	switch (fault->kind) {
	case FAULT_KEY:
		err_remedy(why, "check the key, and that it may use %.60s", loop->model);
		return;
	case FAULT_QUOTA:
		err_remedy(why, "the account has no credit left");
		return;
	case FAULT_CONTEXT:
		err_remedy(why, "a smaller --context, or a model that reads more");
		return;
	case FAULT_BUSY:
		err_remedy(why, "ask again in a while");
		return;
	case FAULT_NONE:
	case FAULT_FILTERED:
	case FAULT_REQUEST:
	case FAULT_BROKEN:
		return;
	}
}

/* True if the error is about images, which are then dropped. */
static bool drop_images(struct loop *loop, const struct fault *fault)
{
	bool dropped = false;

	if (fault->kind != FAULT_REQUEST || loop->no_images || strstr(fault->text, "image") == NULL)
		return false;
	for (size_t i = 0; i < loop->conv.count; i++)
		dropped |= model_turn_drop_images(loop->conv.turns[i]) > 0;
	loop->no_images = true;
	return dropped;
}

/* Adapts to an error that names a part of the request; false: nothing is left to try. */
static bool adapt(struct loop *loop, const struct fault *fault)
{
	struct provider_ways *ways = &loop->ways;
	const struct provider_ways before = *ways;
	const bool is_chat = loop->settings.protocol == AGENT_PROTOCOL_CHAT;

	if (fault->kind != FAULT_REQUEST || loop->adapted >= ADAPT_MAX)
		return false;
	if (is_chat && strstr(fault->text, "max_completion_tokens") != NULL)
		/*
		 * The error names the member that the server wants, or only the one it does not
		 * know.
		 */
		ways->limit = strstr(fault->text, "max_tokens") != NULL &&
					      ways->limit != AGENT_LIMIT_COMPLETION
				      ? AGENT_LIMIT_COMPLETION
				      : AGENT_LIMIT_TOKENS;
	else if (is_chat && strstr(fault->text, "reasoning") != NULL)
		/*
		 * A server that requires thoughts says "must" or "missing"; others do not know the
		 * member.
		 */
		ways->echo = strstr(fault->text, "must") != NULL ||
					     strstr(fault->text, "missing") != NULL
				     ? AGENT_ECHO_ALL
				     : AGENT_ECHO_NONE;
	else if (strstr(fault->text, "ncrypted") != NULL || strstr(fault->text, "nclude") != NULL)
		ways->no_encrypted = true;
	loop->adapted++;
	return before.limit != ways->limit || before.echo != ways->echo ||
	       before.no_encrypted != ways->no_encrypted;
}

/* Waits before the next attempt; false: the question ends. */
static bool pause_for(struct loop *loop, const struct fault *fault, unsigned attempt, bool has_sent,
		      struct loop_end *end)
{
	uint32_t random = 0;
	uint64_t wait, now = clock_mono_ns();
	struct err err;

	if (getrandom(&random, sizeof(random), 0) < 0)
		random = 0; /* then the delay has no random part */
	wait = retry_delay_ms(attempt, fault->retry_ms, random);
	if (wait == UINT64_MAX) {
		describe(end, loop, fault);
		err_remedy(&end->why, "it asks to come back in %" PRIu64 " s",
			   fault->retry_ms / 1000);
		return false;
	}
	if (now + wait * 1000000u >= loop->deadline_ns) {
		loop_stop(end, AGENT_STOP_TIME, "the time limit would pass before %s can be asked "
			  "again: %s", loop->provider->name, fault->text);
		return false;
	}
	if ((has_sent ? link_discard(loop->link, &err,
				     "%s: %s; what it had begun to say does not "
				     "count; trying again in %.1f s",
				     loop->provider->name, fault->text, (double)wait / 1000)
		      : link_notice(loop->link, &err, "%s: %s; trying again in %.1f s",
				    loop->provider->name, fault->text, (double)wait / 1000)) < 0)
		return false;
	if (net_wait(wait, loop->link->sock, link_watch, loop->link)) {
		loop_stop(end, AGENT_STOP_INTERRUPTED, "%s", "");
		return false;
	}
	return true;
}

/* Makes one attempt. 1: the turn is complete; 0: it is not, see `fault` or `end`. */
static int attempt_take(struct loop *loop, struct fault *fault, bool *ret_has_sent,
			struct loop_end *end, struct err *err)
{
	struct attempt attempt = { .loop = loop };
	const uint64_t estimate = window_estimate(&loop->conv);
	struct model_turn *turn = model_conversation_add(&loop->conv, MODEL_ROLE_MODEL);
	struct net_answer answer;
	int rc;

	decoder_init(&attempt.decoder, turn);
	attempt.decoder.piece = on_piece;
	attempt.decoder.sealed = on_sealed;
	attempt.decoder.arg = &attempt;
	loop->conv.count--; /* the new turn is not part of the request */
	sse_init(&attempt.sse, MODEL_EVENT_MAX, on_event, &attempt);
	net_answer_init(&answer);
	rc = post(&attempt, &answer, err);
	loop->conv.count++;
	if (answer.interrupted)
		loop_stop(end, AGENT_STOP_INTERRUPTED, "%s", "");
	else if (answer.timed_out)
		loop_stop(end, AGENT_STOP_TIME, "the time limit of %.0f s was reached",
			  (double)loop->settings.wall_ms / 1000);
	else if (attempt.gone)
		rc = ERR_LOST;
	else
		judge(&attempt, &answer, rc, err, fault);
	if (!end->over && fault->kind == FAULT_NONE)
		show(&attempt, true);
	sse_done(&attempt.sse);
	decoder_done(&attempt.decoder);
	net_answer_done(&answer);
	if (end->over || fault->kind != FAULT_NONE || attempt.gone) {
		*ret_has_sent = attempt.has_sent;
		if (attempt.decoder.begun)
			count(loop, turn, estimate);
		model_conversation_cut(&loop->conv, loop->conv.count - 1);
		return attempt.gone ? rc : 0;
	}
	count(loop, turn, estimate);
	return 1;
}

int turn_take(struct loop *loop, struct loop_end *end, struct err *err)
{
	uint64_t window = window_room(&loop->settings) * 100 / loop->scale;
	unsigned tries = 0, contexts = 0;

	for (;;) {
		struct fault fault = { 0 };
		bool has_sent = false;
		int rc;

		check_note(loop);
		(void)window_fit(&loop->conv, window);
		rc = attempt_take(loop, &fault, &has_sent, end, err);
		if (rc < 0 || end->over)
			return rc < 0 ? rc : 0;
		if (rc == 1)
			return model_turn_settle(loop->conv.turns[loop->conv.count - 1],
						 "code", ++loop->numbered, err);
		if (fault.kind == FAULT_BUSY && tries < loop->settings.retries) {
			if (!pause_for(loop, &fault, ++tries, has_sent, end))
				return end->over ? 0 : err_set(err, ERR_LOST, "nobody listens");
			continue;
		}
		if (fault.kind == FAULT_CONTEXT && ++contexts < CONTEXT_TRIES) {
			window = window_estimate(&loop->conv) / 2;
			continue;
		}
		if (drop_images(loop, &fault) || adapt(loop, &fault))
			continue;
		describe(end, loop, &fault);
		return 0;
	}
}
