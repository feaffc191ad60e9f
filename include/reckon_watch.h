/*
 * reckon_watch.h - libreckon: changes in a session's files, as they happen, seen from outside the box.
 *
 * As reckon.h, which has the rest.
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

/* Set `size` to sizeof(reckon_watch_options), and everything else to zero for defaults. */
typedef struct reckon_watch_options {
	size_t size;
	const char *path;     /* a folder, relative to the workspace; NULL: the workspace */
	int recursive;        /* folders below it as well, those of later included */
	unsigned folders_max; /* how many are watched at most; 0: 1024 */
} reckon_watch_options;

enum reckon_watch_kind {
	RECKON_WATCH_CREATE = 1, /* made, or moved here from where nobody watches */
	RECKON_WATCH_WRITE,      /* its content changed */
	RECKON_WATCH_REMOVE,     /* removed, or moved to where nobody watches */
	RECKON_WATCH_RENAME,     /* from `from` to `path` */
	RECKON_WATCH_ATTRIB,     /* mode, owner, times */
	RECKON_WATCH_OVERFLOW,   /* more happened than could be told: look for yourself */
	RECKON_WATCH_LIMIT,      /* more folders than folders_max: `path` and others are not watched */
	RECKON_WATCH_END         /* the folder is gone; nothing will come */
};

typedef struct reckon_watch_event {
	enum reckon_watch_kind kind;
	const char *path; /* relative to the watched folder; "" for the last three */
	const char *from; /* of a rename, else NULL */
	int is_folder;
} reckon_watch_event;

/*
 * RECKON_ENOT_FOUND: there is no such folder; RECKON_ELIMIT: this host has no more watches (sysctl
 * fs.inotify.max_user_instances). A watch is for one thread at a time, and for as long as the box of
 * its session is there.
 *
 * A folder made while it is watched is looked at, so what was put there before it could be watched is
 * told, at times twice. Each event is true when it is written down by the kernel, and perhaps no
 * longer when it is read.
 */
RECKON_PUBLIC int reckon_watch_open(reckon_session *session, const reckon_watch_options *options,
				    reckon_watch **ret, reckon_error *err);

/* Readable when there may be an event; to be polled, not read. */
RECKON_PUBLIC int reckon_watch_fd(const reckon_watch *watch);

/* 1: *ret is the next one, its texts live until the next call; 0: none now. Does not wait. Names that
 * are not text have '?' for what is none. */
RECKON_PUBLIC int reckon_watch_next(reckon_watch *watch, reckon_watch_event *ret, reckon_error *err);

RECKON_PUBLIC void reckon_watch_close(reckon_watch *watch); /* NULL is fine */

#ifdef __cplusplus
}
#endif

#endif
