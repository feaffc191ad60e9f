/*
 * fork.c - creates sandboxes that start with the current files of another one.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    bodies from clients.
 * Never:    forks a sandbox that has variables or processes, because a fork would lose them: it
 *           answers 409 and names them.
 *
 * It makes a snapshot, creates sandboxes from it, and deletes it. The snapshot is bound to this
 * request: reckond deletes it, too, if the request ends early.
 */
#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "base/cleanup.h"
#include "dialects/e2b/envd/inside.h"

#define ANSWER_MAX (1u << 20)
#define FORKS_MAX 100u
#define TIMEOUT_S 15u
#define PROCESSES_NAMED 5u
#define NAMED_BYTES 80u /* shown of each command */

/* ---- what is asked for ---------------------------------------------------------------------- */

static bool take_options(const struct e2b *e2b, const struct json_value *body, uint64_t *ret_count,
			 uint64_t *ret_ms)
{
	const struct json_value *timeout = json_read_member(body, "timeout");
	const struct json_value *count = json_read_member(body, "count");
	int64_t number = 1;

	*ret_ms = TIMEOUT_S * 1000u;
	if (json_read_kind(count) != JSON_KIND_NULL &&
	    (!json_read_int(count, &number) || number < 1 || number > FORKS_MAX)) {
		e2b_refuse(e2b, 400, "count is a number from 1 to 100");
		return false;
	}
	*ret_count = (uint64_t)number;
	if (json_read_kind(timeout) == JSON_KIND_NULL)
		return true;
	if (!e2b_take_timeout(e2b, timeout, ret_ms))
		return false;
	if (*ret_ms >= 1000)
		return true;
	e2b_refuse(e2b, 400, "the time-out must be more than 0");
	return false;
}

/* ---- what would be lost --------------------------------------------------------------------- */

/* Adds the running processes to `ret`. Negative: answered with an error, or the client
 * disconnected. */
static int add_processes(const struct e2b *e2b, const char *session, struct buf *ret)
{
	cleanup_call struct call call = CALL_INIT;
	const struct api_process *at;
	struct api_processes out;
	unsigned named = 0;
	struct err ignored;

	if (call_or_refuse(e2b->request, API_PROCESS_LIST,
			   &(struct api_process_list_in){
				   .session = session,
				   .has_limit = true,
				   .limit = 500,
				   .state = API_PROCESS_LIST_IN_STATE_RUNNING },
			   &out, &call) < 0)
		return -1;
	at = out.processes.items;
	for (size_t i = 0; i < out.processes.count && named < PROCESSES_NAMED; i++, at++) {
		if (at->tag != NULL && strcmp(at->tag, INSIDE_TAG) == 0)
			continue;
		(void)buf_addf(ret, &ignored, "%sprocess %u %.*s", ret->len > 0 ? ", " : "",
			       (unsigned)at->pid,
			       (int)(at->command != NULL       ? strnlen(at->command, NAMED_BYTES)
				     : at->argv.len < NAMED_BYTES ? at->argv.len
							       : NAMED_BYTES),
			       at->command != NULL	? at->command
			       : at->argv.data != NULL ? at->argv.data
						       : "");
		named++;
	}
	return 0;
}

/* Adds to `ret` if code has run in one of the session's kernels. Negative: as above. */
static int add_kernels(const struct e2b *e2b, const struct api_session *session, struct buf *ret)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_executions out;
	struct err ignored;

	if (session->kernel == API_SESSION_KERNEL_LOST)
		return 0;
	if (call_or_refuse(e2b->request, API_EXECUTION_LIST,
			   &(struct api_execution_list_in){
				   .session = session->id, .has_limit = true, .limit = 1 },
			   &out, &call) < 0)
		return -1;
	if (out.executions.count > 0)
		(void)buf_addf(ret, &ignored, "%svariables of code that has run",
			       ret->len > 0 ? ", " : "");
	return 0;
}

static bool is_free(const struct e2b *e2b, const struct api_session *session)
{
	cleanup_buf struct buf lost = BUF_INIT(1024);
	char message[1400];

	if (add_kernels(e2b, session, &lost) < 0 || add_processes(e2b, session->id, &lost) < 0)
		return false;
	if (lost.len == 0)
		return true;
	(void)snprintf(message, sizeof(message),
		       "a fork has the files of a sandbox alone, and this one has in memory: %.1000s",
		       buf_text(&lost));
	answer_refuse_simple(e2b->request, 409, "conflict", message,
			     "end what runs, or make a snapshot, which leaves it behind");
	return false;
}

/* ---- forks ---------------------------------------------------------------------------------- */

struct fork {
	const struct e2b *e2b;
	const char *snapshot;
	const struct api_session *parent;
	struct api_list volumes;
	uint64_t ms;
	struct json_writer json;
};

static void write_error(struct json_writer *json, const struct api_failure *failure)
{
	json_write_key(json, "error");
	json_write_object_begin(json);
	json_write_member_uint(json, "code", api_error_of(failure)->status);
	json_write_member_string(json, "message",
				 failure != NULL ? failure->message : "the call failed");
	json_write_object_end(json);
}

/* Creates a fork, and writes it or its error. Negative: the client disconnected. */
static int make_one(struct fork *fork)
{
	const struct api_session_create_in in = { .snapshot = fork->snapshot,
						  .metadata = fork->parent->metadata,
						  .volumes = fork->volumes,
						  .has_idle_timeout_ms = true,
						  .idle_timeout_ms = e2b_idle_ms(fork->ms),
						  .has_expires_in_ms = true,
						  .expires_in_ms = fork->ms };
	cleanup_call struct call call = CALL_INIT, token_call = CALL_INIT;
	struct api_session_token_out token;
	struct api_session session;
	enum call_status status =
		call_make(fork->e2b->request, API_SESSION_CREATE, &in, &session, &call);

	if (status == CALL_OK)
		status = call_make(fork->e2b->request, API_SESSION_TOKEN,
				   &(struct api_session_token_in){ .session = session.id }, &token,
				   &token_call);
	if (status == CALL_GONE)
		return -1;
	json_write_object_begin(&fork->json);
	if (status == CALL_OK) {
		json_write_key(&fork->json, "sandbox");
		e2b_write_sandbox(&fork->json, &session, token.token);
	} else {
		write_error(&fork->json, call.failure != NULL ? call.failure : token_call.failure);
	}
	json_write_object_end(&fork->json);
	return 0;
}

/* Forks mount their parent's volumes: a volume may be mounted by several sandboxes. */
static struct api_list volumes_of(const struct e2b *e2b, const struct api_session *session)
{
	const struct api_mounted_volume *at = session->volumes.items;
	struct api_volume_mount *items =
		arena_new(e2b->arena, session->volumes.count + 1, sizeof(*items));

	for (size_t i = 0; i < session->volumes.count; i++)
		items[i] = (struct api_volume_mount){ .volume = at[i].id,
						      .path = at[i].path,
						      .has_read_only = true,
						      .read_only = at[i].read_only };
	return (struct api_list){ items, session->volumes.count };
}

static void make_all(struct fork *fork, uint64_t count)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_call struct call call = CALL_INIT;
	int code = 0;

	json_write_init(&fork->json, &body);
	json_write_array_begin(&fork->json);
	for (uint64_t i = 0; i < count && code == 0; i++)
		code = make_one(fork);
	json_write_array_end(&fork->json);
	if (code == 0 &&
	    call_make(fork->e2b->request, API_SNAPSHOT_DELETE,
		      &(struct api_snapshot_delete_in){ .snapshot = fork->snapshot }, NULL,
		      &call) != CALL_GONE)
		e2b_answer_json(fork->e2b, 201, &fork->json, NULL);
}

void e2b_fork(struct e2b *e2b)
{
	cleanup_json struct json_value *body = e2b_take_json(e2b);
	cleanup_call struct call shown = CALL_INIT, made = CALL_INIT;
	const char *session = e2b_session_of(e2b);
	struct api_snapshot snapshot;
	struct api_session parent;
	struct fork fork = { .e2b = e2b };
	uint64_t count;

	if (body == NULL || !take_options(e2b, body, &count, &fork.ms) ||
	    call_or_refuse(e2b->request, API_SESSION_SHOW,
			   &(struct api_session_show_in){ .session = session }, &parent,
			   &shown) < 0 ||
	    !e2b_is_awake(e2b, &parent) || !is_free(e2b, &parent) ||
	    call_or_refuse(e2b->request, API_SNAPSHOT_CREATE,
			   &(struct api_snapshot_create_in){ .session = session,
							     .name = E2B_SNAPSHOT_PREFIX "fork",
							     .has_held = true,
							     .held = true },
			   &snapshot, &made) < 0)
		return;
	upstream_cancel_when_gone(e2b->request, made.frame);
	fork.snapshot = snapshot.id;
	fork.parent = &parent;
	fork.volumes = volumes_of(e2b, &parent);
	make_all(&fork, count);
}
