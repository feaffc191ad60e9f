/*
 * history.c - converts the history of a stored run into turns.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    a stored run, from our parent.
 * Never:    invents a model's reasoning: what is not stored is left out.
 *
 * For every provider and kind of calling, the turns are as if the run had happened here: a
 * question, an answer that calls a cell, its result, an answer. So a run can continue with another
 * model.
 */
#include "agent/conversation/history.h"

#include <string.h>

#include "base/cleanup.h"

#define FENCE_MIN 3u
#define JSON_MAX (6 * MODEL_TEXT_MAX)

static int add_text(struct buf *ret, const struct kernel_item *item, struct err *err)
{
	return buf_add(ret, item->data, item->len, err);
}

/* {"KEY": text, …} */
static int write_object(struct buf *ret, const char *const *keys, const char *action,
			const struct kernel_item *text, struct err *err)
{
	struct json_writer writer;

	json_write_init(&writer, ret);
	json_write_object_begin(&writer);
	if (action != NULL)
		json_write_member_string(&writer, keys[0], action);
	json_write_member_text(&writer, keys[1], text->data, text->len);
	json_write_object_end(&writer);
	return json_write_finish(&writer, err);
}

static int add_object(struct model_turn *turn, const char *action, const struct kernel_item *text,
		      struct err *err)
{
	static const char *const keys[] = { "action", "content" };

	return write_object(&turn->text, keys, action, text, err);
}

/* The fence is longer than any run of backticks in the code. */
static int add_block(struct model_turn *turn, const char *language,
		     const struct kernel_item *code, struct err *err)
{
	size_t longest = FENCE_MIN - 1, run = 0;

	for (uint32_t i = 0; i < code->len; i++) {
		run = code->data[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	if (turn->text.len > 0 && buf_adds(&turn->text, "\n\n", err) < 0)
		return (int)err->code;
	for (size_t i = 0; i <= longest; i++)
		if (buf_addc(&turn->text, '`', err) < 0)
			return (int)err->code;
	if (buf_addf(&turn->text, err, "%s\n", language) < 0 ||
	    add_text(&turn->text, code, err) < 0 || buf_addc(&turn->text, '\n', err) < 0)
		return (int)err->code;
	for (size_t i = 0; i <= longest; i++)
		if (buf_addc(&turn->text, '`', err) < 0)
			return (int)err->code;
	return buf_addc(&turn->text, '\n', err);
}

static int add_call(struct model_turn *turn, const struct model_conversation *conv,
		    const struct history_way *way, const struct kernel_item *code, struct err *err)
{
	static const char *const keys[] = { NULL, MODEL_CODE };
	cleanup_buf struct buf args = BUF_INIT(JSON_MAX);
	struct model_call *call = model_turn_call(turn, 0);

	if (write_object(&args, keys, NULL, code, err) < 0)
		return (int)err->code;
	model_call_set_name(call, model_conversation_code_tool(conv)->name);
	model_call_add(call, args.data, args.len);
	return model_turn_settle(turn, MODEL_CODE, ++*way->numbered, err);
}

static int add_request(struct model_turn *turn, const struct model_conversation *conv,
		       const struct history_way *way, const struct agent_past *past,
		       struct err *err)
{
	if (way->calling == AGENT_CALLING_SCHEMA)
		return add_object(turn, "run", past->code, err);
	if (add_text(&turn->text, past->text, err) < 0)
		return (int)err->code;
	if (way->calling == AGENT_CALLING_FENCED)
		return add_block(turn, way->language, past->code, err);
	return add_call(turn, conv, way, past->code, err);
}

static int add_result(struct model_conversation *conv, const struct history_way *way,
		      const struct model_call *call, const struct agent_past *past, struct err *err)
{
	const bool failed = past->status->len != 2 || memcmp(past->status->data, "ok", 2) != 0;
	cleanup_buf struct buf text = BUF_INIT(AGENT_RESULT_MAX + 1024);

	if ((way->calling != AGENT_CALLING_TOOLS && buf_adds(&text, "Output:\n", err) < 0) ||
	    add_text(&text, past->output, err) < 0 ||
	    (past->output->len == 0 && buf_adds(&text, "(no output)", err) < 0))
		return (int)err->code;
	if (past->images > 0 &&
	    buf_addf(&text, err, "\n[it also showed %llu image%s, not repeated here]",
		     (unsigned long long)past->images, past->images == 1 ? "" : "s") < 0)
		return (int)err->code;
	return model_turn_add_result(model_conversation_add(conv, MODEL_ROLE_RESULTS), call,
				     text.data, text.len, failed, err);
}

static int add_cell(struct model_conversation *conv, const struct history_way *way,
		    const struct agent_past *past, struct err *err)
{
	struct model_turn *turn = model_conversation_add(conv, MODEL_ROLE_MODEL);

	turn->stop = MODEL_STOP_END;
	if (add_request(turn, conv, way, past, err) < 0)
		return (int)err->code;
	return add_result(conv, way, turn->call_count > 0 ? &turn->calls[0] : NULL, past, err);
}

static int add_answer(struct model_conversation *conv, const struct history_way *way,
		      const struct agent_past *past, struct err *err)
{
	struct model_turn *turn = model_conversation_add(conv, MODEL_ROLE_MODEL);

	turn->stop = MODEL_STOP_END;
	return way->calling == AGENT_CALLING_SCHEMA ? add_object(turn, "answer", past->text, err)
						    : add_text(&turn->text, past->text, err);
}

int history_add(struct model_conversation *conv, const struct history_way *way,
		const struct agent_past *past, struct buf *note, struct err *err)
{
	switch (past->kind) {
	case AGENT_PAST_QUESTION:
		return add_text(&model_conversation_add(conv, MODEL_ROLE_USER)->text, past->text,
				err);
	case AGENT_PAST_CELL:
		return add_cell(conv, way, past, err);
	case AGENT_PAST_ANSWER:
		return add_answer(conv, way, past, err);
	case AGENT_PAST_NOTE:
		if (buf_adds(note, "\n\n[", err) < 0 || add_text(note, past->text, err) < 0)
			return (int)err->code;
		return buf_addc(note, ']', err);
	case AGENT_PAST_COUNT_:
		break;
	}
	return err_set(err, ERR_PROTOCOL, "a history of no kind");
}
