/* host_name.h - whether a request may be meant for us, by the name that it was sent to. Pure. */
#pragma once

#include <stdbool.h>

/*
 * `host`: a Host header. Good are addresses, "localhost", names below it, and those of `allowed`
 * ("a.example, b.example") with the names below each.
 */
bool host_name_is_allowed(const char *host, const char *allowed);
