/*
 * build_context.c - what a client asks of a session's kernels, as fields of a frame.
 *
 * Runs in:  reckon-front.
 * Reads:    heads and bodies of anybody.
 * Never:    passes on what it did not check: types, names and bounds are judged here.
 */
#include <string.h>

#include "base/cleanup.h"
#include "codec/api.h"
#include "front/front.h"

int build_context(struct conn *conn, const struct query *query, struct buf *payload,
		  struct err *err)
{
	__attribute__((cleanup(api_session_done))) struct api_session body;
	const char *env;

	if (api_context_parse(buf_text(&conn->body), conn->body.len, &body, err) < 0 ||
	    build_in_session(conn, query, payload, err) < 0)
		return (int)err->code;
	const struct {
		enum front_tag tag;
		const char *text;
	} texts[] = { { FRONT_TAG_TEMPLATE, body.template_name },
		      { FRONT_TAG_LANGUAGE, body.language },
		      { FRONT_TAG_CWD, body.cwd } };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i].text != NULL &&
		    front_pack_text(payload, texts[i].tag, texts[i].text, err) < 0)
			return (int)err->code;
	env = buf_text(&body.env);
	for (size_t i = 0; i < body.env_count; i++, env += strlen(env) + 1)
		if (front_pack_text(payload, FRONT_TAG_ENV, env, err) < 0)
			return (int)err->code;
	return 0;
}

/* The path's {id} names a context. */
int build_in_context(struct conn *conn, const struct query *query, struct buf *payload,
		     struct err *err)
{
	(void)query;
	if (build_key(conn, payload, err) < 0 ||
	    front_pack_text(payload, FRONT_TAG_SESSION, conn->target.session, err) < 0)
		return (int)err->code;
	return front_pack_text(payload, FRONT_TAG_CONTEXT, conn->target.id, err);
}

int build_of_kernel(struct conn *conn, const struct query *query, struct buf *payload,
		    struct err *err)
{
	__attribute__((cleanup(api_execute_done))) struct api_execute body;

	if (api_kernel_parse(buf_text(&conn->body), conn->body.len, &body, err) < 0 ||
	    build_in_session(conn, query, payload, err) < 0)
		return (int)err->code;
	return build_pack_context(body.context, payload, err);
}

/* ?context=&wait= */
int build_variables(struct conn *conn, const struct query *query, struct buf *payload,
		    struct err *err)
{
	if (build_in_session(conn, query, payload, err) < 0 ||
	    (query->wait == QUERY_NO &&
	     front_pack(payload, FRONT_TAG_NO_WAIT, "", 0, err) < 0))
		return (int)err->code;
	return build_pack_context(query->context[0] != '\0' ? query->context : NULL, payload, err);
}

int build_inspect(struct conn *conn, const struct query *query, struct buf *payload,
		  struct err *err)
{
	__attribute__((cleanup(api_execute_done))) struct api_execute body;

	if (api_inspect_parse(buf_text(&conn->body), conn->body.len, &body, err) < 0 ||
	    build_in_session(conn, query, payload, err) < 0 ||
	    front_pack(payload, FRONT_TAG_CODE, body.code, body.code_len, err) < 0 ||
	    front_pack_u64(payload, FRONT_TAG_CURSOR, body.cursor, err) < 0 ||
	    build_pack_context(body.context, payload, err) < 0)
		return (int)err->code;
	return body.detail ? front_pack(payload, FRONT_TAG_DETAIL, "", 0, err) : 0;
}

int build_pack_context(const char *context, struct buf *payload, struct err *err)
{
	/* What no id can be is one that does not exist. */
	if (context != NULL && (context[0] == '\0' || strlen(context) > FRONT_ID_MAX))
		context = "-";
	return context != NULL ? front_pack_text(payload, FRONT_TAG_CONTEXT, context, err) : 0;
}
