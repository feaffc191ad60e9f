/*
 * form_data.c - bodies of multipart/form-data (RFC 7578).
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    bodies of any client.
 * Never:    accepts a part without an end.
 */
#include "codec/form_data.h"

#include <string.h>
#include <strings.h>

/* Reads a header's parameter, quoted (with \" and \\, and %22 as browsers write it) or not. */
static int parameter(const char *text, size_t len, const char *name, char *ret, size_t size)
{
	const size_t name_len = strlen(name);
	size_t at = 0, used = 0;

	while (at < len) {
		while (at < len && text[at] != ';')
			at++;
		if (at >= len)
			return 0;
		at++;
		while (at < len && (text[at] == ' ' || text[at] == '\t'))
			at++;
		if (len - at <= name_len || strncasecmp(text + at, name, name_len) != 0 ||
		    text[at + name_len] != '=')
			continue;
		at += name_len + 1;
		if (at < len && text[at] == '"') {
			for (at++; at < len && text[at] != '"'; at++) {
				if (text[at] == '\\' && at + 1 < len &&
				    (text[at + 1] == '"' || text[at + 1] == '\\'))
					at++;
				if (used + 1 >= size)
					return -1;
				ret[used++] = text[at];
			}
			if (at == len)
				return -1;
		} else {
			for (; at < len && text[at] != ';' && text[at] != ' '; at++) {
				if (used + 1 >= size)
					return -1;
				ret[used++] = text[at];
			}
		}
		ret[used] = '\0';
		return memchr(ret, '\0', used) == NULL ? 1 : -1;
	}
	return 0;
}

int form_data_begin(const char *type, const char *body, size_t len, struct form_data *ret,
		    struct err *err)
{
	char boundary[FORM_DATA_BOUNDARY_MAX];

	if (parameter(type, strlen(type), "boundary", boundary, sizeof(boundary)) <= 0 ||
	    boundary[0] == '\0')
		return err_set(err, ERR_INVALID, "multipart/form-data without a boundary");
	memcpy(ret->boundary, "\r\n--", 4);
	memcpy(ret->boundary + 4, boundary, strlen(boundary) + 1);
	ret->boundary_len = 4 + strlen(boundary);
	ret->at = body;
	ret->end = body + len;
	/* The first boundary needs no line break before it. */
	if (len >= ret->boundary_len - 2 &&
	    memcmp(body, ret->boundary + 2, ret->boundary_len - 2) == 0) {
		ret->at += ret->boundary_len - 2;
		return 0;
	}
	ret->at = memmem(body, len, ret->boundary, ret->boundary_len);
	if (ret->at == NULL)
		return err_set(err, ERR_INVALID, "the boundary of the parts is not there");
	ret->at += ret->boundary_len;
	return 0;
}

static int take_header(const char *line, size_t len, struct form_part *ret, struct err *err)
{
	static const char name[] = "content-disposition:";
	int found;

	if (len < sizeof(name) - 1 || strncasecmp(line, name, sizeof(name) - 1) != 0)
		return 0;
	found = parameter(line, len, "name", ret->name, sizeof(ret->name));
	if (found >= 0) {
		found = parameter(line, len, "filename", ret->filename, sizeof(ret->filename));
		ret->has_filename = found > 0;
	}
	return found >= 0 ? 0 : err_set(err, ERR_INVALID, "a part whose name is malformed");
}

int form_data_next(struct form_data *form, struct form_part *ret, struct err *err)
{
	const char *end;

	ret->name[0] = ret->filename[0] = '\0';
	ret->has_filename = 0;
	if (form->end - form->at >= 2 && memcmp(form->at, "--", 2) == 0)
		return 0;
	if (form->end - form->at < 2 || memcmp(form->at, "\r\n", 2) != 0)
		return err_set(err, ERR_INVALID, "a part does not begin behind its boundary");
	form->at += 2;
	while (form->end - form->at >= 2 && memcmp(form->at, "\r\n", 2) != 0) {
		end = memmem(form->at, (size_t)(form->end - form->at), "\r\n", 2);
		if (end == NULL)
			return err_set(err, ERR_INVALID, "the head of a part has no end");
		if (take_header(form->at, (size_t)(end - form->at), ret, err) < 0)
			return (int)err->code;
		form->at = end + 2;
	}
	if (form->end - form->at < 2)
		return err_set(err, ERR_INVALID, "the head of a part has no end");
	/* In an empty part the line break after its head belongs to the next boundary. */
	end = memmem(form->at, (size_t)(form->end - form->at), form->boundary, form->boundary_len);
	if (end == NULL)
		return err_set(err, ERR_INVALID, "a part has no end");
	ret->data = end > form->at ? form->at + 2 : form->at;
	ret->len = end > form->at ? (size_t)(end - ret->data) : 0;
	form->at = end + form->boundary_len;
	return 1;
}
