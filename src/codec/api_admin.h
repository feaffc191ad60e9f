/*
 * api_admin.h - the JSON bodies of tenants and keys as structs. As in api.h: what is not known is
 * refused by name, texts point into the parsed document.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "codec/json_read.h"

#define API_QUOTAS_MAX 32
#define API_LIFETIME_S_MAX (10.0 * 366 * 86400)

/* What quotas there are: the caller's, so that there is one list of them. */
struct api_quota_kind {
	const char *name;
	bool is_seconds; /* given in seconds, told in ms */
	uint64_t max;
};

struct api_tenant {
	struct json_value *document;
	const char *name;  /* NULL: not given */
	const char *state; /* likewise */
	uint64_t given;	   /* a bit for each quota that is named */
	uint64_t value[API_QUOTAS_MAX]; /* 0: null was given */
};

/* POST, or with `is_patch` PATCH of a tenant. `count` is at most API_QUOTAS_MAX. */
int api_tenant_parse(const char *text, size_t len, bool is_patch,
		     const struct api_quota_kind *kinds, size_t count, struct api_tenant *ret,
		     struct err *err);
void api_tenant_done(struct api_tenant *tenant);

struct api_key {
	struct json_value *document;
	const char *name;   /* NULL: not given */
	const char *tenant; /* likewise */
	uint32_t scopes;    /* a bit for each name of `scopes` */
	uint64_t expires_ms; /* from now; 0: never */
};

/* POST of a key; `scopes` are `count` names. */
int api_key_parse(const char *text, size_t len, const char *const *scopes, size_t count,
		  struct api_key *ret, struct err *err);
/* {"overlap_s"?}: *ret_ms is `otherwise` without it. */
int api_rotate_parse(const char *text, size_t len, uint64_t otherwise, uint64_t *ret_ms,
		     struct err *err);
void api_key_done(struct api_key *key);
