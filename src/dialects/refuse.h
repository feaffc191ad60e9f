/*
 * refuse.h - Reckon's own error format, for dialects whose protocol defines none.
 */
#pragma once

#include "httpd/httpd.h"

/* For `refuse` of a struct dialect. */
void refuse_as_reckon(struct request *request, const struct refusal *refusal);

/* The lines of headers that go with it, each with CRLF. */
#define REFUSE_HEADERS_SIZE 320u
void refuse_headers(const struct refusal *refusal, char ret[REFUSE_HEADERS_SIZE]);
