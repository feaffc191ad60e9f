/*
 * segment.h - entries of the audit that have left the database: sealed files of STATE/audit.
 *
 *   FIRST-LAST.seg   the numbers of the first and the last entry, of 20 digits each
 *
 *   "reckon.audit.segment/1\n"  first (8 bytes)  hash of the entry before the first
 *   for each entry: length of the rest (4), sequence (8), each field's length (4) and its
 *                   bytes, its hash: the input of audit_hash(), then its result
 *   0 (4)  last (8)  hash of the last entry  time of the last entry (32)
 *   BLAKE2b-256 of all bytes before, keyed with the secret of the database
 *
 * Numbers are little endian. A segment is part of the audit once the database records that its rows
 * are moved, in the transaction that removes them; until then it is ignored.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "host/audit/audit.h"

#define AUDIT_DIR "audit"
#define AUDIT_SEGMENT_ENTRIES 4096u
#define AUDIT_SEGMENT_NAME_SIZE 48

struct audit_segment {
	char name[AUDIT_SEGMENT_NAME_SIZE];
	uint64_t first, last;
	uint64_t bytes;
};

struct audit_segments {
	struct audit_segment *list; /* oldest first */
	size_t count;
};

/* Lists the segments; none if there is no directory. Always call audit_segments_done(). */
int audit_segments_list(int state_fd, struct audit_segments *ret, struct err *err);
void audit_segments_done(struct audit_segments *segments);
#define cleanup_segments __attribute__((cleanup(audit_segments_done)))

/*
 * Writes the rows after `base` up to `last`, at most AUDIT_SEGMENT_ENTRIES, into a new file and
 * syncs it; *ret_end is the last of them.
 */
int audit_segment_write(int state_fd, struct db *db, const unsigned char secret[32],
			const struct audit_head *base, uint64_t last, struct audit_segment *ret,
			struct audit_head *ret_end, struct err *err);

struct audit_edges {
	struct audit_head before, end;
	char at[CLOCK_RFC3339_SIZE]; /* of the last entry */
};
/* Reads only the first and last bytes, and does not verify the seal. */
int audit_segment_edges(int state_fd, const struct audit_segment *segment,
			struct audit_edges *ret, struct err *err);
/* Reads the entries after `after`. ERR_INVALID: the file is damaged or the seal is not ours. */
int audit_segment_read(int state_fd, const struct audit_segment *segment,
		       const unsigned char secret[32], uint64_t after, audit_fn *fn, void *arg,
		       struct err *err);

/* Reads all entries after `after`, oldest first, from segments and the table; limit 0: all. */
int audit_walk(int state_fd, struct db *db, const unsigned char secret[32], uint64_t after,
	       unsigned limit, audit_fn *fn, void *arg, struct err *err);
/* The entry before the first existing one; sequence 0: none was removed. */
int audit_beginning(int state_fd, struct db *db, struct audit_head *ret, struct err *err);
