/*
 * output.c - prints events as they arrive, and messages of Reckon.
 *
 * Runs in:  reckon.
 * Reads:    events; their text comes from the box.
 * Never:    adds text of Reckon to stdout, which has the code's output or lines of JSON.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file/fd.h"
#include "cli/cli.h"
#include "cli/run/run.h"
#include "cli/term/look.h"
#include "cli/term/width.h"

#define LINE_MAX_BYTES 8192

void run_output_init(struct run_output *output, const struct run *run)
{
	memset(output, 0, sizeof(*output));
	output->run = run;
	output->out_dir = -1;
	output->wall_option = "--timeout";
	output->out.escape = isatty(STDOUT_FILENO);
	output->err.escape = isatty(STDERR_FILENO);
	output->out.plain = !term_has_colour(STDOUT_FILENO);
	output->err.plain = !term_has_colour(STDERR_FILENO);
}

void run_output_show_figures(struct run_output *output)
{
	term_width_locale();
	output->shows_figures = true;
	output->images = isatty(STDOUT_FILENO) ? term_image_detect() : TERM_IMAGE_NONE;
}

/* The first write error sets the exit status; nothing more is written after it. */
static void put(struct run_output *output, int fd, const void *bytes, size_t len)
{
	struct err err;

	if (output->status != 0)
		return;
	if (fd == STDOUT_FILENO)
		output->status = cli_write_stdout(bytes, len);
	else
		/* an error on stderr cannot be reported */
		(void)fd_write_full(fd, bytes, len, &err);
}

void run_output_raw_line(struct run_output *output, const char *text, size_t len)
{
	put(output, STDOUT_FILENO, text, len);
	put(output, STDOUT_FILENO, "\n", 1);
}

void run_output_text(struct run_output *output, int fd, const char *text, size_t len)
{
	struct term_filter *filter = fd == STDOUT_FILENO ? &output->out : &output->err;
	cleanup_buf struct buf shown = BUF_INIT(RUN_JSON_MAX);
	struct err err;

	if (!filter->escape) {
		if (len > 0)
			filter->mid_line = text[len - 1] != '\n';
		put(output, fd, text, len);
		return;
	}
	if (term_filter_add(filter, text, len, &shown, &err) < 0)
		output->status = cli_complain(&err);
	put(output, fd, buf_text(&shown), shown.len);
}

static void end_text(struct run_output *output, int fd)
{
	struct term_filter *filter = fd == STDOUT_FILENO ? &output->out : &output->err;
	cleanup_buf struct buf shown = BUF_INIT(RUN_SOURCE_MAX);
	struct err err;

	if (term_filter_end(filter, &shown, &err) < 0)
		output->status = cli_complain(&err);
	put(output, fd, buf_text(&shown), shown.len);
}

/* Messages and values start at the beginning of a line. */
void run_output_end_line(struct run_output *output, int fd)
{
	struct term_filter *filter = fd == STDOUT_FILENO ? &output->out : &output->err;

	end_text(output, fd);
	if (filter->mid_line)
		put(output, fd, "\n", 1);
	filter->mid_line = false;
}

void run_output_drawn(struct run_output *output, const struct buf *lines)
{
	if (lines->len == 0)
		return;
	run_output_end_line(output, STDOUT_FILENO);
	put(output, STDOUT_FILENO, lines->data, lines->len);
}

void run_output_stderr(struct run_output *output, const char *text, size_t len)
{
	run_output_text(output, STDERR_FILENO, text, len);
	run_output_end_line(output, STDERR_FILENO);
}

void run_output_line(const char *fmt, ...)
{
	cleanup_buf struct buf shown = BUF_INIT((size_t)LINE_MAX_BYTES * 4 + 1);
	char line[LINE_MAX_BYTES];
	struct err err;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (len < 0 || term_escape_line(line, strlen(line), &shown, &err) < 0 ||
	    buf_addc(&shown, '\n', &err) < 0)
		return;
	(void)fd_write_full(STDERR_FILENO, shown.data, shown.len, &err);
}

/* Images are handled with the record, because they are saved as files. */
static bool is_image(const struct json_value *data)
{
	const struct json_value *value;
	const char *mime;

	for (size_t i = 0; json_read_member_at(data, i, &mime, &value); i++)
		if (strncmp(mime, "image/", 6) == 0)
			return true;
	return false;
}

static void show_bundle(struct run_output *output, const struct json_value *data)
{
	static const char *const mimes[] = { "text/plain", "text/markdown", "text/latex" };
	const char *text = NULL;
	size_t len = 0;

	if (is_image(data))
		return;
	for (size_t i = 0; i < sizeof(mimes) / sizeof(mimes[0]) && text == NULL; i++)
		text = json_read_text(json_read_member(data, mimes[i]), &len);
	if (text == NULL)
		return;
	run_output_end_line(output, STDOUT_FILENO);
	run_output_text(output, STDOUT_FILENO, text, len);
	run_output_end_line(output, STDOUT_FILENO);
}

static void show_event(struct run_output *output, const reckon_event *event)
{
	struct json_value *document = NULL;
	struct err err;

	if (event->text != NULL) {
		run_output_text(output, event->stream == 2 ? STDERR_FILENO : STDOUT_FILENO,
				event->text, event->text_len);
		return;
	}
	if (strcmp(event->name, "display_data") != 0 && strcmp(event->name, "execute_result") != 0)
		return;
	if (json_read_parse(event->json, event->json_len, RUN_JSON_MAX, &document, &err) < 0) {
		(void)cli_complain(&err);
		return;
	}
	show_bundle(output, json_read_member(document, "data"));
	json_read_free(document);
}

int run_output_event(const reckon_event *event, void *arg)
{
	struct run_output *output = arg;

	if (output->run->mode == RUN_MODE_EVENTS)
		run_output_raw_line(output, event->json, event->json_len);
	else
		show_event(output, event);
	return output->status == 0 ? RECKON_CONTINUE : RECKON_STOP;
}

void run_output_settle(struct run_output *output)
{
	end_text(output, STDOUT_FILENO);
	run_output_end_line(output, STDERR_FILENO);
	if (output->out.escape && output->out.mid_line)
		run_output_end_line(output, STDOUT_FILENO);
}
