/*
 * fuzz_cli_parse.c - for any argument, accepted values are within their documented limits.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes, as one argument.
 * Never:    opens what they name.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "cli/options/parse.h"
#include "cli/term/term.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int condition)
{
	if (!condition)
		abort();
}

static void numbers(const char *text)
{
	uint64_t value = 0, offset = 0, length = 0;
	uint32_t percent = 0;
	struct err err;

	if (parse_duration(text, &value, &err) == 0)
		expect(value > 0);
	if (parse_cpus(text, &percent, &err) == 0)
		expect(percent > 0);
	/* A valid count is also a valid size, of that many bytes. */
	if (parse_count(text, &value, &err) == 0)
		expect(parse_size(text, &offset, &err) == 0 && offset == value);
	else
		(void)parse_size(text, &value, &err);
	if (parse_range(text, &offset, &length, &err) == 0)
		expect(length == 0 || offset + length > offset);
	(void)parse_env(text, &err);
	if (parse_template(text, &err) == 0)
		expect(strchr(text, '/') == NULL && strcmp(text, "..") != 0);
}

static void specs(const char *text)
{
	char *first = NULL, *second = NULL;
	bool writable = false;
	struct err err;

	if (parse_file_spec(text, &first, &second, &err) == 0) {
		expect(first[0] != '\0' && fs_path_is_safe(second));
		free(first);
		free(second);
	}
	first = second = NULL;
	if (parse_mount_spec(text, &first, &second, &writable, &err) == 0) {
		expect(first[0] != '\0');
		expect(second == NULL || (strncmp(second, "/mnt/", 5) == 0 &&
					   fs_path_is_safe(second + 1) &&
					   strcmp(second, "/mnt/data") != 0));
		free(first);
		free(second);
	}
	first = second = NULL;
	if (parse_volume_spec(text, &first, &second, &writable, &err) == 0) {
		expect(first[0] != '\0' && strchr(first, '/') == NULL);
		expect(second == NULL ||
			(strncmp(second, "/mnt/", 5) == 0 && fs_path_is_safe(second + 1)));
		free(first);
		free(second);
	}
	expect(err.code == ERR_OK || err.text[0] != '\0');
}

/* A terminal gets no control characters but newline, return, tab, and ESC for a colour. */
static void shown(const char *text, size_t len)
{
	cleanup_buf struct buf out = BUF_INIT((size_t)1 << 24);
	struct term_filter filter = { .escape = true };
	struct err err;

	expect(term_filter_add(&filter, text, len / 2, &out, &err) == 0);
	expect(term_filter_add(&filter, text + len / 2, len - len / 2, &out, &err) == 0);
	expect(term_filter_end(&filter, &out, &err) == 0);
	for (size_t i = 0; i < out.len; i++) {
		const unsigned char byte = (unsigned char)out.data[i];

		expect(byte >= 0x20 || byte == '\n' || byte == '\r' || byte == '\t' ||
			byte == 0x1b);
		expect(byte != 0x7f);
		if (byte == 0x1b) {
			expect(out.data[i + 1] == '[');
			i += 2 + strspn(out.data + i + 2, "0123456789;:");
			expect(out.data[i] == 'm');
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *text = malloc(size + 1);

	if (text == NULL)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	numbers(text);
	specs(text);
	shown(text, size);
	return 0;
}
