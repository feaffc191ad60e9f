/*
 * show.c - prints the catalog for a person or as JSON.
 *
 * Runs in:  reckon models.
 * Reads:    rows of catalog.h; their names come from a server and are printed escaped.
 * Never:    prints a key, or a part of one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/models/catalog.h"
#include "cli/cli.h"
#include "cli/repl/repl.h"
#include "cli/term/look.h"
#include "cli/term/table.h"
#include "cli/term/term.h"
#include "cli/term/width.h"
#include "codec/json_write.h"

#define SHOWN_MAX ((size_t)16 * 1024 * 1024)
#define PRICE_TEXT 32
#define INDENT 2

const char *catalog_state_name(enum catalog_state state)
{
	static const char *const names[] = {
		[CATALOG_WORKS] = "works",
		[CATALOG_FAILED] = "failed",
		[CATALOG_NO_KEY] = "no key",
		[CATALOG_INSTALLED] = "installed",
		[CATALOG_NOT_REQUESTED] = "not asked",
	};

	return names[state];
}

/* "1.25": the price without zeros at its end. */
static const char *price_text(uint64_t micro, char text[PRICE_TEXT])
{
	int len = snprintf(text, PRICE_TEXT, "%llu.%06llu", (unsigned long long)micro / 1000000,
			   (unsigned long long)micro % 1000000);

	while (len > 0 && text[len - 1] == '0')
		text[--len] = '\0';
	if (len > 0 && text[len - 1] == '.')
		text[--len] = '\0';
	return text;
}

static const char *key_text(const struct models_choice *choice)
{
	if (choice->is_local)
		return "";
	return choice->key == NULL || choice->key[0] == '\0' ? "none" : choice->key_from;
}

/* ---- for a person ---- */

static int draw(struct term_table *table, struct err *err)
{
	cleanup_buf struct buf shown = BUF_INIT(SHOWN_MAX);

	if (term_table_draw(table, repl_width(), term_has_colour(STDOUT_FILENO), &shown, err) < 0)
		return (int)err->code;
	return cli_write_stdout(buf_text(&shown), shown.len);
}

static int set(struct term_table *table, size_t row, size_t column, const char *text,
	       struct err *err)
{
	return term_table_cell(table, row, column, text, strlen(text), err);
}

static int show_providers(const struct catalog *catalog, struct err *err)
{
	static const char *const heads[] = { "PROVIDER", "STATE", "PROTOCOL", "MODEL", "KEY FROM",
					     "ADDRESS" };
	struct term_table *table = term_table_new(ARRAY_LEN(heads), catalog->count);
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		term_table_head(table, i, heads[i], false);
	for (size_t i = 0; i < catalog->count && rc == 0; i++) {
		const struct catalog_row *row = &catalog->rows[i];
		const char *cells[] = {
			row->choice.provider, catalog_state_name(row->state),
			models_protocol_name(row->choice.protocol), row->choice.model,
			key_text(&row->choice),
			row->choice.is_local ? "(this host)" : row->choice.base_url,
		};

		for (size_t k = 0; k < ARRAY_LEN(cells) && rc == 0; k++)
			rc = set(table, i, k, cells[k], err);
	}
	if (rc == 0)
		rc = draw(table, err);
	term_table_free(table);
	return rc;
}

/* Sets one row of the table of prices. */
static int set_price(struct term_table *table, size_t row, const char *name,
		     const struct models_entry *entry, struct err *err)
{
	const uint64_t cached = entry->price_cached != MODELS_UNSET ? entry->price_cached
								    : entry->price_in;
	const uint64_t prices[] = { entry->price_in, cached, entry->price_out };
	char text[PRICE_TEXT];
	int rc = set(table, row, 0, name, err);

	for (size_t k = 0; k < ARRAY_LEN(prices) && rc == 0; k++)
		if (prices[k] != MODELS_UNSET)
			rc = set(table, row, k + 1, price_text(prices[k], text), err);
	if (rc == 0 && entry->context_tokens != MODELS_UNSET) {
		(void)snprintf(text, sizeof(text), "%llu",
			       (unsigned long long)entry->context_tokens);
		rc = set(table, row, 4, text, err);
	}
	return rc;
}

static bool has_price(const struct models_entry *entry)
{
	return entry->section == MODELS_MODEL ||
	       (entry->section == MODELS_PROVIDER && entry->price_in != MODELS_UNSET);
}

static int show_prices(const struct catalog *catalog, struct err *err)
{
	static const char *const heads[] = { "PRICE OF A MILLION TOKENS", "IN", "CACHED", "OUT",
					     "CONTEXT" };
	const struct models *models = catalog->models;
	struct term_table *table;
	size_t count = 0, at = 0;
	int rc = 0;

	for (size_t i = 0; i < models->count; i++)
		count += has_price(models->entries[i]);
	if (count == 0)
		return 0;
	table = term_table_new(ARRAY_LEN(heads), count);
	for (size_t i = 0; i < ARRAY_LEN(heads); i++)
		term_table_head(table, i, heads[i], i > 0);
	for (size_t i = 0; i < models->count && rc == 0; i++) {
		const struct models_entry *entry = models->entries[i];
		char name[MODELS_NAME_MAX + MODELS_MODEL_MAX + 4];

		if (!has_price(entry))
			continue;
		(void)snprintf(name, sizeof(name), "%s%s", entry->name,
			       entry->section == MODELS_PROVIDER ? "/*" : "");
		rc = set_price(table, at++, name, entry, err);
	}
	if (rc == 0) {
		repl_print("\n");
		rc = draw(table, err);
	}
	term_table_free(table);
	return rc;
}

static void print_line(const char *text, size_t len)
{
	cleanup_buf struct buf shown = BUF_INIT(SHOWN_MAX);
	struct err full;

	if (term_escape_line(text, len, &shown, &full) == 0 && buf_addc(&shown, '\n', &full) == 0)
		(void)cli_write_stdout(shown.data, shown.len);
}

/* Prints as many names as fit on a line; all of them if the user named the provider. */
static void show_names(const struct catalog_row *row, bool all)
{
	cleanup_buf struct buf line = BUF_INIT(SHOWN_MAX);
	const char *at = buf_text(&row->names), *const end = at + row->names.len;
	const size_t width = repl_width();
	size_t shown = 0;
	struct err full;

	repl_print("%s/: %llu model%s\n", row->choice.provider, (unsigned long long)row->count,
		   row->count == 1 ? "" : "s");
	while (at < end) {
		const size_t len =
			(size_t)((const char *)memchr(at, '\n', (size_t)(end - at)) - at);

		if (all) {
			repl_print("%*s", INDENT, "");
			print_line(at, len);
		} else if (INDENT + line.len + len + 5 > width) {
			break;
		} else {
			(void)buf_addf(&line, &full, "%s%.*s", shown > 0 ? ", " : "", (int)len, at);
		}
		shown++;
		at += len + 1;
	}
	if (line.len > 0) {
		if (shown < row->count)
			(void)buf_adds(&line, ", …", &full);
		repl_print("%*s", INDENT, "");
		print_line(line.data, line.len);
	}
}

static bool lists_its_model(const struct catalog_row *row)
{
	const char *at = buf_text(&row->names), *const end = at + row->names.len;
	const size_t wanted = strlen(row->choice.model);

	while (at < end) {
		const size_t len =
			(size_t)((const char *)memchr(at, '\n', (size_t)(end - at)) - at);

		if (len == wanted && memcmp(at, row->choice.model, len) == 0)
			return true;
		at += len + 1;
	}
	return wanted == 0 || row->count == 0;
}

static void show_details(const struct catalog *catalog)
{
	const bool all = catalog->wanted[0] != NULL;

	for (size_t i = 0; i < catalog->count; i++) {
		const struct catalog_row *row = &catalog->rows[i];
		struct err line = row->why;

		if (row->state == CATALOG_FAILED || row->state == CATALOG_NO_KEY) {
			err_wrap(&line, "%s", row->choice.provider);
			(void)cli_complain(&line);
		}
		if (row->count > 0) {
			repl_print("\n");
			show_names(row, all);
		}
		if ((row->state == CATALOG_WORKS || row->state == CATALOG_INSTALLED) &&
		    !lists_its_model(row))
			run_output_line("reckon: %s: \"%s\" of models.ini is not in its list",
					row->choice.provider, row->choice.model);
	}
}

/* Prints the providers that are not configured. */
static void show_rest(const struct catalog *catalog)
{
	struct models_provider provider;

	if (catalog->wanted[0] != NULL)
		return;
	for (size_t i = 0; models_provider_at(catalog->models, i, &provider); i++) {
		bool is_there = strncmp(provider.name, "local-", 6) == 0;

		for (size_t k = 0; k < catalog->count; k++)
			is_there |= strcmp(catalog->rows[k].choice.provider, provider.name) == 0;
		if (!is_there)
			run_output_line("not configured: %-17s %s", provider.name,
					provider.is_local ? "reckon model install"
					: provider.builtin->key_env != NULL
						? provider.builtin->key_env
						: provider.builtin->url_env);
	}
}

static int status_of(const struct catalog *catalog)
{
	for (size_t i = 0; i < catalog->count; i++)
		if (catalog->rows[i].state == CATALOG_FAILED ||
		    catalog->rows[i].state == CATALOG_NO_KEY)
			return EXIT_CODE_FAILED;
	return catalog->count > 0 ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}

int catalog_show(const struct catalog *catalog)
{
	struct err err;

	term_width_locale();
	if (catalog->count > 0 && (show_providers(catalog, &err) < 0 ||
				   show_prices(catalog, &err) < 0))
		return cli_complain(&err);
	show_details(catalog);
	show_rest(catalog);
	return status_of(catalog);
}

/* ---- for a program ---- */

static void write_price(struct json_writer *writer, const char *key, uint64_t micro)
{
	char text[PRICE_TEXT];

	json_write_key(writer, key);
	price_text(micro, text);
	json_write_raw(writer, text, strlen(text));
}

static void write_names(struct json_writer *writer, const struct catalog_row *row)
{
	const char *at = buf_text(&row->names), *const end = at + row->names.len;

	json_write_key(writer, "models");
	json_write_array_begin(writer);
	while (at < end) {
		const size_t len =
			(size_t)((const char *)memchr(at, '\n', (size_t)(end - at)) - at);

		json_write_text(writer, at, len);
		at += len + 1;
	}
	json_write_array_end(writer);
	json_write_member_uint(writer, "models_total", row->count);
}

static void write_row(struct json_writer *writer, const struct catalog_row *row)
{
	const struct models_choice *choice = &row->choice;

	json_write_object_begin(writer);
	json_write_member_string(writer, "provider", choice->provider);
	json_write_member_string(writer, "protocol", models_protocol_name(choice->protocol));
	json_write_member_string(writer, "base_url", choice->is_local ? NULL : choice->base_url);
	json_write_member_bool(writer, "has_key", choice->key != NULL && choice->key[0] != '\0');
	json_write_member_string(writer, "key_from",
				 choice->key_from[0] != '\0' ? choice->key_from : NULL);
	json_write_member_string(writer, "model", choice->model[0] != '\0' ? choice->model : NULL);
	json_write_key(writer, "price");
	if (choice->has_price) {
		json_write_object_begin(writer);
		write_price(writer, "in", row->settings.price_in);
		write_price(writer, "cached", row->settings.price_cached);
		write_price(writer, "out", row->settings.price_out);
		json_write_object_end(writer);
	} else {
		json_write_null(writer);
	}
	json_write_member_string(writer, "state", catalog_state_name(row->state));
	json_write_key(writer, "error");
	if (row->state == CATALOG_FAILED || row->state == CATALOG_NO_KEY) {
		json_write_object_begin(writer);
		json_write_member_string(writer, "code", err_code_name(row->why.code));
		json_write_member_string(writer, "message", row->why.text);
		json_write_member_string(writer, "remedy", row->why.remedy);
		json_write_object_end(writer);
	} else {
		json_write_null(writer);
	}
	write_names(writer, row);
	json_write_object_end(writer);
}

int catalog_show_json(const struct catalog *catalog)
{
	const struct models_entry *standard =
		models_entry_find(catalog->models, MODELS_DEFAULT, "", 0);
	const char *chosen = getenv("RECKON_MODEL");
	cleanup_buf struct buf out = BUF_INIT(SHOWN_MAX);
	struct json_writer writer;
	struct err err;
	int status;

	if (chosen == NULL || chosen[0] == '\0')
		chosen = standard != NULL ? standard->model : NULL;
	json_write_init(&writer, &out);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, "schema", "reckon.models/1");
	json_write_member_string(&writer, "file", catalog->is_there ? catalog->path : NULL);
	json_write_member_string(&writer, "default", chosen);
	json_write_key(&writer, "providers");
	json_write_array_begin(&writer);
	for (size_t i = 0; i < catalog->count; i++)
		write_row(&writer, &catalog->rows[i]);
	json_write_array_end(&writer);
	json_write_object_end(&writer);
	if (json_write_finish(&writer, &err) < 0 || buf_addc(&out, '\n', &err) < 0)
		return cli_complain(&err);
	status = cli_write_stdout(out.data, out.len);
	return status != EXIT_CODE_OK ? status : status_of(catalog);
}
