/*
 * parked.c - loads a conversation document, and results of the application.
 *
 * Runs in:  reckon-agent.
 * Reads:    a document and results, from our parent.
 * Never:    sends the model a call without a result, or a result without a call.
 */
#include "agent/conversation/parked.h"

#include <string.h>

#include "agent/conversation/prompt.h"
#include "agent/conversation/tool_cell.h"
#include "base/cleanup.h"

/* ---- the document ---- */

/* Our prompt if code can run, followed by the application's instructions. */
static int make_system(struct loop *loop, struct err *err)
{
	struct model_conversation *conv = &loop->conv;
	const struct buf *own = &loop->conversation.instructions;

	if (loop->conversation.runs_code &&
	    (prompt_begin(conv, (enum agent_calling)loop->settings.calling, loop->language, err) <
		     0 ||
	     prompt_tools(conv, loop->language, loop->tools, err) < 0))
		return (int)err->code;
	if (loop->conversation.runs_shell &&
	    prompt_shell(conv, loop->conversation.runs_code, err) < 0)
		return (int)err->code;
	if (own->len == 0)
		return 0;
	if (conv->system.len > 0 && buf_addc(&conv->system, '\n', err) < 0)
		return (int)err->code;
	return buf_add(&conv->system, own->data, own->len, err);
}

/* The application's tools follow ours and must not have the same names. */
static int check_tools(const struct model_conversation *conv, struct err *err)
{
	for (size_t i = 0; i < conv->tool_count; i++)
		if ((conv->tools[i].kind == MODEL_TOOL_APPLICATION ||
		     conv->tools[i].kind == MODEL_TOOL_CELL) &&
		    model_conversation_tool(conv, conv->tools[i].name) != &conv->tools[i])
			return err_set(err, ERR_INVALID,
				       "conversation: the name '%.60s' is that of "
				       "a tool of Reckon",
				       conv->tools[i].name);
	if (conv->sampling.choice == MODEL_CHOICE_TOOL &&
	    model_conversation_tool(conv, conv->sampling.choice_tool) == NULL)
		return err_set(err, ERR_INVALID, "conversation: \"tool_choice\" names no tool");
	return 0;
}

/* Moves our tools to the front, where models notice them best. */
static void put_ours_first(struct model_conversation *conv, size_t applications)
{
	const size_t ours = conv->tool_count - applications;

	for (size_t i = 0; i < ours; i++) {
		const struct model_tool moved = conv->tools[applications + i];

		memmove(conv->tools + i + 1, conv->tools + i, applications * sizeof(moved));
		conv->tools[i] = moved;
	}
}

static int check_calling(const struct loop *loop, struct err *err)
{
	for (size_t i = 0; i < loop->conv.tool_count; i++)
		if (loop->conv.tools[i].kind == MODEL_TOOL_APPLICATION &&
		    loop->settings.calling != AGENT_CALLING_TOOLS)
			return err_set(err, ERR_INVALID, "conversation: a model without tool calls "
				       "cannot have tools");
	if (loop->conversation.runs_shell && loop->settings.has_shell == 0)
		return err_set(err, ERR_INVALID, "conversation: no shell can run here");
	if (loop->conversation.runs_shell && loop->settings.calling != AGENT_CALLING_TOOLS)
		return err_set(err, ERR_INVALID, "conversation: a model without tool calls cannot "
			       "have a shell");
	return 0;
}

int parked_take_conversation(struct loop *loop, struct err *err)
{
	const struct kernel_item *json =
		agent_find(loop->link->items, loop->link->item_count, AGENT_TAG_JSON);
	const uint64_t maker = loop->conversation.made_by;
	size_t applications;

	if (json == NULL)
		return err_set(err, ERR_PROTOCOL, "a conversation without a document");
	model_conversation_done(&loop->conv);
	conversation_done(&loop->conversation);
	conversation_init(&loop->conversation);
	if (conversation_read(json->data, json->len, maker, &loop->conversation, &loop->conv,
			      err) < 0)
		return (int)err->code;
	loop->conversation.made_by = maker;
	/* A model without tool calls writes code in its text. */
	if (loop->settings.calling != AGENT_CALLING_TOOLS)
		tool_cell_drop_all(&loop->conv);
	applications = loop->conv.tool_count;
	/* The application controls turns, tools and format, so we add no remarks. */
	loop->is_application = applications > 0 || loop->conv.count > 0 ||
			       loop->conv.sampling.schema != NULL;
	if (make_system(loop, err) < 0)
		return err->code != ERR_LIMIT
			       ? (int)err->code
			       : err_set(err, ERR_LIMIT, "conversation: \"instructions\" and what "
					 "tools of the code say of themselves have more than %zu "
					 "bytes with our own", MODEL_TEXT_MAX);
	put_ours_first(&loop->conv, applications);
	return check_tools(&loop->conv, err) < 0 ? (int)err->code : check_calling(loop, err);
}

/* ---- results ---- */

void parked_add_images(const struct loop *loop, struct model_turn *turn)
{
	const struct link *link = loop->link;

	for (size_t i = 0; i < link->item_count; i++) {
		const struct kernel_item *image = &link->items[i];
		const char *nul = image->tag == AGENT_TAG_IMAGE
					  ? memchr(image->data, '\0', image->len)
					  : NULL;
		struct err full; /* an image beyond the limit of a turn is left out */

		if (nul == NULL || loop->settings.images == 0 || loop->no_images)
			continue;
		(void)model_turn_add_image(turn, image->data, nul + 1,
					   image->len - (size_t)(nul + 1 - image->data), &full);
	}
}

/* Reads one result from items[*at] on; adds its images to the turn. */
static int take_result(struct loop *loop, size_t *at, const struct model_turn *answer,
		       struct model_turn *results, struct err *err)
{
	const struct kernel_item *items = loop->link->items;
	const struct kernel_item *id = &items[*at], *text = NULL, *status = NULL;
	const struct model_call *call = NULL;

	if (id->tag != AGENT_TAG_CALL)
		return err_set(err, ERR_PROTOCOL, "a result without a call");
	for (size_t i = 0; i < answer->call_count; i++)
		if (strlen(answer->calls[i].id) == id->len &&
		    memcmp(answer->calls[i].id, id->data, id->len) == 0)
			call = &answer->calls[i];
	for (size_t i = 0; results != NULL && call != NULL && i < results->result_count; i++)
		if (strcmp(results->results[i].call_id, call->id) == 0)
			call = NULL;
	if (call == NULL)
		return err_set(err, ERR_INVALID, "conversation: no call '%.*s' waits for a "
			       "result", (int)(id->len < 60 ? id->len : 60), id->data);
	for ((*at)++; *at < loop->link->item_count && items[*at].tag != AGENT_TAG_CALL; (*at)++) {
		text = items[*at].tag == AGENT_TAG_TEXT ? &items[*at] : text;
		status = items[*at].tag == AGENT_TAG_STATUS ? &items[*at] : status;
	}
	return model_turn_add_result(results, call, text != NULL ? text->data : "",
				     text != NULL ? text->len : 0,
				     status != NULL && (status->len != 2 ||
							memcmp(status->data, "ok", 2) != 0), err);
}

static struct model_turn *last_question(const struct model_conversation *conv)
{
	for (size_t i = conv->count; i > 0; i--)
		if (conv->turns[i - 1]->role == MODEL_ROLE_USER)
			return conv->turns[i - 1];
	return NULL;
}

/* Adds images and notes to the last question of a history. */
static int take_question(struct loop *loop, struct err *err)
{
	struct model_turn *question = last_question(&loop->conv);
	const char *note = buf_text(&loop->note);

	if (question != NULL)
		parked_add_images(loop, question);
	/* A note begins with two newlines, which a remark already has. */
	if (loop->note.len > 0 &&
	    model_conversation_remark(&loop->conv, note + strspn(note, "\n"), err) < 0)
		return (int)err->code;
	buf_clear(&loop->note);
	return 0;
}

int parked_take_results(struct loop *loop, struct err *err)
{
	const bool has_results = agent_find(loop->link->items, loop->link->item_count,
					    AGENT_TAG_CALL) != NULL;
	struct model_conversation *conv = &loop->conv;
	struct model_turn *answer = NULL, *results = NULL;
	size_t at = 0;

	if (conv->count > 0 && conv->turns[conv->count - 1]->role == MODEL_ROLE_RESULTS)
		results = conv->turns[conv->count - 1];
	if (conv->count > (results != NULL ? 1u : 0u))
		answer = conv->turns[conv->count - (results != NULL ? 2 : 1)];
	if (!has_results && take_question(loop, err) < 0)
		return (int)err->code;
	if (has_results &&
	    (answer == NULL || answer->role != MODEL_ROLE_MODEL || answer->call_count == 0))
		return err_set(err, ERR_INVALID, "conversation: no call waits for a result");
	if (has_results && results == NULL)
		results = model_conversation_add(conv, MODEL_ROLE_RESULTS);
	if (has_results)
		parked_add_images(loop, results);
	while (has_results && at < loop->link->item_count)
		if (take_result(loop, &at, answer, results, err) < 0)
			return (int)err->code;
	if (conversation_close_calls(conv, err) < 0)
		return (int)err->code;
	if (conv->count == 0 || conv->turns[conv->count - 1]->role == MODEL_ROLE_MODEL)
		return err_set(err, ERR_INVALID, "conversation: nothing is left to answer");
	return 0;
}
