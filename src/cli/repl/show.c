/*
 * show.c - prints events and records for a person: text, tables, images.
 *
 * Runs in:  reckon repl.
 * Reads:    events and records, whose content comes from the box.
 * Never:    sends bytes of the box to the terminal unescaped; images are drawn from their pixels.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "cli/cli.h"
#include "cli/repl/repl.h"
#include "cli/term/look.h"
#include "cli/term/picture.h"
#include "cli/term/table.h"
#include "cli/term/width.h"
#include "codec/base64.h"
#include "languages/languages.h"

#define PIPE_WIDTH 120 /* width of tables without a terminal */
#define SHOWN_MAX ((size_t)128 * 1024 * 1024)
#define LINE_MAX_BYTES 8192

void repl_print(const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	(void)cli_write_stdout(line, strlen(line));
}

void repl_print_text(const char *text, size_t len)
{
	struct term_filter filter = { .escape = isatty(STDOUT_FILENO),
				      .plain = !term_has_colour(STDOUT_FILENO) };
	cleanup_buf struct buf shown = BUF_INIT(SHOWN_MAX);
	struct err ignored;

	if (term_filter_add(&filter, text, len, &shown, &ignored) == 0 &&
	    term_filter_end(&filter, &shown, &ignored) == 0)
		(void)cli_write_stdout(buf_text(&shown), shown.len);
}

size_t repl_width(void)
{
	size_t columns, lines;

	if (!isatty(STDOUT_FILENO))
		return PIPE_WIDTH;
	term_width_window(STDOUT_FILENO, &columns, &lines);
	return columns;
}

/* ---- pictures ---- */

bool repl_find_image(const struct json_value *data, struct image_found *ret)
{
	/* In order of preference, because a figure often has several formats. */
	static const struct image_found kinds[] = {
		{ "image/png", "png", "PNG", NULL, 0, false },
		{ "image/jpeg", "jpg", "JPEG", NULL, 0, false },
		{ "image/gif", "gif", "GIF", NULL, 0, false },
		{ "image/webp", "webp", "WebP", NULL, 0, false },
		{ "image/svg+xml", "svg", "SVG", NULL, 0, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		size_t len = 0;
		const char *text = json_read_text(json_read_member(data, kinds[i].mime), &len);

		if (text == NULL)
			continue;
		*ret = kinds[i];
		ret->text = text;
		ret->len = len;
		return true;
	}
	return false;
}

int repl_draw_png(const struct repl *repl, const struct buf *png, struct buf *ret, struct err *err)
{
	return term_picture_draw(png, repl->images, repl->coloured, ret, err);
}

static int draw_png(const struct repl *repl, const struct image_found *found, struct err *err)
{
	cleanup_buf struct buf png = BUF_INIT(IMAGE_PNG_MAX);
	cleanup_buf struct buf shown = BUF_INIT(SHOWN_MAX);

	if (base64_decode(found->text, found->len, &png, err) < 0 ||
	    repl_draw_png(repl, &png, &shown, err) < 0)
		return (int)err->code;
	if (cli_write_stdout(shown.data, shown.len) != EXIT_CODE_OK)
		return err_set(err, ERR_SYSTEM, "stdout");
	return 0;
}

/* Draws the image if the terminal can; else prints a line that says how to get it. */
static void show_image(struct repl *repl, const struct image_found *found)
{
	const size_t bytes = found->is_text ? found->len : found->len / 4 * 3;
	const bool is_png = strcmp(found->suffix, "png") == 0;
	char size[CLI_SIZE_TEXT];
	const char *why = "";
	struct err err;

	repl->figures++;
	if (is_png && repl->images != TERM_IMAGE_NONE) {
		if (draw_png(repl, found, &err) == 0)
			return;
		why = err.text;
	}
	if (repl->for_model) /* run/save.c prints a line for each */
		return;
	cli_format_size(bytes, size);
	repl_print("figure (%s, %s)%s%s: %%get figure-%zu-%zu.%s saves it\n", found->label, size,
		   why[0] != '\0' ? ", not drawn: " : "", why, repl->number, repl->figures,
		   found->suffix);
}

/* ---- values ---- */

static bool show_table(const struct repl *repl, const struct json_value *data)
{
	const struct json_value *frame =
		json_read_member(data, "application/vnd.reckon.table+json");
	cleanup_buf struct buf shown = BUF_INIT(SHOWN_MAX);
	struct err ignored;

	if (frame == NULL ||
	    term_frame_draw(frame, repl_width(), repl->coloured, &shown, &ignored) < 0)
		return false;
	(void)cli_write_stdout(shown.data, shown.len);
	return true;
}

static void show_text(struct repl *repl, const struct json_value *data)
{
	static const char *const mimes[] = { "text/plain", "text/markdown", "text/latex" };
	const char *text = NULL;
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_LEN(mimes) && text == NULL; i++)
		text = json_read_text(json_read_member(data, mimes[i]), &len);
	if (text == NULL)
		return;
	run_output_text(&repl->output, STDOUT_FILENO, text, len);
	run_output_end_line(&repl->output, STDOUT_FILENO);
}

/* "Out[3]: " before a value; on its own line if the value has several lines. */
static void show_label(const struct repl *repl, const struct json_value *data, bool block)
{
	const char *text = json_read_text(json_read_member(data, "text/plain"), NULL);

	const char *label = run_language(&repl->run)->result_label;

	if (!repl->interactive || label == NULL)
		return;
	block = block || (text != NULL && strchr(text, '\n') != NULL);
	repl_print("%s%s[%zu]:%s%s", repl->coloured ? "\x1b[31m" : "", label, repl->number,
		   repl->coloured ? "\x1b[0m" : "", block ? "\n" : " ");
}

static void show_bundle(struct repl *repl, const struct json_value *data, bool is_result)
{
	struct image_found image;
	const bool has_image = repl_find_image(data, &image);
	const bool has_table =
		json_read_member(data, "application/vnd.reckon.table+json") != NULL;

	run_output_end_line(&repl->output, STDOUT_FILENO);
	if (is_result)
		show_label(repl, data, has_image || has_table);
	if (has_image)
		show_image(repl, &image);
	else if (!show_table(repl, data))
		show_text(repl, data);
}

int repl_show_event(const reckon_event *event, void *arg)
{
	struct repl *repl = arg;
	struct json_value *document = NULL;
	const bool is_result = strcmp(event->name, "execute_result") == 0;
	struct err err;

	if (event->text != NULL) {
		run_output_text(&repl->output,
				event->stream == 2 ? STDERR_FILENO : STDOUT_FILENO, event->text,
				event->text_len);
		return repl->output.status == 0 ? RECKON_CONTINUE : RECKON_STOP;
	}
	if (!is_result && strcmp(event->name, "display_data") != 0 &&
	    strcmp(event->name, "update_display_data") != 0)
		return RECKON_CONTINUE;
	if (json_read_parse(event->json, event->json_len, RUN_JSON_MAX, &document, &err) < 0) {
		(void)cli_complain(&err);
		return RECKON_CONTINUE;
	}
	show_bundle(repl, json_read_member(document, "data"), is_result);
	json_read_free(document);
	return repl->output.status == 0 ? RECKON_CONTINUE : RECKON_STOP;
}

/* ---- the end of a cell ---- */

static void show_file(struct repl *repl, const struct json_value *file)
{
	const char *path = json_read_text(json_read_member(file, "path"), NULL);
	const char *change = json_read_text(json_read_member(file, "change"), NULL);
	char size[CLI_SIZE_TEXT] = "";
	int64_t bytes = 0;

	if (path == NULL || change == NULL)
		return;
	if (json_read_int(json_read_member(file, "size"), &bytes) && bytes >= 0 &&
	    strcmp(change, "deleted") != 0)
		cli_format_size((uint64_t)bytes, size);
	run_output_line("%-8s  %s  %s", change, path, size);
	if (!repl->is_hint_shown && repl->interactive)
		run_output_line("%%get NAME fetches a file of the workspace, %%files lists them");
	repl->is_hint_shown = true;
}

void repl_show_record(struct repl *repl, const struct json_value *record)
{
	const struct json_value *files = json_read_member(record, "files");

	run_output_settle(&repl->output);
	run_report_status(&repl->output, record);
	if (repl->output.out_dir >= 0)
		run_save_all(&repl->output, record);
	for (size_t i = 0; repl->output.out_dir < 0 && i < json_read_count(files); i++)
		show_file(repl, json_read_at(files, i));
	if (repl->run.receipt)
		run_report_receipt(&repl->output, record);
}
