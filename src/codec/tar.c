/*
 * tar.c - writes and reads headers of tar archives (ustar, with pax for long values).
 *
 * Runs in:  clients of a daemon.
 * Reads:    archives from any source.
 * Never:    accepts a header with a wrong checksum, or a number that does not fit.
 */
#include "codec/tar.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_USTAR 100u
#define PREFIX_MAX_USTAR 155u
#define SIZE_MAX_USTAR 077777777777ull
#define SIZE_MAX_READ 999999999999999999ull
#define PATH_MAX_TAR ((size_t)64 * 1024)

struct head {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100];
	char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct head) == TAR_BLOCK, "a head is a block");

static unsigned sum_of(const struct head *head)
{
	const unsigned char *bytes = (const unsigned char *)head;
	unsigned sum = 0;

	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += i >= offsetof(struct head, sum) && i < offsetof(struct head, type)
			       ? ' '
			       : bytes[i];
	return sum;
}

unsigned tar_padding(uint64_t size)
{
	return (unsigned)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}

/* ---- writing -------------------------------------------------------------------------------- */

static void put_octal(char *field, size_t size, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%0*" PRIo64, (int)size - 1, value);
	memcpy(field, text, size);
}

static int add_zeros(struct buf *ret, size_t count, struct err *err)
{
	static const char zeros[TAR_BLOCK];

	return buf_add(ret, zeros, count, err);
}

static int add_block(struct buf *ret, char type, const struct tar_entry *entry, struct err *err)
{
	struct head head = { .type = type, .magic = "ustar", .version = { '0', '0' } };

	/* Truncate: pax has the whole value. */
	memcpy(head.name, entry->path, strnlen(entry->path, sizeof(head.name)));
	memcpy(head.link, entry->link, strnlen(entry->link, sizeof(head.link)));
	put_octal(head.mode, sizeof(head.mode), entry->mode & 0777u);
	put_octal(head.uid, sizeof(head.uid), 0);
	put_octal(head.gid, sizeof(head.gid), 0);
	put_octal(head.size, sizeof(head.size), entry->size <= SIZE_MAX_USTAR ? entry->size : 0);
	put_octal(head.mtime, sizeof(head.mtime),
		  entry->mtime > 0 && (uint64_t)entry->mtime <= SIZE_MAX_USTAR
			  ? (uint64_t)entry->mtime
			  : 0);
	put_octal(head.sum, sizeof(head.sum) - 1, sum_of(&head));
	head.sum[7] = ' ';
	return buf_add(ret, &head, sizeof(head), err);
}

/* "LENGTH KEY=VALUE\n", where LENGTH includes itself. */
static int add_pair(struct buf *ret, const char *key, const char *value, struct err *err)
{
	const size_t rest = strlen(key) + strlen(value) + 3;
	size_t length = rest + 1;
	char digits[24];

	while (length != rest + (size_t)snprintf(digits, sizeof(digits), "%zu", length))
		length = rest + strlen(digits);
	return buf_addf(ret, err, "%zu %s=%s\n", length, key, value);
}

static int add_extra(struct buf *ret, const struct tar_entry *entry, struct err *err)
{
	cleanup_buf struct buf pairs = BUF_INIT(TAR_EXTRA_MAX);
	struct tar_entry extra = { .mode = 0644, .path = "pax", .link = "" };
	char size[24];

	(void)snprintf(size, sizeof(size), "%" PRIu64, entry->size);
	if ((strlen(entry->path) > NAME_MAX_USTAR - 1 &&
	     add_pair(&pairs, "path", entry->path, err) < 0) ||
	    (strlen(entry->link) > NAME_MAX_USTAR - 1 &&
	     add_pair(&pairs, "linkpath", entry->link, err) < 0) ||
	    (entry->size > SIZE_MAX_USTAR && add_pair(&pairs, "size", size, err) < 0))
		return (int)err->code;
	if (pairs.len == 0)
		return 0;
	extra.size = pairs.len;
	return add_block(ret, 'x', &extra, err) < 0 ||
			       buf_add(ret, pairs.data, pairs.len, err) < 0 ||
			       add_zeros(ret, tar_padding(pairs.len), err) < 0
		       ? (int)err->code
		       : 0;
}

int tar_write_head(struct buf *ret, const struct tar_entry *entry, struct err *err)
{
	static const char types[] = { [TAR_FILE] = '0', [TAR_FOLDER] = '5', [TAR_LINK] = '2' };

	if (entry->kind == TAR_OTHER)
		return err_set(err, ERR_INVALID, "an archive has no place for this");
	return add_extra(ret, entry, err) < 0 ? (int)err->code
					      : add_block(ret, types[entry->kind], entry, err);
}

int tar_write_end(struct buf *ret, struct err *err)
{
	return add_zeros(ret, TAR_BLOCK, err) < 0 ? (int)err->code : add_zeros(ret, TAR_BLOCK, err);
}

/* ---- reading -------------------------------------------------------------------------------- */

void tar_reader_init(struct tar_reader *reader)
{
	*reader = (struct tar_reader){ .path = BUF_INIT(PATH_MAX_TAR),
				       .link = BUF_INIT(PATH_MAX_TAR),
				       .name = BUF_INIT(PATH_MAX_TAR),
				       .target = BUF_INIT(PATH_MAX_TAR) };
}

void tar_reader_done(struct tar_reader *reader)
{
	buf_done(&reader->path);
	buf_done(&reader->link);
	buf_done(&reader->name);
	buf_done(&reader->target);
}

static int broken(struct err *err)
{
	return err_set(err, ERR_PROTOCOL, "the archive is damaged");
}

/* Octal digits between spaces, or base-256 with the top bit set. */
static bool get_number(const char *field, size_t size, uint64_t *ret)
{
	const unsigned char *at = (const unsigned char *)field, *end = at + size;
	uint64_t value = 0;

	if ((*at & 0x80u) != 0) {
		value = *at++ & 0x7fu;
		for (; at < end; at++) {
			if (value >> 55 != 0)
				return false;
			value = value << 8 | *at;
		}
		*ret = value;
		return true;
	}
	while (at < end && *at == ' ')
		at++;
	for (; at < end && *at >= '0' && *at <= '7'; at++) {
		if (value >> 60 != 0)
			return false;
		value = value << 3 | (uint64_t)(*at - '0');
	}
	*ret = value;
	return at == end || *at == ' ' || *at == '\0';
}

static int take_name(struct tar_reader *reader, const struct head *head, struct err *err)
{
	const bool is_ustar = memcmp(head->magic, "ustar", 5) == 0;
	const size_t prefix = is_ustar ? strnlen(head->prefix, PREFIX_MAX_USTAR) : 0;

	buf_clear(&reader->name);
	if (reader->has_path)
		return buf_add(&reader->name, reader->path.data, reader->path.len, err);
	if (prefix > 0 && (buf_add(&reader->name, head->prefix, prefix, err) < 0 ||
			   buf_addc(&reader->name, '/', err) < 0))
		return (int)err->code;
	return buf_add(&reader->name, head->name, strnlen(head->name, sizeof(head->name)), err);
}

static int take_link(struct tar_reader *reader, const struct head *head, struct err *err)
{
	buf_clear(&reader->target);
	if (reader->has_link)
		return buf_add(&reader->target, reader->link.data, reader->link.len, err);
	return buf_add(&reader->target, head->link, strnlen(head->link, sizeof(head->link)), err);
}

static enum tar_kind kind_of(char type)
{
	switch (type) {
	case '0':
	case '\0':
		return TAR_FILE;
	case '5':
		return TAR_FOLDER;
	case '2':
		return TAR_LINK;
	default:
		return TAR_OTHER;
	}
}

int tar_read_head(struct tar_reader *reader, const char block[TAR_BLOCK], struct tar_entry *ret,
		  struct err *err)
{
	static const struct head nothing;
	struct head head;
	uint64_t sum, mode, mtime, size;

	memcpy(&head, block, sizeof(head));
	if (memcmp(&head, &nothing, sizeof(head)) == 0)
		return TAR_END;
	if (!get_number(head.sum, sizeof(head.sum), &sum) || sum != sum_of(&head) ||
	    !get_number(head.size, sizeof(head.size), &size) ||
	    !get_number(head.mode, sizeof(head.mode), &mode) ||
	    !get_number(head.mtime, sizeof(head.mtime), &mtime))
		return broken(err);
	if (head.type == 'x' || head.type == 'g') {
		*ret = (struct tar_entry){
			.kind = TAR_OTHER, .size = size, .path = "", .link = ""
		};
		return size <= TAR_EXTRA_MAX ? TAR_EXTRA : broken(err);
	}
	if (take_name(reader, &head, err) < 0 || take_link(reader, &head, err) < 0)
		return (int)err->code;
	while (reader->name.len > 1 && reader->name.data[reader->name.len - 1] == '/')
		reader->name.data[--reader->name.len] = '\0';
	*ret = (struct tar_entry){ .kind = kind_of(head.type),
				   .mode = (unsigned)mode & 0777u,
				   .mtime = mtime <= INT64_MAX ? (int64_t)mtime : 0,
				   .size = reader->has_size ? reader->size : size,
				   .path = buf_text(&reader->name),
				   .link = buf_text(&reader->target) };
	/* Only files have data, whatever the header says. */
	if (ret->kind == TAR_FOLDER || ret->kind == TAR_LINK)
		ret->size = 0;
	if (ret->size > SIZE_MAX_READ)
		return broken(err);
	reader->has_path = reader->has_link = reader->has_size = false;
	return TAR_ENTRY;
}

static int take_pair(struct tar_reader *reader, const char *pair, size_t len, struct err *err)
{
	const char *equals = memchr(pair, '=', len);
	const size_t key = equals != NULL ? (size_t)(equals - pair) : len;
	const bool is_path = key == 4 && memcmp(pair, "path", 4) == 0;
	const bool is_link = key == 8 && memcmp(pair, "linkpath", 8) == 0;
	char digits[24] = "";

	if (equals == NULL)
		return broken(err);
	pair += key + 1;
	len -= key + 1;
	if (is_path || is_link) {
		struct buf *into = is_path ? &reader->path : &reader->link;

		reader->has_path |= is_path;
		reader->has_link |= is_link;
		buf_clear(into);
		/* A name with a NUL byte is invalid. */
		return memchr(pair, '\0', len) != NULL ? broken(err)
						       : buf_add(into, pair, len, err);
	}
	if (key == 4 && memcmp(equals - 4, "size", 4) == 0) {
		if (len == 0 || len >= 19 || strspn(pair, "0123456789") < len)
			return broken(err);
		memcpy(digits, pair, len);
		reader->size = strtoull(digits, NULL, 10);
		reader->has_size = true;
	}
	return 0;
}

int tar_read_extra(struct tar_reader *reader, const char *bytes, size_t len, struct err *err)
{
	while (len > 0) {
		size_t length = 0, digits = 0;

		while (digits < len && digits < 8 && bytes[digits] >= '0' && bytes[digits] <= '9')
			length = length * 10 + (size_t)(bytes[digits++] - '0');
		if (digits == 0 || digits == len || bytes[digits] != ' ' || length > len ||
		    length < digits + 2 || bytes[length - 1] != '\n')
			return broken(err);
		if (take_pair(reader, bytes + digits + 1, length - digits - 2, err) < 0)
			return (int)err->code;
		bytes += length;
		len -= length;
	}
	return 0;
}
