/*
 * kernels.c - kernels: sessions with a mark in their metadata, and contexts of the home.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    bodies of any client.
 * Never:    shows a session that was opened for something else.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/jupyter/server.h"

#define MARK "{\"jupyter\":{}}"
#define WALL_MS (24u * 3600u * 1000u) /* people interrupt cells themselves */
#define PAGE 500u

const char *kernels_context(const struct kernel_ref *kernel)
{
	return kernel->context[0] != '\0' ? kernel->context : NULL;
}

/* ---- as JSON -------------------------------------------------------------------------------- */

bool kernels_uuid(const struct kernel_ref *kernel, char ret[UUID_SIZE])
{
	return server_uuid_of(kernel->context[0] != '\0' ? kernel->context : kernel->session, ret);
}

void kernels_write(struct json_writer *json, const struct kernel_ref *kernel)
{
	char uuid[UUID_SIZE];

	if (!kernels_uuid(kernel, uuid))
		uuid[0] = '\0';
	json_write_object_begin(json);
	json_write_member_string(json, "id", uuid);
	json_write_member_string(json, "name", server_spec_of(kernel->language));
	server_write_moment(json, "last_activity", kernel->created_at);
	json_write_member_string(json, "execution_state", kernel->is_busy ? "busy" : "idle");
	json_write_member_uint(json, "connections", clients_count(uuid));
	json_write_object_end(json);
}

/* ---- finding -------------------------------------------------------------------------------- */

static bool is_kernel(const struct api_session *session)
{
	struct json_value *metadata = NULL;
	struct err err;
	bool found = false;

	if (strcmp(session->status, "live") == 0 &&
	    json_read_parse(session->metadata.data, session->metadata.len, FRAME_MAX, &metadata,
			    &err) == 0)
		found = json_read_member(metadata, "jupyter") != NULL;
	json_read_free(metadata);
	return found;
}

static void take_session(const struct api_session *session, struct kernel_ref *ret)
{
	*ret = (struct kernel_ref){ .is_busy = session->pending > 0 };
	(void)snprintf(ret->session, sizeof(ret->session), "%s", session->id);
	(void)snprintf(ret->language, sizeof(ret->language), "%s", session->language);
	(void)snprintf(ret->created_at, sizeof(ret->created_at), "%s", session->created_at);
}

static void take_context(const char *session, const struct api_context *context,
			 struct kernel_ref *ret)
{
	*ret = (struct kernel_ref){ .is_busy = context->pending > 0 };
	(void)snprintf(ret->session, sizeof(ret->session), "%s", session);
	(void)snprintf(ret->context, sizeof(ret->context), "%s", context->id);
	(void)snprintf(ret->language, sizeof(ret->language), "%s", context->language);
	(void)snprintf(ret->created_at, sizeof(ret->created_at), "%s", context->created_at);
}

/* Handles one page of sessions. 1: there are more; 0: no more, or `fn` returned false. */
static int each_session(struct request *request, char before[64], kernels_each_fn *fn, void *arg)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_sessions page;
	const struct api_session *sessions;
	struct kernel_ref kernel;

	if (call_or_refuse(request, API_SESSION_LIST,
			   &(struct api_session_list_in){
				   .has_limit = true,
				   .limit = PAGE,
				   .before = before[0] != '\0' ? before : NULL,
				   .status = API_SESSION_LIST_IN_STATUS_LIVE },
			   &page, &call) < 0)
		return -1;
	sessions = page.sessions.items;
	for (size_t i = 0; i < page.sessions.count; i++) {
		if (!is_kernel(&sessions[i]))
			continue;
		take_session(&sessions[i], &kernel);
		if (!fn(&kernel, arg))
			return 0;
	}
	(void)snprintf(before, 64, "%s", page.next != NULL ? page.next : "");
	return before[0] != '\0';
}

static int each_context(struct request *request, kernels_each_fn *fn, void *arg)
{
	cleanup_call struct call call = CALL_INIT;
	const struct api_context *contexts;
	struct api_contexts all;
	struct kernel_ref kernel;
	char session[ID_SIZE];
	const enum home home = home_find(request, session);

	if (home != HOME_FOUND)
		return home == HOME_NONE ? 0 : -1;
	if (call_or_refuse(request, API_CONTEXT_LIST,
			   &(struct api_context_list_in){ .session = session }, &all, &call) < 0)
		return -1;
	contexts = all.contexts.items;
	for (size_t i = 0; i < all.contexts.count; i++) {
		take_context(session, &contexts[i], &kernel);
		if (!fn(&kernel, arg))
			break;
	}
	return 0;
}

int kernels_each(struct request *request, kernels_each_fn *fn, void *arg)
{
	char before[64] = "";
	int more;

	while ((more = each_session(request, before, fn, arg)) > 0)
		;
	return more < 0 ? -1 : each_context(request, fn, arg);
}

struct search {
	char context[ID_SIZE];
	struct kernel_ref *ret;
	bool is_found;
};

static bool look_for(const struct kernel_ref *kernel, void *arg)
{
	struct search *search = arg;

	search->is_found = strcmp(kernel->context, search->context) == 0;
	if (search->is_found)
		*search->ret = *kernel;
	return !search->is_found;
}

static int find_context(struct request *request, const char *uuid, struct kernel_ref *ret)
{
	struct search search = { .ret = ret };
	char message[96];

	if (server_context_of(uuid, search.context) &&
	    each_context(request, look_for, &search) < 0)
		return -1;
	if (search.is_found)
		return 0;
	(void)snprintf(message, sizeof(message), "Kernel does not exist: %.40s", uuid);
	answer_refuse_simple(request, 404, "not_found", message, NULL);
	return -1;
}

int kernels_find(struct request *request, const char *uuid, struct kernel_ref *ret)
{
	cleanup_call struct call call = CALL_INIT;
	enum call_status status = CALL_FAILED;
	struct api_session session;
	char id[ID_SIZE];

	if (server_session_of(uuid, id))
		status = call_make(request, API_SESSION_SHOW,
				   &(struct api_session_show_in){ .session = id }, &session, &call);
	if (status == CALL_GONE)
		return -1;
	if (status == CALL_OK && is_kernel(&session)) {
		take_session(&session, ret);
		return 0;
	}
	if (status == CALL_FAILED && call.failure != NULL &&
	    (call.failure->error == API_ERR_UNAUTHORIZED || call.failure->error == API_ERR_SCOPE)) {
		call_refuse(request, call.failure);
		return -1;
	}
	return find_context(request, uuid, ret);
}

/* ---- starting ------------------------------------------------------------------------------- */

static int make_session(struct request *request, const char *language, struct kernel_ref *ret)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_limits limits = { .has_wall_ms = true, .wall_ms = WALL_MS };
	struct api_session_create_in in = { .language = language,
					    .limits = &limits,
					    .metadata = { MARK, strlen(MARK) } };
	struct api_session session;
	enum call_status status;

	status = call_make(request, API_SESSION_CREATE, &in, &session, &call);
	/* The tenant's limits are lower: use the defaults. */
	if (status == CALL_FAILED && call.failure->error == API_ERR_QUOTA_CAP) {
		in.limits = NULL;
		status = call_make(request, API_SESSION_CREATE, &in, &session, &call);
	}
	if (status == CALL_FAILED)
		call_refuse(request, call.failure);
	if (status == CALL_OK)
		take_session(&session, ret);
	return status == CALL_OK ? 0 : -1;
}

/* Starts it in the folder of its notebook; if that fails, in the workspace. */
static int make_context(struct request *request, const char *language, const char *path,
			struct kernel_ref *ret)
{
	cleanup_call struct call call = CALL_INIT;
	const char *slash = strrchr(path, '/');
	char session[ID_SIZE], cwd[1024] = "";
	struct api_context_create_in in = { .session = session, .language = language };
	struct api_context context;
	enum call_status status;

	if (home_open(request, session) < 0)
		return -1;
	if (slash != NULL && slash > path)
		(void)snprintf(cwd, sizeof(cwd), "/mnt/data/%.*s", (int)(slash - path), path);
	in.cwd = cwd[0] != '\0' ? cwd : NULL;
	status = call_make(request, API_CONTEXT_CREATE, &in, &context, &call);
	if (status == CALL_FAILED && in.cwd != NULL) {
		in.cwd = NULL;
		status = call_make(request, API_CONTEXT_CREATE, &in, &context, &call);
	}
	if (status == CALL_FAILED)
		call_refuse(request, call.failure);
	if (status == CALL_OK)
		take_context(session, &context, ret);
	return status == CALL_OK ? 0 : -1;
}

int kernels_make(struct request *request, const char *spec, const char *path,
		 struct kernel_ref *ret)
{
	const char *language = server_language_of(spec);
	char message[128];

	if (language == NULL) {
		(void)snprintf(message, sizeof(message), "No such kernel: %.60s", spec);
		answer_refuse_simple(request, 404, "not_found", message, NULL);
		return -1;
	}
	return path[0] != '\0' ? make_context(request, language, path, ret)
			       : make_session(request, language, ret);
}

/* ---- one ------------------------------------------------------------------------------------ */

enum call_status kernels_make_end(struct request *request, const struct kernel_ref *kernel,
				  struct call *call)
{
	char uuid[UUID_SIZE];
	enum call_status status;

	if (kernel->context[0] != '\0')
		status = call_make(request, API_CONTEXT_DELETE,
				   &(struct api_context_delete_in){ .session = kernel->session,
								    .context = kernel->context },
				   NULL, call);
	else
		status = call_make(request, API_SESSION_DELETE,
				   &(struct api_session_delete_in){ .session = kernel->session },
				   NULL, call);
	if (status == CALL_OK && kernels_uuid(kernel, uuid))
		clients_ended(uuid);
	return status;
}

enum call_status kernels_make_interrupt(struct request *request, const struct kernel_ref *kernel,
					struct call *call)
{
	return call_make(request, API_INTERRUPT,
			 &(struct api_interrupt_in){ .session = kernel->session,
						     .context = kernels_context(kernel) },
			 NULL, call);
}

/* Interrupts the running cell first. */
enum call_status kernels_make_restart(struct request *request, const struct kernel_ref *kernel,
				      struct call *call)
{
	enum call_status status = kernels_make_interrupt(request, kernel, call);
	char uuid[UUID_SIZE];

	if (status != CALL_OK)
		return status;
	status = call_make(request, API_RESTART,
			   &(struct api_restart_in){ .session = kernel->session,
						     .context = kernels_context(kernel) },
			   NULL, call);
	if (status == CALL_OK && kernels_uuid(kernel, uuid))
		clients_restarted(uuid);
	return status;
}
