/*
 * adopt.c - boxes that outlive the process that opened them: leases, and adopting a session and
 *           its contexts.
 *
 * Runs in:  libreckon.
 * Reads:    the warden's reply; packets of a hostile kernel, until one replies to ours.
 * Never:    adopts a box in which an execution ran of which the caller has no record.
 *
 * A session has a lease only while all that this library alone knows about it may be forgotten: no
 * unreported loss of variables, and no kernel that has not received its environment.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "lib/api.h"
#include "lib/launch.h"
#include "lib/session/session.h"

#define ADOPT_TIMEOUT_MS 20000
/* an idle kernel replies at once; one that does not would delay other sessions */
#define PONG_TIMEOUT_MS 2000
#define STALE_MAX 4096 /* packets before the reply: far more than a socket can hold */

/* ---- the lease ------------------------------------------------------------------------------ */

bool adopt_may_stay(const struct reckon_session *session)
{
	return session->warden.lease_seconds > 0 && session->state == KERNEL_STATE_IDLE &&
	       !session->lost.is_lost && !session->lost.is_kernel_lost &&
	       !session->loss.is_unreported;
}

static int lease(struct reckon_session *session, const unsigned char key[RECKON_LEASE_SIZE],
		 unsigned seconds, struct err *err)
{
	struct warden_request request = session_request(session, WARDEN_LEASE);
	const bool is_context = session->context[0] != '\0';

	_Static_assert(RECKON_LEASE_SIZE == WARDEN_LEASE_SIZE, "a lease is passed on as it is");
	if (session->client == NULL)
		return err_set(err, ERR_INVALID, "this handle is for files: it has no lease");
	if (seconds > WARDEN_LEASE_SECONDS_MAX)
		return err_set(err, ERR_INVALID, "a lease of %u s; at most %u", seconds,
			       WARDEN_LEASE_SECONDS_MAX);
	if (session->warden.lease_seconds == seconds)
		return 0;
	if (session_check(session, err) < 0)
		return (int)err->code;
	if (seconds > 0 && (session->state != KERNEL_STATE_IDLE || session->loss.is_unreported ||
			    (!is_context && !shared_may_lease(session->shared))))
		return 0;
	request.lease.seconds = seconds;
	memcpy(request.lease.key, key, sizeof(request.lease.key));
	/* No reply is needed: without the lease everything is as before. */
	if (client_send(session->client, &request, NULL, 0, NULL, err) < 0) {
		session_lose(session, err);
		return (int)err->code;
	}
	session->warden.lease_seconds = seconds;
	return 0;
}

int reckon_session_lease(reckon_session *session, const unsigned char key[RECKON_LEASE_SIZE],
			 unsigned seconds, reckon_error *err)
{
	struct err inner;

	if (engine_check_idle(session->engine, &inner) < 0 ||
	    lease(session, key, seconds, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

void reckon_session_hand_over(reckon_session *session)
{
	if (session == NULL)
		return;
	session->warden.keeps_box = true;
	reckon_session_close(session);
}

/* ---- adopting ------------------------------------------------------------------------------- */

static bool is_recorded(const char *id, const char *const *recorded)
{
	for (; *recorded != NULL; recorded++)
		if (strcmp(*recorded, id) == 0)
			return true;
	return false;
}

/* Checks that the caller has a record of everything that ran. */
static int check_ran(const struct warden_adopted *adopted, const char *const *recorded,
		     struct err *err)
{
	if (adopted->count > WARDEN_RAN_MAX)
		return err_set(err, ERR_PROTOCOL, "the warden names %u executions", adopted->count);
	for (uint32_t i = 0; i < adopted->count; i++)
		if (memchr(adopted->ran[i], '\0', sizeof(adopted->ran[i])) == NULL ||
		    !is_recorded(adopted->ran[i], recorded))
			return err_set(err, ERR_LOST,
				       "an execution ended that there is no record of");
	return 0;
}

/* 1: the reply to our packet; 0: no more packets now. */
static int take_packets(struct reckon_session *session, uint64_t id, unsigned *stale,
			struct buf *payload, struct err *err)
{
	struct kernel_head head;

	for (;;) {
		const int n = session_recv(session, &head, payload, err);

		if (n == ERR_TIMEOUT)
			return 0;
		if (n == 0)
			return err_set(err, ERR_LOST, "its kernel closed the connection");
		if (n < 0)
			return n;
		if (kernel_may_send(session->state, head.type) && head.id == id)
			return 1;
		if (++*stale > STALE_MAX)
			return err_set(err, ERR_PROTOCOL, "its kernel sends without an end");
	}
}

/* Ignores half-finished exchanges: the kernel is idle when it replies. */
int adopt_meet(struct reckon_session *session, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_PAYLOAD_MAX);
	const uint64_t end = clock_mono_ns() + PONG_TIMEOUT_MS * 1000000ull;
	uint64_t id;
	unsigned stale = 0;

	/* Request numbers that no kernel since the host's boot has seen. */
	session->next_request = clock_boot_ms() << 20;
	id = session->next_request++;
	session->state = KERNEL_STATE_ADOPTING;
	if (kernel_send(session->control, KERNEL_PING, id, NULL, NULL, 0, err) < 0)
		return (int)err->code;
	for (;;) {
		struct pollfd wait = { .fd = session->control, .events = POLLIN };
		const uint64_t now = clock_mono_ns();
		const int n = take_packets(session, id, &stale, &payload, err);

		if (n > 0)
			break;
		if (n < 0)
			return n;
		client_dispatch(session->client);
		if (session_is_gone(session, err))
			return (int)err->code;
		if (now >= end)
			return err_set(err, ERR_LOST, "its kernel does not answer");
		if (poll(&wait, 1, 100) < 0 && errno != EINTR)
			return err_sys(err, "poll");
	}
	session->state = KERNEL_STATE_IDLE;
	return 0;
}

static int take_over(struct reckon_session *session, const reckon_session_options *options,
		     struct client_call *call, const char *const *recorded, struct err *err)
{
	const struct warden_adopted adopted = call->reply.adopted;
	struct client_call door;

	if (session_adopt(session, call, err) < 0)
		return (int)err->code;
	session_link(session);
	if (check_ran(&adopted, recorded, err) < 0 || adopt_meet(session, err) < 0 ||
	    session_configure(session, options->env, NULL, err) < 0 ||
	    durable_known(session, options->lost_variables, err) < 0)
		return (int)err->code;
	if ((options->flags & RECKON_SESSION_CONCURRENT) != 0 &&
	    (shared_ask_door(session->client, session->warden.number, &door, err) < 0 ||
	     shared_take_door(session->shared, session->client, &door, err) < 0))
		return (int)err->code;
	return shared_look(session->shared, session->workspace, err);
}

static int begin(struct reckon_engine *engine, const reckon_session_options *options,
		 struct client_call *call, const char *const *recorded,
		 struct reckon_session **ret, struct err *err)
{
	struct reckon_session *session = session_new(engine, engine->client);
	reckon_session_options begin_options = *options;

	session->limits = options->limits;
	session->warden.open_flags = options->flags & (WARDEN_OPEN_NO_WARM | WARDEN_OPEN_WAIT_WARM);
	session->language = language_find_or_default(options->language);
	(void)snprintf(session->template_name, sizeof(session->template_name), "%s",
		       options->template_name);
	begin_options.lost_why = begin_options.lost_variables = NULL;
	if (session->language == NULL || durable_begin(session, &begin_options, err) < 0) {
		client_forget(session->client, call);
		session_free(session);
		return session->language == NULL ? language_unknown(options->language, err)
						 : (int)err->code;
	}
	if (take_over(session, options, call, recorded, err) < 0) {
		session_free(session); /* also ends the box */
		err->code = ERR_LOST;
		return (int)err->code;
	}
	*ret = session;
	return 0;
}

/* Finds a warden that has a box for the lease; closes the other connections. */
static int ask_all(struct reckon_engine *engine, const unsigned char key[RECKON_LEASE_SIZE],
		   struct client_call *call, struct err *err)
{
	struct warden_request request = { .type = WARDEN_ADOPT };
	int socks[LAUNCH_RUNNING_MAX], code = 0;
	const size_t count = launch_running(socks, LAUNCH_RUNNING_MAX);
	bool is_found = false;
	struct err why;

	memcpy(request.lease.key, key, sizeof(request.lease.key));
	(void)err_set(err, ERR_NOT_FOUND, "no session waits for this lease");
	for (size_t i = 0; i < count; i++) {
		if (is_found) {
			(void)close(socks[i]);
			continue;
		}
		code = engine_greet(engine, socks[i], &why);
		if (code == 0)
			code = client_ask(engine->client, &request, NULL, 0, call, ADOPT_TIMEOUT_MS,
					  &why);
		is_found = code == 0;
		if (code < 0 && code != ERR_NOT_FOUND)
			*err = why;
	}
	if (is_found)
		err_clear(err);
	return is_found ? 0 : (int)err->code;
}

static int adopt(struct reckon_engine *engine, const reckon_session_options *given,
		 const unsigned char key[RECKON_LEASE_SIZE], const char *const *recorded,
		 struct reckon_session **ret, struct err *err)
{
	reckon_session_options options;
	struct client_call call;

	if (api_options("reckon_session_options", &options, sizeof(options), given, err) < 0 ||
	    session_fill_limits(&options.limits, err) < 0 || engine_check_idle(engine, err) < 0)
		return (int)err->code;
	if (options.session_id == NULL || options.template_name == NULL)
		return err_set(err, ERR_INVALID, "what is adopted has an id and a template");
	if (ask_all(engine, key, &call, err) < 0 ||
	    begin(engine, &options, &call, recorded, ret, err) < 0)
		return (int)err->code;
	return 0;
}

int reckon_session_adopt(reckon_engine *engine, const reckon_session_options *options,
			 const unsigned char key[RECKON_LEASE_SIZE], const char *const *recorded,
			 reckon_session **ret, reckon_error *err)
{
	struct err inner;

	if (adopt(engine, options, key, recorded, ret, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}
