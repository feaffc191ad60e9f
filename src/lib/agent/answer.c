/*
 * answer.c - the result of a question, for the caller.
 *
 * Runs in:  libreckon.
 * Reads:    what agent.c collected.
 * Never:    sends a request.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/agent/agent.h"
#include "lib/api.h"

#define JSON_MAX (2 * ANSWER_RECORDS_MAX)

struct reckon_answer *answer_new(void)
{
	struct reckon_answer *answer = mem_new0(1, sizeof(*answer));

	outcome_init(&answer->outcome, ANSWER_RECORDS_MAX);
	answer->question = BUF_INIT(AGENT_ANSWER_MAX);
	/* A byte that is not UTF-8 becomes three bytes. */
	answer->text = BUF_INIT(3 * (size_t)AGENT_ANSWER_MAX);
	answer->conversation = BUF_INIT(AGENT_CONVERSATION_MAX);
	answer->stop = AGENT_STOP_FAILED;
	return answer;
}

void reckon_answer_free(reckon_answer *answer)
{
	if (answer == NULL)
		return;
	outcome_done(&answer->outcome);
	buf_done(&answer->question);
	buf_done(&answer->text);
	buf_done(&answer->conversation);
	for (size_t i = 0; i < answer->call_count; i++) {
		free(answer->calls[i].id);
		free(answer->calls[i].name);
		free(answer->calls[i].arguments);
	}
	free(answer->model);
	free(answer);
}

const char *reckon_answer_text(const reckon_answer *answer)
{
	return answer->has_text ? buf_text(&answer->text) : NULL;
}

const char *reckon_answer_stop(const reckon_answer *answer)
{
	return agent_stop_name(answer->stop);
}

const char *reckon_answer_message(const reckon_answer *answer, const char **ret_remedy)
{
	if (ret_remedy != NULL)
		*ret_remedy = answer->remedy;
	return answer->message;
}

void answer_usage(const struct agent_usage *usage, reckon_agent_usage *ret)
{
	ret->requests = usage->requests;
	ret->steps = usage->steps;
	ret->input_tokens = usage->in;
	ret->cached_tokens = usage->cached;
	ret->output_tokens = usage->out;
	ret->reasoning_tokens = usage->reasoning;
	ret->cost_micro = usage->cost_micro;
}

int reckon_answer_usage(const reckon_answer *answer, reckon_agent_usage *ret, reckon_error *err)
{
	reckon_agent_usage full;
	struct err inner;

	if (ret == NULL ||
	    api_options("reckon_agent_usage", &full, sizeof(full), ret, &inner) < 0) {
		if (ret == NULL)
			(void)err_set(&inner, ERR_INVALID, "no reckon_agent_usage");
		return api_fail(err, &inner);
	}
	answer_usage(&answer->usage, &full);
	full.size = ret->size;
	memcpy(ret, &full, ret->size < sizeof(full) ? ret->size : sizeof(full));
	return api_ok(err);
}

int reckon_answer_step(const reckon_answer *answer, size_t index, reckon_agent_step *ret,
		       reckon_error *err)
{
	const struct outcome_step *step;
	reckon_agent_step full;
	struct err inner;

	if (ret == NULL || api_options("reckon_agent_step", &full, sizeof(full), ret, &inner) < 0) {
		if (ret == NULL)
			(void)err_set(&inner, ERR_INVALID, "no reckon_agent_step");
		return api_fail(err, &inner);
	}
	if (index >= answer->outcome.step_count) {
		(void)err_set(&inner, ERR_NOT_FOUND, "the answer has %zu steps",
			      answer->outcome.step_count);
		return api_fail(err, &inner);
	}
	step = &answer->outcome.steps[index];
	full = (reckon_agent_step){ .size = ret->size,
				    .prose = step->prose,
				    .code = step->code,
				    .status = step->status != NULL ? step->status : "infra_error",
				    .record = step->record };
	memcpy(ret, &full, ret->size < sizeof(full) ? ret->size : sizeof(full));
	return api_ok(err);
}

int reckon_answer_call(const reckon_answer *answer, size_t index, reckon_tool_call *ret,
		       reckon_error *err)
{
	const struct driver_call *call;
	reckon_tool_call full;
	struct err inner;

	if (ret == NULL || api_options("reckon_tool_call", &full, sizeof(full), ret, &inner) < 0) {
		if (ret == NULL)
			(void)err_set(&inner, ERR_INVALID, "no reckon_tool_call");
		return api_fail(err, &inner);
	}
	if (index >= answer->call_count) {
		(void)err_set(&inner, ERR_NOT_FOUND, "the answer has %zu calls",
			      answer->call_count);
		return api_fail(err, &inner);
	}
	call = &answer->calls[index];
	full = (reckon_tool_call){ .size = ret->size,
				   .id = call->id,
				   .name = call->name,
				   .arguments = call->arguments };
	memcpy(ret, &full, ret->size < sizeof(full) ? ret->size : sizeof(full));
	return api_ok(err);
}

int reckon_answer_checked(const reckon_answer *answer, reckon_checked *ret, reckon_error *err)
{
	const struct agent_checked *checked = &answer->checked;
	reckon_checked full;
	struct err inner;

	if (ret == NULL || api_options("reckon_checked", &full, sizeof(full), ret, &inner) < 0) {
		if (ret == NULL)
			(void)err_set(&inner, ERR_INVALID, "no reckon_checked");
		return api_fail(err, &inner);
	}
	full = (reckon_checked){ .size = ret->size };
	if (checked->is_checked != 0) {
		full.is_checked = 1;
		full.numbers = checked->numbers;
		full.links = checked->links;
		full.numbers_unsupported = checked->numbers_unsupported;
		full.links_unsupported = checked->links_unsupported;
	}
	memcpy(ret, &full, ret->size < sizeof(full) ? ret->size : sizeof(full));
	return api_ok(err);
}

int reckon_answer_claim(const reckon_answer *answer, size_t index, reckon_claim *ret,
			reckon_error *err)
{
	const struct agent_claim *claim;
	reckon_claim full;
	struct err inner;

	if (ret == NULL || api_options("reckon_claim", &full, sizeof(full), ret, &inner) < 0) {
		if (ret == NULL)
			(void)err_set(&inner, ERR_INVALID, "no reckon_claim");
		return api_fail(err, &inner);
	}
	if (answer->checked.is_checked == 0 || index >= answer->checked.listed) {
		(void)err_set(&inner, ERR_NOT_FOUND, "the answer has %zu claims that are listed",
			      answer->checked.is_checked != 0 ? (size_t)answer->checked.listed : 0);
		return api_fail(err, &inner);
	}
	claim = &answer->checked.claims[index];
	full = (reckon_claim){ .size = ret->size,
			       .is_link = claim->kind == AGENT_CLAIM_LINK,
			       .offset = (size_t)claim->offset,
			       .len = (size_t)claim->len };
	memcpy(ret, &full, ret->size < sizeof(full) ? ret->size : sizeof(full));
	return api_ok(err);
}

const char *reckon_answer_conversation(const reckon_answer *answer, size_t *ret_len)
{
	if (ret_len != NULL)
		*ret_len = answer->conversation.len;
	return answer->conversation.len > 0 ? answer->conversation.data : NULL;
}

int reckon_answer_json(const reckon_answer *answer, char **ret_json, reckon_error *err)
{
	struct outcome_checked checked;
	const struct outcome_frame frame = {
		.checked = &checked,
		.model = answer->model,
		.question = buf_text(&answer->question),
		.question_len = answer->question.len,
		.answer = reckon_answer_text(answer),
		.answer_len = answer->text.len,
		.stop = reckon_answer_stop(answer),
		.message = answer->message,
		.usage = &answer->usage,
		.has_price = answer->has_price,
	};
	cleanup_buf struct buf json = BUF_INIT(JSON_MAX);
	struct err inner;

	outcome_read_checked(&answer->checked, buf_text(&answer->text), answer->text.len, &checked);
	if (outcome_write(&answer->outcome, &frame, &json, &inner) < 0)
		return api_fail(err, &inner);
	*ret_json = TAKE_PTR(json.data);
	return api_ok(err);
}
