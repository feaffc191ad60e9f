/*
 * envelope.c - messages of Connect streams.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    bodies of any client.
 * Never:    trusts a length before comparing it with the limit.
 */
#include "codec/envelope.h"

int envelope_read(const char *bytes, size_t len, size_t max, struct envelope *ret, size_t *ret_used,
		  struct err *err)
{
	const unsigned char *head = (const unsigned char *)bytes;
	uint32_t size;

	if (len == 0)
		return 0;
	if ((head[0] & ~(ENVELOPE_COMPRESSED | ENVELOPE_END)) != 0)
		return err_set(err, ERR_INVALID, "an envelope with flags %#x", head[0]);
	if (len < ENVELOPE_HEAD)
		return 0;
	size = (uint32_t)head[1] << 24 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 8 | head[4];
	if (size > max)
		return err_set(err, ERR_LIMIT, "a message of %u bytes, at most %zu are taken", size,
			       max);
	if (len - ENVELOPE_HEAD < size)
		return 0;
	*ret = (struct envelope){ head[0], bytes + ENVELOPE_HEAD, size };
	*ret_used = ENVELOPE_HEAD + size;
	return 1;
}

void envelope_head(unsigned flags, uint32_t len, char ret[ENVELOPE_HEAD])
{
	ret[0] = (char)flags;
	for (unsigned i = 0; i < 4; i++)
		ret[1 + i] = (char)(len >> (24 - 8 * i) & 0xff);
}
