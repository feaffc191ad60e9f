/*
 * transfer.c - one exchange with a daemon.
 *
 * Runs in:  programs that are clients of a daemon.
 * Reads:    heads and bodies from any server at the address.
 * Never:    follows a redirect (the key would go along), keeps more of an answer than its bound,
 *           or lets a key get into a message.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "client/inner.h"

#define API "/reckon/v1/"
#define REFUSAL_MAX (64u * 1024u)
#define CONNECT_S 10L
#define SILENCE_S 60L /* four heartbeats of a stream */
#define POLL_MS 1000

/* A failure stays one: on_wake may make requests, during which this transfer goes on as well. */
static int fail(struct transfer *transfer, int code)
{
	transfer->has_failed = transfer->has_failed || code < 0;
	return code;
}

static void tell_progress(const struct transfer *transfer, uint64_t done, uint64_t total)
{
	if (transfer->client->on_progress != NULL)
		transfer->client->on_progress(done, total, transfer->client->on_progress_arg);
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct transfer *transfer = arg;
	const size_t len = size * count;
	curl_off_t total = 0;
	long status = 0;

	(void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	transfer->answer.status = (unsigned)status;
	if (status < 200 || status > 299) {
		const size_t room = REFUSAL_MAX - transfer->refusal.len;
		struct err ignored;

		/* The beginning of a long refusal is enough. */
		(void)buf_add(&transfer->refusal, bytes, len < room ? len : room, &ignored);
		return len;
	}
	if (transfer->accept[0] != '\0' &&
	    strncasecmp(transfer->type, transfer->accept, strlen(transfer->accept)) != 0) {
		(void)err_set(&transfer->err, ERR_PROTOCOL,
			      "%s answered with \"%.40s\", which is not an answer of Reckon's",
			      transfer->client->name, transfer->type);
		(void)err_remedy(&transfer->err, "check the address");
		(void)fail(transfer, ERR_PROTOCOL);
		return 0;
	}
	transfer->received += len;
	if (fail(transfer, transfer->sink(bytes, len, transfer->sink_arg, &transfer->err)) < 0)
		return 0;
	(void)curl_easy_getinfo(transfer->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &total);
	if (!transfer->is_upload)
		tell_progress(transfer, transfer->received, total > 0 ? (uint64_t)total : 0);
	return len;
}

static size_t on_header(char *line, size_t size, size_t count, void *arg)
{
	struct transfer *transfer = arg;
	const size_t len = size * count;
	char retry[16];

	(void)text_header_value(line, len, "content-type", transfer->type, sizeof(transfer->type));
	(void)text_header_value(line, len, "reckon-execution", transfer->execution,
				sizeof(transfer->execution));
	(void)text_header_value(line, len, "reckon-archive", transfer->answer.archive,
				sizeof(transfer->answer.archive));
	if (text_header_value(line, len, "retry-after", retry, sizeof(retry)))
		transfer->answer.retry_s = (unsigned)strtoul(retry, NULL, 10);
	return len;
}

static size_t on_upload(char *bytes, size_t size, size_t count, void *arg)
{
	struct transfer *transfer = arg;
	size_t want = size * count;
	ssize_t n;

	/* If the file grows meanwhile, send only its original size. */
	if (want > transfer->upload_size)
		want = (size_t)transfer->upload_size;
	do
		n = read(transfer->upload_fd, bytes, want);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		(void)fail(transfer, err_sys(&transfer->err, "read the file"));
		return CURL_READFUNC_ABORT;
	}
	transfer->upload_size -= (uint64_t)n;
	transfer->uploaded += (uint64_t)n;
	tell_progress(transfer, transfer->uploaded, transfer->uploaded + transfer->upload_size);
	return (size_t)n;
}

int client_add_header(struct curl_slist **headers, const char *line, struct err *err)
{
	struct curl_slist *more = curl_slist_append(*headers, line);

	if (more == NULL)
		return err_set(err, ERR_SYSTEM, "out of memory");
	*headers = more;
	return 0;
}

static int set_headers(struct transfer *transfer, struct err *err)
{
	const struct client *client = transfer->client;
	char line[CLIENT_KEY_SIZE + 32];

	(void)snprintf(line, sizeof(line), "Authorization: Bearer %s", client->key);
	if (client->key[0] != '\0' && client_add_header(&transfer->headers, line, err) < 0)
		return (int)err->code;
	explicit_bzero(line, sizeof(line));
	if (transfer->body != NULL &&
	    (client_add_header(&transfer->headers, "Content-Type: application/json", err) < 0 ||
	     client_add_header(&transfer->headers, "Expect:", err) < 0))
		return (int)err->code;
	if (transfer->header != NULL &&
	    client_add_header(&transfer->headers, transfer->header, err) < 0)
		return (int)err->code;
	(void)curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
	return 0;
}

void transfer_set_place(CURL *easy, const struct url *url)
{
	(void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	/* Keep "files/..": the server must see an invalid file name, not the session's path. */
	(void)curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	(void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	(void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	if (url->socket[0] != '\0')
		(void)curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, url->socket);
	/* Use no proxy for this machine. */
	if (url->is_loopback)
		(void)curl_easy_setopt(easy, CURLOPT_PROXY, "");
}

static void set_callbacks(struct transfer *transfer)
{
	CURL *easy = transfer->easy;

	if (transfer->is_stream) {
		(void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
		(void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, SILENCE_S);
	}
	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "reckon/" RECKON_VERSION);
	(void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->reason);
	(void)curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	(void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
	if (transfer->is_upload) {
		(void)curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
		(void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_upload);
		(void)curl_easy_setopt(easy, CURLOPT_READDATA, transfer);
		(void)curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE,
				       (curl_off_t)transfer->upload_size);
	} else if (transfer->body != NULL) {
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
				       (curl_off_t)transfer->body->len);
		(void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, buf_text(transfer->body));
	}
	(void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, transfer->method);
}

static int set_up(struct transfer *transfer, struct err *err)
{
	cleanup_buf struct buf url = BUF_INIT(64 * 1024);

	transfer->refusal = BUF_INIT(REFUSAL_MAX);
	transfer->easy = curl_easy_init();
	if (transfer->easy == NULL)
		return err_set(err, ERR_SYSTEM, "libcurl does not start");
	if (buf_addf(&url, err, "%s" API "%s", transfer->client->url.base, transfer->path) < 0 ||
	    set_headers(transfer, err) < 0)
		return (int)err->code;
	(void)curl_easy_setopt(transfer->easy, CURLOPT_URL, buf_text(&url));
	transfer_set_place(transfer->easy, &transfer->client->url);
	set_callbacks(transfer);
	return 0;
}

/* Exchanges end in any order: a request may run while another exchange streams. */
static void collect(CURLM *multi)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(multi, &left)) != NULL) {
		struct transfer *of = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &of);
		of->is_over = true;
		of->result = message->data.result;
	}
}

static void wait_for_more(struct transfer *transfer)
{
	struct curl_waitfd wake = { .fd = transfer->wake_fd, .events = CURL_WAIT_POLLIN };
	const unsigned count = transfer->wake_fd >= 0 && transfer->on_wake != NULL;

	(void)curl_multi_poll(transfer->client->multi, &wake, count, POLL_MS, NULL);
	if (count > 0 && (wake.revents & CURL_WAIT_POLLIN) != 0)
		(void)fail(transfer, transfer->on_wake(transfer->execution, transfer->on_wake_arg,
						  &transfer->err));
}

static int drive(struct transfer *transfer, struct err *err)
{
	CURLM *multi = transfer->client->multi;
	int running;

	if (curl_multi_add_handle(multi, transfer->easy) != CURLM_OK)
		return err_set(err, ERR_SYSTEM, "libcurl does not take the request");
	while (!transfer->is_over && !transfer->has_failed) {
		if (curl_multi_perform(multi, &running) != CURLM_OK)
			return err_set(err, ERR_SYSTEM, "libcurl failed");
		collect(multi);
		if (!transfer->is_over && !transfer->has_failed)
			wait_for_more(transfer);
	}
	return 0;
}

int transfer_run(struct transfer *transfer, struct err *err)
{
	long status = 0;

	if (set_up(transfer, err) < 0 || drive(transfer, err) < 0)
		return (int)err->code;
	(void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	transfer->answer.status = (unsigned)status;
	transfer->client->last = transfer->answer;
	if (transfer->has_failed) {
		*err = transfer->err;
		return (int)err->code;
	}
	/* Report a refusal even if the server did not wait for the rest of an upload. */
	if (status >= 300 && transfer->refusal.len > 0)
		return answer_refused(transfer, err);
	if (transfer->result != CURLE_OK)
		return answer_broken(transfer, err);
	return status >= 200 && status < 300 ? 0 : answer_refused(transfer, err);
}

void transfer_done(struct transfer *transfer)
{
	if (transfer->easy != NULL) {
		(void)curl_multi_remove_handle(transfer->client->multi, transfer->easy);
		curl_easy_cleanup(transfer->easy);
	}
	curl_slist_free_all(transfer->headers);
	buf_done(&transfer->refusal);
}
