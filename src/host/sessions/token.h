/* token.h - tokens: keys for one session, or for one volume. */
#pragma once

#include "host/host.h"

#define TOKEN_SIZE 104
/* Whether this may be a token, and no key of a tenant. */
bool token_looks(const char *text, size_t len);
/*
 * 0: *ret stands for it, with the id of the session or volume. API_ERR_UNAUTHORIZED,
 * API_ERR_KEY_EXPIRED, API_ERR_SESSION_CLOSED, or API_ERR_NOT_FOUND of a volume.
 */
int token_judge(struct host *host, const char *text, struct key *ret);
/* Answers with what became of its session. */
void session_token_gone(struct host *host, uint64_t request, const char *text);
/* Whether a call is about the session, or the volume, of the token that brings it. */
bool token_may(const struct request *req);
void volume_token_make(const struct host *host, const char *volume, const struct key *key,
		       char ret[TOKEN_SIZE]);
