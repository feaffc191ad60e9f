/*
 * session.c - where cells run: in a session of our own, which ends with us.
 *
 * Runs in:  reckon ask, reckon chat.
 * Reads:    what libreckon answers.
 * Never:    puts a new session in the place of one that is there.
 */
#include <string.h>
#include <unistd.h>

#include "cli/ask/ask.h"
#include "cli/cli.h"

static int take_error(const reckon_error *error, struct err *err)
{
	err_set(err, (enum err_code)error->code, "%s", error->message);
	return err_remedy(err, "%s", error->remedy);
}

static int put(struct ask *ask, const struct run_file *file, struct err *err)
{
	reckon_error error;

	(void)lseek(file->fd, 0, SEEK_SET);
	if (reckon_file_put(ask->view.session, file->name, file->fd, &error) < 0)
		return take_error(&error, err);
	return 0;
}

static int open_session(struct ask *ask)
{
	struct repl *view = &ask->view;
	const char *name = ask->is_chat ? "chat" : "ask";
	int status = EXIT_CODE_OK;

	if (view->engine == NULL)
		status = run_open_engine(&view->run, name, &view->engine);
	if (status == EXIT_CODE_OK)
		status = run_open_session(&view->run, name, view->engine, &view->session);
	if (status != EXIT_CODE_OK)
		return status;
	view->output.engine = view->engine;
	view->output.session = view->session;
	ask->is_fresh = true;
	ask_lend(view->session);
	ask_keep_session(ask, NULL, NULL, NULL);
	return ask_place_files(ask, false);
}

static void close_session(struct ask *ask)
{
	ask_lend(NULL);
	reckon_session_close(ask->view.session);
	ask->view.session = NULL;
	ask->view.output.session = NULL;
}

static void close_all(struct ask *ask)
{
	close_session(ask);
	reckon_engine_close(ask->view.engine);
	ask->view.engine = NULL;
}

/* A box that died took its session along. */
static int renew(struct ask *ask, struct err *err)
{
	reckon_error error;

	if (reckon_session_check(ask->view.session, &error) == RECKON_OK)
		return 0;
	close_session(ask);
	if (open_session(ask) != EXIT_CODE_OK)
		return err_set(err, ERR_LOST, "the session was lost, and no new one can be opened");
	return 1;
}

static int execute(struct ask *ask, const char *code, size_t len, struct buf *ret, struct err *err)
{
	const reckon_execute_options options = {
		.size = sizeof(options),
		.on_event = ask_show_event,
		.on_event_arg = ask,
		.stdin_fd = -1,
		.text_bytes = ask->view.run.text_bytes,
	};
	reckon_execution *execution = NULL;
	reckon_error error;
	int rc;

	if (reckon_execute(ask->view.session, code, len, &options, &execution, &error) < 0)
		return take_error(&error, err);
	rc = buf_adds(ret, reckon_execution_record(execution), err);
	reckon_execution_free(execution);
	return rc;
}

static int open_output(struct ask *ask, const char *handle, int *ret_fd, struct err *err)
{
	reckon_error error;
	uint64_t size;

	if (reckon_artifact_open(ask->view.engine, handle, ret_fd, &size, &error) < 0)
		return take_error(&error, err);
	return 0;
}

static int open_file(struct ask *ask, const char *name, int *ret_fd, struct err *err)
{
	reckon_error error;
	uint64_t size;

	if (reckon_file_open(ask->view.session, name, ret_fd, &size, &error) < 0)
		return take_error(&error, err);
	return 0;
}

const struct ask_place ask_place_own = {
	.open = open_session,
	.execute = execute,
	.renew = renew,
	.put = put,
	.open_file = open_file,
	.open_output = open_output,
	.close = close_all,
};

int ask_place_files(struct ask *ask, bool new)
{
	const struct run *run = &ask->view.run;
	const size_t count = new ? ask->new_files : run->file_count;
	struct err err;

	for (size_t i = 0; i < count; i++)
		if (ask->place->put(ask, &run->files[i], &err) < 0) {
			err_wrap(&err, "%.200s", run->files[i].path);
			return cli_complain(&err);
		}
	return EXIT_CODE_OK;
}
