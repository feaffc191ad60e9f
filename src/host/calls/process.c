/*
 * process.c - calls for processes: start, show, follow, write, signal, resize, kill.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests, the database.
 * Never:    keeps environment variables after the start.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_write.h"
#include "host/calls/call.h"
#include "host/host.h"
#include "host/processes/process.h"
#include "host/tenants/quota.h"

#define LIST_DEFAULT 100u
#define ARGUMENTS_MAX ((size_t)256 * 1024)
#define PTY_ROWS 24u
#define PTY_COLS 80u
#define CWD_DEFAULT "/mnt/data"

/* ---- start ---------------------------------------------------------------------------------- */

static bool refuse_invalid(struct host *host, const struct request *req, const char *message,
		   const char *remedy)
{
	front_fail(host, req->id, API_ERR_INVALID, message, "", remedy, 0);
	return false;
}

/* Copies the arguments for the thread, and encodes them for the row. */
static int take_argv(const struct api_process_create_in *in, struct process *process,
		     struct job *job, struct err *err)
{
	const struct api_argument *given = in->argv.items;
	const size_t count = in->command != NULL ? 1 : in->argv.count;
	struct json_writer writer;
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		const char *text = in->command != NULL ? in->command : given[i].text;

		if (buf_add(&job->program.argv_text, text, strlen(text) + 1, err) < 0)
			return (int)err->code;
	}
	if (job->program.argv_text.len > ARGUMENTS_MAX)
		return err_set(err, ERR_LIMIT, "the arguments have more than 256 KiB");
	job->program.argv = mem_new0(count + 1, sizeof(*job->program.argv));
	for (size_t i = 0; i < count; i++) {
		job->program.argv[i] = job->program.argv_text.data + at;
		at += strlen(job->program.argv[i]) + 1;
	}
	if (in->command != NULL)
		return buf_add(&process->row.argv, in->command, strlen(in->command), err);
	json_write_init(&writer, &process->row.argv);
	json_write_array_begin(&writer);
	for (size_t i = 0; i < count; i++)
		json_write_string(&writer, job->program.argv[i]);
	json_write_array_end(&writer);
	return json_write_finish(&writer, err);
}

static void take_options(const struct api_process_create_in *in, struct process *process)
{
	struct db_process *row = &process->row;

	(void)snprintf(row->cwd, sizeof(row->cwd), "%s", in->cwd != NULL ? in->cwd : CWD_DEFAULT);
	(void)snprintf(row->tag, sizeof(row->tag), "%s", in->tag != NULL ? in->tag : "");
	row->flags = (in->command != NULL ? PROCESS_COMMAND : 0) |
		     (in->stdin || in->pty != NULL ? PROCESS_STDIN : 0) |
		     (in->detach ? PROCESS_DETACH : 0) | (in->pty != NULL ? PROCESS_PTY : 0);
	if (in->pty != NULL) {
		row->rows = in->pty->has_rows ? (unsigned)in->pty->rows : PTY_ROWS;
		row->cols = in->pty->has_cols ? (unsigned)in->pty->cols : PTY_COLS;
	}
	process->follow.dies_alone = in->on_disconnect == API_PROCESS_CREATE_IN_ON_DISCONNECT_KILL;
	process->follow.grace_ns = in->disconnect_grace_ms * 1000000u;
	process->io.waits_when_full = in->when_full == API_PROCESS_CREATE_IN_WHEN_FULL_WAIT;
}

static bool may_start(struct host *host, const struct request *req, const struct session *session,
		      const struct api_process_create_in *in)
{
	if ((in->command == NULL) == (in->argv.count == 0))
		return refuse_invalid(host, req, "give either command or argv",
			      "command is a line for /bin/sh, argv a program and its arguments");
	if (process_count(session) < PROCESS_COUNT_MAX)
		return true;
	observe_refused(host, "processes");
	front_fail(host, req->id, API_ERR_BUSY, "the session has 256 processes", "",
		  "end some of them, or wait until they end", 1);
	return false;
}

void handle_process_create(struct host *host, const struct request *req,
			   const struct api_process_create_in *in)
{
	struct session *session = answer_session_named(host, req, in->session, false);
	uint64_t timeout_ms = in->timeout_ms;
	unsigned char hash[32];
	struct process *process;
	struct job *job;
	struct err err;

	if (session == NULL || process_answer_repeat(host, req, session, in, hash) ||
	    !may_start(host, req, session, in) || !quota_process(host, req, &timeout_ms))
		return;
	process = process_new(session, &err);
	if (process == NULL) {
		front_fail_err(host, req->id, &err);
		return;
	}
	job = job_new(session, JOB_PROCESS_START, req->id);
	job->timeout_ms = process->wall_ms = timeout_ms;
	job->program.cpu_ms = process->cpu_ms = in->cpu_ms;
	take_options(in, process);
	if (take_argv(in, process, job, &err) < 0 || answer_take_env(job, &in->env, &err) < 0) {
		front_fail(host, req->id, err.code == ERR_LIMIT ? API_ERR_LIMIT : API_ERR_INTERNAL,
			  err.text, "", "put what is long into a file", 0);
		job_free(job);
		process_drop(process);
		return;
	}
	if (in->idempotency_key == NULL) {
		process_start(process, job);
		return;
	}
	(void)snprintf(process->row.key, sizeof(process->row.key), "%s", in->idempotency_key);
	memcpy(process->row.request_hash, hash, sizeof(hash));
	process_claim(process, job);
}

/* ---- show, list, follow --------------------------------------------------------------------- */

/* Finds the live process or its row; false: answered with an error. */
static bool find_row(struct host *host, const struct request *req, const char *id,
		     const char *name, struct process **ret_live, struct db_process *ret)
{
	struct session *session;
	char message[128];
	struct err err;
	int found;

	if (!was_session_named(host, req, id))
		return false;
	session = session_find(host, req->tenant, id);
	*ret_live = session != NULL ? process_find(session, name) : NULL;
	if (*ret_live != NULL)
		return true;
	found = db_process_find(host->db, id, name, ret, &err);
	if (found == 1)
		return true;
	(void)snprintf(message, sizeof(message), "there is no process %s in session %s", name, id);
	if (found == 0)
		front_fail(host, req->id, API_ERR_PROCESS_NOT_FOUND, message, "",
			  "list them: GET /reckon/v1/sessions/ID/processes", 0);
	else
		front_fail_err(host, req->id, &err);
	return false;
}

bool process_is_own(struct host *host, const struct request *req, const char *id, const char *name)
{
	struct session *session = session_find(host, req->tenant, id);
	const struct process *live = session != NULL ? process_find(session, name) : NULL;
	struct db_process row;
	struct err err;
	bool is_own;

	if (live != NULL)
		return strcmp(live->row.requester, req->key->row.id) == 0;
	/* Comparing the key's id is enough: it belongs to one tenant. */
	if (db_process_find(host->db, id, name, &row, &err) != 1)
		return false;
	is_own = strcmp(row.requester, req->key->row.id) == 0;
	db_process_done(&row);
	return is_own;
}

void handle_process_show(struct host *host, const struct request *req,
			 const struct api_process_show_in *in)
{
	cleanup_arena struct arena arena = { 0 };
	struct api_process reply;
	struct process *live;
	struct db_process row;

	if (!find_row(host, req, in->session, in->process, &live, &row))
		return;
	process_tell(&arena, live != NULL ? &live->row : &row, false, &reply);
	reply_process_show(host, req->id, &reply);
	if (live == NULL)
		db_process_done(&row);
}

void handle_process_wait(struct host *host, const struct request *req,
			 const struct api_process_wait_in *in)
{
	cleanup_arena struct arena arena = { 0 };
	struct api_process reply;
	struct process *live;
	struct db_process row;

	if (!find_row(host, req, in->session, in->process, &live, &row))
		return;
	if (live != NULL) {
		process_wait(live, req->id, in->timeout_ms);
		return;
	}
	process_tell(&arena, &row, false, &reply);
	reply_process_wait(host, req->id, &reply);
	db_process_done(&row);
}

struct page {
	struct arena arena;
	struct session *session;
	struct api_process *items;
	size_t count;
};

static int add_row(const struct db_process *row, void *arg, struct err *err)
{
	struct page *page = arg;
	const struct process *live =
		page->session != NULL ? process_find(page->session, row->id) : NULL;

	(void)err;
	process_tell(&page->arena, live != NULL ? &live->row : row, true,
		     &page->items[page->count++]);
	return 0;
}

void handle_process_list(struct host *host, const struct request *req,
			 const struct api_process_list_in *in)
{
	const struct db_process_query query = {
		.session = in->session,
		.before = in->before,
		.tag = in->tag,
		.pid = (int)in->pid,
		.state = in->state,
		.limit = in->has_limit ? (unsigned)in->limit : LIST_DEFAULT,
	};
	struct page page = { .session = session_find(host, req->tenant, in->session) };
	struct api_processes reply = { 0 };
	struct err err;

	if (!was_session_named(host, req, in->session))
		return;
	page.items = arena_new(&page.arena, query.limit, sizeof(*page.items));
	if (db_process_list(host->db, &query, add_row, &page, &err) < 0) {
		front_fail_err(host, req->id, &err);
	} else {
		reply.processes = (struct api_list){ page.items, page.count };
		if (page.count == query.limit)
			reply.next = page.items[page.count - 1].id;
		reply_process_list(host, req->id, &reply);
	}
	arena_done(&page.arena);
}

/* Answers with the end of a process whose events are no longer in memory. */
static void replay_end(struct host *host, const struct request *req, const struct db_process *row,
		       uint64_t after)
{
	cleanup_buf struct buf json = BUF_INIT(64u * 1024u);
	const uint64_t id = row->last_event > after ? row->last_event : after + 1;
	struct api_event end = { .id = id, .name = "end" };
	struct api_events reply = { .is_last = true, .events = { &end, 1 } };
	struct err err;

	if (process_tell_end(row, &json, &err) < 0) {
		front_fail_err(host, req->id, &err);
		return;
	}
	end.data = (struct api_bytes){ json.data, json.len };
	reply.has_missing = id > after + 1;
	reply.missing = id - after - 1;
	reply_process_events(host, req->id, &reply);
}

void handle_process_events(struct host *host, const struct request *req,
			   const struct api_process_events_in *in)
{
	struct process *live;
	struct db_process row;

	if (!find_row(host, req, in->session, in->process, &live, &row))
		return;
	if (live != NULL) {
		process_follow(live, req->id, in->after, in->goes_on);
		return;
	}
	replay_end(host, req, &row, in->after);
	db_process_done(&row);
}

/* ---- write, signal, resize, kill ------------------------------------------------------------ */

/* A running process; NULL: answered with an error. */
static struct process *find_running(struct host *host, const struct request *req, const char *id,
				    const char *name)
{
	struct session *session = answer_session_named(host, req, id, false);
	struct process *live;
	struct db_process row;

	if (session == NULL || !find_row(host, req, id, name, &live, &row))
		return NULL;
	if (live == NULL)
		db_process_done(&row);
	if (live != NULL && live->phase == PROCESS_RUNNING) {
		persist_use(session);
		return live;
	}
	front_fail(host, req->id, API_ERR_PROCESS_ENDED, "the process has ended", "", "", 0);
	return NULL;
}

static bool may_write(struct host *host, const struct request *req, const struct process *process,
		      size_t len, bool closes)
{
	const bool has_pty = (process->row.flags & PROCESS_PTY) != 0;

	if (has_pty && closes)
		return refuse_invalid(host, req,
				      "the standard input of a terminal cannot be closed",
				      "write its end of file, the byte 4 (Ctrl-D)");
	if ((process->row.flags & PROCESS_STDIN) == 0)
		return refuse_invalid(host, req, "the process has no standard input",
			      "start it with \"stdin\": true");
	if (process->io.in == NULL ||
	    (process->io.input_last != NULL && process->io.input_last->closes)) {
		front_fail(host, req->id, API_ERR_PROCESS_ENDED,
			  "the standard input of the process is closed", "", "", 0);
		return false;
	}
	if (process->io.input_bytes + len <= PROCESS_INPUT_MAX &&
	    req->tenant->input_bytes + len <= PROCESS_TENANT_INPUT_MAX &&
	    process->io.input_count < PROCESS_INPUTS_MAX)
		return true;
	front_fail(host, req->id, API_ERR_BUSY, "the process has not read what was sent before", "",
		  "wait for the answers to that", 1);
	return false;
}

void handle_process_stdin(struct host *host, const struct request *req,
			  const struct api_process_stdin_in *in)
{
	const struct api_bytes *bytes = in->text.data != NULL ? &in->text : &in->data;
	struct process *process = find_running(host, req, in->session, in->process);
	struct process_input *input;

	if (process == NULL)
		return;
	if (in->close && process->io.is_input_closed) {
		reply_process_stdin(host, req->id, &(struct api_process_stdin_out){ 0 });
		return;
	}
	if (!may_write(host, req, process, bytes->len, in->close))
		return;
	input = mem_new0(1, sizeof(*input) + bytes->len);
	input->request = req->id;
	input->len = bytes->len;
	input->closes = in->close;
	if (bytes->len > 0)
		memcpy(input->bytes, bytes->data, bytes->len);
	process_write(process, input);
}

void handle_process_signal(struct host *host, const struct request *req,
			   const struct api_process_signal_in *in)
{
	struct process *process = find_running(host, req, in->session, in->process);
	struct job *job;

	if (process == NULL)
		return;
	job = job_new(process->session, JOB_PROCESS_SIGNAL, req->id);
	job->cursor = (size_t)process_signal_of(in->signal);
	if (in->to == API_PROCESS_SIGNAL_IN_TO_PROCESS)
		job->how = JOB_HOW_LEADER;
	process_ask(process, JOB_PROCESS_SIGNAL, job);
}

void handle_process_resize(struct host *host, const struct request *req,
			   const struct api_process_resize_in *in)
{
	struct process *process = find_running(host, req, in->session, in->process);
	reckon_error error;

	if (process == NULL)
		return;
	if (reckon_process_resize(process->handle, (unsigned)in->rows, (unsigned)in->cols, &error) <
	    0) {
		front_fail_reckon(host, req->id, &error);
		return;
	}
	process->row.rows = (unsigned)in->rows;
	process->row.cols = (unsigned)in->cols;
	reply_done(host, req->id);
}

void handle_process_delete(struct host *host, const struct request *req,
			   const struct api_process_delete_in *in)
{
	struct session *session = answer_session_named(host, req, in->session, false);
	struct process *live;
	struct db_process row;

	if (session == NULL || !find_row(host, req, in->session, in->process, &live, &row))
		return;
	if (live == NULL)
		db_process_done(&row);
	else
		process_kill(live);
	audit_note(host, "process.kill", in->session, "ok", "process=%s", in->process);
	reply_done(host, req->id);
}
