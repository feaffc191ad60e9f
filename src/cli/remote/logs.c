/*
 * logs.c - reckon logs: prints the history of a session.
 *
 * Runs in:  reckon-client.
 * Reads:    the history that a daemon stores: code and output of boxes.
 * Never:    prints it to a terminal unescaped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "cli/cli.h"
#include "cli/options/parse.h"
#include "cli/remote/remote.h"
#include "cli/term/look.h"
#include "cli/term/table.h"
#include "cli/term/width.h"
#include "codec/json_get.h"

#define LINES_DEFAULT 20u
#define LINES_MAX 500u
#define FOLLOW_MS 500
#define CODE_COLUMNS 400u

struct logs {
	struct remote remote;
	const struct opt_command *self;
	struct client *client;
	struct json_value *session;
	uint64_t lines;
	bool follow;
	uint64_t last; /* sequence number of the last printed row */
};

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct logs *logs = arg;

	if (id == REMOTE_OPT_FOLLOW) {
		logs->follow = true;
		return 0;
	}
	if (id != 'n')
		return remote_take_all(id, value, &logs->remote, err);
	if (parse_count(value, &logs->lines, err) < 0)
		return err_wrap(err, "--lines");
	if (logs->lines < 1 || logs->lines > LINES_MAX)
		return err_set(err, ERR_INVALID, "--lines: from 1 to %u", LINES_MAX);
	return 0;
}

static uint64_t sequence_of(const struct json_value *row)
{
	int64_t number = 0;

	(void)json_read_int(json_read_member(row, "sequence"), &number);
	return number > 0 ? (uint64_t)number : 0;
}

/* Parses an RFC 3339 time as milliseconds; negative for invalid text. */
static double when(const char *text)
{
	struct tm tm = { 0 };
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

	if (rest == NULL)
		return -1;
	return (double)timegm(&tm) * 1000 + (*rest == '.' ? strtod(rest, NULL) * 1000 : 0);
}

static void took(const struct json_value *row, char *ret, size_t size)
{
	const double from = when(json_get_str(row, "created_at"));
	const double to = when(json_get_str(row, "ended_at"));

	ret[0] = '\0';
	if (from >= 0 && to >= from)
		(void)snprintf(ret, size, "%.*f s", to - from < 10000 ? 2 : 0, (to - from) / 1000);
}

/* The first line that is not blank, with a mark if more follow. */
static void code_of(const struct json_value *row, char ret[CODE_COLUMNS + 8])
{
	const char *code = json_get_str(row, "code");
	int64_t bytes = 0;
	size_t len;

	code += strspn(code, " \t\r\n");
	len = strcspn(code, "\r\n");
	(void)json_read_int(json_read_member(row, "code_bytes"), &bytes);
	(void)snprintf(ret, CODE_COLUMNS + 8, "%.*s%s", (int)len, code,
		       code[len + strspn(code + len, " \t\r\n")] != '\0' ||
				       bytes > (int64_t)CODE_COLUMNS
			       ? " …"
			       : "");
}

static int fill_row(struct term_table *table, size_t at, const struct json_value *row,
		    struct err *err)
{
	char number[24], time_text[24], duration[24], code[CODE_COLUMNS + 8];
	const char *const cells[] = { number, json_get_str(row, "status"), time_text, duration,
				      code };

	(void)snprintf(number, sizeof(number), "%llu", (unsigned long long)sequence_of(row));
	(void)snprintf(time_text, sizeof(time_text), "%.19s", json_get_str(row, "created_at"));
	if (strlen(time_text) > 10)
		time_text[10] = ' ';
	took(row, duration, sizeof(duration));
	code_of(row, code);
	for (size_t i = 0; i < ARRAY_LEN(cells); i++)
		if (term_table_cell(table, at, i, cells[i], strlen(cells[i]), err) < 0)
			return (int)err->code;
	return 0;
}

/*
 * The daemon lists the newest first; print the oldest first. Leaves out rows that were printed
 * before, and the newest `skip`.
 */
static int draw(struct logs *logs, const struct json_value *rows, size_t skip, struct buf *text,
		struct err *err)
{
	static const char *const heads[] = { "#", "STATUS", "STARTED (UTC)", "TOOK", "CODE" };
	const bool terminal = isatty(STDOUT_FILENO), first = logs->last == 0;
	size_t end = skip, width = 1000, lines;
	struct term_table *table;
	int code = 0;

	while (end < json_read_count(rows) && sequence_of(json_read_at(rows, end)) > logs->last)
		end++;
	if (end == skip)
		return 0;
	table = term_table_new(ARRAY_LEN(heads), end - skip);
	if (terminal)
		term_width_window(STDOUT_FILENO, &width, &lines);
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		term_table_head(table, i, first ? heads[i] : "", i == 0 || i == 3);
	for (size_t i = 0; code == 0 && i < end - skip; i++)
		code = fill_row(table, i, json_read_at(rows, end - 1 - i), err);
	if (code == 0)
		code = term_table_draw(table,
					width, term_has_colour(STDOUT_FILENO) && first, text, err);
	term_table_free(table);
	logs->last = sequence_of(json_read_at(rows, skip));
	return code;
}

static bool is_settled(const struct json_value *row)
{
	const char *status = json_get_str(row, "status");

	return strcmp(status, "running") != 0 && strcmp(status, "queued") != 0;
}

/* Appends the output of one request to `text`. */
static int list_once(struct logs *logs, struct buf *text, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);
	const struct json_value *rows;
	struct json_value *page;
	size_t skip = 0;
	char rest[64];
	int code;

	(void)snprintf(rest, sizeof(rest), "/executions?limit=%llu",
		       (unsigned long long)logs->lines);
	if (remote_path(&path, logs->session, rest, err) < 0 ||
	    client_call(logs->client, "GET", buf_text(&path), NULL, &page, err) < 0)
		return (int)err->code;
	rows = json_read_member(page, "executions");
	/* With -f, print a cell only when it has ended, because a printed line cannot change. */
	while (logs->follow && skip < json_read_count(rows) &&
	       !is_settled(json_read_at(rows, skip)))
		skip++;
	code = logs->remote.json ? json_read_dump(rows, text, err)
				 : draw(logs, rows, skip, text, err);
	json_read_free(page);
	if (code == 0 && logs->remote.json)
		code = buf_addc(text, '\n', err);
	return code;
}

static int list(struct logs *logs)
{
	const struct timespec pause = { .tv_nsec = FOLLOW_MS * 1000000L };
	int status = EXIT_CODE_OK;
	struct err err;

	for (;;) {
		cleanup_buf struct buf text = BUF_INIT(CLIENT_JSON_MAX);

		if (list_once(logs, &text, &err) < 0)
			return cli_complain_of(logs->self, &err);
		if (text.len > 0)
			status = cli_write_stdout(buf_text(&text), text.len);
		if (status != EXIT_CODE_OK || !logs->follow)
			break;
		(void)nanosleep(&pause, NULL);
	}
	if (logs->last == 0 && !logs->remote.json)
		(void)fputs("reckon: nothing ran there yet\n", stderr);
	return status;
}

/* ---- one ---- */

/* "3" is the session's third execution: search the history page by page. */
static int find_number(struct logs *logs, uint64_t number, char *ret, size_t size,
		       struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024), next = BUF_INIT(128);
	bool found = false, more = true;

	while (!found && more) {
		struct json_value *page;
		const struct json_value *rows;

		if (remote_path(&path, logs->session, "/executions?limit=500", err) < 0 ||
		    (next.len > 0 && (buf_adds(&path, "&before=", err) < 0 ||
				      client_path_add(&path, buf_text(&next), false, err) < 0)) ||
		    client_call(logs->client, "GET", buf_text(&path), NULL, &page, err) < 0)
			return (int)err->code;
		rows = json_read_member(page, "executions");
		for (size_t i = 0; i < json_read_count(rows) && !found; i++) {
			found = sequence_of(json_read_at(rows, i)) == number;
			if (found)
				(void)snprintf(ret, size, "%s",
					       json_get_str(json_read_at(rows, i), "id"));
		}
		buf_clear(&next);
		more = json_read_count(rows) > 0 &&
		       buf_adds(&next, json_get_str(page, "next"), err) == 0 && next.len > 0;
		json_read_free(page);
	}
	if (found)
		return 0;
	(void)err_set(err, ERR_NOT_FOUND, "it has no execution %llu", (unsigned long long)number);
	return err_remedy(err, "reckon logs without a number lists them");
}

static int show_text(struct logs *logs, const struct json_value *record)
{
	size_t len = 0;
	const char *text = json_read_text(json_read_member(record, "text"), &len);
	int status;

	if (logs->remote.json)
		return remote_print_json(record);
	if (text == NULL) {
		(void)fprintf(stderr, "reckon: it has no record: it is %.20s\n",
			      json_get_str(record, "status"));
		return EXIT_CODE_OK;
	}
	status = cli_print_text(text, len);
	if (status == EXIT_CODE_OK && len > 0 && text[len - 1] != '\n')
		status = cli_write_stdout("\n", 1);
	return status;
}

static int show(struct logs *logs)
{
	cleanup_buf struct buf path = BUF_INIT(1024);
	char id[ID_SIZE * 2] = "";
	struct json_value *record;
	uint64_t number;
	struct err err;
	int status;

	if (strncmp(logs->remote.name, "ex_", 3) == 0)
		(void)snprintf(id, sizeof(id), "%s", logs->remote.name);
	else if (parse_count(logs->remote.name, &number, &err) < 0 ||
		 find_number(logs, number, id, sizeof(id), &err) < 0)
		return cli_complain_of(logs->self, &err);
	if (remote_path(&path, logs->session, "/executions/", &err) < 0 ||
	    client_path_add(&path, id, false, &err) < 0 ||
	    client_call(logs->client, "GET", buf_text(&path), NULL, &record, &err) < 0)
		return cli_complain_of(logs->self, &err);
	status = show_text(logs, record);
	json_read_free(record);
	return status;
}

int remote_logs(const struct opt_command *self, int argc, char **argv)
{
	struct logs logs = { .self = self, .lines = LINES_DEFAULT,
			     .remote = { .where = { .no_start = true } } };
	struct err err;
	int status = remote_parse(self, argc, argv, take, &logs);

	if (status >= 0)
		return status;
	if (logs.follow && (logs.remote.json || logs.remote.name != NULL)) {
		(void)err_set(&err, ERR_INVALID,
			      "--follow and an execution's id cannot be used together");
		return cli_complain_of(self, &err);
	}
	term_width_locale();
	if (remote_open(&logs.remote, &logs.client, &err) < 0 ||
	    remote_chosen(logs.client, &logs.remote, false, &logs.session, &err) < 0)
		status = cli_complain_of(self, &err);
	else
		status = logs.remote.name != NULL ? show(&logs) : list(&logs);
	json_read_free(logs.session);
	client_close(logs.client);
	return status;
}
