/*
 * ps.c - reckon ps, reckon kill: programs that were started in a session.
 *
 * Runs in:  reckon-client.
 * Reads:    the command line; a daemon's list, whose texts come from the clients that started the
 *           programs.
 * Never:    prints those to a terminal unescaped.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/options/parse.h"
#include "cli/process/process.h"
#include "cli/term/look.h"
#include "cli/term/table.h"
#include "cli/term/width.h"
#include "codec/json_get.h"

#define LIST_MAX 500u
#define COMMAND_MAX 2000u
#define NAMES_MAX 64u

struct process_options {
	struct remote remote;
	bool all;
	const char *signal;
	const char *names[NAMES_MAX];
	size_t count;
};

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct process_options *options = arg;

	if (id == 'a') {
		options->all = true;
		return 0;
	}
	if (id == PROCESS_OPT_SIGNAL) {
		options->signal = strncmp(value, "SIG", 3) == 0 ? value + 3 : value;
		return 0;
	}
	if (id != OPT_OPERAND)
		return remote_take_all(id, value, &options->remote, err);
	if (options->count == NAMES_MAX)
		return remote_unexpected(value, err);
	options->names[options->count++] = value;
	return 0;
}

static int open_session(struct process_options *options, bool live, struct client **client,
			struct json_value **session, struct err *err)
{
	if (options->remote.session != NULL && parse_session(options->remote.session, err) < 0)
		return (int)err->code;
	options->remote.where.no_start = true;
	if (remote_open(&options->remote, client, err) < 0)
		return (int)err->code;
	return remote_chosen(*client, &options->remote, live, session, err);
}

/* ---- ps ------------------------------------------------------------------------------------- */

/* The command roughly as one would type it in a shell. */
static void command_of(const struct json_value *row, char ret[COMMAND_MAX])
{
	const struct json_value *argv = json_read_member(row, "argv");
	const char *command = json_get_str(row, "command");
	size_t used = 0;

	(void)snprintf(ret, COMMAND_MAX, "%.*s", (int)strcspn(command, "\n"), command);
	for (size_t i = 0; i < json_read_count(argv) && used < COMMAND_MAX; i++) {
		size_t len = 0;
		const char *text = json_read_text(json_read_at(argv, i), &len);

		used += (size_t)snprintf(ret + used, COMMAND_MAX - used, "%s%s", i > 0 ? " " : "",
					 text != NULL ? text : "");
	}
}

static void end_of(const struct json_value *row, char *ret, size_t size)
{
	const char *cause = json_get_str(row, "cause");
	int64_t code = 0;

	if (strcmp(cause, "exit") == 0) {
		(void)json_read_int(json_read_member(row, "exit_code"), &code);
		(void)snprintf(ret, size, "exit %lld", (long long)code);
	} else if (strcmp(cause, "signal") == 0) {
		(void)snprintf(ret, size, "%.20s", json_get_str(row, "signal"));
	} else {
		(void)snprintf(ret, size, "%.20s",
			       cause[0] != '\0' ? cause : json_get_str(row, "state"));
	}
}

static int fill_row(struct term_table *table, size_t at, const struct json_value *row,
		    struct err *err)
{
	char pid[24], state[24], started[24], command[COMMAND_MAX];
	const char *const cells[] = { json_get_str(row, "id"),	pid,	state, started,
				      json_get_str(row, "tag"), command };
	int64_t number = 0;

	(void)json_read_int(json_read_member(row, "pid"), &number);
	(void)snprintf(pid, sizeof(pid), "%lld", (long long)number);
	end_of(row, state, sizeof(state));
	(void)snprintf(started, sizeof(started), "%.19s", json_get_str(row, "created_at"));
	if (strlen(started) > 10)
		started[10] = ' ';
	command_of(row, command);
	for (size_t i = 0; i < ARRAY_LEN(cells); i++)
		if (term_table_cell(table, at, i, cells[i], strlen(cells[i]), err) < 0)
			return (int)err->code;
	return 0;
}

static int print_table(const struct json_value *rows)
{
	static const char *const heads[] = { "ID", "PID", "STATE", "STARTED (UTC)", "TAG",
					     "COMMAND" };
	cleanup_buf struct buf text = BUF_INIT(CLIENT_JSON_MAX);
	struct term_table *table = term_table_new(ARRAY_LEN(heads), json_read_count(rows));
	const bool is_terminal = isatty(STDOUT_FILENO);
	size_t width = 1000, lines;
	struct err err;
	int code = 0;

	if (is_terminal)
		term_width_window(STDOUT_FILENO, &width, &lines);
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		term_table_head(table, i, heads[i], i == 1);
	for (size_t i = 0; code == 0 && i < json_read_count(rows); i++)
		code = fill_row(table, i, json_read_at(rows, i), &err);
	if (code == 0)
		code = term_table_draw(table, width, term_has_colour(STDOUT_FILENO), &text, &err);
	term_table_free(table);
	return code < 0 ? cli_complain(&err) : cli_write_stdout(buf_text(&text), text.len);
}

static int list(const struct opt_command *self, const struct process_options *options,
		struct client *client, const struct json_value *session)
{
	cleanup_buf struct buf path = BUF_INIT(1024);
	struct json_value *page;
	char rest[64];
	struct err err;
	int status;

	(void)snprintf(rest, sizeof(rest), "/processes?limit=%u%s", LIST_MAX,
		       options->all ? "" : "&state=running");
	if (remote_path(&path, session, rest, &err) < 0 ||
	    client_call(client, "GET", buf_text(&path), NULL, &page, &err) < 0)
		return cli_complain_of(self, &err);
	status = options->remote.json ? remote_print_json(json_read_member(page, "processes"))
				      : print_table(json_read_member(page, "processes"));
	json_read_free(page);
	return status;
}

int remote_ps(const struct opt_command *self, int argc, char **argv)
{
	struct process_options options = { .count = 0 };
	struct json_value *session = NULL;
	struct client *client = NULL;
	struct err err;
	int status = remote_parse(self, argc, argv, take, &options);

	if (status >= 0)
		return status;
	term_width_locale();
	if (options.count > 0) {
		(void)remote_unexpected(options.names[0], &err);
		(void)cli_complain_of(self, &err);
		return EXIT_CODE_USAGE;
	}
	if (open_session(&options, !options.all, &client, &session, &err) < 0)
		status = cli_complain_of(self, &err);
	else
		status = list(self, &options, client, session);
	json_read_free(session);
	client_close(client);
	return status;
}

/* ---- kill ----------------------------------------------------------------------------------- */

/* Finds the running programs with this id, pid inside the box, or tag. */
static int find(struct client *client, const struct json_value *session, const char *name,
		struct json_value **ret, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);
	const bool is_number = name[0] != '\0' && strspn(name, "0123456789") == strlen(name);

	if (remote_path(&path, session, is_number ? "/processes?state=running&limit=500&pid="
						  : "/processes?state=running&limit=500&tag=",
			err) < 0 ||
	    client_path_add(&path, name, false, err) < 0)
		return (int)err->code;
	if (client_call(client, "GET", buf_text(&path), NULL, ret, err) < 0)
		return (int)err->code;
	if (json_read_count(json_read_member(*ret, "processes")) > 0)
		return 0;
	json_read_free(*ret);
	(void)err_set(err, ERR_NOT_FOUND, "no process %.100s runs there", name);
	return err_remedy(err, "reckon ps lists those that do");
}

static int kill_id(const struct process_options *options, struct client *client,
		   const struct json_value *session, const char *id, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024), body = BUF_INIT(256);
	const char *signal = options->signal != NULL ? options->signal : "TERM";

	if (strlen(signal) > 20 || strspn(signal, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") !=
					   strlen(signal))
		return err_set(err, ERR_INVALID, "--signal: unknown signal %.40s", signal);
	if (remote_path(&path, session, "/processes/", err) < 0 ||
	    client_path_add(&path, id, false, err) < 0)
		return (int)err->code;
	if (options->all)
		return client_call(client, "DELETE", buf_text(&path), NULL, NULL, err);
	if (buf_addf(&body, err, "{\"signal\":\"%s\"}", signal) < 0)
		return (int)err->code;
	return remote_process_post(client, buf_text(&path), "signal", &body, err);
}

static int kill_named(const struct process_options *options, struct client *client,
		      const struct json_value *session, const char *name, struct err *err)
{
	const struct json_value *rows;
	struct json_value *page;
	int code = 0;

	if (strncmp(name, "pr_", 3) == 0)
		return kill_id(options, client, session, name, err);
	if (find(client, session, name, &page, err) < 0)
		return (int)err->code;
	rows = json_read_member(page, "processes");
	for (size_t i = 0; code == 0 && i < json_read_count(rows); i++)
		code = kill_id(options, client, session, json_get_str(json_read_at(rows, i), "id"),
			       err);
	json_read_free(page);
	return code;
}

int remote_kill(const struct opt_command *self, int argc, char **argv)
{
	struct process_options options = { .count = 0 };
	struct json_value *session = NULL;
	struct client *client = NULL;
	struct err err;
	int status = remote_parse(self, argc, argv, take, &options);

	if (status >= 0)
		return status;
	if (options.count == 0) {
		(void)err_set(&err, ERR_INVALID, "missing argument PROCESS");
		(void)cli_complain_of(self, &err);
		return EXIT_CODE_USAGE;
	}
	status = EXIT_CODE_OK;
	if (open_session(&options, true, &client, &session, &err) < 0)
		status = cli_complain_of(self, &err);
	for (size_t i = 0; status == EXIT_CODE_OK && i < options.count; i++)
		if (kill_named(&options, client, session, options.names[i], &err) < 0)
			status = cli_complain_of(self, &err);
	json_read_free(session);
	client_close(client);
	return status;
}
