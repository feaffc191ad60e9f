/*
 * routes.c - SandboxFusion's API: code and notebooks for graders of models.
 *
 *   POST /sandboxfusion/run_code      a program
 *   POST /sandboxfusion/run_jupyter   cells
 *   POST /sandboxfusion/submit        a model's answer, against tests in the request
 *   POST /sandboxfusion/get_prompts   tasks in the request; also get_prompt_by_id, list_ids
 *   GET  /sandboxfusion/v1/ping
 *
 * Runs in:  reckon-front-sandboxfusion.
 * Reads:    heads of any client.
 * Never:    refuses for lack of capacity before waiting: graders count a refusal as a failure.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/route.h"
#include "dialects/sandboxfusion/sandboxfusion.h"

#define UNUSED_MAX (1u * 1024u * 1024u)

extern const struct dialect dialect_sandboxfusion;

static void answer_json(struct request *request, const char *text)
{
	cleanup_buf struct buf body = BUF_INIT(64), unused = BUF_INIT(UNUSED_MAX);
	struct err err;

	if (request_body(request, UNUSED_MAX, &unused) == 0 && buf_adds(&body, text, &err) == 0)
		answer_text(request, 200, FUSION_JSON, &body, NULL);
}

static void ping(struct request *request)
{
	answer_json(request, "\"pong\"");
}

static void datasets(struct request *request)
{
	if (call_check_key(request) == 0)
		answer_json(request, "[\"CommonOJDataset\"]");
}

static void handle(struct request *request)
{
	static const struct route routes[] = {
		{ HTTP_VERB_POST, "/sandboxfusion/run_code", fusion_run_code, NULL },
		{ HTTP_VERB_POST, "/sandboxfusion/run_jupyter", fusion_run_jupyter, NULL },
		{ HTTP_VERB_POST, "/sandboxfusion/submit", fusion_submit, NULL },
		{ HTTP_VERB_GET, "/sandboxfusion/v1/ping", ping, NULL },
		{ HTTP_VERB_GET, "/sandboxfusion/list_datasets", datasets, NULL },
		{ HTTP_VERB_POST, "/sandboxfusion/list_ids", fusion_list_ids, NULL },
		{ HTTP_VERB_POST, "/sandboxfusion/get_prompts", fusion_get_prompts, NULL },
		{ HTTP_VERB_POST, "/sandboxfusion/get_prompt_by_id", fusion_get_prompt_by_id,
		  NULL },
		{ HTTP_VERB_POST, "/sandboxfusion/get_metrics", fusion_get_metrics, NULL },
		{ HTTP_VERB_POST, "/sandboxfusion/get_metrics_function",
		  fusion_get_metrics_function, NULL },
	};

	if (route_call(request, request_head(request)->path, routes, ARRAY_LEN(routes)) !=
	    ROUTE_HANDLED)
		answer_refuse_simple(request, 404, "not_found", "Not Found", NULL);
}

static const struct key_place keys[] = {
	{ KEY_BEARER, NULL }, { KEY_HEADER, "x-api-key" }, { KEY_BASIC, NULL }, { KEY_NONE, NULL }
};

const struct dialect dialect_sandboxfusion = {
	.name = "sandboxfusion",
	.keys = keys,
	.handle = handle,
	.refuse = fusion_refuse,
};
