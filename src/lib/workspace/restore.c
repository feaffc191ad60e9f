/*
 * restore.c - restores a workspace from its manifest.
 *
 * Runs in:  libreckon, on a new box whose kernel has not run anything.
 * Reads:    objects of the store, whose hashes it verifies while it copies.
 * Never:    silently omits an entry of the manifest, or restores damaged content.
 */
#include "lib/store/persist.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "lib/record/text.h"

#define CHUNK (64u * 1024u)

struct restore {
	int dir_fd;
	struct store *store;
	uid_t uid;
	gid_t gid;
	const struct persist_missing *missing; /* NULL: fail at the first missing content */
};

static struct timespec to_timespec(int64_t ns)
{
	struct timespec at = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	if (at.tv_nsec < 0) {
		at.tv_nsec += 1000000000;
		at.tv_sec--;
	}
	return at;
}

static int lost(const char *path, struct err *err)
{
	cleanup_buf struct buf shown = BUF_INIT(TEXT_PATH_MAX);
	const int errnum = err->errnum;

	text_show_path(path, &shown);
	if (errnum == ENOSPC || errnum == EDQUOT) {
		(void)err_set(err, ERR_LIMIT,
			      "%.100s does not fit: the limits of the session are smaller than "
			      "what its workspace is to hold", buf_text(&shown));
		return err_remedy(err, "open the session with larger limits");
	}
	(void)err_wrap(err, "%.100s could not be restored", buf_text(&shown));
	err->errnum = errnum;
	return (int)err->code;
}

/* ---- deleting the template's files ------------------------------------------------------- */

static int clear_workspace(int dir_fd, struct err *err)
{
	struct persist_list there;

	if (persist_scan(dir_fd, NULL, UINT64_MAX, &there, err) < 0)
		return (int)err->code;
	err_clear(err);
	/* Delete the content of a directory before the directory: go backwards. */
	for (size_t i = there.count; i > 0 && err->code == ERR_OK; i--) {
		const struct persist_entry *entry = &there.entries[i - 1];
		cleanup_fd int parent = -1;
		const char *name;

		if (persist_open_parent(dir_fd, entry->path, &parent, &name, err) == 0 &&
		    unlinkat(parent, name,
			     entry->kind == RECKON_ENTRY_DIRECTORY ? AT_REMOVEDIR : 0) < 0)
			(void)err_sys(err, "empty the workspace");
	}
	persist_list_clear(&there);
	return (int)err->code;
}

/* ---- contents ------------------------------------------------------------------------------- */

/* Leaves zeros as holes, so that a sparse file needs no more space than before. */
static int write_chunk(int fd, const unsigned char *bytes, size_t len, uint64_t at,
		       struct err *err)
{
	for (size_t done = 0; done < len;) {
		size_t n = len - done < 4096 ? len - done : 4096;

		if (!mem_is_zero(bytes + done, n)) {
			if (lseek(fd, (off_t)(at + done), SEEK_SET) < 0)
				return err_sys(err, "seek");
			if (fd_write_full(fd, bytes + done, n, err) < 0)
				return (int)err->code;
		}
		done += n;
	}
	return 0;
}

static int copy_checked(int from, int to, const reckon_workspace_entry *entry, struct err *err)
{
	cleanup_free unsigned char *chunk = mem_new0(1, CHUNK);
	unsigned char digest[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state hash;
	char hex[STORE_SHA256_SIZE];
	uint64_t at = 0;

	(void)crypto_hash_sha256_init(&hash);
	for (;;) {
		const ssize_t n = fd_read_full(from, chunk, CHUNK, err);

		if (n < 0)
			return (int)err->code;
		if (n == 0)
			break;
		(void)crypto_hash_sha256_update(&hash, chunk, (size_t)n);
		if (write_chunk(to, chunk, (size_t)n, at, err) < 0)
			return (int)err->code;
		at += (uint64_t)n;
	}
	(void)crypto_hash_sha256_final(&hash, digest);
	(void)sodium_bin2hex(hex, sizeof(hex), digest, sizeof(digest));
	if (at != entry->size || strcmp(hex, entry->content) != 0)
		return err_set(err, ERR_LOST, "its content in the store is damaged");
	return ftruncate(to, (off_t)at) < 0 ? err_sys(err, "set its size") : 0;
}

/* Renames damaged content, so that it can be stored again. */
static int copy_content(struct restore *restore, const reckon_workspace_entry *entry, int to,
			struct err *err)
{
	cleanup_fd int from = -1;
	uint64_t size;

	if (store_open_sha256(restore->store, entry->content, &from, &size, err) < 0) {
		if (err->code != ERR_NOT_FOUND)
			return (int)err->code;
		return err_set(err, ERR_LOST, "its content %s",
			       store_has_damaged(restore->store, entry->content)
				       ? "in the store is damaged"
				       : "is missing in the store");
	}
	if (copy_checked(from, to, entry, err) < 0) {
		if (err->code == ERR_LOST)
			store_set_damaged(restore->store, entry->content);
		return (int)err->code;
	}
	return 0;
}

static int make_file(struct restore *restore, const reckon_workspace_entry *entry, int parent,
		     const char *name, struct err *err)
{
	cleanup_fd int to = -1;

	to = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return err_sys(err, "make it");
	if (copy_content(restore, entry, to, err) < 0) {
		(void)unlinkat(parent, name, 0);
		return (int)err->code;
	}
	if (restore->uid != (uid_t)-1 && fchown(to, restore->uid, restore->gid) < 0)
		return err_sys(err, "give it to the session");
	/* After chown(), which clears bits of the mode. */
	if (fchmod(to, entry->mode & 07777) < 0)
		return err_sys(err, "set its mode");
	return 0;
}

/* ---- one entry ------------------------------------------------------------------------------ */

static int give(const struct restore *restore, int parent, const char *name, struct err *err)
{
	if (restore->uid != (uid_t)-1 &&
	    fchownat(parent, name, restore->uid, restore->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, "give it to the session");
	return 0;
}

static int make_link(struct restore *restore, const reckon_workspace_entry *entry, int parent,
		     const char *name, struct err *err)
{
	cleanup_fd int first_parent = -1;
	const char *first;

	if (persist_open_parent(restore->dir_fd, entry->content, &first_parent, &first, err) < 0)
		return (int)err->code;
	if (linkat(first_parent, first, parent, name, 0) == 0)
		return 0;
	return errno == ENOENT ? err_set(err, ERR_LOST, "what it is linked to is missing")
			       : err_sys(err, "link it");
}

static int make_node(struct restore *restore, const reckon_workspace_entry *entry, int parent,
		     const char *name, struct err *err)
{
	int made = -1;

	if (entry->kind == RECKON_ENTRY_DIRECTORY)
		made = mkdirat(parent, name, 0700);
	else if (entry->kind == RECKON_ENTRY_SYMLINK)
		made = symlinkat(entry->content, parent, name);
	else if (entry->kind == RECKON_ENTRY_FIFO)
		made = mkfifoat(parent, name, 0600);
	else
		return err_set(err, ERR_INVALID, "nothing is known of kind %u", entry->kind);
	if (made < 0)
		return err_sys(err, "make it");
	if (give(restore, parent, name, err) < 0)
		return (int)err->code;
	if (entry->kind == RECKON_ENTRY_FIFO && fchmodat(parent, name, entry->mode & 07777, 0) < 0)
		return err_sys(err, "set its mode");
	return 0;
}

static int set_time(int parent, const char *name, int64_t mtime_ns, struct err *err)
{
	const struct timespec times[2] = { to_timespec(mtime_ns), to_timespec(mtime_ns) };

	if (utimensat(parent, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, "set its time");
	return 0;
}

static int make_entry(struct restore *restore, const reckon_workspace_entry *entry,
		      struct err *err)
{
	cleanup_fd int parent = -1;
	const char *name;
	int code;

	if (persist_open_parent(restore->dir_fd, entry->path, &parent, &name, err) < 0)
		return (int)err->code;
	if (entry->kind == RECKON_ENTRY_FILE)
		code = make_file(restore, entry, parent, name, err);
	else if (entry->kind == RECKON_ENTRY_HARD_LINK)
		code = make_link(restore, entry, parent, name, err);
	else
		code = make_node(restore, entry, parent, name, err);
	if (code < 0 || entry->kind == RECKON_ENTRY_DIRECTORY)
		return code;
	return set_time(parent, name, entry->mtime_ns, err);
}

/*
 * Call when its content is complete: creating entries changes a directory's time, and its mode may
 * forbid that.
 */
static int finish_directory(struct restore *restore, const reckon_workspace_entry *entry,
			    struct err *err)
{
	cleanup_fd int parent = -1;
	const char *name;

	if (persist_open_parent(restore->dir_fd, entry->path, &parent, &name, err) < 0)
		return (int)err->code;
	if (fchmodat(parent, name, entry->mode & 07777, 0) < 0)
		return err_sys(err, "set its mode");
	return set_time(parent, name, entry->mtime_ns, err);
}

/* ---- the interface -------------------------------------------------------------------------- */

/* Reports missing content and continues, if the caller wants that. */
static int tell_missing(const struct restore *restore, const char *path, struct err *err)
{
	cleanup_buf struct buf shown = BUF_INIT(TEXT_PATH_MAX);

	if (restore->missing == NULL || err->code != ERR_LOST)
		return lost(path, err);
	text_show_path(path, &shown);
	restore->missing->tell(buf_text(&shown), err->text, restore->missing->arg);
	err_clear(err);
	return 0;
}

/* Makes hard links last, because their target may be sorted after them. */
static int make_all(struct restore *restore, const reckon_workspace_entry *entries, size_t count,
		    struct err *err)
{
	for (size_t i = 0; i < count; i++)
		if (entries[i].kind != RECKON_ENTRY_NOT_KEPT &&
		    make_entry(restore, &entries[i], err) < 0 &&
		    tell_missing(restore, entries[i].path, err) < 0)
			return (int)err->code;
	for (size_t i = count; i > 0; i--)
		if (entries[i - 1].kind == RECKON_ENTRY_DIRECTORY &&
		    finish_directory(restore, &entries[i - 1], err) < 0)
			return lost(entries[i - 1].path, err);
	return 0;
}

/* Scans the new inodes and sets the hashes that were verified while copying. */
static int learn(struct manifest *manifest, int dir_fd, const reckon_workspace_entry *entries,
		 size_t count, struct err *err)
{
	size_t at = 0;

	persist_forget(manifest);
	if (persist_scan(dir_fd, NULL, UINT64_MAX, &manifest->list, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < manifest->list.count; i++) {
		struct persist_entry *entry = &manifest->list.entries[i];

		while (at < count && strcmp(entries[at].path, entry->path) < 0)
			at++;
		if (at < count && entry->kind == RECKON_ENTRY_FILE &&
		    entries[at].kind == RECKON_ENTRY_FILE &&
		    strcmp(entries[at].path, entry->path) == 0)
			(void)snprintf(entry->sha256, sizeof(entry->sha256), "%s",
				       entries[at].content);
	}
	/* Report everything next time: entries that were not stored do not exist any more. */
	return 0;
}

static int check(const reckon_workspace_entry *entries, size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		const bool needs = entries[i].kind == RECKON_ENTRY_FILE ||
				   entries[i].kind == RECKON_ENTRY_SYMLINK ||
				   entries[i].kind == RECKON_ENTRY_HARD_LINK;

		if (entries[i].path == NULL || entries[i].path[0] == '\0' ||
		    (needs && entries[i].content == NULL))
			return err_set(err, ERR_INVALID, "entry %zu of a manifest is not whole", i);
		if (i > 0 && strcmp(entries[i - 1].path, entries[i].path) >= 0)
			return err_set(err, ERR_INVALID, "a manifest is sorted by path");
	}
	return 0;
}

int persist_restore(struct manifest *manifest, int dir_fd, struct store *store,
		 const reckon_workspace_entry *entries, size_t count, uid_t uid, gid_t gid,
		 const struct persist_missing *missing, struct err *err)
{
	struct restore restore = {
		.dir_fd = dir_fd, .store = store, .uid = uid, .gid = gid, .missing = missing
	};

	if (check(entries, count, err) < 0 || clear_workspace(dir_fd, err) < 0 ||
	    make_all(&restore, entries, count, err) < 0)
		return (int)err->code;
	return learn(manifest, dir_fd, entries, count, err);
}
