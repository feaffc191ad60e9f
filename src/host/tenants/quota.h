/*
 * quota.h - a tenant's quotas, and the answer when one is reached.
 *
 * The quota_… functions answer the request when they return false.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/calls.h"
#include "wire/front.h"

struct host;
struct request;
struct session;
struct tenant;

/* A refusal with data that a client can act on. The caller owns the texts. */
struct refusal {
	enum api_error error;
	const char *message;
	const char *cause;  /* or NULL */
	const char *remedy; /* or NULL */
	unsigned retry_s;
	const char *quota; /* name of a quota or a scope; NULL: none */
	bool has_numbers, has_queue;
	struct front_numbers numbers;
	struct front_queue queue;
};
void refuse(struct host *host, uint64_t request, const struct refusal *refusal);

/* The tenant's own quota, or else the configured one; 0: unlimited. */
uint64_t quota_of(const struct host *host, const struct tenant *tenant, enum front_quota quota);

/*
 * Checks requested limits against the tenant's quotas and fills in missing ones. If one is too
 * large, answers the request.
 */
bool quota_limits(struct host *host, const struct request *req, struct front_limits *limits);

/* Takes one request from the tenant's rate limit. */
bool quota_request(struct host *host, const struct request *req);
/* The state of the rate limit; false: the tenant has none. */
bool quota_requests_left(const struct host *host, struct tenant *tenant, uint64_t *ret_limit,
			 uint64_t *ret_left, uint64_t *ret_reset_ms);
/* Whether the tenant may have one more session. Fills in limits that the request left out. */
bool quota_session(struct host *host, const struct request *req, struct front_limits *limits,
		   bool has_idle, uint64_t *idle_ms);
bool quota_idle(struct host *host, const struct request *req, uint64_t idle_ms);
/*
 * Whether one more execution may start in the session (NULL: in a new one), for at most
 * `timeout_ms` (0: the session's limit).
 */
bool quota_execution(struct host *host, const struct request *req, const struct session *session,
		     uint64_t timeout_ms);
/* Whether one more process may start, for at most `timeout_ms` (0: gets the quota's maximum). */
bool quota_process(struct host *host, const struct request *req, uint64_t *timeout_ms);
/* Whether the tenant may store `size` more bytes (0: any at all). */
bool quota_disk(struct host *host, const struct request *req, uint64_t size);

uint64_t quota_disk_left(const struct host *host, const struct tenant *tenant);
uint64_t quota_memory_of(const struct front_limits *limits);
/*
 * The number without leaving sessions, whose boxes close more slowly than a client asks for the
 * next session. At most `most` are left out, so that there are never more than twice as many.
 */
uint64_t quota_staying(uint64_t count, uint64_t leaving, uint64_t most);
void quota_note_cpu(struct tenant *tenant, uint64_t ms);

/* ---- estimates: moving averages of measured values ---- */
void quota_note_execution(struct host *host, uint64_t wall_ms);
void quota_note_lifetime(struct host *host, uint64_t ms);
/* The estimated wait after `before` executions that wait for `workers` threads. */
struct front_queue quota_queue(const struct host *host, uint64_t before, uint64_t workers);
struct front_queue quota_session_queue(const struct host *host, uint64_t sessions);
unsigned quota_retry_s(const struct front_queue *queue);
