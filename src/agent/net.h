/*
 * net.h - sends one request at a time to a model's server with libcurl, and streams the response.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/formats/provider.h"
#include "base/err.h"

#define NET_STREAM_MAX ((uint64_t)64 * 1024 * 1024) /* one response */
#define NET_ERROR_MAX ((size_t)64 * 1024) /* of a response that is not a stream, so much is kept */

struct net;

struct net_options {
	const char *ca_file;  /* NULL: the system's */
	const char *proxy;    /* NULL: none */
	const char *no_proxy; /* or NULL */
};

struct net_answer {
	unsigned status;    /* HTTP status; 0: no response */
	uint64_t retry_ms;  /* delay from a header; 0: none */
	bool is_stream;	    /* an event stream; else `body` has its beginning */
	bool interrupted;   /* `watch` returned true */
	bool timed_out;	    /* at `deadline_ns` */
	bool may_retry;	    /* the network failed in a way that may be temporary */
	struct buf body;
};

/* Gets bytes of an event stream. A negative code ends the transfer. */
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
 * Sends the request (a GET if it has no body) and receives the response; ret->body gets as much of
 * a response that is not a stream as fits. Returns 0 for a response of any status, and after an
 * interrupt or timeout; else an error of the network or of `bytes`.
 */
int net_send(struct net *net, const struct net_call *call, struct net_answer *ret, struct err *err);

void net_answer_init(struct net_answer *answer);
void net_answer_done(struct net_answer *answer);

/* Sleeps; true: `watch` ended it. */
bool net_wait(uint64_t ms, int watch_fd, net_watch_fn *watch, void *arg);
