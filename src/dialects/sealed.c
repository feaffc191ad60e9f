/*
 * sealed.c - encodes a provider's sealed reasoning for clients of other APIs, and decodes it.
 *
 * Runs in:  the processes that speak HTTP, and tests.
 * Reads:    text that any client may have invented; the reader of the conversation checks it again.
 * Never:    passes on anything but a JSON object.
 */
#include "dialects/sealed.h"

#include "base/cleanup.h"
#include "codec/base64.h"

int sealed_text(const struct json_value *sealed, struct buf *ret, struct err *err)
{
	cleanup_buf struct buf json = BUF_INIT(SEALED_MAX);

	if (json_read_dump(sealed, &json, err) < 0)
		return (int)err->code;
	return base64_encode(json.data, json.len, ret, err);
}

/* Accepts both alphabets: some SDKs write base64 in the other one than they read. */
static int copy_plain(const char *text, size_t len, struct buf *ret, struct err *err)
{
	if (buf_add(ret, text, len, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < len; i++) {
		if (ret->data[i] == '-')
			ret->data[i] = '+';
		else if (ret->data[i] == '_')
			ret->data[i] = '/';
	}
	return 0;
}

bool sealed_write(const char *text, size_t len, struct json_writer *writer)
{
	cleanup_buf struct buf bytes = BUF_INIT(SEALED_MAX), json = BUF_INIT(SEALED_MAX),
			       plain = BUF_INIT(SEALED_MAX * 2);
	enum json_kind kind;
	struct err err;

	if (copy_plain(text, len, &plain, &err) < 0 ||
	    base64_decode(plain.data, plain.len, &bytes, &err) < 0 ||
	    json_read_compact(bytes.data, bytes.len, SEALED_MAX, &json, &kind, &err) < 0 ||
	    kind != JSON_KIND_OBJECT)
		return false;
	json_write_raw(writer, json.data, json.len);
	return true;
}
