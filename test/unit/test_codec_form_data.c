/*
 * test_codec_form_data.c - multipart forms: parts, names, contents like boundaries, malformed ones.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    accepts an incomplete form.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "codec/form_data.h"

#define TYPE "multipart/form-data; boundary=b"

static struct form_part part;

UNIT_TEST(test_parts_are_read_in_order)
{
	static const char body[] =
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a/\\\"q\\\"; x.txt\"\r\n"
		"Content-Type: text/plain\r\n\r\n-\r\n--\r\n-b\r\n"
		"--b\r\ncontent-disposition: form-data; name=other\r\n\r\n\r\n--b--\r\n";
	struct form_data form;
	struct err err;

	assert_int_equal(form_data_begin(TYPE, body, sizeof(body) - 1, &form, &err), 0);
	assert_int_equal(form_data_next(&form, &part, &err), 1);
	assert_string_equal(part.name, "file");
	assert_string_equal(part.filename, "a/\"q\"; x.txt");
	assert_int_equal(part.len, strlen("-\r\n--\r\n-b"));
	assert_memory_equal(part.data, "-\r\n--\r\n-b", part.len);
	assert_int_equal(form_data_next(&form, &part, &err), 1);
	assert_string_equal(part.name, "other");
	assert_false(part.has_filename);
	assert_int_equal(part.len, 0);
	assert_int_equal(form_data_next(&form, &part, &err), 0);
}

UNIT_TEST(test_malformed_forms_are_refused)
{
	static const char *const bodies[] = {
		"", "--c\r\n\r\nx\r\n--c--", "--b", "--b\r\nContent-Disposition: form-data; name=\"file",
		"--b\r\n\r\nno end", "--b\r\nContent-Disposition: form-data; name=\"f\r\n\r\nx\r\n--b--",
		"--bx\r\n\r\n\r\n--b--",
	};
	struct form_data form;
	struct err err;

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		if (form_data_begin(TYPE, bodies[i], strlen(bodies[i]), &form, &err) == 0)
			assert_int_equal(form_data_next(&form, &part, &err), ERR_INVALID);
	assert_int_equal(form_data_begin("multipart/form-data", "--b--", 5, &form, &err), ERR_INVALID);
	assert_int_equal(form_data_begin("multipart/form-data; boundary=\"", "--b--", 5, &form, &err),
			 ERR_INVALID);
}

UNIT_TEST(test_the_length_of_a_name_is_limited)
{
	static char body[2 * FORM_DATA_NAME_MAX];
	const size_t len = strlen(strcpy(body, "--b\r\nContent-Disposition: form-data; name=\""));
	struct form_data form;
	struct err err;

	/* The limit includes the NUL. */
	for (size_t size = FORM_DATA_NAME_MAX - 1; size <= FORM_DATA_NAME_MAX; size++) {
		memset(body + len, 'x', size);
		strcpy(body + len + size, "\"\r\n\r\n\r\n--b--");
		assert_int_equal(form_data_begin(TYPE, body, strlen(body), &form, &err), 0);
		assert_int_equal(form_data_next(&form, &part, &err),
				 size == FORM_DATA_NAME_MAX ? ERR_INVALID : 1);
	}
}

UNIT_TEST(test_the_length_of_a_boundary_is_limited)
{
	char type[FORM_DATA_BOUNDARY_MAX + 64];
	const size_t len = strlen(strcpy(type, "multipart/form-data; boundary="));
	struct form_data form;
	struct err err;

	/* The limit includes the NUL. */
	for (size_t size = FORM_DATA_BOUNDARY_MAX - 1; size <= FORM_DATA_BOUNDARY_MAX; size++) {
		char body[2 * FORM_DATA_BOUNDARY_MAX];
		int rc;

		memset(type + len, 'b', size);
		type[len + size] = '\0';
		(void)snprintf(body, sizeof(body), "--%s--", type + len);
		rc = form_data_begin(type, body, strlen(body), &form, &err);
		assert_int_equal(rc, size == FORM_DATA_BOUNDARY_MAX ? ERR_INVALID : 0);
		if (rc == 0)
			assert_int_equal(form_data_next(&form, &part, &err), 0);
	}
}
