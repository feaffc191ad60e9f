/* denial.h - system calls that the filter reports. */
#pragma once

#include "box/state.h"

void denial_ready(struct warden *warden, struct watch *watch, uint32_t events);
void denial_resume(struct warden *warden);
