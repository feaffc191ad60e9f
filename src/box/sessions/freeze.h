/* freeze.h - freezes a box until its client thaws it. */
#pragma once

#include "box/state.h"

int freeze_begin(struct warden *warden, struct session *session, struct err *err);
void freeze_end(struct session *session); /* no effect if it is not frozen */
bool freeze_allows(const struct session *session, uint16_t type); /* whether it is answered now */
