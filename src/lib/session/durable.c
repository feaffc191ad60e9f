/*
 * durable.c - sessions that outlive their box: reusing ids, storing and restoring workspaces.
 *
 * Runs in:  libreckon.
 * Reads:    data from the caller's database; workspaces through store/persist.h.
 * Never:    reports data as stored before it is on disk.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_read.h"
#include "codec/json_write.h"
#include "lib/api.h"
#include "lib/session/session.h"

#define NAMES_MAX (256u * 1024u)
#define ID_CHARACTERS 26u

/* Checks an id such as "se_…" or "ctx_…". */
static int take_id(char ret[ID_SIZE], const char *id, const char *prefix, struct err *err)
{
	const size_t len = strlen(id), before = strlen(prefix);

	if (len != before + ID_CHARACTERS || strncmp(id, prefix, before) != 0 ||
	    strspn(id + before, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") != ID_CHARACTERS)
		return err_set(err, ERR_INVALID, "\"%.60s\" is not an id that begins with %s", id,
			       prefix);
	memcpy(ret, id, len + 1);
	return 0;
}

/* Parses the names of variables in the form of reckon_workspace. */
static int take_names(struct known *known, const char *json, struct err *err)
{
	struct json_value *document = NULL;
	const struct json_value *value;

	if (json_read_parse(json, strlen(json), NAMES_MAX, &document, err) < 0)
		return err_wrap(err, "lost_variables");
	for (size_t i = 0; (value = json_read_at(document, i)) != NULL; i++) {
		size_t len = 0;
		const char *name = json_read_text(value, &len);

		if (name != NULL)
			known_add(known, name, len);
	}
	json_read_free(document);
	return 0;
}

static int take_loss(struct reckon_session *session, const char *why, const char *variables,
		     struct err *err)
{
	if (why != NULL) {
		(void)err_set(&session->loss.why, ERR_KERNEL_LOST, "%s", why);
		session->loss.is_unreported = true;
	}
	return variables != NULL ? take_names(&session->loss.names, variables, err) : 0;
}

int durable_known(struct reckon_session *session, const char *variables, struct err *err)
{
	return variables != NULL ? take_names(&session->known, variables, err) : 0;
}

int durable_context(struct reckon_session *context, const reckon_context_options *options,
		    struct err *err)
{
	if (options->context_id != NULL &&
	    take_id(context->context, options->context_id, "ctx_", err) < 0)
		return (int)err->code;
	return take_loss(context, options->lost_why, options->lost_variables, err);
}

int durable_begin(struct reckon_session *session, const reckon_session_options *options,
		  struct err *err)
{
	if (options->session_id != NULL &&
	    take_id(session->id, options->session_id, "se_", err) < 0)
		return (int)err->code;
	if (options->sequence > 0)
		shared_set_sequence(session->shared, options->sequence);
	if (take_loss(session, options->lost_why, options->lost_variables, err) < 0)
		return (int)err->code;
	if ((options->flags & RECKON_SESSION_KEEP_RELAXED) != 0)
		store_relax(session->engine->store);
	if ((options->flags & RECKON_SESSION_KEEP) != 0)
		shared_keep_begin(session->shared);
	return 0;
}

struct persist_bounds durable_bounds(const struct reckon_session *session)
{
	/* One block more, because file systems round sizes up. */
	return (struct persist_bounds){ .bytes = session->limits.disk_bytes + (1u << 20),
				     .entries = session->limits.inodes };
}

int durable_keep(struct reckon_session *session, bool thorough,
		 struct shared_unstored *ret_unstored, struct err *err)
{
	const struct persist_bounds bounds = durable_bounds(session);
	struct shared_unstored ignored;

	return shared_keep(session->shared, session->workspace, session->engine->store, &bounds,
			   thorough, ret_unstored != NULL ? ret_unstored : &ignored, err);
}

const char *reckon_session_template(const reckon_session *session)
{
	return session->template_name;
}

static int needs_keep(const struct reckon_session *session, struct err *err)
{
	if (!shared_keeps(session->shared))
		return err_set(err, ERR_INVALID, "the session was opened without "
						 "RECKON_SESSION_KEEP");
	return engine_check_idle(session->engine, err);
}

/* The names of a dead kernel count until its loss was reported. */
static char *names_of(const struct reckon_session *session)
{
	const bool is_dead = session->known.count == 0 && session->loss.is_unreported;
	struct buf names = BUF_INIT(NAMES_MAX);
	struct json_writer json;
	struct err ignored;

	json_write_init(&json, &names);
	known_write_into(is_dead ? &session->loss.names : &session->known, &json);
	if (json_write_finish(&json, &ignored) == 0)
		return names.data;
	buf_done(&names);
	return mem_strdup("[]");
}

int reckon_workspace_take(reckon_session *session, reckon_workspace **ret, reckon_error *err)
{
	struct err inner;

	if (needs_keep(session, &inner) < 0)
		return api_fail(err, &inner);
	shared_keep_take(session->shared, ret);
	if (session->client != NULL)
		(*ret)->variables = names_of(session);
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
	shared_keep_forget(session->shared);
}

int reckon_workspace_keep(reckon_session *session, int thorough, reckon_error *err)
{
	struct err inner;

	if (needs_keep(session, &inner) < 0 ||
	    durable_keep(session, thorough != 0, NULL, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

static int restore(struct reckon_session *session, const reckon_workspace *manifest,
		   const struct persist_missing *missing, struct err *err)
{
	const bool give = geteuid() == 0;

	if (needs_keep(session, err) < 0 || session_check(session, err) < 0 ||
	    shared_keep_restore(session->shared, session->workspace, session->engine->store,
				manifest, give ? session->warden.host_uid : (uid_t)-1,
				give ? session->warden.host_gid : (gid_t)-1, missing, err) < 0)
		return (int)err->code;
	return shared_look(session->shared, session->workspace, err);
}

int reckon_workspace_restore(reckon_session *session, const reckon_workspace *manifest,
			     reckon_error *err)
{
	struct err inner;

	if (restore(session, manifest, NULL, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

int reckon_workspace_restore_intact(reckon_session *session, const reckon_workspace *manifest,
				    reckon_missing_fn *tell, void *arg, reckon_error *err)
{
	const struct persist_missing missing = { tell, arg };
	struct err inner;

	if (restore(session, manifest, &missing, &inner) < 0)
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
