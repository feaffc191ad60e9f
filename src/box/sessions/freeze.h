/* freeze.h - a box that stands still until its client says go on. */
#pragma once

#include "box/state.h"

int freeze_begin(struct warden *warden, struct session *session, struct err *err);
void freeze_end(struct session *session); /* also when it is not frozen */
bool freeze_allows(const struct session *session, uint16_t type); /* of a request, just now */
