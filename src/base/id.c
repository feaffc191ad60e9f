/*
 * id.c - sortable, unguessable identifiers.
 *
 * Runs in:  every trusted process.
 * Reads:    the clock and getrandom().
 * Never:    repeats an identifier.
 */
#include "base/id.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

void id_time(uint64_t ms, char ret[ID_TIME_SIZE])
{
	for (int i = ID_TIME_SIZE - 2; i >= 0; i--) {
		ret[i] = digits[ms & 31u];
		ms >>= 5;
	}
	ret[ID_TIME_SIZE - 1] = '\0';
}

int id_new(char ret_id[ID_SIZE], const char *prefix, struct err *err)
{
	uint8_t random[10];
	char text[27];
	struct timespec now;
	unsigned bits = 0, nbits = 0;
	size_t out = 10;

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return err_sys(err, "getrandom");
	(void)clock_gettime(CLOCK_REALTIME, &now);
	id_time((uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u, text);
	for (size_t i = 0; i < sizeof(random); i++) {
		bits = (bits << 8) | random[i];
		nbits += 8;
		while (nbits >= 5) {
			nbits -= 5;
			text[out++] = digits[(bits >> nbits) & 31u];
		}
	}
	text[26] = '\0';
	(void)snprintf(ret_id, ID_SIZE, "%s_%s", prefix, text);
	return 0;
}

bool id_is_name(const char *text, size_t len, const char *prefix)
{
	const size_t prefix_len = strlen(prefix);

	if (len == 0 || len > ID_NAME_MAX)
		return false;
	if (len > prefix_len && memcmp(text, prefix, prefix_len) == 0 && text[prefix_len] == '_')
		return false;
	for (size_t i = 0; i < len; i++)
		if (memchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-",
			   text[i], 65) == NULL)
			return false;
	return true;
}
