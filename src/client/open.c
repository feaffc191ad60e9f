/*
 * open.c - opens a client of the named daemon, or of the user's private one.
 *
 * Runs in:  programs that are clients of a daemon.
 * Reads:    the environment (RECKON_URL, RECKON_API_KEY).
 * Never:    prints, or accepts a key that could inject a header.
 */
#include "client/client.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/process/runtime.h"
#include "client/inner.h"

#define START_TRIES 3u

static int take_key(struct client *client, const char *key, struct err *err)
{
	if (key == NULL)
		return 0;
	/* Refuse a key that could inject a header. */
	for (const char *at = key; *at != '\0'; at++)
		if (*at <= ' ' || *at > '~')
			return err_set(err, ERR_INVALID, "the API key has a character that no key "
							 "has");
	if (snprintf(client->key, sizeof(client->key), "%s", key) >= (int)sizeof(client->key))
		return err_set(err, ERR_INVALID, "the API key is too long");
	return 0;
}

/*
 * A daemon that ends because it is idle may still accept a connection. Once it answers "health", it
 * stays for a while.
 */
static int open_private(struct client *client, enum daemon_start may_start, struct err *err)
{
	int code = ERR_UNAVAILABLE;

	client->is_private = true;
	(void)snprintf(client->name, sizeof(client->name), "your private daemon");
	for (unsigned tries = 0; tries < START_TRIES && code == ERR_UNAVAILABLE; tries++) {
		code = daemon_find(client, may_start, err);
		if (code == 0)
			code = client_call(client, "GET", "health", NULL, NULL, err);
	}
	return code == 0 && may_start != DAEMON_START_NEVER ? daemon_renew(client, err) : code;
}

static int set_up(struct client *client, const struct client_options *options, struct err *err)
{
	const bool is_private = options->only_running || options->only_private;
	const char *url = is_private ? NULL : runtime_option(options->url, "RECKON_URL");

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0 ||
	    (client->multi = curl_multi_init()) == NULL)
		return err_set(err, ERR_SYSTEM, "libcurl does not start");
	if (url == NULL)
		return open_private(client,
				    options->only_running ? DAEMON_START_NEVER
				    : options->no_start   ? DAEMON_START_AGAIN
							  : DAEMON_START_ANY,
				    err);
	if (url_parse(url, &client->url, err) < 0)
		return (int)err->code;
	if (client->url.socket[0] != '\0')
		(void)snprintf(client->name, sizeof(client->name), "unix:%s", client->url.socket);
	else
		(void)snprintf(client->name, sizeof(client->name), "%s", client->url.base);
	return take_key(client, runtime_option(options->key, "RECKON_API_KEY"), err);
}

int client_open(const struct client_options *options, struct client **ret, struct err *err)
{
	struct client *client = mem_new0(1, sizeof(*client));

	client->runtime_fd = -1;
	client->wait_left_s = options->wait_s;
	client->on_wait = options->on_wait;
	client->on_wait_arg = options->on_wait_arg;
	client->on_note = options->on_note;
	client->on_note_arg = options->on_note_arg;
	if (set_up(client, options, err) < 0) {
		client_close(client);
		return (int)err->code;
	}
	*ret = client;
	return 0;
}
