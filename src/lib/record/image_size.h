/* image_size.h - width and height of a PNG, GIF or JPEG, from its header alone. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False for other formats, or if the header is not complete. */
bool image_size(const void *bytes, size_t len, uint32_t *ret_width, uint32_t *ret_height);
