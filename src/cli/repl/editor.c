/*
 * editor.c - the line editor of the REPL: libedit, with cells of several lines, paste and Tab.
 *
 * Runs in:  reckon repl, at a terminal.
 * Reads:    keys; candidates of the kernel, which the hook has checked.
 * Never:    leaves the terminal in its own mode.
 *
 * libedit calls our functions for keys, but its own commands cannot be called from them. So they
 * "press" keys that nobody can type: KEY_ACCEPT and the others are put into the queue from which
 * get_char() reads first.
 */
#include "cli/repl/editor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cli/repl/edit.h"
#include "cli/repl/history.h"
#include "cli/repl/keys.h"
#include "cli/term/width.h"

#define BURST_MS 2 /* nobody types so fast; the rest of a paste may come in pieces */
#define LISTED_MAX 200

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

/* ---- input ---- */

static void suspend(struct editor *editor)
{
	got_stop = 0;
	(void)el_wset(editor->el, EL_PREP_TERM, 0);
	(void)raise(SIGSTOP);
	(void)el_wset(editor->el, EL_PREP_TERM, 1);
	(void)el_wset(editor->el, EL_REFRESH);
}

/* True when a key was pressed by a signal. */
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

/* Whether there is something to read, or will be within `ms`. */
static bool is_ready(int ms)
{
	struct pollfd wait = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&wait, 1, ms) > 0;
}

bool editor_has_more(const struct editor *editor)
{
	return editor->at < editor->len || is_ready(BURST_MS);
}

/* Reads what there is. 1: bytes; 0: end of file; -1: a signal pressed a key. */
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

/* A whole character; a sequence that is none is taken byte by byte. */
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

static int get_char(EditLine *el, wchar_t *ret)
{
	struct editor *editor = editor_of(el);
	int got = -1;

	if (editor->queued == 0)
		got = editor_take(editor, ret);
	if (editor->queued > 0) {
		*ret = editor->queue[0];
		editor->queued--;
		memmove(editor->queue, editor->queue + 1, editor->queued * sizeof(*ret));
		return 1;
	}
	return got;
}

/* ---- history ---- */

/* A history function of libedit: entries come as the editor holds them, with pads. */
static int on_history(void *arg, HistEventW *event, int operation, ...)
{
	struct editor *editor = arg;
	const size_t count = history_count(editor->history);
	size_t at = editor->history_at;

	if (operation == H_FIRST)
		at = 0;
	else if (operation == H_LAST)
		at = count > 0 ? count - 1 : 0;
	else if (operation == H_NEXT)
		at++;
	else if (operation == H_PREV)
		at--; /* wraps to what is past the end */
	else if (operation != H_CURR)
		return -1;
	if (at >= count)
		return -1;
	editor->history_at = at;
	free(editor->history_line);
	editor->history_line = edit_pad(history_at(editor->history, count - 1 - at),
					strlen(history_at(editor->history, count - 1 - at)),
					editor->pad);
	event->num = (int)(count - at);
	event->str = editor->history_line;
	return event->str != NULL ? 0 : -1;
}

/* ---- set-up ---- */

static wchar_t *prompt_of(EditLine *el)
{
	return editor_of(el)->prompt;
}

int editor_open(const struct editor_hooks *hooks, const struct history *history,
		struct editor **ret, struct err *err)
{
	struct editor *editor = mem_new0(1, sizeof(*editor));

	editor->hooks = *hooks;
	editor->history = history;
	editor->kept = BUF_INIT(EDITOR_CELL_MAX);
	editor->el = el_init("reckon", stdin, stdout, stderr);
	if (editor->el == NULL) {
		free(editor);
		return err_set(err, ERR_UNAVAILABLE, "the terminal cannot be set up");
	}
	(void)el_wset(editor->el, EL_CLIENTDATA, editor);
	(void)el_set(editor->el, EL_EDITOR, "emacs");
	(void)el_wset(editor->el, EL_SIGNAL, 0);
	(void)el_wset(editor->el, EL_GETCFN, get_char);
	(void)el_wset(editor->el, EL_PROMPT_ESC, prompt_of, L'\1');
	(void)el_wset(editor->el, EL_HIST, on_history, editor);
	(void)el_source(editor->el, NULL);
	keys_bind(editor->el);
	*ret = editor;
	return 0;
}

void editor_close(struct editor *editor)
{
	if (editor == NULL)
		return;
	el_end(editor->el);
	keys_forget_matches(&editor->matches);
	buf_done(&editor->kept);
	free(editor->history_line);
	free(editor->prompt);
	free(editor);
}

static void set_prompt(struct editor *editor, const char *prompt, bool coloured)
{
	cleanup_buf struct buf text = BUF_INIT(4096);
	struct err ignored;

	editor->pad = term_width(prompt, strlen(prompt));
	if (editor->pad < EDIT_PAD_MIN)
		editor->pad = EDIT_PAD_MIN;
	(void)buf_addf(&text, &ignored, coloured ? "\1\033[32m\1%s\1\033[0m\1" : "%s", prompt);
	free(editor->prompt);
	editor->prompt = edit_pad(buf_text(&text), text.len, 0);
}

/* Bracketed paste, so that what is pasted is told from what is typed. */
static void set_paste(bool on)
{
	struct err ignored;

	(void)fd_write_full(STDOUT_FILENO, on ? "\033[?2004h" : "\033[?2004l", 8, &ignored);
}

static void list_matches(const struct editor_matches *matches)
{
	const size_t count = matches->count < LISTED_MAX ? matches->count : LISTED_MAX;
	size_t width = 0, columns, lines, across, down;

	for (size_t i = 0; i < count; i++) {
		const size_t own = term_width(matches->text[i], strlen(matches->text[i]));

		width = own > width ? own : width;
	}
	term_width_window(STDOUT_FILENO, &columns, &lines);
	across = columns / (width + 2) > 0 ? columns / (width + 2) : 1;
	down = (count + across - 1) / across;
	for (size_t row = 0; row < down; row++) {
		for (size_t i = row; i < count; i += down) {
			const size_t own = term_width(matches->text[i], strlen(matches->text[i]));
			const bool last = i + down >= count;

			(void)printf("%s%*s", matches->text[i], last ? 0 : (int)(width + 2 - own),
				     "");
		}
		(void)printf("\n");
	}
	if (count < matches->count)
		(void)printf("… and %zu more\n", matches->count - count);
	(void)fflush(stdout);
}

static enum editor_end read_once(struct editor *editor, struct buf *ret)
{
	struct err ignored;
	const wchar_t *line;
	int count = 0;

	/* Before the prompt is out: what is typed then must not be echoed by the terminal as well. */
	(void)el_wset(editor->el, EL_PREP_TERM, 1);
	set_paste(true);
	line = el_wgets(editor->el, &count);
	set_paste(false);
	if (line == NULL || count <= 0)
		return EDITOR_EOF;
	if (line[count - 1] == L'\n')
		count--;
	if (editor->end == EDITOR_CELL && !editor->again)
		(void)edit_unpad(line, (size_t)count, ret, &ignored);
	return editor->end;
}

enum editor_end editor_read(struct editor *editor, const char *prompt, bool coloured,
			    const char *preload, struct buf *ret)
{
	struct err ignored;
	enum editor_end end;

	set_prompt(editor, prompt, coloured);
	got_interrupt = 0;
	editor->queued = 0;
	/* What is there before the prompt was typed ahead, line by line. */
	editor->waited = editor->at == editor->len && !is_ready(0);
	buf_clear(&editor->kept);
	if (preload != NULL && buf_adds(&editor->kept, preload, &ignored) == 0) {
		editor->kept_cursor = editor->kept.len;
		editor_press(editor, KEY_LOAD);
	}
	for (;;) {
		editor->end = EDITOR_EOF;
		editor->again = false;
		end = read_once(editor, ret);
		if (!editor->again)
			return end;
		list_matches(&editor->matches);
		editor_press(editor, KEY_LOAD);
	}
}
