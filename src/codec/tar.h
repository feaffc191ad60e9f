/*
 * tar.h - heads of tar archives (ustar, with pax for what does not fit), written and read.
 *
 * An archive is a head of whole blocks, the bytes of a file, zeros up to a whole block, and so on;
 * two blocks of zeros are its end. Names and links are bytes: nothing is converted, and nothing
 * about where they lead is judged here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define TAR_BLOCK 512u
#define TAR_EXTRA_MAX (1u << 20) /* bytes of pax of one entry */

enum tar_kind { TAR_FILE, TAR_FOLDER, TAR_LINK, TAR_OTHER };

struct tar_entry {
	enum tar_kind kind;
	unsigned mode; /* 0777 of it */
	int64_t mtime;
	uint64_t size;	  /* of the bytes that follow */
	const char *path; /* of a folder without the slash at its end */
	const char *link; /* of TAR_LINK, else "" */
};

/* Appends the head of an entry; its bytes follow, then tar_padding(size) zeros. */
int tar_write_head(struct buf *ret, const struct tar_entry *entry, struct err *err);
int tar_write_end(struct buf *ret, struct err *err);
unsigned tar_padding(uint64_t size);

/* Reads head by head. Zero-initialise with tar_reader_init(). */
struct tar_reader {
	struct buf path, link; /* what pax said of the entry that comes */
	uint64_t size;
	bool has_path, has_link, has_size;
	struct buf name; /* of the entry that was read */
	struct buf target;
};

enum tar_next { TAR_END, TAR_ENTRY, TAR_EXTRA };

void tar_reader_init(struct tar_reader *reader);
void tar_reader_done(struct tar_reader *reader);
/*
 * TAR_ENTRY: *ret is it, good until the next call. TAR_EXTRA: ret->size bytes of pax follow (at most
 * TAR_EXTRA_MAX), for tar_read_extra(), then padding. Negative: this is not an archive of ours.
 */
int tar_read_head(struct tar_reader *reader, const char block[TAR_BLOCK], struct tar_entry *ret,
		  struct err *err);
int tar_read_extra(struct tar_reader *reader, const char *bytes, size_t len, struct err *err);
