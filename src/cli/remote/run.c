/*
 * run.c - reckon run -s: cells in a session of a daemon, which stays when they have run.
 *
 * Runs in:  reckon-client.
 * Reads:    the command line; events and records of a daemon, whose text is a box's.
 * Never:    changes what a session is: what was said at its making cannot be said otherwise later.
 *
 * What comes out is what `reckon run` prints: run/output.c and its kin get the same events and the
 * same records, only from elsewhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "cli/cli.h"
#include "cli/remote/cells.h"
#include "cli/run/run.h"
#include "cli/remote/tools.h"
#include "cli/run/options.h"
#include "cli/run/tools.h"
#include "codec/json_write.h"

struct remote_run {
	const struct opt_command *self;
	struct remote_cells at;
	struct run_output output;
	struct buf record; /* of the cell that ran last */
	char execution[48]; /* id of the cell that runs */
	struct buf question; /* an `input_request` that nobody was asked yet, or empty */
	struct remote_tools *tools; /* their answers; NULL: there are none */
	bool left; /* the second Ctrl-C */
};

#define ANSWER_MAX ((size_t)64 * 1024)
#define RESULTS_MAX ((size_t)32 * 1024 * 1024)

/* ---- signals -------------------------------------------------------------------------------- */

static atomic_int interrupts;
static int wake_pipe[2] = { -1, -1 };

static void on_interrupt(int signo)
{
	const int saved = errno;

	(void)signo;
	if (atomic_fetch_add(&interrupts, 1) + 1 >= 3)
		_exit(EXIT_CODE_INTERRUPTED);
	(void)!write(wake_pipe[1], "", 1);
	errno = saved;
}

static void on_pipe(int signo)
{
	(void)signo;
}

static int set_signals(struct err *err)
{
	struct sigaction pipe_gone = { .sa_handler = on_pipe, .sa_flags = SA_RESTART };

	if (pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(err, "pipe");
	(void)sigaction(SIGPIPE, &pipe_gone, NULL);
	return 0;
}

/* Until the first cell Ctrl-C simply ends us: there is nothing to stop. */
static void catch_interrupts(void)
{
	struct sigaction interrupt = { .sa_handler = on_interrupt, .sa_flags = SA_RESTART };

	(void)sigaction(SIGINT, &interrupt, NULL);
}

static int write_answer(const struct json_value *event, const struct buf *line, bool is_end,
			struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	if (is_end)
		json_write_member_bool(&json, "end", true);
	else
		json_write_member_text(&json, "text", buf_text(line), line->len);
	json_write_member_uint(&json, "seq",
			       (uint64_t)remote_number(json_read_member(event, "seq")));
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

/* To …/`what` of the cell. It may have been answered by somebody else, or be over: no failure. */
static int post_answer(struct remote_run *this, const char *what, const struct buf *body,
		       struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);

	if (remote_path(&path, this->at.session, "/executions/", err) < 0 ||
	    client_path_add(&path, this->execution, false, err) < 0 ||
	    buf_adds(&path, what, err) < 0)
		return (int)err->code;
	if (client_call(this->at.client, "POST", buf_text(&path), body, NULL, err) < 0 &&
	    strcmp(client_last(this->at.client)->code, "not_waiting") != 0)
		return (int)err->code;
	return 0;
}

static int send_results(struct remote_run *this, struct err *err)
{
	for (;;) {
		cleanup_buf struct buf body = BUF_INIT(RESULTS_MAX);
		const int code = remote_tools_take(this->tools, &body, err);

		if (code <= 0)
			return code;
		if (post_answer(this, "/tool_results", &body, err) < 0)
			return (int)err->code;
	}
}

static int answer_input(struct remote_run *this, const struct json_value *event, struct err *err)
{
	cleanup_buf struct buf line = BUF_INIT(ANSWER_MAX), body = BUF_INIT(ANSWER_MAX * 8);
	const char *prompt = remote_text(event, "prompt");
	bool password = false;
	int got;

	(void)json_read_bool(json_read_member(event, "password"), &password);
	got = run_ask(&this->output, &(struct run_question){ prompt, strlen(prompt), password },
		      &interrupts, &line);
	if (got < 0)
		return 0; /* the interrupt is on its way */
	if (write_answer(event, &line, got == 0, &body, err) < 0)
		return (int)err->code;
	return post_answer(this, "/input", &body, err);
}

/* Not while libcurl hands out events: it takes no request meanwhile. */
static int answer_question(struct remote_run *this, struct err *err)
{
	struct json_value *event;
	int code;

	if (json_read_parse(buf_text(&this->question), this->question.len, CLIENT_JSON_MAX, &event,
			    err) < 0)
		return (int)err->code;
	buf_clear(&this->question);
	code = answer_input(this, event, err);
	json_read_free(event);
	return code;
}

/* The first Ctrl-C stops the cell, as for a session of one's own; the second leaves it alone. */
static int on_wake(const char *id, void *arg, struct err *err)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000000L };
	struct remote_run *this = arg;
	char bytes[16];

	(void)!read(wake_pipe[0], bytes, sizeof(bytes));
	if (this->question.len > 0 && answer_question(this, err) < 0)
		return (int)err->code;
	if (this->tools != NULL && send_results(this, err) < 0)
		return (int)err->code;
	if (atomic_load(&interrupts) == 0)
		return 0;
	if (atomic_load(&interrupts) > 1) {
		this->left = true;
		return err_set(err, ERR_TIMEOUT, "left");
	}
	if (id[0] == '\0') {
		/* Which cell is ours is known in a moment. */
		(void)nanosleep(&pause, NULL);
		(void)!write(wake_pipe[1], "", 1);
		return 0;
	}
	if (remote_is_queued(&this->at, id)) {
		run_output_line(
			"reckon: the cell waits for its turn; Ctrl-C again leaves it to run "
			"later");
		return 0;
	}
	return remote_interrupt(&this->at, err);
}

/* ---- files ---------------------------------------------------------------------------------- */

static int put_files(struct remote_run *this, struct err *err)
{
	for (size_t i = 0; i < this->at.run->file_count; i++)
		if (remote_put_file(&this->at, &this->at.run->files[i], err) < 0)
			return err_wrap(err, "%.200s", this->at.run->files[i].path);
	return 0;
}

/* ---- cells ---------------------------------------------------------------------------------- */

static int keep_record(struct remote_run *this, const struct json_value *event, struct err *err)
{
	buf_clear(&this->record);
	return json_read_dump(json_read_member(event, "record"), &this->record, err);
}

static void on_begun(const char *id, void *arg)
{
	struct remote_run *this = arg;

	(void)snprintf(this->execution, sizeof(this->execution), "%s", id);
}

static int on_event(const char *name, const char *json, size_t len, void *arg, struct err *err)
{
	struct remote_run *this = arg;
	reckon_event event = { .name = name, .json = json, .json_len = len };
	struct json_value *document;
	int code = 0;

	run_tools_event(this->at.run->tools, &event);
	if (remote_read_event(this->at.client, &event, &document, err) < 0)
		return (int)err->code;
	if (strcmp(name, "done") == 0) {
		code = keep_record(this, document, err);
	} else if (strcmp(name, "input_request") == 0 && run_can_ask(this->at.run)) {
		buf_clear(&this->question);
		code = buf_add(&this->question, json, len, err);
		(void)!write(wake_pipe[1], "", 1);
	} else if (strcmp(name, "gap") == 0 && this->at.run->mode == RUN_MODE_TEXT) {
		run_output_line("reckon: %.0f events were missed",
				remote_number(json_read_member(document, "missing")));
	}
	if (code == 0 && this->at.run->mode != RUN_MODE_JSON)
		code = run_output_event(&event, &this->output) == RECKON_STOP
			       ? err_set(err, ERR_SYSTEM, "stdout")
			       : 0;
	json_read_free(document);
	return code;
}

/* The exit status that belongs to a record's status; as reckon_execution_exit_code() has it. */
static int exit_code_of(const char *status)
{
	static const struct {
		const char *status;
		int code;
	} known[] = {
		{ "ok", EXIT_CODE_OK },		  { "timeout", EXIT_CODE_TIMEOUT },
		{ "out_of_memory", EXIT_CODE_KILLED }, { "killed", EXIT_CODE_KILLED },
		{ "infra_error", EXIT_CODE_RECKON },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(known[i].status, status) == 0)
			return known[i].code;
	return EXIT_CODE_FAILED;
}

/* A `done` leaves out what came as events when that is much: `--json` shows the whole record. */
static int fetch_record(struct remote_run *this, const struct json_value *brief, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(256);
	struct json_value *whole = NULL;
	int code;

	if (remote_path(&path, this->at.session, "/executions/", err) < 0 ||
	    client_path_add(&path, remote_text(brief, "id"), false, err) < 0 ||
	    client_call(this->at.client, "GET", buf_text(&path), NULL, &whole, err) < 0)
		return (int)err->code;
	buf_clear(&this->record);
	code = json_read_dump(whole, &this->record, err);
	json_read_free(whole);
	return code;
}

static int end_cell(struct remote_run *this)
{
	struct json_value *record;
	struct err err;
	bool is_brief = false;
	int status, code = 0;

	if (json_read_parse(buf_text(&this->record), this->record.len, CLIENT_JSON_MAX, &record,
			    &err) < 0) {
		(void)err_wrap(&err, "cell %zu: record", this->output.cell);
		return remote_complain(this->self, &err);
	}
	status = run_program_status(this->at.run, record,
				    exit_code_of(remote_text(record, "status")));
	(void)json_read_bool(json_read_member(record, "streamed"), &is_brief);
	if (is_brief && this->at.run->mode == RUN_MODE_JSON)
		code = fetch_record(this, record, &err);
	json_read_free(record);
	if (code < 0)
		return remote_complain(this->self, &err);
	run_output_record(&this->output, buf_text(&this->record), this->record.len);
	return this->output.status != 0 ? this->output.status : status;
}

static int run_cell(struct remote_run *this, const struct run_cell *cell)
{
	cleanup_buf struct buf body = BUF_INIT(CLIENT_JSON_MAX);
	const struct client_execution execution = {
		.session = remote_text(this->at.session, "id"),
		.body = &body,
		.on_event = on_event,
		.on_event_arg = this,
		.on_begun = on_begun,
		.wake_fd = wake_pipe[0],
		.on_wake = on_wake,
		.on_wake_arg = this,
	};
	struct err err;
	int code = remote_cell_body(this->at.run, cell->source.data, cell->source.len, &body,
				    &err);

	buf_clear(&this->record);
	if (code == 0 && this->tools != NULL)
		run_tools_begin_for(this->at.run->tools, remote_tools_answer, this->tools);
	if (code == 0)
		code = client_execute(this->at.client, &execution, &err);
	if (this->tools != NULL) {
		run_tools_end(this->at.run->tools);
		remote_tools_forget(this->tools);
	}
	if (code == 0)
		return end_cell(this);
	run_output_settle(&this->output);
	if (this->output.status != 0)
		return this->output.status; /* whoever read our output went away */
	if (this->left) {
		run_output_line(
			"reckon: left session %s; its cell may still run (reckon logs -s %s)",
			this->at.run->session, this->at.run->session);
		return EXIT_CODE_INTERRUPTED;
	}
	(void)err_wrap(&err, "cell %zu", this->output.cell);
	return remote_complain(this->self, &err);
}

static int ignore_event(const char *name, const char *json, size_t len, void *arg, struct err *err)
{
	(void)name;
	(void)json;
	(void)len;
	(void)arg;
	(void)err;
	return 0;
}

/* Gives the program its arguments; no cell of the user's. */
static int run_prologue(struct remote_run *this)
{
	cleanup_buf struct buf body = BUF_INIT(CLIENT_JSON_MAX);
	const struct buf *code = &this->at.run->prologue;
	const struct client_execution execution = {
		.session = remote_text(this->at.session, "id"),
		.body = &body,
		.on_event = ignore_event,
		.wake_fd = -1,
	};
	struct err err;

	if (code->len == 0)
		return EXIT_CODE_OK;
	if (remote_cell_body(this->at.run, code->data, code->len, &body, &err) < 0 ||
	    client_execute(this->at.client, &execution, &err) < 0) {
		(void)err_wrap(&err, "arguments");
		return remote_complain(this->self, &err);
	}
	return EXIT_CODE_OK;
}

static int run_cells(struct remote_run *this)
{
	const struct run *run = this->at.run;
	int first_failure = run_prologue(this);

	if (first_failure != EXIT_CODE_OK)
		return first_failure;
	catch_interrupts();
	for (size_t i = 0; i < run->cell_count; i++) {
		int status;

		if (atomic_load(&interrupts) > 0)
			return first_failure != 0 ? first_failure : EXIT_CODE_INTERRUPTED;
		this->output.cell = i + 1;
		status = run_cell(this, &run->cells[i]);
		if (first_failure == EXIT_CODE_OK)
			first_failure = status;
		if (this->left || this->output.status != 0)
			return first_failure;
		if (status != EXIT_CODE_OK && !run->keep_going) {
			if (i + 1 < run->cell_count)
				run_output_line("reckon: %zu of %zu cells not run (--keep-going "
						"runs them all the same)",
						run->cell_count - i - 1, run->cell_count);
			return first_failure;
		}
	}
	return first_failure;
}

/* ---- the run -------------------------------------------------------------------------------- */

static int run_in_session(struct remote_run *this)
{
	cleanup_fd int out_dir = -1;
	struct err err;
	int status;
	bool made;

	if (remote_cells_open(&this->at, this->at.run->session, &made, &err) < 0)
		return remote_complain(this->self, &err);
	if (this->at.run->out_path != NULL &&
	    run_files_open_dir(this->at.run->out_path, &out_dir, &err) < 0) {
		(void)err_wrap(&err, "--output");
		(void)remote_complain(this->self, &err);
		return EXIT_CODE_USAGE;
	}
	this->output.out_dir = out_dir;
	if (remote_number(json_read_member(this->at.session, "pending")) > 0)
		run_output_line("reckon: session %s is busy; waiting for its turn",
				this->at.run->session);
	if (put_files(this, &err) < 0)
		return remote_complain(this->self, &err);
	status = run_cells(this);
	if (atomic_load(&interrupts) > 1)
		return EXIT_CODE_INTERRUPTED;
	return status == EXIT_CODE_OK && this->output.unsaved ? EXIT_CODE_RECKON : status;
}

static int run_all(struct remote_run *this)
{
	const struct remote where = { .where = { .url = this->at.run->url,
						 .key = this->at.run->key },
				      .no_wait = this->at.run->no_wait };
	struct err err;
	int status;

	if (set_signals(&err) < 0 || remote_open(&where, &this->at.client, &err) < 0)
		return remote_complain(this->self, &err);
	run_output_init(&this->output, this->at.run);
	this->output.is_program = true;
	run_output_show_figures(&this->output);
	this->output.fetch = remote_fetch;
	this->output.fetch_arg = &this->at;
	this->record = BUF_INIT(CLIENT_JSON_MAX);
	this->question = BUF_INIT(CLIENT_JSON_MAX);
	if (this->at.run->tools != NULL)
		this->tools = remote_tools_new(wake_pipe[1]);
	status = run_in_session(this);
	buf_done(&this->record);
	buf_done(&this->question);
	remote_tools_free(TAKE_PTR(this->tools));
	json_read_free(this->at.session);
	client_close(this->at.client);
	return status;
}

int remote_run(const struct opt_command *self, int argc, char **argv)
{
	struct run run;
	struct remote_run this = { .self = self, .at = { .run = &run } };
	struct err err;
	int status;

	run_init(&run);
	status = remote_parse(self, argc, argv, run_options_take, &run);
	if (status < 0 && (remote_check_fit(&run, &err) < 0 || run_options_check(&run, &err) < 0 ||
			   run_input_load(&run, &err) < 0 ||
			   (run.tools_path != NULL &&
			    run_tools_load(run.tools_path, run.approve, &run.tools, &err) < 0))) {
		(void)remote_complain(self, &err);
		status = EXIT_CODE_USAGE;
	}
	if (status < 0)
		status = run_all(&this);
	run_tools_free(TAKE_PTR(run.tools));
	run_done(&run);
	return status;
}
