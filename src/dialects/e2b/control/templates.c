/*
 * templates.c - what a sandbox starts from: E2B's well-known names stand for the server's
 * templates.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    names from clients; templates and snapshots from reckond.
 * Never:    builds a template: template/ does, and `reckon template build` those of the server.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/template/template.h"

#define NAME_MAX_BYTES 63u

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names != NULL && strcmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

/* 1: the template exists; 0: it does not; negative: the client disconnected, or got an error. */
static int is_built(const struct e2b *e2b, const char *name)
{
	cleanup_call struct call call = CALL_INIT;
	const enum call_status status =
		call_make(e2b->request, API_TEMPLATE_SHOW,
			  &(struct api_template_show_in){ .template = name }, NULL, &call);

	if (status == CALL_OK)
		return 1;
	if (status == CALL_FAILED && call.failure->error == API_ERR_NOT_FOUND)
		return 0;
	/* A key without `read` may still create sessions; it gets the default template. */
	if (status == CALL_FAILED && call.failure->error == API_ERR_SCOPE)
		return 0;
	if (status == CALL_FAILED)
		call_refuse(e2b->request, call.failure);
	return -1;
}

/* The name without its namespace and tag. */
static const char *bare(const struct e2b *e2b, const char *name)
{
	const char *slash = strrchr(name, '/');

	name = slash != NULL ? slash + 1 : name;
	return arena_text(e2b->arena, name, strcspn(name, ":@"));
}

int e2b_native_of(const struct e2b *e2b, const char *wanted, struct e2b_origin *ret)
{
	static const char *const plain[] = { "base", "default", NULL };
	static const char *const interpreters[] = { "code-interpreter-v1",
						    "code-interpreter-stateful", "code-interpreter",
						    NULL };
	const char *name = bare(e2b, wanted);
	int built;

	*ret = (struct e2b_origin){ 0 };
	if (is_one_of(name, plain))
		return 1;
	if (is_one_of(name, interpreters)) {
		built = is_built(e2b, "data");
		ret->template = built == 1 ? "data" : NULL;
		return built < 0 ? -1 : 1;
	}
	built = strlen(name) > 0 && strlen(name) <= NAME_MAX_BYTES ? is_built(e2b, name) : 0;
	if (built == 1)
		ret->template = name;
	return built;
}

int e2b_is_native(const struct e2b *e2b, const char *name)
{
	struct e2b_origin origin;

	return e2b_native_of(e2b, name, &origin);
}

int e2b_origin_of(const struct e2b *e2b, const char *wanted, struct e2b_origin *ret)
{
	struct build build;
	int found = e2b_native_of(e2b, wanted, ret);

	if (found == 0)
		found = template_find(e2b, wanted, &build);
	else
		return found < 0 ? -1 : 0;
	if (found > 0)
		*ret = (struct e2b_origin){ .snapshot = build.snapshot,
					    .env = build.env,
					    .workdir = build.workdir,
					    .start = build.start,
					    .ready = build.ready };
	if (found == 0)
		found = e2b_snapshot_of(e2b, wanted, &ret->snapshot);
	if (found == 0)
		answer_refuse_simple(e2b->request, 404, "not_found",
				     "there is no such template, and no such snapshot",
				     "build it: Template.build, or reckon template build");
	return found > 0 ? 0 : -1;
}
