/*
 * client.c - requests, file transfers, closing.
 *
 * Runs in:  programs that are clients of a daemon.
 * Reads:    replies of a server.
 * Never:    prints.
 */
#include "client/client.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "client/inner.h"

void client_close(struct client *client)
{
	if (client == NULL)
		return;
	if (client->multi != NULL)
		(void)curl_multi_cleanup(client->multi);
	cleanup_fd_fn(&client->runtime_fd);
	explicit_bzero(client->key, sizeof(client->key));
	free(client);
}

const char *client_name(const struct client *client)
{
	return client->name;
}

const char *client_url(const struct client *client)
{
	return client->url.socket[0] == '\0' ? client->url.base : NULL;
}

bool client_is_private(const struct client *client)
{
	return client->is_private;
}

bool client_is_exposed(const struct client *client)
{
	return !client->url.is_loopback && !client->url.is_tls && client->key[0] != '\0';
}

void client_on_progress(struct client *client, client_progress_fn *fn, void *arg)
{
	client->on_progress = fn;
	client->on_progress_arg = arg;
}

const struct client_answer *client_last(const struct client *client)
{
	return &client->last;
}

int client_path_add(struct buf *path, const char *text, bool slashes, struct err *err)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "-._~";

	for (; *text != '\0'; text++) {
		const bool is_plain = strchr(plain, *text) != NULL || (slashes && *text == '/');

		if ((is_plain ? buf_addc(path, *text, err)
			      : buf_addf(path, err, "%%%02X", (unsigned char)*text)) < 0)
			return (int)err->code;
	}
	return 0;
}

static int to_buf(const char *bytes, size_t len, void *arg, struct err *err)
{
	if (buf_add(arg, bytes, len, err) < 0)
		return err_set(err, ERR_LIMIT, "the answer is larger than %zu MiB",
			       CLIENT_JSON_MAX >> 20);
	return 0;
}

/* Sends the request once, and again after each wait for Retry-After. */
static int exchange(const struct transfer *plan, struct transfer *ret, struct err *err)
{
	int code;

	do {
		*ret = *plan;
		code = transfer_run(ret, err);
		transfer_done(ret);
	} while (wait_for_turn(ret, code, &code, err));
	return code;
}

static int parse(const struct client *client, const struct buf *text, struct json_value **ret,
		 struct err *err)
{
	if (json_read_parse(buf_text(text), text->len, CLIENT_JSON_MAX, ret, err) == 0)
		return 0;
	(void)err_wrap(err, "%s answered what is not JSON", client->name);
	err->code = ERR_PROTOCOL;
	return err_remedy(err, "check the address: is that a Reckon daemon?");
}

int client_call(struct client *client, const char *method, const char *path,
		const struct buf *body, struct json_value **ret, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(CLIENT_JSON_MAX);
	struct json_value *document = NULL;
	const struct transfer plan = {
		.client = client,
		.method = method,
		.path = path,
		.body = body,
		.accept = "application/json",
		.sink = to_buf,
		.sink_arg = &text,
		.wake_fd = -1,
	};
	struct transfer transfer;

	if (exchange(&plan, &transfer, err) < 0 || parse(client, &text, &document, err) < 0)
		return (int)err->code;
	if (ret != NULL)
		*ret = document;
	else
		json_read_free(document);
	return 0;
}

static int to_fd(const char *bytes, size_t len, void *arg, struct err *err)
{
	return fd_write_full(*(const int *)arg, bytes, len, err);
}

int client_download(struct client *client, const char *path, int fd, uint64_t *ret_size,
		    struct err *err)
{
	const struct transfer plan = {
		.client = client,
		.method = "GET",
		.path = path,
		.accept = "",
		.sink = to_fd,
		.sink_arg = &fd,
		.wake_fd = -1,
	};
	struct transfer transfer;
	const int code = exchange(&plan, &transfer, err);

	if (code == 0 && ret_size != NULL)
		*ret_size = transfer.received;
	return code;
}

int client_upload(struct client *client, const char *path, int fd, uint64_t size,
		  struct json_value **ret, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(CLIENT_JSON_MAX);
	const off_t start = lseek(fd, 0, SEEK_CUR);
	struct transfer transfer;
	int code;

	do {
		buf_clear(&text);
		transfer = (struct transfer){
			.client = client,
			.method = "PUT",
			.path = path,
			.accept = "application/json",
			.sink = to_buf,
			.sink_arg = &text,
			.is_upload = true,
			.upload_fd = fd,
			.upload_size = size,
			.wake_fd = -1,
		};
		code = transfer_run(&transfer, err);
		transfer_done(&transfer);
		/* A descriptor that cannot seek back cannot be sent again. */
	} while (start >= 0 && wait_for_turn(&transfer, code, &code, err) &&
		 lseek(fd, start, SEEK_SET) == start);
	if (code == 0 && transfer.upload_size > 0)
		return err_set(err, ERR_INVALID, "the file became shorter while it was sent");
	return code < 0 || ret == NULL ? code : parse(client, &text, ret, err);
}
