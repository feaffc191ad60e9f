/*
 * segment.c - sealed files of entries that have left the database.
 *
 * Runs in:  reckond's loop; a process that opens a state directory offline.
 * Reads:    STATE/audit, the table of the audit.
 * Never:    leaves half a file under the name of a segment, or trusts a length in a file.
 */
#include "host/audit/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"

#define MAGIC "reckon.audit.segment/1\n"
#define MAGIC_LEN (sizeof(MAGIC) - 1)
#define HEAD_LEN (MAGIC_LEN + 8 + AUDIT_HASH_SIZE)
#define AT_LEN 32u
#define SEAL_LEN AUDIT_HASH_SIZE
#define TAIL_LEN (4 + 8 + AUDIT_HASH_SIZE + AT_LEN + SEAL_LEN)
#define ENTRY_MAX (8u + AUDIT_FIELDS * (4u + AUDIT_TEXT_SIZE) + AUDIT_HASH_SIZE)
#define FILE_MAX (HEAD_LEN + TAIL_LEN + (size_t)AUDIT_SEGMENT_ENTRIES * (4 + ENTRY_MAX))
#define NEW_FILE "new"

/* ---- writing -------------------------------------------------------------------------------- */

static int add_number(struct buf *buf, uint64_t value, size_t size, struct err *err)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)(value >> 8 * i);
	return buf_add(buf, bytes, size, err);
}

struct writing {
	struct buf text;
	uint64_t last;
	struct audit_head end;
	char at[AT_LEN];
};

static int add_entry(const struct audit_entry *entry, void *arg, struct err *err)
{
	struct writing *writing = arg;
	size_t len = 8 + AUDIT_HASH_SIZE;

	if (entry->sequence > writing->last)
		return 0;
	if (entry->sequence != writing->end.sequence + 1)
		return err_set(err, ERR_INVALID, "entry %" PRIu64 " of the audit is missing",
			       writing->end.sequence + 1);
	for (size_t i = 0; i < AUDIT_FIELDS; i++)
		len += 4 + strlen(entry->field[i]);
	if (add_number(&writing->text, len, 4, err) < 0 ||
	    add_number(&writing->text, entry->sequence, 8, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < AUDIT_FIELDS; i++) {
		len = strlen(entry->field[i]);
		if (add_number(&writing->text, len, 4, err) < 0 ||
		    buf_add(&writing->text, entry->field[i], len, err) < 0)
			return (int)err->code;
	}
	writing->end.sequence = entry->sequence;
	memcpy(writing->end.hash, entry->hash, AUDIT_HASH_SIZE);
	memcpy(writing->at, entry->field[AUDIT_AT], AT_LEN - 1);
	return buf_add(&writing->text, entry->hash, AUDIT_HASH_SIZE, err);
}

static void seal(const struct buf *text, size_t len, const unsigned char secret[32],
		 unsigned char ret[SEAL_LEN])
{
	(void)crypto_generichash(ret, SEAL_LEN, (const unsigned char *)buf_text(text), len, secret,
				 32);
}

static int fill(struct writing *writing, struct db *db, const unsigned char secret[32],
		const struct audit_head *base, struct err *err)
{
	struct buf *text = &writing->text;
	unsigned char sealed[SEAL_LEN];

	writing->end = *base;
	if (buf_add(text, MAGIC, MAGIC_LEN, err) < 0 ||
	    add_number(text, base->sequence + 1, 8, err) < 0 ||
	    buf_add(text, base->hash, AUDIT_HASH_SIZE, err) < 0 ||
	    db_audit_list(db, base->sequence, AUDIT_SEGMENT_ENTRIES, add_entry, writing, err) < 0)
		return (int)err->code;
	if (writing->end.sequence == base->sequence)
		return err_set(err, ERR_NOT_FOUND, "there is no entry to be moved");
	if (add_number(text, 0, 4, err) < 0 ||
	    add_number(text, writing->end.sequence, 8, err) < 0 ||
	    buf_add(text, writing->end.hash, AUDIT_HASH_SIZE, err) < 0 ||
	    buf_add(text, writing->at, AT_LEN, err) < 0)
		return (int)err->code;
	seal(text, text->len, secret, sealed);
	return buf_add(text, sealed, SEAL_LEN, err);
}

static int open_dir(int state_fd, int *ret, struct err *err)
{
	const int fd = openat(state_fd, AUDIT_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return err_sys(err, "open %s", AUDIT_DIR);
	*ret = fd;
	return 0;
}

static int make_dir(int state_fd, int *ret, struct err *err)
{
	if (mkdirat(state_fd, AUDIT_DIR, 0700) == 0) {
		if (fsync(state_fd) < 0)
			return err_sys(err, "sync the state directory");
	} else if (errno != EEXIST) {
		return err_sys(err, "make %s", AUDIT_DIR);
	}
	return open_dir(state_fd, ret, err);
}

static void name_of(const struct audit_segment *segment, char ret[AUDIT_SEGMENT_NAME_SIZE])
{
	(void)snprintf(ret, AUDIT_SEGMENT_NAME_SIZE, "%020" PRIu64 "-%020" PRIu64 ".seg",
		       segment->first, segment->last);
}

/* Syncs the content, renames the file, and syncs the directory, in this order. */
static int put(int dir_fd, const char *name, const struct buf *text, struct err *err)
{
	cleanup_fd int fd = openat(dir_fd, NEW_FILE,
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_sys(err, "make %s/%s", AUDIT_DIR, NEW_FILE);
	if (fd_write_full(fd, buf_text(text), text->len, err) < 0)
		return err_wrap(err, "%s/%s", AUDIT_DIR, NEW_FILE);
	if (fsync(fd) < 0)
		return err_sys(err, "sync %s/%s", AUDIT_DIR, NEW_FILE);
	if (renameat(dir_fd, NEW_FILE, dir_fd, name) < 0)
		return err_sys(err, "rename %s/%s", AUDIT_DIR, NEW_FILE);
	if (fsync(dir_fd) < 0)
		return err_sys(err, "sync %s", AUDIT_DIR);
	return 0;
}

int audit_segment_write(int state_fd, struct db *db, const unsigned char secret[32],
			const struct audit_head *base, uint64_t last, struct audit_segment *ret,
			struct audit_head *ret_end, struct err *err)
{
	struct writing writing = { .last = last };
	cleanup_buf struct buf text = BUF_INIT(FILE_MAX);
	cleanup_fd int dir_fd = -1;
	struct audit_segment made = { .first = base->sequence + 1 };
	int code;

	writing.text = text;
	code = fill(&writing, db, secret, base, err);
	text = writing.text;
	if (code < 0 || make_dir(state_fd, &dir_fd, err) < 0)
		return (int)err->code;
	made.last = writing.end.sequence;
	made.bytes = text.len;
	name_of(&made, made.name);
	if (put(dir_fd, made.name, &text, err) < 0)
		return (int)err->code;
	*ret = made;
	*ret_end = writing.end;
	return 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

struct cursor {
	const unsigned char *at;
	size_t left;
};

static bool take_bytes(struct cursor *cursor, void *ret, size_t len)
{
	if (len > cursor->left)
		return false;
	memcpy(ret, cursor->at, len);
	cursor->at += len;
	cursor->left -= len;
	return true;
}

static bool take_number(struct cursor *cursor, size_t size, uint64_t *ret)
{
	unsigned char bytes[8] = { 0 };

	if (!take_bytes(cursor, bytes, size))
		return false;
	*ret = 0;
	for (size_t i = 0; i < size; i++)
		*ret |= (uint64_t)bytes[i] << 8 * i;
	return true;
}

static bool take_entry(struct cursor *cursor, struct audit_entry *ret)
{
	uint64_t len;

	memset(ret, 0, sizeof(*ret));
	if (!take_number(cursor, 8, &ret->sequence))
		return false;
	for (size_t i = 0; i < AUDIT_FIELDS; i++)
		if (!take_number(cursor, 4, &len) || len >= AUDIT_TEXT_SIZE ||
		    !take_bytes(cursor, ret->field[i], (size_t)len))
			return false;
	return take_bytes(cursor, ret->hash, AUDIT_HASH_SIZE) && cursor->left == 0;
}

static bool take_head(struct cursor *cursor, struct audit_head *ret_before)
{
	char magic[MAGIC_LEN];
	uint64_t first;

	if (!take_bytes(cursor, magic, MAGIC_LEN) || memcmp(magic, MAGIC, MAGIC_LEN) != 0 ||
	    !take_number(cursor, 8, &first) || first == 0 ||
	    !take_bytes(cursor, ret_before->hash, AUDIT_HASH_SIZE))
		return false;
	ret_before->sequence = first - 1;
	return true;
}

static int damaged(const struct audit_segment *segment, struct err *err)
{
	return err_set(err, ERR_INVALID, "%s/%s is damaged", AUDIT_DIR, segment->name);
}

static int open_segment(int state_fd, const struct audit_segment *segment, int *ret,
			struct err *err)
{
	cleanup_fd int dir_fd = -1;
	int fd;

	if (open_dir(state_fd, &dir_fd, err) < 0)
		return (int)err->code;
	fd = openat(dir_fd, segment->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return err_sys(err, "open %s/%s", AUDIT_DIR, segment->name);
	*ret = fd;
	return 0;
}

int audit_segment_edges(int state_fd, const struct audit_segment *segment,
			struct audit_edges *ret, struct err *err)
{
	unsigned char head[HEAD_LEN], tail[TAIL_LEN];
	struct cursor cursor = { head, sizeof(head) };
	cleanup_fd int fd = -1;
	char at[AT_LEN];
	uint64_t zero;
	struct stat st;

	if (open_segment(state_fd, segment, &fd, err) < 0)
		return (int)err->code;
	if (fstat(fd, &st) < 0)
		return err_sys(err, "%s/%s", AUDIT_DIR, segment->name);
	if (st.st_size < (off_t)(HEAD_LEN + TAIL_LEN) ||
	    pread(fd, head, HEAD_LEN, 0) != (ssize_t)HEAD_LEN ||
	    pread(fd, tail, TAIL_LEN, st.st_size - (off_t)TAIL_LEN) != (ssize_t)TAIL_LEN ||
	    !take_head(&cursor, &ret->before))
		return damaged(segment, err);
	cursor = (struct cursor){ tail, sizeof(tail) };
	if (!take_number(&cursor, 4, &zero) || !take_number(&cursor, 8, &ret->end.sequence) ||
	    !take_bytes(&cursor, ret->end.hash, AUDIT_HASH_SIZE) ||
	    !take_bytes(&cursor, at, AT_LEN) || zero != 0)
		return damaged(segment, err);
	(void)snprintf(ret->at, sizeof(ret->at), "%.*s", (int)AT_LEN - 1, at);
	return 0;
}

static int give_out(struct cursor cursor, const struct audit_segment *segment, uint64_t after,
		    audit_fn *fn, void *arg, struct err *err)
{
	struct audit_entry entry;
	uint64_t len, expected = segment->first;

	while (take_number(&cursor, 4, &len) && len > 0) {
		struct cursor one = { cursor.at, (size_t)len };

		if (len > cursor.left || !take_entry(&one, &entry) || entry.sequence != expected)
			return damaged(segment, err);
		cursor.at += len;
		cursor.left -= (size_t)len;
		expected++;
		if (entry.sequence > after && fn(&entry, arg, err) < 0)
			return (int)err->code;
	}
	return cursor.left == TAIL_LEN - 4 && expected == segment->last + 1 ? 0
									    : damaged(segment, err);
}

int audit_segment_read(int state_fd, const struct audit_segment *segment,
		       const unsigned char secret[32], uint64_t after, audit_fn *fn, void *arg,
		       struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(FILE_MAX);
	unsigned char sealed[SEAL_LEN];
	cleanup_fd int fd = -1;
	struct audit_head before;
	struct cursor cursor;

	if (open_segment(state_fd, segment, &fd, err) < 0)
		return (int)err->code;
	if (fd_read_all(fd, &text, err) < 0)
		return err->code == ERR_LIMIT ? damaged(segment, err) : (int)err->code;
	if (text.len < HEAD_LEN + TAIL_LEN)
		return damaged(segment, err);
	seal(&text, text.len - SEAL_LEN, secret, sealed);
	if (sodium_memcmp(sealed, text.data + text.len - SEAL_LEN, SEAL_LEN) != 0)
		return err_set(err, ERR_INVALID, "%s/%s has another seal than ours", AUDIT_DIR,
			       segment->name);
	cursor = (struct cursor){ (const unsigned char *)text.data, text.len };
	if (!take_head(&cursor, &before) || before.sequence + 1 != segment->first)
		return damaged(segment, err);
	return give_out(cursor, segment, after, fn, arg, err);
}
