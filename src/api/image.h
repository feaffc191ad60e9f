/*
 * image.h - a struct of the field table in a frame.
 *
 * Its fields stand one after the other, in the order of the table, in host order:
 *
 *   flag                         1 byte, 0 or 1
 *   number seconds time words money    8 bytes
 *   text id code json object base64    length (4 bytes), then so many; UINT32_MAX: not given
 *   word                         1 byte, 0: not given
 *   env, many                    count (4 bytes), then each as a text or a struct
 *   one                          1 byte, 0 or 1: whether it is there; then the struct
 *
 * A flag, number or time that may be left out has one byte before it: 0, or 1 when it is there.
 */
#pragma once

#include "api/arena.h"
#include "api/describe.h"
#include "base/buf.h"
#include "base/err.h"

/* JSON that is a whole answer travels as a file of its own beside the image when it is longer. */
#define API_APART_MIN ((size_t)256 * 1024)

int api_image_write(const struct api_type *type, const void *value, struct buf *ret,
		    struct err *err);
/*
 * Takes one from the front of `rest` into `ret`, a zeroed struct of `type`; api_check() has judged
 * it. Bytes point into `rest`, all else is of the arena. ERR_PROTOCOL: whoever sent it is broken.
 */
int api_image_read(const struct api_type *type, struct api_bytes *rest, struct arena *arena,
		   void *ret, struct err *err);
