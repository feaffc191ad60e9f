/*
 * thoughts.c - prints a model's reasoning: one dim line, or all of it on request.
 *
 * Runs in:  reckon ask, reckon chat.
 * Reads:    text of a model, which is escaped.
 * Never:    treats reasoning as an answer, stores it in a run, or keeps more than a fixed amount.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"
#include "cli/term/term.h"
#include "cli/term/width.h"

#define SECOND_NS UINT64_C(1000000000)
#define LINE_BYTES_MAX 16384u
#define FIRST_BYTES_MAX 400u
#define SPACE_TAKEN 40u /* columns of the text around the first words */

void ask_thoughts_begin(struct ask *ask)
{
	struct ask_thoughts *thoughts = &ask->thoughts;

	if (thoughts->text.max == 0)
		thoughts->text = BUF_INIT(ASK_THOUGHTS_MAX);
	buf_clear(&thoughts->text);
	thoughts->begun_at = 0;
	thoughts->is_open = thoughts->is_cut = false;
}

void ask_thoughts_add(struct ask *ask, const char *text, size_t len)
{
	struct ask_thoughts *thoughts = &ask->thoughts;
	struct err full; /* the rest is left out, and a note says so */

	if (!thoughts->is_open) {
		if (thoughts->text.len > 0)
			(void)buf_adds(&thoughts->text, "\n\n", &full);
		thoughts->begun_at = thoughts->text.len;
		thoughts->begun_ns = clock_mono_ns();
		thoughts->is_open = true;
	}
	if (!thoughts->is_cut && buf_add(&thoughts->text, text, len, &full) < 0)
		thoughts->is_cut = true;
}

/* The first line with text. */
static size_t first_line(const struct ask *ask, const char **ret)
{
	const struct ask_thoughts *thoughts = &ask->thoughts;
	const char *text = buf_text(&thoughts->text) + thoughts->begun_at;
	size_t len;

	text += strspn(text, " \t\r\n*#");
	len = strcspn(text, "\r\n");
	*ret = text;
	return len < FIRST_BYTES_MAX ? len : FIRST_BYTES_MAX;
}

static int write_folded(const struct ask *ask, struct buf *ret, struct err *err)
{
	const uint64_t seconds = (clock_mono_ns() - ask->thoughts.begun_ns) / SECOND_NS;
	cleanup_buf struct buf words = BUF_INIT(LINE_BYTES_MAX);
	size_t columns, lines, width;
	const char *text;
	const size_t len = first_line(ask, &text);

	term_width_window(ask->to_terminal ? STDOUT_FILENO : STDERR_FILENO, &columns, &lines);
	if (term_escape_line(text, len, &words, err) < 0)
		return (int)err->code;
	words.len = term_width_fit(buf_text(&words), words.len,
				   columns > 2 * SPACE_TAKEN ? columns - SPACE_TAKEN : SPACE_TAKEN,
				   &width);
	if (buf_addf(ret, err, "%sthought for %" PRIu64 " s: ",
		     ask->view.coloured ? "\x1b[2m" : "", seconds) < 0 ||
	    buf_add(ret, buf_text(&words), words.len, err) < 0)
		return (int)err->code;
	return buf_addf(ret, err, "%s%s\n", ask->is_chat ? " (/thoughts)" : "",
			ask->view.coloured ? "\x1b[0m" : "");
}

void ask_thoughts_fold(struct ask *ask)
{
	cleanup_buf struct buf line = BUF_INIT(LINE_BYTES_MAX);
	struct err err;

	if (!ask->thoughts.is_open)
		return;
	ask->thoughts.is_open = false;
	if (ask->json || !ask->to_terminal || ask->view.output.status != 0 ||
	    write_folded(ask, &line, &err) < 0)
		return;
	run_output_drawn(&ask->view.output, &line);
}

static int write_lines(const struct buf *text, struct buf *ret, struct err *err)
{
	const char *at = text->data, *end = text->data + text->len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *to = newline != NULL ? newline : end;

		if (term_escape_line(at, (size_t)(to - at), ret, err) < 0 ||
		    buf_addc(ret, '\n', err) < 0)
			return (int)err->code;
		at = to + 1;
	}
	return 0;
}

void ask_thoughts_show(struct ask *ask)
{
	const struct ask_thoughts *thoughts = &ask->thoughts;
	cleanup_buf struct buf lines = BUF_INIT(ASK_THOUGHTS_MAX * 8);
	struct run_output *output = &ask->view.output;
	struct err err;

	if (thoughts->text.len == 0) {
		run_output_line("the model has shown no thoughts at the last question");
		return;
	}
	if (write_lines(&thoughts->text, &lines, &err) == 0)
		run_output_drawn(output, &lines);
	if (thoughts->is_cut)
		run_output_line("reckon: more than %zu KiB: the rest is left out",
				ASK_THOUGHTS_MAX >> 10);
}
