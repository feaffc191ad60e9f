/* url.h - a daemon's address as users write it. No side effects; fuzzed by
 * test/fuzz/fuzz_client.c. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

#define URL_BASE_SIZE 512
#define URL_SOCKET_SIZE 108 /* of sockaddr_un */

struct url {
	char base[URL_BASE_SIZE];	/* "http://127.0.0.1:7263", without a trailing slash */
	char socket[URL_SOCKET_SIZE]; /* path of a unix: address, else "" */
	bool is_tls, is_loopback;
};

/*
 * "http://HOST[:PORT][/PREFIX]", "https://…" or "unix:/PATH". No user, query or fragment; drops a
 * trailing "/reckon/v1". ERR_INVALID otherwise.
 */
int url_parse(const char *text, struct url *ret, struct err *err);
