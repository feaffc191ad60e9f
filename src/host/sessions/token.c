/*
 * token.c - a token is a key for one session or one volume, with at most the rights of the key that
 * made it.
 *
 *   st_ the session's 26 characters, the key's 26, 2 digits for scopes, and a seal of 43 that only
 *   reckond can make; vt_ the same for a volume
 *
 * Runs in:  reckond's loop.
 * Reads:    tokens and signatures from clients.
 * Never:    stores a token: it can be computed again, and ends with its session or volume or with
 *           the key that made it, whichever is first.
 *
 * The ids in a token are looked up only after its seal was verified.
 */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "host/calls/call.h"
#include "host/host.h"
#include "host/sessions/token.h"
#include "host/volumes/volume.h"

#define PREFIX_LEN 3u
#define KEY_PREFIX "key_"
#define KEY_PREFIX_LEN 4u
#define NAME_LEN 26u /* of an id, after its prefix */
#define SCOPES_LEN 2u
#define SEAL_LEN 43u
#define KEY_AT (PREFIX_LEN + NAME_LEN)
#define SCOPES_AT (KEY_AT + NAME_LEN)
#define TOKEN_LEN (SCOPES_AT + SCOPES_LEN + SEAL_LEN)
#define VOLUME_SCOPES ((uint32_t)(FRONT_SCOPE_FILES | FRONT_SCOPE_READ))
#define TOKEN_SCOPES                                                                               \
	((uint32_t)(FRONT_SCOPE_SESSIONS | FRONT_SCOPE_EXECUTE | FRONT_SCOPE_FILES |               \
		    FRONT_SCOPE_READ))

/* The kinds of tokens. */
static const struct kind {
	const char *prefix, *id_prefix;
	const char *sealed; /* domain, the first part of the sealed text */
	uint32_t scopes;    /* the maximum */
} of_session = { "st_", "se_", "session token 2", TOKEN_SCOPES },
  of_volume = { "vt_", "vol_", "volume token 1", VOLUME_SCOPES };

/* `id` and `key` are full ids. */
static void make(const struct host *host, const struct kind *kind, const char *id, const char *key,
		 uint32_t scopes, char ret[TOKEN_SIZE])
{
	char text[128];
	unsigned char seal[32];
	int len;

	(void)snprintf(text, sizeof(text), "%s: %s %s %02x", kind->sealed, id, key,
		       scopes & 0xffu);
	(void)crypto_generichash(seal, sizeof(seal), (const unsigned char *)text, strlen(text),
				 host->tenants.key_secret, sizeof(host->tenants.key_secret));
	len = snprintf(ret, TOKEN_SIZE, "%s%.26s%.26s%02x", kind->prefix,
		       id + strlen(kind->id_prefix), key + KEY_PREFIX_LEN, scopes & 0xffu);
	(void)sodium_bin2base64(ret + len, TOKEN_SIZE - (size_t)len, seal, sizeof(seal),
				sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

static bool is_of_volume(const char *text)
{
	return memcmp(text, of_volume.prefix, PREFIX_LEN) == 0;
}

bool token_looks(const char *text, size_t len)
{
	return len == TOKEN_LEN &&
	       (is_of_volume(text) || memcmp(text, of_session.prefix, PREFIX_LEN) == 0);
}

/* The tenant of the session or volume, if it exists; otherwise NULL. */
static struct tenant *tenant_of(const struct host *host, const struct kind *kind, const char *id,
				const struct key *maker)
{
	const struct session *session;

	if (kind == &of_volume)
		return volume_find(host, maker->tenant, id) != NULL ? maker->tenant : NULL;
	session = session_by_id((struct host *)(uintptr_t)host, id);
	return session != NULL && !life_is_closing(session->life) ? session->tenant : NULL;
}

int token_judge(struct host *host, const char *text, struct key *ret)
{
	const struct kind *kind = is_of_volume(text) ? &of_volume : &of_session;
	const int high = text_hex_digit(text[SCOPES_AT]);
	const int low = text_hex_digit(text[SCOPES_AT + 1]);
	char id[ID_SIZE], maker[ID_SIZE], ours[TOKEN_SIZE];
	struct tenant *tenant;
	const struct key *key;

	if (high < 0 || low < 0)
		return API_ERR_UNAUTHORIZED;
	(void)snprintf(id, sizeof(id), "%s%.26s", kind->id_prefix, text + PREFIX_LEN);
	(void)snprintf(maker, sizeof(maker), KEY_PREFIX "%.26s", text + KEY_AT);
	make(host, kind, id, maker, (uint32_t)(high * 16 + low), ours);
	if (sodium_memcmp(ours, text, TOKEN_LEN) != 0)
		return API_ERR_UNAUTHORIZED;
	key = key_find(host, maker);
	if (key == NULL)
		return API_ERR_UNAUTHORIZED;
	if (key_is_expired(host, key))
		return API_ERR_KEY_EXPIRED;
	tenant = tenant_of(host, kind, id, key);
	if (tenant == NULL)
		return kind == &of_volume ? API_ERR_NOT_FOUND : API_ERR_SESSION_CLOSED;
	*ret = (struct key){ .tenant = tenant };
	ret->row.scopes = (uint32_t)(high * 16 + low) & kind->scopes;
	(void)snprintf(ret->row.id, sizeof(ret->row.id), "%s", id);
	return 0;
}

void session_token_gone(struct host *host, uint64_t request, const char *text)
{
	char id[ID_SIZE], message[DB_WHY_SIZE + 96];
	struct db_session row;
	struct err err;

	(void)snprintf(id, sizeof(id), "%s%.26s", of_session.id_prefix, text + PREFIX_LEN);
	if (db_session_find(host->db, NULL, id, &row, &err) != 1) {
		front_fail(host, request, API_ERR_SESSION_NOT_FOUND,
			  "the session of this token is older than what is kept", "",
			  "create a new session", 0);
		return;
	}
	(void)snprintf(message, sizeof(message), "the session of this token is %s: %s",
		       strcmp(row.state, "live") == 0 ? "closing" : row.state, row.why);
	front_fail(host, request,
		  strcmp(row.state, "expired") == 0 ? API_ERR_SESSION_EXPIRED
		  : strcmp(row.state, "lost") == 0  ? API_ERR_SESSION_LOST
						    : API_ERR_SESSION_CLOSED,
		  message, "", "create a new session", 0);
	db_session_done(&row);
}

/* The volume that a call is about, if a volume token may make this call; otherwise NULL. */
static const char *volume_of(const struct request *req)
{
	switch (req->call - api_calls) {
	case API_VOLUME_SHOW:
		return ((const struct api_volume_show_in *)req->in)->volume;
	case API_VOLUME_ENTRIES:
		return ((const struct api_volume_entries_in *)req->in)->volume;
	case API_VOLUME_STAT:
		return ((const struct api_volume_stat_in *)req->in)->volume;
	case API_VOLUME_MKDIR:
		return ((const struct api_volume_mkdir_in *)req->in)->volume;
	case API_VOLUME_CHANGE:
		return ((const struct api_volume_change_in *)req->in)->volume;
	case API_VOLUME_REMOVE:
		return ((const struct api_volume_remove_in *)req->in)->volume;
	case API_VOLUME_GET:
		return ((const struct api_volume_get_in *)req->in)->volume;
	case API_VOLUME_PUT:
		return ((const struct api_volume_put_in *)req->in)->volume;
	default:
		return NULL;
	}
}

bool token_may(const struct request *req)
{
	const uint16_t offset = req->call->session_offset;
	const char *id;

	if (req->call->scope == API_SCOPE_ANY)
		return true;
	if (strncmp(req->key->row.id, of_volume.id_prefix, strlen(of_volume.id_prefix)) == 0) {
		id = volume_of(req);
		return id != NULL && strcmp(id, req->key->row.id) == 0;
	}
	if (offset == API_NO_OFFSET || req->call == &api_calls[API_SESSION_TOKEN])
		return false;
	id = *(const char *const *)((const char *)req->in + offset);
	return id != NULL && strcmp(id, req->key->row.id) == 0;
}

/* The scopes of a token that this key makes for a session. */
static uint32_t scopes_of(const struct host *host, const struct key *key)
{
	return host->config.is_private ? TOKEN_SCOPES : key->row.scopes & TOKEN_SCOPES;
}

void handle_session_token(struct host *host, const struct request *req,
			  const struct api_session_token_in *in)
{
	const struct session *session = answer_session_named(host, req, in->session, false);
	char token[TOKEN_SIZE];

	if (session == NULL)
		return;
	make(host, &of_session, session->row.id, req->key->row.id, scopes_of(host, req->key),
	     token);
	reply_session_token(host, req->id, &(struct api_session_token_out){ .token = token });
}

void volume_token_make(const struct host *host, const char *volume, const struct key *key,
		       char ret[TOKEN_SIZE])
{
	make(host, &of_volume, volume, key->row.id, scopes_of(host, key) & VOLUME_SCOPES, ret);
}

/* ---- signatures ----------------------------------------------------------------------------- */

/* Remembers which token made a signature, so that the same URL needs no search the next time. */
struct found {
	unsigned char digest[crypto_hash_sha256_BYTES];
	char session[ID_SIZE], key[ID_SIZE];
};
#define FOUND_COUNT 1024u /* a power of two */

static struct found *found_at(const unsigned char *digest)
{
	static struct found table[FOUND_COUNT];

	return &table[(digest[0] | (unsigned)digest[1] << 8) & (FOUND_COUNT - 1)];
}

struct signature {
	const struct api_session_signed_in *in;
	crypto_hash_sha256_state before; /* the hash of the part before the token */
};

/* Whether the SHA-256 of before, token and after equals the presented digest. */
static bool is_signed(const struct signature *signature, const char *token)
{
	const struct api_session_signed_in *in = signature->in;
	crypto_hash_sha256_state state = signature->before;
	unsigned char sum[crypto_hash_sha256_BYTES];

	(void)crypto_hash_sha256_update(&state, (const unsigned char *)token, strlen(token));
	(void)crypto_hash_sha256_update(&state, (const unsigned char *)in->after,
					strlen(in->after));
	(void)crypto_hash_sha256_final(&state, sum);
	return sodium_memcmp(sum, in->digest.data, sizeof(sum)) == 0;
}

static bool is_by(struct host *host, const struct session *session, const struct key *key,
		  const struct signature *signature, char ret[TOKEN_SIZE])
{
	if (session->row.id[0] == '\0' || life_is_closing(session->life) ||
	    key->tenant != session->tenant || key_is_expired(host, key))
		return false;
	make(host, &of_session, session->row.id, key->row.id, scopes_of(host, key), ret);
	return is_signed(signature, ret);
}

/* Finds the key whose token for this session made the signature, and returns the token. */
static bool is_of(struct host *host, const struct session *session,
		  const struct signature *signature, char ret[TOKEN_SIZE])
{
	struct found *found = found_at((const unsigned char *)signature->in->digest.data);

	for (const struct key *key = key_newest(host); key != NULL; key = key->next) {
		if (!is_by(host, session, key, signature, ret))
			continue;
		memcpy(found->digest, signature->in->digest.data, sizeof(found->digest));
		memcpy(found->session, session->row.id, sizeof(found->session));
		memcpy(found->key, key->row.id, sizeof(found->key));
		return true;
	}
	return false;
}

/* NULL: the signature is from no live session. */
static const struct session *find_signed(struct host *host, const struct signature *signature,
					 char ret[TOKEN_SIZE])
{
	const struct api_session_signed_in *in = signature->in;
	const struct found *found = found_at((const unsigned char *)in->digest.data);
	const struct session *session =
		in->of != NULL && in->of[0] != '\0' ? session_by_id(host, in->of) : NULL;
	const struct key *key;

	if (in->of != NULL && in->of[0] != '\0')
		return session != NULL && is_of(host, session, signature, ret) ? session : NULL;
	if (memcmp(found->digest, in->digest.data, sizeof(found->digest)) == 0) {
		session = session_by_id(host, found->session);
		key = key_find(host, found->key);
		if (session != NULL && key != NULL && is_by(host, session, key, signature, ret))
			return session;
	}
	for (session = host->sessions.first; session != NULL; session = session->next)
		if (is_of(host, session, signature, ret))
			return session;
	return NULL;
}

void handle_session_signed(struct host *host, const struct request *req,
			   const struct api_session_signed_in *in)
{
	struct signature signature = { .in = in };
	const struct session *session = NULL;
	char token[TOKEN_SIZE];

	(void)crypto_hash_sha256_init(&signature.before);
	(void)crypto_hash_sha256_update(&signature.before, (const unsigned char *)in->before,
					strlen(in->before));
	if (in->digest.len == crypto_hash_sha256_BYTES)
		session = find_signed(host, &signature, token);
	if (session == NULL)
		front_fail(host, req->id, API_ERR_UNAUTHORIZED,
			  "the signature is of no live session", "", "", 0);
	else
		reply_session_signed(host, req->id,
				     &(struct api_session_signed_out){ .session = session->row.id,
								       .token = token });
}
