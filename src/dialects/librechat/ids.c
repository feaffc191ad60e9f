/*
 * ids.c - converts Reckon's ids to LibreChat's ids of 21 characters and back.
 *
 * Runs in:  reckon-front-librechat.
 * Reads:    ids of any client.
 * Never:    says whether an object with the id exists.
 *
 * 21 characters of 64 are 126 bits. A session's id has 48 bits of time, of which the first two are
 * 0 until the year 4199, and 80 random ones. An artifact's id has 32 hexadecimal digits, of which
 * 31 identify it within its session; the two remaining bits are flags.
 */
#include <stdio.h>
#include <string.h>

#include "dialects/librechat/librechat.h"

__extension__ typedef unsigned __int128 wide;

static const char sixty_four[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
static const char crockford[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
static const char hexadecimal[] = "0123456789abcdef";

#define BITS 126
#define SESSION_CHARS 26
#define ARTIFACT_CHARS 31

/* Reads `count` characters of an alphabet of 2^bits; false if there are others. */
static bool read_chars(const char *text, size_t count, const char *alphabet, unsigned bits,
		       wide *ret)
{
	*ret = 0;
	for (size_t i = 0; i < count; i++) {
		const char *at = text[i] != '\0' ? strchr(alphabet, text[i]) : NULL;

		if (at == NULL)
			return false;
		*ret = *ret << bits | (wide)(size_t)(at - alphabet);
	}
	return true;
}

static void write_chars(wide value, size_t count, const char *alphabet, unsigned bits, char *ret)
{
	ret[count] = '\0';
	while (count-- > 0) {
		ret[count] = alphabet[(unsigned)value & ((1u << bits) - 1)];
		value >>= bits;
	}
}

void librechat_session_id(const char *session, char ret[LIBRECHAT_ID_SIZE])
{
	wide value;

	ret[0] = '\0';
	/* The first of the 26 characters has 3 bits, the others 5. */
	if (strncmp(session, "se_", 3) == 0 && strlen(session) == 3 + SESSION_CHARS &&
	    session[3] <= '7' && read_chars(session + 3, SESSION_CHARS, crockford, 5, &value) &&
	    value >> BITS == 0)
		write_chars(value, LIBRECHAT_ID_LEN, sixty_four, 6, ret);
}

bool librechat_session_of(const char *id, char ret[OURS_SIZE])
{
	wide value;

	if (strlen(id) != LIBRECHAT_ID_LEN ||
	    !read_chars(id, LIBRECHAT_ID_LEN, sixty_four, 6, &value))
		return false;
	(void)snprintf(ret, OURS_SIZE, "se_");
	write_chars(value, SESSION_CHARS, crockford, 5, ret + 3);
	return true;
}

void librechat_file_id(const char *artifact, unsigned flags, char ret[LIBRECHAT_ID_SIZE])
{
	wide value;

	ret[0] = '\0';
	if (strncmp(artifact, "ar_", 3) == 0 &&
	    read_chars(artifact + 3, ARTIFACT_CHARS, hexadecimal, 4, &value))
		write_chars(value << 2 | (flags & 3u), LIBRECHAT_ID_LEN, sixty_four, 6, ret);
}

bool librechat_artifact_of(const char *id, char ret[OURS_SIZE], unsigned *ret_flags)
{
	wide value;

	if (strlen(id) != LIBRECHAT_ID_LEN ||
	    !read_chars(id, LIBRECHAT_ID_LEN, sixty_four, 6, &value))
		return false;
	*ret_flags = (unsigned)value & 3u;
	(void)snprintf(ret, OURS_SIZE, "ar_");
	write_chars(value >> 2, ARTIFACT_CHARS, hexadecimal, 4, ret + 3);
	return true;
}
