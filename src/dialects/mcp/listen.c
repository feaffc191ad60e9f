/*
 * listen.c - subscriptions/listen: a stream of changes, until the client closes it.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    the changes that a client subscribes to.
 * Never:    sends a change that the client did not subscribe to.
 *
 * The tools do not change while a daemon runs, so a stream reports at most tasks. It checks their
 * status as often as clients should poll.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/mcp/mcp.h"

#define TASKS_MAX 16u
#define LOOK_MS 1000u

struct listener {
	struct listener *next;
	struct mcp *mcp;
	bool wants_tools, wants_prompts;
	bool tools_changed, prompts_changed;
	struct task_watch tasks[TASKS_MAX];
	size_t task_count;
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

/* `more`: members of the params, each followed by a comma. */
static int tell_of(struct listener *listener, const char *method, const char *more)
{
	cleanup_buf struct buf params = BUF_INIT(4096);
	struct err err;

	if (buf_addf(&params, &err, "{%s\"_meta\":{\"" RPC_META "subscriptionId\":%s}}", more,
		     listener->mcp->rpc.id) < 0)
		return -1;
	return mcp_notify(listener->mcp, method, buf_text(&params));
}

static int tell(struct listener *listener, const char *method)
{
	return tell_of(listener, method, "");
}

static int acknowledge(struct listener *listener)
{
	cleanup_buf struct buf more = BUF_INIT(2048), whole = BUF_INIT(3072);
	struct json_writer json;
	struct err err;

	json_write_init(&json, &more);
	json_write_object_begin(&json);
	if (listener->wants_tools)
		json_write_member_bool(&json, "toolsListChanged", true);
	if (listener->wants_prompts)
		json_write_member_bool(&json, "promptsListChanged", true);
	if (listener->task_count > 0) {
		json_write_key(&json, "taskIds");
		json_write_array_begin(&json);
		for (size_t i = 0; i < listener->task_count; i++)
			json_write_string(&json, listener->tasks[i].id);
		json_write_array_end(&json);
	}
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0 ||
	    buf_addf(&whole, &err, "\"notifications\":%s,", buf_text(&more)) < 0)
		return -1;
	return tell_of(listener, "notifications/subscriptions/acknowledged", buf_text(&whole));
}

/* 1: some tasks are still running. */
static int tell_tasks(struct listener *listener)
{
	int go_on = 0;

	for (size_t i = 0; i < listener->task_count; i++) {
		if (mcp_task_tell(listener->mcp, &listener->tasks[i]) < 0)
			return -1;
		go_on |= !listener->tasks[i].is_over;
	}
	return go_on;
}

static int follow(struct listener *listener)
{
	uint64_t quiet_ms = 0;

	for (;;) {
		const int go_on = tell_tasks(listener);
		const uint64_t wait_ms = go_on > 0 ? LOOK_MS : MCP_BEAT_MS;
		int code;

		if (go_on < 0)
			return -1;
		code = request_wait_note(listener->mcp->request, wait_ms);
		quiet_ms += wait_ms;
		if (code < 0 || (code == 0 && quiet_ms >= MCP_BEAT_MS &&
				 sse_beat(listener->mcp->request) < 0))
			return -1;
		if (quiet_ms >= MCP_BEAT_MS)
			quiet_ms = 0;
		if (listener->tools_changed &&
		    tell(listener, "notifications/tools/list_changed") < 0)
			return -1;
		if (listener->prompts_changed &&
		    tell(listener, "notifications/prompts/list_changed") < 0)
			return -1;
		listener->tools_changed = listener->prompts_changed = false;
	}
}

static void refuse_tasks(struct mcp *mcp, size_t count)
{
	char message[96], data[64];

	(void)snprintf(message, sizeof(message), "taskIds: at most %u, there are %zu", TASKS_MAX,
		       count);
	(void)snprintf(data, sizeof(data), "{\"field\":\"taskIds\",\"limit\":%u}", TASKS_MAX);
	mcp_error(mcp, RPC_INVALID_PARAMS, message, data);
}

/* Takes those of the client's tasks that exist. Negative: there is nothing left to answer. */
static int take_tasks(struct listener *listener)
{
	struct mcp *mcp = listener->mcp;
	const struct json_value *ids =
		json_read_member(json_read_member(mcp->rpc.params, "notifications"), "taskIds");
	const size_t count = json_read_count(ids);

	if ((mcp->capabilities & RPC_HAS_TASKS) == 0 || json_read_kind(ids) != JSON_KIND_ARRAY)
		return 0;
	if (count > TASKS_MAX) {
		refuse_tasks(mcp, count);
		return -1;
	}
	for (size_t i = 0; i < count; i++) {
		const char *id = json_read_text(json_read_at(ids, i), NULL);
		const int found =
			mcp_task_watch(mcp, id, &listener->tasks[listener->task_count]);

		if (found < 0)
			return -1;
		listener->task_count += (size_t)found;
	}
	return 0;
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
	if (take_tasks(&listener) < 0)
		return;
	listeners = &listener;
	if (acknowledge(&listener) == 0)
		(void)follow(&listener);
	while (*at != &listener)
		at = &(*at)->next;
	*at = listener.next;
}
