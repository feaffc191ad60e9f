/*
 * build_files.c - what a client asks about files, as fields of a frame.
 *
 * Runs in:  reckon-front.
 * Reads:    heads and bodies of anybody.
 * Never:    passes on what it did not check: types, names and bounds are judged here.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/api_files.h"
#include "front/front.h"

#define ETAGS_MAX 1024u

static int pack_header(const struct conn *conn, const char *name, enum front_tag tag,
		       struct buf *payload, struct err *err)
{
	const char *value = http_header(&conn->http, name);

	if (value == NULL)
		return 0;
	if (value[0] == '\0' || strlen(value) > ETAGS_MAX)
		return err_set(err, ERR_INVALID, "%s must have 1 to %u characters", name,
			       ETAGS_MAX);
	return front_pack_text(payload, tag, value, err);
}

/* The path of a query is a file's too: what is unsafe is refused where files are. */
static int pack_query_path(const struct query *query, struct buf *payload, struct err *err)
{
	return query->path[0] == '\0'
		       ? 0
		       : front_pack_text(payload, FRONT_TAG_PATH, query->path, err);
}

int build_file_list(struct conn *conn, const struct query *query, struct buf *payload,
		    struct err *err)
{
	if (build_in_session(conn, query, payload, err) < 0 ||
	    pack_query_path(query, payload, err) < 0)
		return (int)err->code;
	if (query->cursor[0] != '\0' &&
	    front_pack_text(payload, FRONT_TAG_TO_PATH, query->cursor, err) < 0)
		return (int)err->code;
	if (query->limit != 0 && front_pack_u64(payload, FRONT_TAG_LIMIT, query->limit, err) < 0)
		return (int)err->code;
	return front_pack_u64(payload, FRONT_TAG_RECURSIVE, query->recursive != QUERY_NO, err);
}

int build_file_put(struct conn *conn, const struct query *query, struct buf *payload,
		   struct err *err)
{
	if (build_upload(conn, query, payload, err) < 0 ||
	    pack_header(conn, "if-match", FRONT_TAG_IF_MATCH, payload, err) < 0)
		return (int)err->code;
	return pack_header(conn, "if-none-match", FRONT_TAG_IF_NONE, payload, err);
}

int build_file_delete(struct conn *conn, const struct query *query, struct buf *payload,
		      struct err *err)
{
	if (build_in_session(conn, query, payload, err) < 0 ||
	    pack_header(conn, "if-match", FRONT_TAG_IF_MATCH, payload, err) < 0)
		return (int)err->code;
	return front_pack_u64(payload, FRONT_TAG_RECURSIVE, query->recursive == QUERY_YES, err);
}

int build_archive_get(struct conn *conn, const struct query *query, struct buf *payload,
		      struct err *err)
{
	const char *format = query->format[0] != '\0' ? query->format : "tar.gz";

	conn->archive_type = download_archive_type(format);
	if (conn->archive_type == NULL)
		return err_set(err, ERR_INVALID, "format must be tar, tar.gz, tar.zst or zip");
	download_archive_name(conn, query->path, format);
	if (build_in_session(conn, query, payload, err) < 0 ||
	    pack_query_path(query, payload, err) < 0)
		return (int)err->code;
	return front_pack_text(payload, FRONT_TAG_FORMAT, format, err);
}

int build_archive_put(struct conn *conn, const struct query *query, struct buf *payload,
		      struct err *err)
{
	if (build_upload(conn, query, payload, err) < 0)
		return (int)err->code;
	return pack_query_path(query, payload, err);
}

int build_move(struct conn *conn, const struct query *query, struct buf *payload, struct err *err)
{
	__attribute__((cleanup(api_files_done))) struct api_files body;

	if (api_move_parse(buf_text(&conn->body), conn->body.len, &body, err) < 0 ||
	    build_in_session(conn, query, payload, err) < 0 ||
	    front_pack_text(payload, FRONT_TAG_PATH, body.path, err) < 0 ||
	    front_pack_text(payload, FRONT_TAG_TO_PATH, body.to, err) < 0)
		return (int)err->code;
	return body.overwrite ? front_pack(payload, FRONT_TAG_OVERWRITE, "", 0, err) : 0;
}

int build_mkdir(struct conn *conn, const struct query *query, struct buf *payload, struct err *err)
{
	__attribute__((cleanup(api_files_done))) struct api_files body;

	if (api_mkdir_parse(buf_text(&conn->body), conn->body.len, &body, err) < 0 ||
	    build_in_session(conn, query, payload, err) < 0)
		return (int)err->code;
	return front_pack_text(payload, FRONT_TAG_PATH, body.path, err);
}

/* ---- what is kept, links, templates --------------------------------------------------------- */

static int pack_what(struct conn *conn, const struct query *query, enum front_kept what,
		     struct buf *payload, struct err *err)
{
	if (build_list(conn, query, payload, err) < 0)
		return (int)err->code;
	return front_pack_u64(payload, FRONT_TAG_WHAT, what, err);
}

int build_artifacts(struct conn *conn, const struct query *query, struct buf *payload,
		    struct err *err)
{
	return pack_what(conn, query, FRONT_KEPT_ARTIFACTS, payload, err);
}

int build_receipts(struct conn *conn, const struct query *query, struct buf *payload,
		   struct err *err)
{
	return pack_what(conn, query, FRONT_KEPT_RECEIPTS, payload, err);
}

int build_links(struct conn *conn, const struct query *query, struct buf *payload, struct err *err)
{
	return pack_what(conn, query, FRONT_KEPT_LINKS, payload, err);
}

int build_link(struct conn *conn, const struct query *query, struct buf *payload, struct err *err)
{
	__attribute__((cleanup(api_files_done))) struct api_files body;

	if (api_link_parse(buf_text(&conn->body), conn->body.len, &body, err) < 0 ||
	    build_in_session(conn, query, payload, err) < 0 ||
	    (body.path != NULL && front_pack_text(payload, FRONT_TAG_PATH, body.path, err) < 0) ||
	    (body.artifact != NULL &&
	     front_pack_text(payload, FRONT_TAG_ARTIFACT, body.artifact, err) < 0) ||
	    front_pack_u64(payload, FRONT_TAG_EXPIRES_S, body.expires_s, err) < 0)
		return (int)err->code;
	return body.max_downloads == 0 ? 0
				       : front_pack_u64(payload, FRONT_TAG_MAX_DOWNLOADS,
							body.max_downloads, err);
}

/* Without a key: the token is one. */
int build_follow(struct conn *conn, const struct query *query, struct buf *payload,
		 struct err *err)
{
	(void)query;
	if (front_pack_text(payload, FRONT_TAG_TOKEN, conn->target.word, err) < 0)
		return (int)err->code;
	return conn->is_head ? front_pack(payload, FRONT_TAG_HEAD_ONLY, "", 0, err) : 0;
}
