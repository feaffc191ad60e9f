/*
 * paths.c - maps paths of templates to handlers.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    paths from clients.
 * Never:    is called by another file of this folder: handlers do not depend on it.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/template/template.h"

#define ANSWER_MAX 4096u

static void alias(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct e2b_origin origin;
	struct json_writer json;

	if (e2b_origin_of(e2b, e2b->part[2], &origin) < 0)
		return;
	if (origin.snapshot != NULL &&
	    call_or_refuse(e2b->request, API_SNAPSHOT_SHOW,
			   &(struct api_snapshot_show_in){ .snapshot = origin.snapshot }, NULL,
			   &call) < 0)
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "templateID", e2b->part[2]);
	json_write_member_bool(&json, "public", false);
	json_write_object_end(&json);
	e2b_answer_json(e2b, 200, &json, NULL);
}

/* Refuses to build images: templates of Dockerfiles, as E2B's older command line tool requests. */
static void build_image(struct e2b *e2b)
{
	e2b_refuse(e2b, 501, "this server builds no images: a template is built by steps "
			     "(Template.build, also of Template().fromDockerfile()), or with "
			     "`reckon template build`");
}

static void refuse_change(struct e2b *e2b)
{
	e2b_refuse(e2b, 501, "a template is its tenant's alone: there is nothing to change");
}

void e2b_templates(struct e2b *e2b)
{
	static const struct e2b_route routes[] = {
		{ HTTP_VERB_POST, "templates/tags", template_tags_assign },
		{ HTTP_VERB_DELETE, "templates/tags", template_tags_remove },
		{ HTTP_VERB_GET, "templates/aliases/*", alias },
		{ HTTP_VERB_GET, "templates/*/tags", template_tags_list },
		{ HTTP_VERB_GET, "templates/*/files/*", template_link },
		{ HTTP_VERB_PUT, "templates/*/files/*", template_upload },
		{ HTTP_VERB_GET, "templates/*/builds/*/status", template_status },
		{ HTTP_VERB_GET, "templates/*/builds/*/logs", template_status },
		{ HTTP_VERB_POST, "templates/*/builds/*", template_start },
		{ HTTP_VERB_GET, "templates", template_list },
		{ HTTP_VERB_POST, "templates", template_request },
		{ HTTP_VERB_GET, "templates/*", template_show },
		{ HTTP_VERB_PATCH, "templates/*", refuse_change },
		{ HTTP_VERB_POST, "templates/*", build_image },
		{ HTTP_VERB_DELETE, "templates/*", template_remove },
	};

	/* In older versions of the API templates and their builds were images. */
	if (request_head(e2b->request)->verb == HTTP_VERB_POST &&
	    ((e2b->part_count == 1 && e2b->version != 3) ||
	     (e2b->part_count == 4 && e2b->version != 2 && strcmp(e2b->part[2], "builds") == 0)))
		build_image(e2b);
	else
		e2b_route(e2b, routes, ARRAY_LEN(routes));
}
