/*
 * files.c - /files: whole files, for clients with a token or a URL that was signed with one.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    queries from clients; file names that hostile programs chose.
 * Never:    lets a browser show a box's file as a page of this server: it is an attachment.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "codec/base64.h"
#include "dialects/e2b/envd/inside.h"

#define SIGNATURE_MAX 128u

/* Members of the query. */
struct query {
	char path[E2B_PATH_SIZE];
	char user[128];
	char signature[SIGNATURE_MAX];
	char expires[32];
};

static bool take_query(const struct e2b *e2b, struct query *ret)
{
	const char *query = request_head(e2b->request)->query;
	char name[64], value[E2B_PATH_SIZE];
	struct err ignored;
	int more;

	while ((more = http_query_next(&query, name, sizeof(name), value, sizeof(value),
				       &ignored)) > 0) {
		const struct {
			const char *name;
			char *to;
			size_t size;
		} known[] = { { "path", ret->path, sizeof(ret->path) },
			      { "username", ret->user, sizeof(ret->user) },
			      { "signature", ret->signature, sizeof(ret->signature) },
			      { "signature_expiration", ret->expires, sizeof(ret->expires) } };

		for (size_t i = 0; i < ARRAY_LEN(known); i++)
			if (strcmp(known[i].name, name) == 0) {
				if (strlen(value) >= known[i].size)
					return false;
				memcpy(known[i].to, value, strlen(value) + 1);
			}
	}
	return more == 0;
}

/* ---- signatures ----------------------------------------------------------------------------- */

static void refuse_signature(const struct e2b *e2b, const char *message)
{
	answer_refuse_simple(e2b->request, 401, "unauthorized", message, NULL);
}

/* Decodes "v1_" and base64 without padding. */
static int digest_of(const char *signature, struct buf *ret)
{
	char padded[SIGNATURE_MAX + 4];
	size_t len;
	struct err ignored;

	if (strncmp(signature, "v1_", 3) != 0)
		return -1;
	len = (size_t)snprintf(padded, sizeof(padded), "%s", signature + 3);
	while (len % 4 != 0 && len + 1 < sizeof(padded))
		padded[len++] = '=';
	padded[len] = '\0';
	return base64_decode(padded, len, ret, &ignored) < 0 || ret->len != 32 ? -1 : 0;
}

/* Checks the signature. The token that signed the URL becomes the key, and names the sandbox. */
static int take_signature(struct e2b *e2b, const struct query *query, const char *operation)
{
	cleanup_buf struct buf digest = BUF_INIT(64), before = BUF_INIT(8192);
	cleanup_call struct call call = CALL_INIT;
	struct api_session_signed_out out;
	char after[40] = "";
	struct err err;
	enum call_status status;

	if (query->signature[0] == '\0') {
		refuse_signature(e2b, "missing signature query parameter");
		return -1;
	}
	if (query->expires[0] != '\0')
		(void)snprintf(after, sizeof(after), ":%s", query->expires);
	if (digest_of(query->signature, &digest) < 0 ||
	    buf_addf(&before, &err, "%s:%s:%s:", query->path, operation, query->user) < 0) {
		refuse_signature(e2b, "invalid signature");
		return -1;
	}
	/* Without a sandbox reckond tries all sessions, so limit an address that guesses. */
	if (!request_may_present(e2b->request, query->signature)) {
		answer_refuse_simple(e2b->request, 429, "too_many_attempts",
				     "too many wrong signatures came from this address",
				     "use one that is right, or wait");
		return -1;
	}
	status = call_make(e2b->request, API_SESSION_SIGNED,
			   &(struct api_session_signed_in){ .before = before.data,
							    .after = after,
							    .digest = { digest.data, digest.len },
							    .of = e2b->target.sandbox[0] != '\0'
									  ? e2b->target.session
									  : NULL },
			   &out, &call);
	if (status != CALL_GONE)
		request_learn_key(e2b->request, query->signature, status == CALL_OK);
	if (status == CALL_FAILED)
		refuse_signature(e2b, "invalid signature");
	if (status != CALL_OK)
		return -1;
	if (query->expires[0] != '\0' &&
	    strtoll(query->expires, NULL, 10) < (long long)time(NULL)) {
		refuse_signature(e2b, "signature is already expired");
		return -1;
	}
	if (e2b->target.sandbox[0] != '\0' && strcmp(e2b->target.session, out.session) != 0) {
		refuse_signature(e2b, "invalid signature");
		return -1;
	}
	(void)snprintf(e2b->target.session, sizeof(e2b->target.session), "%.60s", out.session);
	request_use_key(e2b->request, out.token);
	return 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

static void add_name(const char *path, struct buf *ret, struct err *err)
{
	const char *slash = strrchr(path, '/');

	(void)buf_adds(ret, "Content-Disposition: attachment; filename*=UTF-8''", err);
	for (const char *at = slash != NULL ? slash + 1 : path; *at != '\0'; at++) {
		const unsigned char byte = (unsigned char)*at;

		if ((byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
		    (byte >= 'A' && byte <= 'Z') || byte == '.' || byte == '-' || byte == '_')
			(void)buf_addc(ret, *at, err);
		else
			(void)buf_addf(ret, err, "%%%02X", byte);
	}
	(void)buf_adds(ret, "\r\n", err);
}

static void add_headers(const struct e2b_path *path, struct buf *ret, struct err *err)
{
	(void)buf_adds(ret,
		       E2B_CORS "Vary: Accept-Encoding\r\n"
				"Content-Security-Policy: sandbox; default-src 'none'\r\n", err);
	add_name(path->whole, ret, err);
}

static void answer_bytes(const struct e2b *e2b, const struct e2b_path *path,
			 const struct api_download *file, int fd)
{
	const struct http *http = request_head(e2b->request);
	const bool is_packed = file->size > 0 && e2b_wants_gzip(http);
	const char *range = http_header(http, "range");
	uint64_t first = 0, length = file->size;
	cleanup_buf struct buf headers = BUF_INIT(16384);
	struct err err;
	int ranged = range != NULL ? http_range(range, file->size, &first, &length, &err) : 0;

	if (ranged < 0) {
		answer_refuse_simple(e2b->request, 416, "range", "there is nothing in this range",
				     NULL);
		return;
	}
	add_headers(path, &headers, &err);
	(void)buf_adds(&headers, is_packed ? "Content-Encoding: gzip\r\n"
					   : "Accept-Ranges: bytes\r\n", &err);
	if (ranged > 0)
		(void)buf_addf(&headers, &err,
			       "Content-Range: bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64 "\r\n",
			       first, first + length - 1, file->size);
	if (answer_begin(e2b->request, ranged > 0 ? 206 : 200,
			 file->mime != NULL && strcmp(file->mime, "text/javascript") != 0
				 ? file->mime
				 : "application/octet-stream",
			 is_packed ? HTTPD_LENGTH_UNKNOWN : length, buf_text(&headers)) < 0)
		return;
	if (is_packed)
		e2b_answer_gzip(e2b, fd, file->size);
	else if (answer_file(e2b->request, fd, first, length) == 0)
		answer_end(e2b->request);
}

/* Reads what reckond cannot: files outside the workspace, and behind links. */
static void read_inside(const struct e2b *e2b, const struct e2b_path *path)
{
	cleanup_buf struct buf headers = BUF_INIT(16384);
	struct err err;

	add_headers(path, &headers, &err);
	inside_read(e2b, path, buf_text(&headers));
}

static void read_file(struct e2b *e2b, const struct e2b_path *path)
{
	cleanup_call struct call call = CALL_INIT;
	char message[E2B_PATH_SIZE + 64];
	struct api_download file;
	enum call_status status;

	if (path->inside == NULL) {
		read_inside(e2b, path);
		return;
	}
	status = call_make(
		e2b->request, API_FILE_GET,
		&(struct api_file_get_in){ .session = e2b->target.session,
					   .path = path->inside[0] != '\0' ? path->inside : "." },
		&file, &call);
	if (status == CALL_OK && call.reply.fd >= 0) {
		answer_bytes(e2b, path, &file, call.reply.fd);
		return;
	}
	if (status != CALL_FAILED)
		return;
	if (call.failure->error == API_ERR_NOT_FOUND) {
		(void)snprintf(message, sizeof(message), "path '%s' does not exist", path->whole);
		e2b_refuse(e2b, 404, message);
	} else if (path->inside[0] == '\0') {
		(void)snprintf(message, sizeof(message), "path '%s' is a directory", path->whole);
		e2b_refuse(e2b, 400, message);
	} else if (call.failure->error == API_ERR_DENIED) {
		read_inside(e2b, path); /* a folder, or the path contains a link */
	} else {
		call_refuse(e2b->request, call.failure);
	}
}

bool e2b_is_user(const char *name)
{
	return name[0] == '\0' || strcmp(name, "user") == 0 || strcmp(name, "root") == 0;
}

void e2b_refuse_user(const struct e2b *e2b, const char *name)
{
	char message[256];

	(void)snprintf(message, sizeof(message),
		       "error looking up user '%.128s': user: unknown user", name);
	answer_refuse_simple(e2b->request, 401, "unauthorized", message, NULL);
}

void e2b_files(struct e2b *e2b)
{
	const enum http_verb verb = request_head(e2b->request)->verb;
	struct query *query = arena_new(e2b->arena, 1, sizeof(*query));
	struct e2b_path *path = arena_new(e2b->arena, 1, sizeof(*path));

	if (!take_query(e2b, query)) {
		e2b_refuse(e2b, 400, "the query is malformed");
		return;
	}
	if (http_header(request_head(e2b->request), "x-access-token") == NULL &&
	    take_signature(e2b, query, verb == HTTP_VERB_GET ? "read" : "write") < 0)
		return;
	if (!e2b_is_user(query->user)) {
		e2b_refuse_user(e2b, query->user);
		return;
	}
	if (verb == HTTP_VERB_POST)
		e2b_upload(e2b, query->path);
	else if (!e2b_path_of(query->path, path))
		e2b_refuse(e2b, 400, e2b_path_remedy);
	else
		read_file(e2b, path);
}
