/*
 * link.c - links that need no key: create, revoke, download.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked calls; tokens from anybody.
 * Never:    looks anything up for a token that it did not make.
 *
 * A token is the link's id and a keyed hash of it, whose secret only the database has. It proves
 * that the link was made here. Target and expiry are in the link's row, so that downloads can be
 * counted and the link can be revoked.
 */
#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/calls/call.h"
#include "host/db/tables/files.h"
#include "host/host.h"
#include "host/sessions/gone.h"
#include "host/calls/link.h"
#include "host/tenants/usage.h"

#define MAC_TEXT 43 /* 32 bytes as base64 without padding */
#define ID_TEXT 29
#define TOKEN_SIZE (ID_TEXT + MAC_TEXT + 1)
#define EXPIRES_S_DEFAULT 3600u

static int make_token(struct host *host, const char *id, char ret[TOKEN_SIZE], struct err *err)
{
	unsigned char secret[32], mac[32];

	if (strlen(id) != ID_TEXT)
		return err_set(err, ERR_INVALID, "not the id of a link");
	if (db_secret(host->db, DB_SECRET_LINK, secret, err) < 0)
		return (int)err->code;
	(void)crypto_generichash(mac, sizeof(mac), (const unsigned char *)id, ID_TEXT, secret,
				 sizeof(secret));
	sodium_memzero(secret, sizeof(secret));
	memcpy(ret, id, ID_TEXT);
	(void)sodium_bin2base64(ret + ID_TEXT, MAC_TEXT + 1, mac, sizeof(mac),
				sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	return 0;
}

/* Whether we made the token; compares in constant time. */
static bool is_our_token(struct host *host, const char *token, char ret_id[ID_SIZE])
{
	char ours[TOKEN_SIZE];
	struct err ignored;

	if (strlen(token) != TOKEN_SIZE - 1)
		return false;
	(void)snprintf(ret_id, ID_SIZE, "%.*s", ID_TEXT, token);
	return make_token(host, ret_id, ours, &ignored) == 0 &&
	       sodium_memcmp(ours, token, TOKEN_SIZE) == 0;
}

bool link_is_of_port(const struct db_link *link)
{
	return link->path[0] == '\0' && link->artifact[0] == '\0';
}

/* ---- create --------------------------------------------------------------------------------- */

static void take_name(struct db_link *link, const char *path)
{
	const char *slash = strrchr(path, '/');

	(void)snprintf(link->name, sizeof(link->name), "%.255s", slash != NULL ? slash + 1 : path);
}

/* Reads the target of the link; false: answered with an error. */
static bool take_what(struct host *host, const struct request *req,
		      const struct api_link_create_in *in, struct db_link *link)
{
	char path[4097] = "";
	struct err err;
	int found;

	if (in->path != NULL) {
		(void)snprintf(link->path, sizeof(link->path), "%s", in->path);
		take_name(link, link->path);
		/* Only files of a live session can be downloaded. */
		return answer_session_named(host, req, in->session, false) != NULL;
	}
	if (in->has_port) {
		(void)snprintf(link->name, sizeof(link->name), "%u", (unsigned)in->port);
		/*
		 * A client of the port sees and controls a program, so this needs the scope
		 * `execute`.
		 */
		return answer_check_scope(host, req, API_SCOPE_EXECUTE) &&
		       answer_session_named(host, req, in->session, false) != NULL;
	}
	if (in->artifact == NULL) {
		front_fail(host, req->id, API_ERR_INVALID, "path, artifact or port is missing", "",
			  "", 0);
		return false;
	}
	(void)snprintf(link->artifact, sizeof(link->artifact), "%s", in->artifact);
	found = db_artifact_find(host->db, link->session, link->artifact, path, sizeof(path), &err);
	if (found == 1)
		take_name(link, path[0] != '\0' ? path : link->artifact);
	else if (found == 0)
		front_fail(host, req->id, API_ERR_NOT_FOUND,
			  "this session has no such artifact", "",
			  "list them: GET /reckon/v1/sessions/ID/artifacts", 0);
	else
		front_fail_err(host, req->id, &err);
	return found == 1;
}

static int add_audited(struct host *host, const struct db_link *link, struct err *err)
{
	int code;

	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = db_link_add(host->db, link, err);
	if (code >= 0)
		code = audit_add(host, "link.create", link->id, "ok", err, "session=%s name=%s",
				 link->session, link->name);
	return audit_commit(host, code, err);
}

/* The url contains the token, which is not shown again. */
static int write_url(const char *token, const char *name, struct buf *ret, struct err *err)
{
	if (buf_addf(ret, err, "/reckon/v1/links/%s/", token) < 0)
		return (int)err->code;
	for (; *name != '\0'; name++) {
		const unsigned char byte = (unsigned char)*name;
		const bool is_plain = (byte >= '0' && byte <= '9') ||
				      (byte >= 'A' && byte <= 'Z') ||
				      (byte >= 'a' && byte <= 'z') || strchr("-_~.", byte) != NULL;

		if ((is_plain ? buf_addc(ret, (char)byte, err)
			      : buf_addf(ret, err, "%%%02X", byte)) < 0)
			return (int)err->code;
	}
	return 0;
}

/*
 * The url of a page that redirects to the host name of the port, which contains the session's
 * digits.
 */
static int write_port_url(const char *token, const struct db_link *link, struct buf *ret,
			  struct err *err)
{
	if (buf_addf(ret, err, "/reckon/v1/ports/%s-", link->name) < 0)
		return (int)err->code;
	for (const char *at = strchr(link->session, '_') + 1; *at != '\0'; at++)
		if (buf_addc(ret, (char)tolower((unsigned char)*at), err) < 0)
			return (int)err->code;
	return buf_addf(ret, err, "/%s/", token);
}

static int make_link(struct host *host, const struct request *req,
		     const struct api_link_create_in *in, struct db_link *link, struct buf *url,
		     struct err *err)
{
	const uint64_t lives_s = in->has_expires_in_s ? in->expires_in_s : EXPIRES_S_DEFAULT;
	char token[TOKEN_SIZE];

	link->expires = strict_now(&host->tenants.strict) / 1000 + lives_s;
	link->max_downloads = in->max_downloads;
	clock_rfc3339_now(link->created_at);
	(void)snprintf(link->tenant, sizeof(link->tenant), "%s", req->tenant->row.id);
	if (id_new(link->id, "lk", err) < 0 || make_token(host, link->id, token, err) < 0 ||
	    (link_is_of_port(link) ? write_port_url(token, link, url, err)
				   : write_url(token, link->name, url, err)) < 0)
		return (int)err->code;
	return add_audited(host, link, err);
}

void handle_link_create(struct host *host, const struct request *req,
			const struct api_link_create_in *in)
{
	cleanup_buf struct buf url = BUF_INIT(2048);
	struct db_link link = { 0 };
	struct err err;

	(void)snprintf(link.session, sizeof(link.session), "%s", in->session);
	if (!was_session_named(host, req, in->session) || !take_what(host, req, in, &link))
		return;
	if (make_link(host, req, in, &link, &url, &err) < 0)
		front_fail_err(host, req->id, &err);
	else
		reply_link_create(host, req->id,
				  &(struct api_link_created){ .id = link.id,
							      .name = link.name,
							      .expires_at_ms = link.expires * 1000,
							      .url = buf_text(&url) });
}

static int remove_audited(struct host *host, const char *session, const char *id, struct err *err)
{
	int code;

	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = db_link_remove(host->db, session, id, err);
	if (code == 1 && audit_add(host, "link.delete", id, "ok", err, "session=%s", session) < 0)
		code = (int)err->code;
	return audit_commit(host, code, err);
}

void handle_link_delete(struct host *host, const struct request *req,
			const struct api_link_delete_in *in)
{
	struct err err;
	int found;

	if (!was_session_named(host, req, in->session))
		return;
	found = remove_audited(host, in->session, in->link, &err);
	if (found == 1)
		reply_done(host, req->id);
	else if (found == 0)
		front_fail(host, req->id, API_ERR_NOT_FOUND, "this session has no such link", "",
			  "list them: GET /reckon/v1/sessions/ID/links", 0);
	else
		front_fail_err(host, req->id, &err);
}

/* ---- follow --------------------------------------------------------------------------------- */

static void gone(struct host *host, const struct request *req, const char *why)
{
	front_fail(host, req->id, API_ERR_LINK_GONE, why, "",
		  "ask whoever gave it to you for a new one", 0);
}

static void open_artifact(struct host *host, const struct request *req, const struct db_link *link,
			  struct tenant *tenant)
{
	cleanup_fd int fd = -1;
	struct api_download reply;
	reckon_file_info info;
	reckon_error error;
	uint64_t size;

	if (reckon_artifact_open(host->engine, link->artifact, &fd, &size, &error) < 0 ||
	    reckon_file_describe(fd, link->name, &info, &error) < 0) {
		front_fail_reckon(host, req->id, &error);
		return;
	}
	usage_add(host, tenant, &(struct front_usage){ .bytes_out = info.size });
	audit_note(host, "artifact.get", link->artifact, "ok", "session=%s", link->session);
	reply = file_tell(&info);
	reply.etag = link->artifact;
	reply.name = link->name;
	reply_download(host, req->id, &reply, TAKE_FD(fd));
}

static void open_file(struct host *host, const struct request *req, const struct db_link *link,
		      struct tenant *tenant)
{
	struct session *session = session_find(host, tenant, link->session);
	struct job *job;

	if (session == NULL || life_is_closing(session->life)) {
		session_tell_gone(host, tenant, req->id, link->session);
		return;
	}
	if (file_queue_is_full(session) || lifecycle_is_ending(&host->life)) {
		front_fail(host, req->id, API_ERR_BUSY, "too many requests wait for this session",
			  "", "ask again in a while", 1);
		return;
	}
	job = job_new(session, JOB_FILE_GET, req->id);
	job->path = mem_strdup(link->path);
	job->files.name = mem_strdup(link->name);
	file_queue_enqueue(session, job);
}

struct tenant *link_take(struct host *host, const struct request *req, const char *token,
			 struct db_link *ret)
{
	char id[ID_SIZE];
	struct tenant *tenant;
	struct err err;
	int found;

	if (!is_our_token(host, token, id)) {
		front_fail(host, req->id, API_ERR_DENIED, "this is not a link of this server", "",
			  "use the whole url, as it was given", 0);
		return NULL;
	}
	/* A client with a link has no key, so the audit names the link. */
	(void)snprintf(host->actor, sizeof(host->actor), "%s", id);
	found = db_link_find(host->db, id, ret, &err);
	if (found != 1) {
		if (found < 0)
			front_fail_err(host, req->id, &err);
		else
			gone(host, req, "the link was revoked");
		return NULL;
	}
	(void)snprintf(host->about.tenant, sizeof(host->about.tenant), "%s", ret->tenant);
	tenant = tenant_find(host, ret->tenant);
	if (tenant == NULL || strcmp(tenant->row.state, "active") != 0) {
		gone(host, req, "whoever made the link may not share any more");
		return NULL;
	}
	if (ret->expires <= strict_now(&host->tenants.strict) / 1000) {
		gone(host, req, "the link has expired");
		return NULL;
	}
	return tenant;
}

/* Counts a download; false: there are none left. */
static bool use(struct host *host, const struct db_link *link, bool head_only)
{
	struct err ignored;

	if (link->max_downloads != 0 && link->downloads >= link->max_downloads)
		return false;
	return head_only || db_link_use(host->db, link->id, &ignored) == 1;
}

void handle_link_get(struct host *host, const struct request *req,
		     const struct api_link_get_in *in)
{
	struct db_link link;
	struct tenant *tenant = link_take(host, req, in->token, &link);

	if (tenant == NULL)
		return;
	if (link_is_of_port(&link))
		front_fail(host, req->id, API_ERR_NOT_FOUND,
			   "this link leads to a port, not to a file", "",
			   "use the whole url, as it was given", 0);
	else if (!use(host, &link, in->head_only))
		gone(host, req, "the link was used as often as it may be");
	else if (link.artifact[0] != '\0')
		open_artifact(host, req, &link, tenant);
	else
		open_file(host, req, &link, tenant);
}
