/*
 * unarchiver.h - what reckon-unarchiver says about a hostile file, and what it is told.
 *
 * reckon-unarchiver parses archives for libreckon, behind a fence (fence/fence.h), and is taken for
 * captured by what it parses. One SOCK_SEQPACKET socket, descriptor UNARCHIVER_FD of the peek; the
 * archive is UNARCHIVER_FILE_FD, opened by us. Each frame is a struct unarchiver_head and `len` bytes.
 *
 *   unpack:  READY (ENTRY (DATA* DATA_END)?)* END      DATA only behind an ENTRY of a file
 *   pack:    READY, then from us (ADD [a file])* FINISH, then END
 *   FAIL may stand in the place of anything behind READY, and ends it.
 *
 * unarchiver_take() judges each frame of the peek by its place, its lengths and what it names: whatever
 * comes out of it names nothing outside of the folder that is filled.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define UNARCHIVER_FD 3
#define UNARCHIVER_FILE_FD 4
#define UNARCHIVER_MAGIC 0x31504b52u /* "RKP1" */
#define UNARCHIVER_DATA_MAX 65536u
#define UNARCHIVER_PATH_MAX 4095u
#define UNARCHIVER_DEPTH_MAX 64u /* folders in a path: as deep as a workspace is looked at */
#define UNARCHIVER_TEXT_MAX 240u

enum unarchiver_type {
	/* peek to us */
	UNARCHIVER_READY = 1, /* the fence is up */
	UNARCHIVER_ENTRY = 2,
	UNARCHIVER_DATA = 3,
	UNARCHIVER_DATA_END = 4, /* the file is whole */
	UNARCHIVER_END = 5,	   /* struct unarchiver_end */
	UNARCHIVER_FAIL = 6,	   /* struct unarchiver_fail and a text */
	/* we to peek */
	UNARCHIVER_ADD = 32, /* as ENTRY; a file's descriptor goes along */
	UNARCHIVER_FINISH = 33,
};

enum unarchiver_kind {
	UNARCHIVER_FILE = 1,
	UNARCHIVER_FOLDER,
	UNARCHIVER_SYMLINK,
	UNARCHIVER_HARDLINK
};

struct unarchiver_head {
	uint32_t magic;
	uint16_t type;
	uint16_t reserved;
	uint32_t len;
	uint32_t reserved2;
};

/* Of ENTRY and ADD; path and target follow, not terminated. */
struct unarchiver_entry {
	uint32_t kind;
	uint32_t mode; /* nine bits */
	int64_t mtime_s;
	uint64_t size; /* of a file in ADD; in ENTRY it says nothing */
	uint32_t path_len;
	uint32_t target_len; /* of links */
};

struct unarchiver_end {
	uint64_t renamed; /* names with bytes that no name here may have */
	uint64_t changed; /* files that were shorter than they had been */
};

struct unarchiver_fail {
	int32_t code; /* ERR_INVALID: the archive; ERR_LIMIT: too much; ERR_SYSTEM */
};

#define UNARCHIVER_FRAME_MAX (sizeof(struct unarchiver_head) + UNARCHIVER_DATA_MAX)

enum unarchiver_state {
	UNARCHIVER_STATE_STARTING, /* READY */
	UNARCHIVER_STATE_ENTRIES,  /* ENTRY, END */
	UNARCHIVER_STATE_DATA,     /* DATA, DATA_END */
	UNARCHIVER_STATE_PACKING,  /* END: it writes an archive */
	UNARCHIVER_STATE_DONE,     /* nothing */
};

struct unarchiver_frame {
	enum unarchiver_type type;
	struct unarchiver_entry entry;
	char path[UNARCHIVER_PATH_MAX + 1];
	char target[UNARCHIVER_PATH_MAX + 1];
	const void *data; /* of DATA, within the frame that was taken */
	size_t data_len;
	struct unarchiver_end end;
	struct err fail; /* what it says; printable */
};

/*
 * Judges one frame in `state`, which it moves on when the frame is good; READY leads to
 * ENTRIES. ERR_PROTOCOL: the peek is not what it was. ERR_INVALID, ERR_LIMIT: the archive
 * names what it may not.
 */
int unarchiver_take(enum unarchiver_state *state, const void *frame, size_t len,
		    struct unarchiver_frame *ret, struct err *err);

/*
 * Whether an entry may be: a path beneath the folder, not too deep, a kind that is known, a
 * symbolic link that does not lead out by its text, a hard link to a path beneath the folder.
 */
int unarchiver_check(const struct unarchiver_entry *entry, const char *path, const char *target,
	       struct err *err);

/* A frame in `ret` (UNARCHIVER_FRAME_MAX bytes); returns its length. */
size_t unarchiver_put(void *ret, enum unarchiver_type type, const void *bytes, size_t len);
size_t unarchiver_put_entry(void *ret, enum unarchiver_type type,
			    const struct unarchiver_entry *entry, const char *path,
			    const char *target);
