/*
 * main.c - reckon-agent: sends requests to a model, in a sandbox.
 *
 * Runs in:  reckon-agent; descriptor 3 is the socket to its parent.
 * Reads:    frames of its parent; in the sandbox, the model's server.
 * Never:    executes a program, opens a file of the user in the sandbox, or sends its key to any
 *           other server.
 */
#include <curl/curl.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/fence.h"
#include "agent/link.h"
#include "agent/loop/loop.h"
#include "agent/net.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"

/* The port of a URL. */
static int port_of(const char *url, uint16_t *ret, struct err *err)
{
	CURLU *parts = curl_url();
	char *port = NULL;
	unsigned long value = 0;

	if (parts != NULL &&
	    curl_url_set(parts, CURLUPART_URL, url, CURLU_GUESS_SCHEME) == CURLUE_OK &&
	    curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK)
		value = strtoul(port, NULL, 10);
	curl_free(port);
	curl_url_cleanup(parts);
	if (value == 0 || value > UINT16_MAX)
		return err_set(err, ERR_INVALID, "%.200s is not an address", url);
	*ret = (uint16_t)value;
	return 0;
}

struct place {
	char *ca_file, *proxy, *no_proxy;
};

static char *text_of(const struct link *link, enum agent_tag tag)
{
	const struct kernel_item *item = agent_find(link->items, link->item_count, tag);
	char *text;

	if (item == NULL || item->len == 0)
		return NULL;
	text = mem_new0((size_t)item->len + 1, 1);
	memcpy(text, item->data, item->len);
	return text;
}

static int open_place(struct loop *loop, const struct place *place, struct err *err)
{
	const struct net_options options = {
		.ca_file = place->ca_file,
		.proxy = place->proxy,
		.no_proxy = place->no_proxy,
	};
	uint16_t ports[AGENT_PORTS_MAX];
	size_t count = 0;

	if (net_open(&options, &loop->net, err) < 0 ||
	    port_of(loop->base_url, &ports[count++], err) < 0)
		return (int)err->code;
	if (place->proxy != NULL && port_of(place->proxy, &ports[count++], err) < 0)
		return err_wrap(err, "proxy");
	return agent_fence(ports, count, err);
}

static int start(struct loop *loop, struct err *err)
{
	struct place place;
	const int rc = link_receive(loop->link, err);
	int opened;

	if (rc <= 0)
		return rc < 0 ? rc : err_set(err, ERR_LOST, "nobody there");
	if (loop->link->head.type != AGENT_START)
		return err_set(err, ERR_PROTOCOL, "frame %u before a start", loop->link->head.type);
	place.ca_file = text_of(loop->link, AGENT_TAG_CA_FILE);
	place.proxy = text_of(loop->link, AGENT_TAG_PROXY);
	place.no_proxy = text_of(loop->link, AGENT_TAG_NO_PROXY);
	opened = loop_start(loop, err);
	if (opened == 0)
		opened = open_place(loop, &place, err);
	free(place.ca_file);
	free(place.proxy);
	free(place.no_proxy);
	/* The frame has the key; erase this copy. */
	explicit_bzero(loop->link->payload.data, loop->link->payload.len);
	return opened;
}

static void fail(struct loop *loop, const struct err *why)
{
	const struct link_end end = {
		.stop = AGENT_STOP_FAILED, .usage = &loop->usage, .why = why
	};
	struct err ignored;

	(void)link_done(loop->link, &end, &ignored);
}

static int take_frame(struct loop *loop, struct err *err)
{
	switch (loop->link->head.type) {
	case AGENT_HISTORY:
		return loop_remember(loop, err);
	case AGENT_CONVERSATION:
		return loop_load_conversation(loop, err);
	case AGENT_LIST:
		return probe_take(loop, err);
	case AGENT_ASK:
		return loop_ask(loop, err);
	case AGENT_CONTINUE:
		return loop_continue(loop, err);
	default:
		return err_set(err, ERR_PROTOCOL, "frame %u", loop->link->head.type);
	}
}

static int serve(struct loop *loop, struct err *err)
{
	int rc;

	if (link_ready(loop->link, err) < 0)
		return (int)err->code;
	while ((rc = link_receive(loop->link, err)) > 0) {
		if (loop->link->head.type == AGENT_INTERRUPT)
			continue; /* it arrived after the end */
		if (take_frame(loop, err) < 0)
			return (int)err->code;
	}
	return rc;
}

int main(void)
{
	struct loop *loop = mem_new0(1, sizeof(*loop));
	struct err err;
	int rc;

	log_init("agent");
	tzset(); /* reads a file now, before the sandbox */
	if (fcntl(AGENT_FD, F_SETFD, FD_CLOEXEC) < 0) {
		log_line(LOG_ERROR, "reckon ask starts this program", NULL);
		return 2;
	}
	loop->link = mem_new0(1, sizeof(*loop->link));
	link_init(loop->link, AGENT_FD);
	rc = start(loop, &err);
	if (rc == 0)
		rc = serve(loop, &err);
	if (rc < 0)
		fail(loop, &err);
	net_close(loop->net);
	loop_done(loop);
	buf_done(&loop->link->payload);
	free(loop->link);
	free(loop);
	return rc < 0 ? 125 : 0;
}
