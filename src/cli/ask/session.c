/*
 * session.c - runs cells in the open session, and opens a local one.
 *
 * Runs in:  reckon ask, reckon chat.
 * Reads:    results of the session.
 * Never:    replaces a session that still exists.
 */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"
#include "cli/session/interrupt.h"

/* Longer times need no alarm: a cell's own limit, a day at most, ends it earlier. */
#define LEFT_MAX_MS (UINT64_C(2) * 24 * 3600 * 1000)

int ask_place_put(struct ask *ask, const struct run_file *file, struct err *err)
{
	struct session *session = ask->view.session;

	(void)lseek(file->fd, 0, SEEK_SET);
	return session->ops->put(session, file->name, file->fd, err);
}

bool ask_wants_storage(const struct ask *ask)
{
	return ask->view.run.volume_count > 0 || ask->view.run.snapshot != NULL;
}

/*
 * Puts in all files; with `new` only the command line's, as a session that existed has the others.
 */
static int put_files(struct ask *ask, bool new)
{
	const struct run *run = &ask->view.run;
	const size_t count = new ? ask->new_files : run->file_count;
	struct err err;

	for (size_t i = 0; i < count; i++)
		if (ask_place_put(ask, &run->files[i], &err) < 0) {
			err_wrap(&err, "%.200s", run->files[i].path);
			return cli_complain(&err);
		}
	return EXIT_CODE_OK;
}

int ask_place_join(struct ask *ask)
{
	const struct session *session = ask->view.session;

	ask->view.output.session = ask->view.session;
	ask_keep_session(ask, session->id, session->name, session->url);
	return put_files(ask, !ask->is_fresh);
}

static int open_session(struct ask *ask)
{
	struct err err;

	if (session_open_own(&ask->view.run, &ask->view.session, &err) < 0) {
		err_wrap(&err, "%s", ask->is_chat ? "chat" : "ask");
		return cli_complain(&err);
	}
	ask->is_fresh = true;
	return ask_place_join(ask);
}

const struct ask_place ask_place_own = { .open = open_session };

int ask_place_renew(struct ask *ask, struct err *err)
{
	struct session *session = ask->view.session;
	const int rc = session->ops->renew(session, err);

	if (rc <= 0)
		return rc;
	ask_keep_session(ask, session->id, session->name, session->url);
	if (put_files(ask, false) != EXIT_CODE_OK)
		return err_set(err, ERR_LOST, "the session was lost, and your files cannot be put "
			       "into a new one");
	return 1;
}

/* With --rerun the stored cell already has its record, so its execution id is not stored. */
static void on_begun(const char *id, void *arg)
{
	struct ask *ask = arg;

	if (!ask->is_quiet)
		ask_keep_execution(ask, ask->view.number, id);
}

int ask_place_execute(struct ask *ask, const char *code, size_t len, struct buf *ret,
		      struct err *err)
{
	const struct session_cell cell = {
		.code = code,
		.len = len,
		.on_event = ask_show_event,
		.on_event_arg = ask,
		.on_begun = on_begun,
		.on_begun_arg = ask,
	};
	struct session *session = ask->view.session;
	struct session_result result = { .record = *ret };
	const uint64_t left_ms = driver_left_ns(&ask->driver, clock_mono_ns()) / 1000000u;
	int rc;

	interrupt_after(left_ms < LEFT_MAX_MS ? left_ms + 1 : 0);
	rc = session->ops->execute(session, &cell, &result, err);
	interrupt_settle();
	*ret = result.record;
	if (rc < 0)
		run_output_settle(&ask->view.output);
	return rc;
}
