/*
 * tar.h - writes and reads headers of tar archives (ustar, with pax for long values).
 *
 * An archive is a sequence of headers (whole blocks), each followed by the file's bytes and zeros
 * up to a whole block; two blocks of zeros end it. Names and links are bytes: these functions
 * neither convert them nor check where they lead.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define TAR_BLOCK 512u
#define TAR_EXTRA_MAX (1u << 20) /* bytes of pax data per entry */

enum tar_kind { TAR_FILE, TAR_FOLDER, TAR_LINK, TAR_OTHER };

struct tar_entry {
	enum tar_kind kind;
	unsigned mode; /* permission bits (0777) */
	int64_t mtime;
	uint64_t size;	  /* of the data that follows */
	const char *path; /* a folder's without the trailing slash */
	const char *link; /* target of TAR_LINK, else "" */
};

/* Appends the header of an entry; its bytes follow, then tar_padding(size) zeros. */
int tar_write_head(struct buf *ret, const struct tar_entry *entry, struct err *err);
int tar_write_end(struct buf *ret, struct err *err);
unsigned tar_padding(uint64_t size);

/* Reads header by header. Initialise with tar_reader_init(). */
struct tar_reader {
	struct buf path, link; /* pax values for the next entry */
	uint64_t size;
	bool has_path, has_link, has_size;
	struct buf name; /* of the last entry */
	struct buf target;
};

enum tar_next { TAR_END, TAR_ENTRY, TAR_EXTRA };

void tar_reader_init(struct tar_reader *reader);
void tar_reader_done(struct tar_reader *reader);
/*
 * TAR_ENTRY: *ret is valid until the next call. TAR_EXTRA: ret->size bytes of pax data follow (at
 * most TAR_EXTRA_MAX), for tar_read_extra(), then padding. Negative: not a supported archive.
 */
int tar_read_head(struct tar_reader *reader, const char block[TAR_BLOCK], struct tar_entry *ret,
		  struct err *err);
int tar_read_extra(struct tar_reader *reader, const char *bytes, size_t len, struct err *err);
