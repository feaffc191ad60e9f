/* hostdir.h - directories of the host in a box. */
#pragma once

#include "box/state.h"

bool hostdir_target_is_safe(const char *target); /* of WARDEN_PATH_SIZE bytes, perhaps unterminated */
int hostdir_mount(struct warden *warden, const struct session *session,
		  const struct warden_open *open, const int *fds, struct err *err);
