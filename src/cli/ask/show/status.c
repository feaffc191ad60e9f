/*
 * status.c - a status line with the progress of a question, while nothing else is printed.
 *
 * Runs in:  reckon ask, reckon chat.
 * Reads:    counters of the driver; the end of a model's reasoning, which is escaped.
 * Never:    stays when anything else is printed, or is written to anything but a terminal that can
 *           redraw.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd.h"
#include "base/utf8.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"
#include "cli/term/look.h"
#include "cli/term/term.h"
#include "cli/term/width.h"

#define SECOND_NS UINT64_C(1000000000)
#define FIRST_NS (SECOND_NS / 2)
#define REDRAW_NS (SECOND_NS / 4)
#define LINE_BYTES_MAX 8192u
#define THOUGHT_TAIL 120u

void ask_status_begin(struct ask *ask)
{
	struct ask_status *status = &ask->status;

	*status = (struct ask_status){ .begun_ns = clock_mono_ns() };
	status->next_ns = status->begun_ns + FIRST_NS;
	status->is_possible = !ask->json && term_can_redraw(STDERR_FILENO);
}

/* Whether the line has text, or a preview that comes and goes. */
static bool is_in_use(const struct ask *ask)
{
	return ask->prose_open || ask->preview > 0 || ask->view.output.out.mid_line ||
	       ask->view.output.err.mid_line;
}

/* Appends the last words of the model's reasoning, in one line. */
static int add_thought(const struct ask *ask, struct buf *ret, struct err *err)
{
	const struct buf *thought = &ask->thoughts.text;
	const size_t from = thought->len - ask->thoughts.begun_at;
	size_t tail = from < THOUGHT_TAIL ? from : THOUGHT_TAIL;
	const char *text = buf_text(thought) + thought->len - tail;

	while (tail > 0 && ((unsigned char)text[0] & 0xc0u) == 0x80) {
		text++;
		tail--;
	}
	for (const char *line = text; (line = memchr(line, '\n', tail - (size_t)(line - text))) !=
				      NULL && line + 1 < text + tail;) {
		tail -= (size_t)(line + 1 - text);
		text = ++line;
	}
	if (tail == 0 || !ask->thoughts.is_open)
		return 0;
	return buf_adds(ret, " \xc2\xb7 ", err) < 0 ? (int)err->code
						   : term_escape_line(text, tail, ret, err);
}

static int write_line(const struct ask *ask, const char *what, struct buf *ret, struct err *err)
{
	const struct agent_usage *usage = &ask->driver.usage;
	const uint64_t tokens = ask->chat_usage.in + ask->chat_usage.out + usage->in + usage->out;
	const uint64_t cost = ask->chat_usage.cost_micro + usage->cost_micro;
	const uint64_t seconds = (clock_mono_ns() - ask->status.begun_ns) / SECOND_NS;

	if (buf_addf(ret, err, "%s \xc2\xb7 step %zu \xc2\xb7 %" PRIu64 " tokens", what,
		     ask->driver.step + 1, tokens) < 0 ||
	    (ask_has_price(ask) &&
	     buf_addf(ret, err, " \xc2\xb7 cost %.4f", (double)cost / 1e6) < 0) ||
	    buf_addf(ret, err, " \xc2\xb7 %" PRIu64 " s", seconds) < 0)
		return (int)err->code;
	return add_thought(ask, ret, err);
}

static void draw(struct ask *ask, const char *what)
{
	cleanup_buf struct buf text = BUF_INIT(LINE_BYTES_MAX), line = BUF_INIT(LINE_BYTES_MAX);
	size_t columns, lines, width;
	struct err ignored;

	term_width_window(STDERR_FILENO, &columns, &lines);
	if (columns < 2 || write_line(ask, what, &text, &ignored) < 0)
		return;
	text.len = term_width_fit(buf_text(&text), text.len, columns - 1, &width);
	if (buf_adds(&line, ask->view.coloured ? "\r\x1b[2m" : "\r", &ignored) < 0 ||
	    buf_add(&line, buf_text(&text), text.len, &ignored) < 0 ||
	    buf_adds(&line, ask->view.coloured ? "\x1b[0m\x1b[K" : "\x1b[K", &ignored) < 0)
		return;
	(void)fd_write_full(STDERR_FILENO, line.data, line.len, &ignored);
	ask->status.is_shown = true;
}

void ask_status_tick(struct ask *ask)
{
	struct ask_status *status = &ask->status;
	const uint64_t now = clock_mono_ns();

	if (!status->is_possible || now < status->next_ns || is_in_use(ask))
		return;
	status->next_ns = now + REDRAW_NS;
	draw(ask, ask->thoughts.is_open ? "thinks" : "waits for the model");
}

void ask_status_cell(struct ask *ask)
{
	if (ask->status.is_possible && !is_in_use(ask))
		draw(ask, "runs");
}

void ask_status_clear(struct ask *ask)
{
	struct err ignored;

	if (ask->status.is_shown)
		(void)fd_write_full(STDERR_FILENO, "\r\x1b[K", 4, &ignored);
	ask->status.is_shown = false;
}
