/*
 * reckon_watch.h - libreckon: watches a session's files for changes, from outside the box.
 *
 * An addition to reckon.h, with the same rules.
 *
 *   reckon_watch_options how = { sizeof(how), "data", 1 };      reckon_watch *watch;
 *   reckon_watch_open(session, &how, &watch, &err);
 *   poll() reckon_watch_fd(watch); while (reckon_watch_next(watch, &event, &err) > 0) …
 *   reckon_watch_close(watch);
 */
#ifndef RECKON_WATCH_H
#define RECKON_WATCH_H

#include "reckon.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reckon_watch reckon_watch;

/* Set `size` to sizeof(reckon_watch_options) and everything else to zero for defaults. */
typedef struct reckon_watch_options {
	size_t size;
	const char *path;     /* a folder, relative to the workspace; NULL: the workspace */
	int recursive;        /* also all folders below it, including new ones */
	unsigned folders_max; /* maximum of watched folders; 0: 1024 */
} reckon_watch_options;

enum reckon_watch_kind {
	RECKON_WATCH_CREATE = 1, /* created, or moved here from a folder that is not watched */
	RECKON_WATCH_WRITE,      /* its content changed */
	RECKON_WATCH_REMOVE,     /* deleted, or moved to a folder that is not watched */
	RECKON_WATCH_RENAME,     /* from `from` to `path` */
	RECKON_WATCH_ATTRIB,     /* mode, owner, times */
	RECKON_WATCH_OVERFLOW,   /* events were lost: list the folder */
	RECKON_WATCH_LIMIT, /* more folders than folders_max: `path` and others are not watched */
	RECKON_WATCH_END         /* the folder is gone; no more events follow */
};

typedef struct reckon_watch_event {
	enum reckon_watch_kind kind;
	const char *path; /* relative to the watched folder; "" for the last three */
	const char *from; /* for a rename, else NULL */
	int is_folder;
} reckon_watch_event;

/*
 * RECKON_ENOT_FOUND: the folder does not exist; RECKON_ELIMIT: this host has no more watches
 * (sysctl fs.inotify.max_user_instances). Use a watch in one thread at a time; it works as long as
 * the session's box exists.
 *
 * A folder created below a watched one is listed when its watch begins, so files created before
 * that are reported, sometimes twice. An event describes the state when the kernel recorded it,
 * which may have changed when you read it.
 */
RECKON_PUBLIC int reckon_watch_open(reckon_session *session, const reckon_watch_options *options,
				    reckon_watch **ret, reckon_error *err);

/* Readable when there may be an event; for poll(), do not read it. */
RECKON_PUBLIC int reckon_watch_fd(const reckon_watch *watch);

/* 1: *ret is the next event, whose strings are valid until the next call; 0: none now. Does not
 * wait. Invalid bytes in names are replaced by '?'. */
RECKON_PUBLIC int reckon_watch_next(reckon_watch *watch, reckon_watch_event *ret, reckon_error *err);

RECKON_PUBLIC void reckon_watch_close(reckon_watch *watch); /* NULL is fine */

#ifdef __cplusplus
}
#endif

#endif
