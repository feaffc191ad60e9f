/*
 * replay.c - a response that an earlier request began: shows its state, streams it again, cancels
 * it.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    ids that any client may have invented; documents of the tenant, events of its run.
 * Never:    starts a run.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/openai/object.h"
#include "dialects/openai/responses/response.h"

/* Parses the stored request again. */
static int read_order(const struct json_value *document, struct order *order, struct err *err)
{
	cleanup_buf struct buf request = BUF_INIT(OPENAI_BODY_MAX);

	if (json_read_dump(json_read_member(document, "request"), &request, err) < 0)
		return (int)err->code;
	return order_read(buf_text(&request), request.len, order, err);
}

static int open_response(struct response *response, const struct json_value *document,
			 const char *id)
{
	struct order *order = response->order;
	int64_t created = 0;
	char run[ID_SIZE];
	struct err err;

	if (read_order(document, order, &err) < 0 ||
	    !name_swap(id, OPENAI_RESPONSE, "run_", run, sizeof(run))) {
		answer_refuse_simple(response->request, 404, "not_found",
				     "what was asked is no longer kept", NULL);
		return -1;
	}
	(void)json_read_int(json_read_member(document, "created_at"), &created);
	(void)json_read_bool(json_read_member(document, "is_cancelled"), &response->is_cancelled);
	(void)snprintf(response->id, sizeof(response->id), "%s", id);
	response->created_s = (uint64_t)created;
	response->document = document;
	response->is_known = json_read_member(document, "response") != NULL;
	order->is_stored = !response->is_known;
	run_follow(&response->run, response->request, run);
	return 0;
}

static void answer_stored(struct request *request, const struct json_value *document)
{
	cleanup_buf struct buf body = BUF_INIT(OPENAI_OUT_MAX);
	struct err err;

	if (json_read_dump(json_read_member(document, "response"), &body, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		openai_answer(request, &body);
}

/* ---- showing -------------------------------------------------------------------------------- */

static void answer_as_it_is(struct response *response)
{
	const bool has_begun = response->items.count > 0 || response->items.open != ITEM_NONE ||
			       response->run.session[0] != '\0';
	cleanup_buf struct buf body = BUF_INIT(OPENAI_OUT_MAX);

	upstream_cancel_now(response->request);
	if (items_close(&response->items) == 0 &&
	    response_write(response, has_begun ? "in_progress" : "queued", NULL, NULL, &body) == 0)
		openai_answer(response->request, &body);
	else
		answer_break_off(response->request);
}

static void look(struct request *request, const struct json_value *document, const char *id)
{
	cleanup_order struct order order = { .file_lines = BUF_INIT(64 * 1024) };
	struct response response = { .request = request, .order = &order, .run = RUN_INIT };

	if (open_response(&response, document, id) == 0) {
		order.is_stream = false;
		if (response_begin(&response) == 0 && response_look(&response) == 0)
			answer_as_it_is(&response);
	}
	response_done(&response);
}

void replay_show(struct request *request, const char *id)
{
	struct json_value *document = NULL;

	if (stored_find(request, id, &document) < 0)
		return;
	if (json_read_member(document, "response") != NULL)
		answer_stored(request, document);
	else
		look(request, document, id);
	json_read_free(document);
}

/* A response that no longer exists need not be waited for. */
int replay_settle(struct request *request, const char *id)
{
	static const struct object_kind kind = { OPENAI_RESPONSES, OPENAI_RESPONSE, "response" };
	cleanup_order struct order order = { .file_lines = BUF_INIT(64 * 1024) };
	struct response response = { .request = request, .order = &order, .run = RUN_INIT,
				     .is_silent = true };
	struct json_value *document = NULL;
	int now = object_look(request, &kind, id, &document);

	if (now == 1 && json_read_member(document, "response") == NULL) {
		now = open_response(&response, document, id);
		order.is_stream = false;
		if (now == 0 && response_begin(&response) == 0)
			now = response_look(&response);
		if (now == 0)
			upstream_cancel_now(request);
		response_done(&response);
	} else if (now == 0) {
		now = 1;
	}
	json_read_free(document);
	return now;
}

/* ---- streaming again ------------------------------------------------------------------------ */

void replay_stream(struct request *request, const char *id, uint64_t after)
{
	cleanup_order struct order order = { .file_lines = BUF_INIT(64 * 1024) };
	struct response response = { .request = request, .order = &order, .run = RUN_INIT };
	struct json_value *document = NULL;

	if (stored_find(request, id, &document) < 0)
		return;
	if (open_response(&response, document, id) == 0) {
		order.is_stream = true;
		order.skips = after;
		if (response_begin(&response) == 0)
			response_follow(&response);
	}
	response_done(&response);
	json_read_free(document);
}

/* ---- ending --------------------------------------------------------------------------------- */

int replay_stop(struct request *request, const char *run)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_run_interrupt_out out;
	struct run followed = RUN_INIT;
	struct run_event event;
	enum run_event_kind kind = RUN_QUIET;

	if (call_or_refuse(request, API_RUN_INTERRUPT, &(struct api_run_interrupt_in){ .id = run },
			   &out, &call) < 0)
		return -1;
	run_follow(&followed, request, run);
	while (out.interrupted && kind != RUN_GONE && kind != RUN_DONE && kind != RUN_FAILED)
		kind = run_next(&followed, &event);
	run_done(&followed);
	return kind == RUN_GONE ? -1 : 0;
}

void replay_cancel(struct request *request, const char *id)
{
	struct json_value *document = NULL;
	bool background = false;
	char run[ID_SIZE];

	if (stored_find(request, id, &document) < 0)
		return;
	(void)json_read_bool(json_read_member(json_read_member(document, "request"), "background"),
			     &background);
	if (!background)
		answer_refuse_simple(request, 400, "invalid",
				     "Cannot cancel a synchronous response.", NULL);
	else if (json_read_member(document, "response") != NULL)
		answer_stored(request, document);
	else if (name_swap(id, OPENAI_RESPONSE, "run_", run, sizeof(run)) &&
		 stored_mark_cancelled(request, id) == 0 && replay_stop(request, run) == 0)
		replay_show(request, id);
	json_read_free(document);
}
