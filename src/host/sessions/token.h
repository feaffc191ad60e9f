/* token.h - tokens: keys for one session or one volume. */
#pragma once

#include "host/host.h"

#define TOKEN_SIZE 104
/* Whether `text` may be a token, and so is not a tenant's key. */
bool token_looks(const char *text, size_t len);
/*
 * 0: the token is valid, and *ret describes its rights, with the id of the session or volume.
 * Otherwise API_ERR_UNAUTHORIZED, API_ERR_KEY_EXPIRED, API_ERR_SESSION_CLOSED, or API_ERR_NOT_FOUND
 * for a volume.
 */
int token_judge(struct host *host, const char *text, struct key *ret);
/* Answers that the token's session has ended, and why. */
void session_token_gone(struct host *host, uint64_t request, const char *text);
/* Whether a call is about the session or volume of its token. */
bool token_may(const struct request *req);
void volume_token_make(const struct host *host, const char *volume, const struct key *key,
		       char ret[TOKEN_SIZE]);
