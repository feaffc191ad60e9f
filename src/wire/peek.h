/*
 * peek.h - what reckon-peek says about a hostile file, and what it is told.
 *
 * reckon-peek parses archives for libreckon, behind a fence (fence/fence.h), and is taken for
 * captured by what it parses. One SOCK_SEQPACKET socket, descriptor PEEK_FD of the peek; the
 * archive is PEEK_FILE_FD, opened by us. Each frame is a struct peek_head and `len` bytes.
 *
 *   unpack:  READY (ENTRY (DATA* DATA_END)?)* END      DATA only behind an ENTRY of a file
 *   pack:    READY, then from us (ADD [a file])* FINISH, then END
 *   FAIL may stand in the place of anything behind READY, and ends it.
 *
 * peek_take() judges each frame of the peek by its place, its lengths and what it names: whatever
 * comes out of it names nothing outside of the folder that is filled.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PEEK_FD 3
#define PEEK_FILE_FD 4
#define PEEK_MAGIC 0x31504b52u /* "RKP1" */
#define PEEK_DATA_MAX 65536u
#define PEEK_PATH_MAX 4095u
#define PEEK_DEPTH_MAX 64u /* folders in a path: as deep as a workspace is looked at */
#define PEEK_TEXT_MAX 240u

enum peek_type {
	/* peek to us */
	PEEK_READY = 1, /* the fence is up */
	PEEK_ENTRY = 2,
	PEEK_DATA = 3,
	PEEK_DATA_END = 4, /* the file is whole */
	PEEK_END = 5,	   /* struct peek_end */
	PEEK_FAIL = 6,	   /* struct peek_fail and a text */
	/* we to peek */
	PEEK_ADD = 32, /* as ENTRY; a file's descriptor goes along */
	PEEK_FINISH = 33,
};

enum peek_kind { PEEK_FILE = 1, PEEK_FOLDER, PEEK_SYMLINK, PEEK_HARDLINK };

struct peek_head {
	uint32_t magic;
	uint16_t type;
	uint16_t reserved;
	uint32_t len;
	uint32_t reserved2;
};

/* Of ENTRY and ADD; path and target follow, not terminated. */
struct peek_entry {
	uint32_t kind;
	uint32_t mode; /* nine bits */
	int64_t mtime_s;
	uint64_t size; /* of a file in ADD; in ENTRY it says nothing */
	uint32_t path_len;
	uint32_t target_len; /* of links */
};

struct peek_end {
	uint64_t renamed; /* names with bytes that no name here may have */
	uint64_t changed; /* files that were shorter than they had been */
};

struct peek_fail {
	int32_t code; /* ERR_INVALID: the archive; ERR_LIMIT: too much; ERR_SYSTEM */
};

#define PEEK_FRAME_MAX (sizeof(struct peek_head) + PEEK_DATA_MAX)

enum peek_state {
	PEEK_STATE_STARTING, /* READY */
	PEEK_STATE_ENTRIES,  /* ENTRY, END */
	PEEK_STATE_DATA,     /* DATA, DATA_END */
	PEEK_STATE_PACKING,  /* END: it writes an archive */
	PEEK_STATE_DONE,     /* nothing */
};

struct peek_frame {
	enum peek_type type;
	struct peek_entry entry;
	char path[PEEK_PATH_MAX + 1];
	char target[PEEK_PATH_MAX + 1];
	const void *data; /* of DATA, within the frame that was taken */
	size_t data_len;
	struct peek_end end;
	struct err fail; /* what it says; printable */
};

/*
 * Judges one frame in `state`, which it moves on when the frame is good; READY leads to
 * ENTRIES. ERR_PROTOCOL: the peek is not what it was. ERR_INVALID, ERR_LIMIT: the archive
 * names what it may not.
 */
int peek_take(enum peek_state *state, const void *frame, size_t len, struct peek_frame *ret,
	      struct err *err);

/*
 * Whether an entry may be: a path beneath the folder, not too deep, a kind that is known, a
 * symbolic link that does not lead out by its text, a hard link to a path beneath the folder.
 */
int peek_check(const struct peek_entry *entry, const char *path, const char *target,
	       struct err *err);

/* A frame in `ret` (PEEK_FRAME_MAX bytes); returns its length. */
size_t peek_put(void *ret, enum peek_type type, const void *bytes, size_t len);
size_t peek_put_entry(void *ret, enum peek_type type, const struct peek_entry *entry,
		      const char *path, const char *target);
