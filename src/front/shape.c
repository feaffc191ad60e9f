/*
 * shape.c - fields of a frame as the JSON of the API.
 *
 * Runs in:  reckon-front.
 * Reads:    frames of reckond.
 * Never:    writes JSON by hand; what is embedded was checked when it came in.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/api.h"
#include "codec/json_write.h"
#include "front/front.h"

int shape_nothing(const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	(void)items, (void)count;
	return buf_adds(ret, "{}", err);
}

int shape_interrupt(const struct kernel_item *items, size_t count, struct buf *ret,
		    struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_bool(&json, "interrupted", front_u64(items, count, FRONT_TAG_COUNT, 0) > 0);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

int shape_error(const char *code, const char *message, const char *cause, const char *remedy,
		struct buf *ret, struct err *err)
{
	return shape_error_more(code, message, cause, remedy, NULL, 0, ret, err);
}

int shape_error_more(const char *code, const char *message, const char *cause, const char *remedy,
		     const struct kernel_item *items, size_t count, struct buf *ret,
		     struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_key(&json, "error");
	json_write_object_begin(&json);
	json_write_member_string(&json, "code", code);
	json_write_member_string(&json, "message", message);
	json_write_member_string(&json, "cause", cause[0] != '\0' ? cause : NULL);
	json_write_member_string(&json, "remedy", remedy[0] != '\0' ? remedy : NULL);
	shape_refusal(&json, items, count);
	json_write_object_end(&json);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}
