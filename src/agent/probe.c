/*
 * probe.c - lists the models of the server, or reports why it cannot.
 *
 * Runs in:  reckon-agent, in the sandbox.
 * Reads:    responses of a model's server.
 * Never:    retries: the caller wants the current state.
 */
#include <string.h>

#include "agent/formats/list.h"
#include "agent/loop/loop.h"
#include "base/clock.h"

#define NS_PER_MS UINT64_C(1000000)

static int refuse_stream(const char *bytes, size_t len, void *arg, struct err *err)
{
	(void)bytes;
	(void)len;
	(void)arg;
	return err_set(err, ERR_PROTOCOL, "the answer is not a list of models");
}

static int get(struct loop *loop, struct net_answer *answer, struct err *err)
{
	struct provider_request request;
	struct net_call call = {
		.request = &request,
		.bytes = refuse_stream,
		.watch = link_watch,
		.arg = loop->link,
		.watch_fd = loop->link->sock,
		.deadline_ns = clock_mono_ns() + loop->settings.wall_ms * NS_PER_MS,
	};
	int rc;

	provider_request_init(&request);
	request.base_url = loop->base_url;
	request.model = loop->model;
	request.key = loop->key;
	rc = list_request((enum agent_protocol)loop->settings.protocol, &request, err);
	if (rc == 0)
		rc = provider_more_headers(&request, loop->headers, err);
	if (rc == 0)
		rc = net_send(loop->net, &call, answer, err);
	provider_request_done(&request);
	return rc;
}

static void read_fault(const struct loop *loop, const struct net_answer *answer, struct err *why)
{
	struct fault fault;

	fault_read(answer->status, buf_text(&answer->body), answer->body.len, &fault);
	fault_hide(&fault, loop->key);
	err_set(why, ERR_UNAVAILABLE, "HTTP %u: %.200s", answer->status, fault.text);
	if (answer->status == 404 || answer->status == 405)
		err_remedy(why, "is the address right? it may also be a server without a list");
	else if (fault.kind == FAULT_KEY)
		err_remedy(why, "check the key");
	else if (fault.kind == FAULT_QUOTA)
		err_remedy(why, "the account has no credit left");
	else if (fault.kind == FAULT_BUSY)
		err_remedy(why, "ask again in a while");
}

/* Gets the list; on failure `why` has the reason. */
static int take_list(struct loop *loop, struct net_answer *answer, struct list *list,
		     struct err *why)
{
	if (get(loop, answer, why) < 0)
		return (int)why->code;
	if (answer->timed_out) {
		err_set(why, ERR_TIMEOUT, "no answer within %llu s",
			(unsigned long long)loop->settings.wall_ms / 1000);
		return err_remedy(why, "is the server running, and the address right?");
	}
	if (answer->interrupted)
		return err_set(why, ERR_TIMEOUT, "interrupted");
	if (answer->status != 200) {
		read_fault(loop, answer, why);
		return (int)why->code;
	}
	if (answer->body.len == answer->body.max)
		return err_set(why, ERR_LIMIT, "a list of more than %zu MiB",
			       LIST_ANSWER_MAX >> 20);
	if (list_read(buf_text(&answer->body), answer->body.len, list, why) == 0)
		return 0;
	return err_remedy(why, "is this the address of a model's server?");
}

static int send_list(const struct loop *loop, const struct list *list, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(AGENT_NAMES_BYTES + 1024);

	if (agent_pack(&payload, AGENT_TAG_TEXT, buf_text(&list->names), list->names.len, err) <
		    0 ||
	    agent_pack_u64(&payload, AGENT_TAG_COUNT, list->count, err) < 0)
		return (int)err->code;
	return agent_send(loop->link->sock, AGENT_MODELS, 0, &payload, err);
}

int probe_take(struct loop *loop, struct err *err)
{
	const struct agent_usage usage = { 0 };
	struct net_answer answer;
	struct list list;
	struct err why;
	int rc;

	net_answer_init(&answer);
	answer.body.max = LIST_ANSWER_MAX;
	list_init(&list);
	err_clear(&why);
	if (take_list(loop, &answer, &list, &why) == 0) {
		rc = send_list(loop, &list, err);
	} else {
		const struct link_end end = {
			.stop = AGENT_STOP_FAILED, .usage = &usage, .why = &why
		};

		rc = link_done(loop->link, &end, err);
	}
	list_done(&list);
	net_answer_done(&answer);
	return rc;
}
