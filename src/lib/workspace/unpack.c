/*
 * unpack.c - extracts archives into a workspace: entries from a reckon-unarchiver become files.
 *
 * Runs in:  libreckon.
 * Reads:    frames of a process that parses hostile archives and is assumed to be compromised.
 * Never:    parses an archive, writes outside the target folder, or makes an incomplete result
 *           visible.
 *
 *   archive --reckon-unarchiver--> entries --checked (wire/unarchiver.c)--> a hidden folder
 *                                                                 |  when it is complete
 *                                                                 v
 *                              renames: one for each new name, one for each replaced file
 *
 * The hidden folder is ours alone while it is filled (as root), and is filled beneath its
 * descriptor, so that links of the archive or of the box lead nowhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/file/fs.h"
#include "base/file/tree.h"
#include "base/mem.h"
#include "base/text.h"
#include "lib/api.h"
#include "lib/workspace/files.h"
#include "lib/workspace/unarchiver.h"
#include "lib/store/store.h"

struct unpack {
	struct reckon_session *session;
	const char *folder; /* "" or a workspace path */
	struct hidden hidden;
	uint64_t entries, file_bytes;
	reckon_file_fn *on_replaced;
	void *arg;
	reckon_archive_info info;
	/* Paths that became visible, each with everything below it. */
	char **shown;
	size_t shown_count, shown_capacity;
};

/* ---- filling -------------------------------------------------------------------------------- */

static int begin_file(struct unpack *to, const struct unarchiver_frame *frame, int *ret_fd,
		      struct err *err)
{
	cleanup_fd int fd = -1, before = -1;
	struct err ignored;
	struct stat st;

	/*
	 * The last entry of a name counts. Delete the earlier file instead of writing to it,
	 * because it may have a hard link.
	 */
	if (fs_open_file_beneath(to->hidden.fd, frame->path, &before, &st, &ignored) == 0 &&
	    fs_remove_beneath(to->hidden.fd, frame->path, &ignored) == 0 && to->info.files > 0)
		to->info.files--;
	if (fs_create_beneath(to->hidden.fd, frame->path, files_uid(to->session),
			      files_gid(to->session), &fd, err) < 0)
		return (int)err->code;
	to->info.files++;
	to->file_bytes = 0;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int add_data(struct unpack *to, const struct unarchiver_frame *frame, int fd,
		    struct err *err)
{
	const reckon_limits *limits = &to->session->limits;

	to->info.bytes += frame->data_len;
	to->file_bytes += frame->data_len;
	if (to->info.bytes > limits->disk_bytes || to->file_bytes > limits->file_bytes) {
		(void)err_set(err, ERR_LIMIT,
			      "the archive holds more than the workspace may: %" PRIu64
			      " bytes, %" PRIu64 " in one file",
			      limits->disk_bytes, limits->file_bytes);
		return err_remedy(err, "open the session with larger limits, or put less in it");
	}
	return fd_write_full(fd, frame->data, frame->data_len, err);
}

/* Times that no file can have, which the box chose, are ignored. */
static void settle_file(const struct unarchiver_entry *entry, int fd)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { .tv_sec = (time_t)entry->mtime_s } };

	(void)fchmod(fd, (entry->mode & 0777u) | 0600u);
	(void)futimens(fd, times);
}

static int take_file(struct unpack *to, struct unarchiver *unarchiver, struct err *err)
{
	const struct unarchiver_entry entry = unarchiver->taken.entry;
	cleanup_fd int fd = -1;

	if (begin_file(to, &unarchiver->taken, &fd, err) < 0)
		return (int)err->code;
	do {
		if (unarchiver_next(unarchiver, err) < 0)
			return (int)err->code;
		if (unarchiver->taken.type == UNARCHIVER_DATA &&
		    add_data(to, &unarchiver->taken, fd, err) < 0)
			return (int)err->code;
	} while (unarchiver->taken.type == UNARCHIVER_DATA);
	settle_file(&entry, fd);
	return 0;
}

static int take_entry(struct unpack *to, struct unarchiver *unarchiver, struct err *err)
{
	const struct unarchiver_frame *frame = &unarchiver->taken;
	const uid_t uid = files_uid(to->session);
	const gid_t gid = files_gid(to->session);

	if (++to->entries > to->session->limits.inodes) {
		(void)err_set(err, ERR_LIMIT, "the archive holds more than %" PRIu64 " files",
			      to->session->limits.inodes);
		return err_remedy(err, "open the session with a larger limits.files");
	}
	switch ((enum unarchiver_kind)frame->entry.kind) {
	case UNARCHIVER_FILE:
		return take_file(to, unarchiver, err);
	case UNARCHIVER_FOLDER:
		to->info.folders++;
		return fs_mkdir_beneath(to->hidden.fd, frame->path, uid, gid, err);
	case UNARCHIVER_SYMLINK:
		to->info.links++;
		return fs_symlink_beneath(to->hidden.fd, frame->path, frame->target, uid, gid, err);
	case UNARCHIVER_HARDLINK:
		to->info.links++;
		return fs_link_beneath(to->hidden.fd, frame->target, frame->path, uid, gid, err);
	}
	return err_set(err, ERR_PROTOCOL, "an entry of no kind");
}

static int fill(struct unpack *to, int archive, struct err *err)
{
	cleanup_unarchiver struct unarchiver *unarchiver = NULL;

	if (unarchiver_new(archive, NULL, &unarchiver, err) < 0)
		return (int)err->code;
	for (;;) {
		if (unarchiver_next(unarchiver, err) < 0)
			return (int)err->code;
		if (unarchiver->taken.type == UNARCHIVER_END)
			break;
		if (take_entry(to, unarchiver, err) < 0) {
			if (err->code == ERR_SYSTEM)
				(void)files_full(to->session, "the archive", err);
			return err_wrap(err, "%.80s", unarchiver->taken.path);
		}
	}
	to->info.renamed = unarchiver->taken.end.renamed;
	return 0;
}

/* ---- making it visible ---------------------------------------------------------------------- */

/* Joins as "a/b", "b" or "a"; false: the path would be too long. */
static bool join(const char *above, const char *name, char ret[4096])
{
	const char *between = above[0] != '\0' && name[0] != '\0' ? "/" : "";

	return snprintf(ret, 4096, "%s%s%s", above, between, name) < 4096;
}

struct pair {
	struct stat from, there;
	bool is_there;
};

/* Looks up an existing entry of the name; a file and a folder cannot replace each other. */
static int compare(int from_fd, int there_fd, const char *name, const char *path, struct pair *ret,
		   struct err *err)
{
	if (fstatat(from_fd, name, &ret->from, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, "look at %.200s", path);
	ret->is_there = there_fd >= 0 &&
			fstatat(there_fd, name, &ret->there, AT_SYMLINK_NOFOLLOW) == 0;
	if (ret->is_there && S_ISDIR(ret->from.st_mode) != S_ISDIR(ret->there.st_mode)) {
		(void)err_set(err, ERR_DENIED,
			      "%.200s is %s in the workspace and %s in the archive", path,
			      S_ISDIR(ret->there.st_mode) ? "a folder" : "a file",
			      S_ISDIR(ret->from.st_mode) ? "a folder" : "a file");
		return err_remedy(err, "move or delete it first");
	}
	if (ret->is_there && !S_ISDIR(ret->from.st_mode) && S_ISLNK(ret->there.st_mode) &&
	    !S_ISLNK(ret->from.st_mode))
		return err_set(err, ERR_DENIED, "%.200s is a link in the workspace", path);
	return 0;
}

static int show(struct unpack *to, const char *below, bool apply, struct err *err);
static void note_shown(struct unpack *to, const char *path);

static int show_one(struct unpack *to, int from_fd, int there_fd, const char *below,
		    const char *name, bool apply, struct err *err)
{
	char relative[4096], path[4096];
	reckon_file_info old;
	struct pair pair;

	if (!join(below, name, relative) || !join(to->folder, relative, path))
		return err_set(err, ERR_LIMIT, "a path of the archive is too long");
	if (compare(from_fd, there_fd, name, path, &pair, err) < 0)
		return (int)err->code;
	if (pair.is_there && S_ISDIR(pair.from.st_mode))
		return show(to, relative, apply, err);
	if (!apply)
		return 0;
	if (pair.is_there) {
		files_keep(to->session, path, &old);
		to->info.replaced++;
		if (to->on_replaced != NULL)
			to->on_replaced(path, &old, to->arg);
	}
	if (renameat2(from_fd, name, there_fd, name, pair.is_there ? 0 : RENAME_NOREPLACE) < 0)
		return err_sys(err, "put %.200s in its place", path);
	note_shown(to, path);
	return 0;
}

static void note_shown(struct unpack *to, const char *path)
{
	if (to->shown_count == to->shown_capacity) {
		to->shown_capacity = to->shown_capacity > 0 ? to->shown_capacity * 2 : 16;
		to->shown = mem_grow(to->shown, to->shown_capacity, sizeof(*to->shown));
	}
	to->shown[to->shown_count++] = mem_strdup(path);
}

/*
 * Merges the extracted folder into the existing one; without `apply`, only checks whether that is
 * possible.
 */
static int show(struct unpack *to, const char *below, bool apply, struct err *err)
{
	cleanup_fd int from_fd = -1, there_fd = -1;
	cleanup_dir DIR *dir = NULL;
	const struct dirent *entry;
	char path[4096];

	if (!join(to->folder, below, path))
		return err_set(err, ERR_LIMIT, "a path of the archive is too long");
	if (fs_open_dir_beneath(to->hidden.fd, below, &from_fd, err) < 0)
		return (int)err->code;
	if (fs_open_dir_beneath(to->session->workspace, path, &there_fd, err) < 0 &&
	    (apply || err->errnum != ENOENT))
		return (int)err->code;
	dir = fdopendir(from_fd);
	if (dir == NULL)
		return err_sys(err, "read a directory");
	from_fd = -1; /* dir owns it now */
	while ((entry = readdir(dir)) != NULL) {
		if (text_is_dots(entry->d_name))
			continue;
		if (show_one(to, dirfd(dir), there_fd, below, entry->d_name, apply, err) < 0)
			return (int)err->code;
	}
	return 0;
}

/* ---- the interface -------------------------------------------------------------------------- */

/* Deletes the hidden folder first, so that the scan for files_note() does not see it. */
static void unpack_done(struct unpack *to)
{
	const struct part part = { .paths = (const char *const *)to->shown,
				   .count = to->shown_count };

	hidden_done(&to->hidden);
	files_note(to->session, &part);
	for (size_t i = 0; i < to->shown_count; i++)
		free(to->shown[i]);
	free(to->shown);
}

/* Stores the archive unchanged and then extracts it from the stored copy. */
static int keep_archive(struct unpack *to, int *archive, struct err *err)
{
	struct store *store = to->session->engine->store;
	struct store_object object;
	struct stat st;
	uint64_t size;
	int stored_fd;

	if (fstat(*archive, &st) < 0 || lseek(*archive, 0, SEEK_SET) < 0)
		return err_sys(err, "read the archive");
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "an archive must be a file");
	if ((uint64_t)st.st_size > WORKSPACE_FILE_MAX)
		return 0;
	if (store_put_fd(store, *archive, (uint64_t)st.st_size, &object, err) < 0 ||
	    store_open_object(store, object.id, &stored_fd, &size, err) < 0)
		return (int)err->code;
	(void)close(*archive);
	*archive = stored_fd;
	(void)snprintf(to->info.artifact, sizeof(to->info.artifact), "%s", object.id);
	return 0;
}

static int read_archive(struct reckon_session *session, const char *path, int source_fd,
			reckon_file_fn *on_replaced, void *arg, reckon_archive_info *ret,
			struct err *err)
{
	__attribute__((cleanup(unpack_done))) struct unpack to = {
		.session = session,
		.folder = path != NULL ? path : "",
		.hidden = HIDDEN_INIT,
		.on_replaced = on_replaced,
		.arg = arg,
	};
	cleanup_fd int archive = fcntl(source_fd, F_DUPFD_CLOEXEC, 0);

	if (archive < 0)
		return err_sys(err, "duplicate a descriptor");
	if (session_check_box(session, err) < 0)
		return (int)err->code;
	if (to.folder[0] != '\0' && !fs_path_is_safe(to.folder))
		return err_set(err, ERR_INVALID, "not a path inside the workspace: %.200s",
			       to.folder);
	if (keep_archive(&to, &archive, err) < 0 || hidden_make(session, &to.hidden, err) < 0 ||
	    fill(&to, archive, err) < 0 || show(&to, "", false, err) < 0)
		return (int)err->code;
	if (to.folder[0] != '\0' &&
	    fs_mkdir_beneath(session->workspace, to.folder, files_uid(session),
			     files_gid(session), err) < 0)
		return (int)err->code;
	if (to.folder[0] != '\0' && to.entries == 0)
		note_shown(&to, to.folder);
	if (show(&to, "", true, err) < 0)
		return (int)err->code;
	*ret = to.info;
	return 0;
}

int reckon_archive_read(reckon_session *session, const char *path, int source_fd,
			reckon_file_fn *on_replaced, void *arg, reckon_archive_info *ret,
			reckon_error *err)
{
	reckon_archive_info info;
	struct err inner;

	if (read_archive(session, path, source_fd, on_replaced, arg, &info, &inner) < 0)
		return api_fail(err, &inner);
	if (ret != NULL)
		*ret = info;
	return api_ok(err);
}
