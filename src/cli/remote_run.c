/*
 * remote_run.c - reckon run -s: cells in a session of a daemon, which stays when they have run.
 *
 * Runs in:  reckon-client.
 * Reads:    the command line; events and records of a daemon, whose text is a box's.
 * Never:    changes what a session is: what was said at its making cannot be said otherwise later.
 *
 * What comes out is what `reckon run` prints: run_output.c and its kin get the same events and the
 * same records, only from elsewhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/remote.h"
#include "cli/run.h"
#include "cli/run_options.h"
#include "codec/json_write.h"

struct remote_run {
	const struct opt_command *self;
	const struct run *run;
	struct client *client;
	struct json_value *session;
	struct run_output output;
	struct buf record; /* of the cell that ran last */
	bool left; /* the second Ctrl-C */
};

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

/* Whether it waits behind other cells of the session: what runs then is somebody else's. */
static bool is_queued(struct remote_run *this, const char *id)
{
	cleanup_buf struct buf path = BUF_INIT(1024);
	struct json_value *execution;
	struct err ignored;
	bool queued;

	if (remote_path(&path, this->session, "/executions/", &ignored) < 0 ||
	    client_path_add(&path, id, false, &ignored) < 0 ||
	    client_call(this->client, "GET", buf_text(&path), NULL, &execution, &ignored) < 0)
		return false;
	queued = strcmp(remote_text(execution, "status"), "queued") == 0;
	json_read_free(execution);
	return queued;
}

/* The first Ctrl-C stops the cell, as for a session of one's own; the second leaves it alone. */
static int on_wake(const char *id, void *arg, struct err *err)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000000L };
	cleanup_buf struct buf path = BUF_INIT(1024), body = BUF_INIT(16);
	struct remote_run *this = arg;
	char bytes[16];

	(void)!read(wake_pipe[0], bytes, sizeof(bytes));
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
	if (is_queued(this, id)) {
		run_output_line("reckon: the cell waits for its turn; Ctrl-C again leaves it to run "
				"later");
		return 0;
	}
	if (buf_adds(&body, "{}", err) < 0 ||
	    remote_path(&path, this->session, "/interrupt", err) < 0)
		return (int)err->code;
	return client_call(this->client, "POST", buf_text(&path), &body, NULL, err);
}

/* ---- the session ---------------------------------------------------------------------------- */

static double number_of(const struct json_value *value)
{
	double number = 0;
	int64_t whole = 0;

	if (json_read_int(value, &whole))
		return (double)whole;
	(void)json_read_double(value, &number);
	return number;
}

static int differs(const struct remote_run *this, const char *option, struct err *err)
{
	(void)err_set(err, ERR_INVALID, "--%s cannot be changed: session %s is there already",
		      option, this->run->session);
	return err_remedy(err, "leave it out, take another name, or end that one: reckon session rm "
			       "%s", this->run->session);
}

/* What was asked for at its making may be said again, so that a script can always say it. */
static int check_same(const struct remote_run *this, struct err *err)
{
	const reckon_limits *limits = &this->run->limits;
	const struct json_value *now = json_read_member(this->session, "limits");
	const struct {
		const char *option, *name;
		double value;
	} numbers[] = {
		{ "cpu-time", "cpu_s", (double)limits->cpu_ms / 1000 },
		{ "memory", "memory_bytes", (double)limits->memory_bytes },
		{ "disk", "disk_bytes", (double)limits->disk_bytes },
		{ "max-output", "output_bytes", (double)limits->output_bytes },
		{ "pids", "processes", limits->pids },
		{ "cpus", "cpu_percent", limits->cpu_percent },
	};
	const struct {
		const char *option, *value;
	} texts[] = {
		{ "template", this->run->template_name },
		{ "language", this->run->language },
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i].value != NULL &&
		    strcmp(texts[i].value, remote_text(this->session, texts[i].option)) != 0)
			return differs(this, texts[i].option, err);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i].value > 0 &&
		    fabs(numbers[i].value - number_of(json_read_member(now, numbers[i].name))) >
			    0.0005)
			return differs(this, numbers[i].option, err);
	return this->run->env_count > 0 ? differs(this, "env", err) : 0;
}

static int make_session(struct remote_run *this, const struct err *before, struct err *err)
{
	cleanup_buf struct buf body = BUF_INIT(1024 * 1024);

	if (remote_session_body(this->run, this->run->session, 0, false, &body, err) < 0)
		return (int)err->code;
	if (client_call(this->client, "POST", "sessions", &body, &this->session, err) == 0) {
		if (before->code == ERR_LOST)
			run_output_line("reckon: %s", before->text);
		run_output_line("reckon: made session %s (reckon session rm %s ends it)",
				this->run->session, this->run->session);
		return 0;
	}
	/* Somebody else made it in this moment. */
	if (strcmp(client_last(this->client)->code, "session_exists") != 0)
		return (int)err->code;
	if (remote_session(this->client, this->run->session, &this->session, err) < 0)
		return (int)err->code;
	return check_same(this, err);
}

static int find_session(struct remote_run *this, struct err *err)
{
	struct err before;
	const int code = remote_session(this->client, this->run->session, &this->session, &before);

	if (code == 0)
		return check_same(this, err);
	/* An id is given by a daemon: one that is not there cannot be made. */
	if ((code == ERR_NOT_FOUND || code == ERR_LOST) &&
	    strncmp(this->run->session, "se_", 3) != 0)
		return make_session(this, &before, err);
	*err = before;
	return code;
}

/* ---- files ---------------------------------------------------------------------------------- */

static int file_path(const struct remote_run *this, const char *name, struct buf *path,
		     struct err *err)
{
	if (remote_path(path, this->session, "/files/", err) < 0)
		return (int)err->code;
	return client_path_add(path, name, true, err);
}

static int put_files(struct remote_run *this, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(64 * 1024);

	for (size_t i = 0; i < this->run->file_count; i++) {
		const struct run_file *file = &this->run->files[i];
		struct stat st;

		if (fstat(file->fd, &st) < 0)
			return err_sys(err, "%.200s", file->path);
		if (file_path(this, file->name, &path, err) < 0 ||
		    client_upload(this->client, buf_text(&path), file->fd, (uint64_t)st.st_size,
				  err) < 0)
			return err_wrap(err, "%.200s", file->path);
	}
	return 0;
}

/* The stored copy when there is one: it is what the record describes, whatever came later. */
static int fetch(const char *path, const char *artifact, int fd, void *arg, struct err *err)
{
	cleanup_buf struct buf where = BUF_INIT(64 * 1024);
	struct remote_run *this = arg;

	if (artifact == NULL ? file_path(this, path, &where, err) < 0
			     : (buf_adds(&where, "artifacts/", err) < 0 ||
				client_path_add(&where, artifact, false, err) < 0))
		return (int)err->code;
	return client_download(this->client, buf_text(&where), fd, NULL, err);
}

/* ---- cells ---------------------------------------------------------------------------------- */

static int keep_record(struct remote_run *this, const struct json_value *event, struct err *err)
{
	buf_clear(&this->record);
	return json_read_dump(json_read_member(event, "record"), &this->record, err);
}

static int on_event(const char *name, const char *json, size_t len, void *arg, struct err *err)
{
	struct remote_run *this = arg;
	reckon_event event = { .name = name, .json = json, .json_len = len };
	struct json_value *document;
	int code = 0;

	if (json_read_parse(json, len, CLIENT_JSON_MAX, &document, err) < 0) {
		err->code = ERR_PROTOCOL;
		return err_wrap(err, "%s sent an event that is no JSON", client_name(this->client));
	}
	if (strcmp(name, "stream") == 0) {
		event.text = json_read_text(json_read_member(document, "text"), &event.text_len);
		event.stream = strcmp(remote_text(document, "name"), "stderr") == 0 ? 2 : 1;
	} else if (strcmp(name, "done") == 0) {
		code = keep_record(this, document, err);
	} else if (strcmp(name, "gap") == 0 && this->run->mode == RUN_MODE_TEXT) {
		run_output_line("reckon: %.0f events were missed",
				number_of(json_read_member(document, "missing")));
	}
	if (code == 0 && this->run->mode != RUN_MODE_JSON)
		code = run_output_event(&event, &this->output) == RECKON_STOP
			       ? err_set(err, ERR_SYSTEM, "stdout")
			       : 0;
	json_read_free(document);
	return code;
}

static int cell_body(const struct run *run, const struct run_cell *cell, struct buf *ret,
		     struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_text(&json, "code", cell->source.data, cell->source.len);
	if (run->limits.wall_ms != 0) {
		json_write_key(&json, "timeout_s");
		json_write_seconds(&json, run->limits.wall_ms * 1000000u);
	}
	if (run->text_bytes != 0)
		json_write_member_uint(&json, "max_text", run->text_bytes);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
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

static int end_cell(struct remote_run *this)
{
	struct json_value *record;
	struct err err;
	int status;

	if (json_read_parse(buf_text(&this->record), this->record.len, CLIENT_JSON_MAX, &record,
			    &err) < 0) {
		(void)err_wrap(&err, "cell %zu: record", this->output.cell);
		return remote_complain(this->self, &err);
	}
	status = exit_code_of(remote_text(record, "status"));
	json_read_free(record);
	run_output_record(&this->output, buf_text(&this->record), this->record.len);
	return this->output.status != 0 ? this->output.status : status;
}

static int run_cell(struct remote_run *this, const struct run_cell *cell)
{
	cleanup_buf struct buf body = BUF_INIT(CLIENT_JSON_MAX);
	const struct client_execution execution = {
		.session = remote_text(this->session, "id"),
		.body = &body,
		.on_event = on_event,
		.on_event_arg = this,
		.wake_fd = wake_pipe[0],
		.on_wake = on_wake,
		.on_wake_arg = this,
	};
	struct err err;
	int code = cell_body(this->run, cell, &body, &err);

	buf_clear(&this->record);
	if (code == 0)
		code = client_execute(this->client, &execution, &err);
	if (code == 0)
		return end_cell(this);
	run_output_settle(&this->output);
	if (this->output.status != 0)
		return this->output.status; /* whoever read our output went away */
	if (this->left) {
		run_output_line("reckon: left session %s; its cell may still run (reckon logs -s %s)",
				this->run->session, this->run->session);
		return EXIT_CODE_INTERRUPTED;
	}
	(void)err_wrap(&err, "cell %zu", this->output.cell);
	return remote_complain(this->self, &err);
}

static int run_cells(struct remote_run *this)
{
	const struct run *run = this->run;
	int first_failure = EXIT_CODE_OK;

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

	if (find_session(this, &err) < 0)
		return remote_complain(this->self, &err);
	if (this->run->out_path != NULL && run_files_open_dir(this->run->out_path, &out_dir, &err) < 0) {
		(void)err_wrap(&err, "--output");
		(void)remote_complain(this->self, &err);
		return EXIT_CODE_USAGE;
	}
	this->output.out_dir = out_dir;
	if (number_of(json_read_member(this->session, "pending")) > 0)
		run_output_line("reckon: session %s is busy; waiting for its turn",
				this->run->session);
	if (put_files(this, &err) < 0)
		return remote_complain(this->self, &err);
	status = run_cells(this);
	if (atomic_load(&interrupts) > 1)
		return EXIT_CODE_INTERRUPTED;
	return status == EXIT_CODE_OK && this->output.unsaved ? EXIT_CODE_RECKON : status;
}

static int run_all(struct remote_run *this)
{
	const struct remote where = { .where = { .url = this->run->url, .key = this->run->key },
				      .no_wait = this->run->no_wait };
	struct err err;
	int status;

	if (set_signals(&err) < 0 || remote_open(&where, &this->client, &err) < 0)
		return remote_complain(this->self, &err);
	run_output_init(&this->output, this->run);
	this->output.fetch = fetch;
	this->output.fetch_arg = this;
	this->record = BUF_INIT(CLIENT_JSON_MAX);
	status = run_in_session(this);
	buf_done(&this->record);
	json_read_free(this->session);
	client_close(this->client);
	return status;
}

/* Options of a box that is made for one run, or that a daemon does not let its clients say. */
static int check_fit(const struct run *run, struct err *err)
{
	const char *option = run->mount_count > 0      ? "--mount"
			     : run->stdin_path != NULL ? "--stdin"
			     : run->session_flags != 0 ? "--isolate-cpu"
			     : run->strict	       ? "--strict"
			     : run->private_warden     ? "--private"
						       : NULL;

	if (option == NULL)
		return 0;
	(void)err_set(err, ERR_INVALID, "%s does not go with -s: the session is a daemon's", option);
	if (run->mount_count > 0)
		return err_remedy(err, "-f, or reckon files put, takes files there");
	return err_remedy(err, "leave it out, or run without -s");
}

int remote_run(const struct opt_command *self, int argc, char **argv)
{
	struct run run;
	struct remote_run this = { .self = self, .run = &run };
	struct err err;
	int status;

	run_init(&run);
	status = remote_parse(self, argc, argv, run_options_take, &run);
	if (status < 0 && (check_fit(&run, &err) < 0 || run_options_check(&run, &err) < 0 ||
			   run_input_load(&run, &err) < 0)) {
		(void)remote_complain(self, &err);
		status = EXIT_CODE_USAGE;
	}
	if (status < 0)
		status = run_all(&this);
	run_done(&run);
	return status;
}
