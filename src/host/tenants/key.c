/*
 * key.c - API keys: "rk_" and 43 characters for 256 random bits, shown once, stored as a hash.
 *
 * Runs in:  reckond's loop.
 * Reads:    keys from clients.
 * Never:    stores or logs a key. Keyed BLAKE2b suffices: nobody can guess a random key, so a slow
 *           hash would only slow down each request.
 *
 * A presented key is hashed as a whole, and looked up by its hash under a secret of the daemon. So
 * the time that this takes reveals nothing about existing keys.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"

#define KEY_PREFIX "rk_"
#define BUCKETS 4096u
#define USED_EVERY_NS (60ull * 1000000000u)

struct key_table {
	struct key *buckets[BUCKETS];
	struct key *newest;
	unsigned count;
};

void key_hash(const struct host *host, const void *bytes, size_t len, unsigned char ret[32])
{
	(void)crypto_generichash(ret, 32, bytes, len, host->tenants.key_secret,
				 sizeof(host->tenants.key_secret));
}

bool key_is_expired(const struct host *host, const struct key *key)
{
	return key->row.expires_ms != 0 && key->row.expires_ms <= strict_now(&host->tenants.strict);
}

static struct key **bucket_of(const struct host *host, const unsigned char hash[32])
{
	uint32_t first;

	memcpy(&first, hash, sizeof(first));
	return &host->tenants.keys->buckets[first % BUCKETS];
}

struct key *key_find(struct host *host, const char *id)
{
	for (struct key *at = host->tenants.keys->newest; at != NULL; at = at->next)
		if (strcmp(at->row.id, id) == 0)
			return at;
	return NULL;
}

struct key *key_newest(const struct host *host)
{
	return host->tenants.keys->newest;
}

static struct key *take_in(struct host *host, const struct db_key *row)
{
	struct tenant *tenant = tenant_find(host, row->tenant);
	struct key *key, **bucket = bucket_of(host, row->hash), **at = &host->tenants.keys->newest;

	if (tenant == NULL)
		return NULL;
	key = mem_new0(1, sizeof(*key));
	key->row = *row;
	key->tenant = tenant;
	key->chain = *bucket;
	*bucket = key;
	/* Sorted by id, and so by time, because pages of lists continue after an id. */
	while (*at != NULL && strcmp((*at)->row.id, row->id) > 0)
		at = &(*at)->next;
	key->next = *at;
	*at = key;
	host->tenants.keys->count++;
	return key;
}

void key_forget(struct host *host, struct key *key)
{
	struct key **at = bucket_of(host, key->row.hash);

	while (*at != key)
		at = &(*at)->chain;
	*at = key->chain;
	at = &host->tenants.keys->newest;
	while (*at != key)
		at = &(*at)->next;
	*at = key->next;
	host->tenants.keys->count--;
	free(key);
}

/* Writes the time of use once a minute, which is enough to find unused keys. */
static void note_use(struct host *host, struct key *key)
{
	const uint64_t now = clock_mono_ns();
	struct err err;

	if (key->used_ns != 0 && now - key->used_ns < USED_EVERY_NS)
		return;
	key->used_ns = now;
	clock_rfc3339_now(key->row.used_at);
	if (db_key_change(host->db, &key->row, &err) < 0)
		log_line(LOG_WARN, "the use of a key could not be kept", "key=%s why=\"%s\"",
			 key->row.id, err.text);
}

/* A private daemon asks for no key (private.c): requests get the rights of its admin key. */
static struct key *private_key(struct host *host)
{
	struct key *at = host->tenants.keys->newest;

	while (at->next != NULL &&
	       ((at->row.scopes & FRONT_SCOPE_ADMIN) == 0 || key_is_expired(host, at)))
		at = at->next;
	return at;
}

int key_judge(struct host *host, const char *text, size_t len, struct key **ret)
{
	unsigned char hash[32];
	struct key *found = NULL;

	if (host->config.is_private) {
		*ret = private_key(host);
		return 0;
	}
	key_hash(host, text, len, hash);
	for (struct key *at = *bucket_of(host, hash); at != NULL; at = at->chain)
		if (sodium_memcmp(at->row.hash, hash, sizeof(hash)) == 0)
			found = at;
	if (found == NULL)
		return API_ERR_UNAUTHORIZED;
	if (key_is_expired(host, found))
		return API_ERR_KEY_EXPIRED;
	note_use(host, found);
	*ret = found;
	return 0;
}

static void make_text(char ret[KEY_TEXT_SIZE])
{
	unsigned char random[32];

	randombytes_buf(random, sizeof(random));
	memcpy(ret, KEY_PREFIX, sizeof(KEY_PREFIX));
	(void)sodium_bin2base64(ret + sizeof(KEY_PREFIX) - 1,
				KEY_TEXT_SIZE - sizeof(KEY_PREFIX) + 1, random, sizeof(random),
				sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(random, sizeof(random));
}

struct key *key_make(struct host *host, struct db_key *row, char ret_text[KEY_TEXT_SIZE],
		     struct err *err)
{
	struct key *key;

	if (host->tenants.keys->count >= KEYS_MAX) {
		(void)err_set(err, ERR_LIMIT, "there are %u keys", KEYS_MAX);
		(void)err_remedy(err, "revoke some that are not used any more");
		return NULL;
	}
	if (id_new(row->id, "key", err) < 0)
		return NULL;
	clock_rfc3339_now(row->created_at);
	make_text(ret_text);
	key_hash(host, ret_text, strlen(ret_text), row->hash);
	if (db_key_add(host->db, row, err) < 0)
		return NULL;
	key = take_in(host, row);
	if (key == NULL)
		(void)err_set(err, ERR_NOT_FOUND, "there is no tenant %s", row->tenant);
	return key;
}

bool key_admin_left(const struct host *host, const struct key *without,
		    const struct tenant *without_tenant)
{
	for (const struct key *at = host->tenants.keys->newest; at != NULL; at = at->next)
		if (at != without && at->tenant != without_tenant &&
		    (at->row.scopes & FRONT_SCOPE_ADMIN) != 0 && !key_is_expired(host, at) &&
		    strcmp(at->tenant->row.state, "active") == 0)
			return true;
	return false;
}

static int load_one(const struct db_key *row, void *arg, struct err *err)
{
	(void)err;
	(void)take_in(arg, row); /* ignores a key of a deleted tenant */
	return 0;
}

int key_setup(struct host *host, char ret_key[KEY_TEXT_SIZE], struct err *err)
{
	struct db_key row = { .name = "first", .scopes = FRONT_SCOPES_ALL };
	const struct tenant *tenant;

	ret_key[0] = '\0';
	host->tenants.keys = mem_new0(1, sizeof(*host->tenants.keys));
	if (db_key_list(host->db, load_one, host, err) < 0)
		return (int)err->code;
	if (key_admin_left(host, NULL, NULL))
		return 0;
	/*
	 * Whoever can start a daemon on this directory can read all of it, and so may have an admin
	 * key.
	 */
	tenant = tenant_for_admin(host, err);
	if (tenant == NULL)
		return (int)err->code;
	(void)snprintf(row.tenant, sizeof(row.tenant), "%s", tenant->row.id);
	return key_make(host, &row, ret_key, err) != NULL ? 0 : (int)err->code;
}
