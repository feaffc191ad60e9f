/*
 * build_run.c - a question to a model, as fields of a frame; what its run looks like.
 *
 * Runs in:  reckon-front.
 * Reads:    bodies of anybody.
 * Never:    sees a key of a model's provider.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "codec/api_run.h"
#include "front/front.h"

/* Fields in a field: (PATH [BODY])*. */
static int pack_files(const struct api_run *body, struct buf *payload, struct err *err)
{
	cleanup_buf struct buf files = BUF_INIT(FRONT_RUN_FILES_MAX);

	for (size_t i = 0; i < body->file_count; i++) {
		const struct api_run_file *file = &body->files[i];

		if (front_pack_text(&files, FRONT_TAG_PATH, file->path, err) < 0 ||
		    (file->has_content && front_pack(&files, FRONT_TAG_BODY,
						     api_run_content(body, file), file->len,
						     err) < 0))
			return err_set(err, ERR_INVALID, "files: too much for one request");
	}
	return files.len > 0 ? front_pack(payload, FRONT_TAG_RUN_FILES, files.data, files.len, err)
			     : 0;
}

static int pack_names(const struct api_run *body, struct buf *payload, struct err *err)
{
	/* What no id can be is one that does not exist. */
	const char *session = body->session != NULL && strlen(body->session) > FRONT_ID_MAX
				      ? "-"
				      : body->session;
	const struct {
		enum front_tag tag;
		const char *text;
	} names[] = {
		{ FRONT_TAG_SESSION, session },
		{ FRONT_TAG_MODEL, body->model },
		{ FRONT_TAG_TEMPLATE, body->template_name },
		{ FRONT_TAG_LANGUAGE, body->language },
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].text != NULL &&
		    front_pack_text(payload, names[i].tag, names[i].text, err) < 0)
			return (int)err->code;
	return 0;
}

static int pack_flags(const struct conn *conn, const struct api_run *body, struct buf *payload,
		      struct err *err)
{
	if (body->keep && front_pack(payload, FRONT_TAG_KEEP, "", 0, err) < 0)
		return (int)err->code;
	if (conn->wants_events && front_pack(payload, FRONT_TAG_FOLLOWED, "", 0, err) < 0)
		return (int)err->code;
	if (body->background || conn->wants_events)
		return front_pack(payload, FRONT_TAG_BACKGROUND, "", 0, err);
	return 0;
}

int build_run(struct conn *conn, const struct query *query, struct buf *payload, struct err *err)
{
	__attribute__((cleanup(api_run_done))) struct api_run body;
	const char *accept = http_header(&conn->http, "accept");
	struct front_run_limits limits;

	(void)query;
	if (api_run_parse(buf_text(&conn->body), conn->body.len, &body, err) < 0)
		return (int)err->code;
	limits = (struct front_run_limits){ body.steps, body.tokens, body.budget_micro,
					    body.wall_ms };
	conn->wants_events = body.stream || (!body.background && accept != NULL &&
					     strcasecmp(accept, "text/event-stream") == 0);
	/* What nobody may be waiting for any more is not worth what a model costs. */
	conn->ends_at_eof = !body.background && body.leave.policy != API_LEAVE_CONTINUE;
	if (build_key(conn, payload, err) < 0 || build_leave(&body.leave, payload, err) < 0 ||
	    build_idempotency(conn, payload, err) < 0 ||
	    front_pack(payload, FRONT_TAG_QUESTION, body.question, body.question_len, err) < 0 ||
	    pack_names(&body, payload, err) < 0 || pack_files(&body, payload, err) < 0)
		return (int)err->code;
	if (body.has_limits &&
	    front_pack(payload, FRONT_TAG_RUN_LIMITS, &limits, sizeof(limits), err) < 0)
		return (int)err->code;
	return pack_flags(conn, &body, payload, err);
}

int build_run_events(struct conn *conn, const struct query *query, struct buf *payload,
		     struct err *err)
{
	conn->follows_run = true;
	return build_events(conn, query, payload, err);
}

int shape_run(const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	shape_member(&json, "id", items, count, FRONT_TAG_RUN);
	shape_member_or_null(&json, "session", items, count, FRONT_TAG_SESSION);
	shape_member(&json, "model", items, count, FRONT_TAG_MODEL);
	shape_member(&json, "status", items, count, FRONT_TAG_STATUS);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

/* A run that was begun, and whose answer was not waited for. */
void take_run(struct conn *conn, const struct kernel_item *items, size_t count)
{
	cleanup_buf struct buf json = BUF_INIT(FRONT_INLINE_MAX);
	char id[FRONT_ID_MAX + 1] = "";
	struct err err;

	(void)front_text(items, count, FRONT_TAG_RUN, id, sizeof(id));
	if (conn->wants_events)
		stream_begin_run(conn, id);
	else if (shape_run(items, count, &json, &err) < 0)
		reply_err(conn, 500, &err);
	else
		reply_json(conn, 202, &json);
}
