/*
 * engine.c - open and close: directories, the store, the connection to a warden.
 *
 * Runs in:  libreckon.
 * Reads:    options and the environment (RECKON_STATE, RECKON_TEMPLATES, XDG_STATE_HOME, HOME).
 * Never:    starts a warden before it is needed.
 */
#include "lib/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "base/process/runtime.h"
#include "lib/api.h"
#include "lib/launch.h"
#include "lib/session/session.h"

/* An idle warden may exit just when we connect; then start a new one. */
#define CONNECT_TRIES 3

static int join(const char *dir, const char *below, char **ret, struct err *err)
{
	char path[4096];

	if (dir[0] == '/') {
		if (snprintf(path, sizeof(path), "%s%s", dir, below) >= (int)sizeof(path))
			return err_set(err, ERR_INVALID, "path too long: %.200s…", dir);
	} else {
		char here[2048];

		if (getcwd(here, sizeof(here)) == NULL)
			return err_sys(err, "find the current directory");
		if (snprintf(path, sizeof(path), "%s/%s%s", here, dir, below) >= (int)sizeof(path))
			return err_set(err, ERR_INVALID, "path too long: %.200s…", dir);
	}
	*ret = mem_strdup(path);
	return 0;
}

static int find_state_dir(const char *given, char **ret, struct err *err)
{
	char path[4096];

	if (runtime_state_dir(given, path, sizeof(path), err) < 0)
		return (int)err->code;
	*ret = mem_strdup(path);
	return 0;
}

/* A user's own state directory need not contain templates. */
static int find_template_dir(const struct reckon_engine *engine,
			     const reckon_engine_options *options, char **ret, struct err *err)
{
	cleanup_free char *usual = NULL;
	const char *given = options->template_dir;
	struct err homeless;

	if (given != NULL || (given = runtime_variable("RECKON_TEMPLATES")) != NULL)
		return join(given, "", ret, err);
	if (join(engine->state_dir, "/templates", ret, err) < 0)
		return (int)err->code;
	if (options->state_dir == NULL || access(*ret, F_OK) == 0 ||
	    find_state_dir(NULL, &usual, &homeless) < 0 || usual == NULL)
		return 0;
	free(*ret);
	*ret = NULL;
	return join(usual, "/templates", ret, err);
}

static int engine_init(struct reckon_engine *engine, const reckon_engine_options *options,
		       struct err *err)
{
	engine->is_private = options->private_warden != 0;
	engine->is_strict = options->strict != 0;
	if (find_state_dir(options->state_dir, &engine->state_dir, err) < 0 ||
	    find_template_dir(engine, options, &engine->template_dir, err) < 0)
		return (int)err->code;
	if (fs_mkdir_parents(engine->state_dir, 0700, err) < 0 ||
	    store_open(engine->state_dir, &engine->store, err) < 0) {
		(void)err_wrap(err, "state directory %.100s", engine->state_dir);
		return err_remedy(err, "set RECKON_STATE to a directory you can write to");
	}
	return 0;
}

static int engine_new(const reckon_engine_options *given, struct reckon_engine **ret,
		      struct err *err)
{
	struct reckon_engine *engine;
	reckon_engine_options options;

	if (api_options("reckon_engine_options", &options, sizeof(options), given, err) < 0)
		return (int)err->code;
	engine = mem_new0(1, sizeof(*engine));
	if (engine_init(engine, &options, err) < 0) {
		reckon_engine_close(engine);
		return (int)err->code;
	}
	*ret = engine;
	return 0;
}

int reckon_engine_open(const reckon_engine_options *options, reckon_engine **ret,
		       reckon_error *err)
{
	struct err inner;

	if (engine_new(options, ret, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

static void on_ended(struct client *client, uint32_t kernel, const struct warden_ended *ended,
		     void *arg)
{
	struct reckon_engine *engine = arg;

	for (struct reckon_session *session = engine->sessions; session != NULL;
	     session = session->next)
		if (session->client == client && session->warden.kernel_number == kernel)
			session_note_ended(session, ended);
}

static int greet(struct reckon_engine *engine, int sock, pid_t pid, struct err *err)
{
	struct client *client;

	if (client_new(sock, pid, on_ended, engine, &client, err) < 0)
		return (int)err->code;
	if (client_hello(client, engine->is_strict, err) < 0) {
		client_unref(client);
		return (int)err->code;
	}
	if (engine->client != NULL)
		client_unref(engine->client);
	engine->client = client;
	return 0;
}

int engine_greet(struct reckon_engine *engine, int sock, struct err *err)
{
	return greet(engine, sock, -1, err);
}

int engine_open_on(const reckon_engine_options *options, int warden_fd, reckon_engine **ret,
		   struct err *err)
{
	struct reckon_engine *engine;

	if (engine_new(options, &engine, err) < 0) {
		(void)close(warden_fd);
		return (int)err->code;
	}
	if (greet(engine, warden_fd, -1, err) < 0) {
		reckon_engine_close(engine);
		return (int)err->code;
	}
	*ret = engine;
	return 0;
}

int engine_new_for_files(const struct reckon_engine *of, struct reckon_engine **ret,
			 struct err *err)
{
	struct reckon_engine *engine = mem_new0(1, sizeof(*engine));

	engine->is_private = of->is_private;
	engine->is_strict = of->is_strict;
	engine->state_dir = mem_strdup(of->state_dir);
	engine->template_dir = mem_strdup(of->template_dir);
	if (store_open(engine->state_dir, &engine->store, err) < 0) {
		reckon_engine_close(engine);
		return (int)err->code;
	}
	if (store_is_relaxed(of->store))
		store_relax(engine->store);
	*ret = engine;
	return 0;
}

int engine_new_for_context(const struct reckon_engine *of, int sock, struct reckon_engine **ret,
			   struct err *err)
{
	cleanup_fd int theirs = sock;
	struct reckon_engine *engine;

	if (engine_new_for_files(of, &engine, err) < 0)
		return (int)err->code;
	if (client_new_greeted(TAKE_FD(theirs), on_ended, engine, &engine->client, err) < 0) {
		reckon_engine_close(engine);
		return (int)err->code;
	}
	*ret = engine;
	return 0;
}

void reckon_engine_close(reckon_engine *engine)
{
	if (engine == NULL)
		return;
	while (engine->sessions != NULL)
		reckon_session_close(engine->sessions);
	if (engine->client != NULL) {
		client_silence(engine->client);
		client_unref(engine->client);
	}
	store_close(engine->store);
	free(engine->state_dir);
	free(engine->template_dir);
	free(engine);
}

static int connect_once(struct reckon_engine *engine, const char *warden, struct err *err)
{
	pid_t pid = -1;
	int sock;

	if (engine->is_private) {
		if (launch_private(warden, engine->template_dir, &sock, &pid, err) < 0)
			return (int)err->code;
	} else if (launch_join_shared(warden, engine->template_dir, &sock, err) < 0) {
		return (int)err->code;
	}
	return greet(engine, sock, pid, err);
}

int engine_client(struct reckon_engine *engine, struct client **ret, struct err *err)
{
	cleanup_free char *warden = NULL;
	int code = 0;

	if (engine->client != NULL)
		client_dispatch(engine->client);
	if (engine->client == NULL || client_is_dead(engine->client, NULL)) {
		if (launch_find_warden(&warden, err) < 0)
			return (int)err->code;
		for (int i = 0; i < CONNECT_TRIES; i++) {
			code = connect_once(engine, warden, err);
			if (code != ERR_LOST)
				break;
		}
		if (code < 0)
			return code;
	}
	*ret = engine->client;
	return 0;
}

int reckon_engine_connect(reckon_engine *engine, reckon_error *err)
{
	struct client *client;
	struct err inner;

	if (engine_check_idle(engine, &inner) < 0 || engine_client(engine, &client, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

int engine_check_idle(const struct reckon_engine *engine, struct err *err)
{
	if (engine->is_busy) {
		(void)err_set(err, ERR_INVALID, "this engine is inside an execution");
		return err_remedy(err, "return from the event callback first");
	}
	return 0;
}

int reckon_artifact_get(reckon_engine *engine, const char *id, uint64_t offset, uint64_t length,
			int target_fd, reckon_error *err)
{
	struct err inner;

	if (store_get(engine->store, id, offset, length, target_fd, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

int reckon_artifact_open(reckon_engine *engine, const char *id, int *ret_fd, uint64_t *ret_size,
			 reckon_error *err)
{
	struct err inner;

	if (store_open_object(engine->store, id, ret_fd, ret_size, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}
