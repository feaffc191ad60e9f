/* host_name.h - checks by the Host header whether a request is meant for this server. No side
 * effects. */
#pragma once

#include <stdbool.h>

/*
 * `host`: a Host header. Allowed are IP addresses, "localhost", the names of `allowed` ("a.example,
 * b.example"), and all names below any of them.
 */
bool host_name_is_allowed(const char *host, const char *allowed);
