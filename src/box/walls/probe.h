/* probe.h - which walls stand on this host. */
#pragma once

#include "box/state.h"

void probe_walls(struct warden *warden, struct warden_walls *ret);
int probe_strict(struct warden *warden, struct err *err);
