/*
 * process.c - reckon exec, reckon shell: starts a program in a session of a daemon.
 *
 * Runs in:  reckon-client.
 * Reads:    the command line; answers of a daemon.
 * Never:    passes on our environment, except TERM and COLORTERM to a program with a terminal.
 */
#include "cli/process/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options/parse.h"
#include "cli/remote/cells.h"
#include "codec/json_get.h"
#include "codec/json_write.h"

#define BODY_MAX ((size_t)1024 * 1024)
#define VARIABLES_MAX 256u
#define GRACE_S 10u /* as long as the client retries a broken connection */
#define SHELL "if command -v bash >/dev/null; then exec bash; else exec sh; fi"

struct start {
	struct remote remote;
	bool has_terminal, no_input, detach, is_shell;
	const char *cwd, *tag;
	const char *variables[VARIABLES_MAX];
	size_t variable_count;
	uint64_t timeout_ms;
	char **argv;
	int argc;
};

/* ---- the command line ----------------------------------------------------------------------- */

static int add_variable(struct start *start, const char *value, struct err *err)
{
	if (parse_env(value, err) < 0)
		return err_wrap(err, "--env");
	if (start->variable_count == VARIABLES_MAX)
		return err_set(err, ERR_INVALID, "--env: more than %u variables", VARIABLES_MAX);
	start->variables[start->variable_count++] = value;
	return 0;
}

static int take_switch(struct start *start, int id)
{
	bool *const switches[] = { &start->has_terminal, &start->no_input, &start->detach };
	const char *at = id < OPT_LONG ? strchr("tnd", id) : NULL;

	if (at == NULL)
		return -1;
	*switches[at - "tnd"] = true;
	return 0;
}

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct start *start = arg;

	if (id == OPT_OPERAND && !start->is_shell) {
		(void)err_set(err, ERR_INVALID, "unexpected argument %.100s", value);
		return err_remedy(err, "put -- before the command");
	}
	if (id == OPT_OPERAND)
		return remote_unexpected(value, err);
	if (id == 'C') {
		start->cwd = value;
		return 0;
	}
	if (id == 'e')
		return add_variable(start, value, err);
	if (id == PROCESS_OPT_TAG) {
		start->tag = value;
		return 0;
	}
	if (id == PROCESS_OPT_TIMEOUT)
		return parse_duration(value, &start->timeout_ms, err) < 0
			       ? err_wrap(err, "--timeout")
			       : 0;
	if (remote_take(&start->remote, id, value) || take_switch(start, id) == 0)
		return 0;
	return err_set(err, ERR_INVALID, "an option that is not known");
}

/* Finds "--": the arguments after it belong to the program. */
static int split(struct start *start, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0) {
			start->argv = argv + i + 1;
			start->argc = argc - i - 1;
			return i;
		}
	return argc;
}

static int check(const struct start *start, struct err *err)
{
	if (start->detach && start->has_terminal)
		return err_set(err, ERR_INVALID, "--detach and --tty cannot be used together");
	if (start->is_shell && start->argc > 0)
		return remote_unexpected(start->argv[0], err);
	if (start->is_shell && !isatty(STDIN_FILENO)) {
		(void)err_set(err, ERR_INVALID, "standard input is not a terminal");
		return err_remedy(err, "reckon exec -s NAME -- sh runs commands from a pipe");
	}
	if (!start->is_shell && start->argc == 0) {
		(void)err_set(err, ERR_INVALID, "missing argument COMMAND");
		return err_remedy(err, "reckon exec -s NAME -- COMMAND");
	}
	return start->remote.session != NULL ? parse_session(start->remote.session, err) : 0;
}

/* ---- the start ------------------------------------------------------------------------------ */

static void add_pty(struct json_writer *writer)
{
	struct winsize size = { 0 };

	json_write_key(writer, "pty");
	json_write_object_begin(writer);
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
		json_write_member_uint(writer, "rows", size.ws_row < 1000 ? size.ws_row : 1000);
		json_write_member_uint(writer, "cols", size.ws_col < 1000 ? size.ws_col : 1000);
	}
	json_write_object_end(writer);
}

static void add_variables(struct json_writer *writer, const struct start *start,
			  const char *session)
{
	static const char *const ours[] = { "TERM", "COLORTERM" };
	char prompt[128];

	json_write_key(writer, "env");
	json_write_object_begin(writer);
	for (size_t i = 0; start->has_terminal && i < ARRAY_LEN(ours); i++)
		if (getenv(ours[i]) != NULL)
			json_write_member_string(writer, ours[i], getenv(ours[i]));
	if (start->is_shell) {
		(void)snprintf(prompt, sizeof(prompt), "%.63s:\\w\\$ ", session);
		json_write_member_string(writer, "PS1", prompt);
	}
	for (size_t i = 0; i < start->variable_count; i++) {
		const char *text = start->variables[i], *equals = strchr(text, '=');

		json_write_key_text(writer, text, (size_t)(equals - text));
		json_write_string(writer, equals + 1);
	}
	json_write_object_end(writer);
}

static void add_program(struct json_writer *writer, const struct start *start)
{
	if (start->is_shell) {
		json_write_member_string(writer, "command", SHELL);
		return;
	}
	json_write_key(writer, "argv");
	json_write_array_begin(writer);
	for (int i = 0; i < start->argc; i++)
		json_write_string(writer, start->argv[i]);
	json_write_array_end(writer);
}

static int make_body(const struct start *start, const char *session, struct buf *ret,
		     struct err *err)
{
	struct json_writer writer;

	json_write_init(&writer, ret);
	json_write_object_begin(&writer);
	add_program(&writer, start);
	add_variables(&writer, start, session);
	if (start->has_terminal)
		add_pty(&writer);
	else if (!start->no_input && !start->detach)
		json_write_member_bool(&writer, "stdin", true);
	if (start->cwd != NULL)
		json_write_member_string(&writer, "cwd", start->cwd);
	if (start->tag != NULL)
		json_write_member_string(&writer, "tag", start->tag);
	if (start->timeout_ms > 0) {
		json_write_key(&writer, "timeout_s");
		json_write_seconds(&writer, start->timeout_ms * 1000000u);
	}
	if (start->detach) {
		json_write_member_bool(&writer, "detach", true);
	} else {
		json_write_member_string(&writer, "on_disconnect", "kill");
		json_write_member_uint(&writer, "disconnect_grace_s", GRACE_S);
		json_write_member_string(&writer, "when_full", "wait");
	}
	json_write_object_end(&writer);
	return json_write_finish(&writer, err);
}

static int begin(const struct start *start, struct remote_cells *at, struct json_value **ret,
		 struct err *err)
{
	cleanup_buf struct buf body = BUF_INIT(BODY_MAX), path = BUF_INIT(1024);
	const char *name = json_get_str(at->session, "name");

	if (name[0] == '\0')
		name = "reckon";
	if (make_body(start, name, &body, err) < 0 ||
	    remote_path(&path, at->session, "/processes", err) < 0)
		return (int)err->code;
	return client_call(at->client, "POST", buf_text(&path), &body, ret, err);
}

static int find_session(const struct start *start, struct remote_cells *at, struct err *err)
{
	bool made;

	if (start->remote.session == NULL)
		return remote_chosen(at->client, &start->remote, true, &at->session, err);
	return remote_cells_open(at, start->remote.session, &made, err);
}

static int run(const struct opt_command *self, const struct start *start, struct remote_cells *at)
{
	struct remote_process process = { .self = self,
					  .remote = &start->remote,
					  .client = at->client,
					  .has_terminal = start->has_terminal,
					  .no_input = start->no_input };
	struct json_value *started;
	struct err err;
	int status = EXIT_CODE_OK;

	if (find_session(start, at, &err) < 0 || begin(start, at, &started, &err) < 0)
		return cli_complain_of(self, &err);
	(void)snprintf(process.path, sizeof(process.path), "sessions/%.60s/processes/%.60s",
		       json_get_str(at->session, "id"), json_get_str(started, "id"));
	if (start->detach)
		(void)printf("%.60s\n", json_get_str(started, "id"));
	else
		status = remote_process_run(&process);
	json_read_free(started);
	return status;
}

int remote_process(const struct opt_command *self, int argc, char **argv)
{
	struct start start = { .is_shell = strcmp(self->name, "shell") == 0 };
	struct run options;
	struct remote_cells at = { .run = &options };
	struct err err;
	int status;

	start.has_terminal = start.is_shell;
	status = remote_parse(self, split(&start, argc, argv), argv, take, &start);
	if (status >= 0)
		return status;
	if (check(&start, &err) < 0) {
		(void)cli_complain_of(self, &err);
		return EXIT_CODE_USAGE;
	}
	run_init(&options);
	options.session = start.remote.session;
	if (remote_open(&start.remote, &at.client, &err) < 0)
		status = cli_complain_of(self, &err);
	else
		status = run(self, &start, &at);
	json_read_free(at.session);
	client_close(at.client);
	run_done(&options);
	return status;
}
