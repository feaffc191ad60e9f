/*
 * refuse.h - Reckon's own error format, for dialects whose protocol defines none.
 */
#pragma once

#include "httpd/httpd.h"

/* For `refuse` of a struct dialect. */
void refuse_as_reckon(struct request *request, const struct refusal *refusal);
