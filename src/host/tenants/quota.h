/*
 * quota.h - what a tenant may have at once, and how it is told that it has it.
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

/* A refusal with what a client can act on. Texts are the caller's. */
struct refusal {
	enum api_error error;
	const char *message;
	const char *cause;  /* or NULL */
	const char *remedy; /* or NULL */
	unsigned retry_s;
	const char *quota; /* or a scope's name; NULL: none */
	bool has_numbers, has_queue;
	struct front_numbers numbers;
	struct front_queue queue;
};
void refuse(struct host *host, uint64_t request, const struct refusal *refusal);

/* Of the tenant, or of everybody; 0: there is none. */
uint64_t quota_of(const struct host *host, const struct tenant *tenant, enum front_quota quota);

/* Limits that are asked for fit the tenant's; those that are not get their defaults. Answers when
 * they do not. */
bool quota_limits(struct host *host, const struct request *req, struct front_limits *limits);

/* A token of the bucket. */
bool quota_request(struct host *host, const struct request *req);
/* What is left of it; false: the tenant has no such quota. */
bool quota_requests_left(const struct host *host, struct tenant *tenant, uint64_t *ret_limit,
			 uint64_t *ret_left, uint64_t *ret_reset_ms);
/* Room for one more session. Limits that were not named become what the tenant may have. */
bool quota_session(struct host *host, const struct request *req, struct front_limits *limits,
		   bool has_idle, uint64_t *idle_ms);
bool quota_idle(struct host *host, const struct request *req, uint64_t idle_ms);
/* Room for one more execution of the session (NULL: of one that is not there yet) that takes at most
 * `timeout_ms` (0: the session's limit). */
bool quota_execution(struct host *host, const struct request *req, const struct session *session,
		     uint64_t timeout_ms);
/* Room for one more process that runs at most `timeout_ms` (0: what the quota allows). */
bool quota_process(struct host *host, const struct request *req, uint64_t *timeout_ms);
/* Room on disk for `size` bytes (0: any). */
bool quota_disk(struct host *host, const struct request *req, uint64_t size);

uint64_t quota_disk_left(const struct host *host, const struct tenant *tenant);
uint64_t quota_memory_of(const struct front_limits *limits);
/*
 * Without those that are leaving: their boxes are on their way out, which takes longer than their
 * client to ask for the next one. No more of them than `most`, so that there are never twice as many.
 */
uint64_t quota_staying(uint64_t count, uint64_t leaving, uint64_t most);
void quota_note_cpu(struct tenant *tenant, uint64_t ms);

/* ---- estimates: moving averages of what was seen ---- */
void quota_note_execution(struct host *host, uint64_t wall_ms);
void quota_note_lifetime(struct host *host, uint64_t ms);
/* Until one of `before` executions that wait for `workers` threads begins. */
struct front_queue quota_queue(const struct host *host, uint64_t before, uint64_t workers);
struct front_queue quota_session_queue(const struct host *host, uint64_t sessions);
unsigned quota_retry_s(const struct front_queue *queue);
