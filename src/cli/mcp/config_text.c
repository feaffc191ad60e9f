/*
 * config_text.c - changes one entry in the text of a client's configuration.
 *
 * Runs in:  reckon-client.
 * Reads:    the user's configuration of another program.
 * Never:    changes a text that it cannot parse completely, before and after the change.
 */
#include "cli/mcp/config_text.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define INDENT_MAX 16

/* ---- comments --------------------------------------------------------------------------------- */

static size_t string_end(const char *text, size_t at, size_t len)
{
	for (at++; at < len && text[at] != '"'; at++)
		if (text[at] == '\\')
			at++;
	return at < len ? at + 1 : len;
}

/* 0: no comment begins at `at`. */
static size_t comment_end(const char *text, size_t at, size_t len)
{
	const char *end;

	if (at + 1 >= len || text[at] != '/' || (text[at + 1] != '/' && text[at + 1] != '*'))
		return 0;
	if (text[at + 1] == '/') {
		end = memchr(text + at, '\n', len - at);
		return end != NULL ? (size_t)(end - text) : len;
	}
	end = memmem(text + at + 2, len - at - 2, "*/", 2);
	return end != NULL ? (size_t)(end - text) + 2 : 0;
}

static void blank(char *text, size_t from, size_t to)
{
	for (; from < to; from++)
		if (text[from] != '\n')
			text[from] = ' ';
}

static size_t skip_space(const char *text, size_t at)
{
	return at + strspn(text + at, " \t\r\n");
}

int config_plain(const struct buf *text, struct buf *ret, struct err *err)
{
	struct json_value *document = NULL;
	char *plain;
	size_t end, next;

	if (buf_add(ret, buf_text(text), text->len, err) < 0)
		return (int)err->code;
	plain = ret->data;
	if (ret->len >= 3 && memcmp(plain, "\xef\xbb\xbf", 3) == 0)
		blank(plain, 0, 3);
	for (size_t at = 0; at < ret->len; at = end) {
		end = plain[at] == '"' ? string_end(plain, at, ret->len) : at + 1;
		if (plain[at] == '/' && (end = comment_end(plain, at, ret->len)) > 0)
			blank(plain, at, end);
		else if (plain[at] == '/')
			end = at + 1;
	}
	for (size_t at = 0; at < ret->len; at = end) {
		end = plain[at] == '"' ? string_end(plain, at, ret->len) : at + 1;
		next = skip_space(plain, end);
		if (plain[at] == ',' && (plain[next] == '}' || plain[next] == ']'))
			blank(plain, at, end);
	}
	if (skip_space(buf_text(ret), 0) == ret->len)
		return 0;
	if (json_read_parse(plain, ret->len, CONFIG_MAX, &document, err) < 0)
		return (int)err->code;
	if (json_read_kind(document) != JSON_KIND_OBJECT)
		(void)err_set(err, ERR_INVALID, "it is not a JSON object");
	else
		err_clear(err);
	json_read_free(document);
	return (int)err->code;
}

/*
 * ---- positions --------------------------------------------------------------------------------
 */

/* The end of a JSON value at `at`; the text is known to be valid. */
static size_t value_end(const char *text, size_t at)
{
	const size_t len = strlen(text);
	size_t depth = 0;

	if (text[at] == '"')
		return string_end(text, at, len);
	if (text[at] != '{' && text[at] != '[')
		return at + strcspn(text + at, ",}] \t\r\n");
	do {
		if (text[at] == '"') {
			at = string_end(text, at, len);
			continue;
		}
		depth += text[at] == '{' || text[at] == '[';
		depth -= text[at] == '}' || text[at] == ']';
		at++;
	} while (depth > 0 && at < len);
	return at;
}

/* A member of an object: "key": value */
struct member {
	bool is_there;
	size_t key, value, end;
	size_t before; /* end of the previous member, or after the brace */
	size_t last;   /* end of the object's last member, or after the brace */
	bool is_first, is_empty; /* is_empty is about the object */
};

/*
 * `at`: the brace. Compares names without unescaping: in practice nobody escapes letters in them.
 */
static struct member find_member(const char *text, size_t at, const char *name)
{
	struct member ret = { .before = at + 1, .last = at + 1, .is_empty = true };
	const size_t len = strlen(name);

	at = skip_space(text, at + 1);
	while (text[at] == '"') {
		const size_t key = at, key_end = string_end(text, at, strlen(text));
		const size_t value = skip_space(text, skip_space(text, key_end) + 1);
		const size_t end = value_end(text, value);

		if (!ret.is_there && key_end - key == len + 2 &&
		    memcmp(text + key + 1, name, len) == 0) {
			ret.is_there = true;
			ret.key = key;
			ret.value = value;
			ret.end = end;
			ret.before = ret.last;
			ret.is_first = ret.is_empty;
		}
		ret.is_empty = false;
		ret.last = end;
		at = skip_space(text, end);
		if (text[at] == ',')
			at = skip_space(text, at + 1);
	}
	return ret;
}

/* ---- the new text ----------------------------------------------------------------------------- */

/* The white space before the first member of the outermost object. */
static void find_indent(const char *text, char ret[INDENT_MAX])
{
	const size_t brace = skip_space(text, 0), first = skip_space(text, brace + 1);
	size_t line = first;

	(void)snprintf(ret, INDENT_MAX, "  ");
	while (line > brace && text[line - 1] != '\n')
		line--;
	if (line > brace && first > line && first - line < INDENT_MAX)
		(void)snprintf(ret, INDENT_MAX, "%.*s", (int)(first - line), text + line);
}

static void new_line(struct buf *ret, const char *indent, unsigned depth)
{
	struct err ignored;

	(void)buf_addc(ret, '\n', &ignored);
	for (unsigned i = 0; i < depth; i++)
		(void)buf_adds(ret, indent, &ignored);
}

/* Formats compact JSON with one line for each member and entry. */
static void lay_out(const struct buf *compact, const char *indent, unsigned depth, struct buf *ret)
{
	bool in_string = false;
	struct err ignored;

	for (size_t i = 0; i < compact->len; i++) {
		const char c = compact->data[i];
		const char next = i + 1 < compact->len ? compact->data[i + 1] : '\0';

		if (in_string || strchr("{}[],:\"", c) == NULL) {
			(void)buf_addc(ret, c, &ignored);
			if (in_string && c == '\\')
				(void)buf_addc(ret, compact->data[++i], &ignored);
			else if (c == '"')
				in_string = false;
			continue;
		}
		in_string = c == '"';
		if (c == '}' || c == ']')
			new_line(ret, indent, --depth);
		(void)buf_addc(ret, c, &ignored);
		if ((c == '{' && next == '}') || (c == '[' && next == ']'))
			(void)buf_addc(ret, compact->data[++i], &ignored);
		else if (c == '{' || c == '[')
			new_line(ret, indent, ++depth);
		else if (c == ',')
			new_line(ret, indent, depth);
		else if (c == ':')
			(void)buf_addc(ret, ' ', &ignored);
	}
}

/* Replaces the text from `from` to `to` by `put`. */
static int splice(const struct buf *text, size_t from, size_t to, const struct buf *put,
		  struct buf *ret, struct err *err)
{
	cleanup_buf struct buf plain = BUF_INIT(CONFIG_MAX);

	if (buf_add(ret, buf_text(text), from, err) < 0 ||
	    buf_add(ret, buf_text(put), put->len, err) < 0 ||
	    buf_add(ret, buf_text(text) + to, text->len - to, err) < 0)
		return (int)err->code;
	return config_plain(ret, &plain, err);
}

/* Appends a member after the last one of an object. */
static int append(const struct buf *text, const char *plain, const struct member *where,
		  const char *name, const struct buf *value, unsigned depth, struct buf *ret,
		  struct err *err)
{
	cleanup_buf struct buf put = BUF_INIT(CONFIG_MAX);
	char indent[INDENT_MAX];
	struct err ignored;

	find_indent(plain, indent);
	if (!where->is_empty)
		(void)buf_addc(&put, ',', &ignored);
	new_line(&put, indent, depth);
	(void)buf_addf(&put, &ignored, "\"%s\": ", name);
	lay_out(value, indent, depth, &put);
	if (where->is_empty)
		new_line(&put, indent, depth - 1);
	/* Braces of an empty object may be on two lines. */
	return splice(text, where->last,
		      where->is_empty ? skip_space(plain, where->last) : where->last, &put, ret,
		      err);
}

static int put_fresh(const char *key, const char *name, const struct buf *entry, struct buf *ret,
		     struct err *err)
{
	cleanup_buf struct buf compact = BUF_INIT(CONFIG_MAX);

	if (buf_addf(&compact, err, "{\"%s\":{\"%s\":", key, name) < 0 ||
	    buf_add(&compact, buf_text(entry), entry->len, err) < 0 ||
	    buf_adds(&compact, "}}", err) < 0)
		return (int)err->code;
	lay_out(&compact, "  ", 0, ret);
	return buf_addc(ret, '\n', err);
}

int config_put(const struct buf *text, const char *key, const char *name, const struct buf *entry,
	       struct buf *ret, struct err *err)
{
	cleanup_buf struct buf plain = BUF_INIT(CONFIG_MAX), put = BUF_INIT(CONFIG_MAX);
	struct member servers, ours;
	char indent[INDENT_MAX];
	size_t brace;

	if (config_plain(text, &plain, err) < 0)
		return (int)err->code;
	brace = skip_space(buf_text(&plain), 0);
	if (brace == plain.len)
		return put_fresh(key, name, entry, ret, err);
	servers = find_member(plain.data, brace, key);
	if (!servers.is_there) {
		if (buf_addf(&put, err, "{\"%s\":", name) < 0 ||
		    buf_add(&put, buf_text(entry), entry->len, err) < 0 ||
		    buf_addc(&put, '}', err) < 0)
			return (int)err->code;
		return append(text, plain.data, &servers, key, &put, 1, ret, err);
	}
	if (plain.data[servers.value] != '{')
		return err_set(err, ERR_INVALID, "its %s is not an object", key);
	ours = find_member(plain.data, servers.value, name);
	if (!ours.is_there)
		return append(text, plain.data, &ours, name, entry, 2, ret, err);
	find_indent(plain.data, indent);
	lay_out(entry, indent, 2, &put);
	return splice(text, ours.value, ours.end, &put, ret, err);
}

int config_take_out(const struct buf *text, const char *key, const char *name, struct buf *ret,
		    struct err *err)
{
	cleanup_buf struct buf plain = BUF_INIT(CONFIG_MAX);
	const struct buf nothing = BUF_INIT(1);
	struct member servers, ours = { 0 };
	size_t brace, end;

	if (config_plain(text, &plain, err) < 0)
		return (int)err->code;
	brace = skip_space(buf_text(&plain), 0);
	if (brace < plain.len) {
		servers = find_member(plain.data, brace, key);
		if (servers.is_there && plain.data[servers.value] == '{')
			ours = find_member(plain.data, servers.value, name);
	}
	if (!ours.is_there)
		return buf_add(ret, buf_text(text), text->len, err);
	end = skip_space(plain.data, ours.end);
	if (!ours.is_first)
		return splice(text, ours.before, ours.end, &nothing, ret, err);
	/*
	 * Remove the comma after the first of several members; the only member leaves empty braces.
	 */
	if (plain.data[end] == ',')
		return splice(text, ours.key, skip_space(plain.data, end + 1), &nothing, ret, err);
	return splice(text, ours.before, end, &nothing, ret, err);
}
