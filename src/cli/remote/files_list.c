/*
 * files_list.c - lists the files of a session's workspace or a volume.
 *
 * Runs in:  reckon-client.
 * Reads:    answers of a daemon, names that boxes chose.
 * Never:    prints them to a terminal unescaped: term/table.h escapes them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/remote/files.h"
#include "cli/run/run.h"
#include "cli/storage/storage.h"
#include "cli/term/look.h"
#include "cli/term/table.h"
#include "cli/term/width.h"
#include "codec/json_get.h"

#define ROWS_MAX 1000000u

static void add_page(struct files *files, struct json_value *page)
{
	const struct json_value *rows =
		json_read_member(page, files->volume != NULL ? "entries" : "files");

	files->pages = mem_grow(files->pages, files->page_count + 1, sizeof(*files->pages));
	files->pages[files->page_count++] = page;
	files->rows = mem_grow(files->rows, files->row_count + json_read_count(rows) + 1,
			       sizeof(*files->rows));
	for (size_t i = 0; i < json_read_count(rows); i++) {
		const char *kind = json_get_str(json_read_at(rows, i), "kind");

		/* Leave out folders: the paths of their files already name them. */
		if (kind[0] == '\0' || strcmp(kind, "file") == 0)
			files->rows[files->row_count++] = json_read_at(rows, i);
	}
}

static void say_incomplete(void)
{
	run_output_line("reckon: there are more files than a list has; some are missing here");
}

size_t files_name_length(const char *name)
{
	size_t len = strlen(name);

	while (len > 1 && name[len - 1] == '/')
		len--;
	return len;
}

bool files_is_within(const char *path, const char *name)
{
	const size_t len = files_name_length(name);

	if (len == 0 || (len == 1 && (name[0] == '.' || name[0] == '/')))
		return true;
	return strncmp(path, name, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* A volume can have more files than a list may have, so fetch only what was named. */
static int fetch_entries(struct files *files, const char *name, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(64 * 1024);
	cleanup_free char *plain = mem_strdup(files_is_within("", name) ? "" : name);
	struct json_value *page;
	bool complete = true;

	plain[files_name_length(plain)] = '\0';
	files->row_count = 0;
	if (plain[0] != '\0') {
		if (storage_volume_path(&path, files->volume, "/stat?path=", err) < 0 ||
		    client_path_add(&path, plain, false, err) < 0)
			return (int)err->code;
		if (client_call(files->client, "GET", buf_text(&path), NULL, &page, err) < 0)
			return err->code == ERR_NOT_FOUND ? 0 : (int)err->code;
		add_page(files, page);
		if (strcmp(json_get_str(page, "kind"), "file") == 0)
			files->rows[files->row_count++] = page;
		if (strcmp(json_get_str(page, "kind"), "folder") != 0)
			return 0;
	}
	if (storage_volume_path(&path, files->volume, "/entries?depth=64", err) < 0 ||
	    (plain[0] != '\0' && (buf_adds(&path, "&path=", err) < 0 ||
				  client_path_add(&path, plain, false, err) < 0)) ||
	    client_call(files->client, "GET", buf_text(&path), NULL, &page, err) < 0)
		return (int)err->code;
	add_page(files, page);
	if (json_read_bool(json_read_member(page, "complete"), &complete) && !complete)
		say_incomplete();
	return 0;
}

int files_fetch(struct files *files, const char *name, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(64 * 1024);
	const char *next = "";
	bool complete = true;

	if (files->volume != NULL)
		return fetch_entries(files, name, err);
	if (files->page_count > 0)
		return 0;
	do {
		struct json_value *page;

		if (remote_path(&path, files->session, "/files", err) < 0 ||
		    (next[0] != '\0' && (buf_adds(&path, "?cursor=", err) < 0 ||
					 client_path_add(&path, next, false, err) < 0)) ||
		    client_call(files->client, "GET", buf_text(&path), NULL, &page, err) < 0)
			return (int)err->code;
		add_page(files, page);
		next = json_get_str(page, "next");
	} while (next[0] != '\0' && files->row_count < ROWS_MAX);
	if (next[0] != '\0' ||
	    (json_read_bool(json_read_member(files->pages[0], "complete"), &complete) && !complete))
		say_incomplete();
	return 0;
}

int files_draw(const struct files *files, struct buf *text, struct err *err)
{
	static const char *const heads[] = { "PATH", "SIZE", "MODIFIED (UTC)", "TYPE" };
	const char *name = files->count > 0 ? files->names[0] : "";
	size_t width = 1000, lines, rows = 0, at = 0;
	const bool terminal = isatty(STDOUT_FILENO);
	struct term_table *table;
	int code = 0;

	for (size_t i = 0; i < files->row_count; i++)
		rows += files_is_within(json_get_str(files->rows[i], "path"), name);
	if (rows == 0)
		return 0;
	term_width_locale();
	if (terminal)
		term_width_window(STDOUT_FILENO, &width, &lines);
	table = term_table_new(ARRAY_LEN(heads), rows);
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		term_table_head(table, i, heads[i], i == 1);
	for (size_t i = 0; code == 0 && i < files->row_count; i++) {
		const struct json_value *row = files->rows[i];
		char size[CLI_SIZE_TEXT], modified[24];
		const bool of_volume = files->volume != NULL;
		const char *const cells[] = { json_get_str(row, "path"), size, modified,
					      json_get_str(row, of_volume ? "kind" : "mime") };
		int64_t bytes = 0;

		if (!files_is_within(cells[0], name))
			continue;
		(void)json_read_int(json_read_member(row, of_volume ? "bytes" : "size"), &bytes);
		cli_format_size(bytes > 0 ? (uint64_t)bytes : 0, size);
		(void)snprintf(modified, sizeof(modified), "%.19s",
			       json_get_str(row, of_volume ? "modified_at" : "modified"));
		if (strlen(modified) > 10)
			modified[10] = ' ';
		for (size_t j = 0; code == 0 && j < ARRAY_LEN(cells); j++)
			code = term_table_cell(table, at, j, cells[j], strlen(cells[j]), err);
		at++;
	}
	if (code == 0)
		code = term_table_draw(table, width, term_has_colour(STDOUT_FILENO), text, err);
	term_table_free(table);
	return code;
}

int files_print_rows(const struct files *files)
{
	cleanup_buf struct buf text = BUF_INIT(CLIENT_JSON_MAX);
	struct err err;

	if (buf_addc(&text, '[', &err) < 0)
		return cli_complain(&err);
	for (size_t i = 0; i < files->row_count; i++)
		if ((i > 0 && buf_addc(&text, ',', &err) < 0) ||
		    json_read_dump(files->rows[i], &text, &err) < 0)
			return cli_complain(&err);
	if (buf_adds(&text, "]\n", &err) < 0)
		return cli_complain(&err);
	return cli_write_stdout(buf_text(&text), text.len);
}
