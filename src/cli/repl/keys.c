/*
 * keys.c - key bindings for a cell of several lines: moving, deleting, Enter, Tab, paste.
 *
 * Runs in:  reckon repl, called by libedit.
 * Reads:    libedit's line; completions of the kernel, which the hook has checked.
 * Never:    leaves the cursor in a pad.
 */
#include "cli/repl/keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cli/repl/edit.h"

#define STEP 4 /* of indentation */
#define PASTE_END L"\x1b[201~"

/* Whether more input of a paste follows the key that was just read. */
static bool is_paste(const struct editor *editor)
{
	return editor->waited && editor_has_more(editor);
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
	editor_press(editor, KEY_ACCEPT);
}

/* ---- keys ---- */

static void new_line(struct editor *editor, const char *indent, size_t len)
{
	insert(editor, "\n", 1);
	insert(editor, indent, len);
}

/* Inside a cell: starts a new line with the same indentation as this one. */
static void split_line(struct editor *editor, const struct view *view)
{
	cleanup_buf struct buf indent = BUF_INIT(EDITOR_CELL_MAX);
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
	cleanup_buf struct buf text = BUF_INIT(EDITOR_CELL_MAX);
	cleanup_buf struct buf indent = BUF_INIT(4096);

	(void)key;
	if (cell_text(&view, view.len, &text) < 0)
		return CC_ERROR;
	if (is_paste(editor))
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
	replace_all(editor, buf_text(&editor->draft), editor->draft.len, editor->draft_cursor);
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
		editor_press(editor, KEY_OLDER);
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
		editor_press(editor, KEY_NEWER);
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

/* The length of the unit at `cursor` that is deleted at once: a newline together with its pad. */
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
		editor_press(editor, KEY_KILL);
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

/* Terminals send a newline as a carriage return; other control characters are dropped. */
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
	cleanup_buf struct buf utf8 = BUF_INIT(EDITOR_CELL_MAX);
	size_t len = 0, room = 4096;
	struct err ignored;

	(void)key;
	while (!ends_paste(text, len) && len < EDITOR_CELL_MAX / 4) {
		if (editor_take(editor, &text[len]) <= 0)
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

void keys_forget_matches(struct editor_matches *matches)
{
	for (size_t i = 0; i < matches->count; i++)
		free(matches->text[i]);
	memset(matches, 0, sizeof(*matches));
}

/* The length of the common prefix, cut at a character's boundary. */
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

/* Inserts the common prefix. False: it adds nothing new. */
static bool put_prefix(struct editor *editor, const struct buf *text)
{
	const struct editor_matches *matches = &editor->matches;
	const size_t stem = matches->end - matches->start, len = common_prefix(matches);
	cleanup_buf struct buf made = BUF_INIT(EDITOR_CELL_MAX);
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
	cleanup_buf struct buf before = BUF_INIT(EDITOR_CELL_MAX);
	struct buf *text = &editor->draft;

	buf_clear(text);
	if (cell_text(view, view->cursor, &before) < 0 || cell_text(view, view->len, text) < 0)
		return CC_ERROR;
	keys_forget_matches(&editor->matches);
	editor->hooks.complete(editor->hooks.arg, buf_text(text), text->len, before.len,
			       &editor->matches);
	if (editor->matches.count == 0 || editor->matches.start > editor->matches.end ||
	    editor->matches.end > text->len)
		return CC_ERROR;
	if (put_prefix(editor, text))
		return CC_REFRESH;
	/* Leave the editor to print the list: libedit must not redraw at the same time. */
	editor->again = true;
	editor->draft_cursor = before.len;
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

/* ---- the table ---- */

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

void keys_bind(EditLine *el)
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
