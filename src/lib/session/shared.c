/*
 * shared.c - data shared by the handles of one session.
 *
 * Runs in:  libreckon, in several threads.
 * Reads:    the workspace (through workspace/workspace.h), the warden's replies.
 * Never:    calls a callback while it holds a lock.
 */
#include "lib/session/shared.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "base/mem.h"

#define DOOR_TIMEOUT_MS 10000
#define BUSY_TIMEOUT_MS 10000

struct shared {
	pthread_mutex_t lock;
	unsigned refs;
	uint64_t sequence;
	uint64_t changes;
	struct workspace *files; /* result of the last scan */
	struct manifest *manifest;	 /* or NULL */
	unsigned executing;
	struct apart apart;
	unsigned steps; /* number of unfinished changes */
	bool is_leased;
	bool is_lost;
	struct err why_lost;
	pthread_mutex_t door_lock;
	struct client *door; /* connection for requests; or NULL */
};

struct shared *shared_new(void)
{
	struct shared *shared = mem_new0(1, sizeof(*shared));

	(void)pthread_mutex_init(&shared->lock, NULL);
	(void)pthread_mutex_init(&shared->door_lock, NULL);
	shared->refs = 1;
	return shared;
}

struct shared *shared_ref(struct shared *shared)
{
	(void)pthread_mutex_lock(&shared->lock);
	shared->refs++;
	(void)pthread_mutex_unlock(&shared->lock);
	return shared;
}

void shared_unref(struct shared *shared)
{
	unsigned left;

	if (shared == NULL)
		return;
	(void)pthread_mutex_lock(&shared->lock);
	left = --shared->refs;
	(void)pthread_mutex_unlock(&shared->lock);
	if (left > 0)
		return;
	client_unref(shared->door);
	workspace_free(shared->files);
	persist_free(shared->manifest);
	free(shared->apart.inodes);
	(void)pthread_mutex_destroy(&shared->door_lock);
	(void)pthread_mutex_destroy(&shared->lock);
	free(shared);
}

/* Adds `step` to a number and returns the sum. */
static uint64_t count(struct shared *shared, uint64_t *number, uint64_t step)
{
	uint64_t now;

	(void)pthread_mutex_lock(&shared->lock);
	now = *number += step;
	(void)pthread_mutex_unlock(&shared->lock);
	return now;
}

uint64_t shared_next_sequence(struct shared *shared)
{
	return count(shared, &shared->sequence, 1);
}

uint64_t shared_sequence(struct shared *shared)
{
	return count(shared, &shared->sequence, 0);
}

void shared_set_sequence(struct shared *shared, uint64_t sequence)
{
	(void)count(shared, &shared->sequence, sequence - shared_sequence(shared));
}

uint64_t shared_changes(struct shared *shared)
{
	return count(shared, &shared->changes, 0);
}

uint64_t shared_note_change(struct shared *shared)
{
	return count(shared, &shared->changes, 1);
}

int shared_look(struct shared *shared, int workspace, struct err *err)
{
	return shared_collect(shared, workspace, NULL, NULL, err);
}

int shared_collect(struct shared *shared, int workspace, struct store *store,
		   struct record *record, struct err *err)
{
	struct workspace *now;
	int code;

	(void)pthread_mutex_lock(&shared->lock);
	code = workspace_scan(workspace, &shared->apart, &now, err);
	if (code == 0) {
		if (shared->manifest != NULL)
			persist_annotate(shared->manifest, now);
		if (record != NULL)
			workspace_collect(workspace, shared->files, now, store, record);
		workspace_free(shared->files);
		shared->files = now;
	}
	(void)pthread_mutex_unlock(&shared->lock);
	return code;
}

void shared_begin(struct shared *shared)
{
	(void)pthread_mutex_lock(&shared->lock);
	shared->executing++;
	(void)pthread_mutex_unlock(&shared->lock);
}

void shared_end(struct shared *shared)
{
	(void)pthread_mutex_lock(&shared->lock);
	shared->executing--;
	(void)pthread_mutex_unlock(&shared->lock);
}

/* Call with the lock held. */
static void look_at(struct shared *shared, int workspace, const struct part *part)
{
	struct workspace *now;
	struct err ignored;

	if (workspace_scan(workspace, &shared->apart, &now, &ignored) < 0)
		return;
	if (part != NULL)
		part_of_scan(part, shared->files, now);
	workspace_free(shared->files);
	shared->files = now;
}

void shared_changed(struct shared *shared, int workspace, struct store *store,
		    const struct persist_bounds *bounds, const struct part *part)
{
	struct persist_look look = { .part = part };
	struct err ignored; /* failures are reported with the changes */

	(void)pthread_mutex_lock(&shared->lock);
	shared->changes++;
	if (shared->executing == 0)
		look.part = NULL;
	look.apart = &shared->apart;
	if (shared->manifest != NULL)
		(void)persist_run(shared->manifest, workspace, store, bounds, &look, &ignored);
	look_at(shared, workspace, look.part);
	(void)pthread_mutex_unlock(&shared->lock);
}

/* ---- hidden folders ------------------------------------------------------------------------- */

static int hide(struct shared *shared, int workspace, const char *name, int *ret_fd,
		uint64_t *ret_inode, struct err *err)
{
	struct apart *apart = &shared->apart;
	struct stat st;

	/* Mode 0700; if we are root, owned by root: the box can rename it, but not open it. */
	if (mkdirat(workspace, name, 0700) < 0)
		return err_sys(err, "make a directory in the workspace");
	if (fs_open_dir_beneath(workspace, name, ret_fd, err) < 0)
		return err_wrap(err, "a directory in the workspace");
	/* A fast box may have replaced it by its own directory. */
	if (fstat(*ret_fd, &st) < 0 || st.st_uid != geteuid()) {
		(void)err_set(err, ERR_DENIED, "the workspace changed while it was used");
		(void)close(*ret_fd);
		*ret_fd = -1;
		return (int)err->code;
	}
	apart->inodes = mem_grow(apart->inodes, apart->count + 1, sizeof(*apart->inodes));
	apart->inodes[apart->count++] = *ret_inode = st.st_ino;
	return 0;
}

int shared_hide(struct shared *shared, int workspace, const char *name, int *ret_fd,
		uint64_t *ret_inode, struct err *err)
{
	int code;

	/* Hold the lock, because a scan between the two steps would see the folder. */
	(void)pthread_mutex_lock(&shared->lock);
	code = hide(shared, workspace, name, ret_fd, ret_inode, err);
	(void)pthread_mutex_unlock(&shared->lock);
	return code;
}

void shared_unhide(struct shared *shared, int workspace, const char *name, uint64_t inode)
{
	struct apart *apart = &shared->apart;

	(void)pthread_mutex_lock(&shared->lock);
	(void)unlinkat(workspace, name, AT_REMOVEDIR);
	for (size_t i = 0; i < apart->count; i++)
		if (apart->inodes[i] == inode) {
			apart->inodes[i] = apart->inodes[--apart->count];
			break;
		}
	(void)pthread_mutex_unlock(&shared->lock);
}

/* ---- loss of the box ------------------------------------------------------------------------ */

void shared_note_lost(struct shared *shared, const struct err *why)
{
	(void)pthread_mutex_lock(&shared->lock);
	if (!shared->is_lost)
		shared->why_lost = *why;
	shared->is_lost = true;
	(void)pthread_mutex_unlock(&shared->lock);
}

int shared_check(struct shared *shared, struct err *err)
{
	struct err why;
	bool is_dead = false;

	(void)pthread_mutex_lock(&shared->door_lock);
	if (shared->door != NULL) {
		client_dispatch(shared->door);
		is_dead = client_is_dead(shared->door, &why);
	}
	(void)pthread_mutex_unlock(&shared->door_lock);
	if (is_dead)
		shared_note_lost(shared, &why);
	(void)pthread_mutex_lock(&shared->lock);
	if (shared->is_lost)
		*err = shared->why_lost;
	is_dead = shared->is_lost;
	(void)pthread_mutex_unlock(&shared->lock);
	if (is_dead)
		err->code = ERR_LOST;
	return is_dead ? (int)err->code : 0;
}

void shared_keep_begin(struct shared *shared)
{
	if (shared->manifest == NULL)
		shared->manifest = persist_new();
}

bool shared_keeps(const struct shared *shared)
{
	return shared->manifest != NULL;
}

int shared_keep(struct shared *shared, int workspace, struct store *store,
		const struct persist_bounds *bounds, bool thorough,
		struct shared_unstored *ret_unstored, struct err *err)
{
	struct manifest *manifest = shared->manifest;
	int code;

	memset(ret_unstored, 0, sizeof(*ret_unstored));
	if (manifest == NULL)
		return 0;
	(void)pthread_mutex_lock(&shared->lock);
	code = persist_run(manifest, workspace, store, bounds,
			&(struct persist_look){ .thorough = thorough, .apart = &shared->apart },
			err);
	ret_unstored->count = manifest->unstored_count;
	memcpy(ret_unstored->why, manifest->why, sizeof(ret_unstored->why));
	(void)pthread_mutex_unlock(&shared->lock);
	return code;
}

void shared_keep_take(struct shared *shared, reckon_workspace **ret)
{
	(void)pthread_mutex_lock(&shared->lock);
	persist_take(shared->manifest, ret);
	(void)pthread_mutex_unlock(&shared->lock);
}

void shared_keep_forget(struct shared *shared)
{
	(void)pthread_mutex_lock(&shared->lock);
	if (shared->manifest != NULL)
		persist_forget(shared->manifest);
	(void)pthread_mutex_unlock(&shared->lock);
}

int shared_keep_restore(struct shared *shared, int workspace, struct store *store,
			const reckon_workspace *manifest, uid_t uid, gid_t gid,
			const struct persist_missing *missing, struct err *err)
{
	int code;

	(void)pthread_mutex_lock(&shared->lock);
	code = persist_restore(shared->manifest, workspace, store, manifest->entries,
			       manifest->count, uid, gid, missing, err);
	(void)pthread_mutex_unlock(&shared->lock);
	return code;
}

int shared_ask_door(struct client *client, uint32_t session, struct client_call *call,
		    struct err *err)
{
	struct warden_request request = { .type = WARDEN_DOOR, .session = session };

	return client_send(client, &request, NULL, 0, call, err);
}

/* Call with the door's lock held. */
static int take_door(struct shared *shared, struct client *client, struct client_call *call,
		     struct err *err)
{
	int code = client_wait(client, call, DOOR_TIMEOUT_MS, err);

	if (code == 0 && call->nfds != 1)
		code = err_set(err, ERR_PROTOCOL, "the warden gave no connection");
	if (code == 0)
		code = client_new_greeted(TAKE_FD(call->fds[0]), NULL, NULL, &shared->door, err);
	client_forget(client, call);
	return code;
}

int shared_take_door(struct shared *shared, struct client *client, struct client_call *call,
		     struct err *err)
{
	int code;

	(void)pthread_mutex_lock(&shared->door_lock);
	code = take_door(shared, client, call, err);
	(void)pthread_mutex_unlock(&shared->door_lock);
	return code;
}

static int open_door(struct shared *shared, struct client *client, uint32_t session,
		     struct err *err)
{
	struct client_call call;

	if (client == NULL)
		return err_set(err, ERR_INVALID, "the session is not open for other threads");
	if (shared_ask_door(client, session, &call, err) < 0)
		return (int)err->code;
	return take_door(shared, client, &call, err);
}

int shared_ask(struct shared *shared, struct client *client, uint32_t session,
	       struct warden_request *request, struct client_call *call, int timeout_ms,
	       struct err *err)
{
	return shared_ask_with(shared, client, session, request, NULL, 0, call, timeout_ms, err);
}

int shared_ask_with(struct shared *shared, struct client *client, uint32_t session,
		    struct warden_request *request, const int *fds, size_t nfds,
		    struct client_call *call, int timeout_ms, struct err *err)
{
	int code;

	(void)pthread_mutex_lock(&shared->door_lock);
	code = shared->door == NULL ? open_door(shared, client, session, err) : 0;
	if (code == 0)
		code = client_ask(shared->door, request, fds, nfds, call, timeout_ms, err);
	if (code == 0)
		client_detach(shared->door, call);
	(void)pthread_mutex_unlock(&shared->door_lock);
	return code;
}

/* ---- changes in several steps --------------------------------------------------------------- */

static int tell_busy(struct shared *shared, struct client *client, uint32_t session, bool is_busy,
		     struct err *err)
{
	struct warden_request request = { .type = WARDEN_BUSY, .session = session };
	struct client_call call;

	request.is_busy = is_busy;
	return shared_ask(shared, client, session, &request, &call, BUSY_TIMEOUT_MS, err);
}

int shared_steps_begin(struct shared *shared, struct client *client, uint32_t session,
		       bool *ret_is_reported, struct err *err)
{
	(void)pthread_mutex_lock(&shared->lock);
	shared->steps++;
	*ret_is_reported = shared->is_leased;
	(void)pthread_mutex_unlock(&shared->lock);
	if (!*ret_is_reported || tell_busy(shared, client, session, true, err) == 0)
		return 0;
	shared_steps_end(shared, client, session, false);
	return (int)err->code;
}

void shared_steps_end(struct shared *shared, struct client *client, uint32_t session,
		      bool is_reported)
{
	struct err ignored; /* on failure the box remains busy and cannot be adopted */

	if (is_reported)
		(void)tell_busy(shared, client, session, false, &ignored);
	(void)pthread_mutex_lock(&shared->lock);
	shared->steps--;
	(void)pthread_mutex_unlock(&shared->lock);
}

bool shared_may_lease(struct shared *shared)
{
	bool may;

	(void)pthread_mutex_lock(&shared->lock);
	may = shared->steps == 0;
	shared->is_leased = shared->is_leased || may;
	(void)pthread_mutex_unlock(&shared->lock);
	return may;
}
