/* driver_port.h - what reckon-driver does with ports, see driver.c. */
#pragma once

#include <reckon.h>

#include "codec/json_read.h"

/* "port_…" operations; `session` is the one that the line names, or NULL. False: another one. */
bool driver_port(const char *op, const struct json_value *line, reckon_session *session);
