/*
 * progress.c - prints progress on one line of stderr.
 *
 * Runs in:  reckon-client.
 * Reads:    its arguments.
 * Never:    writes to anything but a terminal.
 */
#include "cli/term/progress.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd.h"
#include "cli/cli.h"
#include "cli/term/look.h"
#include "cli/term/term.h"

#define SECOND_NS UINT64_C(1000000000)
#define FIRST_NS (SECOND_NS / 5)
#define REDRAW_NS (SECOND_NS / 5)
#define DUMB_NS (5 * SECOND_NS)
#define LINE_MAX_BYTES 4096

static int add_time(uint64_t seconds, struct buf *ret, struct err *err)
{
	if (seconds >= 3600)
		return buf_addf(ret, err, "%" PRIu64 " h %" PRIu64 " min", seconds / 3600,
				seconds / 60 % 60);
	if (seconds >= 60)
		return buf_addf(ret, err, "%" PRIu64 " min %" PRIu64 " s", seconds / 60,
				seconds % 60);
	return buf_addf(ret, err, "%" PRIu64 " s", seconds);
}

int term_progress_text(const char *what, uint64_t done, uint64_t total, uint64_t elapsed_ns,
		       struct buf *ret, struct err *err)
{
	const double rate =
		elapsed_ns > 0 ? (double)done * (double)SECOND_NS / (double)elapsed_ns : 0;
	char size[CLI_SIZE_TEXT];

	if (what != NULL && (term_escape_line(what, strlen(what), ret, err) < 0 ||
			     buf_adds(ret, ": ", err) < 0))
		return (int)err->code;
	cli_format_size(done, size);
	if (buf_adds(ret, size, err) < 0)
		return (int)err->code;
	if (total > 0) {
		cli_format_size(total, size);
		if (buf_addf(ret, err, " of %s", size) < 0)
			return (int)err->code;
	}
	if (rate < 1)
		return 0;
	cli_format_size((uint64_t)rate, size);
	if (buf_addf(ret, err, ", %s/s", size) < 0)
		return (int)err->code;
	if (total <= done)
		return 0;
	if (buf_adds(ret, ", ", err) < 0 ||
	    add_time((uint64_t)((double)(total - done) / rate) + 1, ret, err) < 0)
		return (int)err->code;
	return buf_adds(ret, " left", err);
}

void term_progress_begin(struct term_progress *progress, const char *what)
{
	*progress = (struct term_progress){ .what = what, .begun_ns = clock_mono_ns() };
	progress->next_ns = progress->begun_ns + (term_is_dumb() ? DUMB_NS : FIRST_NS);
}

void term_progress_at(struct term_progress *progress, uint64_t done, uint64_t total)
{
	cleanup_buf struct buf line = BUF_INIT(LINE_MAX_BYTES);
	const uint64_t now = clock_mono_ns();
	const bool redraws = !term_is_dumb();
	struct err ignored;

	if (now < progress->next_ns || !isatty(STDERR_FILENO))
		return;
	progress->next_ns = now + (redraws ? REDRAW_NS : DUMB_NS);
	if (buf_adds(&line, redraws ? "\rreckon: " : "reckon: ", &ignored) < 0 ||
	    term_progress_text(progress->what, done, total, now - progress->begun_ns, &line,
			       &ignored) < 0 ||
	    buf_adds(&line, redraws ? "\033[K" : "\n", &ignored) < 0)
		return;
	(void)fd_write_full(STDERR_FILENO, line.data, line.len, &ignored);
	progress->is_shown = redraws;
}

void term_progress_fn(uint64_t done, uint64_t total, void *arg)
{
	term_progress_at(arg, done, total);
}

void term_progress_end(struct term_progress *progress)
{
	struct err ignored;

	if (progress->is_shown)
		(void)fd_write_full(STDERR_FILENO, "\r\033[K", 4, &ignored);
	progress->is_shown = false;
}
