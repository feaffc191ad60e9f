/*
 * main.c - reckon-jupyter: serves a session of libreckon to a Jupyter client.
 *
 * Runs in:  reckon-jupyter, in place of reckon.
 * Reads:    the command line.
 * Never:    outlives the process that started it.
 */

#include "cli/cli.h"
#include "cli/jupyter/jupyter.h"
#include "cli/run/run.h"
#include "jupyter/jupyter.h"

/* effectively no limit: in a notebook, a person interrupts */
#define WALL_MS (UINT64_C(365) * 24 * 3600 * 1000)

struct start {
	struct run run;
	const char *connection;
};

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct start *start = arg;

	if (id == 'f') {
		start->connection = value;
		return 0;
	}
	if (id == OPT_OPERAND) {
		err_set(err, ERR_INVALID, "unexpected argument '%.100s'", value);
		return err_remedy(err, "the connection file goes behind -f");
	}
	return run_options_take(id, value, &start->run, err);
}

static int check(const struct start *start, struct jupyter_connection *ret, struct err *err)
{
	if (start->connection == NULL) {
		err_set(err, ERR_INVALID, "-f is missing");
		return err_remedy(err, "Jupyter starts this: reckon jupyter install");
	}
	return jupyter_connection_read(start->connection, ret, err);
}

static int serve(const struct start *start, const struct jupyter_connection *connection)
{
	struct session *session = NULL;
	int status = EXIT_CODE_OK;
	struct err err;

	if (session_open_own(&start->run, &session, &err) < 0) {
		err_wrap(&err, "jupyter kernel");
		status = cli_complain(&err);
	} else if (jupyter_run(session_own_handle(session), run_language(&start->run), connection,
			       &err) < 0) {
		status = cli_complain(&err);
	}
	session_close(session);
	return status;
}

int main(int argc, char **argv)
{
	struct jupyter_connection connection;
	struct start start = { 0 };
	struct err err;
	int status;

	run_init(&start.run);
	start.run.limits.wall_ms = WALL_MS;
	status = opt_parse(&jupyter_kernel_table, argc, argv, take, &start, &err);
	if (status == 0)
		status = check(&start, &connection, &err);
	status = cli_settle(&jupyter_kernel_table, status, &err);
	if (status < 0)
		status = serve(&start, &connection);
	run_done(&start.run);
	return status;
}
