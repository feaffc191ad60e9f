/*
 * watch.c - reports changes in a session's files, with inotify.
 *
 * Runs in:  libreckon.
 * Reads:    inotify events of folders with hostile content; names may be any bytes.
 * Never:    follows a link, watches more folders than the limit, or blocks.
 *
 * A watch belongs to a folder, not to its name: when a folder is renamed, the paths of folders
 * below it change, too (watch_tree.c).
 */
#include "lib/workspace/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "lib/api.h"
#include "lib/session/session.h"
#include "reckon_watch.h"

#define FOLDERS_DEFAULT 1024u
#define FOLDERS_MAX 65536u
#define QUEUE_MAX 4096u /* queued events: a folder that is moved in can have any number of files */

/* ---- queued events -------------------------------------------------------------------------- */

void watch_tell(struct reckon_watch *watch, enum reckon_watch_kind kind, const char *path,
		const char *from, bool is_folder)
{
	struct watch_event *event;

	if (watch->event_count >= QUEUE_MAX) {
		watch->has_dropped = true;
		return;
	}
	watch->event_count++;
	event = mem_new0(1, sizeof(*event));
	event->kind = kind;
	event->path = mem_strdup(path);
	event->from = from != NULL ? mem_strdup(from) : NULL;
	event->is_folder = is_folder;
	if (watch->last != NULL)
		watch->last->next = event;
	else
		watch->first = event;
	watch->last = event;
}

static void tell_overflow(struct reckon_watch *watch)
{
	watch->has_dropped = false;
	watch_tell(watch, RECKON_WATCH_OVERFLOW, "", NULL, true);
	if (watch->is_over)
		watch_tell(watch, RECKON_WATCH_END, "", NULL, true);
}

static void watch_event_free(struct watch_event *event)
{
	if (event == NULL)
		return;
	free(event->path);
	free(event->from);
	free(event);
}

static void replace_bytes(char *text)
{
	size_t left = text != NULL ? strlen(text) : 0;

	while (left > 0) {
		const size_t len = utf8_sequence(text, left);

		if (len == 0)
			*text = '?';
		text += len > 0 ? len : 1;
		left -= len > 0 ? len : 1;
	}
}

/* ---- events --------------------------------------------------------------------------------- */

/* A file that was moved away and did not arrive elsewhere counts as deleted. */
static void settle_move(struct reckon_watch *watch)
{
	if (watch->from == NULL)
		return;
	watch_tell(watch, RECKON_WATCH_REMOVE, watch->from, NULL, watch->from_is_folder);
	if (watch->from_is_folder)
		watch_tree_drop(watch, watch->from);
	free(watch->from);
	watch->from = NULL;
}

static void take_moved_to(struct reckon_watch *watch, const struct inotify_event *event,
			  const char *path, bool is_folder)
{
	if (watch->from != NULL && watch->cookie == event->cookie) {
		watch_tell(watch, RECKON_WATCH_RENAME, path, watch->from, is_folder);
		if (is_folder)
			watch_tree_rename(watch, watch->from, path);
		free(watch->from);
		watch->from = NULL;
		return;
	}
	watch_tell(watch, RECKON_WATCH_CREATE, path, NULL, is_folder);
	if (is_folder)
		watch_tree_add(watch, path, true);
}

static void take_named(struct reckon_watch *watch, const struct inotify_event *event,
		       const char *path)
{
	const bool is_folder = (event->mask & IN_ISDIR) != 0;

	if ((event->mask & IN_MOVED_FROM) != 0) {
		watch->from = mem_strdup(path);
		watch->from_is_folder = is_folder;
		watch->cookie = event->cookie;
	} else if ((event->mask & IN_MOVED_TO) != 0) {
		take_moved_to(watch, event, path, is_folder);
	} else if ((event->mask & IN_CREATE) != 0) {
		watch_tell(watch, RECKON_WATCH_CREATE, path, NULL, is_folder);
		if (is_folder)
			watch_tree_add(watch, path, true);
	} else if ((event->mask & IN_DELETE) != 0) {
		watch_tell(watch, RECKON_WATCH_REMOVE, path, NULL, is_folder);
	} else if ((event->mask & IN_MODIFY) != 0) {
		watch_tell(watch, RECKON_WATCH_WRITE, path, NULL, is_folder);
	} else if ((event->mask & IN_ATTRIB) != 0) {
		watch_tell(watch, RECKON_WATCH_ATTRIB, path, NULL, is_folder);
	}
}

/*
 * An event about a folder itself, which its parent's watch has already reported; only the root has
 * no parent.
 */
static void take_unnamed(struct reckon_watch *watch, const struct inotify_event *event,
			 const struct watch_folder *folder)
{
	const bool is_root = folder->path[0] == '\0';

	if ((event->mask & (IN_DELETE_SELF | IN_IGNORED)) == 0 &&
	    (!is_root || (event->mask & IN_MOVE_SELF) == 0))
		return;
	watch_tree_forget(watch, event->wd);
	if (is_root && !watch->is_over) {
		watch_tell(watch, RECKON_WATCH_END, "", NULL, true);
		watch->is_over = true;
	}
}

static void take_event(struct reckon_watch *watch, const struct inotify_event *event)
{
	const struct watch_folder *folder = watch_tree_find(watch, event->wd);
	cleanup_free char *path = NULL;

	if ((event->mask & IN_MOVED_TO) == 0 || watch->cookie != event->cookie)
		settle_move(watch);
	if ((event->mask & IN_Q_OVERFLOW) != 0) {
		watch_tell(watch, RECKON_WATCH_OVERFLOW, "", NULL, true);
		/* Folders may have been created meanwhile. */
		watch_tree_add(watch, "", false);
		return;
	}
	/* settle_move() may have dropped the folder. */
	folder = watch_tree_find(watch, event->wd);
	if (folder == NULL)
		return;
	if (event->len == 0) {
		take_unnamed(watch, event, folder);
		return;
	}
	path = watch_tree_path(folder->path, event->name);
	if (!watch_tree_is_hidden(watch, path))
		take_named(watch, event, path);
}

/* Handles one inotify event; false: there is none. */
static bool take_next(struct reckon_watch *watch)
{
	const struct inotify_event *event;

	if (watch->at == watch->len) {
		const ssize_t n = read(watch->fd, watch->buffer, sizeof(watch->buffer));

		watch->at = watch->len = 0;
		if (n <= 0) {
			settle_move(watch);
			return watch->first != NULL;
		}
		watch->len = (size_t)n;
	}
	event = (const struct inotify_event *)(const void *)(watch->buffer + watch->at);
	watch->at += sizeof(*event) + event->len;
	take_event(watch, event);
	return true;
}

/* ---- the interface -------------------------------------------------------------------------- */

int reckon_watch_next(reckon_watch *watch, reckon_watch_event *ret, reckon_error *err)
{
	struct watch_event *event;

	(void)api_ok(err);
	watch_event_free(watch->current);
	watch->current = NULL;
	while (watch->first == NULL) {
		if (watch->has_dropped)
			tell_overflow(watch);
		else if (watch->is_over || !take_next(watch))
			return 0;
	}
	watch->current = event = watch->first;
	watch->first = event->next;
	watch->event_count--;
	if (watch->first == NULL)
		watch->last = NULL;
	replace_bytes(event->path);
	replace_bytes(event->from);
	*ret = (reckon_watch_event){ .kind = event->kind,
				     .path = event->path,
				     .from = event->from,
				     .is_folder = event->is_folder };
	return 1;
}

int reckon_watch_fd(const reckon_watch *watch)
{
	return watch->fd;
}

void reckon_watch_close(reckon_watch *watch)
{
	if (watch == NULL)
		return;
	cleanup_fd_fn(&watch->fd);
	cleanup_fd_fn(&watch->workspace);
	free(watch->prefix);
	watch_event_free(watch->current);
	while (watch->first != NULL) {
		struct watch_event *event = watch->first;

		watch->first = event->next;
		watch_event_free(event);
	}
	watch_tree_done(watch);
	free(watch->from);
	free(watch);
}

static int find_folder(int workspace, const char *path, struct err *err)
{
	cleanup_fd int fd = -1;

	if (fs_open_dir_beneath(workspace, path, &fd, err) == 0)
		return 0;
	if (err->errnum == ENOENT || err->errnum == ENOTDIR || err->errnum == ELOOP)
		return err_set(err, ERR_NOT_FOUND, "there is no folder \"%.100s\"", path);
	return (int)err->code;
}

static int watch_open(const struct reckon_session *session, const reckon_watch_options *given,
		      struct reckon_watch *watch, struct err *err)
{
	reckon_watch_options options;
	const char *path;

	if (api_options("reckon_watch_options", &options, sizeof(options), given, err) < 0)
		return (int)err->code;
	path = options.path != NULL ? options.path : "";
	if (path[0] != '\0' && !fs_path_is_safe(path))
		return err_set(err, ERR_INVALID, "\"%.100s\" is not a path of the workspace", path);
	if (options.folders_max > FOLDERS_MAX)
		return err_set(err, ERR_INVALID, "folders_max is at most %u", FOLDERS_MAX);
	watch->folders_max = options.folders_max > 0 ? options.folders_max : FOLDERS_DEFAULT;
	watch->is_recursive = options.recursive != 0;
	watch->prefix = mem_strdup(path);
	if (find_folder(session->workspace, path, err) < 0)
		return (int)err->code;
	watch->workspace = fcntl(session->workspace, F_DUPFD_CLOEXEC, 3);
	if (watch->workspace < 0)
		return err_sys(err, "open the workspace");
	watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (watch->fd < 0 && errno == EMFILE) {
		(void)err_set(err, ERR_LIMIT, "this host has no more watches");
		return err_remedy(err,
				  "end one, or raise the sysctl fs.inotify.max_user_instances");
	}
	if (watch->fd < 0)
		return err_sys(err, "inotify");
	watch_tree_add(watch, "", false);
	if (watch->folder_count > 0)
		return 0;
	(void)err_set(err, ERR_LIMIT, "this host cannot watch one more folder");
	return err_remedy(err, "end a watch, or raise the sysctl fs.inotify.max_user_watches");
}

int reckon_watch_open(reckon_session *session, const reckon_watch_options *options,
		      reckon_watch **ret, reckon_error *err)
{
	struct reckon_watch *watch = mem_new0(1, sizeof(*watch));
	struct err inner;

	watch->fd = watch->workspace = -1;
	if (watch_open(session, options, watch, &inner) < 0) {
		reckon_watch_close(watch);
		return api_fail(err, &inner);
	}
	*ret = watch;
	return api_ok(err);
}
