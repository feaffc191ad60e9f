/*
 * refuse.h - Reckon's own form of an error, for dialects whose protocol has none.
 */
#pragma once

#include "httpd/httpd.h"

/* A struct dialect's `refuse`. */
void refuse_as_reckon(struct request *request, const struct refusal *refusal);
