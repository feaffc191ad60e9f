/*
 * session.c - creates and frees sessions, and handles the loss of kernels and boxes.
 *
 * Runs in:  libreckon.
 * Reads:    packets of a hostile kernel (only their frame), events of the warden.
 * Never:    continues silently after a session has lost its kernel.
 */
#include "lib/session/session.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "lib/api.h"

#define CLOSE_TIMEOUT_MS 10000

struct reckon_session *session_new(struct reckon_engine *engine, struct client *client)
{
	struct reckon_session *session = mem_new0(1, sizeof(*session));

	session->engine = engine;
	session->client = client != NULL ? client_ref(client) : NULL;
	session->language = language_default();
	session->control = session->workspace = session->interrupt.fd = -1;
	session->no_input[0] = session->no_input[1] = -1;
	session->state = KERNEL_STATE_STARTING;
	session->next_request = 1;
	session->configured = BUF_INIT(SESSION_CONFIGURE_MAX);
	session->shared = shared_new();
	return session;
}

struct warden_request session_request(const struct reckon_session *session, enum warden_type type)
{
	return (struct warden_request){ .type = (uint16_t)type,
					.session = session->warden.number,
					.kernel = session->warden.kernel_number };
}

int session_adopt_kernel(struct reckon_session *session, struct client_call *call, struct err *err)
{
	const struct warden_opened *opened = &call->reply.opened;

	session->warden.kernel_number = opened->kernel;
	session->warden.kernel_pid = opened->kernel_pid;
	session->opening.has_twin = opened->has_twin != 0;
	session->opening.warmth = (enum warden_warmth)opened->warmth;
	if (session->control >= 0)
		(void)close(session->control);
	session->control = call->nfds > 0 ? TAKE_FD(call->fds[0]) : -1;
	session->state = KERNEL_STATE_STARTING;
	session->lost.has_ended = session->lost.is_kernel_lost = false;
	session->warden.lease_seconds = 0; /* the warden cancels the lease */
	/* The old kernel may have written to these empty inputs. */
	for (int i = 0; i < 2; i++)
		if (session->no_input[i] >= 0)
			(void)close(TAKE_FD(session->no_input[i]));
	known_clear(&session->known);
	if (session->control < 0)
		return err_set(err, ERR_PROTOCOL, "the warden gave a kernel without a socket");
	return fd_set_nonblock(session->control, true, err);
}

int session_adopt(struct reckon_session *session, struct client_call *call, struct err *err)
{
	const struct warden_opened *opened = &call->reply.opened;

	session->warden.number = opened->session;
	if (call->nfds != 2) {
		client_forget(session->client, call);
		return err_set(err, ERR_PROTOCOL,
			       "the warden opened a session without descriptors");
	}
	session->workspace = TAKE_FD(call->fds[1]);
	if (session_adopt_kernel(session, call, err) < 0) {
		client_forget(session->client, call);
		return (int)err->code;
	}
	client_forget(session->client, call);
	session->warden.host_uid = opened->host_uid;
	session->warden.host_gid = opened->host_gid;
	session->unheld = opened->unheld & session->requested;
	session->opening.shell_ns = opened->shell_us * 1000ull;
	session->opening.spawn_ns = opened->spawn_us * 1000ull;
	session->limits.memory_bytes = opened->limits.memory_bytes;
	session->limits.disk_bytes = opened->limits.disk_bytes;
	session->limits.inodes = opened->limits.inodes;
	session->limits.file_bytes = opened->limits.file_bytes;
	session->limits.pids = opened->limits.pids;
	session->limits.cpu_percent = opened->limits.cpu_percent;
	session->interrupt.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (session->interrupt.fd < 0)
		return err_sys(err, "eventfd");
	return session->id[0] != '\0' ? 0 : id_new(session->id, "se", err);
}

void session_link(struct reckon_session *session)
{
	session->next = session->engine->sessions;
	session->engine->sessions = session;
}

static void session_unlink(struct reckon_session *session)
{
	for (struct reckon_session **at = &session->engine->sessions; *at != NULL;
	     at = &(*at)->next)
		if (*at == session) {
			*at = session->next;
			return;
		}
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		(void)close(fd);
}

void session_free(struct reckon_session *session)
{
	struct warden_request request;
	struct client_call call;
	struct err ignored;

	if (session == NULL)
		return;
	request = session_request(session,
				  session->context[0] != '\0' ? WARDEN_END : WARDEN_CLOSE);
	session_unlink(session);
	/*
	 * Wait for the reply before closing the sockets: else the kernel notices first and exits by
	 * itself, and the warden has to find out why.
	 */
	if (session->warden.number != 0 && session->client != NULL &&
	    !(session->warden.keeps_box && adopt_may_stay(session)) &&
	    !client_is_dead(session->client, NULL) &&
	    client_ask(session->client, &request, NULL, 0, &call, CLOSE_TIMEOUT_MS, &ignored) == 0)
		client_forget(session->client, &call);
	close_if_open(session->control);
	close_if_open(session->workspace);
	close_if_open(session->interrupt.fd);
	close_if_open(session->no_input[0]);
	close_if_open(session->no_input[1]);
	buf_done(&session->configured);
	known_clear(&session->known);
	known_clear(&session->loss.names);
	stray_done(&session->strays);
	shared_unref(session->shared);
	client_unref(session->client);
	if (session->owns_engine)
		reckon_engine_close(session->engine);
	free(session);
}

void reckon_session_close(reckon_session *session)
{
	/*
	 * Inside an event callback the execution still uses the session; its engine frees it later.
	 */
	if (session == NULL || session->engine->is_busy)
		return;
	session_free(session);
}

const char *reckon_session_id(const reckon_session *session)
{
	return session->id;
}

const char *reckon_context_id(const reckon_session *session)
{
	return session->context[0] != '\0' ? session->context : NULL;
}

static void ring(const struct reckon_session *session, uint64_t count)
{
	/* A full counter means that enough interrupts are pending. */
	if (session != NULL && write(session->interrupt.fd, &count, sizeof(count)) < 0)
		return;
}

void reckon_interrupt(reckon_session *session)
{
	ring(session, 1);
}

void reckon_interrupt_for(reckon_session *session, const reckon_reason *reason)
{
	if (session != NULL)
		atomic_store(&session->interrupt.reason, reason);
	ring(session, 1);
}

void reckon_kill(reckon_session *session)
{
	ring(session, SESSION_KILL);
}

void session_lose(struct reckon_session *session, const struct err *why)
{
	if (session->lost.is_lost)
		return;
	session->lost.is_lost = true;
	session->lost.why_lost = *why;
	session->lost.why_lost.code = ERR_LOST;
	/* When the first kernel's connection is lost, its box is lost, too. */
	if (session->context[0] == '\0')
		shared_note_lost(session->shared, &session->lost.why_lost);
	if (session->lost.why_lost.remedy[0] == '\0')
		(void)err_remedy(&session->lost.why_lost,
				 "open a new session; files that executions reported are kept as "
				 "artifacts");
}

void session_lose_kernel(struct reckon_session *session, const struct err *why)
{
	struct known none = { .count = 0 };

	if (session->lost.is_kernel_lost)
		return;
	session->lost.is_kernel_lost = true;
	session->lost.why_kernel_lost = *why;
	session->lost.why_kernel_lost.code = ERR_KERNEL_LOST;
	(void)err_remedy(&session->lost.why_kernel_lost,
			 "the session and its files are still there: the next execution, or a "
			 "restart, begins a fresh kernel");
	known_clear(&session->loss.names);
	session->loss = (struct loss){ .is_unreported = true,
				       .why = session->lost.why_kernel_lost,
				       .names = session->known };
	session->known = none;
}

void session_kill(struct reckon_session *session, const struct err *why)
{
	struct err ignored;

	session_lose_kernel(session, why);
	(void)session_tell(session, WARDEN_END, &ignored);
}

void session_describe_end(const struct warden_ended *ended, char *ret, size_t size)
{
	switch ((enum warden_end)ended->cause) {
	case WARDEN_END_EXIT:
		(void)snprintf(ret, size, "exit status %d", ended->detail);
		return;
	case WARDEN_END_SIGNAL:
		(void)snprintf(ret, size, "signal %d (%s)", ended->detail,
			       sigdescr_np(ended->detail) != NULL ? sigdescr_np(ended->detail)
								  : "unknown");
		return;
	case WARDEN_END_OOM:
		(void)snprintf(ret, size, "out of memory");
		return;
	case WARDEN_END_CLOSED:
		(void)snprintf(ret, size, "closed");
		return;
	case WARDEN_END_SYSCALL:
		(void)snprintf(ret, size, "a system call of a foreign architecture");
		return;
	case WARDEN_END_WALL:
	case WARDEN_END_CPU:
		break; /* only about processes */
	}
	(void)snprintf(ret, size, "cause %u", ended->cause);
}

void session_note_ended(struct reckon_session *session, const struct warden_ended *ended)
{
	char how[96];
	struct err why;

	if (session->lost.has_ended)
		return;
	session->lost.has_ended = true;
	session->lost.ended = *ended;
	session_describe_end(ended, how, sizeof(how));
	if (ended->cause == WARDEN_END_CLOSED) {
		(void)err_set(&why, ERR_LOST, "the session was closed, and this context with it");
		session_lose(session, &why);
		return;
	}
	(void)err_set(&why, ERR_LOST, "the kernel ended (%s); its variables are gone", how);
	session_lose_kernel(session, &why);
}

int session_check_box(struct reckon_session *session, struct err *err)
{
	if (engine_check_idle(session->engine, err) < 0)
		return (int)err->code;
	if (session->client == NULL)
		return shared_check(session->shared, err);
	client_dispatch(session->client);
	if (!session->lost.is_lost && client_is_dead(session->client, err))
		session_lose(session, err);
	if (session->lost.is_lost) {
		*err = session->lost.why_lost;
		return (int)err->code;
	}
	return 0;
}

bool session_is_gone(const struct reckon_session *session, struct err *ret)
{
	if (session->lost.is_lost)
		*ret = session->lost.why_lost;
	else if (session->lost.is_kernel_lost)
		*ret = session->lost.why_kernel_lost;
	return session->lost.is_lost || session->lost.is_kernel_lost;
}

int session_check(struct reckon_session *session, struct err *err)
{
	if (session_check_box(session, err) < 0)
		return (int)err->code;
	return session_is_gone(session, err) ? (int)err->code : 0;
}

int session_check_kernel(struct reckon_session *session, struct err *err)
{
	if (session->client == NULL)
		return err_set(err, ERR_INVALID, "this handle is for files: it has no kernel");
	return session_check(session, err);
}

int reckon_session_check(reckon_session *session, reckon_error *err)
{
	struct err inner;

	if (session_check(session, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

int reckon_session_opening(const reckon_session *session, reckon_opening *ret, reckon_error *err)
{
	static const char *const warmth[] = { "cold", "warm", "parked" };
	const reckon_opening found = {
		.warmth = session->opening.warmth <= WARDEN_PARKED
				  ? warmth[session->opening.warmth]
				  : "cold",
		.total_ns = session->opening.total_ns,
		.warden_ns = session->opening.warden_ns,
		.shell_ns = session->opening.shell_ns,
		.spawn_ns = session->opening.spawn_ns,
		.ready_ns = session->opening.ready_ns,
		.kernel_pid = session->warden.kernel_pid,
	};
	reckon_opening checked;
	const size_t size = ret->size;
	struct err inner;

	if (api_options("reckon_opening", &checked, sizeof(checked), ret, &inner) < 0)
		return api_fail(err, &inner);
	memcpy(ret, &found, size < sizeof(found) ? size : sizeof(found));
	ret->size = size;
	return api_ok(err);
}

int session_recv(struct reckon_session *session, struct kernel_head *ret_head, struct buf *payload,
		 struct err *err)
{
	size_t nfds;

	return kernel_recv(session->control, ret_head, payload, NULL, 0, &nfds, err);
}

static int tell(struct reckon_session *session, struct warden_request *request, struct err *err)
{
	if (client_send(session->client, request, NULL, 0, NULL, err) < 0) {
		session_lose(session, err);
		return (int)err->code;
	}
	return 0;
}

int session_tell(struct reckon_session *session, enum warden_type type, struct err *err)
{
	struct warden_request request = session_request(session, type);

	return tell(session, &request, err);
}

int session_tell_begin(struct reckon_session *session, const char *execution, struct err *err)
{
	struct warden_request request = session_request(session, WARDEN_BEGIN);

	_Static_assert(WARDEN_EXECUTION_SIZE == ID_SIZE, "an id fits");
	(void)snprintf(request.execution, sizeof(request.execution), "%s", execution);
	return tell(session, &request, err);
}
