/*
 * operate.h - reload, drain, stop and upgrade, readiness, the service manager.
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
void operate_apply(struct host *host); /* applies the configuration */
loop_fn operate_reload, operate_stop, operate_upgrade; /* their argument is the host */
void operate_tick(struct host *host);
/*
 * Executes the new binary, which gets the listening socket. Returns an exit status if that fails.
 */
int operate_become(struct host *host);
int operate_signal(const struct config *config, int sig, struct err *err);

/* ---- notify.c ---- */
void notify_manager(const char *state);
