/*
 * api.c - the border between reckon.h and the internals.
 *
 * Runs in:  libreckon.
 * Reads:    what the caller passed.
 * Never:    exposes an internal type.
 */
#include "lib/api.h"

#include <string.h>

_Static_assert((int)ERR_INVALID == RECKON_EINVALID && (int)ERR_NOT_FOUND == RECKON_ENOT_FOUND &&
		       (int)ERR_DENIED == RECKON_EDENIED && (int)ERR_LIMIT == RECKON_ELIMIT &&
		       (int)ERR_TIMEOUT == RECKON_ETIMEOUT && (int)ERR_SYSTEM == RECKON_ESYSTEM &&
		       (int)ERR_PROTOCOL == RECKON_EPROTOCOL && (int)ERR_LOST == RECKON_ELOST &&
		       (int)ERR_UNAVAILABLE == RECKON_EUNAVAILABLE &&
		       (int)ERR_KERNEL_LOST == RECKON_EKERNEL_LOST,
	       "the public codes are the inside ones");
_Static_assert(sizeof(((reckon_error *)NULL)->message) == sizeof(((struct err *)NULL)->text) &&
		       sizeof(((reckon_error *)NULL)->remedy) ==
			       sizeof(((struct err *)NULL)->remedy),
	       "messages are copied whole");

int api_fail(reckon_error *ret, const struct err *err)
{
	if (ret != NULL) {
		ret->code = (int)err->code;
		memcpy(ret->message, err->text, sizeof(ret->message));
		memcpy(ret->remedy, err->remedy, sizeof(ret->remedy));
	}
	return (int)err->code;
}

int api_ok(reckon_error *ret)
{
	if (ret != NULL)
		memset(ret, 0, sizeof(*ret));
	return RECKON_OK;
}

int api_options(const char *type, void *ret, size_t size, const void *given, struct err *err)
{
	size_t theirs = 0;

	memset(ret, 0, size);
	if (given == NULL)
		return 0;
	memcpy(&theirs, given, sizeof(theirs));
	if (theirs < sizeof(theirs) || theirs > 65536) {
		(void)err_set(err, ERR_INVALID, "%s.size is %zu", type, theirs);
		return err_remedy(err, "set it to sizeof(%s) and the rest to zero for defaults",
				  type);
	}
	for (size_t i = size; i < theirs; i++)
		if (((const char *)given)[i] != 0) {
			(void)err_set(err, ERR_INVALID,
				      "%s has options this libreckon is too old for", type);
			return err_remedy(err, "update libreckon, or leave the newer fields zero");
		}
	memcpy(ret, given, theirs < size ? theirs : size);
	return 0;
}
