/*
 * wire.c - HMAC-SHA256 over four frames, in lower-case hexadecimal digits.
 *
 * Runs in:  reckon-jupyter.
 * Reads:    frames from anybody who can reach the ports.
 * Never:    parses the content of a frame; that comes after the check of the signature.
 */
#include "jupyter/wire.h"

#include <sodium.h>
#include <string.h>

void wire_sign(const char *key, const struct wire_part four[4], char ret[WIRE_SIGNATURE_LEN + 1])
{
	unsigned char sum[crypto_auth_hmacsha256_BYTES];
	crypto_auth_hmacsha256_state state;

	ret[0] = '\0';
	if (key[0] == '\0')
		return;
	(void)crypto_auth_hmacsha256_init(&state, (const unsigned char *)key, strlen(key));
	for (size_t i = 0; i < 4; i++)
		if (four[i].len > 0)
			(void)crypto_auth_hmacsha256_update(&state, four[i].data, four[i].len);
	(void)crypto_auth_hmacsha256_final(&state, sum);
	(void)sodium_bin2hex(ret, WIRE_SIGNATURE_LEN + 1, sum, sizeof(sum));
}

static int check(const struct wire_message *message, const char *key, struct err *err)
{
	const struct wire_part four[4] = { message->header, message->parent, message->metadata,
					   message->content };
	char want[WIRE_SIGNATURE_LEN + 1];

	if (key[0] == '\0')
		return 0;
	wire_sign(key, four, want);
	if (message->signature.len != WIRE_SIGNATURE_LEN ||
	    sodium_memcmp(message->signature.data, want, WIRE_SIGNATURE_LEN) != 0)
		return err_set(err, ERR_DENIED, "a message with a wrong signature");
	return 0;
}

int wire_read(const struct wire_part *parts, size_t count, const char *key,
	      struct wire_message *ret, struct err *err)
{
	size_t at = 0;

	while (at < count && (parts[at].len != strlen(WIRE_DELIMITER) ||
			      memcmp(parts[at].data, WIRE_DELIMITER, parts[at].len) != 0))
		at++;
	if (count - at < 6)
		return err_set(err, ERR_INVALID, "a message that lacks parts");
	*ret = (struct wire_message){
		.identities = at,
		.signature = parts[at + 1],
		.header = parts[at + 2],
		.parent = parts[at + 3],
		.metadata = parts[at + 4],
		.content = parts[at + 5],
	};
	return check(ret, key, err);
}
