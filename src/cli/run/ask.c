/*
 * ask.c - asks the person at the terminal when code calls input().
 *
 * Runs in:  reckon run, reckon-client.
 * Reads:    lines of a terminal.
 * Never:    prints a prompt of the box unescaped, or a password while it is typed.
 */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/run/run.h"
#include "cli/run/approve.h"
#include "cli/session/interrupt.h"
#include "cli/term/look.h"

#define LOOK_MS 200

bool run_can_ask(const struct run *run)
{
	for (size_t i = 0; i < run->cell_count; i++)
		if (strcmp(run->cells[i].origin, "-") == 0)
			return false;
	return run->mode == RUN_MODE_TEXT && run->stdin_path == NULL && isatty(STDIN_FILENO) &&
	       isatty(STDERR_FILENO);
}

/*
 * An interrupt right before poll() does not end it, so poll() times out and the count is checked.
 */
static int read_line(struct buf *ret)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	struct err ignored;
	char byte;

	for (;;) {
		const int ready = poll(&input, 1, LOOK_MS);

		if (interrupt_count() > 0)
			return -1;
		if (ready <= 0)
			continue;
		if (read(STDIN_FILENO, &byte, 1) != 1)
			return ret->len > 0;
		if (byte == '\n')
			return 1;
		(void)buf_addc(ret, byte, &ignored); /* a line that is too long is cut off */
	}
}

static bool is_interrupted(void *arg)
{
	(void)arg;
	return interrupt_count() > 0;
}

int run_ask(struct run_output *output, const struct run_question *question, struct buf *ret)
{
	const bool password = question->password;
	/*
	 * Turn echo off before the prompt invites the person to type. If that fails, read nothing.
	 */
	const bool may_read = !password || term_set_echo(false);
	int got = 0;

	if (!run_person_take(is_interrupted, NULL))
		return -1;
	run_output_text(output, STDERR_FILENO, question->prompt, question->len);
	output->err.mid_line = false; /* the person's Enter ends the line */
	if (may_read)
		got = read_line(ret);
	if (password)
		(void)term_set_echo(true);
	run_person_release();
	if (password || got != 1)
		run_output_line("%s", "");
	return got;
}
