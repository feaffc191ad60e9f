/*
 * contexts.c - the interpreter's contexts: the session's first kernel and its further kernels.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    paths and bodies from clients.
 * Never:    ends the first kernel, which ends with its sandbox.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/interpreter/interpreter.h"

#define ANSWER_MAX (1u << 20)
#define HOME "/home/user"
#define WORKSPACE "/mnt/data"
#define CWD_SIZE 1024u

const char *e2b_context_of(const char *context)
{
	return strcmp(context, E2B_FIRST_CONTEXT) != 0 ? context : NULL;
}

const char *e2b_language_of(const struct e2b *e2b, const char *language)
{
	const char *from = language + strspn(language, " \t\r\n");
	char *ret = arena_text(e2b->arena, from, strcspn(from, " \t\r\n"));

	for (char *at = ret; *at != '\0'; at++)
		*at = (char)tolower((unsigned char)*at);
	return ret;
}

static void write_context(struct json_writer *json, const char *id, const char *language,
			  const char *cwd)
{
	char shown[CWD_SIZE + sizeof(HOME)];
	const size_t len = strlen(WORKSPACE);

	/* Clients know the workspace as the home folder. */
	if (strncmp(cwd, WORKSPACE, len) == 0 && (cwd[len] == '\0' || cwd[len] == '/'))
		(void)snprintf(shown, sizeof(shown), HOME "%.1023s", cwd + len);
	else
		(void)snprintf(shown, sizeof(shown), "%.1023s", cwd);
	json_write_object_begin(json);
	json_write_member_string(json, "id", id);
	json_write_member_string(json, "language", language);
	json_write_member_string(json, "cwd", shown);
	json_write_object_end(json);
}

static void list(struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call shown = CALL_INIT, call = CALL_INIT;
	const struct api_context *at;
	struct api_session session;
	struct api_contexts out;
	struct json_writer json;

	if (call_or_refuse(e2b->request, API_SESSION_SHOW,
			   &(struct api_session_show_in){ .session = e2b->target.session },
			   &session, &shown) < 0 ||
	    call_or_refuse(e2b->request, API_CONTEXT_LIST,
			   &(struct api_context_list_in){ .session = e2b->target.session }, &out,
			   &call) < 0)
		return;
	json_write_init(&json, &body);
	json_write_array_begin(&json);
	write_context(&json, E2B_FIRST_CONTEXT, session.language, WORKSPACE);
	at = out.contexts.items;
	for (size_t i = 0; i < out.contexts.count; i++, at++)
		write_context(&json, at->id, at->language, at->cwd);
	json_write_array_end(&json);
	e2b_answer_json(e2b, 200, &json, NULL);
}

/*
 * Replaces a leading /home/user, /mnt/data or "~" by the path of the workspace. NULL: none is
 * given.
 */
static const char *take_cwd(const struct e2b *e2b, const char *cwd)
{
	static const char *const roots[] = { HOME, WORKSPACE, "~" };

	if (cwd == NULL || cwd[0] == '\0')
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		const size_t len = strlen(roots[i]);

		if (strncmp(cwd, roots[i], len) == 0 && (cwd[len] == '\0' || cwd[len] == '/')) {
			const size_t rest = strlen(cwd + len);
			char *path = arena_new(e2b->arena, 1, sizeof(WORKSPACE) + rest);

			/*
			 * Does not cut the path: a path that is too long must not become that of
			 * another folder.
			 */
			memcpy(path, WORKSPACE, sizeof(WORKSPACE) - 1);
			memcpy(path + sizeof(WORKSPACE) - 1, cwd + len, rest + 1);
			return path;
		}
	}
	return cwd;
}

static void create(struct e2b *e2b)
{
	cleanup_json struct json_value *body = e2b_take_json(e2b);
	const char *language = json_read_text(json_read_member(body, "language"), NULL);
	const char *cwd = json_read_text(json_read_member(body, "cwd"), NULL);
	cleanup_buf struct buf text = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_context_create_in in = { .session = e2b->target.session };
	struct api_context context;
	struct json_writer json;

	if (body == NULL)
		return;
	if (language != NULL && language[0] != '\0')
		in.language = e2b_language_of(e2b, language);
	in.cwd = take_cwd(e2b, cwd);
	if (call_or_refuse(e2b->request, API_CONTEXT_CREATE, &in, &context, &call) < 0)
		return;
	json_write_init(&json, &text);
	write_context(&json, context.id, context.language, context.cwd);
	e2b_answer_json(e2b, 200, &json, NULL);
}

/* The answer of both restart() and delete(). */
static void answer_null(const struct e2b *e2b)
{
	cleanup_buf struct buf body = BUF_INIT(8);
	struct err err;

	if (buf_adds(&body, "null", &err) == 0)
		e2b_answer(e2b, 200, &body, NULL);
}

static void restart(struct e2b *e2b)
{
	cleanup_buf struct buf ignored = BUF_INIT(E2B_BODY_MAX);
	cleanup_call struct call call = CALL_INIT;

	if (request_body(e2b->request, E2B_BODY_MAX, &ignored) == 0 &&
	    call_or_refuse(e2b->request, API_RESTART,
			   &(struct api_restart_in){ .session = e2b->target.session,
						     .context = e2b_context_of(e2b->part[1]) },
			   NULL, &call) == 0)
		answer_null(e2b);
}

static void delete(struct e2b *e2b)
{
	cleanup_call struct call call = CALL_INIT;

	if (e2b_context_of(e2b->part[1]) == NULL) {
		e2b_refuse(e2b, 400, "the first context ends with its sandbox");
		return;
	}
	if (call_or_refuse(e2b->request, API_CONTEXT_DELETE,
			   &(struct api_context_delete_in){ .session = e2b->target.session,
							    .context = e2b->part[1] },
			   NULL, &call) == 0)
		answer_null(e2b);
}

void e2b_contexts(struct e2b *e2b)
{
	static const struct e2b_route routes[] = {
		{ HTTP_VERB_GET, "contexts", list },
		{ HTTP_VERB_POST, "contexts", create },
		{ HTTP_VERB_POST, "contexts/*/restart", restart },
		{ HTTP_VERB_DELETE, "contexts/*", delete },
	};

	e2b_route(e2b, routes, ARRAY_LEN(routes));
}
