/*
 * unarchiver.h - frames between reckon-unarchiver, which parses a hostile file, and libreckon.
 *
 * reckon-unarchiver parses archives for libreckon, behind a fence (fence/fence.h); the design
 * assumes that an archive can take it over. One SOCK_SEQPACKET socket, its descriptor
 * UNARCHIVER_FD; libreckon opens the archive as UNARCHIVER_FILE_FD. Each frame is a struct
 * unarchiver_head and `len` bytes.
 *
 *   unpack:  READY (ENTRY (DATA* DATA_END)?)* END      DATA only after an ENTRY of a file
 *   pack:    READY, then from libreckon (ADD [a file])* FINISH, then END
 *   FAIL may replace any frame of the unarchiver, and is the last.
 *
 * unarchiver_take() checks the order, the lengths and the paths of each frame: a frame that passes
 * names nothing outside of the target folder.
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
#define UNARCHIVER_DEPTH_MAX 64u /* folders in a path: as deep as a workspace is listed */
#define UNARCHIVER_TEXT_MAX 240u

enum unarchiver_type {
	/* unarchiver to libreckon */
	UNARCHIVER_READY = 1, /* the fence is up */
	UNARCHIVER_ENTRY = 2,
	UNARCHIVER_DATA = 3,
	UNARCHIVER_DATA_END = 4, /* the file is whole */
	UNARCHIVER_END = 5,	   /* struct unarchiver_end */
	UNARCHIVER_FAIL = 6,	   /* struct unarchiver_fail and a text */
	/* libreckon to unarchiver */
	UNARCHIVER_ADD = 32, /* as ENTRY; with the descriptor of a file */
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
	uint32_t mode; /* nine permission bits */
	int64_t mtime_s;
	uint64_t size; /* of a file in ADD; ignored in ENTRY */
	uint32_t path_len;
	uint32_t target_len; /* of links */
};

struct unarchiver_end {
	uint64_t renamed; /* names with bytes that are not allowed here */
	uint64_t changed; /* files that were shorter than when they were listed */
};

struct unarchiver_fail {
	int32_t code; /* ERR_INVALID: bad archive; ERR_LIMIT: too large; ERR_SYSTEM */
};

#define UNARCHIVER_FRAME_MAX (sizeof(struct unarchiver_head) + UNARCHIVER_DATA_MAX)

enum unarchiver_state {
	UNARCHIVER_STATE_STARTING, /* expects READY */
	UNARCHIVER_STATE_ENTRIES,  /* expects ENTRY, END */
	UNARCHIVER_STATE_DATA,     /* expects DATA, DATA_END */
	UNARCHIVER_STATE_PACKING,  /* expects END: it writes an archive */
	UNARCHIVER_STATE_DONE,     /* expects nothing */
};

struct unarchiver_frame {
	enum unarchiver_type type;
	struct unarchiver_entry entry;
	char path[UNARCHIVER_PATH_MAX + 1];
	char target[UNARCHIVER_PATH_MAX + 1];
	const void *data; /* of DATA, inside the frame */
	size_t data_len;
	struct unarchiver_end end;
	struct err fail; /* its message; printable */
};

/*
 * Checks one frame in `state`, and advances the state if the frame is valid; READY leads to
 * ENTRIES. ERR_PROTOCOL: the unarchiver broke the protocol. ERR_INVALID, ERR_LIMIT: the archive
 * contains something that is not allowed.
 */
int unarchiver_take(enum unarchiver_state *state, const void *frame, size_t len,
		    struct unarchiver_frame *ret, struct err *err);

/*
 * Whether an entry is allowed: a path beneath the folder, not too deep, of a known kind; a symbolic
 * link whose text does not lead out; a hard link to a path beneath the folder.
 */
int unarchiver_check(const struct unarchiver_entry *entry, const char *path, const char *target,
	       struct err *err);

/* Writes a frame to `ret` (UNARCHIVER_FRAME_MAX bytes); returns its length. */
size_t unarchiver_put(void *ret, enum unarchiver_type type, const void *bytes, size_t len);
size_t unarchiver_put_entry(void *ret, enum unarchiver_type type,
			    const struct unarchiver_entry *entry, const char *path,
			    const char *target);
