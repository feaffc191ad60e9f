/*
 * image_size.c - width and height of an image, from its header alone.
 *
 * Runs in:  libreckon.
 * Reads:    hostile bytes.
 * Never:    decodes anything, or reads past the length it was given.
 */
#include "lib/record/image_size.h"

#include <string.h>

static uint32_t big16(const unsigned char *at)
{
	return (uint32_t)at[0] << 8 | at[1];
}

/* Walks the segments of a JPEG up to the frame header, which has the size. */
static bool jpeg_size(const unsigned char *at, size_t len, uint32_t *ret_width,
		      uint32_t *ret_height)
{
	size_t i = 2;

	while (i + 9 <= len && at[i] == 0xff) {
		unsigned char marker = at[i + 1];
		uint32_t segment = big16(at + i + 2);
		bool is_frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 &&
				marker != 0xc8 && marker != 0xcc;

		if (is_frame) {
			*ret_height = big16(at + i + 5);
			*ret_width = big16(at + i + 7);
			return true;
		}
		if (marker == 0xff) { /* a fill byte */
			i++;
			continue;
		}
		if (segment < 2)
			return false;
		i += 2 + (size_t)segment;
	}
	return false;
}

bool image_size(const void *bytes, size_t len, uint32_t *ret_width, uint32_t *ret_height)
{
	const unsigned char *at = bytes;

	if (len >= 24 && memcmp(at, "\x89PNG\r\n\x1a\n", 8) == 0 &&
	    memcmp(at + 12, "IHDR", 4) == 0) {
		*ret_width = big16(at + 16) << 16 | big16(at + 18);
		*ret_height = big16(at + 20) << 16 | big16(at + 22);
		return true;
	}
	if (len >= 10 && (memcmp(at, "GIF87a", 6) == 0 || memcmp(at, "GIF89a", 6) == 0)) {
		*ret_width = (uint32_t)at[6] | (uint32_t)at[7] << 8;
		*ret_height = (uint32_t)at[8] | (uint32_t)at[9] << 8;
		return true;
	}
	if (len >= 4 && memcmp(at, "\xff\xd8\xff", 3) == 0)
		return jpeg_size(at, len, ret_width, ret_height);
	return false;
}
