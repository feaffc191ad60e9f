/*
 * repl_editor.c - the line editor of the REPL: libedit, with cells of several lines, paste and Tab.
 *
 * Runs in:  reckon repl, at a terminal.
 * Reads:    keys; candidates of the kernel, which the hook has checked.
 * Never:    leaves the terminal in its own mode.
 *
 * libedit calls our functions for keys, but its own commands cannot be called from them. So they
 * "press" keys that nobody can type: KEY_ACCEPT and the others are put into the queue from which
 * get_char() reads first.
 */
#include "cli/repl_editor.h"

#include <errno.h>
#include <histedit.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cli/repl_edit.h"
#include "cli/repl_history.h"
#include "cli/term_width.h"

#define KEY_CANCEL L'\x03'
#define KEY_ACCEPT L'\x1c' /* Ctrl-\ is a signal to a terminal, and so free */
#define KEY_LOAD L'\x1d'
#define KEY_KILL L'\x1e'
#define KEY_OLDER L'\x10'
#define KEY_NEWER L'\x0e'
#define STEP 4 /* of indentation */
#define CELL_MAX ((size_t)4 * 1024 * 1024)
#define LISTED_MAX 200
#define PASTE_END L"\x1b[201~"

struct editor {
	EditLine *el;
	struct editor_hooks hooks;
	const struct history *history;
	size_t history_at;  /* counts from the newest, 0 */
	wchar_t *history_line;
	wchar_t *prompt;
	size_t pad;
	wchar_t queue[4];
	size_t queued;
	char bytes[4096];   /* read and not yet taken */
	size_t at, len;
	bool waited;	    /* for the bytes: what follows a newline in them was pasted */
	enum editor_end end;
	bool again;	    /* left only to print matches; goes on with `kept` */
	struct buf kept;
	size_t kept_cursor;
	struct editor_matches matches;
};

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

static struct editor *editor_of(EditLine *el)
{
	void *data = NULL;

	(void)el_wget(el, EL_CLIENTDATA, &data);
	return data;
}

static void press(struct editor *editor, wchar_t key)
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
	press(editor, KEY_CANCEL);
	return true;
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
static int take_char(struct editor *editor, wchar_t *ret)
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
		got = take_char(editor, ret);
	if (editor->queued > 0) {
		*ret = editor->queue[0];
		editor->queued--;
		memmove(editor->queue, editor->queue + 1, editor->queued * sizeof(*ret));
		return 1;
	}
	return got;
}

/* More of a paste is on its way behind the key that was just taken. */
static bool is_burst(const struct editor *editor)
{
	return editor->waited && editor->at < editor->len;
}

/* ---- the line ---- */

struct view {
	const wchar_t *line;
	size_t len, cursor;
	struct edit_place place;
};

static struct view look(struct editor *editor)
{
	const LineInfoW *info = el_wline(editor->el);
	struct view view = { .line = info->buffer,
			     .len = (size_t)(info->lastchar - info->buffer),
			     .cursor = (size_t)(info->cursor - info->buffer) };

	view.place = edit_place_at(view.line, view.len, view.cursor, editor->pad);
	return view;
}

static void move_to(struct editor *editor, size_t from, size_t to)
{
	(void)el_cursor(editor->el, (int)to - (int)from);
}

static int cell_text(const struct view *view, size_t len, struct buf *ret)
{
	struct err ignored;

	return edit_unpad(view->line, len, ret, &ignored);
}

static void insert(struct editor *editor, const char *text, size_t len)
{
	cleanup_free wchar_t *line = edit_pad(text, len, editor->pad);

	if (line != NULL && line[0] != L'\0')
		(void)el_winsertstr(editor->el, line);
}

static void replace_all(struct editor *editor, const char *text, size_t len, size_t cursor)
{
	const struct view view = look(editor);
	cleanup_free wchar_t *before = edit_pad(text, cursor, editor->pad);

	move_to(editor, view.cursor, view.len);
	el_wdeletestr(editor->el, (int)view.len);
	insert(editor, text, len);
	if (before != NULL) {
		const struct view now = look(editor);

		move_to(editor, now.cursor, wcslen(before));
	}
}

static void leave(struct editor *editor, enum editor_end end)
{
	const struct view view = look(editor);

	editor->end = end;
	move_to(editor, view.cursor, view.len);
	press(editor, KEY_ACCEPT);
}

/* ---- keys ---- */

static void new_line(struct editor *editor, const char *indent, size_t len)
{
	insert(editor, "\n", 1);
	insert(editor, indent, len);
}

/* In the middle of a cell: a new line as far to the right as this one. */
static void split_line(struct editor *editor, const struct view *view)
{
	cleanup_buf struct buf indent = BUF_INIT(CELL_MAX);
	struct err ignored;
	size_t spaces = edit_indent(view->line, &view->place);

	if (spaces > view->cursor - view->place.begin)
		spaces = view->cursor - view->place.begin;
	if (edit_unpad(view->line + view->place.begin, spaces, &indent, &ignored) == 0)
		new_line(editor, buf_text(&indent), indent.len);
}

static unsigned char on_enter(EditLine *el, int key)
{
	struct editor *editor = editor_of(el);
	const struct view view = look(editor);
	cleanup_buf struct buf text = BUF_INIT(CELL_MAX);
	cleanup_buf struct buf indent = BUF_INIT(4096);

	(void)key;
	if (cell_text(&view, view.len, &text) < 0)
		return CC_ERROR;
	if (is_burst(editor))
		new_line(editor, "", 0);
	else if (view.place.end < view.len)
		split_line(editor, &view);
	else if (editor->hooks.is_whole(editor->hooks.arg, buf_text(&text), text.len, &indent))
		leave(editor, EDITOR_CELL);
	else
		new_line(editor, buf_text(&indent), indent.len);
	return CC_REFRESH;
}

static unsigned char on_newline(EditLine *el, int key)
{
	struct editor *editor = editor_of(el);
	const struct view view = look(editor);

	(void)key;
	split_line(editor, &view);
	return CC_REFRESH;
}

static unsigned char on_cancel(EditLine *el, int key)
{
	(void)key;
	leave(editor_of(el), EDITOR_CANCELLED);
	return CC_REFRESH;
}

static unsigned char on_load(EditLine *el, int key)
{
	struct editor *editor = editor_of(el);

	(void)key;
	replace_all(editor, buf_text(&editor->kept), editor->kept.len, editor->kept_cursor);
	return CC_REFRESH;
}

static unsigned char on_left(EditLine *el, int key)
{
	struct editor *editor = editor_of(el);
	const struct view view = look(editor);

	(void)key;
	if (view.cursor > view.place.begin)
		move_to(editor, view.cursor, view.cursor - 1);
	else if (view.place.begin > 0)
		move_to(editor, view.cursor, view.place.begin - view.place.pad - 1);
	return CC_CURSOR;
}

static size_t after_newline(const struct editor *editor, const struct view *view, size_t newline)
{
	return edit_place_at(view->line, view->len, newline + 1, editor->pad).begin;
}

static unsigned char on_right(EditLine *el, int key)
{
	struct editor *editor = editor_of(el);
	const struct view view = look(editor);

	(void)key;
	if (view.cursor < view.place.begin)
		move_to(editor, view.cursor, view.place.begin);
	else if (view.cursor < view.place.end)
		move_to(editor, view.cursor, view.cursor + 1);
	else if (view.cursor < view.len)
		move_to(editor, view.cursor, after_newline(editor, &view, view.cursor));
	return CC_CURSOR;
}

static unsigned char on_home(EditLine *el, int key)
{
	struct editor *editor = editor_of(el);
	const struct view view = look(editor);
	const size_t text = view.place.begin + edit_indent(view.line, &view.place);

	(void)key;
	move_to(editor, view.cursor, view.cursor == text ? view.place.begin : text);
	return CC_CURSOR;
}

static unsigned char on_end(EditLine *el, int key)
{
	struct editor *editor = editor_of(el);
	const struct view view = look(editor);

	(void)key;
	move_to(editor, view.cursor, view.place.end);
	return CC_CURSOR;
}

static void to_column(struct editor *editor, const struct view *view, size_t in_line)
{
	const struct edit_place to = edit_place_at(view->line, view->len, in_line, editor->pad);
	size_t column = view->cursor > view->place.begin ? view->cursor - view->place.begin : 0;

	if (column > to.end - to.begin)
		column = to.end - to.begin;
	move_to(editor, view->cursor, to.begin + column);
}

static unsigned char on_up(EditLine *el, int key)
{
	struct editor *editor = editor_of(el);
	const struct view view = look(editor);

	(void)key;
	if (view.place.begin == 0 || view.place.begin < view.place.pad + 1) {
		press(editor, KEY_OLDER);
		return CC_NORM;
	}
	to_column(editor, &view, view.place.begin - view.place.pad - 1);
	return CC_CURSOR;
}

static unsigned char on_down(EditLine *el, int key)
{
	struct editor *editor = editor_of(el);
	const struct view view = look(editor);

	(void)key;
	if (view.place.end == view.len) {
		press(editor, KEY_NEWER);
		return CC_NORM;
	}
	to_column(editor, &view, view.place.end + 1);
	return CC_CURSOR;
}

static unsigned char on_backspace(EditLine *el, int key)
{
	struct editor *editor = editor_of(el);
	const struct view view = look(editor);
	const size_t column = view.cursor > view.place.begin ? view.cursor - view.place.begin : 0;
	size_t spaces = edit_indent(view.line, &view.place);

	(void)key;
	if (view.cursor == 0)
		return CC_ERROR;
	if (column == 0 && view.place.begin > 0) {
		move_to(editor, view.cursor, view.place.begin);
		el_wdeletestr(el, (int)view.place.pad + 1);
	} else if (spaces >= column && column > 0 && view.line[view.cursor - 1] == L' ') {
		el_wdeletestr(el, (int)((column - 1) % STEP) + 1);
	} else {
		el_wdeletestr(el, 1);
	}
	return CC_REFRESH;
}

/* What stands at `cursor` as one thing: a newline goes with its pad. */
static size_t thing_at(const struct editor *editor, const struct view *view)
{
	if (view->cursor < view->place.end)
		return 1;
	return after_newline(editor, view, view->cursor) - view->cursor;
}

static unsigned char on_delete(EditLine *el, int key)
{
	struct editor *editor = editor_of(el);
	const struct view view = look(editor);
	size_t count;

	if (view.len == 0 && key == 4) {
		leave(editor, EDITOR_EOF);
		return CC_REFRESH;
	}
	if (view.cursor == view.len)
		return CC_ERROR;
	count = thing_at(editor, &view);
	move_to(editor, view.cursor, view.cursor + count);
	el_wdeletestr(el, (int)count);
	return CC_REFRESH;
}

static unsigned char on_kill(EditLine *el, int key)
{
	struct editor *editor = editor_of(el);
	const struct view view = look(editor);
	size_t count = view.place.end - view.cursor;

	(void)key;
	if (view.place.end == view.len) {
		press(editor, KEY_KILL);
		return CC_NORM;
	}
	if (count == 0)
		count = thing_at(editor, &view);
	move_to(editor, view.cursor, view.cursor + count);
	el_wdeletestr(el, (int)count);
	return CC_REFRESH;
}

/* ---- paste ---- */

static bool ends_paste(const wchar_t *text, size_t len)
{
	const size_t mark = wcslen(PASTE_END);

	return len >= mark && wmemcmp(text + len - mark, PASTE_END, mark) == 0;
}

/* Carriage returns are how terminals send newlines; other controls would only confuse. */
static size_t clean_paste(wchar_t *text, size_t len)
{
	size_t out = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == L'\r' && i + 1 < len && text[i + 1] == L'\n')
			continue;
		if (text[i] == L'\r')
			text[i] = L'\n';
		if (text[i] >= L' ' || text[i] == L'\n' || text[i] == L'\t')
			text[out++] = text[i];
	}
	while (out > 0 && text[out - 1] == L'\n')
		out--;
	return out;
}

static unsigned char on_paste(EditLine *el, int key)
{
	struct editor *editor = editor_of(el);
	cleanup_free wchar_t *text = mem_new0(4096, sizeof(*text));
	cleanup_buf struct buf utf8 = BUF_INIT(CELL_MAX);
	size_t len = 0, room = 4096;
	struct err ignored;

	(void)key;
	while (!ends_paste(text, len) && len < CELL_MAX / 4) {
		if (take_char(editor, &text[len]) <= 0)
			break;
		if (++len == room)
			text = mem_grow(text, room *= 2, sizeof(*text));
	}
	if (ends_paste(text, len))
		len -= wcslen(PASTE_END);
	len = clean_paste(text, len);
	if (edit_unpad(text, len, &utf8, &ignored) < 0)
		return CC_ERROR;
	insert(editor, buf_text(&utf8), utf8.len);
	return CC_REFRESH;
}

/* ---- completion ---- */

static void matches_clear(struct editor_matches *matches)
{
	for (size_t i = 0; i < matches->count; i++)
		free(matches->text[i]);
	memset(matches, 0, sizeof(*matches));
}

/* How much all of them begin with; never a part of a character. */
static size_t common_prefix(const struct editor_matches *matches)
{
	size_t len = strlen(matches->text[0]);

	for (size_t i = 1; i < matches->count; i++) {
		size_t same = 0;

		while (same < len && matches->text[i][same] == matches->text[0][same])
			same++;
		len = same;
	}
	return len - utf8_incomplete_tail(matches->text[0], len);
}

/* Puts in what is certain. False when that is nothing new. */
static bool put_prefix(struct editor *editor, const struct buf *text)
{
	const struct editor_matches *matches = &editor->matches;
	const size_t stem = matches->end - matches->start, len = common_prefix(matches);
	cleanup_buf struct buf made = BUF_INIT(CELL_MAX);
	struct err ignored;

	if (matches->count > 1 && len <= stem)
		return false;
	if (buf_add(&made, text->data, matches->start, &ignored) < 0 ||
	    buf_add(&made, matches->text[0], len, &ignored) < 0 ||
	    buf_adds(&made, text->data + matches->end, &ignored) < 0)
		return false;
	replace_all(editor, made.data, made.len, matches->start + len);
	return true;
}

static unsigned char complete(struct editor *editor, const struct view *view)
{
	cleanup_buf struct buf before = BUF_INIT(CELL_MAX);
	struct buf *text = &editor->kept;

	buf_clear(text);
	if (cell_text(view, view->cursor, &before) < 0 || cell_text(view, view->len, text) < 0)
		return CC_ERROR;
	matches_clear(&editor->matches);
	editor->hooks.complete(editor->hooks.arg, buf_text(text), text->len, before.len,
			       &editor->matches);
	if (editor->matches.count == 0 || editor->matches.start > editor->matches.end ||
	    editor->matches.end > text->len)
		return CC_ERROR;
	if (put_prefix(editor, text))
		return CC_REFRESH;
	/* The list is printed between two reads: libedit must not be in the way. */
	editor->again = true;
	editor->kept_cursor = before.len;
	leave(editor, EDITOR_CELL);
	return CC_REFRESH;
}

static unsigned char on_tab(EditLine *el, int key)
{
	struct editor *editor = editor_of(el);
	const struct view view = look(editor);
	const size_t column = view.cursor > view.place.begin ? view.cursor - view.place.begin : 0;

	(void)key;
	if (edit_indent(view.line, &view.place) >= column && view.cursor >= view.place.begin) {
		insert(editor, "    ", STEP - column % STEP);
		return CC_REFRESH;
	}
	return complete(editor, &view);
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

static const struct {
	const char *name;
	unsigned char (*fn)(EditLine *el, int key);
	const char *keys[6];
} commands[] = {
	{ "cell-enter", on_enter, { "\r", "\n" } },
	{ "cell-newline", on_newline, { "\033\r", "\033\n" } },
	{ "cell-cancel", on_cancel, { "\003" } },
	{ "cell-load", on_load, { "\035" } },
	{ "cell-left", on_left, { "\002", "\033[D", "\033OD" } },
	{ "cell-right", on_right, { "\006", "\033[C", "\033OC" } },
	{ "cell-home", on_home, { "\001", "\033[H", "\033OH", "\033[1~" } },
	{ "cell-end", on_end, { "\005", "\033[F", "\033OF", "\033[4~" } },
	{ "cell-up", on_up, { "\033[A", "\033OA" } },
	{ "cell-down", on_down, { "\033[B", "\033OB" } },
	{ "cell-backspace", on_backspace, { "\010", "\177" } },
	{ "cell-delete", on_delete, { "\004", "\033[3~" } },
	{ "cell-kill", on_kill, { "\013" } },
	{ "cell-paste", on_paste, { "\033[200~" } },
	{ "cell-tab", on_tab, { "\t" } },
};

static const char *const builtins[][2] = {
	{ "\034", "ed-newline" },	    { "\036", "ed-kill-line" },
	{ "\020", "ed-prev-history" },	    { "\016", "ed-next-history" },
	{ "\022", "em-inc-search-prev" },   { "\033[1;5D", "ed-prev-word" },
	{ "\033[1;5C", "em-next-word" },    { "\014", "ed-clear-screen" },
};

static void bind_keys(EditLine *el)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		(void)el_set(el, EL_ADDFN, commands[i].name, commands[i].name, commands[i].fn);
		for (size_t k = 0; k < ARRAY_LEN(commands[i].keys); k++)
			if (commands[i].keys[k] != NULL)
				(void)el_set(el, EL_BIND, commands[i].keys[k], commands[i].name,
					     NULL);
	}
	for (size_t i = 0; i < ARRAY_LEN(builtins); i++)
		(void)el_set(el, EL_BIND, builtins[i][0], builtins[i][1], NULL);
}

int editor_open(const struct editor_hooks *hooks, const struct history *history,
		struct editor **ret, struct err *err)
{
	struct editor *editor = mem_new0(1, sizeof(*editor));

	editor->hooks = *hooks;
	editor->history = history;
	editor->kept = BUF_INIT(CELL_MAX);
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
	bind_keys(editor->el);
	*ret = editor;
	return 0;
}

void editor_close(struct editor *editor)
{
	if (editor == NULL)
		return;
	el_end(editor->el);
	matches_clear(&editor->matches);
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

static enum editor_end read_once(struct editor *editor, struct buf *ret)
{
	struct err ignored;
	const wchar_t *line;
	int count = 0;

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
	editor->waited = false;
	buf_clear(&editor->kept);
	if (preload != NULL && buf_adds(&editor->kept, preload, &ignored) == 0) {
		editor->kept_cursor = editor->kept.len;
		press(editor, KEY_LOAD);
	}
	for (;;) {
		editor->end = EDITOR_EOF;
		editor->again = false;
		end = read_once(editor, ret);
		if (!editor->again)
			return end;
		list_matches(&editor->matches);
		press(editor, KEY_LOAD);
	}
}
