/*
 * persist.c - updates a manifest: reads, stores and reports changed files.
 *
 * Runs in:  libreckon, after an execution and whenever the host changed the workspace.
 * Reads:    files of a hostile workspace, to hash and copy.
 * Never:    treats a file as unchanged if it may have changed in the same tick of the clock.
 */
#include "lib/store/persist.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "lib/workspace/part.h"
#include "lib/record/text.h"

#define TICKS_MAX 40 /* number of 1 ms waits for the clock that stamps files */

struct manifest *persist_new(void)
{
	return mem_new0(1, sizeof(struct manifest));
}

void persist_free(struct manifest *manifest)
{
	if (manifest == NULL)
		return;
	persist_list_clear(&manifest->list);
	persist_list_clear(&manifest->pending);
	free(manifest);
}

void persist_forget(struct manifest *manifest)
{
	persist_list_clear(&manifest->list);
	persist_list_clear(&manifest->pending);
	manifest->is_known = false;
}

/* ---- contents ------------------------------------------------------------------------------- */

struct pass {
	int dir_fd;
	struct store *store;
	uint64_t bytes_left;
	size_t unstored_count;
	char *why; /* member of struct manifest */
};

static void complain(struct pass *pass, struct persist_entry *entry, const char *why)
{
	cleanup_buf struct buf shown = BUF_INIT(TEXT_PATH_MAX);

	free(entry->target);
	entry->target = NULL;
	entry->kind = RECKON_ENTRY_NOT_KEPT;
	entry->sha256[0] = '\0';
	if (pass->unstored_count++ > 0)
		return;
	text_show_path(entry->path, &shown);
	(void)snprintf(pass->why, sizeof(((struct manifest *)NULL)->why), "%.60s: %.90s",
		       buf_text(&shown), why);
}

/*
 * Files are stamped with a clock that ticks every few milliseconds. After a tick, any later change
 * of a file that is read now gets another time stamp.
 */
static void wait_tick(int64_t newest_ns)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; i < TICKS_MAX; i++) {
		struct timespec now;

		(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
		if (clock_stamp_ns(now) > newest_ns)
			return;
		(void)nanosleep(&pause, NULL);
	}
}

static int put(struct pass *pass, struct persist_entry *entry, struct err *err)
{
	cleanup_fd int fd = fs_open_beneath(pass->dir_fd, entry->path,
					    O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	struct store_object object;
	struct stat before, after;

	if (fd < 0 || fstat(fd, &before) < 0)
		return err_sys(err, "open");
	if (!S_ISREG(before.st_mode))
		return err_set(err, ERR_INVALID, "it is not a regular file any more");
	if ((uint64_t)before.st_size > pass->bytes_left)
		return err_set(err, ERR_LIMIT, "the files together are larger than the workspace "
					       "may be");
	if (store_put_fd(pass->store, fd, (uint64_t)before.st_size, &object, err) < 0)
		return (int)err->code;
	entry->size = object.size;
	entry->mode = before.st_mode & 07777;
	entry->ino = before.st_ino;
	entry->mtime_ns = clock_stamp_ns(before.st_mtim);
	entry->ctime_ns = clock_stamp_ns(before.st_ctim);
	memcpy(entry->sha256, object.sha256, sizeof(entry->sha256));
	/* The file changed while it was read, so the copy may mix old and new content. It is still
	 * the latest available, and the file is read again next time. */
	entry->is_unsure = fstat(fd, &after) < 0 || object.size != (uint64_t)before.st_size ||
			   after.st_ctim.tv_sec != before.st_ctim.tv_sec ||
			   after.st_ctim.tv_nsec != before.st_ctim.tv_nsec;
	return 0;
}

static void keep_content(struct pass *pass, struct persist_entry *entry)
{
	struct err err;

	if (entry->size > pass->bytes_left)
		complain(pass, entry, "the files together are larger than the workspace may be");
	else if (entry->sha256[0] == '\0' && put(pass, entry, &err) < 0)
		complain(pass, entry, err.text);
	if (entry->kind == RECKON_ENTRY_FILE)
		pass->bytes_left -= entry->size < pass->bytes_left ? entry->size : pass->bytes_left;
}

/* Copies the hashes of unchanged files; returns the newest time stamp of a changed file. */
static int64_t take_over(const struct persist_list *old, struct persist_list *new, bool thorough)
{
	int64_t newest = 0;

	for (size_t i = 0; i < new->count; i++) {
		struct persist_entry *entry = &new->entries[i];
		const struct persist_entry *was;

		if (entry->kind != RECKON_ENTRY_FILE)
			continue;
		was = thorough ? NULL : persist_list_find(old, entry->path);
		if (was != NULL && was->kind == RECKON_ENTRY_FILE && !was->is_unsure &&
		    persist_is_same(was, entry))
			memcpy(entry->sha256, was->sha256, sizeof(entry->sha256));
		else if (entry->ctime_ns > newest)
			newest = entry->ctime_ns;
	}
	return newest;
}

/* ---- comparing ------------------------------------------------------------------------------ */

static bool is_equal(const struct persist_entry *left, const struct persist_entry *right)
{
	const char *a = left->target != NULL ? left->target : "";
	const char *b = right->target != NULL ? right->target : "";

	return left->kind == right->kind && left->mode == right->mode &&
	       left->mtime_ns == right->mtime_ns && left->size == right->size &&
	       strcmp(left->sha256, right->sha256) == 0 && strcmp(a, b) == 0;
}

static void tell(struct manifest *manifest, const struct persist_entry *entry, bool is_gone)
{
	struct persist_entry *change = persist_list_add(&manifest->pending);

	*change = *entry;
	change->path = mem_strdup(entry->path);
	change->target = entry->target != NULL ? mem_strdup(entry->target) : NULL;
	if (is_gone)
		change->kind = RECKON_ENTRY_GONE;
}

static void differ(struct manifest *manifest, const struct persist_list *new)
{
	const struct persist_list *old = &manifest->list;
	size_t i = 0, j = 0;

	while (i < old->count || j < new->count) {
		const int order = i >= old->count ? 1 :
				  j >= new->count ? -1 :
				  strcmp(old->entries[i].path, new->entries[j].path);

		if (order < 0) {
			tell(manifest, &old->entries[i++], true);
			continue;
		}
		if (order > 0 || !is_equal(&old->entries[i], &new->entries[j]))
			tell(manifest, &new->entries[j], false);
		i += order == 0;
		j++;
	}
}

static void count_unstored(struct manifest *manifest, const struct persist_list *new,
			   const struct pass *pass)
{
	manifest->unstored_count = new->unseen;
	for (size_t i = 0; i < new->count; i++)
		manifest->unstored_count += new->entries[i].kind == RECKON_ENTRY_NOT_KEPT;
	if (manifest->unstored_count > 0 && pass->unstored_count == 0)
		(void)snprintf(manifest->why, sizeof(manifest->why),
			       "%zu names could not be looked at, or "
			       "are more than a workspace may have",
			       manifest->unstored_count);
}

int persist_run(struct manifest *manifest, int dir_fd, struct store *store,
	     const struct persist_bounds *bounds, const struct persist_look *look, struct err *err)
{
	struct pass pass = { .dir_fd = dir_fd,
			     .store = store,
			     .bytes_left = bounds->bytes,
			     .why = manifest->why };
	struct persist_list now;
	int64_t newest;

	if (persist_scan(dir_fd, look->apart, bounds->entries, &now, err) < 0)
		return (int)err->code;
	if (look->part != NULL && manifest->is_known)
		(void)part_of_list(look->part, &manifest->list, &now);
	newest = take_over(&manifest->list, &now, look->thorough);
	if (newest > 0)
		wait_tick(newest);
	store_batch_begin(store);
	for (size_t i = 0; i < now.count; i++)
		if (now.entries[i].kind == RECKON_ENTRY_FILE)
			keep_content(&pass, &now.entries[i]);
	if (store_batch_commit(store, err) < 0 || store_sync(store, err) < 0) {
		persist_list_clear(&now);
		return (int)err->code;
	}
	count_unstored(manifest, &now, &pass);
	if (!manifest->is_known) {
		persist_list_clear(&manifest->list);
		persist_list_clear(&manifest->pending);
		manifest->is_whole = true;
	}
	differ(manifest, &now);
	manifest->is_known = true;
	persist_list_clear(&manifest->list);
	manifest->list = now;
	return 0;
}

/* ---- taking the changes --------------------------------------------------------------------- */

void persist_take(struct manifest *manifest, reckon_workspace **ret)
{
	reckon_workspace *taken = mem_new0(1, sizeof(*taken));
	reckon_workspace_entry *entries =
		mem_new0(manifest->pending.count + 1, sizeof(*taken->entries));

	for (size_t i = 0; i < manifest->pending.count; i++) {
		struct persist_entry *from = &manifest->pending.entries[i];

		/* Move the strings; the list keeps NULL. */
		entries[i] = (reckon_workspace_entry){ .path = from->path,
						       .content = from->target,
						       .kind = from->kind,
						       .mode = from->mode,
						       .mtime_ns = from->mtime_ns,
						       .size = from->size };
		from->path = from->target = NULL;
		if (from->kind == RECKON_ENTRY_FILE)
			entries[i].content = mem_strdup(from->sha256);
	}
	taken->entries = entries;
	taken->count = manifest->pending.count;
	taken->is_whole = manifest->is_whole;
	taken->not_kept = manifest->unstored_count;
	taken->number = ++manifest->taken;
	(void)snprintf(taken->why, sizeof(taken->why), "%s",
		       manifest->unstored_count > 0 ? manifest->why : "");
	persist_list_clear(&manifest->pending);
	manifest->is_whole = false;
	*ret = taken;
}

void persist_annotate(const struct manifest *manifest, struct workspace *scan)
{
	for (size_t i = 0; i < scan->count; i++) {
		struct workspace_entry *entry = &scan->entries[i];
		const struct persist_entry *known;

		if (entry->kind != WORKSPACE_FILE)
			continue;
		known = persist_list_find(&manifest->list, entry->path);
		if (known != NULL && known->kind == RECKON_ENTRY_FILE && !known->is_unsure &&
		    known->ino == entry->ino && known->size == entry->size &&
		    known->mtime_ns == entry->mtime_ns && known->ctime_ns == entry->ctime_ns)
			entry->sha256 = known->sha256;
	}
}
