/* template.h - templates, their zygotes, and when these are replaced. */
#pragma once

#include "box/state.h"

/* template.c */
int template_find(struct warden *warden, const char *name, struct template **ret, struct err *err);
void template_drop(struct warden *warden, struct template *of);

/* env.c: fill `env` with at most `max` - 1 variables and a NULL; return how many. */
size_t template_zygote_env(const struct template *of, const char **env, size_t max);
/* The variables that every other program of the template has. */
size_t template_env(const struct template *of, const char **env, size_t max);

/* zygote.c */
/* The zygote of this kind when it is warm. 0 and *ret NULL: still warming up, try again. */
int zygote_of(struct warden *warden, struct template *of, unsigned kind,
		    struct zygote_proc **ret, struct err *err);
int zygote_start(struct warden *warden, struct zygote_proc *zygote, struct err *err);
void zygote_forget(struct warden *warden, struct zygote_proc *zygote); /* kills it */
void zygote_ended(struct warden *warden, pid_t pid);
bool zygote_is_one(struct warden *warden, pid_t pid);
/* Chooses the zygote for a kernel; *ret NULL: it is still warming up. */
int zygote_pick(struct warden *warden, struct template *of, const char *language,
		   uint32_t flags, struct zygote_proc **ret, enum warden_warmth *ret_warmth,
		   struct err *err);

/* rotate.c */
void rotate_start(struct warden *warden); /* starts successors of due zygotes */
