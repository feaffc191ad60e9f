/*
 * watch_work.c - jobs about watched folders, in a thread of the pool.
 *
 * Runs in:  a thread of reckond's pool.
 * Reads:    its job and its watch; a hostile program may choose the names of files.
 * Never:    reads more than EVENTS_MAX events in one job, because other tenants' jobs wait.
 */
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_write.h"
#include "host/host.h"
#include "host/files/watch.h"

#define EVENTS_MAX 512u
#define EVENT_BYTES_MAX (64u * 1024u)

static const char *const names[] = {
	[RECKON_WATCH_CREATE] = "create",   [RECKON_WATCH_WRITE] = "write",
	[RECKON_WATCH_REMOVE] = "remove",   [RECKON_WATCH_RENAME] = "rename",
	[RECKON_WATCH_ATTRIB] = "attrib",   [RECKON_WATCH_OVERFLOW] = "overflow",
	[RECKON_WATCH_LIMIT] = "limit",	    [RECKON_WATCH_END] = "end",
};

static int write_event(const reckon_watch_event *event, struct buf *ret, struct err *err)
{
	const bool has_path =
		event->kind != RECKON_WATCH_OVERFLOW && event->kind != RECKON_WATCH_END;
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "event", names[event->kind]);
	if (has_path) {
		json_write_member_string(&json, "path", event->path);
		json_write_member_string(&json, "kind", event->is_folder != 0 ? "folder" : "file");
	}
	if (event->from != NULL)
		json_write_member_string(&json, "from", event->from);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

/* Whether the event equals the one before it: a program that writes causes one with each call. */
static bool is_same(const reckon_watch_event *event, const struct buf *text,
		    const struct buf *last)
{
	return (event->kind == RECKON_WATCH_WRITE || event->kind == RECKON_WATCH_ATTRIB) &&
	       text->len == last->len && memcmp(text->data, last->data, text->len) == 0;
}

static void read_events(struct watch *watch)
{
	cleanup_buf struct buf text = BUF_INIT(EVENT_BYTES_MAX), last = BUF_INIT(EVENT_BYTES_MAX);
	reckon_watch_event event;
	struct err err;

	watch->has_more = true;
	for (unsigned i = 0; i < EVENTS_MAX; i++) {
		struct buf swap = last;

		watch->has_more = reckon_watch_next(watch->handle, &event, NULL) > 0;
		if (!watch->has_more)
			break;
		buf_clear(&text);
		if (write_event(&event, &text, &err) < 0 || is_same(&event, &text, &last))
			continue;
		(void)event_buffer_push(watch->events, names[event.kind], buf_text(&text),
					text.len);
		atomic_fetch_add(&watch->pushed, 1);
		if (event.kind == RECKON_WATCH_LIMIT)
			atomic_store(&watch->is_limited, true);
		if (event.kind == RECKON_WATCH_END)
			atomic_store(&watch->has_ended, true);
		last = text;
		text = swap;
	}
}

void work_watch(struct job *job)
{
	struct watch *watch = job->watch;
	const reckon_watch_options options = {
		.size = sizeof(options),
		.path = watch->path[0] != '\0' ? watch->path : NULL,
		.recursive = watch->is_recursive,
	};

	if (watch->handle == NULL && file_queue_handle(job) != NULL)
		(void)reckon_watch_open(job->session->file_queue.handle, &options, &watch->handle,
					&job->error);
	if (watch->handle != NULL)
		read_events(watch);
}
