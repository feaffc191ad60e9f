/* driver_port.h - operations of reckon-driver on ports, see driver.c. */
#pragma once

#include <reckon.h>

#include "codec/json_read.h"

/* Runs a "port_…" operation; `session` is the one in the line, or NULL. False: another operation. */
bool driver_port(const char *op, const struct json_value *line, reckon_session *session);
