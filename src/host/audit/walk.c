/*
 * walk.c - reads the whole audit: first the segments, then the table.
 *
 * Runs in:  reckond's loop; a process that opens a state directory offline.
 * Reads:    STATE/audit, the table of the audit.
 * Never:    reads a segment whose rows are still in the table.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/audit/segment.h"

#define DIGITS 20u

void audit_segments_done(struct audit_segments *segments)
{
	free(segments->list);
	*segments = (struct audit_segments){ .list = NULL };
}

static bool take_digits(const char *text, uint64_t *ret)
{
	char digits[DIGITS + 1];

	if (strspn(text, "0123456789") != DIGITS)
		return false;
	memcpy(digits, text, DIGITS);
	digits[DIGITS] = '\0';
	errno = 0;
	*ret = strtoull(digits, NULL, 10);
	return errno == 0 && *ret > 0;
}

/* Accepts only "FIRST-LAST.seg". */
static bool take_name(const char *name, struct audit_segment *ret)
{
	if (strlen(name) != 2 * DIGITS + 5 || name[DIGITS] != '-' ||
	    strcmp(name + 2 * DIGITS + 1, ".seg") != 0 || !take_digits(name, &ret->first) ||
	    !take_digits(name + DIGITS + 1, &ret->last) || ret->last < ret->first)
		return false;
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	return true;
}

static int by_first(const void *left, const void *right)
{
	const struct audit_segment *a = left, *b = right;

	return a->first < b->first ? -1 : a->first > b->first;
}

int audit_segments_list(int state_fd, struct audit_segments *ret, struct err *err)
{
	const int fd = openat(state_fd, AUDIT_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct audit_segment found = { .first = 0 };
	const struct dirent *entry;
	struct stat st;
	DIR *dir;

	*ret = (struct audit_segments){ .list = NULL };
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, "open %s", AUDIT_DIR);
	dir = fdopendir(fd);
	if (dir == NULL) {
		(void)err_sys(err, "read %s", AUDIT_DIR);
		(void)close(fd);
		return (int)err->code;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (!take_name(entry->d_name, &found) ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		found.bytes = (uint64_t)st.st_size;
		ret->list = mem_grow(ret->list, ret->count + 1, sizeof(*ret->list));
		ret->list[ret->count++] = found;
	}
	(void)closedir(dir);
	if (ret->count > 1)
		qsort(ret->list, ret->count, sizeof(*ret->list), by_first);
	return 0;
}

struct walk {
	audit_fn *fn;
	void *arg;
	unsigned left;
	bool is_bounded, is_over;
};

static int step(const struct audit_entry *entry, void *arg, struct err *err)
{
	struct walk *walk = arg;

	if (walk->is_over)
		return 0;
	if (walk->is_bounded && --walk->left == 0)
		walk->is_over = true;
	return walk->fn(entry, walk->arg, err);
}

int audit_walk(int state_fd, struct db *db, const unsigned char secret[32], uint64_t after,
	       unsigned limit, audit_fn *fn, void *arg, struct err *err)
{
	struct walk walk = { .fn = fn, .arg = arg, .left = limit, .is_bounded = limit > 0 };
	cleanup_segments struct audit_segments segments = { .list = NULL };
	struct audit_head base;

	/* Reads the database first: segments of rows that it counts as moved exist by then. */
	if (db_audit_base(db, &base, err) < 0 ||
	    (after < base.sequence && audit_segments_list(state_fd, &segments, err) < 0))
		return (int)err->code;
	for (size_t i = 0; i < segments.count && !walk.is_over; i++) {
		const struct audit_segment *segment = &segments.list[i];

		if (segment->last > after && segment->last <= base.sequence &&
		    audit_segment_read(state_fd, segment, secret, after, step, &walk, err) < 0)
			return (int)err->code;
	}
	if (walk.is_over)
		return 0;
	return db_audit_list(db, after, walk.left, fn, arg, err);
}

int audit_beginning(int state_fd, struct db *db, struct audit_head *ret, struct err *err)
{
	cleanup_segments struct audit_segments segments = { .list = NULL };
	struct audit_edges edges;
	struct audit_head base;

	if (db_audit_base(db, &base, err) < 0 ||
	    audit_segments_list(state_fd, &segments, err) < 0)
		return (int)err->code;
	if (segments.count == 0 || segments.list[0].last > base.sequence) {
		*ret = base;
		return 0;
	}
	if (audit_segment_edges(state_fd, &segments.list[0], &edges, err) < 0)
		return (int)err->code;
	*ret = edges.before;
	return 0;
}
