/*
 * open.c - opens a session: options, limits, mounts, and the first packets with its kernel.
 *
 * Runs in:  libreckon.
 * Reads:    the caller's options; READY of a kernel.
 * Never:    lets a mount hide the workspace.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fs.h"
#include "languages/languages.h"
#include "lib/api.h"
#include "lib/session/session.h"

#define OPEN_TIMEOUT_MS 120000 /* with WAIT_WARM, importing a template's modules can be slow */
#define READY_TIMEOUT_MS 30000
#define OUTPUT_MAX (64ull * 1024 * 1024)
#define CWD_MAX 4096u
#define KIB_1 1024ull
#define GIB_1 (KIB_1 * 1024 * 1024)

struct mounts {
	int fd[WARDEN_MOUNTS_MAX];
	size_t count;
};

static void mounts_done(struct mounts *mounts)
{
	for (size_t i = 0; i < mounts->count; i++)
		(void)close(mounts->fd[i]);
}

int session_fill_limits(reckon_limits *limits, struct err *err)
{
	if (limits->wall_ms == 0)
		limits->wall_ms = 30000;
	/* memory_bytes stays 0 if it is not set: then the template or the warden chooses. */
	if (limits->disk_bytes == 0)
		limits->disk_bytes = GIB_1;
	if (limits->inodes == 0)
		limits->inodes = 100000;
	if (limits->file_bytes == 0)
		/* More than the quota, so that a program gets the error for a full workspace. */
		limits->file_bytes = limits->disk_bytes + (1u << 20);
	if (limits->pids == 0)
		limits->pids = 128;
	if (limits->output_bytes == 0)
		limits->output_bytes = KIB_1 * 1024;
	if (limits->displays == 0)
		limits->displays = 64;
	if (limits->output_bytes > OUTPUT_MAX) {
		(void)err_set(err, ERR_INVALID, "output_bytes is %llu, at most %llu are kept",
			      (unsigned long long)limits->output_bytes, OUTPUT_MAX);
		return err_remedy(err, "the whole stream stays available through the handle in "
				       "`truncated`");
	}
	return 0;
}

static int copy_template(char ret[WARDEN_NAME_SIZE], const char *name, struct err *err)
{
	const size_t len = strlen(name);

	if (len == 0 || len >= WARDEN_NAME_SIZE || name[0] == '.' ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
		    len)
		return err_set(err, ERR_INVALID, "\"%.64s\" is not the name of a template", name);
	memcpy(ret, name, len + 1);
	return 0;
}

static const char *default_template(const struct reckon_engine *engine)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s/data/template.ini", engine->template_dir) <
		    (int)sizeof(path) &&
	    access(path, R_OK) == 0)
		return "data";
	return "python";
}

/* The target must be "/mnt/<name>…" without dots, and not the workspace. */
static int check_target(const char *target, struct err *err)
{
	if (strncmp(target, "/mnt/", 5) != 0 || strlen(target) >= WARDEN_PATH_SIZE ||
	    !fs_path_is_safe(target + 5)) {
		(void)err_set(err, ERR_INVALID, "cannot mount at %.200s", target);
		return err_remedy(err, "use a path below /mnt, for example /mnt/input");
	}
	if (strcmp(target, "/mnt/data") == 0 || strncmp(target, "/mnt/data/", 10) == 0) {
		(void)err_set(err, ERR_INVALID, "cannot mount at %.200s: it is the workspace",
			      target);
		return err_remedy(err, "use another name below /mnt");
	}
	return 0;
}

static int add_mount(const reckon_mount *mount, struct warden_mount *ret, struct mounts *mounts,
		     struct err *err)
{
	cleanup_free char *real = NULL;
	struct stat named, opened;
	int fd;

	if (mount->source == NULL)
		return err_set(err, ERR_INVALID, "a mount without a source");
	real = realpath(mount->source, NULL);
	fd = real != NULL ? open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd < 0) {
		(void)err_sys(err, "mount %.200s", mount->source);
		return err_remedy(err, "name a directory that exists and that you can read");
	}
	mounts->fd[mounts->count++] = fd;
	/* Detect a replaced directory; a name in /proc/self/fd must be the same directory. */
	if (stat(mount->source, &named) < 0 || fstat(fd, &opened) < 0 ||
	    named.st_dev != opened.st_dev || named.st_ino != opened.st_ino)
		return err_set(err, ERR_DENIED, "mount %.200s: it was moved meanwhile",
			       mount->source);
	if (mount->target != NULL)
		(void)snprintf(ret->target, sizeof(ret->target), "%s", mount->target);
	else
		(void)snprintf(ret->target, sizeof(ret->target), "/mnt/%.249s",
			       strrchr(real, '/') + 1);
	ret->writable = mount->writable != 0;
	return check_target(mount->target != NULL ? mount->target : ret->target, err);
}

static int group_fill(const char *name, uint32_t weight, uint32_t percent,
		      struct warden_group *ret, struct err *err)
{
	if (name[0] == '\0' || strlen(name) >= sizeof(ret->name))
		return err_set(err, ERR_INVALID, "\"%.64s\" is not the name of a group", name);
	if (weight > WARDEN_GROUP_WEIGHT_MAX)
		return err_set(err, ERR_INVALID, "a group's weight of %u; at most %u", weight,
			       WARDEN_GROUP_WEIGHT_MAX);
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	ret->weight = weight;
	ret->cpu_percent = percent;
	return 0;
}

static int fill_request(struct reckon_engine *engine, const reckon_session_options *options,
			struct warden_request *request, struct mounts *mounts, struct err *err)
{
	struct warden_open *open = &request->open;
	const reckon_limits *limits = &options->limits;
	const struct language *language;

	if (copy_template(open->template_name,
			  options->template_name != NULL ? options->template_name
							 : default_template(engine),
			  err) < 0)
		return (int)err->code;
	language = language_find_or_default(options->language);
	if (language == NULL)
		return language_unknown(options->language, err);
	(void)snprintf(open->language, sizeof(open->language), "%s", language->name);
	open->limits = (struct warden_limits){ limits->memory_bytes, limits->disk_bytes,
					       limits->inodes,	     limits->file_bytes,
					       limits->pids,	     limits->cpu_percent };
	_Static_assert(RECKON_SESSION_NO_PARKED == WARDEN_OPEN_NO_PARKED &&
			       RECKON_SESSION_NO_WARM == WARDEN_OPEN_NO_WARM &&
			       RECKON_SESSION_WAIT_WARM == WARDEN_OPEN_WAIT_WARM &&
			       RECKON_SESSION_CORE_SCHEDULING == WARDEN_OPEN_CORE_SCHEDULING &&
			       RECKON_SESSION_NO_SPECULATION == WARDEN_OPEN_NO_SPECULATION,
		       "the flags are passed on as they are");
	if (options->group != NULL &&
	    group_fill(options->group, options->group_weight, options->group_cpu_percent,
		       &open->group, err) < 0)
		return (int)err->code;
	open->flags = options->flags & ~(RECKON_SESSION_CONCURRENT | RECKON_SESSION_KEEP |
					 RECKON_SESSION_KEEP_RELAXED);
	if (options->mount_count > WARDEN_MOUNTS_MAX)
		return err_set(err, ERR_INVALID, "%zu mounts; at most %d", options->mount_count,
			       WARDEN_MOUNTS_MAX);
	for (size_t i = 0; i < options->mount_count; i++)
		if (add_mount(&options->mounts[i], &open->mounts[i], mounts, err) < 0)
			return (int)err->code;
	open->mount_count = (uint32_t)options->mount_count;
	return 0;
}

static int check_ready(struct reckon_session *session, const struct kernel_head *head,
		       struct err *err)
{
	if (!kernel_may_send(session->state, head->type) || head->id != 0)
		return err_set(err, ERR_PROTOCOL, "the new kernel's first packet was not READY");
	session->state = KERNEL_STATE_IDLE;
	return 0;
}

static int wait_ready(struct reckon_session *session, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_PAYLOAD_MAX);
	const uint64_t end = clock_mono_ns() + READY_TIMEOUT_MS * 1000000ull;
	struct kernel_head head;

	for (;;) {
		struct pollfd wait[2] = {
			{ .fd = session->control, .events = POLLIN },
			{ .fd = client_sock(session->client), .events = POLLIN },
		};
		int n = session_recv(session, &head, &payload, err);

		if (n > 0) {
			session->opening.ready_ns = clock_mono_ns();
			return check_ready(session, &head, err);
		}
		client_dispatch(session->client);
		if (client_is_dead(session->client, err))
			return (int)err->code;
		if (session_is_gone(session, err)) {
			err->code = ERR_LOST;
			(void)err_remedy(err, "the warden's log says why");
			return err_wrap(err, "the new kernel did not start");
		}
		if (n == 0)
			wait[0].fd = -1; /* the warden will report how it ended */
		else if (n != ERR_TIMEOUT)
			return err_wrap(err, "the new kernel");
		if (clock_mono_ns() >= end)
			return err_set(err, ERR_TIMEOUT, "the new kernel was not ready after %d s",
				       READY_TIMEOUT_MS / 1000);
		if (poll(wait, 2, 1000) < 0 && errno != EINTR)
			return err_sys(err, "poll");
	}
}

int session_configure(struct reckon_session *session, const char *const *env, const char *cwd,
		      struct err *err)
{
	struct buf *payload = &session->configured;

	for (size_t i = 0; env != NULL && env[i] != NULL; i++) {
		const char *equals = strchr(env[i], '=');

		if (equals == NULL || equals == env[i]) {
			(void)err_set(err, ERR_INVALID, "\"%.100s\" is not a variable", env[i]);
			return err_remedy(err, "write it as NAME=value");
		}
		if (kernel_pack(payload, KERNEL_TAG_ENV, env[i], strlen(env[i]), err) < 0)
			return err_wrap(err, "the environment is too large");
	}
	if (cwd != NULL && cwd[0] != '/')
		return err_set(err, ERR_INVALID, "\"%.100s\" is not an absolute path", cwd);
	if (cwd != NULL && strlen(cwd) >= CWD_MAX)
		return err_set(err, ERR_INVALID, "a path of %zu bytes", strlen(cwd));
	return cwd != NULL ? kernel_pack(payload, KERNEL_TAG_CWD, cwd, strlen(cwd), err) : 0;
}

int session_meet(struct reckon_session *session, struct err *err)
{
	if (wait_ready(session, err) < 0)
		return (int)err->code;
	return session->configured.len > 0
		       ? kernel_send(session->control, KERNEL_CONFIGURE, 0, &session->configured,
				     NULL, 0, err)
		       : 0;
}

static int meet(struct reckon_session *session, const reckon_session_options *options,
		struct err *err)
{
	if (session_configure(session, options->env, NULL, err) < 0 ||
	    session_meet(session, err) < 0)
		return (int)err->code;
	/* Files from the template must not look like changes by the first cell. */
	return shared_look(session->shared, session->workspace, err);
}

static int begin(struct reckon_session *session, const reckon_session_options *options,
		 struct client_call *call, struct err *err)
{
	struct client_call door;

	if (session_adopt(session, call, err) < 0)
		return (int)err->code;
	session_link(session);
	if ((options->flags & RECKON_SESSION_CONCURRENT) == 0)
		return meet(session, options, err);
	/* The warden replies while we wait for the kernel. */
	if (shared_ask_door(session->client, session->warden.number, &door, err) < 0)
		return (int)err->code;
	if (meet(session, options, err) < 0) {
		client_forget(session->client, &door);
		return (int)err->code;
	}
	return shared_take_door(session->shared, session->client, &door, err);
}

static int session_open(struct reckon_engine *engine, const reckon_session_options *given,
			struct reckon_session **ret, struct err *err)
{
	__attribute__((cleanup(mounts_done))) struct mounts mounts = { .count = 0 };
	struct warden_request request = { .type = WARDEN_OPEN };
	reckon_session_options options;
	struct reckon_session *session;
	struct client *client;
	struct client_call call;
	uint32_t requested;
	const uint64_t start = clock_mono_ns();
	uint64_t answered;

	if (api_options("reckon_session_options", &options, sizeof(options), given, err) < 0)
		return (int)err->code;
	requested = (options.limits.memory_bytes > 0 ? WARDEN_UNHELD_MEMORY : 0) |
		    (options.limits.cpu_percent > 0 ? WARDEN_UNHELD_CPU : 0) |
		    /* The warden reports these only to clients that ask for them. */
		    WARDEN_UNHELD_CORE | WARDEN_UNHELD_SPECULATION;
	if (session_fill_limits(&options.limits, err) < 0 || engine_check_idle(engine, err) < 0 ||
	    fill_request(engine, &options, &request, &mounts, err) < 0 ||
	    engine_client(engine, &client, err) < 0 ||
	    client_ask(client, &request, mounts.fd, mounts.count, &call, OPEN_TIMEOUT_MS, err) < 0)
		return (int)err->code;
	answered = clock_mono_ns();
	session = session_new(engine, client);
	session->limits = options.limits;
	session->requested = requested;
	session->warden.open_flags =
		request.open.flags & (WARDEN_OPEN_NO_WARM | WARDEN_OPEN_WAIT_WARM);
	session->language = language_find(request.open.language);
	memcpy(session->template_name, request.open.template_name,
	       sizeof(session->template_name));
	if (durable_begin(session, &options, err) < 0) {
		client_forget(client, &call);
		session_free(session);
		return (int)err->code;
	}
	if (begin(session, &options, &call, err) < 0) {
		session_free(session);
		return (int)err->code;
	}
	session->opening.warden_ns = answered - start;
	session->opening.ready_ns -= answered;
	session->opening.total_ns = clock_mono_ns() - start;
	*ret = session;
	return 0;
}

static int group_set(struct reckon_engine *engine, const char *name, uint32_t weight,
		     uint32_t percent, struct err *err)
{
	struct warden_request request = { .type = WARDEN_GROUP };
	struct client *client;
	struct client_call call;

	if (name == NULL)
		return err_set(err, ERR_INVALID, "a group without a name");
	if (group_fill(name, weight, percent, &request.group, err) < 0 ||
	    engine_client(engine, &client, err) < 0)
		return (int)err->code;
	return client_ask(client, &request, NULL, 0, &call, READY_TIMEOUT_MS, err);
}

int reckon_group_set(reckon_engine *engine, const char *group, uint32_t weight,
		     uint32_t cpu_percent, reckon_error *err)
{
	struct err inner;

	if (group_set(engine, group, weight, cpu_percent, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

int reckon_session_open(reckon_engine *engine, const reckon_session_options *options,
			reckon_session **ret, reckon_error *err)
{
	struct err inner;

	if (session_open(engine, options, ret, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}
