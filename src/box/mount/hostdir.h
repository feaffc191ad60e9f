/* hostdir.h - mounts host directories into a box. */
#pragma once

#include "box/state.h"

/* `target` has WARDEN_PATH_SIZE bytes, perhaps without a NUL. */
bool hostdir_target_is_safe(const char *target);
int hostdir_mount(struct warden *warden, const struct session *session,
		  const struct warden_open *open, const int *fds, struct err *err);
