/*
 * image.c - writes a struct of the field table into a frame and reads it back.
 *
 * Runs in:  reckond and the dialects.
 * Reads:    frames of a process that an attacker may control.
 * Never:    trusts a length or a count before it has that many bytes.
 */
#include "api/image.h"

#include <string.h>

#include "api/check.h"

#define NOT_GIVEN UINT32_MAX

/* ---- writing -------------------------------------------------------------------------------- */

static int write_u32(uint32_t value, struct buf *ret, struct err *err)
{
	return buf_add(ret, &value, sizeof(value), err);
}

static int write_bytes(const char *data, size_t len, struct buf *ret, struct err *err)
{
	if (data == NULL)
		return write_u32(NOT_GIVEN, ret, err);
	if (len >= NOT_GIVEN)
		return err_set(err, ERR_LIMIT, "a field of %zu bytes", len);
	if (write_u32((uint32_t)len, ret, err) < 0)
		return (int)err->code;
	return len > 0 ? buf_add(ret, data, len, err) : 0;
}

static int write_text(const char *text, struct buf *ret, struct err *err)
{
	return write_bytes(text, text != NULL ? strlen(text) : 0, ret, err);
}

static int write_list(const struct api_field *field, const struct api_list *list, struct buf *ret,
		      struct err *err)
{
	const char *at = list->items;

	if (list->count > field->most)
		return err_set(err, ERR_LIMIT, "%s has %zu entries", field->name, list->count);
	if (write_u32((uint32_t)list->count, ret, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < list->count; i++) {
		if ((field->kind == API_ENV
			     ? write_text(((const char *const *)list->items)[i], ret, err)
			     : api_image_write(field->type, at, ret, err)) < 0)
			return (int)err->code;
		at += field->kind == API_MANY ? field->type->size : 0;
	}
	return 0;
}

static int write_field(const struct api_field *field, const void *value, struct buf *ret,
		       struct err *err)
{
	const bool is_given = api_is_given(field, value);
	const void *at = api_at(field, value);
	unsigned word;

	if (field->given_offset != API_NO_OFFSET) {
		if (buf_addc(ret, (char)is_given, err) < 0)
			return (int)err->code;
		if (!is_given)
			return 0;
	}
	switch (field->kind) {
	case API_FLAG:
		return buf_addc(ret, (char)*(const bool *)at, err);
	case API_NUMBER:
	case API_SECONDS:
	case API_TIME:
	case API_MONEY:
	case API_WORDS:
		return buf_add(ret, at, sizeof(uint64_t), err);
	case API_TEXT:
	case API_ID:
		return write_text(*(const char *const *)at, ret, err);
	case API_ONE:
		if (buf_addc(ret, (char)is_given, err) < 0)
			return (int)err->code;
		return is_given ? api_image_write(field->type, *(const void *const *)at, ret, err)
				: 0;
	case API_CODE:
	case API_JSON:
	case API_OBJECT:
	case API_BASE64:
		return write_bytes(((const struct api_bytes *)at)->data,
				   ((const struct api_bytes *)at)->len, ret, err);
	case API_WORD:
		memcpy(&word, at, sizeof(word));
		return buf_addc(ret, (char)word, err);
	case API_ENV:
	case API_MANY:
		return write_list(field, at, ret, err);
	}
	return err_set(err, ERR_PROTOCOL, "%s is of no kind", field->name);
}

int api_image_write(const struct api_type *type, const void *value, struct buf *ret,
		    struct err *err)
{
	for (size_t i = 0; i < type->count; i++)
		if (write_field(&type->fields[i], value, ret, err) < 0)
			return (int)err->code;
	return 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

static int read_raw(struct api_bytes *rest, void *ret, size_t len, struct err *err)
{
	if (rest->len < len)
		return err_set(err, ERR_PROTOCOL, "a frame that ends too soon");
	memcpy(ret, rest->data, len);
	rest->data += len;
	rest->len -= len;
	return 0;
}

static int read_bool(struct api_bytes *rest, bool *ret, struct err *err)
{
	unsigned char byte;

	if (read_raw(rest, &byte, 1, err) < 0)
		return (int)err->code;
	if (byte > 1)
		return err_set(err, ERR_PROTOCOL, "a flag that is %u", byte);
	*ret = byte != 0;
	return 0;
}

/* `data` stays NULL if the field is not given. */
static int read_bytes(struct api_bytes *rest, struct api_bytes *ret, struct err *err)
{
	uint32_t len;

	if (read_raw(rest, &len, sizeof(len), err) < 0)
		return (int)err->code;
	if (len == NOT_GIVEN)
		return 0;
	if (len > rest->len)
		return err_set(err, ERR_PROTOCOL, "a frame that ends too soon");
	*ret = (struct api_bytes){ rest->data, len };
	rest->data += len;
	rest->len -= len;
	return 0;
}

static int read_text(struct api_bytes *rest, struct arena *arena, const char **ret,
		     struct err *err)
{
	struct api_bytes bytes = { 0 };

	if (read_bytes(rest, &bytes, err) < 0)
		return (int)err->code;
	if (bytes.data == NULL)
		return 0;
	if (bytes.len > 0 && memchr(bytes.data, '\0', bytes.len) != NULL)
		return err_set(err, ERR_PROTOCOL, "a text with a NUL byte");
	*ret = arena_text(arena, bytes.data, bytes.len);
	return 0;
}

static int read_struct(const struct api_type *type, struct api_bytes *rest, struct arena *arena,
		       void *ret, struct err *err);

static int read_one(const struct api_field *field, struct api_bytes *rest, struct arena *arena,
		    const void **ret, struct err *err)
{
	bool is_given;
	void *value;

	if (read_bool(rest, &is_given, err) < 0)
		return (int)err->code;
	if (!is_given)
		return 0;
	value = arena_new(arena, 1, field->type->size);
	*ret = value;
	return read_struct(field->type, rest, arena, value, err);
}

static int read_each(const struct api_field *field, struct api_bytes *rest, struct arena *arena,
		     void *ret, struct err *err)
{
	const char **text = ret;

	if (field->kind == API_MANY)
		return read_struct(field->type, rest, arena, ret, err);
	if (read_text(rest, arena, text, err) < 0)
		return (int)err->code;
	return *text != NULL ? 0 : err_set(err, ERR_PROTOCOL, "%s without a text", field->name);
}

static int read_list(const struct api_field *field, struct api_bytes *rest, struct arena *arena,
		     struct api_list *ret, struct err *err)
{
	const size_t size = field->kind == API_MANY ? field->type->size : sizeof(const char *);
	uint32_t count;
	char *at;

	if (read_raw(rest, &count, sizeof(count), err) < 0)
		return (int)err->code;
	/* Each entry takes at least one byte. */
	if (count > field->most || count > rest->len)
		return err_set(err, ERR_PROTOCOL, "%s of %u entries", field->name, count);
	if (count == 0)
		return 0;
	at = arena_new(arena, count, size);
	*ret = (struct api_list){ at, count };
	for (uint32_t i = 0; i < count; i++, at += size)
		if (read_each(field, rest, arena, at, err) < 0)
			return (int)err->code;
	return 0;
}

static int read_field(const struct api_field *field, struct api_bytes *rest, struct arena *arena,
		      void *ret, struct err *err)
{
	void *to = api_to(field, ret);
	bool is_given = true;
	unsigned char byte;
	unsigned word;

	if (field->given_offset != API_NO_OFFSET) {
		if (read_bool(rest, &is_given, err) < 0)
			return (int)err->code;
		if (!is_given)
			return 0;
		api_set_given(field, ret);
	}
	switch (field->kind) {
	case API_FLAG:
		return read_bool(rest, to, err);
	case API_NUMBER:
	case API_SECONDS:
	case API_TIME:
	case API_MONEY:
	case API_WORDS:
		return read_raw(rest, to, sizeof(uint64_t), err);
	case API_TEXT:
	case API_ID:
		return read_text(rest, arena, to, err);
	case API_ONE:
		return read_one(field, rest, arena, to, err);
	case API_CODE:
	case API_JSON:
	case API_OBJECT:
	case API_BASE64:
		return read_bytes(rest, to, err);
	case API_WORD:
		if (read_raw(rest, &byte, 1, err) < 0)
			return (int)err->code;
		word = byte;
		memcpy(to, &word, sizeof(word));
		return 0;
	case API_ENV:
	case API_MANY:
		return read_list(field, rest, arena, to, err);
	}
	return err_set(err, ERR_PROTOCOL, "%s is of no kind", field->name);
}

static int read_struct(const struct api_type *type, struct api_bytes *rest, struct arena *arena,
		       void *ret, struct err *err)
{
	for (size_t i = 0; i < type->count; i++)
		if (read_field(&type->fields[i], rest, arena, ret, err) < 0)
			return (int)err->code;
	return 0;
}

int api_image_read(const struct api_type *type, struct api_bytes *rest, struct arena *arena,
		   void *ret, struct err *err)
{
	if (read_struct(type, rest, arena, ret, err) < 0)
		return (int)err->code;
	if (api_check(type, ret, err) < 0) {
		err->code = ERR_PROTOCOL;
		return ERR_PROTOCOL;
	}
	return 0;
}
