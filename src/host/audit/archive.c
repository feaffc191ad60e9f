/*
 * archive.c - bounds the audit: moves entries from the database to segments, and removes segments.
 *
 * Runs in:  reckond's loop, a little once a second.
 * Reads:    the configuration, the oldest entries, segments.
 * Never:    removes a row before its segment is synced, or a segment before the entry that records
 *           its removal is synced.
 *
 * Each step is one transaction with file operations before or after it, so that a kill at any
 * moment leaves the old state or the new one, and sometimes an extra file. A segment whose rows are
 * still in the table is ignored, removed and written again; one whose removal is recorded is
 * removed by the next look.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "host/audit/segment.h"
#include "host/host.h"

#define MOVE_NS (1ull * 1000000000u)
#define LOOK_NS (10ull * 1000000000u)
#define LEAST_ENTRIES 64u /* in a segment that is made because there are too many entries */

struct hex {
	char text[AUDIT_HASH_SIZE * 2 + 1];
};

static struct hex hex_of(const struct audit_head *head)
{
	struct hex hex;

	(void)sodium_bin2hex(hex.text, sizeof(hex.text), head->hash, AUDIT_HASH_SIZE);
	return hex;
}

/* A time in the format of entries, which sorts by time; "" if it is before 1970. */
static void time_before(uint64_t now_ms, uint64_t keep_ms, char ret[CLOCK_RFC3339_SIZE])
{
	ret[0] = '\0';
	if (keep_ms < now_ms)
		clock_rfc3339(now_ms - keep_ms, ret);
}

/* ---- out of the database -------------------------------------------------------------------- */

struct aged {
	const char *before;
	uint64_t last;
	bool is_over;
};

static int note_aged(const struct audit_entry *entry, void *arg, struct err *err)
{
	struct aged *aged = arg;

	(void)err;
	/* Clocks may have been set back: an entry after a young one stays until that one is old. */
	if (strcmp(entry->field[AUDIT_AT], aged->before) >= 0)
		aged->is_over = true;
	if (!aged->is_over)
		aged->last = entry->sequence;
	return 0;
}

static int oldest_at(struct host *host, const struct audit_head *base, uint64_t behind,
		     const char *before, uint64_t *ret_last, struct err *err)
{
	struct aged aged = { .before = before, .last = base->sequence };

	if (db_audit_list(host->db, base->sequence + behind, 1, note_aged, &aged, err) < 0)
		return (int)err->code;
	*ret_last = aged.last;
	return 0;
}

/*
 * Selects entries that are too old, if they fill a whole segment or the oldest is overdue by an
 * eighth of the time: otherwise there would be many small files.
 */
static int choose_old(struct host *host, const struct audit_head *base, uint64_t *ret,
		      struct err *err)
{
	const uint64_t keep = host->config.audit_keep_ms, now = monotonic_now(&host->monotonic);
	char before[CLOCK_RFC3339_SIZE], long_before[CLOCK_RFC3339_SIZE];
	struct aged aged = { .before = before, .last = base->sequence };
	uint64_t whole, oldest;

	time_before(now, keep, before);
	time_before(now, keep + keep / 8, long_before);
	if (keep == 0 || before[0] == '\0')
		return 0;
	if (oldest_at(host, base, AUDIT_SEGMENT_ENTRIES - 1, before, &whole, err) < 0 ||
	    oldest_at(host, base, 0, long_before, &oldest, err) < 0)
		return (int)err->code;
	if (whole == base->sequence && oldest == base->sequence)
		return 0;
	if (db_audit_list(host->db, base->sequence, AUDIT_SEGMENT_ENTRIES, note_aged, &aged, err) <
	    0)
		return (int)err->code;
	*ret = aged.last;
	return 0;
}

/*
 * If there are an eighth more entries than allowed, selects those above the limit. The last entry
 * always stays.
 */
static void choose_many(const struct host *host, const struct audit_head *base, uint64_t *ret)
{
	const uint64_t most = host->config.audit_entries;
	const uint64_t count = host->auditor.head.sequence - base->sequence;
	const uint64_t more = most / 8 > LEAST_ENTRIES ? most / 8 : LEAST_ENTRIES;

	if (most == 0 || count < most + more)
		return;
	if (*ret < host->auditor.head.sequence - most)
		*ret = host->auditor.head.sequence - most;
}

static int leave(struct host *host, const struct audit_segment *segment,
		 const struct audit_head *end, struct err *err)
{
	int code;

	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = db_audit_leave(host->db, end, err);
	if (code >= 0)
		code = audit_add(host, "audit.archive", segment->name, "ok", err,
				 "through=%" PRIu64 " hash=%s bytes=%" PRIu64, end->sequence,
				 hex_of(end).text, segment->bytes);
	return audit_end(host, code, err);
}

static int drop(struct host *host, const struct audit_segment *segment, struct err *err)
{
	cleanup_fd int dir_fd = openat(host->place.state_fd, AUDIT_DIR,
				       O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (dir_fd < 0 || unlinkat(dir_fd, segment->name, 0) < 0)
		return err_sys(err, "remove %s/%s", AUDIT_DIR, segment->name);
	return 0;
}

/*
 * Handles a segment whose entries the database does not count as moved. After a crash its rows are
 * still in the table, so it is removed. If they are not, the database is an older copy that was
 * restored, so the segment is renamed and kept.
 */
static int settle(struct host *host, const struct audit_segment *segment, struct err *err)
{
	struct audit_entry last = { .sequence = 0 };
	char aside[AUDIT_SEGMENT_NAME_SIZE + 8];
	cleanup_fd int dir_fd = -1;
	struct audit_edges edges;

	if (db_audit_list(host->db, segment->last - 1, 1, audit_take_one, &last, err) < 0)
		return (int)err->code;
	if (audit_segment_edges(host->place.state_fd, segment, &edges, err) == 0 &&
	    last.sequence == edges.end.sequence &&
	    memcmp(last.hash, edges.end.hash, AUDIT_HASH_SIZE) == 0)
		return drop(host, segment, err);
	(void)snprintf(aside, sizeof(aside), "%s.other", segment->name);
	dir_fd = openat(host->place.state_fd, AUDIT_DIR,
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir_fd < 0 || renameat(dir_fd, segment->name, dir_fd, aside) < 0)
		return err_sys(err, "rename %s/%s", AUDIT_DIR, segment->name);
	log_line(LOG_ERROR, "a segment of the audit is not of this database", "file=%s", aside);
	return 0;
}

/* Call before writing another segment, which may begin at the same entry. */
static int settle_unfinished(struct host *host, const struct audit_head *base, struct err *err)
{
	cleanup_segments struct audit_segments segments = { .list = NULL };

	if (audit_segments_list(host->place.state_fd, &segments, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < segments.count; i++)
		if (segments.list[i].last > base->sequence &&
		    settle(host, &segments.list[i], err) < 0)
			return (int)err->code;
	return 0;
}

/* 1: entries were moved. */
static int move(struct host *host, struct err *err)
{
	struct audit_head base, end;
	struct audit_segment segment;
	uint64_t last;

	if (db_audit_base(host->db, &base, err) < 0)
		return (int)err->code;
	last = base.sequence;
	if (choose_old(host, &base, &last, err) < 0)
		return (int)err->code;
	choose_many(host, &base, &last);
	if (last <= base.sequence)
		return 0;
	/* Syncs first: a segment must not contain rows that a power cut could still remove. */
	if (settle_unfinished(host, &base, err) < 0 || transaction_sync(host, err) < 0 ||
	    audit_segment_write(host->place.state_fd, host->db, host->tenants.key_secret, &base,
				last,
				&segment,
				&end, err) < 0 ||
	    leave(host, &segment, &end, err) < 0)
		return (int)err->code;
	log_line(LOG_INFO, "entries of the audit were moved to a segment",
		 "file=%s entries=%" PRIu64, segment.name, segment.last - segment.first + 1);
	return 1;
}

/* ---- removing segments ---------------------------------------------------------------------- */

static bool is_too_old(const struct host *host, const struct audit_edges *edges, uint64_t now_ms)
{
	char before[CLOCK_RFC3339_SIZE];

	if (host->config.audit_archive_keep_ms == 0)
		return false;
	time_before(now_ms, host->config.audit_archive_keep_ms, before);
	return before[0] != '\0' && strcmp(edges->at, before) < 0;
}

/*
 * Records the removal in the chain, with the segment's last hash, and syncs it before the file
 * goes.
 */
static int tell_prune(struct host *host, const struct audit_segment *segment,
		      const struct audit_edges *edges, struct err *err)
{
	int code;

	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = db_audit_prune(host->db, &edges->end, err);
	if (code >= 0)
		code = audit_add(host, AUDIT_PRUNE, segment->name, "ok", err, AUDIT_PRUNE_DETAIL,
				 edges->end.sequence, hex_of(&edges->end).text);
	return audit_commit(host, code, err);
}

static int prune_one(struct host *host, const struct audit_segment *segment, uint64_t bytes,
		     uint64_t pruned, struct err *err)
{
	const uint64_t most = host->config.audit_archive_bytes;
	struct audit_edges edges;

	if (segment->last > pruned) {
		if (audit_segment_edges(host->place.state_fd, segment, &edges, err) < 0)
			return (int)err->code;
		if (!is_too_old(host, &edges, monotonic_now(&host->monotonic)) &&
		    (most == 0 || bytes <= most))
			return 0;
		if (tell_prune(host, segment, &edges, err) < 0)
			return (int)err->code;
		log_line(LOG_INFO, "a segment of the audit was removed", "file=%s", segment->name);
	}
	return drop(host, segment, err) < 0 ? (int)err->code : 1;
}

static int prune(struct host *host, struct err *err)
{
	cleanup_segments struct audit_segments segments = { .list = NULL };
	struct audit_head base, pruned;
	uint64_t bytes = 0;
	int code = 1;

	if (db_audit_base(host->db, &base, err) < 0 ||
	    db_audit_pruned(host->db, &pruned, err) < 0 ||
	    audit_segments_list(host->place.state_fd, &segments, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < segments.count; i++)
		if (segments.list[i].last <= base.sequence)
			bytes += segments.list[i].bytes;
	/* Starts at the oldest, and stops at the first that is kept. */
	for (size_t i = 0; i < segments.count && code > 0; i++) {
		if (segments.list[i].last > base.sequence)
			break;
		code = prune_one(host, &segments.list[i], bytes, pruned.sequence, err);
		bytes -= segments.list[i].bytes;
	}
	return code;
}

void audit_archive_tick(struct host *host)
{
	struct auditor *auditor = &host->auditor;
	const uint64_t now = clock_mono_ns();
	struct err err;
	int code;

	if (now - auditor->moved_ns < MOVE_NS)
		return;
	auditor->moved_ns = now;
	code = move(host, &err);
	if (code > 0 || (code == 0 && now - auditor->looked_ns >= LOOK_NS)) {
		auditor->looked_ns = now;
		code = prune(host, &err);
	}
	if (code < 0 && !auditor->is_stuck)
		log_line(LOG_ERROR, "the audit cannot be archived", "why=\"%s\"", err.text);
	auditor->is_stuck = code < 0;
}
