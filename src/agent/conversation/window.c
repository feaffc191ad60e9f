/*
 * window.c - keeps a conversation within the model's context window.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    the conversation.
 * Never:    changes the system text or the current question, separates a call from its result, or
 *           shortens results that the model has not answered yet unless nothing else is left.
 *
 * Outputs of cells take most of the space, and can be read again. So the oldest results are
 * shortened first: to their beginning and end, then to one line; both name the handle for reading
 * all of it (reading.c). After that whole steps are dropped, each a call with its result, and whole
 * questions of a chat; a note in the question they belonged to, or in the next one, says how many.
 */
#include "agent/conversation/window.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

/* less than English text and code have, so that the estimate is too high, not too low */
#define BYTES_PER_TOKEN 3u
#define IMAGE_TOKENS 1500u
#define TURN_TOKENS 8u /* the protocol's overhead for a turn */
#define HEAD_BYTES 400u
#define TAIL_BYTES 200u
#define SPARE_BYTES 300u /* shortening by less is not worth a mark */
#define START_BYTES 60u
#define MARK_MAX 1024u
#define ORIGINALS_MAX ((size_t)16 * 1024 * 1024) /* of originals of shortened results, in total */

static uint64_t turn_bytes(const struct model_turn *turn)
{
	uint64_t bytes = turn->text.len + turn->sealed.len;

	for (size_t i = 0; i < turn->call_count; i++)
		bytes += turn->calls[i].args.len;
	for (size_t i = 0; i < turn->result_count; i++)
		bytes += turn->results[i].text.len;
	/* A blob that is sent back includes the rest; if it is smaller, it only has thoughts. */
	return turn->blob.len > bytes ? turn->blob.len : bytes;
}

static uint64_t turn_tokens(const struct model_turn *turn)
{
	return TURN_TOKENS + turn_bytes(turn) / BYTES_PER_TOKEN + turn->image_count * IMAGE_TOKENS;
}

static uint64_t tool_bytes(const struct model_tool *tool)
{
	const size_t description = tool->description != NULL ? strlen(tool->description) : 0;

	return strlen(tool->name) + description + strlen(tool->parameters);
}

uint64_t window_estimate(const struct model_conversation *conv)
{
	uint64_t bytes = conv->system.len, tokens = 0;

	for (size_t i = 0; i < conv->tool_count; i++)
		bytes += tool_bytes(&conv->tools[i]);
	for (size_t i = 0; i < conv->count; i++)
		tokens += turn_tokens(conv->turns[i]);
	return tokens + TURN_TOKENS + bytes / BYTES_PER_TOKEN;
}

uint64_t window_room(const struct agent_settings *settings)
{
	const uint64_t all = settings->context_tokens, answer = settings->answer_tokens;

	return all > 2 * answer ? all - answer : all / 2;
}

/* ---- one result ---- */

static const struct buf *whole_of(const struct model_result *result)
{
	return result->whole.len > 0 ? &result->whole : &result->text;
}

/* Keeps the original for the handle, and puts `text` in its place. */
static void replace(struct model_result *result, struct buf *text)
{
	if (result->whole.len == 0)
		result->whole = result->text;
	else
		buf_done(&result->text);
	result->text = *text;
	result->text.max = MODEL_TEXT_MAX;
	*text = BUF_INIT(0);
}

static uint64_t count_lines(const char *text, size_t len)
{
	uint64_t count = 0;

	for (const char *at = text, *end = text + len; at < end; count++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		at = newline != NULL ? newline + 1 : end;
	}
	return count;
}

/* The length of a beginning of at most `max` bytes: whole lines, unless that is too short. */
static size_t head_of(const struct buf *text, size_t max)
{
	const char *newline = memrchr(text->data, '\n', max);

	if (newline != NULL && (size_t)(newline - text->data) >= max / 2)
		return (size_t)(newline - text->data) + 1;
	return max - utf8_incomplete_tail(text->data, max);
}

/* Where an ending of at most `max` bytes begins: whole lines, unless that is too short. */
static size_t tail_of(const struct buf *text, size_t max)
{
	const char *from = text->data + text->len - max;
	const char *newline = memchr(from, '\n', max);

	if (newline != NULL && (size_t)(newline - from) < max / 2)
		return (size_t)(newline - text->data) + 1;
	while (((unsigned char)*from & 0xc0) == 0x80)
		from++;
	return (size_t)(from - text->data);
}

/* Does nothing when the result would not become shorter by much. */
static void cut_middle(struct model_result *result, size_t head_max, size_t tail_max)
{
	const struct buf *text = whole_of(result);
	cleanup_buf struct buf cut = BUF_INIT(head_max + tail_max + MARK_MAX);
	struct err ignored; /* cannot fail: there is room */
	size_t head, tail;
	uint64_t first, last;

	if (result->text.len <= head_max + tail_max + SPARE_BYTES)
		return;
	head = head_of(text, head_max);
	tail = tail_of(text, tail_max);
	first = count_lines(text->data, head);
	last = count_lines(text->data, tail);
	(void)buf_add(&cut, text->data, head, &ignored);
	(void)buf_addf(&cut, &ignored, "%s[%zu bytes of this older output were left out: ",
		       text->data[head - 1] == '\n' ? "" : "\n", tail - head);
	if (text->data[head - 1] == '\n' && text->data[tail - 1] == '\n')
		(void)buf_addf(&cut, &ignored,
			       "reckon output result_%" PRIu64 " --lines %" PRIu64 ":%" PRIu64
			       "]\n",
			       result->number, first + 1, last);
	else
		(void)buf_addf(&cut, &ignored,
			       "reckon output result_%" PRIu64 " --range %zu-%zu]\n",
			       result->number, head, tail - 1);
	(void)buf_add(&cut, text->data + tail, text->len - tail, &ignored);
	replace(result, &cut);
}

/* Replaces the result by one line. */
static bool make_brief(struct model_result *result)
{
	const struct buf *text = whole_of(result);
	cleanup_buf struct buf brief = BUF_INIT(MARK_MAX);
	const char *newline;
	struct err ignored; /* cannot fail: there is room */
	size_t start;

	if (result->text.len <= SPARE_BYTES)
		return false;
	newline = memchr(text->data, '\n', text->len);
	start = newline != NULL ? (size_t)(newline - text->data) : text->len;
	if (start > START_BYTES)
		start = START_BYTES - utf8_incomplete_tail(text->data, START_BYTES);
	(void)buf_addf(&brief, &ignored,
		       "[an older %s of %" PRIu64 " lines, %zu bytes, begins \"%.*s\"; all of it: "
		       "reckon output result_%" PRIu64 "]",
		       result->failed ? "failure" : "output", count_lines(text->data, text->len),
		       text->len, (int)start, text->data, result->number);
	replace(result, &brief);
	return true;
}

/* ---- older turns ---- */

static void number_results(struct model_conversation *conv)
{
	for (size_t i = 0; i < conv->count; i++)
		for (size_t j = 0; j < conv->turns[i]->result_count; j++)
			if (conv->turns[i]->results[j].number == 0)
				conv->turns[i]->results[j].number = ++conv->results;
}

static void drop_images(struct model_turn *turn)
{
	const size_t count = model_turn_drop_images(turn);
	struct err ignored; /* cannot fail: there is room for one more line */

	if (count > 0 && turn->result_count > 0)
		(void)buf_addf(&turn->results[turn->result_count - 1].text, &ignored,
			       "\n[no longer shown of this output: %zu image%s]", count,
			       count == 1 ? "" : "s");
}

static void shorten(struct model_turn *turn, bool is_brief)
{
	if (turn->role != MODEL_ROLE_RESULTS)
		return;
	for (size_t i = 0; i < turn->result_count; i++) {
		if (is_brief)
			(void)make_brief(&turn->results[i]);
		else
			cut_middle(&turn->results[i], HEAD_BYTES, TAIL_BYTES);
	}
	drop_images(turn);
}

/* The index of the last question; the turns after it are the current answer. */
static size_t question_of(const struct model_conversation *conv)
{
	size_t at = conv->count;

	while (at > 0 && conv->turns[at - 1]->role != MODEL_ROLE_USER)
		at--;
	return at > 0 ? at - 1 : 0;
}

static void note_left_out(struct model_turn *question, uint64_t steps, uint64_t questions)
{
	struct buf *text = &question->text;
	struct err ignored; /* on failure only the note is missing */

	if (question->steps_left_out == 0 && question->questions_left_out == 0)
		question->text_own = text->len;
	question->steps_left_out += steps;
	question->questions_left_out += questions;
	text->len = question->text_own;
	if (question->questions_left_out > 0)
		(void)buf_addf(text, &ignored,
			       "\n\n[%" PRIu64 " earlier questions and their answers "
			       "were left out here.]",
			       question->questions_left_out);
	if (question->steps_left_out > 0)
		(void)buf_addf(text, &ignored,
			       "\n\n[The first %" PRIu64 " steps towards the answer "
			       "were left out here; variables and files are as they made them.]",
			       question->steps_left_out);
}

/* Drops the oldest step (a call and its result), except the last; false: there is none. */
static bool drop_step(struct model_conversation *conv)
{
	struct model_turn *question = NULL;

	for (size_t i = 0; i + 2 < conv->count; i++) {
		if (conv->turns[i]->role == MODEL_ROLE_USER)
			question = conv->turns[i];
		if (conv->turns[i]->role != MODEL_ROLE_MODEL ||
		    conv->turns[i + 1]->role != MODEL_ROLE_RESULTS)
			continue;
		model_conversation_drop(conv, i, 2);
		if (question != NULL)
			note_left_out(question, 1, 0);
		return true;
	}
	return false;
}

/* Drops the oldest question of a chat with all its turns. */
static bool drop_question(struct model_conversation *conv)
{
	const size_t last = question_of(conv);
	size_t next = 1;
	uint64_t gone;

	if (last == 0 || conv->turns[0]->role != MODEL_ROLE_USER)
		return false;
	while (conv->turns[next]->role != MODEL_ROLE_USER)
		next++;
	gone = conv->turns[0]->questions_left_out + 1;
	note_left_out(conv->turns[next], 0, gone);
	model_conversation_drop(conv, 0, next);
	return true;
}

/* Shortens results that the model has not answered yet, when nothing else is left. */
static void shorten_last(struct model_conversation *conv, uint64_t tokens_max)
{
	struct model_turn *last = conv->turns[conv->count - 1];
	uint64_t tokens = window_estimate(conv);

	if (last->role != MODEL_ROLE_RESULTS)
		return;
	for (size_t i = 0; i < last->result_count && tokens > tokens_max; i++) {
		struct model_result *result = &last->results[i];
		const uint64_t excess = (tokens - tokens_max + 1) * BYTES_PER_TOKEN + MARK_MAX;
		size_t keep = HEAD_BYTES + TAIL_BYTES;

		if (result->text.len > excess + keep)
			keep = result->text.len - (size_t)excess;
		cut_middle(result, keep / 3 * 2, keep / 3);
		tokens = window_estimate(conv);
	}
	if (tokens > tokens_max)
		drop_images(last);
}

/* Limits memory: drops the originals of the results that were shortened longest ago. */
static void forget(struct model_conversation *conv)
{
	size_t bytes = 0;

	for (size_t i = conv->count; i > 0; i--)
		for (size_t j = 0; j < conv->turns[i - 1]->result_count; j++) {
			struct buf *whole = &conv->turns[i - 1]->results[j].whole;

			bytes += whole->len;
			if (bytes > ORIGINALS_MAX)
				buf_done(whole);
		}
}

static void shorten_until(struct model_conversation *conv, uint64_t tokens, bool is_brief)
{
	for (size_t i = 0; i + 1 < conv->count && window_estimate(conv) > tokens; i++)
		shorten(conv->turns[i], is_brief);
}

bool window_fit(struct model_conversation *conv, uint64_t tokens_max)
{
	/*
	 * Shorten to well below the limit, because each change of older turns invalidates the
	 * provider's cache.
	 */
	const uint64_t wanted = tokens_max - tokens_max / 4;

	number_results(conv);
	if (conv->count == 0 || window_estimate(conv) <= tokens_max)
		return window_estimate(conv) <= tokens_max;
	shorten_until(conv, wanted, false);
	shorten_until(conv, wanted, true);
	while (window_estimate(conv) > tokens_max && drop_step(conv))
		continue;
	while (window_estimate(conv) > tokens_max && drop_question(conv))
		continue;
	if (window_estimate(conv) > tokens_max)
		shorten_last(conv, tokens_max);
	forget(conv);
	return window_estimate(conv) <= tokens_max;
}

const struct buf *window_find(const struct model_conversation *conv, const char *handle)
{
	static const char prefix[] = "result_";
	uint64_t number = 0;

	if (strncmp(handle, prefix, sizeof(prefix) - 1) != 0)
		return NULL;
	number = strtoull(handle + sizeof(prefix) - 1, NULL, 10);
	for (size_t i = 0; number > 0 && i < conv->count; i++)
		for (size_t j = 0; j < conv->turns[i]->result_count; j++)
			if (conv->turns[i]->results[j].number == number)
				return whole_of(&conv->turns[i]->results[j]);
	return NULL;
}
