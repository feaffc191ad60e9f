/*
 * session.c - reckon session: lists sessions and shows their state.
 *
 * Runs in:  reckon-client.
 * Reads:    answers of a daemon.
 * Never:    prints them to a terminal unescaped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"
#include "cli/term/look.h"
#include "cli/term/table.h"
#include "cli/term/width.h"
#include "codec/json_get.h"

#define PAGE 500u
#define SESSIONS_MAX 10000u

struct listing {
	struct remote remote;
	bool all, quiet;
	struct json_value **pages;
	size_t page_count;
	const struct json_value *rows[SESSIONS_MAX];
	size_t count;
};

static int take_ls(int id, const char *value, void *arg, struct err *err)
{
	struct listing *listing = arg;

	if (id == 'a') {
		listing->all = true;
		return 0;
	}
	if (id == 'q') {
		listing->quiet = true;
		return 0;
	}
	if (id == OPT_OPERAND || !remote_take(&listing->remote, id, value))
		return remote_unexpected(value, err);
	return 0;
}

static bool is_shown(const struct listing *listing, const struct json_value *session)
{
	return listing->all || strcmp(json_get_str(session, "status"), "live") == 0;
}

/* Fetches all pages, because an incomplete list without a note would be wrong. */
static int fetch(struct listing *listing, struct client *client, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);
	const char *next = "";
	size_t count;

	do {
		struct json_value *page;
		const struct json_value *sessions;

		buf_clear(&path);
		if (buf_addf(&path, err, "sessions?limit=%u%s", PAGE,
			     next[0] != '\0' ? "&before=" : "") < 0 ||
		    client_path_add(&path, next, false, err) < 0 ||
		    client_call(client, "GET", buf_text(&path), NULL, &page, err) < 0)
			return (int)err->code;
		listing->pages = realloc(listing->pages,
					 (listing->page_count + 1) * sizeof(*listing->pages));
		if (listing->pages == NULL)
			abort();
		listing->pages[listing->page_count++] = page;
		sessions = json_read_member(page, "sessions");
		count = json_read_count(sessions);
		for (size_t i = 0; i < count && listing->count < SESSIONS_MAX; i++)
			if (is_shown(listing, json_read_at(sessions, i)))
				listing->rows[listing->count++] = json_read_at(sessions, i);
		next = json_get_str(page, "next");
	} while (count == PAGE && next[0] != '\0' && listing->count < SESSIONS_MAX);
	return 0;
}

static int print_json(const struct listing *listing)
{
	cleanup_buf struct buf text = BUF_INIT(CLIENT_JSON_MAX);
	struct err err;

	if (buf_addc(&text, '[', &err) < 0)
		return cli_complain(&err);
	for (size_t i = 0; i < listing->count; i++)
		if ((i > 0 && buf_addc(&text, ',', &err) < 0) ||
		    json_read_dump(listing->rows[i], &text, &err) < 0)
			return cli_complain(&err);
	if (buf_adds(&text, "]\n", &err) < 0)
		return cli_complain(&err);
	return cli_write_stdout(buf_text(&text), text.len);
}

static int fill_row(struct term_table *table, size_t row, const struct json_value *session,
		    bool all, struct err *err)
{
	const char *name = json_get_str(session, "name"), *kind = json_get_str(session, "template");
	char age[REMOTE_AGE_SIZE];
	const char *status = remote_session_status(session);

	remote_age(json_get_str(session, "created_at"), age);
	if (kind[0] == '\0')
		kind = json_get_str(session, "language");
	const char *const cells[] = { name, status, kind, age, json_get_str(session, "id"),
				      json_get_str(session, "why") };

	for (size_t i = 0; i < (all ? 6u : 5u); i++)
		if (term_table_cell(table, row, i, cells[i], strlen(cells[i]), err) < 0)
			return (int)err->code;
	return 0;
}

static int print_table(const struct listing *listing)
{
	static const char *const heads[] = { "NAME", "STATUS", "RUNTIME", "AGE", "ID", "WHY" };
	const size_t columns = listing->all ? 6 : 5;
	struct term_table *table = term_table_new(columns, listing->count);
	cleanup_buf struct buf text = BUF_INIT(CLIENT_JSON_MAX);
	const bool terminal = isatty(STDOUT_FILENO);
	size_t width = 1000, lines;
	struct err err = { 0 };
	int code = 0;

	term_width_locale();
	if (terminal)
		term_width_window(STDOUT_FILENO, &width, &lines);
	for (size_t i = 0; i < columns; i++)
		term_table_head(table, i, heads[i], i == 3);
	for (size_t i = 0; code == 0 && i < listing->count; i++)
		code = fill_row(table, i, listing->rows[i], listing->all, &err);
	if (code == 0)
		code = term_table_draw(table, width, term_has_colour(STDOUT_FILENO), &text, &err);
	term_table_free(table);
	if (code < 0)
		return cli_complain(&err);
	return cli_write_stdout(buf_text(&text), text.len);
}

/*
 * For shells, which complete names and loop over them, so values that cannot be names are skipped.
 */
static int print_names(const struct listing *listing)
{
	cleanup_buf struct buf text = BUF_INIT(CLIENT_JSON_MAX);
	struct err err;

	for (size_t i = 0; i < listing->count; i++) {
		const char *name = json_get_str(listing->rows[i], "name");

		if (name[0] == '\0')
			name = json_get_str(listing->rows[i], "id");
		if (id_is_name(name, strlen(name), "-") && buf_addf(&text, &err, "%s\n", name) < 0)
			return cli_complain(&err);
	}
	return cli_write_stdout(buf_text(&text), text.len);
}

static int list(const struct opt_command *self, struct listing *listing)
{
	struct client *client;
	struct err err;
	int code;

	/* Listing must not start a private daemon. */
	listing->remote.where.no_start = true;
	code = remote_open(&listing->remote, &client, &err);
	if (code == ERR_NOT_FOUND) {
		if (listing->remote.json)
			return print_json(listing);
		(void)fputs("reckon: no sessions (reckon run -s NAME makes one)\n", stderr);
		return EXIT_CODE_OK;
	}
	if (code < 0)
		return cli_complain_of(self, &err);
	code = fetch(listing, client, &err);
	client_close(client);
	if (code < 0)
		return cli_complain_of(self, &err);
	if (listing->remote.json)
		return print_json(listing);
	if (listing->quiet)
		return print_names(listing);
	if (listing->count == 0) {
		(void)fputs("reckon: no sessions (reckon run -s NAME makes one)\n", stderr);
		return EXIT_CODE_OK;
	}
	return print_table(listing);
}

int remote_session_ls(const struct opt_command *self, int argc, char **argv)
{
	static struct listing listing;
	int status = remote_parse(self, argc, argv, take_ls, &listing);

	if (status >= 0)
		return status;
	status = list(self, &listing);
	for (size_t i = 0; i < listing.page_count; i++)
		json_read_free(listing.pages[i]);
	free(listing.pages);
	return status;
}
