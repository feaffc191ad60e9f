/* driver_process.h - operations of reckon-driver on processes, see driver.c. */
#pragma once

#include <reckon_process.h>

#include "codec/json_read.h"

/* Runs a "process_…" operation; `session` is the one in the line, or NULL. False: another one. */
bool driver_process(const char *op, const struct json_value *line, reckon_session *session);

/* Defined in driver.c. */
void say(const char *json);
void say_failed(int code, const char *message, const char *remedy);
void say_error(const reckon_error *err);
const char *text_of(const struct json_value *line, const char *key);
uint64_t number_of(const struct json_value *line, const char *key);
