/*
 * owner.c - owners of a storage session's files: a user of LibreChat, or a shared entity.
 *
 * Runs in:  reckon-front-librechat.
 * Reads:    ids of any client with the key; documents of the key's tenant.
 * Never:    trusts a token more than the key sent with it: LibreChat is responsible for its users.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "codec/base64.h"
#include "codec/json_get.h"
#include "dialects/librechat/librechat.h"

#define COLLECTION "librechat-owners"
#define RETENTION_MS ((uint64_t)90 * 24u * 3600u * 1000u)
#define TOKEN_MAX 8192u
#define VALUE_MAX 4096u

/* ---- the requester -------------------------------------------------------------------------- */

/* Refuses a long id: cut off, it could be another user's. */
static int take_id(struct request *request, const char *text, char ret[LIBRECHAT_OWNER_SIZE])
{
	if (strlen(text) >= LIBRECHAT_OWNER_SIZE) {
		answer_refuse_simple(request, 400, "invalid_request",
				     "ids of users and entities have at most 255 bytes", NULL);
		return -1;
	}
	if (text[0] != '\0')
		(void)snprintf(ret, LIBRECHAT_OWNER_SIZE, "%s", text);
	return 0;
}

/* Reads a JWT's claims: base64url without padding. */
static struct json_value *claims_of(const char *token)
{
	cleanup_buf struct buf text = BUF_INIT(TOKEN_MAX), bytes = BUF_INIT(TOKEN_MAX);
	const char *begin = strchr(token, '.');
	const size_t len = begin != NULL ? strcspn(begin + 1, ".") : 0;
	struct json_value *claims = NULL;
	struct err err;

	if (len == 0 || buf_add(&text, begin + 1, len, &err) < 0)
		return NULL;
	for (size_t i = 0; i < text.len; i++)
		text.data[i] = text.data[i] == '-' ? '+' : text.data[i] == '_' ? '/' : text.data[i];
	while (text.len % 4 != 0)
		if (buf_addc(&text, '=', &err) < 0)
			return NULL;
	if (base64_decode(text.data, text.len, &bytes, &err) == 0)
		(void)json_read_parse(buf_text(&bytes), bytes.len, TOKEN_MAX, &claims, &err);
	return claims;
}

/* Reads `sub` of the token that LibreChat creates for each user. */
static int take_token(struct request *request, struct librechat_owner *ret)
{
	const char *header = http_header(request_head(request), "authorization");
	struct json_value *claims;
	int code;

	if (header == NULL || strncasecmp(header, "bearer ", 7) != 0)
		return 0;
	claims = claims_of(header + 7);
	code = take_id(request, json_get_str(claims, "sub"), ret->user);
	json_read_free(claims);
	return code;
}

static int take_query(struct request *request, struct librechat_owner *ret)
{
	const char *query = request_head(request)->query;
	char name[64], value[512], kind[16] = "", id[sizeof(value)] = "";
	struct err err;
	int more;

	while ((more = http_query_next(&query, name, sizeof(name), value, sizeof(value), &err)) ==
	       1) {
		if (strcmp(name, "entity_id") == 0 && take_id(request, value, ret->entity) < 0)
			return -1;
		if (strcmp(name, "kind") == 0)
			(void)snprintf(kind, sizeof(kind), "%.15s", value);
		if (strcmp(name, "id") == 0)
			(void)snprintf(id, sizeof(id), "%s", value);
	}
	/* Refuse a malformed query: ignoring the rest could lose the owner. */
	if (more != 0) {
		answer_refuse_simple(request, 400, "invalid_request", "the query is malformed, or a "
				     "value in it is longer than 511 bytes", NULL);
		return -1;
	}
	return librechat_is_shared(kind) ? take_id(request, id, ret->entity) : 0;
}

bool librechat_is_shared(const char *kind)
{
	return strcmp(kind, "agent") == 0 || strcmp(kind, "skill") == 0;
}

int librechat_who(struct request *request, const struct json_value *body,
		  struct librechat_owner *ret)
{
	const char *header = http_header(request_head(request), "user-id");

	*ret = (struct librechat_owner){ 0 };
	if (take_id(request, json_get_str(body, "user_id"), ret->user) < 0 ||
	    take_id(request, header != NULL ? header : "", ret->user) < 0 ||
	    take_token(request, ret) < 0 || take_query(request, ret) < 0)
		return -1;
	return take_id(request, json_get_str(body, "entity_id"), ret->entity);
}

/* ---- stored owners -------------------------------------------------------------------------- */

int librechat_own(struct request *request, const char *session, const char *user,
		  const char *entity)
{
	cleanup_buf struct buf value = BUF_INIT(VALUE_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct json_writer json;
	struct err err;

	if (user[0] == '\0')
		return 0;
	json_write_init(&json, &value);
	json_write_object_begin(&json);
	json_write_member_string(&json, "user", user);
	json_write_member_string(&json, "entity", entity);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0) {
		answer_refuse_simple(request, 400, "invalid_request", err.text, NULL);
		return -1;
	}
	return call_or_refuse(request, API_DOCUMENT_PUT,
			      &(struct api_document_put_in){ .collection = COLLECTION,
							     .id = session,
							     .value = { value.data, value.len },
							     .has_expires_in_ms = true,
							     .expires_in_ms = RETENTION_MS },
			      NULL, &call);
}

static bool is_theirs(const struct json_value *owner, const struct librechat_owner *who,
		      const char *entity)
{
	return strcmp(json_get_str(owner, "user"), who->user) == 0 ||
	       (entity[0] != '\0' && strcmp(json_get_str(owner, "entity"), entity) == 0);
}

int librechat_may_use(struct request *request, const char *session,
		      const struct librechat_owner *who, const char *entity)
{
	cleanup_call struct call call = CALL_INIT;
	struct json_value *owner = NULL;
	struct api_document document;
	enum call_status status;
	char ours[OURS_SIZE];
	struct err err;
	int may;

	if (who->user[0] == '\0' || !librechat_session_of(session, ours))
		return 1;
	status = call_make(request, API_DOCUMENT_GET,
			   &(struct api_document_get_in){ .collection = COLLECTION, .id = ours },
			   &document, &call);
	if (status == CALL_FAILED && call.failure->error == API_ERR_NOT_FOUND)
		return 1; /* no owner is stored */
	if (status == CALL_FAILED)
		call_refuse(request, call.failure);
	if (status != CALL_OK ||
	    json_read_parse(document.value.data, document.value.len, VALUE_MAX, &owner, &err) < 0)
		return status != CALL_OK ? -1 : 0;
	may = is_theirs(owner, who, entity != NULL ? entity : who->entity);
	json_read_free(owner);
	return may;
}
