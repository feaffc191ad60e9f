/*
 * loop.c - runs one question until it is answered or a limit ends it.
 *
 * Runs in:  reckon-agent.
 * Reads:    frames of our parent.
 * Never:    continues past a limit, or ends without a reason.
 */
#include "agent/loop/loop.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/loop/check.h"
#include "agent/conversation/history.h"
#include "agent/conversation/parked.h"
#include "agent/conversation/prompt.h"
#include "agent/conversation/schema.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"

#define NS_PER_MS UINT64_C(1000000)

static const struct provider *const providers[AGENT_PROTOCOL_COUNT_] = {
	[AGENT_PROTOCOL_CHAT] = &provider_chat,
	[AGENT_PROTOCOL_RESPONSES] = &provider_responses,
	[AGENT_PROTOCOL_MESSAGES] = &provider_messages,
	[AGENT_PROTOCOL_GEMINI] = &provider_gemini,
};

void loop_stop(struct loop_end *end, enum agent_stop stop, const char *fmt, ...)
{
	char text[sizeof(end->why.text)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	end->over = true;
	end->stop = stop;
	err_set(&end->why, ERR_LIMIT, "%s", text);
}

static char *take_text(const struct link *link, enum agent_tag tag)
{
	const struct kernel_item *item = agent_find(link->items, link->item_count, tag);
	char *text = mem_new0((item != NULL ? item->len : 0) + 1, 1);

	if (item != NULL)
		memcpy(text, item->data, item->len);
	return text;
}

int loop_start(struct loop *loop, struct err *err)
{
	const struct link *link = loop->link;
	const struct kernel_item *item =
		agent_find(link->items, link->item_count, AGENT_TAG_SETTINGS);

	if (item == NULL || item->len != sizeof(loop->settings))
		return err_set(err, ERR_PROTOCOL, "a start without settings");
	memcpy(&loop->settings, item->data, sizeof(loop->settings));
	if (loop->settings.protocol >= AGENT_PROTOCOL_COUNT_ ||
	    loop->settings.calling >= AGENT_CALLING_COUNT_ ||
	    loop->settings.limit >= AGENT_LIMIT_COUNT_ ||
	    loop->settings.echo >= AGENT_ECHO_COUNT_ ||
	    loop->settings.verify >= AGENT_VERIFY_COUNT_)
		return err_set(err, ERR_PROTOCOL, "settings that are in no table");
	loop->provider = providers[loop->settings.protocol];
	loop->model = take_text(link, AGENT_TAG_MODEL);
	loop->base_url = take_text(link, AGENT_TAG_BASE_URL);
	loop->key = take_text(link, AGENT_TAG_KEY);
	loop->language = take_text(link, AGENT_TAG_LANGUAGE);
	loop->headers = take_text(link, AGENT_TAG_HEADERS);
	loop->tools = take_text(link, AGENT_TAG_TOOLS);
	loop->ways.limit = (enum agent_limit)loop->settings.limit;
	loop->ways.echo = (enum agent_echo)loop->settings.echo;
	model_conversation_init(&loop->conv);
	loop->answer = BUF_INIT(MODEL_TEXT_MAX);
	loop->first = BUF_INIT(MODEL_TEXT_MAX);
	loop->note = BUF_INIT(MODEL_TEXT_MAX);
	loop->failed_code = BUF_INIT(AGENT_CODE_MAX);
	loop->scale = 100;
	conversation_init(&loop->conversation);
	loop->conversation.made_by =
		conversation_maker(&loop->settings, loop->base_url, loop->model);
	if (prompt_begin(&loop->conv, (enum agent_calling)loop->settings.calling, loop->language,
			 err) < 0)
		return (int)err->code;
	return prompt_tools(&loop->conv, loop->language, loop->tools, err);
}

void loop_done(struct loop *loop)
{
	model_conversation_done(&loop->conv);
	conversation_done(&loop->conversation);
	buf_done(&loop->answer);
	buf_done(&loop->first);
	evidence_done(&loop->evidence);
	buf_done(&loop->note);
	buf_done(&loop->failed_code);
	if (loop->key != NULL)
		explicit_bzero(loop->key, strlen(loop->key));
	free(loop->model);
	free(loop->base_url);
	free(loop->key);
	free(loop->language);
	free(loop->headers);
	free(loop->tools);
}

int loop_remember(struct loop *loop, struct err *err)
{
	const struct history_way way = {
		.calling = (enum agent_calling)loop->settings.calling,
		.language = loop->language,
		.numbered = &loop->numbered,
	};
	const struct link *link = loop->link;
	struct agent_past past;
	size_t at = 0;
	int rc;

	while ((rc = agent_next_past(link->items, link->item_count, &at, &past, err)) > 0) {
		if (loop->has_begun && past.kind != AGENT_PAST_NOTE)
			return err_set(err, ERR_PROTOCOL, "a history after a question");
		if (history_add(&loop->conv, &way, &past, &loop->note, err) < 0)
			return (int)err->code;
	}
	return rc;
}

static void check_limits(const struct loop *loop, struct loop_end *end)
{
	const struct agent_settings *settings = &loop->settings;
	const struct agent_usage *usage = &loop->usage;

	if (settings->tokens_max > 0 && usage->in + usage->out >= settings->tokens_max)
		loop_stop(end, AGENT_STOP_TOKENS, "the limit of %llu tokens was reached",
			  (unsigned long long)settings->tokens_max);
	else if (settings->budget_micro > 0 && usage->cost_micro >= settings->budget_micro)
		loop_stop(end, AGENT_STOP_BUDGET, "the budget of %.4f was reached",
			  (double)settings->budget_micro / 1e6);
	else if (clock_mono_ns() >= loop->deadline_ns)
		loop_stop(end, AGENT_STOP_TIME, "the time limit of %.0f s was reached",
			  (double)settings->wall_ms / 1000);
}

/*
 * The answer was empty. Drops it, because it cannot be sent back, and adds a remark to the last
 * message.
 */
static void ask_again(struct loop *loop, struct loop_end *end)
{
	static const char first[] = "[Your answer was empty. Say in words what you know, or run "
				    "code.]";
	cleanup_buf struct buf remark = BUF_INIT(1024);
	struct err ignored; /* on failure the model gets no remark */

	if (++loop->empty >= REPEAT_MAX) {
		loop_stop(end, AGENT_STOP_STUCK, "%u answers of the model in a row held neither "
			  "text nor code", REPEAT_MAX);
		return;
	}
	model_conversation_cut(&loop->conv, loop->conv.count - 1);
	(void)repeat_tell(REPEAT_EMPTY, loop->empty, NULL, &remark, &ignored);
	(void)model_conversation_remark(&loop->conv, remark.len > 0 ? remark.data : first,
					&ignored);
}

bool loop_checks_answer(const struct loop *loop)
{
	return loop->conv.sampling.schema != NULL && loop->conv.schema == NULL &&
	       (loop->settings.calling != AGENT_CALLING_FENCED || !loop->conversation.runs_code);
}

/* The answer violates the application's schema, so it is not sent to the parent. */
static void reject(struct loop *loop, const struct err *why, struct loop_end *end)
{
	cleanup_buf struct buf remark = BUF_INIT(1024);
	struct err ignored; /* on failure the model gets no remark */

	if (++loop->empty >= REPEAT_MAX) {
		loop_stop(end, AGENT_STOP_FAILED,
			  "%u answers of the model in a row did not obey the "
			  "schema: %s",
			  REPEAT_MAX, why->text);
		return;
	}
	model_conversation_cut(&loop->conv, loop->conv.count - 1);
	(void)buf_addf(&remark, &ignored,
		       "[Your answer was not taken: %s. Answer with JSON that obeys "
		       "the schema, and nothing else.]",
		       why->text);
	(void)model_conversation_remark(&loop->conv, buf_text(&remark), &ignored);
}

static int show_held(struct loop *loop, const struct model_turn *turn, struct err *err)
{
	return turn->text.len > 0
		       ? link_text(loop->link, AGENT_TEXT, turn->text.data, turn->text.len, err)
		       : 0;
}

/* Handles a text with nothing to run. */
static int take_answer(struct loop *loop, const struct model_turn *turn, struct loop_end *end,
		       struct err *err)
{
	struct err why;

	if (loop_checks_answer(loop)) {
		if (schema_check(loop->conv.sampling.schema, buf_text(&turn->text), turn->text.len,
				 &why) < 0) {
			reject(loop, &why, end);
			return 0;
		}
		if (show_held(loop, turn, err) < 0)
			return (int)err->code;
	}
	if (loop->conv.schema != NULL && check_text(loop, &loop->answer, err) < 0)
		return (int)err->code;
	if (loop->asks_again)
		return check_ask_again(loop, loop->conv.schema != NULL ? &loop->answer : &turn->text,
				       err);
	loop_stop(end, AGENT_STOP_ANSWER, "%s", "");
	return 0;
}

/* Handles an answer with nothing to run. */
static int end_of_turn(struct loop *loop, const struct model_turn *turn, struct loop_end *end,
		       struct err *err)
{
	switch (turn->stop) {
	case MODEL_STOP_LENGTH:
		loop_stop(end, AGENT_STOP_LENGTH, "the answer was cut at %llu tokens",
			  (unsigned long long)loop->settings.answer_tokens);
		return loop_checks_answer(loop) ? show_held(loop, turn, err) : 0;
	case MODEL_STOP_REFUSED:
		loop_stop(end, AGENT_STOP_REFUSED, "%s refused to answer", loop->provider->name);
		return loop_checks_answer(loop) ? show_held(loop, turn, err) : 0;
	case MODEL_STOP_PAUSED: /* the model continues when the answer is sent back */
		return 0;
	case MODEL_STOP_MALFORMED:
		if (loop->tried_again)
			loop_stop(end, AGENT_STOP_FAILED, "%s could not read what its model wrote",
				  loop->provider->name);
		else
			model_conversation_cut(&loop->conv, loop->conv.count - 1);
		loop->tried_again = true;
		return 0;
	case MODEL_STOP_NONE:
	case MODEL_STOP_END:
		break;
	}
	if (loop->out_of_steps && !loop->is_correcting)
		loop_stop(end, AGENT_STOP_STEPS, "the limit of %llu cells was reached",
			  (unsigned long long)loop->settings.steps_max);
	else if (buf_is_blank(&turn->text) ||
		 (loop->conv.schema != NULL && buf_is_blank(&loop->answer)))
		ask_again(loop, end);
	else
		return take_answer(loop, turn, end, err);
	return 0;
}

/* Gets one answer of the model and runs its cells. */
static int go_round(struct loop *loop, struct loop_end *end, struct err *err)
{
	const bool was_out = loop->out_of_steps;
	bool ran = false;
	size_t at;

	if (turn_take(loop, end, err) < 0 || end->over)
		return end->over ? 0 : (int)err->code;
	at = loop->conv.count - 1;
	if (loop_checks_answer(loop) && loop->conv.turns[at]->call_count > 0 &&
	    show_held(loop, loop->conv.turns[at], err) < 0)
		return (int)err->code;
	if (check_turn(loop, loop->conv.turns[at], err) < 0 ||
	    link_turn(loop->link, &loop->usage, err) < 0)
		return (int)err->code;
	if (loop->conv.turns[at]->stop != MODEL_STOP_PAUSED &&
	    loop->conv.turns[at]->stop != MODEL_STOP_MALFORMED &&
	    step_take(loop, end, &ran, err) < 0)
		return (int)err->code;
	if (end->over)
		return 0;
	if (ran)
		loop->empty = 0;
	if (!ran)
		return end_of_turn(loop, loop->conv.turns[at], end, err);
	if (was_out ||
	    (loop->conversation.pauses && loop->usage.steps >= loop->settings.steps_max))
		loop_stop(end, AGENT_STOP_STEPS, "the limit of %llu cells was reached",
			  (unsigned long long)loop->settings.steps_max);
	return 0;
}

static void begin(struct loop *loop)
{
	loop->usage = loop->conversation.usage;
	loop->calls = loop->conversation.calls;
	loop->conversation.usage = (struct agent_usage){ 0 };
	loop->conversation.calls = 0;
	loop->deadline_ns = clock_mono_ns() + loop->settings.wall_ms * NS_PER_MS;
	buf_clear(&loop->answer);
	buf_clear(&loop->failed_code);
	loop->repeats = (struct repeats){ 0 };
	loop->was_warned = false;
	loop->calls_refused = loop->empty = 0;
	loop->readings = 0;
	loop->out_of_steps = false;
	loop->tried_again = false;
	loop->asks_again = loop->is_correcting = false;
	loop->checked = (struct agent_checked){ 0 };
}

/* The model's last text, if it wrote any after the last cell. */
static const struct buf *answer_of(const struct loop *loop)
{
	const struct model_turn *last;

	if (loop->answer.len > 0)
		return &loop->answer;
	if (loop->conv.count == 0)
		return NULL;
	last = loop->conv.turns[loop->conv.count - 1];
	return last->role == MODEL_ROLE_MODEL && last->text.len > 0 ? &last->text : NULL;
}

/* Sends the pending calls and the conversation. */
static int send_conversation(struct loop *loop, const struct loop_end *end, struct err *err)
{
	cleanup_buf struct buf json = BUF_INIT(AGENT_CONVERSATION_MAX);
	const struct model_call *call;
	/*
	 * without it the conversation cannot be continued, and the parent sees that it is missing
	 */
	struct err ignored;

	for (size_t i = 0; end->stop == AGENT_STOP_CALLS &&
			   (call = conversation_waiting(&loop->conv, i)) != NULL; i++)
		if (link_call(loop->link, call, err) < 0)
			return (int)err->code;
	if (end->stop == AGENT_STOP_CALLS) {
		loop->conversation.usage = loop->usage;
		loop->conversation.calls = loop->calls;
	}
	if (loop->settings.persists_conversation != 0 &&
	    conversation_write(&loop->conversation, &loop->conv, &json, &ignored) == 0)
		return link_conversation(loop->link, &json, err);
	return 0;
}

static int answer(struct loop *loop, struct err *err)
{
	struct loop_end end = { 0 };
	struct link_end done = { .usage = &loop->usage,
				 .why = &end.why,
				 .checked = &loop->checked };

	loop->has_begun = true;
	while (!end.over) {
		check_limits(loop, &end);
		if (!end.over && go_round(loop, &end, err) < 0)
			return (int)err->code;
	}
	if (check_settle(loop, &end, err) < 0)
		return (int)err->code;
	done.stop = end.stop;
	done.answer = answer_of(loop);
	if (send_conversation(loop, &end, err) < 0)
		return (int)err->code;
	return link_done(loop->link, &done, err);
}

/* Ends an invalid question at once and leaves the conversation unchanged. */
static int refuse(struct loop *loop, const struct err *why, struct err *err)
{
	const struct link_end done = { .stop = AGENT_STOP_FAILED,
				       .usage = &loop->usage,
				       .why = why };

	return link_done(loop->link, &done, err);
}

int loop_ask(struct loop *loop, struct err *err)
{
	struct model_turn *question;

	if (loop->broken.code != ERR_OK)
		return refuse(loop, &loop->broken, err);
	/* A new question instead of results: forget the sums of the waiting run. */
	loop->conversation.usage = (struct agent_usage){ 0 };
	loop->conversation.calls = 0;
	begin(loop);
	if (conversation_close_calls(&loop->conv, err) < 0)
		return (int)err->code;
	question = model_conversation_add(&loop->conv, MODEL_ROLE_USER);
	if (prompt_question(loop->link->items, loop->link->item_count, &question->text, err) < 0 ||
	    buf_add(&question->text, buf_text(&loop->note), loop->note.len, err) < 0)
		return (int)err->code;
	buf_clear(&loop->note);
	parked_add_images(loop, question);
	return answer(loop, err);
}

int loop_continue(struct loop *loop, struct err *err)
{
	struct err why;

	if (loop->broken.code != ERR_OK)
		return refuse(loop, &loop->broken, err);
	begin(loop);
	if (parked_take_results(loop, &why) == 0)
		return answer(loop, err);
	loop->conversation.usage = loop->usage;
	loop->conversation.calls = loop->calls;
	if (why.code != ERR_PROTOCOL)
		return refuse(loop, &why, err);
	*err = why;
	return (int)why.code;
}

int loop_load_conversation(struct loop *loop, struct err *err)
{
	if (loop->has_begun)
		return err_set(err, ERR_PROTOCOL, "a conversation after a question");
	err_clear(&loop->broken);
	/* A document has no reply, so its error is reported with the next question. */
	(void)parked_take_conversation(loop, &loop->broken);
	return 0;
}
