/*
 * listen.c - subscriptions/listen: a stream of what changes, for as long as a client holds it.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    which changes a client wants.
 * Never:    sends what was not asked for.
 *
 * The tools do not change while a daemon runs: a stream is silent but for its comments.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/mcp/mcp.h"

struct listener {
	struct listener *next;
	struct mcp *mcp;
	bool wants_tools, wants_prompts;
	bool tools_changed, prompts_changed;
};

static struct listener *listeners;

void mcp_list_changed(bool tools)
{
	for (struct listener *at = listeners; at != NULL; at = at->next) {
		at->tools_changed |= tools && at->wants_tools;
		at->prompts_changed |= !tools && at->wants_prompts;
		if (at->tools_changed || at->prompts_changed)
			request_wake(at->mcp->request);
	}
}

static int tell(struct listener *listener, const char *method, const char *more)
{
	cleanup_buf struct buf params = BUF_INIT(4096);
	struct err err;

	if (buf_addf(&params, &err, "{%s\"_meta\":{\"" RPC_META "subscriptionId\":%s}}", more,
		     listener->mcp->rpc.id) < 0)
		return -1;
	return mcp_notify(listener->mcp, method, buf_text(&params));
}

static int acknowledge(struct listener *listener)
{
	char more[160];

	(void)snprintf(more, sizeof(more), "\"notifications\":{%s%s%s},",
		       listener->wants_tools ? "\"toolsListChanged\":true" : "",
		       listener->wants_tools && listener->wants_prompts ? "," : "",
		       listener->wants_prompts ? "\"promptsListChanged\":true" : "");
	return tell(listener, "notifications/subscriptions/acknowledged", more);
}

static int follow(struct listener *listener)
{
	for (;;) {
		const int code = request_wait_note(listener->mcp->request, MCP_BEAT_MS);

		if (code < 0 || (code == 0 && sse_beat(listener->mcp->request) < 0))
			return -1;
		if (listener->tools_changed &&
		    tell(listener, "notifications/tools/list_changed", "") < 0)
			return -1;
		if (listener->prompts_changed &&
		    tell(listener, "notifications/prompts/list_changed", "") < 0)
			return -1;
		listener->tools_changed = listener->prompts_changed = false;
	}
}

static bool wants(const struct mcp *mcp, const char *name)
{
	bool value = false;

	(void)json_read_bool(json_read_member(json_read_member(mcp->rpc.params, "notifications"),
					      name),
			     &value);
	return value && mcp->has_fixtures;
}

void mcp_listen(struct mcp *mcp)
{
	struct listener listener = { .mcp = mcp, .next = listeners,
				     .wants_tools = wants(mcp, "toolsListChanged"),
				     .wants_prompts = wants(mcp, "promptsListChanged") };
	struct listener **at = &listeners;

	if (!mcp->accepts_stream) {
		mcp_error(mcp, RPC_INVALID_REQUEST, "a subscription is a stream: accept "
						    "text/event-stream", NULL);
		return;
	}
	listeners = &listener;
	if (acknowledge(&listener) == 0)
		(void)follow(&listener);
	while (*at != &listener)
		at = &(*at)->next;
	*at = listener.next;
}
