/*
 * net.c - sends one request at a time to a model's server.
 *
 * Runs in:  reckon-agent, in the sandbox.
 * Reads:    headers and bytes of a server.
 * Never:    follows a redirect (it would receive the key), keeps a cookie, or reads a .netrc.
 */
#include "agent/net.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "agent/loop/retry.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "base/text.h"

#define CONNECT_MS 30000L
#ifndef SILENCE_S /* a test sets a shorter time */
#define SILENCE_S 300 /* the connection is closed after so long without a byte */
#endif
#define POLL_MS 1000
#define CERTIFICATES_MAX ((size_t)8 * 1024 * 1024)
#define NS_PER_MS UINT64_C(1000000)

struct net {
	CURLM *multi;
	CURL *easy; /* reused, to keep the connection open */
	char *proxy, *no_proxy;
	struct buf trusted; /* certificates, read before files become unavailable */
};

/* Data for the callbacks of one transfer. */
struct transfer {
	struct net *net;
	const struct net_call *call;
	struct net_answer *answer;
	uint64_t received;
	struct err err;
};

void net_answer_init(struct net_answer *answer)
{
	*answer = (struct net_answer){ .body = BUF_INIT(NET_ERROR_MAX) };
}

void net_answer_done(struct net_answer *answer)
{
	buf_done(&answer->body);
}

static char *copy(const char *text)
{
	return text != NULL && text[0] != '\0' ? mem_strdup(text) : NULL;
}

/* The agent's uid may have no access to the user's file, so read it before the uid changes. */
static int read_trusted(const char *ca_file, struct buf *ret, struct err *err)
{
	const char *path = ca_file != NULL ? ca_file : curl_version_info(CURLVERSION_NOW)->cainfo;
	cleanup_fd int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd >= 0)
		return fd_read_all(fd, ret, err) < 0 ? err_wrap(err, "%.200s", path) : 0;
	return ca_file != NULL ? err_sys(err, "%.200s", ca_file) : 0;
}

int net_open(const struct net_options *options, struct net **ret, struct err *err)
{
	struct net *net;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(err, ERR_UNAVAILABLE, "libcurl cannot be initialised");
	net = mem_new0(1, sizeof(*net));
	net->trusted = BUF_INIT(CERTIFICATES_MAX);
	net->proxy = copy(options->proxy);
	net->no_proxy = copy(options->no_proxy);
	net->multi = curl_multi_init();
	net->easy = curl_easy_init();
	if (net->multi == NULL || net->easy == NULL)
		err_set(err, ERR_UNAVAILABLE, "libcurl cannot be initialised");
	else if (read_trusted(options->ca_file, &net->trusted, err) == 0)
		err_clear(err);
	if (err->code != ERR_OK) {
		net_close(net);
		return (int)err->code;
	}
	*ret = net;
	return 0;
}

void net_close(struct net *net)
{
	if (net == NULL)
		return;
	curl_easy_cleanup(net->easy);
	curl_multi_cleanup(net->multi);
	buf_done(&net->trusted);
	free(net->proxy);
	free(net->no_proxy);
	free(net);
}

static size_t on_header(char *line, size_t size, size_t count, void *arg)
{
	struct transfer *transfer = arg;
	struct net_answer *answer = transfer->answer;
	const size_t len = size * count;
	char value[256];

	/* the status line of another response: after a 100, or of a proxy */
	if (len >= 5 && memcmp(line, "HTTP/", 5) == 0) {
		answer->is_stream = false;
		answer->retry_ms = 0;
	} else if (text_header_value(line, len, "content-type", value, sizeof(value))) {
		answer->is_stream = strncasecmp(value, "text/event-stream", 17) == 0;
	} else if (text_header_value(line, len, "retry-after-ms", value, sizeof(value))) {
		answer->retry_ms = retry_after_read(value, true, (int64_t)time(NULL));
	} else if (answer->retry_ms == 0 &&
		   text_header_value(line, len, "retry-after", value, sizeof(value))) {
		answer->retry_ms = retry_after_read(value, false, (int64_t)time(NULL));
	}
	return len;
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *arg)
{
	struct transfer *transfer = arg;
	struct net_answer *answer = transfer->answer;
	const size_t len = size * count;
	size_t room = answer->body.max - answer->body.len;
	long status = 0;

	transfer->received += len;
	if (transfer->received > NET_STREAM_MAX) {
		err_set(&transfer->err, ERR_LIMIT, "an answer of more than %llu MiB",
			(unsigned long long)(NET_STREAM_MAX >> 20));
		return 0;
	}
	(void)curl_easy_getinfo(transfer->net->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status == 200 && answer->is_stream)
		return transfer->call->bytes(bytes, len, transfer->call->arg, &transfer->err) < 0
			       ? 0
			       : len;
	if (room > len)
		room = len;
	if (buf_add(&answer->body, bytes, room, &transfer->err) < 0)
		return 0;
	return len;
}

static struct curl_slist *headers_of(const struct provider_request *request)
{
	struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/json");

	list = curl_slist_append(list, "Accept: text/event-stream, application/json");
	list = curl_slist_append(list, "Expect:");
	for (size_t i = 0; i < request->header_count; i++)
		list = curl_slist_append(list, buf_text(&request->headers[i]));
	return list;
}

static void prepare(struct transfer *transfer, struct curl_slist *headers)
{
	const struct provider_request *request = transfer->call->request;
	struct net *net = transfer->net;
	CURL *easy = net->easy;
	struct curl_blob trusted = { net->trusted.data, net->trusted.len, CURL_BLOB_NOCOPY };

	curl_easy_reset(easy);
	(void)curl_easy_setopt(easy, CURLOPT_URL, buf_text(&request->url));
	(void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "reckon/" RECKON_VERSION);
	(void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	if (request->body.len > 0) {
		(void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, buf_text(&request->body));
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
				       (curl_off_t)request->body.len);
	}
	(void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_bytes);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	(void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	/* A server that computes for long sends keep-alives; one that is gone sends nothing. */
	(void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)SILENCE_S);
	/* "" means no proxy, whatever the environment says. */
	(void)curl_easy_setopt(easy, CURLOPT_PROXY, net->proxy != NULL ? net->proxy : "");
	(void)curl_easy_setopt(easy, CURLOPT_NOPROXY, net->no_proxy);
	if (net->trusted.len > 0)
		(void)curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &trusted);
	(void)curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
}

/* Converts the transfer's result to an error of ours. */
static int judge(struct transfer *transfer, CURLcode code, struct err *err)
{
	struct net_answer *answer = transfer->answer;
	long status = 0;

	(void)curl_easy_getinfo(transfer->net->easy, CURLINFO_RESPONSE_CODE, &status);
	answer->status = status > 0 ? (unsigned)status : 0;
	if (code == CURLE_OK)
		return 0;
	if (transfer->err.code != ERR_OK) {
		*err = transfer->err;
		return (int)err->code;
	}
	err_set(err, ERR_UNAVAILABLE, "%s", curl_easy_strerror(code));
	switch ((int)code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return err_remedy(err, "check the address and this host's network");
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		return err_remedy(err, "SSL_CERT_FILE names another file of trusted certificates");
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return err_remedy(err, "the address begins with https:// or http://");
	case CURLE_COULDNT_CONNECT:
		answer->may_retry = true;
		return err_remedy(err, "is the server running, and the address right?");
	default:
		answer->may_retry = true;
		return (int)err->code;
	}
}

/* Milliseconds until `deadline_ns`, at most POLL_MS; 0: it has passed. */
static int patience(uint64_t deadline_ns)
{
	const uint64_t now = clock_mono_ns();

	if (now >= deadline_ns)
		return 0;
	return deadline_ns - now > POLL_MS * NS_PER_MS
		       ? POLL_MS
		       : (int)((deadline_ns - now) / NS_PER_MS) + 1;
}

/* Runs the transfer until it ends; false: `watch` or the deadline ended it. */
static bool drive(struct transfer *transfer)
{
	const struct net_call *call = transfer->call;
	CURLM *multi = transfer->net->multi;
	int running = 1;

	while (curl_multi_perform(multi, &running) == CURLM_OK && running > 0) {
		struct curl_waitfd extra = { .fd = call->watch_fd, .events = CURL_WAIT_POLLIN };
		const int wait = patience(call->deadline_ns);

		if (wait == 0) {
			transfer->answer->timed_out = true;
			return false;
		}
		if (curl_multi_poll(multi, &extra, 1, wait, NULL) != CURLM_OK)
			return true;
		if (extra.revents != 0 && call->watch(call->arg)) {
			transfer->answer->interrupted = true;
			return false;
		}
	}
	return true;
}

static CURLcode result_of(CURLM *multi)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(multi, &left)) != NULL)
		if (message->msg == CURLMSG_DONE)
			return message->data.result;
	return CURLE_RECV_ERROR;
}

int net_send(struct net *net, const struct net_call *call, struct net_answer *ret, struct err *err)
{
	struct transfer transfer = { .net = net, .call = call, .answer = ret };
	struct curl_slist *headers = headers_of(call->request);
	int rc = 0;

	prepare(&transfer, headers);
	if (curl_multi_add_handle(net->multi, net->easy) != CURLM_OK) {
		rc = err_set(err, ERR_UNAVAILABLE, "libcurl takes no request");
	} else {
		if (drive(&transfer))
			rc = judge(&transfer, result_of(net->multi), err);
		(void)curl_multi_remove_handle(net->multi, net->easy);
	}
	curl_slist_free_all(headers);
	return rc;
}

bool net_wait(uint64_t ms, int watch_fd, net_watch_fn *watch, void *arg)
{
	const uint64_t until = clock_mono_ns() + ms * NS_PER_MS;
	int wait;

	while ((wait = patience(until)) > 0) {
		struct pollfd ready = { .fd = watch_fd, .events = POLLIN };

		if (poll(&ready, 1, wait) > 0 && watch(arg))
			return true;
	}
	return false;
}
