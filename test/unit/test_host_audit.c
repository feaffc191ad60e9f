/*
 * test_host_audit.c - the hash chain of the audit log: table, segments, sealed copy of the head.
 *
 * Runs in:  the unit suite.
 * Reads:    a state directory of its own.
 * Never:    computes the expected hash with the code that is tested.
 */
#include "unit.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "host/audit/segment.h"

static char dir[64];
static int state_fd;
static struct db *db;
static struct err err;

static int set_up(void **state)
{
	(void)state;
	state_fd = unit_mkdir(dir);
	assert_true(sodium_init() >= 0);
	assert_ok(&err, db_open(state_fd, dir, &db, &err));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	db_close(db);
	(void)close(state_fd);
	unit_rmdir(dir);
	return 0;
}

static struct audit_entry entry_of(const char *action, const char *detail)
{
	struct audit_entry entry = { .sequence = 0 };

	(void)snprintf(entry.field[AUDIT_AT], AUDIT_TEXT_SIZE, "2026-11-22T05:00:00.000Z");
	(void)snprintf(entry.field[AUDIT_ACTOR], AUDIT_TEXT_SIZE, "daemon");
	(void)snprintf(entry.field[AUDIT_ACTION], AUDIT_TEXT_SIZE, "%s", action);
	(void)snprintf(entry.field[AUDIT_OUTCOME], AUDIT_TEXT_SIZE, "ok");
	(void)snprintf(entry.field[AUDIT_DETAIL], AUDIT_TEXT_SIZE, "%s", detail);
	return entry;
}

/* Computed with Python's hashlib.blake2b(digest_size=32) from the description in audit.h. */
UNIT_TEST(the_hash_is_computed_as_documented)
{
	static const struct audit_head zero;
	struct audit_entry entry = entry_of("daemon.start", "version=1");
	unsigned char hash[AUDIT_HASH_SIZE];
	char hex[AUDIT_HASH_SIZE * 2 + 1];

	entry.sequence = 1;
	audit_hash(&zero, &entry, hash);
	assert_string_equal(sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash)),
			    "a0223ab7c58485d7eba275b1ce4065d16dcb850f3e0e27f7da64a0339738d508");
}

/* A byte that moves from one field to the next changes the hash. */
UNIT_TEST(the_hash_covers_the_fields_the_sequence_and_the_chain)
{
	static const struct audit_head zero;
	const struct audit_head other = { .sequence = 0, .hash = { 1 } };
	struct audit_entry one = entry_of("ab", "c"), two = entry_of("a", "c");
	unsigned char first[AUDIT_HASH_SIZE], second[AUDIT_HASH_SIZE];

	(void)snprintf(two.field[AUDIT_TARGET], AUDIT_TEXT_SIZE, "b");
	audit_hash(&zero, &one, first);
	audit_hash(&zero, &two, second);
	assert_memory_not_equal(first, second, sizeof(first));
	audit_hash(&other, &one, second);
	assert_memory_not_equal(first, second, sizeof(first));
	one.sequence = 1;
	audit_hash(&zero, &one, second);
	assert_memory_not_equal(first, second, sizeof(first));
}

struct walk {
	struct audit_head head;
	unsigned count;
};

static int walk_one(const struct audit_entry *entry, void *arg, struct err *ignored)
{
	struct walk *walk = arg;
	unsigned char want[AUDIT_HASH_SIZE];

	(void)ignored;
	assert_int_equal(entry->sequence, walk->head.sequence + 1);
	audit_hash(&walk->head, entry, want);
	assert_memory_equal(want, entry->hash, sizeof(want));
	walk->head.sequence = entry->sequence;
	memcpy(walk->head.hash, want, sizeof(want));
	walk->count++;
	return 0;
}

UNIT_TEST(entries_make_a_chain)
{
	struct audit_head head, found;
	struct walk walk = { .count = 0 };
	struct audit_entry entry;

	assert_ok(&err, db_audit_head(db, &head, &err));
	assert_int_equal(head.sequence, 0);
	for (int i = 0; i < 20; i++) {
		entry = entry_of("test", i % 2 == 0 ? "" : "\xc3\xa4 \"quoted\"");
		assert_ok(&err, db_audit_add(db, &head, &entry, &err));
		assert_int_equal(entry.sequence, i + 1);
	}
	assert_ok(&err, db_audit_list(db, 0, 0, walk_one, &walk, &err));
	assert_int_equal(walk.count, 20);
	assert_ok(&err, db_audit_head(db, &found, &err));
	assert_memory_equal(&found, &head, sizeof(head));
	assert_memory_equal(&walk.head, &head, sizeof(head));
	walk = (struct walk){ .count = 0 };
	assert_ok(&err, db_audit_list(db, UINT64_MAX, 0, walk_one, &walk, &err));
	assert_int_equal(walk.count, 0);
}

/* A rollback to a savepoint removes an entry together with the change that it describes. */
UNIT_TEST(a_rollback_removes_the_entry_with_its_change)
{
	struct audit_head head, found;
	struct audit_entry entry = entry_of("test", "kept"), gone = entry_of("test", "gone");
	uint64_t value = 1;

	assert_ok(&err, db_audit_head(db, &head, &err));
	assert_ok(&err, db_savepoint(db, &err));
	assert_ok(&err, db_audit_add(db, &head, &entry, &err));
	found = head;
	assert_ok(&err, db_savepoint(db, &err));
	assert_ok(&err, db_total_set(db, "together", 7, &err));
	assert_ok(&err, db_audit_add(db, &found, &gone, &err));
	db_rollback_to(db);
	assert_ok(&err, db_release(db, &err));
	assert_ok(&err, db_audit_head(db, &found, &err));
	assert_memory_equal(&found, &head, sizeof(head));
	assert_ok(&err, db_total(db, "together", &value, &err));
	assert_int_equal(value, 0);
}

/* Walks the entries of the tests above: some are in a segment, the rest stays in the table. */
UNIT_TEST(entries_move_to_a_segment_unchanged)
{
	const unsigned char secret[32] = { 3 }, other[32] = { 4 };
	struct audit_segments segments;
	struct audit_segment made;
	struct audit_edges edges;
	struct audit_head base, begin, end, head, zero = { .sequence = 0 };
	struct walk walk = { .count = 0 };

	assert_ok(&err, db_audit_head(db, &head, &err));
	assert_true(head.sequence > 12);
	assert_ok(&err, db_audit_base(db, &base, &err));
	assert_int_equal(base.sequence, 0);
	assert_ok(&err, audit_segment_write(state_fd, db, secret, &base, 12, &made, &end, &err));
	assert_int_equal(made.first, 1);
	assert_int_equal(made.last, 12);
	assert_int_equal(end.sequence, 12);
	/* The segment is ignored until the database records it. */
	assert_ok(&err, audit_walk(state_fd, db, other, 0, 0, walk_one, &walk, &err));
	assert_int_equal(walk.count, head.sequence);
	assert_ok(&err, db_audit_leave(db, &end, &err));
	walk = (struct walk){ .count = 0 };
	assert_ok(&err, audit_walk(state_fd, db, secret, 0, 0, walk_one, &walk, &err));
	assert_int_equal(walk.count, head.sequence);
	assert_memory_equal(&walk.head, &head, sizeof(head));
	walk = (struct walk){ .head = end };
	assert_ok(&err, audit_walk(state_fd, db, secret, 12, 2, walk_one, &walk, &err));
	assert_int_equal(walk.count, 2);
	walk = (struct walk){ .count = 0 };
	assert_ok(&err, audit_walk(state_fd, db, secret, 0, 5, walk_one, &walk, &err));
	assert_int_equal(walk.count, 5);
	assert_err(&err, ERR_INVALID,
		   audit_walk(state_fd, db, other, 0, 0, walk_one, &(struct walk){ 0 }, &err));
	assert_ok(&err, audit_beginning(state_fd, db, &begin, &err));
	assert_memory_equal(&begin, &zero, sizeof(begin));
	assert_ok(&err, audit_segments_list(state_fd, &segments, &err));
	assert_int_equal(segments.count, 1);
	assert_int_equal(segments.list[0].bytes, made.bytes);
	assert_ok(&err, audit_segment_edges(state_fd, &segments.list[0], &edges, &err));
	assert_memory_equal(&edges.end, &end, sizeof(end));
	assert_string_equal(edges.at, "2026-11-22T05:00:00.000Z");
	audit_segments_done(&segments);
	/* Entries that are in a segment cannot be moved again. */
	assert_err(&err, ERR_INVALID,
		   audit_segment_write(state_fd, db, secret, &zero, 14, &made, &end, &err));
}

UNIT_TEST(the_copy_of_the_head_is_sealed)
{
	const unsigned char secret[32] = { 1 }, other[32] = { 2 };
	const struct audit_head head = { .sequence = 4711, .hash = { 0xab, 0xcd } };
	struct audit_head found;
	bool sealed;
	int fd;

	assert_int_equal(audit_head_read(state_fd, secret, &found, &sealed, &err), 0);
	assert_ok(&err, audit_head_write(state_fd, &head, secret, &err));
	assert_int_equal(audit_head_read(state_fd, secret, &found, &sealed, &err), 1);
	assert_true(sealed);
	assert_memory_equal(&found, &head, sizeof(head));
	assert_int_equal(audit_head_read(state_fd, other, &found, &sealed, &err), 1);
	assert_false(sealed);
	/* Another sequence number breaks the seal. */
	fd = openat(state_fd, AUDIT_HEAD_FILE, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "4710", 4, 0), 4);
	assert_int_equal(audit_head_read(state_fd, secret, &found, &sealed, &err), 1);
	assert_false(sealed);
	assert_int_equal(ftruncate(fd, 60), 0);
	assert_err(&err, ERR_INVALID, audit_head_read(state_fd, secret, &found, &sealed, &err));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_err(&err, ERR_INVALID, audit_head_read(state_fd, secret, &found, &sealed, &err));
	(void)close(fd);
}

int main(void)
{
	return unit_run(set_up, tear_down);
}
