/*
 * operate.h - while it runs: ready or not, reload, drain, stop, upgrade, the service manager.
 */
#pragma once

#include "base/err.h"
#include "loop/loop.h"

struct request;
struct config;
struct host;
struct job;

/* ---- ready.c ---- */
void readiness_done(struct job *job);

/* ---- operate.c ---- */
void operate_apply(struct host *host); /* what the configuration says, to whom it concerns */
loop_fn operate_reload, operate_stop, operate_upgrade; /* of a host */
void operate_tick(struct host *host);
/* Instead of ending: the new binary, with the listening socket. Returns an exit status. */
int operate_become(struct host *host);
int operate_signal(const struct config *config, int sig, struct err *err);

/* ---- notify.c ---- */
void notify_manager(const char *state);
