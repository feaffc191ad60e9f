/*
 * net.h - one request at a time to a model's server, and its answer as it comes. libcurl behind it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/formats/provider.h"
#include "base/err.h"

#define NET_STREAM_MAX ((uint64_t)64 * 1024 * 1024) /* of one answer */
#define NET_ERROR_MAX ((size_t)64 * 1024)	    /* kept of an answer that is not a stream */

struct net;

struct net_options {
	const char *ca_file;  /* NULL: the system's */
	const char *proxy;    /* NULL: none */
	const char *no_proxy; /* or NULL */
};

struct net_answer {
	unsigned status;    /* 0: none came */
	uint64_t retry_ms;  /* what a header asked for; 0: nothing */
	bool is_stream;	    /* of events; else `body` holds its beginning */
	bool interrupted;   /* `watch` said so */
	bool timed_out;	    /* at `deadline_ns` */
	bool may_retry;	    /* the transfer failed as networks do */
	struct buf body;
};

/* Bytes of a stream of events. Negative codes end the transfer. */
typedef int net_bytes_fn(const char *bytes, size_t len, void *arg, struct err *err);
/* Called when watch_fd is readable; true ends the transfer. */
typedef bool net_watch_fn(void *arg);

struct net_call {
	const struct provider_request *request;
	net_bytes_fn *bytes;
	net_watch_fn *watch;
	void *arg;
	int watch_fd;
	uint64_t deadline_ns; /* monotonic */
};

int net_open(const struct net_options *options, struct net **ret, struct err *err);
void net_close(struct net *net); /* NULL is fine */

/*
 * Sends it, a GET when it has no body, and takes the answer in, of what is not a stream as much as
 * ret->body may hold. 0 when there is one, whatever its status, or when it was
 * interrupted or timed out; else an error of the network or of `bytes`.
 */
int net_send(struct net *net, const struct net_call *call, struct net_answer *ret, struct err *err);

void net_answer_init(struct net_answer *answer);
void net_answer_done(struct net_answer *answer);

/* Waits; true when `watch` ended it. */
bool net_wait(uint64_t ms, int watch_fd, net_watch_fn *watch, void *arg);
