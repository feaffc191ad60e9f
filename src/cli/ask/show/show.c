/*
 * show.c - prints the progress and the answer of a question.
 *
 * Runs in:  reckon ask.
 * Reads:    text and code of a model, output of a box; all of it hostile.
 * Never:    sends any of it to a terminal unescaped.
 *
 * If stdout is a terminal, everything is printed there as it arrives. If it is a pipe or a file, it
 * only gets the answer, and everything else goes to stderr.
 */
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/reveal.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"
#include "cli/term/width.h"

#define SHOWN_MAX ((size_t)8 * 1024 * 1024)
#define DRAWN_MAX ((size_t)128 * 1024 * 1024) /* including images */
#define PREVIEW_SPARE 4u /* lines of the terminal that a preview leaves free */

static int fd_of_steps(const struct ask *ask)
{
	return ask->to_terminal ? STDOUT_FILENO : STDERR_FILENO;
}

bool ask_shows_at_terminal(const struct ask *ask)
{
	return isatty(fd_of_steps(ask)) == 1;
}

static void put(struct ask *ask, int fd, const char *text, size_t len)
{
	run_output_text(&ask->view.output, fd, text, len);
}

/* Clears line by line: some terminals save text that is cleared with the rest of the screen. */
static void wipe_preview(struct ask *ask)
{
	cleanup_buf struct buf wipe = BUF_INIT(SHOWN_MAX);
	struct err full;

	for (; ask->preview > 0; ask->preview--)
		(void)buf_adds(&wipe, ask->preview > 1 ? "\r\x1b[K\x1b[A" : "\r\x1b[K", &full);
	if (wipe.len > 0)
		(void)cli_write_stdout(wipe.data, wipe.len);
}

/* Prints only as many lines as fit, so that all of them can be cleared again. */
static void show_preview(struct ask *ask, const struct buf *text, size_t columns)
{
	size_t lines = 1;

	if (text->len == 0)
		return;
	for (const char *at = text->data; at < text->data + text->len;) {
		const char *newline = strchr(at, '\n');
		const char *end = newline != NULL ? newline : text->data + text->len;

		if (term_width_shown(at, (size_t)(end - at)) > columns)
			return;
		lines += newline != NULL;
		at = end + 1;
	}
	run_output_end_line(&ask->view.output, STDOUT_FILENO);
	ask->view.output.status = cli_write_stdout(text->data, text->len);
	ask->preview = lines;
}

/* Prints text of the model: as rendered Markdown at a terminal, else unchanged. */
static void put_prose(struct ask *ask, const struct buf *text, bool is_end)
{
	cleanup_buf struct buf drawn = BUF_INIT(DRAWN_MAX);
	size_t columns, lines;
	struct err err;

	if (ask->markdown == NULL) {
		put(ask, STDOUT_FILENO, buf_text(text), text->len);
		return;
	}
	wipe_preview(ask);
	term_width_window(STDOUT_FILENO, &columns, &lines);
	markdown_set_width(ask->markdown, columns);
	if (markdown_add(ask->markdown, buf_text(text), text->len, &drawn, &err) < 0 ||
	    (is_end && markdown_end(ask->markdown, &drawn, &err) < 0))
		ask->view.output.status = cli_complain(&err);
	run_output_drawn(&ask->view.output, &drawn);
	buf_clear(&drawn);
	if (!is_end && lines > PREVIEW_SPARE &&
	    markdown_preview(ask->markdown, lines - PREVIEW_SPARE, &drawn, &err) == 0)
		show_preview(ask, &drawn, columns);
}

static void put_linked(struct ask *ask, int fd, const char *text, size_t len)
{
	cleanup_buf struct buf shown = BUF_INIT(SHOWN_MAX);
	struct err err;

	if (ask_link_add(&ask->link, text, len, &shown, &err) < 0)
		return;
	if (ask->to_terminal)
		put_prose(ask, &shown, false);
	else
		put(ask, fd, buf_text(&shown), shown.len);
}

static void end_prose(struct ask *ask, int fd)
{
	cleanup_buf struct buf rest = BUF_INIT(SHOWN_MAX);
	struct err err;

	if (ask_link_end(&ask->link, &rest, &err) < 0)
		return;
	if (ask->to_terminal)
		put_prose(ask, &rest, true);
	else
		put(ask, fd, buf_text(&rest), rest.len);
	run_output_end_line(&ask->view.output, fd);
}

void ask_show_text(struct ask *ask, const char *text, size_t len)
{
	if (ask->json)
		return;
	ask->prose_open = true;
	if (ask->to_terminal)
		put_linked(ask, STDOUT_FILENO, text, len);
}

void ask_show_notice(struct ask *ask, const char *text, size_t len)
{
	wipe_preview(ask);
	run_output_settle(&ask->view.output);
	run_output_line("reckon: %.*s", (int)len, text);
}

void ask_show_turn(struct ask *ask)
{
	if (ask->prose_open && !ask->to_terminal)
		put_linked(ask, STDERR_FILENO, buf_text(&ask->driver.prose), ask->driver.prose.len);
	if (ask->prose_open)
		end_prose(ask, fd_of_steps(ask));
	ask->prose_open = false;
}

void ask_show_break(struct ask *ask)
{
	if (ask->prose_open && ask->to_terminal)
		end_prose(ask, STDOUT_FILENO);
	ask->prose_open = false;
}

/* At a terminal hidden characters become visible; a file or a pipe gets the code unchanged. */
static void put_code_line(struct ask *ask, int fd, const char *line, size_t len)
{
	cleanup_buf struct buf shown = BUF_INIT(RUN_SOURCE_MAX * 16);
	struct err err;

	if (!ask_shows_at_terminal(ask))
		put(ask, fd, line, len);
	else if (reveal_line(line, len, ask->view.coloured, &shown, &err) == 0)
		put(ask, fd, buf_text(&shown), shown.len);
}

void ask_show_code(struct ask *ask, const char *code, size_t len)
{
	static const char bar[] = "\xe2\x94\x82 "; /* │ */
	const int fd = fd_of_steps(ask);

	if (ask->json)
		return;
	while (len > 0) {
		const char *end = memchr(code, '\n', len);
		const size_t line = end != NULL ? (size_t)(end - code) : len;

		put(ask, fd, bar, sizeof(bar) - 1);
		put_code_line(ask, fd, code, line);
		run_output_end_line(&ask->view.output, fd);
		code += line + (end != NULL);
		len -= line + (end != NULL);
	}
}

static void show_plain(struct ask *ask, const reckon_event *event)
{
	struct json_value *document = NULL;
	const char *text;
	struct err err;
	size_t len;

	if (event->text != NULL) {
		put(ask, STDERR_FILENO, event->text, event->text_len);
		return;
	}
	if ((strcmp(event->name, "display_data") != 0 &&
	     strcmp(event->name, "execute_result") != 0) ||
	    json_read_parse(event->json, event->json_len, RUN_JSON_MAX, &document, &err) < 0)
		return;
	text = json_read_text(json_read_member(json_read_member(document, "data"), "text/plain"),
			      &len);
	run_output_end_line(&ask->view.output, STDERR_FILENO);
	if (text != NULL)
		put(ask, STDERR_FILENO, text, len);
	run_output_end_line(&ask->view.output, STDERR_FILENO);
	json_read_free(document);
}

int ask_show_event(const reckon_event *event, void *arg)
{
	struct ask *ask = arg;

	if (ask->json || ask->is_quiet)
		return RECKON_CONTINUE;
	ask_status_clear(ask);
	if (ask->to_terminal)
		return repl_show_event(event, &ask->view);
	show_plain(ask, event);
	return RECKON_CONTINUE;
}

void ask_show_record(struct ask *ask, const struct json_value *record)
{
	if (!ask->json) {
		run_output_settle(&ask->view.output);
		run_report_status(&ask->view.output, record);
	}
	run_save_all(&ask->view.output, record);
	if (ask->view.run.receipt)
		run_report_receipt(&ask->view.output, record);
}

static void show_cost(struct ask *ask)
{
	const struct agent_usage *usage = &ask->driver.usage;
	char cost[64] = "";

	if (ask_has_price(ask))
		(void)snprintf(cost, sizeof(cost), ", cost %.4f", (double)usage->cost_micro / 1e6);
	run_output_line("%llu cell%s, %llu tokens in (%llu cached), %llu out%s",
			(unsigned long long)usage->steps, usage->steps == 1 ? "" : "s",
			(unsigned long long)usage->in, (unsigned long long)usage->cached,
			(unsigned long long)usage->out, cost);
}

void ask_show_end(struct ask *ask)
{
	if (ask->json)
		return;
	if (ask->to_terminal) {
		end_prose(ask, STDOUT_FILENO);
	} else if (ask->driver.answer.len > 0) {
		put_linked(ask, STDOUT_FILENO, ask->driver.answer.data, ask->driver.answer.len);
		end_prose(ask, STDOUT_FILENO);
	} else {
		ask_show_turn(ask); /* discards the text it had begun */
	}
	run_output_settle(&ask->view.output);
	if (ask->view.run.receipt)
		show_cost(ask);
}
