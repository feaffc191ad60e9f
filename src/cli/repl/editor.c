/*
 * editor.c - the line editor of the REPL: libedit, with cells of several lines, paste and Tab.
 *
 * Runs in:  reckon repl, at a terminal.
 * Reads:    keys; completions of the kernel, which the hook has checked.
 * Never:    leaves the terminal in the editor's mode.
 *
 * libedit calls our functions for keys, but they cannot call libedit's own commands. Instead they
 * "press" keys that nobody can type: they put KEY_ACCEPT and others into a queue that is read
 * before the terminal.
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

#define LISTED_MAX 200

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

/* A history function for libedit; entries are returned with pads, as the editor holds them. */
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
		at--; /* at 0 it wraps, and the check below fails */
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
	editor->draft = BUF_INIT(EDITOR_CELL_MAX);
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
	buf_done(&editor->draft);
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

/* Bracketed paste marks pasted text, so that it can be told from typed text. */
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

	/*
	 * Set the mode before the prompt appears, so that the terminal does not echo what is typed
	 * then.
	 */
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
	editor_begin_input(editor);
	buf_clear(&editor->draft);
	if (preload != NULL && buf_adds(&editor->draft, preload, &ignored) == 0) {
		editor->draft_cursor = editor->draft.len;
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
