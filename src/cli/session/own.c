/*
 * own.c - a local session, over libreckon: it ends with the program.
 *
 * Runs in:  reckon, reckon-jupyter, reckon-client (a chat that finds no daemon).
 * Reads:    results of libreckon.
 * Never:    replaces a session that still exists.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/run/run.h"
#include "cli/run/tools.h"
#include "cli/session/interrupt.h"
#include "cli/session/session.h"

struct own {
	struct session base;
	reckon_engine *engine;
	reckon_session *session;
	reckon_session *lost; /* the session before renew(): its stored outputs can still be read */
};

static struct own *own_of(struct session *session)
{
	return (struct own *)session;
}

/* Converts a result of libreckon and its error. */
static int copy_error(int rc, const reckon_error *error, struct err *err)
{
	if (rc >= 0)
		return 0;
	err_set(err, (enum err_code)error->code, "%s", error->message);
	return err_remedy(err, "%s", error->remedy);
}

/* ---- cells ---- */

static int execute(struct session *session, const struct session_cell *cell,
		   struct session_result *ret, struct err *err)
{
	const reckon_execute_options options = {
		.size = sizeof(options),
		.wall_ms = cell->wall_ms,
		.on_event = cell->on_event,
		.on_event_arg = cell->on_event_arg,
		.stdin_fd = cell->has_stdin ? cell->stdin_fd : -1,
		.has_stdin = cell->has_stdin,
		.text_bytes = session->run->text_bytes,
		.on_input = cell->on_input,
		.on_input_arg = cell->on_input_arg,
		.questions = run_tools_begin(cell->tools),
	};
	reckon_execution *execution = NULL;
	reckon_error error;
	int rc = reckon_execute(own_of(session)->session, cell->code, cell->len, &options,
				&execution, &error);

	run_tools_end(cell->tools);
	if (rc < 0)
		return copy_error(rc, &error, err);
	ret->exit_code = reckon_execution_exit_code(execution);
	rc = buf_adds(&ret->record, reckon_execution_record(execution), err);
	reckon_execution_free(execution);
	return rc;
}

static int look(struct session *session, const struct session_look *look, struct buf *ret,
		struct err *err)
{
	reckon_session *own = own_of(session)->session;
	cleanup_free char *json = NULL;
	reckon_error error;
	int rc = RECKON_EINVALID;

	switch (look->kind) {
	case SESSION_LOOK_VARIABLES:
		rc = reckon_variables(own, &json, &error);
		break;
	case SESSION_LOOK_FILES:
		rc = reckon_file_list(own, &json, &error);
		break;
	case SESSION_LOOK_COMPLETE:
		rc = reckon_complete(own, look->code, look->len, look->cursor, &json, &error);
		break;
	case SESSION_LOOK_IS_COMPLETE:
		rc = reckon_is_complete(own, look->code, look->len, &json, &error);
		break;
	}
	return rc < 0 ? copy_error(rc, &error, err) : buf_adds(ret, json, err);
}

/* ---- its life ---- */

static int check(struct session *session, struct err *err)
{
	reckon_error error;

	return copy_error(reckon_session_check(own_of(session)->session, &error), &error, err);
}

static int restart(struct session *session, struct err *err)
{
	reckon_error error;

	return copy_error(reckon_session_restart(own_of(session)->session, &error), &error, err);
}

static int open_engine(struct own *own, struct err *err)
{
	const reckon_engine_options options = {
		.size = sizeof(options),
		.private_warden = own->base.run->private_warden,
		.strict = own->base.run->strict,
	};
	reckon_error error;

	return copy_error(reckon_engine_open(&options, &own->engine, &error), &error, err);
}

static int open_one(struct own *own, struct err *err)
{
	const struct run *run = own->base.run;
	const reckon_session_options options = {
		.size = sizeof(options),
		.template_name = run->template_name,
		.language = run->language,
		.limits = run->limits,
		.mounts = run->mounts,
		.mount_count = run->mount_count,
		.env = run->env,
		.flags = run->session_flags,
	};
	reckon_session *fresh;
	reckon_error error;

	if (copy_error(reckon_session_open(own->engine, &options, &fresh, &error), &error, err) < 0)
		return (int)err->code;
	own->session = fresh;
	interrupt_lend(fresh);
	return 0;
}

static void forget_lost(struct own *own)
{
	reckon_session_close(own->lost);
	own->lost = NULL;
}

/* A dead box means that its session is lost, so renew() opens another one. */
static int renew(struct session *session, struct err *err)
{
	struct own *own = own_of(session);
	reckon_session *before = own->session;
	struct err why;

	if (check(session, &why) == 0)
		return 0;
	if (open_one(own, err) < 0)
		return err_wrap(err, "the session was lost, and no new one can be opened");
	forget_lost(own);
	own->lost = before;
	return 1;
}

static void close_all(struct session *session)
{
	struct own *own = own_of(session);

	interrupt_lend(NULL);
	forget_lost(own);
	reckon_session_close(own->session);
	reckon_engine_close(own->engine);
	free(own);
}

/* ---- files ---- */

static int put(struct session *session, const char *name, int fd, struct err *err)
{
	reckon_error error;

	return copy_error(reckon_file_put(own_of(session)->session, name, fd, &error), &error, err);
}

static int get(struct session *session, const char *name, const char *artifact, int fd,
	       struct err *err)
{
	struct own *own = own_of(session);
	reckon_error error;
	int rc;

	if (artifact != NULL)
		rc = reckon_artifact_get(own->engine, artifact, 0, 0, fd, &error);
	else
		rc = reckon_file_get(own->session, name, fd, &error);
	return copy_error(rc, &error, err);
}

static int open_file(struct session *session, const char *name, int *ret_fd, struct err *err)
{
	reckon_error error;
	uint64_t size;

	return copy_error(reckon_file_open(own_of(session)->session, name, ret_fd, &size, &error),
			  &error, err);
}

static int open_output(struct session *session, const char *handle, int *ret_fd, struct err *err)
{
	reckon_error error;
	uint64_t size;

	return copy_error(
		reckon_artifact_open(own_of(session)->engine, handle, ret_fd, &size, &error),
		&error, err);
}

static const struct session_ops ops = {
	.execute = execute,
	.look = look,
	.check = check,
	.restart = restart,
	.renew = renew,
	.put = put,
	.get = get,
	.open_file = open_file,
	.open_output = open_output,
	.close = close_all,
};

int session_open_own(const struct run *run, struct session **ret, struct err *err)
{
	struct own *own = mem_new0(1, sizeof(*own));

	own->base = (struct session){ .ops = &ops, .run = run, .is_fresh = true };
	if (open_engine(own, err) < 0 || open_one(own, err) < 0) {
		close_all(&own->base);
		return (int)err->code;
	}
	*ret = &own->base;
	return 0;
}

reckon_session *session_own_handle(struct session *session)
{
	return own_of(session)->session;
}

void session_close(struct session *session)
{
	if (session != NULL)
		session->ops->close(session);
}
