/*
 * fuzz_tar.c - an entry of an archive can be written, and is read again as the same.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes: an archive.
 * Never:    keeps state between inputs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/tar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct tar_entry *entry)
{
	cleanup_buf struct buf text = BUF_INIT((size_t)1 << 22);
	struct tar_reader reader;
	struct tar_entry again;
	struct err err;
	size_t at = 0;
	int next;

	if (entry->kind == TAR_OTHER)
		return;
	if (tar_write_head(&text, entry, &err) < 0 || text.len % TAR_BLOCK != 0)
		abort();
	tar_reader_init(&reader);
	while ((next = tar_read_head(&reader, text.data + at, &again, &err)) == TAR_EXTRA) {
		at += TAR_BLOCK;
		if (again.size > text.len - at ||
		    tar_read_extra(&reader, text.data + at, (size_t)again.size, &err) < 0)
			abort();
		at += (size_t)again.size + tar_padding(again.size);
	}
	if (next != TAR_ENTRY || again.kind != entry->kind || again.mode != entry->mode ||
	    again.size != entry->size || strcmp(again.path, entry->path) != 0 ||
	    strcmp(again.link, entry->link) != 0)
		abort();
	tar_reader_done(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct tar_reader reader;
	struct tar_entry entry;
	struct err err;
	size_t at = 0;
	int next = TAR_EXTRA;

	tar_reader_init(&reader);
	while (next > TAR_END && size - at >= TAR_BLOCK) {
		next = tar_read_head(&reader, text + at, &entry, &err);
		at += TAR_BLOCK;
		if (next <= TAR_END || entry.size > size - at)
			break;
		if (next == TAR_EXTRA &&
		    tar_read_extra(&reader, text + at, (size_t)entry.size, &err) < 0)
			break;
		if (next == TAR_ENTRY)
			check_again(&entry);
		at += (size_t)entry.size;
		if (tar_padding(entry.size) > size - at)
			break;
		at += tar_padding(entry.size);
	}
	tar_reader_done(&reader);
	return 0;
}
