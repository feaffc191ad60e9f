/*
 * unarchiver.c - frames of the process that parses hostile files, and the paths they may name.
 *
 * Runs in:  reckon-unarchiver and libreckon.
 * Reads:    frames of an unarchiver that an attacker may control.
 * Never:    trusts a length, a path or an order.
 */
#include "wire/unarchiver.h"

#include <stdbool.h>
#include <string.h>

#include "base/file/fs.h"
#include "base/utf8.h"

_Static_assert(sizeof(struct unarchiver_entry) + 2u * UNARCHIVER_PATH_MAX <= UNARCHIVER_DATA_MAX,
	       "an entry fits");

size_t unarchiver_put(void *ret, enum unarchiver_type type, const void *bytes, size_t len)
{
	const struct unarchiver_head head = { .magic = UNARCHIVER_MAGIC,
					.type = (uint16_t)type,
					.len = (uint32_t)len };

	memcpy(ret, &head, sizeof(head));
	if (len > 0)
		memmove((char *)ret + sizeof(head), bytes, len);
	return sizeof(head) + len;
}

size_t unarchiver_put_entry(void *ret, enum unarchiver_type type,
			    const struct unarchiver_entry *entry, const char *path,
			    const char *target)
{
	struct unarchiver_entry filled = *entry;
	char bytes[sizeof(filled) + 2 * UNARCHIVER_PATH_MAX];
	size_t at = sizeof(filled);

	filled.path_len = (uint32_t)strnlen(path, UNARCHIVER_PATH_MAX);
	filled.target_len = (uint32_t)strnlen(target, UNARCHIVER_PATH_MAX);
	memcpy(bytes, &filled, sizeof(filled));
	memcpy(bytes + at, path, filled.path_len);
	at += filled.path_len;
	memcpy(bytes + at, target, filled.target_len);
	return unarchiver_put(ret, type, bytes, at + filled.target_len);
}

/* ---- paths of an entry ---------------------------------------------------------------------- */

static unsigned depth_of(const char *path)
{
	unsigned depth = 0;

	for (; *path != '\0'; path++)
		depth += *path == '/';
	return depth;
}

static bool is_plain(const char *text)
{
	const size_t len = strlen(text);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return utf8_is_valid(text, len);
}

/* Follows a link's text from the link's folder: whether it stays beneath the top. */
static bool stays_inside(const char *path, const char *target)
{
	unsigned depth = depth_of(path);

	if (target[0] == '/' || target[0] == '\0' || !is_plain(target))
		return false;
	while (*target != '\0') {
		const size_t n = strcspn(target, "/");

		if (n == 2 && target[0] == '.' && target[1] == '.') {
			if (depth == 0)
				return false;
			depth--;
		} else if (n > 0 && !(n == 1 && target[0] == '.')) {
			depth++;
		}
		target += n + (target[n] == '/');
	}
	return true;
}

int unarchiver_check(const struct unarchiver_entry *entry, const char *path, const char *target,
	       struct err *err)
{
	if (!fs_path_is_safe(path))
		return err_set(err, ERR_INVALID, "an entry leads out of the folder, or its name is "
			       "too long");
	if (depth_of(path) >= UNARCHIVER_DEPTH_MAX)
		return err_set(err, ERR_LIMIT, "%.100s lies more than %u folders deep", path,
			       UNARCHIVER_DEPTH_MAX);
	if (entry->mode > 0777)
		return err_set(err, ERR_PROTOCOL, "a mode of more than nine bits");
	switch ((enum unarchiver_kind)entry->kind) {
	case UNARCHIVER_FILE:
	case UNARCHIVER_FOLDER:
		return target[0] == '\0' ? 0 : err_set(err, ERR_PROTOCOL, "a target without link");
	case UNARCHIVER_SYMLINK:
		if (stays_inside(path, target))
			return 0;
		return err_set(err, ERR_INVALID, "the link %.100s leads out of the folder", path);
	case UNARCHIVER_HARDLINK:
		if (fs_path_is_safe(target))
			return 0;
		return err_set(err, ERR_INVALID, "the link %.100s leads out of the folder", path);
	}
	return err_set(err, ERR_PROTOCOL, "an entry of kind %u", entry->kind);
}

/* ---- judging a frame ------------------------------------------------------------------------ */

static int take_entry(const char *bytes, size_t len, struct unarchiver_frame *ret, struct err *err)
{
	struct unarchiver_entry *entry = &ret->entry;

	if (len < sizeof(*entry))
		return err_set(err, ERR_PROTOCOL, "an entry of %zu bytes", len);
	memcpy(entry, bytes, sizeof(*entry));
	bytes += sizeof(*entry);
	len -= sizeof(*entry);
	if (entry->path_len > UNARCHIVER_PATH_MAX || entry->target_len > UNARCHIVER_PATH_MAX ||
	    (size_t)entry->path_len + entry->target_len != len ||
	    memchr(bytes, '\0', len) != NULL)
		return err_set(err, ERR_PROTOCOL, "an entry with wrong lengths");
	memcpy(ret->path, bytes, entry->path_len);
	ret->path[entry->path_len] = '\0';
	memcpy(ret->target, bytes + entry->path_len, entry->target_len);
	ret->target[entry->target_len] = '\0';
	return unarchiver_check(entry, ret->path, ret->target, err);
}

static int take_fail(const char *bytes, size_t len, struct unarchiver_frame *ret, struct err *err)
{
	struct unarchiver_fail fail;
	char text[UNARCHIVER_TEXT_MAX + 1];

	if (len < sizeof(fail) || len - sizeof(fail) > UNARCHIVER_TEXT_MAX)
		return err_set(err, ERR_PROTOCOL, "a failure of %zu bytes", len);
	memcpy(&fail, bytes, sizeof(fail));
	len -= sizeof(fail);
	for (size_t i = 0; i < len; i++) {
		const char byte = bytes[sizeof(fail) + i];

		/* The text may come from the archive: keep only characters that are harmless to
		 * print. */
		text[i] = byte >= 0x20 && byte < 0x7f ? byte : '?';
	}
	text[len] = '\0';
	(void)err_set(&ret->fail,
		      fail.code == ERR_LIMIT || fail.code == ERR_SYSTEM ? (enum err_code)fail.code
									: ERR_INVALID,
		      "%s", len > 0 ? text : "the archive cannot be read");
	return 0;
}

static bool may_come(enum unarchiver_state state, uint16_t type)
{
	switch (state) {
	case UNARCHIVER_STATE_STARTING:
		return type == UNARCHIVER_READY || type == UNARCHIVER_FAIL;
	case UNARCHIVER_STATE_ENTRIES:
		return type == UNARCHIVER_ENTRY || type == UNARCHIVER_END ||
		       type == UNARCHIVER_FAIL;
	case UNARCHIVER_STATE_DATA:
		return type == UNARCHIVER_DATA || type == UNARCHIVER_DATA_END ||
		       type == UNARCHIVER_FAIL;
	case UNARCHIVER_STATE_PACKING:
		return type == UNARCHIVER_END || type == UNARCHIVER_FAIL;
	case UNARCHIVER_STATE_DONE:
		return false;
	}
	return false;
}

static int take_rest(const struct unarchiver_head *head, const char *bytes,
		     struct unarchiver_frame *ret, enum unarchiver_state *next, struct err *err)
{
	switch ((enum unarchiver_type)head->type) {
	case UNARCHIVER_READY:
		*next = UNARCHIVER_STATE_ENTRIES;
		return head->len == 0 ? 0 : err_set(err, ERR_PROTOCOL, "READY with a payload");
	case UNARCHIVER_ENTRY:
		if (take_entry(bytes, head->len, ret, err) < 0)
			return (int)err->code;
		if (ret->entry.kind == UNARCHIVER_FILE)
			*next = UNARCHIVER_STATE_DATA;
		return 0;
	case UNARCHIVER_DATA:
		ret->data = bytes;
		ret->data_len = head->len;
		return 0;
	case UNARCHIVER_DATA_END:
		*next = UNARCHIVER_STATE_ENTRIES;
		return head->len == 0 ? 0 : err_set(err, ERR_PROTOCOL, "DATA_END with a payload");
	case UNARCHIVER_END:
		*next = UNARCHIVER_STATE_DONE;
		if (head->len != sizeof(ret->end))
			return err_set(err, ERR_PROTOCOL, "END of %u bytes", head->len);
		memcpy(&ret->end, bytes, sizeof(ret->end));
		return 0;
	case UNARCHIVER_FAIL:
		*next = UNARCHIVER_STATE_DONE;
		return take_fail(bytes, head->len, ret, err);
	case UNARCHIVER_ADD:
	case UNARCHIVER_FINISH:
		break;
	}
	return err_set(err, ERR_PROTOCOL, "frame %u", head->type);
}

int unarchiver_take(enum unarchiver_state *state, const void *frame, size_t len,
		    struct unarchiver_frame *ret, struct err *err)
{
	enum unarchiver_state next = *state;
	struct unarchiver_head head;

	if (len < sizeof(head) || len > UNARCHIVER_FRAME_MAX)
		return err_set(err, ERR_PROTOCOL, "a frame of %zu bytes", len);
	memcpy(&head, frame, sizeof(head));
	if (head.magic != UNARCHIVER_MAGIC || head.len != len - sizeof(head))
		return err_set(err, ERR_PROTOCOL, "a frame without our magic number or length");
	if (!may_come(*state, head.type))
		return err_set(err, ERR_PROTOCOL, "frame %u in state %d", head.type, (int)*state);
	ret->type = (enum unarchiver_type)head.type;
	if (take_rest(&head, (const char *)frame + sizeof(head), ret, &next, err) < 0)
		return (int)err->code;
	*state = next;
	return 0;
}
