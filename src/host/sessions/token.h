/* token.h - tokens: keys for one session. */
#pragma once

#include "host/host.h"

#define SESSION_TOKEN_SIZE 104
/* Whether this may be a token, and no key of a tenant. */
bool session_token_looks(const char *text, size_t len);
/* 0: *ret stands for it, with the session's id. API_ERR_UNAUTHORIZED, or API_ERR_SESSION_CLOSED. */
int session_token_judge(struct host *host, const char *text, struct key *ret);
/* Answers with what became of its session. */
void session_token_gone(struct host *host, uint64_t request, const char *text);
/* Whether a call is about the session of the token that brings it. */
bool session_token_may(const struct request *req);
