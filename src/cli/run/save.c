/*
 * save.c - saves the displays and files of a record.
 *
 * Runs in:  reckon.
 * Reads:    records: file names and base64 images, all from a box.
 * Never:    decodes an image or renders a page; their bytes go to a file unchanged.
 */
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "cli/cli.h"
#include "cli/run/run.h"
#include "cli/term/picture.h"
#include "codec/base64.h"

enum form { FORM_BYTES, FORM_TEXT, FORM_JSON };

struct kind {
	const char *mime, *label, *suffix;
	const char *word; /* prefix of its file names: WORD-CELL-NUMBER.SUFFIX */
	enum form form;
};

/*
 * In order of preference, because a display often has several forms. Most programs can show an
 * image; an HTML page says more than the data it was made from.
 */
static const struct kind kinds[] = {
	{ "image/png", "PNG", "png", "figure", FORM_BYTES },
	{ "image/jpeg", "JPEG", "jpg", "figure", FORM_BYTES },
	{ "image/gif", "GIF", "gif", "figure", FORM_BYTES },
	{ "image/webp", "WebP", "webp", "figure", FORM_BYTES },
	{ "image/svg+xml", "SVG", "svg", "figure", FORM_TEXT },
	{ "application/pdf", "PDF", "pdf", "figure", FORM_BYTES },
	{ "audio/wav", "WAV", "wav", "display", FORM_BYTES },
	{ "audio/mpeg", "MP3", "mp3", "display", FORM_BYTES },
	{ "audio/ogg", "Ogg", "ogg", "display", FORM_BYTES },
	{ "video/mp4", "MP4", "mp4", "display", FORM_BYTES },
	{ "video/webm", "WebM", "webm", "display", FORM_BYTES },
	{ "text/html", "HTML", "html", "display", FORM_TEXT },
	{ "text/markdown", "Markdown", "md", "display", FORM_TEXT },
	{ "text/latex", "LaTeX", "tex", "display", FORM_TEXT },
	{ "application/vnd.vegalite.v6+json", "Vega-Lite", "vl.json", "display", FORM_JSON },
	{ "application/vnd.vegalite.v5+json", "Vega-Lite", "vl.json", "display", FORM_JSON },
	{ "application/geo+json", "GeoJSON", "geojson", "display", FORM_JSON },
	{ "application/vnd.plotly.v1+json", "Plotly", "plotly.json", "display", FORM_JSON },
	{ "application/json", "JSON", "json", "display", FORM_JSON },
	{ "application/javascript", "JavaScript", "js", "display", FORM_TEXT },
};

/*
 * One thing to save. `text` is base64 or text and belongs to the record, or it points into `json`.
 */
struct saved {
	const struct kind *kind;
	const char *text;
	size_t len;
	struct buf *json;
};

/*
 * Finds the best form of a display; false: there is only text. Tables are printed instead: a file
 * with their HTML would be one more file for each frame that ends a cell.
 */
static bool find_form(const struct json_value *data, struct saved *saved)
{
	struct err ignored; /* what cannot be written as JSON is skipped */

	if (json_read_member(data, "application/vnd.reckon.table+json") != NULL)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const struct json_value *value = json_read_member(data, kinds[i].mime);

		saved->kind = &kinds[i];
		saved->text = json_read_text(value, &saved->len);
		if (kinds[i].form != FORM_JSON && saved->text != NULL)
			return true;
		if (kinds[i].form != FORM_JSON || value == NULL ||
		    json_read_dump(value, saved->json, &ignored) < 0)
			continue;
		saved->text = buf_text(saved->json);
		saved->len = saved->json->len;
		return true;
	}
	return false;
}

/* Whether text ends like the repr of a chart, which says nothing: alt.Chart(...) */
static bool is_shortened(const char *plain)
{
	const size_t len = strlen(plain);

	return len > 4 && strcmp(plain + len - 4, "...)") == 0;
}

/*
 * Whether to mention a display that is not saved: images, sound, and pages whose text says nothing.
 * The text of a table or a model is enough.
 */
static bool is_news(const struct kind *kind, const struct json_value *data)
{
	const char *plain = json_read_text(json_read_member(data, "text/plain"), NULL);

	if (kind->form == FORM_BYTES || strcmp(kind->word, "figure") == 0)
		return true;
	return strcmp(kind->mime, "text/html") == 0 &&
	       (plain == NULL || strncmp(plain, "<IPython.", 9) == 0 || is_shortened(plain) ||
		json_read_member(data, "application/vnd.plotly.v1+json") != NULL);
}

static size_t decoded_size(const struct saved *saved)
{
	const char *text = saved->text;
	const size_t len = saved->len;

	if (saved->kind->form != FORM_BYTES || len < 4)
		return len;
	return len / 4 * 3 - (text[len - 1] == '=') - (text[len - 2] == '=');
}

static void save_failed(struct run_output *output, const char *path, struct err *err)
{
	err_wrap(err, "cell %zu: save %.200s", output->cell, path);
	(void)cli_complain(err);
	output->unsaved = true;
}

static int save_bytes(int dir_fd, const char *path, const void *bytes, size_t len,
		      struct err *err)
{
	char temp[RUN_FILES_TEMP_SIZE];
	cleanup_fd int fd = -1;

	if (run_files_create(dir_fd, path, temp, &fd, err) < 0)
		return (int)err->code;
	if (fd_write_full(fd, bytes, len, err) == 0 &&
	    run_files_commit(dir_fd, temp, path, err) == 0)
		return 0;
	run_files_abandon(dir_fd, temp);
	return (int)err->code;
}

/* Whether HTML lacks a document element: then a browser would guess its character encoding. */
static bool is_fragment(const struct saved *saved)
{
	const char *text = saved->text;

	if (strcmp(saved->kind->mime, "text/html") != 0)
		return false;
	text += strspn(text, " \t\r\n");
	return strncasecmp(text, "<!doctype", 9) != 0 && strncasecmp(text, "<html", 5) != 0;
}

static int save_form(int dir_fd, const char *path, const struct saved *saved, struct err *err)
{
	cleanup_buf struct buf bytes = BUF_INIT(RUN_JSON_MAX);

	if (is_fragment(saved)) {
		if (buf_adds(&bytes, "<!doctype html>\n<meta charset=\"utf-8\">\n", err) < 0 ||
		    buf_add(&bytes, saved->text, saved->len, err) < 0)
			return (int)err->code;
		return save_bytes(dir_fd, path, buf_text(&bytes), bytes.len, err);
	}
	if (saved->kind->form != FORM_BYTES)
		return save_bytes(dir_fd, path, saved->text, saved->len, err);
	if (base64_decode(saved->text, saved->len, &bytes, err) < 0)
		return (int)err->code;
	return save_bytes(dir_fd, path, buf_text(&bytes), bytes.len, err);
}

/* Draws the figure on a terminal that can show images. */
static bool draw_figure(struct run_output *output, const struct saved *saved)
{
	cleanup_buf struct buf png = BUF_INIT(IMAGE_PNG_MAX);
	cleanup_buf struct buf drawn = BUF_INIT(RUN_JSON_MAX);
	struct err ignored; /* if drawing fails, the figure is saved */

	if (!output->shows_figures || output->images == TERM_IMAGE_NONE ||
	    strcmp(saved->kind->mime, "image/png") != 0 ||
	    base64_decode(saved->text, saved->len, &png, &ignored) < 0 ||
	    term_picture_draw(&png, output->images, !output->out.plain, &drawn, &ignored) < 0)
		return false;
	run_output_drawn(output, &drawn);
	return true;
}

/* Saves the figure in RUN_FIGURES, where it replaces figures of earlier runs. */
static bool save_figure(struct run_output *output, const char *path, const struct saved *saved,
			const char *size)
{
	cleanup_fd int dir_fd = -1;
	struct err ignored; /* on failure the caller suggests -o DIR */

	if (!output->shows_figures || strcmp(saved->kind->word, "figure") != 0 ||
	    run_files_open_dir(RUN_FIGURES, &dir_fd, &ignored) < 0 ||
	    save_form(dir_fd, path, saved, &ignored) < 0)
		return false;
	run_output_line("%s (%s, %s): saved as " RUN_FIGURES "/%s", saved->kind->word,
			saved->kind->label, size, path);
	return true;
}

struct numbers {
	size_t figures, displays;
};

/* Whether the program wrote the figure to a file: files are saved, so it is not saved twice. */
static bool is_saved_already(const struct json_value *record, const struct json_value *result)
{
	const struct json_value *metadata = json_read_member(result, "metadata");
	const struct json_value *files = json_read_member(record, "files");
	const char *path = json_read_text(json_read_member(metadata, "saved_as"), NULL);

	for (size_t i = 0; path != NULL && i < json_read_count(files); i++) {
		const struct json_value *file = json_read_at(files, i);
		const char *name = json_read_text(json_read_member(file, "path"), NULL);
		const char *change = json_read_text(json_read_member(file, "change"), NULL);

		if (name != NULL && change != NULL && strcmp(name, path) == 0)
			return strcmp(change, "deleted") != 0;
	}
	return false;
}

static void save_display(struct run_output *output, const struct json_value *record,
			 const struct json_value *result, struct numbers *numbers)
{
	const struct json_value *data = json_read_member(result, "data");
	cleanup_buf struct buf json = BUF_INIT(RUN_JSON_MAX);
	struct saved saved = { .json = &json };
	const bool is_text = output->run->mode == RUN_MODE_TEXT;
	const bool found = find_form(data, &saved);
	char path[64], size[CLI_SIZE_TEXT];
	const struct kind *kind = saved.kind;
	struct err err;
	size_t *number;

	if (!found)
		return;
	cli_format_size(decoded_size(&saved), size);
	number = strcmp(kind->word, "figure") == 0 ? &numbers->figures : &numbers->displays;
	(void)snprintf(path, sizeof(path), "%s-%zu-%zu.%s", kind->word, output->cell, ++*number,
		       kind->suffix);
	if (output->out_dir < 0) {
		if (is_text && is_news(kind, data) && !draw_figure(output, &saved) &&
		    !save_figure(output, path, &saved, size))
			run_output_line("%s (%s, %s): use -o DIR to save it", kind->word,
					kind->label, size);
		return;
	}
	if (is_saved_already(record, result))
		return;
	if (save_form(output->out_dir, path, &saved, &err) < 0)
		save_failed(output, path, &err);
	else if (is_text)
		run_output_line("%s (%s, %s): saved as %s/%s", kind->word, kind->label, size,
				output->run->out_path, path);
}

static void save_displays(struct run_output *output, const struct json_value *record)
{
	const struct json_value *results = json_read_member(record, "results");
	const size_t count = json_read_count(results);
	struct numbers numbers = { 0 };

	for (size_t i = 0; i < count; i++)
		save_display(output, record, json_read_at(results, i), &numbers);
}

static int save_file(struct run_output *output, const char *path, const char *artifact,
		     struct err *err)
{
	char temp[RUN_FILES_TEMP_SIZE];
	cleanup_fd int fd = -1;

	if (run_files_create(output->out_dir, path, temp, &fd, err) < 0)
		return (int)err->code;
	/* Prefer the stored copy: it is the version that the record describes. */
	if (output->session->ops->get(output->session, path, artifact, fd, err) == 0 &&
	    run_files_commit(output->out_dir, temp, path, err) == 0)
		return 0;
	run_files_abandon(output->out_dir, temp);
	return (int)err->code;
}

static void one_file(struct run_output *output, const struct json_value *file)
{
	const char *path = json_read_text(json_read_member(file, "path"), NULL);
	const char *change = json_read_text(json_read_member(file, "change"), NULL);
	const char *kind = json_read_text(json_read_member(file, "kind"), NULL);
	const char *artifact = json_read_text(json_read_member(file, "artifact"), NULL);
	const bool is_text = output->run->mode == RUN_MODE_TEXT;
	char size[CLI_SIZE_TEXT];
	int64_t bytes = 0;
	struct err err;

	if (path == NULL || change == NULL)
		return;
	(void)json_read_int(json_read_member(file, "size"), &bytes);
	cli_format_size(bytes > 0 ? (uint64_t)bytes : 0, size);
	if (strcmp(change, "deleted") == 0) {
		if (is_text)
			run_output_line("%-8s  %s", change, path);
	} else if (kind != NULL && strcmp(kind, "file") != 0) {
		if (is_text)
			run_output_line("%-8s  %s  (%s)", change, path, kind);
	} else if (output->out_dir < 0) {
		if (is_text)
			run_output_line("%-8s  %s  %s  %s", change, path, size,
					artifact != NULL ? artifact : "");
	} else if (save_file(output, path, artifact, &err) < 0) {
		save_failed(output, path, &err);
	} else if (is_text) {
		run_output_line("%-8s  %s  %s  saved as %s/%s", change, path, size,
				output->run->out_path, path);
	}
}

void run_save_all(struct run_output *output, const struct json_value *record)
{
	const struct json_value *files = json_read_member(record, "files");
	const size_t count = json_read_count(files);

	if (output->run->mode != RUN_MODE_TEXT && output->out_dir < 0)
		return;
	save_displays(output, record);
	for (size_t i = 0; i < count; i++)
		one_file(output, json_read_at(files, i));
	if (count > 0 && output->out_dir < 0 && !output->explained) {
		run_output_line("-o DIR saves files; reckon artifact ID -o FILE fetches one later");
		output->explained = true;
	}
}
