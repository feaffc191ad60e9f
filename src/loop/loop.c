/*
 * loop.c - one thread's event loop, on libevent_core.
 *
 * Runs in:  reckon-front, reckond.
 * Reads:    readiness, clocks, signals.
 * Never:    reads or writes the descriptors it watches.
 */
#include "loop/loop.h"

#include <event2/event.h>
#include <stdlib.h>

#include "base/mem.h"

#define SIGNALS_MAX 8

struct loop_signal_watch {
	struct event *event;
	loop_fn *fn;
	void *arg;
};

struct loop {
	struct event_base *base;
	struct loop_signal_watch signals[SIGNALS_MAX];
	unsigned signal_count;
};

struct loop_io {
	struct event *event;
	struct event_base *base;
	loop_io_fn *fn;
	void *arg;
	int fd;
	unsigned interest;
};

struct loop_timer {
	struct event *event;
	loop_fn *fn;
	void *arg;
};

int loop_new(struct loop **ret, struct err *err)
{
	struct loop *loop = mem_new0(1, sizeof(*loop));
	struct event_config *config = event_config_new();

	/* Keeps environment variables from choosing another method. */
	if (config != NULL) {
		(void)event_config_set_flag(config, EVENT_BASE_FLAG_IGNORE_ENV);
		(void)event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
		loop->base = event_base_new_with_config(config);
		event_config_free(config);
	}
	if (loop->base == NULL) {
		free(loop);
		return err_set(err, ERR_SYSTEM, "no event loop");
	}
	*ret = loop;
	return 0;
}

void loop_free(struct loop *loop)
{
	if (loop == NULL)
		return;
	for (unsigned i = 0; i < loop->signal_count; i++)
		event_free(loop->signals[i].event);
	event_base_free(loop->base);
	free(loop);
}

int loop_run(struct loop *loop, struct err *err)
{
	if (event_base_dispatch(loop->base) < 0)
		return err_set(err, ERR_SYSTEM, "the event loop failed");
	return 0;
}

void loop_stop(struct loop *loop)
{
	(void)event_base_loopbreak(loop->base);
}

static void on_io(evutil_socket_t fd, short what, void *arg)
{
	struct loop_io *io = arg;

	(void)fd;
	io->fn(((what & EV_READ) != 0 ? LOOP_READ : 0) | ((what & EV_WRITE) != 0 ? LOOP_WRITE : 0),
	       io->arg);
}

int loop_io_new(struct loop *loop, int fd, loop_io_fn *fn, void *arg, struct loop_io **ret,
		struct err *err)
{
	struct loop_io *io = mem_new0(1, sizeof(*io));

	io->event = event_new(loop->base, fd, EV_READ | EV_PERSIST, on_io, io);
	if (io->event == NULL) {
		free(io);
		return err_set(err, ERR_LIMIT, "no memory to watch a descriptor");
	}
	io->base = loop->base;
	io->fd = fd;
	io->fn = fn;
	io->arg = arg;
	*ret = io;
	return 0;
}

void loop_io_want(struct loop_io *io, unsigned interest)
{
	short events = EV_PERSIST;

	if (io->interest == interest)
		return;
	io->interest = interest;
	(void)event_del(io->event);
	if (interest == 0)
		return;
	if ((interest & LOOP_READ) != 0)
		events = (short)(events | EV_READ);
	if ((interest & LOOP_WRITE) != 0)
		events = (short)(events | EV_WRITE);
	(void)event_assign(io->event, io->base, io->fd, events, on_io, io);
	(void)event_add(io->event, NULL);
}

void loop_io_free(struct loop_io *io)
{
	if (io == NULL)
		return;
	event_free(io->event);
	free(io);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct loop_timer *timer = arg;

	(void)fd;
	(void)what;
	timer->fn(timer->arg);
}

int loop_timer_new(struct loop *loop, loop_fn *fn, void *arg, struct loop_timer **ret,
		   struct err *err)
{
	struct loop_timer *timer = mem_new0(1, sizeof(*timer));

	timer->event = event_new(loop->base, -1, 0, on_timer, timer);
	if (timer->event == NULL) {
		free(timer);
		return err_set(err, ERR_LIMIT, "no memory for a timer");
	}
	timer->fn = fn;
	timer->arg = arg;
	*ret = timer;
	return 0;
}

void loop_timer_set(struct loop_timer *timer, uint64_t ms)
{
	const struct timeval after = { .tv_sec = (time_t)(ms / 1000),
				       .tv_usec = (suseconds_t)(ms % 1000 * 1000) };

	(void)event_add(timer->event, &after);
}

void loop_timer_clear(struct loop_timer *timer)
{
	(void)event_del(timer->event);
}

void loop_timer_free(struct loop_timer *timer)
{
	if (timer == NULL)
		return;
	event_free(timer->event);
	free(timer);
}

static void on_signal(evutil_socket_t sig, short what, void *arg)
{
	struct loop_signal_watch *watch = arg;

	(void)sig;
	(void)what;
	watch->fn(watch->arg);
}

int loop_signal(struct loop *loop, int sig, loop_fn *fn, void *arg, struct err *err)
{
	struct loop_signal_watch *watch = &loop->signals[loop->signal_count];

	if (loop->signal_count == SIGNALS_MAX)
		return err_set(err, ERR_LIMIT, "too many signals");
	watch->fn = fn;
	watch->arg = arg;
	watch->event = evsignal_new(loop->base, sig, on_signal, watch);
	if (watch->event == NULL || event_add(watch->event, NULL) < 0)
		return err_set(err, ERR_SYSTEM, "watch signal %d", sig);
	loop->signal_count++;
	return 0;
}
