/*
 * toy.c - an example protocol: it shows that a dialect is one folder, and what it can do.
 *
 *   GET  /toy          a greeting
 *   POST anything      with code in the header X-Toy: runs it in a fresh session, the body is its file `input`
 *   POST /toy/crash    ends this process
 *
 * Runs in:  reckon-front-toy, in builds with -Dextra_dialects=toy.
 * Reads:    heads and bodies of anybody.
 * Never:    is part of an installed Reckon.
 */
#include "dialects/toy/toy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/route.h"

extern const struct dialect dialect_toy;

/* One line of text: `toy: CODE: MESSAGE`. */
static void refuse(struct request *request, const struct refusal *refusal)
{
	cleanup_buf struct buf text = BUF_INIT(4096);
	struct err err;

	if (buf_addf(&text, &err, "toy: %s: %s\n", refusal->code, refusal->message) < 0)
		answer_break_off(request);
	else
		answer_text(request, refusal->status, "text/plain", &text, refusal->headers);
}

static void greet(struct request *request)
{
	cleanup_buf struct buf text = BUF_INIT(64);
	struct err err;

	if (request_body(request, 0, &text) == 0 && buf_adds(&text, "hello from toy\n", &err) == 0)
		answer_text(request, 200, "text/plain", &text, NULL);
}

static void crash(struct request *request)
{
	(void)request;
	abort();
}

static void handle(struct request *request)
{
	static const struct route routes[] = {
		{ HTTP_VERB_GET, "/toy", greet, NULL },
		{ HTTP_VERB_POST, "/toy/crash", crash, NULL },
	};
	const struct http *http = request_head(request);

	if (http->verb == HTTP_VERB_POST && http_header(http, "x-toy") != NULL) {
		toy_run(request);
		return;
	}
	if (route_call(request, request_head(request)->path, routes, ARRAY_LEN(routes)) !=
	    ROUTE_HANDLED)
		answer_refuse_simple(request, 404, "not_found", "the toy knows nothing of this",
				     NULL);
}

static const struct key_place keys[] = { { KEY_HEADER, "x-api-key" }, { KEY_NONE, NULL } };

const struct dialect dialect_toy = {
	.name = "toy",
	.keys = keys,
	.handle = handle,
	.refuse = refuse,
};
