/*
 * daemon_cell.c - runs one cell in a daemon's session: its events, input, tools, Ctrl-C and record.
 *
 * Runs in:  reckon-client.
 * Reads:    events and records of a daemon, with text from a box.
 * Never:    sends a request inside a libcurl callback.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/remote/tools.h"
#include "cli/run/tools.h"
#include "cli/session/daemon_state.h"
#include "cli/session/interrupt.h"
#include "codec/json_get.h"
#include "codec/json_write.h"

#define ANSWER_MAX ((size_t)8 * 1024 * 1024)
#define RESULTS_MAX ((size_t)32 * 1024 * 1024)
/* the longest time limit that a daemon accepts for a cell */
#define WALL_MAX_MS (UINT64_C(24) * 3600 * 1000)
#define GRACE_S 20u /* a little longer than the client retries a broken connection */

static void wake(const struct daemon *this)
{
	(void)!write(this->wake[1], "", 1);
}

/* ---- requests for a running cell ------------------------------------------------------------ */

static int execution_path(const struct daemon *this, const char *what, struct buf *path,
			  struct err *err)
{
	if (remote_path(path, this->at.session, "/executions/", err) < 0 ||
	    client_path_add(path, this->execution, false, err) < 0)
		return (int)err->code;
	return buf_adds(path, what, err);
}

/*
 * Posts to the cell's path. "not_waiting" is no failure: somebody else answered, or the cell has
 * ended.
 */
static int post_answer(struct daemon *this, const char *what, const struct buf *body,
		       struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);

	if (execution_path(this, what, &path, err) < 0)
		return (int)err->code;
	if (client_call(this->at.client, "POST", buf_text(&path), body, NULL, err) < 0 &&
	    strcmp(client_last(this->at.client)->code, "not_waiting") != 0)
		return (int)err->code;
	return 0;
}

static int send_results(struct daemon *this, struct err *err)
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

static int write_line(const struct json_value *event, const char *line, size_t len,
		      struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	if (line == NULL)
		json_write_member_bool(&json, "end", true);
	else
		json_write_member_text(&json, "text", line, len);
	json_write_member_uint(&json, "seq",
			       (uint64_t)remote_number(json_read_member(event, "seq")));
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

static int answer_input(struct daemon *this, const struct json_value *event, struct err *err)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	cleanup_free char *line = NULL;
	const char *prompt = json_get_str(event, "prompt");
	bool password = false;
	size_t len = 0;

	(void)json_read_bool(json_read_member(event, "password"), &password);
	if (this->cell->on_input(prompt, strlen(prompt), password, &line, &len,
				 this->cell->on_input_arg) == RECKON_STOP)
		return 0; /* Ctrl-C ended the read; the interrupt follows */
	if (write_line(event, line, len, &body, err) < 0)
		return (int)err->code;
	return post_answer(this, "/input", &body, err);
}

/* Called outside libcurl's callbacks, which cannot send requests. */
static int answer_question(struct daemon *this, struct err *err)
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

/* Whether the cell is queued behind others: an interrupt would then hit somebody else's cell. */
static bool is_queued(const struct daemon *this)
{
	cleanup_buf struct buf path = BUF_INIT(1024);
	struct json_value *execution;
	struct err ignored;
	bool queued;

	if (execution_path(this, "", &path, &ignored) < 0 ||
	    client_call(this->at.client, "GET", buf_text(&path), NULL, &execution, &ignored) < 0)
		return false;
	queued = strcmp(json_get_str(execution, "status"), "queued") == 0;
	json_read_free(execution);
	return queued;
}

static int interrupt(const struct daemon *this, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024), body = BUF_INIT(16);

	if (buf_adds(&body, "{}", err) < 0 ||
	    remote_path(&path, this->at.session, "/interrupt", err) < 0)
		return (int)err->code;
	return client_call(this->at.client, "POST", buf_text(&path), &body, NULL, err);
}

/* Cancels only our cell, even if it is still queued. */
static int cancel(struct daemon *this, struct err *err)
{
	cleanup_buf struct buf body = BUF_INIT(16);

	return buf_adds(&body, "{}", err) < 0 ? (int)err->code
					      : post_answer(this, "/cancel", &body, err);
}

static int leave(struct daemon *this, struct err *err)
{
	this->base.is_left = true;
	(void)err_set(err, ERR_TIMEOUT, "left session %s; its cell may still run", this->name);
	return err_remedy(err, "reckon logs -s %s", this->name);
}

/* The first Ctrl-C interrupts the cell, as in a local session; the second leaves it running. */
static int on_wake(const char *id, void *arg, struct err *err)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000000L };
	struct daemon *this = arg;
	char bytes[16];

	(void)!read(this->wake[0], bytes, sizeof(bytes));
	if (this->question.len > 0 && answer_question(this, err) < 0)
		return (int)err->code;
	if (this->tools != NULL && send_results(this, err) < 0)
		return (int)err->code;
	if (interrupt_count() == 0)
		return interrupt_is_late() && id[0] != '\0' ? cancel(this, err) : 0;
	if (interrupt_count() > 1)
		return leave(this, err);
	if (id[0] == '\0') {
		/* The daemon has not sent the cell's id yet; try again. */
		(void)nanosleep(&pause, NULL);
		wake(this);
		return 0;
	}
	if (is_queued(this)) {
		run_output_line(
			"reckon: the cell waits for its turn; Ctrl-C again leaves it to run "
			"later");
		return 0;
	}
	return interrupt(this, err);
}

/* ---- cells ---------------------------------------------------------------------------------- */

static void on_begun(const char *id, void *arg)
{
	struct daemon *this = arg;

	(void)snprintf(this->execution, sizeof(this->execution), "%s", id);
	if (this->cell->on_begun != NULL)
		this->cell->on_begun(id, this->cell->on_begun_arg);
}

static int take_event(struct daemon *this, const reckon_event *event,
		      const struct json_value *document, struct err *err)
{
	int code = 0;

	if (strcmp(event->name, "done") == 0) {
		buf_clear(this->record);
		return json_read_dump(json_read_member(document, "record"), this->record, err);
	}
	if (strcmp(event->name, "input_request") == 0 && this->cell->on_input != NULL) {
		buf_clear(&this->question);
		code = buf_add(&this->question, event->json, event->json_len, err);
		wake(this);
	} else if (strcmp(event->name, "gap") == 0 && this->base.run->mode == RUN_MODE_TEXT) {
		run_output_line("reckon: %.0f events were missed",
				remote_number(json_read_member(document, "missing")));
	}
	return code;
}

static int on_event(const char *name, const char *json, size_t len, void *arg, struct err *err)
{
	struct daemon *this = arg;
	const struct session_cell *cell = this->cell;
	reckon_event event = { .name = name, .json = json, .json_len = len };
	struct json_value *document;
	int code;

	if (remote_read_event(this->at.client, &event, &document, err) < 0)
		return (int)err->code;
	code = take_event(this, &event, document, err);
	if (code == 0 && cell->on_event != NULL &&
	    cell->on_event(&event, cell->on_event_arg) == RECKON_STOP)
		code = err_set(err, ERR_SYSTEM, "stdout");
	json_read_free(document);
	return code;
}

static int write_cell(const struct daemon *this, const struct session_cell *cell, struct buf *ret,
		      struct err *err)
{
	const struct run *run = this->base.run;
	const uint64_t wall_ms = cell->wall_ms != 0 ? cell->wall_ms : run->limits.wall_ms;
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_text(&json, "code", cell->code, cell->len);
	/* A language other than the session's gets its own kernel in the session. */
	if (run->language != NULL)
		json_write_member_string(&json, "language", run->language);
	if (wall_ms != 0) {
		json_write_key(&json, "timeout_s");
		json_write_seconds(&json, (wall_ms < WALL_MAX_MS ? wall_ms : WALL_MAX_MS) *
						  1000000u);
	}
	if (run->text_bytes != 0)
		json_write_member_uint(&json, "max_text", run->text_bytes);
	if (cell->on_input != NULL)
		json_write_member_bool(&json, "allow_input", true);
	if (cell->tools != NULL && run_tools_declare(cell->tools, &json, err) < 0)
		return (int)err->code;
	if (run->on_disconnect != NULL)
		json_write_member_string(&json, "on_disconnect", run->on_disconnect);
	if (run->on_disconnect != NULL && strcmp(run->on_disconnect, "cancel") == 0)
		json_write_member_uint(&json, "disconnect_grace_s", GRACE_S);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

/* The exit status for a record's status, as in reckon_execution_exit_code(). */
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

/* The record in an event stream omits outputs that came as events; the stored record has them. */
static int fetch_record(struct daemon *this, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);
	struct json_value *whole = NULL;
	int code;

	if (execution_path(this, "", &path, err) < 0 ||
	    client_call(this->at.client, "GET", buf_text(&path), NULL, &whole, err) < 0)
		return (int)err->code;
	buf_clear(this->record);
	code = json_read_dump(whole, this->record, err);
	json_read_free(whole);
	return code;
}

static int take_record(struct daemon *this, const struct session_cell *cell, int *ret_exit_code,
		       struct err *err)
{
	struct json_value *record;
	bool is_brief = false;

	if (json_read_parse(buf_text(this->record), this->record->len, CLIENT_JSON_MAX, &record,
			    err) < 0)
		return err_wrap(err, "record");
	*ret_exit_code = exit_code_of(json_get_str(record, "status"));
	(void)json_read_bool(json_read_member(record, "streamed"), &is_brief);
	(void)snprintf(this->context, sizeof(this->context), "%s", json_get_str(record, "context"));
	(void)snprintf(this->execution, sizeof(this->execution), "%s", json_get_str(record, "id"));
	json_read_free(record);
	return is_brief && cell->wants_outputs ? fetch_record(this, err) : 0;
}

int daemon_execute(struct session *session, const struct session_cell *cell,
		   struct session_result *ret, struct err *err)
{
	cleanup_buf struct buf body = BUF_INIT(CLIENT_JSON_MAX);
	struct daemon *this = daemon_of(session);
	const struct client_execution execution = {
		.session = session->id,
		.body = &body,
		.on_event = on_event,
		.on_event_arg = this,
		.on_begun = on_begun,
		.wake_fd = this->wake[0],
		.on_wake = on_wake,
		.on_wake_arg = this,
	};
	int code = write_cell(this, cell, &body, err);

	if (code < 0)
		return code;
	this->cell = cell;
	this->record = &ret->record;
	if (cell->tools != NULL && this->tools == NULL)
		this->tools = remote_tools_new(this->wake[1]);
	if (cell->tools != NULL)
		run_tools_begin_for(cell->tools, remote_tools_answer, this->tools);
	code = client_execute(this->at.client, &execution, err);
	run_tools_end(cell->tools);
	if (this->tools != NULL)
		remote_tools_forget(this->tools);
	buf_clear(&this->question);
	if (code < 0 && interrupt_is_late() &&
	    strcmp(client_last(this->at.client)->code, "execution_cancelled") == 0)
		return err_set(err, ERR_TIMEOUT, "the cell had not begun when the time was over");
	return code < 0 ? code : take_record(this, cell, &ret->exit_code, err);
}
