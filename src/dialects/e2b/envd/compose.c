/*
 * compose.c - POST /files/compose: joins files that were uploaded in parts.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    bodies from clients, output of a program in a hostile box.
 * Never:    reads the files: a program in the box joins them.
 */
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_get.h"
#include "dialects/e2b/envd/inside.h"

#define SOURCES_MAX 1000u
#define ANSWER_MAX 16384u

static const char *take_path(const struct e2b *e2b, const char *given)
{
	struct e2b_path *path = arena_new(e2b->arena, 1, sizeof(*path));

	if (e2b_path_of(given, path))
		return path->whole;
	e2b_refuse(e2b, 400, e2b_path_remedy);
	return NULL;
}

/* NULL: answered with an error. */
static const char **take_sources(const struct e2b *e2b, const struct json_value *given,
				 const char *to)
{
	const size_t count = json_read_count(given);
	const char **ret = arena_new(e2b->arena, SOURCES_MAX, sizeof(*ret));

	if (json_read_kind(given) != JSON_KIND_ARRAY || count == 0 || count > SOURCES_MAX) {
		e2b_refuse(e2b, 400, "source_paths is a list of 1 to 1000 paths");
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		size_t len;
		const char *text = json_read_text(json_read_at(given, i), &len);

		if (text == NULL || len == 0 || strlen(text) != len) {
			e2b_refuse(e2b, 400, "source_paths are texts");
			return NULL;
		}
		ret[i] = take_path(e2b, text);
		if (ret[i] == NULL)
			return NULL;
		if (strcmp(ret[i], to) == 0) {
			e2b_refuse(e2b, 400, "a source path cannot be the same as destination");
			return NULL;
		}
	}
	return ret;
}

static void compose(const struct e2b *e2b, const char *const *sources, size_t count, const char *to)
{
	cleanup_json struct json_value *answer = inside_ask(
		e2b,
		&(struct inside_order){
			.command = "compose", .path = to, .paths = sources, .path_count = count });
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	struct json_writer json;

	if (answer == NULL || inside_refused(e2b, answer))
		return;
	json_write_init(&json, &body);
	e2b_write_written(&json, to, NULL);
	e2b_answer_json(e2b, 200, &json, NULL);
}

void e2b_compose(struct e2b *e2b)
{
	cleanup_json struct json_value *given = e2b_take_json(e2b);
	const char *user = json_get_c_text(given, "username");
	const char *destination = json_get_c_text(given, "destination"), *to;
	const struct json_value *paths = json_read_member(given, "source_paths");
	const char **sources;

	if (given == NULL || call_check_key(e2b->request) < 0)
		return;
	if (destination == NULL || destination[0] == '\0') {
		e2b_refuse(e2b, 400, "destination is required");
		return;
	}
	if (!e2b_is_user(user != NULL ? user : "")) {
		e2b_refuse_user(e2b, user);
		return;
	}
	to = take_path(e2b, destination);
	sources = to != NULL ? take_sources(e2b, paths, to) : NULL;
	if (sources != NULL)
		compose(e2b, sources, json_read_count(paths), to);
}
