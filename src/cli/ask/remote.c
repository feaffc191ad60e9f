/*
 * remote.c - runs cells in a session of a daemon, which outlives the command.
 *
 * Runs in:  reckon-client.
 * Reads:    replies of a daemon.
 * Never:    takes a daemon's address from a stored run, or replaces a lost session silently.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"
#include "cli/session/daemon.h"
#include "cli/session/interrupt.h"
#include "cli/storage/storage.h"
#include "codec/json_get.h"

/* ---- the session ---- */

/*
 * Fails if the stored run's session is on another daemon: only the person, not a stored run, may
 * choose the daemon.
 */
static int check_daemon(const struct ask *ask, const struct client *client, struct err *err)
{
	const char *then = ask->resume.session_url, *now = client_is_private(client) ? NULL : client_name(client);

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

static int open_named(struct ask *ask, const char *name, struct err *err)
{
	return remote_cells_open(session_daemon_at(ask->view.session), name, &ask->is_fresh, err);
}

/* Makes the session that belongs to this question alone, without printing a message. */
static int make_own(struct ask *ask, const char *name, struct err *err)
{
	const struct remote_body session = { .name = name };
	struct remote_cells *at = session_daemon_at(ask->view.session);

	if (storage_begin(at->client, &ask->view.run, &session, &at->session, err) == 0) {
		ask->is_fresh = true;
		return 0;
	}
	/* An earlier program of this run made the session but did not get to record it. */
	if (strcmp(client_last(at->client)->code, "session_exists") == 0)
		return open_named(ask, name, err);
	return (int)err->code;
}

static int lost(const struct ask *ask, const struct err *why, struct err *err)
{
	const char *id = ask->keep.journal.id;

	(void)err_set(err, ERR_LOST, "the session of run %s is lost, with its variables and files: "
		      "%.200s", id, why->text);
	return err_remedy(err, "reckon ask --resume %s --rerun runs its cells again in a new one",
			  id);
}

/* Joins the run's session if it still exists. Else makes or joins one with its name. */
static int open_again(struct ask *ask, const char *name, struct err *err)
{
	struct remote_cells *at = session_daemon_at(ask->view.session);
	const struct ask_resume *resume = &ask->resume;
	const bool is_own = !ask->is_chat && ask_session_is_own(ask, resume->session_name);
	struct err why;
	int rc;

	if (check_daemon(ask, at->client, err) < 0)
		return (int)err->code;
	rc = remote_session(at->client, resume->session_id, &at->session, &why);
	if (rc == 0)
		return remote_check_same(at, err);
	if (rc != ERR_LOST && rc != ERR_NOT_FOUND) {
		*err = why;
		return rc;
	}
	if (is_own)
		return resume->rerun ? make_own(ask, name, err) : lost(ask, &why, err);
	if (resume->session_name == NULL)
		run_output_line("reckon: %s", why.text);
	else if (!ask_session_is_own(ask, resume->session_name))
		name = resume->session_name;
	if (open_named(ask, name, err) < 0)
		return (int)err->code;
	if (!ask->is_fresh)
		run_output_line("reckon: another session is named %s now", name);
	ask->is_fresh = true; /* the run's variables and files are not in it */
	return 0;
}

static int open_one(struct ask *ask, struct err *err)
{
	char name[ASK_NAME_SIZE];

	ask_session_name(ask, name);
	if (ask->view.run.session != NULL)
		return open_named(ask, ask->view.run.session, err);
	if (ask->resume.session_id != NULL)
		return open_again(ask, name, err);
	return ask->is_chat ? open_named(ask, name, err) : make_own(ask, name, err);
}

/*
 * A question's own session is in the private daemon: RECKON_URL alone must not send files
 * elsewhere.
 */
static enum session_daemon_which which_daemon(const struct ask *ask)
{
	const struct ask_resume *resume = &ask->resume;
	const bool is_own = resume->session_id == NULL ||
			    (resume->session_url == NULL &&
			     ask_session_is_own(ask, resume->session_name));

	return !ask->is_chat && ask->view.run.session == NULL && ask->view.run.url == NULL && is_own
		       ? SESSION_DAEMON_PRIVATE
		       : SESSION_DAEMON_NAMED;
}

/* Without a named session or storage, the question can also run in a local session. */
static bool may_do_without(const struct ask *ask, const struct err *err)
{
	return ask->view.run.session == NULL && ask->resume.session_id == NULL &&
	       !ask_wants_storage(ask) &&
	       (err->code == ERR_UNAVAILABLE || err->code == ERR_TIMEOUT ||
		err->code == ERR_SYSTEM || err->code == ERR_LIMIT || err->code == ERR_DENIED);
}

static int open_own(struct ask *ask)
{
	session_close(TAKE_PTR(ask->view.session));
	ask->place = &ask_place_own;
	return ask->place->open(ask);
}

static int do_without(struct ask *ask, const struct err *why)
{
	run_output_line("reckon: %s", why->text);
	run_output_line("reckon: so the session is of this %s alone: its variables and files end "
			"with it", ask->is_chat ? "chat" : "question");
	return open_own(ask);
}

/* Tells the model about volumes and the snapshot: it only knows /mnt/data. */
static int note_storage(struct ask *ask, struct err *err)
{
	const struct json_value *volumes =
		json_read_member(session_daemon_at(ask->view.session)->session, "volumes");
	const size_t count = json_read_count(volumes);
	int rc = 0;

	if (count > 0)
		rc = buf_adds(&ask->note, "What is written to these folders outlives the session: ",
			      err);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const struct json_value *volume = json_read_at(volumes, i);
		bool read_only = false;

		(void)json_read_bool(json_read_member(volume, "read_only"), &read_only);
		rc = buf_addf(&ask->note, err, "%s%s%s", i > 0 ? ", " : "",
			      json_get_str(volume, "path"), read_only ? " (read-only)" : "");
	}
	if (rc == 0 && count > 0)
		rc = buf_addc(&ask->note, '.', err);
	if (rc == 0 && ask->view.run.snapshot != NULL)
		rc = buf_addf(&ask->note, err, "%s/mnt/data begins with files of an earlier session.",
			      ask->note.len > 0 ? " " : "");
	/* A resumed run may append to this note. */
	if (rc == 0 && ask->note.len > 0 && ask->resume.wanted)
		rc = buf_addc(&ask->note, ' ', err);
	return rc;
}

static int open_session(struct ask *ask)
{
	struct err err;

	/* The run is not stored, so nobody can resume it: no daemon is needed. */
	if (!ask->is_chat && ask->view.run.session == NULL && ask->resume.session_id == NULL &&
	    ask->keep.fd < 0 && !ask_wants_storage(ask))
		return open_own(ask);
	if (session_daemon_connect(&ask->view.run, which_daemon(ask), &ask->view.session, &err) < 0 ||
	    open_one(ask, &err) < 0 || note_storage(ask, &err) < 0) {
		if (may_do_without(ask, &err))
			return do_without(ask, &err);
		session_close(TAKE_PTR(ask->view.session));
		(void)err_wrap(&err, "%s", ask->is_chat ? "chat" : "ask");
		return cli_complain(&err);
	}
	session_daemon_joined(ask->view.session, ask->is_fresh);
	return ask_place_join(ask);
}

/* ---- cells that an earlier program of this run left running ---- */

/* Sends a request about the execution: GET without a body, other methods with an empty object. */
static int call(const struct ask *ask, const char *method, const char *execution,
		const char *rest, struct json_value **ret, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024), body = BUF_INIT(16);
	const bool is_look = strcmp(method, "GET") == 0;

	if (buf_adds(&path, "sessions/", err) < 0 ||
	    client_path_add(&path, ask->resume.session_id, false, err) < 0 ||
	    buf_adds(&path, "/executions/", err) < 0 ||
	    client_path_add(&path, execution, false, err) < 0 || buf_adds(&path, rest, err) < 0 ||
	    buf_adds(&body, "{}", err) < 0)
		return (int)err->code;
	return client_call(session_daemon_at(ask->view.session)->client, method, buf_text(&path),
			   is_look ? NULL : &body, ret, err);
}

/*
 * Pauses between two looks. The first Ctrl-C cancels the cell. After the second: returns false, and
 * the cell stays as it is.
 */
static bool wait_a_moment(struct ask *ask, const char *execution, const char *status,
			  unsigned *stage)
{
	const struct timespec pause = { .tv_nsec = 200 * 1000000L };
	struct err err;

	if (*stage == 0)
		run_output_line(
			"reckon: a cell of this run %s in its session still: waiting for it; "
			"Ctrl-C stops it",
			strcmp(status, "queued") == 0 ? "waits" : "runs");
	if (interrupt_count() > 1)
		return false;
	if (interrupt_count() > 0 && *stage < 2 &&
	    call(ask, "POST", execution, "/cancel", NULL, &err) < 0)
		run_output_line("reckon: %s", err.text);
	*stage = interrupt_count() > 0 ? 2 : 1;
	(void)nanosleep(&pause, NULL);
	return true;
}

static int recall(struct ask *ask, const char *execution, struct buf *ret, struct err *err)
{
	struct json_value *found = NULL;
	unsigned stage = 0;
	bool goes_on = ask->resume.session_id != NULL;
	int rc = 0;

	while (goes_on && rc == 0) {
		const char *status;

		if (call(ask, "GET", execution, "", &found, err) < 0)
			break; /* it is not in the history (any more), or the daemon failed */
		status = json_get_str(found, "status");
		goes_on = strcmp(status, "queued") == 0 || strcmp(status, "running") == 0;
		if (goes_on)
			goes_on = wait_a_moment(ask, execution, status, &stage);
		else if (json_read_member(found, "schema") != NULL)
			rc = json_read_dump(found, ret, err) < 0 ? (int)err->code : 1;
		json_read_free(TAKE_PTR(found));
	}
	interrupt_clear();
	return rc;
}

static int end_session(struct ask *ask, struct err *err)
{
	const struct remote_cells *at = session_daemon_at(ask->view.session);
	cleanup_buf struct buf path = BUF_INIT(1024);

	if (remote_path(&path, at->session, "", err) < 0)
		return (int)err->code;
	return client_call(at->client, "DELETE", buf_text(&path), NULL, NULL, err);
}

static const struct ask_place place_daemon = {
	.open = open_session, .recall = recall, .end = end_session,
};

int remote_ask(const struct opt_command *self, int argc, char **argv)
{
	return ask_command(self, argc, argv, &place_daemon);
}
