/*
 * image.h - the encoding of a struct of the field table in a frame.
 *
 * The fields follow each other in the table's order, in host byte order:
 *
 *   flag                         1 byte, 0 or 1
 *   number seconds time words money    8 bytes
 *   text id code json object base64    length (4 bytes), then the bytes; UINT32_MAX: not given
 *   word                         1 byte, 0: not given
 *   env, many                    count (4 bytes), then each as a text or a struct
 *   one                          1 byte, 0 or 1: whether it is given; then the struct
 *
 * An optional flag, number or time has one byte before it: 0, or 1 if it is given.
 */
#pragma once

#include "api/arena.h"
#include "api/describe.h"
#include "base/buf.h"
#include "base/err.h"

/* A longer JSON document that is the whole answer travels as a file next to the image. */
#define API_APART_MIN ((size_t)256 * 1024)

int api_image_write(const struct api_type *type, const void *value, struct buf *ret,
		    struct err *err);
/*
 * Takes one image from the front of `rest` and decodes it into `ret`, a zeroed struct of `type`;
 * runs api_check() on it. Bytes point into `rest`, all else into the arena. ERR_PROTOCOL: the
 * sender is broken.
 */
int api_image_read(const struct api_type *type, struct api_bytes *rest, struct arena *arena,
		   void *ret, struct err *err);
