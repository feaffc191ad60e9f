/*
 * response.c - answers a request of Responses: starts a run and writes it as a response.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    bodies of any client, the stored conversation of an earlier response.
 * Never:    reveals an earlier response that the key may not see: reckond checks that.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/json_get.h"
#include "dialects/openai/responses/conversations.h"
#include "dialects/openai/files/files_read.h"
#include "dialects/openai/responses/references.h"
#include "dialects/openai/responses/response.h"

/* ---- what it goes on with -------------------------------------------------------------------- */

static bool is_live(struct request *request, const char *session)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_session out;

	return call_make(request, API_SESSION_SHOW,
			 &(struct api_session_show_in){ .session = session }, &out, &call) ==
		       CALL_OK &&
	       strcmp(out.status, "live") == 0;
}

/* Uses the container of the input's last cell, if it still exists. */
static void take_container_of(struct request *request, const struct json_value *item,
			      struct order *order)
{
	const char *id = json_get_text(item, "container_id");
	char session[ID_SIZE];

	if (id == NULL)
		id = json_get_text(json_read_member(item, "environment"), "container_id");
	if (order->session[0] == '\0' && id != NULL &&
	    name_swap(id, OPENAI_CONTAINER, "se_", session, sizeof(session)) &&
	    is_live(request, session))
		(void)snprintf(order->session, sizeof(order->session), "%s", session);
}

static void take_containers(struct request *request, struct order *order)
{
	const struct json_value *input = json_read_member(order->body, "input");

	if (order->container != NULL || !order_has_container(order))
		return;
	for (size_t i = json_read_count(input); i > 0; i--)
		take_container_of(request, references_item(order, json_read_at(input, i - 1)),
				  order);
	for (size_t i = order->earlier_count; i > 0; i--)
		take_container_of(request, json_read_member(order->earlier[i - 1], "object"),
				  order);
}

/* Uses the session of an earlier run, if it still exists. */
static void take_session(struct request *request, const char *run, struct order *order)
{
	cleanup_call struct call call = CALL_INIT;
	struct json_value *answer = NULL;
	struct api_run_show_out out;
	const char *id = NULL;
	struct err err;

	if (call_make(request, API_RUN_SHOW, &(struct api_run_show_in){ .id = run }, &out, &call) ==
		    CALL_OK &&
	    out.answer.data != NULL &&
	    json_read_parse(out.answer.data, out.answer.len, OPENAI_OUT_MAX, &answer, &err) == 0)
		id = json_get_text(answer, "session");
	if (id != NULL)
		(void)snprintf(order->session, sizeof(order->session), "%s", id);
	json_read_free(answer);
	if (id == NULL || !is_live(request, order->session))
		order->session[0] = '\0';
}

static int take_previous(struct request *request, struct order *order, struct json_value **ret)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_run_conversation_out out;
	char run[ID_SIZE];
	struct err err;

	take_containers(request, order);
	if (order->previous == NULL)
		return 0;
	if (!name_swap(order->previous, OPENAI_RESPONSE, "run_", run, sizeof(run)))
		(void)snprintf(run, sizeof(run), "-");
	if (call_or_refuse(request, API_RUN_CONVERSATION,
			   &(struct api_run_conversation_in){ .id = run }, &out, &call) < 0)
		return -1;
	if (json_read_parse(out.conversation.data, out.conversation.len, OPENAI_OUT_MAX, ret,
			    &err) < 0) {
		answer_refuse_simple(request, 500, "server_error", err.text, NULL);
		return -1;
	}
	if (order->container == NULL && order_has_container(order) && order->session[0] == '\0')
		take_session(request, run, order);
	return 0;
}

/* ---- the request ---------------------------------------------------------------------------- */

/* Answers a background response; a request can find it by its id from now on. */
static void answer_queued(struct response *response)
{
	cleanup_buf struct buf out = BUF_INIT(OPENAI_OUT_MAX);

	items_init(&response->items, response->request, response->order, &response->run);
	if (response_write(response, "queued", NULL, NULL, &out) == 0)
		openai_answer(response->request, &out);
	else
		answer_break_off(response->request);
}

/* A background response that cannot be stored would cost money and never be read. */
static int keep_begun(struct response *response)
{
	if (!response->order->is_background ||
	    stored_keep(response->request, response, NULL) == 0)
		return 0;
	(void)replay_stop(response->request, response->run.id);
	answer_refuse_simple(response->request, 413, "limit",
			     "background: the request cannot be kept", "leave background out");
	return -1;
}

static void tell(struct response *response)
{
	struct order *order = response->order;

	request_note(response->request, NULL, response->run.session, NULL);
	response->created_s = clock_wall_ms() / 1000;
	if (!name_swap(response->run.id, "run_", OPENAI_RESPONSE, response->id,
		       sizeof(response->id)))
		response->id[0] = '\0';
	if (keep_begun(response) < 0)
		return;
	if (order->is_background && order->conversation[0] != '\0')
		conversation_wait(response->request, order->conversation, response->id);
	if (order->is_background && !order->is_stream)
		answer_queued(response);
	else if (response_begin(response) == 0)
		response_follow(response);
}

static void answer(struct request *request, struct order *order, const struct buf *conversation)
{
	struct response response = { .request = request, .order = order, .run = RUN_INIT };
	const bool is_new = order->session[0] == '\0';
	struct api_run_create_in in = {
		.model = order->model,
		.conversation = { conversation->data, conversation->len },
		.files = { order->files, order->file_count },
		.session = is_new ? NULL : order->session,
		.has_keep_conversation = true,
		.keep_conversation = order->is_stored,
		.has_background = order->is_background,
		.background = order->is_background,
	};

	if (is_new && order_has_container(order))
		in.has_keep = in.keep = true;
	else if (is_new)
		in.template = OPENAI_CODE_LANGUAGE;
	if (run_begin(&response.run, request, &in) == 0)
		tell(&response);
	response_done(&response);
}

/* Creates the container that the order wants, if a run's default container would differ. */
static int make_container(struct request *request, struct order *order)
{
	struct api_limits limits = { .has_memory_bytes = true,
				     .memory_bytes = order->memory_bytes };
	cleanup_call struct call call = CALL_INIT;
	struct api_session session;

	if (call_or_refuse(request, API_SESSION_CREATE,
			   &(struct api_session_create_in){
				   .limits = order->memory_bytes > 0 ? &limits : NULL },
			   &session, &call) < 0)
		return -1;
	(void)snprintf(order->session, sizeof(order->session), "%s", session.id);
	return 0;
}

/* Puts the tenant's files into the container before the model starts. */
static int prepare_container(struct request *request, struct order *order)
{
	const bool is_new = order->session[0] == '\0' &&
			    (order->file_list_count > 0 || order->memory_bytes > 0);

	if (is_new && make_container(request, order) < 0)
		return -1;
	for (size_t i = 0; i < order->file_list_count; i++)
		if (files_import(request, order->file_lists[i], order->session,
				 &order->file_lines) < 0)
			return -1;
	return 0;
}

void response_create(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(OPENAI_BODY_MAX);
	cleanup_buf struct buf conversation = BUF_INIT(OPENAI_CONVERSATION_MAX);
	cleanup_order struct order order = { .file_lines = BUF_INIT(64 * 1024) };
	struct json_value *before = NULL;
	struct err err;
	int rc;

	if (openai_body(request, &body) < 0)
		return;
	if (order_read(buf_text(&body), body.len, &order, &err) < 0) {
		answer_refuse_invalid(request, &err);
		return;
	}
	buf_done(&body);
	if (conversation_load(request, &order) < 0 || references_load(request, &order) < 0 ||
	    files_bring(request, &order) < 0 || take_previous(request, &order, &before) < 0)
		return;
	if (prepare_container(request, &order) < 0) {
		json_read_free(before);
		return;
	}
	rc = order_write(&order, before, &conversation, &err);
	json_read_free(before);
	if (rc < 0)
		answer_refuse_invalid(request, &err);
	else
		answer(request, &order, &conversation);
}
