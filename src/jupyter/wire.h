/*
 * wire.h - the parts of a message of Jupyter's protocol on ZeroMQ, and its signature. Pure.
 *
 *   identity… <IDS|MSG> signature header parent_header metadata content buffer…
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define WIRE_DELIMITER "<IDS|MSG>"
#define WIRE_SIGNATURE_LEN 64u
#define WIRE_PARTS_MAX 64u

struct wire_part {
	const void *data;
	size_t len;
};

struct wire_message {
	size_t identities; /* number of parts before the delimiter */
	struct wire_part signature, header, parent, metadata, content;
};

/*
 * Finds the parts and checks the signature. ERR_INVALID: parts are missing; ERR_DENIED: the
 * signature is wrong. *ret points to the caller's data.
 */
int wire_read(const struct wire_part *parts, size_t count, const char *key,
	      struct wire_message *ret, struct err *err);

/* The signature of header, parent, metadata and content; "" if the key is empty. */
void wire_sign(const char *key, const struct wire_part four[4],
	       char ret[WIRE_SIGNATURE_LEN + 1]);
