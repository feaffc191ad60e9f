/*
 * cmd_e2b.c - reckon e2b env: what to set so that E2B's SDKs use a daemon.
 *
 * Runs in:  reckon.
 * Reads:    the command line, the environment.
 * Never:    connects to the daemon: it only converts the format of the key and the address.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/process/runtime.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"
#include "codec/base64.h"

#define URL_DEFAULT "http://127.0.0.1:7263"
#define KEY_PREFIX "rk_"
#define KEY_CHARACTERS 43u /* 32 bytes in base64 */
#define KEY_BYTES 32u
#define API_PATH "/reckon/v1"

struct wanted {
	const char *url, *key;
};

static const struct opt_item env_items[] = {
	{ REMOTE_OPT_URL, "url", "URL", "the daemon (RECKON_URL, else " URL_DEFAULT ")", OPT_HINT_NONE,
	  NULL, false },
	{ REMOTE_OPT_KEY, "key", "KEY", "API key; RECKON_API_KEY keeps it out of ps", OPT_HINT_NONE, NULL,
	  false },
};

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct wanted *wanted = arg;

	if (id == REMOTE_OPT_URL)
		wanted->url = value;
	else if (id == REMOTE_OPT_KEY)
		wanted->key = value;
	else
		return err_set(err, ERR_INVALID, "unexpected argument '%.100s'", value);
	return 0;
}

/* "e2b_" and the key's bits in hexadecimal: E2B's SDKs check the format of a key. */
static int spell_key(const char *key, struct buf *ret, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(128), bits = BUF_INIT(64);
	const size_t prefix = strlen(KEY_PREFIX);

	if (strncmp(key, "e2b_", 4) == 0)
		return buf_adds(ret, key, err);
	if (strncmp(key, KEY_PREFIX, prefix) != 0 || strlen(key) != prefix + KEY_CHARACTERS ||
	    buf_addf(&text, err, "%s=", key + prefix) < 0)
		return err_set(err, ERR_INVALID, "invalid API key: a key begins with rk_");
	for (size_t i = 0; i < text.len; i++)
		text.data[i] = text.data[i] == '-'   ? '+'
			       : text.data[i] == '_' ? '/'
						     : text.data[i];
	if (base64_decode(text.data, text.len, &bits, err) < 0 || bits.len != KEY_BYTES)
		return err_set(err, ERR_INVALID, "invalid API key: it is incomplete");
	if (buf_adds(ret, "e2b_", err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < bits.len; i++)
		if (buf_addf(ret, err, "%02x", (unsigned char)bits.data[i]) < 0)
			return (int)err->code;
	return 0;
}

/* Removes the path of the native API, and refuses characters that are special to a shell. */
static int spell_url(const char *url, struct buf *ret, struct err *err)
{
	const size_t path = strlen(API_PATH);
	const char *host = strstr(url, "://");
	size_t len;

	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) {
		(void)err_set(err, ERR_INVALID, "%.100s: E2B's SDKs need http:// or https://", url);
		return err_remedy(err, "start a daemon with an address: reckon serve");
	}
	if (strspn(url,
		   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/[]%") !=
	    strlen(url))
		return err_set(err, ERR_INVALID, "%.100s: not a plain address", url);
	len = strlen(url);
	while (len > 0 && url[len - 1] == '/')
		len--;
	if (len >= path && strncmp(url + len - path, API_PATH, path) == 0)
		len -= path;
	if (memchr(host + 3, '/', len - (size_t)(host + 3 - url)) != NULL)
		return err_set(err, ERR_INVALID, "%.100s: E2B's SDKs take no path in an address",
			       url);
	return buf_add(ret, url, len, err);
}

static int print_env(const struct wanted *wanted, struct err *err)
{
	const char *url = runtime_option(wanted->url, "RECKON_URL");
	const char *key = runtime_option(wanted->key, "RECKON_API_KEY");
	cleanup_buf struct buf address = BUF_INIT(1024), spelled = BUF_INIT(256);
	const char *colon;

	if (key == NULL) {
		(void)err_set(err, ERR_INVALID, "there is no API key");
		return err_remedy(err,
				  "set RECKON_API_KEY to what reckon serve printed at its first "
				  "start, or to what reckon key create prints");
	}
	if (spell_url(url != NULL ? url : URL_DEFAULT, &address, err) < 0 ||
	    spell_key(key, &spelled, err) < 0)
		return (int)err->code;
	(void)printf("export E2B_API_KEY=%s\n", spelled.data);
	(void)printf("export E2B_API_URL=%s\n", address.data);
	(void)printf("export E2B_SANDBOX_URL=%s\n", address.data);
	(void)printf("export E2B_VOLUME_API_URL=%s\n", address.data);
	/* The SDKs use this variable only for getHost(). */
	colon = strrchr(strstr(address.data, "://") + 3, ':');
	if (strstr(address.data, "://127.0.0.1") != NULL ||
	    strstr(address.data, "://[::1]") != NULL)
		(void)printf("export E2B_DOMAIN=localhost%s\n", colon != NULL ? colon : "");
	else
		(void)printf("export E2B_DOMAIN=%s\n", strstr(address.data, "://") + 3);
	return 0;
}

static int run_env(const struct opt_command *self, int argc, char **argv)
{
	struct wanted wanted = { NULL, NULL };
	struct err err;
	int rc = opt_parse(self, argc, argv, take, &wanted, &err);

	if (rc > 0) {
		opt_print_help(stdout, self);
		return EXIT_CODE_OK;
	}
	if (rc < 0 || print_env(&wanted, &err) < 0) {
		if (rc == 0)
			(void)err_wrap(&err, "%s", self->name);
		return cli_complain(&err);
	}
	return EXIT_CODE_OK;
}

static const struct opt_command env_table = {
	.name = "e2b env",
	.operands = "",
	.summary = "print the variables that E2B's SDKs need",
	.notes = "\n  eval \"$(reckon e2b env)\" && python3 program.py",
	.items = env_items,
	.count = ARRAY_LEN(env_items),
	.run = run_env,
};

static const struct opt_command *const e2b_subs[] = { &env_table, NULL };

const struct opt_command cmd_e2b_table = {
	.name = "e2b",
	.is_minor = true,
	.operands = "COMMAND",
	.summary = "use a daemon with E2B's SDKs",
	.subs = e2b_subs,
	.run = cli_run_sub,
};
