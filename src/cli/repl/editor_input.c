/*
 * editor_input.c - input of the line editor: keys from the terminal, and keys that signals press.
 *
 * Runs in:  reckon repl, at a terminal.
 * Reads:    keys.
 * Never:    loses a signal that arrives right before the wait.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "cli/repl/edit.h"
#include "cli/repl/keys.h"

#define BOOST_MS 2 /* too short for typing, long enough for the next piece of a paste */

static volatile sig_atomic_t got_interrupt, got_resize, got_stop;

void editor_signal(int signo)
{
	if (signo == SIGINT)
		got_interrupt = 1;
	else if (signo == SIGWINCH)
		got_resize = 1;
	else
		got_stop = 1;
}

struct editor *editor_of(EditLine *el)
{
	void *data = NULL;

	(void)el_wget(el, EL_CLIENTDATA, &data);
	return data;
}

void editor_press(struct editor *editor, wchar_t key)
{
	if (editor->queued < ARRAY_LEN(editor->queue))
		editor->queue[editor->queued++] = key;
}

static void suspend(struct editor *editor)
{
	got_stop = 0;
	(void)el_wset(editor->el, EL_PREP_TERM, 0);
	(void)raise(SIGSTOP);
	(void)el_wset(editor->el, EL_PREP_TERM, 1);
	(void)el_wset(editor->el, EL_REFRESH);
}

/* True when a signal pressed a key. */
static bool take_signals(struct editor *editor)
{
	if (got_stop != 0)
		suspend(editor);
	if (got_resize != 0) {
		got_resize = 0;
		el_resize(editor->el);
	}
	if (got_interrupt == 0)
		return false;
	got_interrupt = 0;
	editor->at = editor->len = 0;
	editor_press(editor, KEY_CANCEL);
	return true;
}

/* Whether input is available, or becomes available within `ms`. */
static bool is_ready(int ms)
{
	struct pollfd wait = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&wait, 1, ms) > 0;
}

bool editor_has_more(const struct editor *editor)
{
	return editor->at < editor->len || is_ready(BOOST_MS);
}

/* Reads available input. 1: bytes; 0: end of file; -1: a signal pressed a key. */
static int fill(struct editor *editor)
{
	struct pollfd wait = { .fd = STDIN_FILENO, .events = POLLIN };
	sigset_t ours, before;
	ssize_t n = 0;
	int ready = 0;

	(void)sigemptyset(&ours);
	(void)sigaddset(&ours, SIGINT);
	(void)sigaddset(&ours, SIGWINCH);
	(void)sigaddset(&ours, SIGTSTP);
	(void)sigprocmask(SIG_BLOCK, &ours, &before);
	while (!take_signals(editor)) {
		ready = poll(&wait, 1, 0);
		if (ready <= 0) {
			editor->waited = true;
			ready = ppoll(&wait, 1, NULL, &before);
		}
		if (ready > 0)
			break;
		ready = 0;
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (ready <= 0)
		return -1;
	n = read(STDIN_FILENO, editor->bytes, sizeof(editor->bytes));
	editor->at = 0;
	editor->len = n > 0 ? (size_t)n : 0;
	return n > 0 ? 1 : 0;
}

/* Reads a whole character; an invalid sequence is read byte by byte. */
int editor_take(struct editor *editor, wchar_t *ret)
{
	char text[4];
	size_t len = 0, n;

	for (;;) {
		if (editor->at == editor->len) {
			const int got = fill(editor);

			if (got <= 0)
				return got;
		}
		text[len++] = editor->bytes[editor->at++];
		n = utf8_sequence(text, len);
		if (n == len || utf8_incomplete_tail(text, len) != len)
			break;
	}
	if (n == len) {
		cleanup_free wchar_t *wide = edit_pad(text, len, 0);

		*ret = wide != NULL ? wide[0] : L'?';
	} else {
		*ret = L'\xfffd';
	}
	return 1;
}

void editor_begin_input(struct editor *editor)
{
	got_interrupt = 0;
	editor->queued = 0;
	/* Input that is already available was typed ahead, line by line, and not pasted. */
	editor->waited = editor->at == editor->len && !is_ready(0);
}
