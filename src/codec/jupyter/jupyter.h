/*
 * jupyter.h - contents of Jupyter's messages, of events and records (docs/events.md). Pure.
 *
 * Both who speaks ZeroMQ and who speaks WebSocket say the same with them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "codec/json_read.h"
#include "codec/json_write.h"

/* Appends the content of a message of the event's name. False: there is none of that name. */
bool jupyter_content(const char *name, const struct json_value *event, uint64_t count,
		     struct buf *ret, struct err *err);
/* Members of an object: ename, evalue, traceback of a record that is not ok. */
void jupyter_write_failure(struct json_writer *json, const struct json_value *record);
/* Members: data without what only we know, metadata. */
void jupyter_write_bundle(struct json_writer *json, const struct json_value *event);
/* A member that is a value as it was, `otherwise` when there is none. */
void jupyter_write_value(struct json_writer *json, const char *key, const struct json_value *value,
			 const char *otherwise);

/* Cursors: Jupyter counts characters, we count bytes. What is not UTF-8 counts one each. */
size_t jupyter_bytes_of(const char *code, size_t len, int64_t characters);
uint64_t jupyter_characters_of(const char *code, size_t len, size_t bytes);
