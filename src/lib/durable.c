/*
 * durable.c - sessions that outlive their box: ids that return, workspaces kept and made again.
 *
 * Runs in:  libreckon.
 * Reads:    what the caller kept in its database; workspaces through keep.h.
 * Never:    says that something is kept before it is on the disk.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/api.h"
#include "lib/session.h"

#define ID_LENGTH 29u /* "se_" and 26 characters */

static int take_id(struct reckon_session *session, const char *id, struct err *err)
{
	const size_t len = strlen(id);

	if (len != ID_LENGTH || strncmp(id, "se_", 3) != 0 ||
	    strspn(id + 3, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != len - 3)
		return err_set(err, ERR_INVALID, "\"%.60s\" is not the id of a session", id);
	memcpy(session->id, id, len + 1);
	return 0;
}

int durable_begin(struct reckon_session *session, const reckon_session_options *options,
		  struct err *err)
{
	if (options->session_id != NULL && take_id(session, options->session_id, err) < 0)
		return (int)err->code;
	session->sequence = options->sequence;
	if (options->lost_why != NULL) {
		(void)err_set(&session->why_lost_before, ERR_LOST, "%s", options->lost_why);
		session->had_variables = true;
	}
	if (options->lost_variables != NULL)
		session->lost_variables = mem_strdup(options->lost_variables);
	if ((options->flags & RECKON_SESSION_KEEP_RELAXED) != 0)
		store_relax(session->engine->store);
	if ((options->flags & RECKON_SESSION_KEEP) != 0)
		session->keep = keep_new();
	return 0;
}

void durable_done(struct reckon_session *session)
{
	keep_free(session->keep);
	free(session->lost_variables);
}

int durable_keep(struct reckon_session *session, bool thorough, struct err *err)
{
	/* A block more: what a file system rounds up is not the program's doing. */
	const struct keep_bounds bounds = { .bytes = session->limits.disk_bytes + (1u << 20),
					    .entries = session->limits.inodes };

	if (session->keep == NULL)
		return 0;
	return keep_run(session->keep, session->workspace, session->engine->store, &bounds,
			thorough, err);
}

const char *reckon_session_template(const reckon_session *session)
{
	return session->template_name;
}

static int needs_keep(const struct reckon_session *session, struct err *err)
{
	if (session->keep == NULL)
		return err_set(err, ERR_INVALID, "the session was opened without "
						 "RECKON_SESSION_KEEP");
	return engine_check_idle(session->engine, err);
}

int reckon_workspace_take(reckon_session *session, reckon_workspace **ret, reckon_error *err)
{
	struct err inner;

	if (needs_keep(session, &inner) < 0)
		return api_fail(err, &inner);
	keep_take(session->keep, ret);
	if (session->known.len > 0)
		(*ret)->variables = mem_strdup(buf_text(&session->known));
	return api_ok(err);
}

void reckon_workspace_free(reckon_workspace *workspace)
{
	if (workspace == NULL)
		return;
	for (size_t i = 0; i < workspace->count; i++) {
		free(workspace->entries[i].path);
		free(workspace->entries[i].content);
	}
	free(workspace->entries);
	free(workspace->variables);
	free(workspace);
}

void reckon_workspace_forget(reckon_session *session)
{
	if (session->keep != NULL)
		keep_forget(session->keep);
}

int reckon_workspace_keep(reckon_session *session, int thorough, reckon_error *err)
{
	struct err inner;

	if (needs_keep(session, &inner) < 0 ||
	    durable_keep(session, thorough != 0, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

static int restore(struct reckon_session *session, const reckon_workspace_entry *entries,
		   size_t count, struct err *err)
{
	const bool give = geteuid() == 0;
	struct workspace *now;

	if (needs_keep(session, err) < 0 || session_check(session, err) < 0 ||
	    keep_restore(session->keep, session->workspace, session->engine->store, entries, count,
			 give ? session->host_uid : (uid_t)-1,
			 give ? session->host_gid : (gid_t)-1, err) < 0 ||
	    workspace_scan(session->workspace, &now, err) < 0)
		return (int)err->code;
	workspace_free(session->files);
	session->files = now;
	return 0;
}

int reckon_workspace_restore(reckon_session *session, const reckon_workspace_entry *entries,
			     size_t count, reckon_error *err)
{
	struct err inner;

	if (restore(session, entries, count, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

int reckon_store_collect(reckon_engine *engine, unsigned directory, uint64_t age_s,
			 reckon_needed_fn *is_needed, void *arg, reckon_collected *add,
			 reckon_error *err)
{
	struct err inner;

	if (store_collect(engine->store, directory, age_s, is_needed, arg, add, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}
