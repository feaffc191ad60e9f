/*
 * context.c - further handles of a session: for each additional kernel, and for files.
 *
 * Runs in:  libreckon; with RECKON_SESSION_CONCURRENT in another thread than the session.
 * Reads:    those members of the session that do not change while it is open.
 * Never:    shares data between handles, except through shared.h.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "languages/languages.h"
#include "lib/api.h"
#include "lib/session/session.h"
#include "reckon_files.h"
#include "reckon_keep.h"

#define CONTEXT_TIMEOUT_MS 120000

static int fill_request(const struct reckon_session *of, const reckon_context_options *options,
			struct warden_request *request, struct err *err)
{
	const struct language *language = of->language;

	if (of->client == NULL)
		return err_set(err, ERR_INVALID, "this handle is for files alone");
	if (options->template_name != NULL &&
	    strcmp(options->template_name, of->template_name) != 0) {
		(void)err_set(err, ERR_INVALID, "the session's box holds template \"%.60s\", not "
			      "\"%.60s\"", of->template_name, options->template_name);
		return err_remedy(err, "open another session for another template");
	}
	if (options->language != NULL)
		language = language_find(options->language);
	if (language == NULL)
		return language_unknown(options->language, err);
	if ((options->flags & ~(RECKON_SESSION_NO_WARM | RECKON_SESSION_WAIT_WARM)) != 0)
		return err_set(err, ERR_INVALID, "a flag that contexts do not have (%u)",
			       options->flags);
	(void)snprintf(request->context.language, sizeof(request->context.language), "%s",
		       language->name);
	request->context.flags = options->flags;
	request->session = of->warden.number;
	return 0;
}

/* Takes the connection from the reply, even on failure. */
static int new_handle(const struct reckon_session *of, struct client_call *call,
		      struct reckon_session **ret, struct err *err)
{
	struct reckon_engine *engine;
	struct reckon_session *context;

	if (call->nfds != 2)
		return err_set(err, ERR_PROTOCOL, "the warden made a context without descriptors");
	if (engine_new_for_context(of->engine, TAKE_FD(call->fds[1]), &engine, err) < 0)
		return (int)err->code;
	context = session_new(engine, engine->client);
	context->owns_engine = true;
	session_link(context);
	shared_unref(context->shared);
	context->shared = shared_ref(of->shared);
	context->limits = of->limits;
	context->warden.host_uid = of->warden.host_uid;
	context->warden.host_gid = of->warden.host_gid;
	memcpy(context->id, of->id, sizeof(context->id));
	memcpy(context->template_name, of->template_name, sizeof(context->template_name));
	*ret = context;
	return 0;
}

/* Adds the session's variables, packed as for its first kernel; the context's own follow them. */
static int inherit_variables(struct reckon_session *context, const struct reckon_session *of,
			     struct err *err)
{
	const struct buf *from = &of->configured;

	for (size_t at = 0; at < from->len;) {
		struct kernel_field head;

		memcpy(&head, from->data + at, sizeof(head));
		at += sizeof(head);
		if (head.tag == KERNEL_TAG_ENV &&
		    kernel_pack(&context->configured, KERNEL_TAG_ENV, from->data + at, head.len,
				err) < 0)
			return (int)err->code;
		at += head.len;
	}
	return 0;
}

static int begin(struct reckon_session *context, const struct reckon_session *of,
		 const reckon_context_options *options, const struct language *language,
		 struct client_call *call, struct err *err)
{
	if (durable_context(context, options, err) < 0 ||
	    (context->context[0] == '\0' && id_new(context->context, "ctx", err) < 0))
		return (int)err->code;
	context->language = language;
	context->warden.open_flags = options->flags;
	/* A separate open file description, because reading a directory moves its offset. */
	context->workspace = openat(of->workspace, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	context->interrupt.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (context->workspace < 0 || context->interrupt.fd < 0)
		return err_sys(err, "open the workspace");
	/*
	 * Set this before there is a kernel: a failure must only end a kernel, never the session.
	 */
	context->warden.number = of->warden.number;
	if (session_adopt_kernel(context, call, err) < 0 ||
	    inherit_variables(context, of, err) < 0 ||
	    session_configure(context, options->env, options->cwd, err) < 0)
		return (int)err->code;
	return 0;
}

/*
 * Makes a handle from the warden's reply. `is_left`: another process left the kernel, with its
 * variables.
 */
static int take(const struct reckon_session *of, const reckon_context_options *options,
		const struct language *language, struct client_call *call, bool is_left,
		struct reckon_session **ret, struct err *err)
{
	struct reckon_session *context = NULL;
	reckon_context_options begin_options = *options;
	int code = new_handle(of, call, &context, err);

	if (is_left)
		begin_options.lost_why = begin_options.lost_variables = NULL;
	if (code == 0 && context != NULL)
		code = begin(context, of, &begin_options, language, call, err);
	for (size_t i = 0; i < call->nfds; i++)
		if (call->fds[i] >= 0)
			(void)close(call->fds[i]);
	if (code == 0)
		code = is_left ? adopt_meet(context, err) : session_meet(context, err);
	if (code == 0 && is_left)
		code = durable_known(context, options->lost_variables, err);
	if (code < 0) {
		session_free(context);
		return code;
	}
	*ret = context;
	return 0;
}

static int context_open(struct reckon_session *of, const reckon_context_options *given,
			const unsigned char *lease, struct reckon_session **ret, struct err *err)
{
	struct warden_request request = { .type = WARDEN_CONTEXT };
	reckon_context_options options;
	const struct language *language;
	struct client_call call;

	if (api_options("reckon_context_options", &options, sizeof(options), given, err) < 0 ||
	    fill_request(of, &options, &request, err) < 0)
		return (int)err->code;
	language = language_find(request.context.language);
	if (lease != NULL) {
		request = (struct warden_request){ .type = WARDEN_ADOPT,
						   .session = of->warden.number };
		memcpy(request.lease.key, lease, sizeof(request.lease.key));
	}
	if (shared_ask(of->shared, of->client, of->warden.number, &request, &call,
		       CONTEXT_TIMEOUT_MS, err) < 0)
		return (int)err->code;
	return take(of, &options, language, &call, lease != NULL, ret, err);
}

static int files_open(const struct reckon_session *of, struct reckon_session **ret, struct err *err)
{
	struct reckon_engine *engine;
	struct reckon_session *files;

	if (engine_new_for_files(of->engine, &engine, err) < 0)
		return (int)err->code;
	files = session_new(engine, NULL);
	files->owns_engine = true;
	session_link(files);
	shared_unref(files->shared);
	files->shared = shared_ref(of->shared);
	files->limits = of->limits;
	/* Its requests to the warden use the connection that all handles share. */
	files->warden.number = of->warden.number;
	files->warden.host_uid = of->warden.host_uid;
	files->warden.host_gid = of->warden.host_gid;
	memcpy(files->id, of->id, sizeof(files->id));
	memcpy(files->template_name, of->template_name, sizeof(files->template_name));
	files->workspace = openat(of->workspace, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (files->workspace < 0) {
		(void)err_sys(err, "open the workspace");
		session_free(files);
		return (int)err->code;
	}
	*ret = files;
	return 0;
}

int reckon_files_open(reckon_session *session, reckon_session **ret, reckon_error *err)
{
	struct err inner;

	if (files_open(session, ret, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

int reckon_context_open(reckon_session *session, const reckon_context_options *options,
			reckon_session **ret, reckon_error *err)
{
	struct err inner;

	if (context_open(session, options, NULL, ret, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

int reckon_context_adopt(reckon_session *session, const reckon_context_options *options,
			 const unsigned char lease[RECKON_LEASE_SIZE], reckon_session **ret,
			 reckon_error *err)
{
	struct err inner;

	if (context_open(session, options, lease, ret, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}
