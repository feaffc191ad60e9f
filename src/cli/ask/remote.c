/*
 * remote.c - where cells run: in a session of a daemon, which stays.
 *
 * Runs in:  reckon-client.
 * Reads:    events and records of a daemon, whose text is a box's.
 * Never:    takes a daemon's address from a stored run; begins a session in the place of one that
 *           is gone without a word.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"
#include "cli/remote/cells.h"
#include "codec/json_read.h"

struct remote_ask {
	struct remote_cells at;
	struct buf *record; /* of the cell that runs */
	struct ask *ask;
	char name[64]; /* of the session that renew() makes; "" none */
	int wake[2];
	bool left; /* the second Ctrl-C */
};

/* ---- the session ---- */

static const char *url_of(const struct client *client)
{
	return client_is_private(client) ? NULL : client_name(client);
}

/* A stored run says where its session is; whether that is asked, the person says. */
static int check_daemon(const struct ask *ask, const struct client *client, struct err *err)
{
	const char *then = ask->resume.session_url, *now = url_of(client);

	if ((then == NULL) == (now == NULL) && (then == NULL || strcmp(then, now) == 0))
		return 0;
	err_set(err, ERR_INVALID, "the run's session is at %.160s, and this is %.100s",
		then != NULL ? then : "your private daemon", client_name(client));
	return err_remedy(err, then != NULL
				       ? "--url or RECKON_URL says which one is meant; -s NAME "
					 "goes on in another session"
				       : "unset RECKON_URL, or -s NAME goes on in another "
					 "session");
}

static int open_named(struct remote_ask *this, const char *name, struct err *err)
{
	if (remote_cells_open(&this->at, name, &this->ask->is_fresh, err) < 0)
		return (int)err->code;
	(void)snprintf(this->name, sizeof(this->name), "%s",
		       remote_text(this->at.session, "name"));
	return 0;
}

/* That of the run while it lives, else a new one of its name. */
static int open_again(struct remote_ask *this, struct err *err)
{
	const struct ask_resume *resume = &this->ask->resume;
	struct err why;
	int rc;

	if (check_daemon(this->ask, this->at.client, err) < 0)
		return (int)err->code;
	rc = remote_session(this->at.client, resume->session_id, &this->at.session, &why);
	if (rc == 0) {
		(void)snprintf(this->name, sizeof(this->name), "%s",
			       remote_text(this->at.session, "name"));
		return remote_check_same(&this->at, err);
	}
	if (rc != ERR_LOST && rc != ERR_NOT_FOUND) {
		*err = why;
		return rc;
	}
	if (resume->session_name == NULL)
		run_output_line("reckon: %s", why.text);
	if (open_named(this, resume->session_name != NULL ? resume->session_name : this->name,
		       err) < 0)
		return (int)err->code;
	if (!this->ask->is_fresh)
		run_output_line("reckon: another session is named %s now", this->name);
	this->ask->is_fresh = true; /* for this run it is */
	return 0;
}

static int open_one(struct remote_ask *this, struct err *err)
{
	struct ask *ask = this->ask;
	const struct journal *journal = &ask->keep.journal;

	(void)snprintf(this->name, sizeof(this->name), "chat-%s",
		       journal->id[0] != '\0' ? journal->id : "unkept");
	if (ask->view.run.session != NULL)
		return open_named(this, ask->view.run.session, err);
	if (ask->resume.session_id != NULL)
		return open_again(this, err);
	/* Nobody else has the name of a run; what is not kept has none. */
	if (journal->id[0] == '\0')
		(void)snprintf(this->name, sizeof(this->name), "chat-%ld", (long)getpid());
	return open_named(this, this->name, err);
}

static void note_session(struct remote_ask *this)
{
	ask_keep_session(this->ask, remote_text(this->at.session, "id"), this->name,
			 url_of(this->at.client));
}

/* A chat that names no session runs without a daemon as well, with less. */
static bool may_do_without(const struct ask *ask, const struct err *err)
{
	return ask->is_chat && ask->view.run.session == NULL && ask->resume.session_id == NULL &&
	       (err->code == ERR_UNAVAILABLE || err->code == ERR_TIMEOUT ||
		err->code == ERR_SYSTEM || err->code == ERR_LIMIT || err->code == ERR_DENIED);
}

static void end(struct ask *ask)
{
	struct remote_ask *this = ask->place_data;

	ask_wake(-1);
	ask->view.output.fetch = NULL;
	json_read_free(this->at.session);
	client_close(this->at.client);
	for (size_t i = 0; i < ARRAY_LEN(this->wake); i++)
		if (this->wake[i] >= 0)
			(void)close(this->wake[i]);
	free(this);
	ask->place_data = NULL;
}

static int do_without(struct ask *ask, const struct err *why)
{
	run_output_line("reckon: %s", why->text);
	run_output_line("reckon: so the session is of this chat alone: its variables and files end "
			"with it");
	end(ask);
	ask->place = &ask_place_own;
	return ask->place->open(ask);
}

static int connect_to(struct remote_ask *this, struct err *err)
{
	const struct run *run = this->at.run;
	const struct remote where = { .where = { .url = run->url, .key = run->key } };

	if (pipe2(this->wake, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(err, "pipe");
	if (remote_open(&where, &this->at.client, err) < 0)
		return (int)err->code;
	return open_one(this, err);
}

static int open_session(struct ask *ask)
{
	struct remote_ask *this = mem_new0(1, sizeof(*this));
	const char *name = ask->is_chat ? "chat" : "ask";
	struct err err;

	*this = (struct remote_ask){ .at = { .run = &ask->view.run },
				     .ask = ask,
				     .wake = { -1, -1 } };
	ask->place_data = this;
	if (connect_to(this, &err) < 0) {
		if (may_do_without(ask, &err))
			return do_without(ask, &err);
		(void)err_wrap(&err, "%s", name);
		return cli_complain(&err);
	}
	ask_wake(this->wake[1]);
	ask->view.output.fetch = remote_fetch;
	ask->view.output.fetch_arg = &this->at;
	note_session(this);
	return ask_place_files(ask, !ask->is_fresh);
}

static int renew(struct ask *ask, struct err *err)
{
	struct remote_ask *this = ask->place_data;
	struct json_value *now = NULL;
	const char *id = remote_text(this->at.session, "id");
	const int rc = remote_session(this->at.client, id, &now, err);

	json_read_free(now);
	if (rc != ERR_LOST && rc != ERR_NOT_FOUND)
		return rc;
	if (this->name[0] == '\0' || open_named(this, this->name, err) < 0)
		return err_wrap(err, "the session was lost, and no new one can be had");
	note_session(this);
	if (ask_place_files(ask, false) != EXIT_CODE_OK)
		return err_set(err, ERR_LOST, "the session was lost, and your files cannot be put "
			       "into a new one");
	return 1;
}

static int put(struct ask *ask, const struct run_file *file, struct err *err)
{
	const struct remote_ask *this = ask->place_data;

	return remote_put_file(&this->at, file, err);
}

/* ---- cells ---- */

/* The first Ctrl-C stops the cell, the second leaves it alone. */
static int on_wake(const char *id, void *arg, struct err *err)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000000L };
	struct remote_ask *this = arg;
	char bytes[16];

	(void)!read(this->wake[0], bytes, sizeof(bytes));
	if (ask_interrupts() == 0)
		return 0;
	if (ask_interrupts() > 1) {
		this->left = true;
		return err_set(err, ERR_TIMEOUT, "left session %s; its cell may still run",
			       this->name);
	}
	if (id[0] == '\0') {
		/* Which cell is ours is known in a moment. */
		(void)nanosleep(&pause, NULL);
		(void)!write(this->wake[1], "", 1);
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

static int on_event(const char *name, const char *json, size_t len, void *arg, struct err *err)
{
	struct remote_ask *this = arg;
	reckon_event event = { .name = name, .json = json, .json_len = len };
	struct json_value *document;
	int code = 0;

	if (remote_read_event(this->at.client, &event, &document, err) < 0)
		return (int)err->code;
	if (strcmp(name, "done") == 0)
		code = json_read_dump(json_read_member(document, "record"), this->record, err);
	if (code == 0 && ask_show_event(&event, this->ask) == RECKON_STOP)
		code = err_set(err, ERR_SYSTEM, "stdout");
	json_read_free(document);
	return code;
}

static void on_begun(const char *id, void *arg)
{
	struct remote_ask *this = arg;

	/* A cell that runs again has its record already. */
	if (!this->ask->is_quiet)
		ask_keep_execution(this->ask, this->ask->view.number, id);
}

static int execute(struct ask *ask, const char *code, size_t len, struct buf *ret, struct err *err)
{
	cleanup_buf struct buf body = BUF_INIT(CLIENT_JSON_MAX);
	struct remote_ask *this = ask->place_data;
	const struct client_execution execution = {
		.session = remote_text(this->at.session, "id"),
		.body = &body,
		.on_event = on_event,
		.on_event_arg = this,
		.on_begun = on_begun,
		.wake_fd = this->wake[0],
		.on_wake = on_wake,
		.on_wake_arg = this,
	};
	int rc;

	this->record = ret;
	if (remote_cell_body(this->at.run, code, len, &body, err) < 0)
		return (int)err->code;
	rc = client_execute(this->at.client, &execution, err);
	if (rc < 0)
		run_output_settle(&ask->view.output);
	return rc;
}

/* ---- cells of a program that was ended ---- */

/* A look (GET) at it: its record, its state, or an error; or its end. */
static int call(const struct remote_ask *this, const char *method, const char *execution,
		const char *rest, struct json_value **ret, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024), body = BUF_INIT(16);
	const bool is_look = strcmp(method, "GET") == 0;

	if (buf_adds(&path, "sessions/", err) < 0 ||
	    client_path_add(&path, this->ask->resume.session_id, false, err) < 0 ||
	    buf_adds(&path, "/executions/", err) < 0 ||
	    client_path_add(&path, execution, false, err) < 0 || buf_adds(&path, rest, err) < 0 ||
	    buf_adds(&body, "{}", err) < 0)
		return (int)err->code;
	return client_call(this->at.client, method, buf_text(&path), is_look ? NULL : &body, ret,
			   err);
}

/* The first Ctrl-C stops it, the second leaves it alone. False: it is left. */
static bool wait_a_moment(const struct remote_ask *this, const char *execution, const char *status,
			  unsigned *told)
{
	const struct timespec pause = { .tv_nsec = 200 * 1000000L };
	struct err err;

	if (*told == 0)
		run_output_line(
			"reckon: a cell of this run %s in its session still: waiting for it; "
			"Ctrl-C stops it",
			strcmp(status, "queued") == 0 ? "waits" : "runs");
	if (ask_interrupts() > 1)
		return false;
	if (ask_interrupts() > 0 && *told < 2 &&
	    call(this, "POST", execution, "/cancel", NULL, &err) < 0)
		run_output_line("reckon: %s", err.text);
	*told = ask_interrupts() > 0 ? 2 : 1;
	(void)nanosleep(&pause, NULL);
	return true;
}

static int recall(struct ask *ask, const char *execution, struct buf *ret, struct err *err)
{
	const struct remote_ask *this = ask->place_data;
	struct json_value *found = NULL;
	unsigned told = 0;
	bool goes_on = ask->resume.session_id != NULL;
	int rc = 0;

	while (goes_on && rc == 0) {
		const char *status;

		if (call(this, "GET", execution, "", &found, err) < 0)
			break; /* history went, or never had it */
		status = remote_text(found, "status");
		goes_on = strcmp(status, "queued") == 0 || strcmp(status, "running") == 0;
		if (goes_on)
			goes_on = wait_a_moment(this, execution, status, &told);
		else if (json_read_member(found, "schema") != NULL)
			rc = json_read_dump(found, ret, err) < 0 ? (int)err->code : 1;
		json_read_free(TAKE_PTR(found));
	}
	ask_interrupts_clear();
	return rc;
}

/* Into memory: it is read more than once, and from anywhere. */
static int download(const struct remote_ask *this, const struct buf *path, int *ret_fd,
		    struct err *err)
{
	cleanup_fd int fd = memfd_create("reckon-download", MFD_CLOEXEC);

	if (fd < 0)
		return err_sys(err, "memfd");
	if (client_download(this->at.client, buf_text(path), fd, NULL, err) < 0)
		return (int)err->code;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(err, "memfd");
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int open_output(struct ask *ask, const char *handle, int *ret_fd, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);

	if (buf_adds(&path, "outputs/", err) < 0 ||
	    client_path_add(&path, handle, false, err) < 0)
		return (int)err->code;
	return download(ask->place_data, &path, ret_fd, err);
}

static int open_file(struct ask *ask, const char *name, int *ret_fd, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(64 * 1024);
	const struct remote_ask *this = ask->place_data;

	if (remote_path(&path, this->at.session, "/files/", err) < 0 ||
	    client_path_add(&path, name, true, err) < 0)
		return (int)err->code;
	return download(this, &path, ret_fd, err);
}

static const struct ask_place place_daemon = {
	.open = open_session,
	.execute = execute,
	.renew = renew,
	.recall = recall,
	.put = put,
	.open_file = open_file,
	.open_output = open_output,
	.close = end,
};

int remote_ask(const struct opt_command *self, int argc, char **argv)
{
	return ask_command(self, argc, argv, &place_daemon);
}
