/*
 * create.c - creates a sandbox: a session with a fixed end.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    a body from a client.
 * Never:    silently gives less than the client asks for: what a box cannot have is answered with
 *           400. The network is the one exception, since every E2B client asks for one.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/template/template.h"

#define METADATA_MAX (16u * 1024u)
#define ENV_COUNT_MAX 254u /* a session has at most 256, two of which add_own_env() adds */
#define ENV_TEMPLATE "E2B_TEMPLATE_ID="
#define ENV_PWD "PWD="
#define HOME "/home/user"
#define TIMEOUT_S_V1 15
#define TIMEOUT_S_V2 300
#define READY_MS 40000u /* for a template's ready command; SDKs wait a minute */

/* Writes the client's metadata, and adds the template's name as the client gave it. */
static int take_metadata(const struct e2b *e2b, const struct json_value *given,
			 const char *template, const char *workdir, struct buf *ret)
{
	const struct json_value *value;
	struct json_writer json;
	const char *key, *text;
	struct err err;
	size_t len;

	if (given != NULL && json_read_kind(given) != JSON_KIND_NULL &&
	    json_read_kind(given) != JSON_KIND_OBJECT) {
		e2b_refuse(e2b, 400, "metadata is an object of texts");
		return -1;
	}
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	for (size_t i = 0; json_read_member_at(given, i, &key, &value); i++) {
		text = json_read_text(value, &len);
		if (text == NULL || strncmp(key, E2B_OWN_MEMBER, strlen(E2B_OWN_MEMBER)) == 0) {
			e2b_refuse(e2b, 400,
				   "metadata holds texts alone, and no name that begins with e2b.");
			return -1;
		}
		json_write_member_text(&json, key, text, len);
	}
	json_write_member_string(&json, E2B_TEMPLATE_MEMBER, template);
	if (workdir != NULL)
		json_write_member_string(&json, E2B_WORKDIR_MEMBER, workdir);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) == 0)
		return 0;
	e2b_refuse(e2b, 400, "metadata is longer than 16 KiB");
	return -1;
}

bool e2b_take_env(const struct e2b *e2b, const struct json_value *given, struct api_list *ret)
{
	const size_t count = json_read_count(given);
	const char **items = arena_new(e2b->arena, count + 1, sizeof(*items));
	const struct json_value *value;
	const char *key, *text;
	size_t len;

	if (given != NULL && json_read_kind(given) != JSON_KIND_NULL &&
	    json_read_kind(given) != JSON_KIND_OBJECT) {
		e2b_refuse(e2b, 400, "variables are an object of texts");
		return false;
	}
	if (count > ENV_COUNT_MAX) {
		e2b_refuse(e2b, 400, "more than 254 variables");
		return false;
	}
	for (size_t i = 0; i < count && json_read_member_at(given, i, &key, &value); i++) {
		char *item;

		text = json_read_text(value, &len);
		if (text == NULL || strlen(text) != len || key[0] == '\0' ||
		    strchr(key, '=') != NULL) {
			e2b_refuse(e2b, 400, "variables are texts without NUL");
			return false;
		}
		item = arena_new(e2b->arena, strlen(key) + len + 2, 1);
		(void)snprintf(item, strlen(key) + len + 2, "%s=%s", key, text);
		items[i] = item;
	}
	*ret = (struct api_list){ items, count };
	return true;
}

/*
 * The variables that E2B sets come first, then those of the template. The client's come last, so
 * they replace the others.
 */
static void add_own_env(const struct e2b *e2b, const char *template, const struct api_list *base,
			struct api_list *env)
{
	const char *const *given = env->items, *const *before = base->items;
	const char **items = arena_new(e2b->arena, base->count + env->count + 2, sizeof(*items));
	char *named = arena_new(e2b->arena, strlen(template) + sizeof(ENV_TEMPLATE), 1);

	(void)snprintf(named, strlen(template) + sizeof(ENV_TEMPLATE), ENV_TEMPLATE "%s", template);
	items[0] = "E2B_SANDBOX=true";
	items[1] = named;
	for (size_t i = 0; i < base->count; i++)
		items[2 + i] = before[i];
	for (size_t i = 0; i < env->count; i++)
		items[2 + base->count + i] = given[i];
	*env = (struct api_list){ items, base->count + env->count + 2 };
}

/* False if the client asks for something that a box cannot have. */
static bool is_possible(const struct e2b *e2b, const struct json_value *body)
{
	static const struct {
		const char *name, *why;
	} lacking[] = {
		{ "mcp", "this server has no MCP gateway in a sandbox" },
		{ "iam", "this server gives out no workload tokens" },
	};

	for (size_t i = 0; i < ARRAY_LEN(lacking); i++)
		if (json_read_count(json_read_member(body, lacking[i].name)) > 0) {
			e2b_refuse(e2b, 400, lacking[i].why);
			return false;
		}
	return true;
}

static bool take_end(const struct e2b *e2b, const struct json_value *given, uint64_t *ret_ms)
{
	*ret_ms = (e2b->version == 2 ? TIMEOUT_S_V2 : TIMEOUT_S_V1) * 1000u;
	if (json_read_kind(given) == JSON_KIND_NULL)
		return true;
	if (!e2b_take_timeout(e2b, given, ret_ms))
		return false;
	if (*ret_ms >= 1000)
		return true;
	e2b_refuse(e2b, 400, "the time-out must be more than 0");
	return false;
}

/*
 * Starts a process in the sandbox. 1: it could not be started; negative: the client disconnected.
 */
static int run(const struct e2b *e2b, const struct e2b_origin *origin, const char *session,
	       const char *command, uint64_t timeout_ms, struct api_process *ret, struct call *call)
{
	const char *cwd = origin->workdir != NULL ? origin->workdir : HOME;
	const size_t size = strlen(cwd) + sizeof(ENV_PWD);
	char *pwd = arena_new(e2b->arena, 1, size);
	const char *const env[] = { pwd };
	enum call_status status;

	/* /home/user is a link, which a shell would resolve without PWD. */
	(void)snprintf(pwd, size, ENV_PWD "%s", cwd);
	status = call_make(
		e2b->request, API_PROCESS_CREATE,
		&(struct api_process_create_in){ .session = session,
						 .argv = template_shell(e2b, command),
						 .cwd = cwd,
						 .env = { env, ARRAY_LEN(env) },
						 .has_timeout_ms = timeout_ms != 0,
						 .timeout_ms = timeout_ms,
						 .has_detach = true,
						 .detach = timeout_ms == 0 },
		ret, call);

	return status == CALL_FAILED ? 1 : (int)status;
}

/* 0: the ready command succeeded in time; 1: it did not; negative: the client disconnected. */
static int wait_ready(const struct e2b *e2b, const struct e2b_origin *origin, const char *session)
{
	cleanup_call struct call call = CALL_INIT, waited = CALL_INIT;
	struct api_process process, ended;
	const int code = run(e2b, origin, session, template_until(e2b, origin->ready), READY_MS,
			     &process, &call);
	enum call_status status;

	if (code != 0)
		return code;
	status = call_make(e2b->request, API_PROCESS_WAIT,
			   &(struct api_process_wait_in){ .session = session,
							  .process = process.id },
			   &ended, &waited);
	if (status != CALL_OK)
		return status == CALL_FAILED ? 1 : -1;
	return ended.has_exit_code && ended.exit_code == 0 ? 0 : 1;
}

int e2b_begin(const struct e2b *e2b, const struct e2b_origin *origin, const char *session)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_process process;
	int code = 0;

	if (origin->start != NULL)
		code = run(e2b, origin, session, origin->start, 0, &process, &call);
	if (code == 0 && origin->ready != NULL)
		code = wait_ready(e2b, origin, session);
	if (code <= 0)
		return code;
	template_end_session(e2b, session);
	e2b_refuse(e2b, 500,
		   "the start command of the template could not be run, or its ready command did "
		   "not succeed within 40 seconds");
	return -1;
}

void e2b_create(struct e2b *e2b)
{
	cleanup_json struct json_value *body = e2b_take_json(e2b);
	const char *wanted = json_read_text(json_read_member(body, "templateID"), NULL);
	cleanup_buf struct buf metadata = BUF_INIT(METADATA_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_session_create_in in = { .has_idle_timeout_ms = true,
					    .has_expires_in_ms = true };
	struct e2b_origin origin = { 0 };
	struct api_session session;

	if (body == NULL)
		return;
	if (wanted == NULL || wanted[0] == '\0') {
		e2b_refuse(e2b, 400, "templateID is missing");
		return;
	}
	if (!is_possible(e2b, body) || !e2b_take_lifecycle(e2b, body, &in) ||
	    !take_end(e2b, json_read_member(body, "timeout"), &in.expires_in_ms) ||
	    take_metadata(e2b, json_read_member(body, "metadata"), wanted, NULL, &metadata) < 0 ||
	    !e2b_take_env(e2b, json_read_member(body, "envVars"), &in.env) ||
	    !e2b_take_volumes(e2b, json_read_member(body, "volumeMounts"), &in.volumes) ||
	    e2b_origin_of(e2b, wanted, &origin) < 0)
		return;
	buf_clear(&metadata);
	if (take_metadata(e2b, json_read_member(body, "metadata"), wanted, origin.workdir,
			  &metadata) < 0)
		return;
	in.template = origin.template;
	in.snapshot = origin.snapshot;
	add_own_env(e2b, wanted, &origin.env, &in.env);
	in.idle_timeout_ms = e2b_idle_ms(in.expires_in_ms);
	in.metadata = (struct api_bytes){ metadata.data, metadata.len };
	if (call_or_refuse(e2b->request, API_SESSION_CREATE, &in, &session, &call) < 0)
		return;
	request_note(e2b->request, NULL, session.id, NULL);
	if (e2b_begin(e2b, &origin, session.id) == 0)
		e2b_answer_sandbox(e2b, 201, &session);
}
