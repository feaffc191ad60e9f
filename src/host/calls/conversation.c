/*
 * conversation.c - conversations of runs: what a run starts with or continues, and what it leaves.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests; it passes conversations to a reckon-agent, which checks them.
 * Never:    tells a tenant about runs of another, or continues a run that has not ended.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "host/calls/call.h"
#include "host/db/tables/run.h"
#include "host/host.h"

#define cleanup_db_run __attribute__((cleanup(db_run_done)))

bool run_conversation_is_persisted(const struct api_run_create_in *in)
{
	if (in->has_keep_conversation)
		return in->keep_conversation;
	return in->continues != NULL || in->conversation.data != NULL;
}

static int refuse_invalid(struct host *host, const struct request *req, const char *why)
{
	front_fail(host, req->id, API_ERR_INVALID, why, "", "", 0);
	return -1;
}

/* Finds the stored conversation of a run; -1: answered with an error. */
static int find(struct host *host, const struct request *req, const char *id, struct db_run *ret)
{
	const struct run *live = run_find(host, req->tenant, id);
	char message[96];
	struct err err;
	const int found = db_run_conversation(host->db, req->tenant->row.id, id, ret, &err);

	if (found < 0) {
		front_fail_err(host, req->id, &err);
	} else if (found == 0) {
		(void)snprintf(message, sizeof(message), "there is no run %s", id);
		front_fail(host, req->id, API_ERR_RUN_NOT_FOUND, message, "", "", 0);
	} else if (live != NULL && live->state != RUN_ENDED) {
		db_run_done(ret);
		front_fail(host, req->id, API_ERR_BUSY, "this run has not ended", "",
			  "wait for its end, or interrupt it", 1);
	} else if (ret->conversation.len == 0) {
		db_run_done(ret);
		front_fail(host, req->id, API_ERR_EXPIRED, "no conversation of this run is kept",
			   "", "ask with \"keep_conversation\": true", 0);
	} else {
		return 0;
	}
	return -1;
}

static int take_results(struct run *run, const struct request *req,
			const struct api_list *results)
{
	const struct api_run_result *result = results->items;

	for (size_t i = 0; i < results->count && i < AGENT_CALLS_MAX; i++, result++) {
		char *text = mem_new0(result->text.len + 1, 1);

		if (result->text.len > 0)
			memcpy(text, result->text.data, result->text.len);
		run->results[run->result_count++] = (struct agent_client_tool_result){
			.call = mem_strdup(result->id),
			.text = text,
			.len = result->text.len,
			.failed = result->failed,
		};
		if (!utf8_is_valid(result->id, strlen(result->id)) ||
		    !utf8_is_valid(text, result->text.len))
			return refuse_invalid(run->host, req, "results are UTF-8 text");
	}
	return 0;
}

static int take_earlier(struct run *run, const struct request *req,
			const struct api_run_create_in *in)
{
	struct host *host = run->host;
	cleanup_db_run struct db_run row;
	struct err err;

	db_run_init(&row);
	if (in->question == NULL && in->results.count == 0)
		return refuse_invalid(host, req, "continues needs results or a question");
	if (find(host, req, in->continues, &row) < 0)
		return -1;
	if (buf_add(&run->load, row.conversation.data, row.conversation.len, &err) < 0)
		return refuse_invalid(host, req, err.text);
	memcpy(run->session_id, row.session, sizeof(run->session_id));
	if (in->question == NULL)
		run->before = row.usage;
	run->model = mem_strdup(row.model);
	return take_results(run, req, &in->results);
}

int run_conversation_take(struct run *run, const struct request *req,
			  const struct api_run_create_in *in)
{
	struct host *host = run->host;
	struct err err;

	if (in->continues != NULL)
		return take_earlier(run, req, in);
	if (in->results.count > 0)
		return refuse_invalid(host, req, "results need continues");
	if (in->question == NULL && in->conversation.data == NULL)
		return refuse_invalid(host, req,
				      "a question, conversation or continues is missing");
	if (in->conversation.data != NULL &&
	    buf_add(&run->load, in->conversation.data, in->conversation.len, &err) < 0)
		return refuse_invalid(host, req, "a conversation of more than 15 MiB");
	return 0;
}

const char *run_conversation_session(struct run *run, const struct api_run_create_in *in)
{
	const struct session *session;

	if (in->session != NULL)
		return in->session;
	session = session_by_id(run->host, run->session_id);
	if (session != NULL && session->tenant == run->tenant)
		return session->row.id;
	run->session_id[0] = '\0'; /* the session has ended, with its variables and files */
	return NULL;
}

void handle_run_conversation(struct host *host, const struct request *req,
			     const struct api_run_conversation_in *in)
{
	cleanup_db_run struct db_run row;

	db_run_init(&row);
	if (find(host, req, in->id, &row) < 0)
		return;
	reply_run_conversation(host, req->id,
			       &(struct api_run_conversation_out){
				       .conversation = { row.conversation.data,
							 row.conversation.len } });
}

/* The run's executions belong to the session, and stay. */
void handle_run_delete(struct host *host, const struct request *req,
		       const struct api_run_delete_in *in)
{
	struct run *live = run_find(host, req->tenant, in->id);
	char by[ID_SIZE], message[96];
	struct err err;
	const int found = db_run_asker(host->db, req->tenant->row.id, in->id, by, &err);

	(void)snprintf(message, sizeof(message), "there is no run %s", in->id);
	if (found == 0) {
		front_fail(host, req->id, API_ERR_RUN_NOT_FOUND, message, "", "", 0);
		return;
	}
	if (live != NULL && (live->state != RUN_ENDED || live->jobs > 0)) {
		front_fail(host, req->id, API_ERR_BUSY, "this run has not ended", "",
			  "wait for its end, or interrupt it", 1);
		return;
	}
	if (found < 0 || db_run_drop(host->db, in->id, &err) < 0 ||
	    transaction_sync(host, &err) < 0) {
		front_fail_err(host, req->id, &err);
		return;
	}
	if (live != NULL)
		run_discard(live);
	audit_note(host, "agent.delete", "", "ok", "run=%s", in->id);
	reply_done(host, req->id);
}

/* ---- models --------------------------------------------------------------------------------- */

static bool is_there(const struct api_model *models, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(models[i].name, name) == 0)
			return true;
	return false;
}

void handle_model_list(struct host *host, const struct request *req,
		       const struct api_model_list_in *in)
{
	cleanup_arena struct arena arena = { 0 };
	struct api_model *models = arena_new(&arena, MODELS_ENTRIES_MAX + MODELS_ALIASES_MAX,
					     sizeof(*models));
	char name[MODELS_NAME_MAX + MODELS_MODEL_MAX + 2];
	size_t count = 0;

	(void)in;
	for (size_t i = 0; run_model_at(host, i, name, sizeof(name)); i++)
		if (!is_there(models, count, name))
			models[count++].name = arena_text(&arena, name, strlen(name));
	reply_model_list(host, req->id,
			 &(struct api_model_list_out){ .models = { models, count } });
}
