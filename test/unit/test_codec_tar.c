/*
 * test_codec_tar.c - archive headers round trip; malformed pax records are refused.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    makes a file.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/tar.h"

UNIT_TEST(long_names_round_trip)
{
	static char path[3000], link[3000];
	const struct tar_entry given = { .kind = TAR_LINK, .mode = 0777, .path = path, .link = link };
	cleanup_buf struct buf text = BUF_INIT(1u << 20);
	struct tar_entry entry = { .size = 0 };
	struct tar_reader reader;
	size_t at = 0;
	struct err err;

	memset(path, 'p', sizeof(path) - 1);
	memset(link, 'l', sizeof(link) - 1);
	assert_ok(&err, tar_write_head(&text, &given, &err));
	tar_reader_init(&reader);
	assert_int_equal(tar_read_head(&reader, text.data, &entry, &err), TAR_EXTRA);
	at = TAR_BLOCK;
	assert_ok(&err, tar_read_extra(&reader, text.data + at, (size_t)entry.size, &err));
	at += (size_t)entry.size + tar_padding(entry.size);
	assert_int_equal(tar_read_head(&reader, text.data + at, &entry, &err), TAR_ENTRY);
	assert_int_equal(entry.kind, TAR_LINK);
	assert_string_equal(entry.path, path);
	assert_string_equal(entry.link, link);
	assert_int_equal(at + TAR_BLOCK, text.len);
	tar_reader_done(&reader);
}

/* A folder's name loses the slashes at its end; the root's name stays "/". */
UNIT_TEST(slashes_at_the_end_of_a_name_are_removed)
{
	static const char *const names[][2] = {
		{ "a/", "a" }, { "a//", "a" }, { "/", "/" }, { "//", "/" }
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct tar_entry given = { .kind = TAR_FOLDER,
						 .path = names[i][0],
						 .link = "" };
		cleanup_buf struct buf text = BUF_INIT(1u << 20);
		struct tar_reader reader;
		struct tar_entry entry;
		struct err err;

		assert_ok(&err, tar_write_head(&text, &given, &err));
		tar_reader_init(&reader);
		assert_int_equal(tar_read_head(&reader, text.data, &entry, &err), TAR_ENTRY);
		assert_string_equal(entry.path, names[i][1]);
		tar_reader_done(&reader);
	}
}

/* The longest pax record is "1048576 path=…\n": TAR_EXTRA_MAX bytes. */
UNIT_TEST(the_length_of_a_name_is_limited)
{
	const size_t around = strlen("1048576 path=\n");

	for (size_t over = 0; over < 2; over++) {
		cleanup_free char *path = mem_new0(TAR_EXTRA_MAX + 1, 1);
		cleanup_buf struct buf text = BUF_INIT(3u << 20);
		struct tar_entry entry = { .kind = TAR_FILE, .path = path, .link = "" };
		struct tar_reader reader;
		struct err err;

		memset(path, 'p', TAR_EXTRA_MAX - around + over);
		if (over == 1) {
			assert_err(&err, ERR_LIMIT, tar_write_head(&text, &entry, &err));
			continue;
		}
		assert_ok(&err, tar_write_head(&text, &entry, &err));
		tar_reader_init(&reader);
		assert_int_equal(tar_read_head(&reader, text.data, &entry, &err), TAR_EXTRA);
		assert_int_equal(entry.size, TAR_EXTRA_MAX);
		/* Add one byte to the size and to the header's checksum. */
		text.data[124 + 10]++;
		(void)snprintf(text.data + 148, 7, "%06lo", strtoul(text.data + 148, NULL, 8) + 1);
		assert_err(&err, ERR_PROTOCOL, tar_read_head(&reader, text.data, &entry, &err));
		tar_reader_done(&reader);
	}
}

UNIT_TEST(pax_records_are_parsed_strictly)
{
	static const struct {
		const char *text;
		bool is_good;
	} cases[] = {
		{ "", true },
		{ "9 path=a\n", true },
		{ "9 path=a\n9 path=b\n", true },
		{ "10 size=1\n\n", false }, /* a newline without a record follows */
		{ "11 size=12\n", true },
		{ "6 a=b\n", true },
		{ "5 a=\n", true },
		{ "4 =\n", true },
		{ "3 \n", false }, /* no "=" */
		{ "2 \n", false },
		{ "9 path=a", false },
		{ "8 path=a\n", false },
		{ "11 path=a\n", false },
		{ " 9 path=a\n", false },
		{ "9path=aa\n", false },
		{ "9", false },
		{ "path=a\n", false },
		{ "11 size=1x\n", false },
		{ "999999999 a=b\n", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct tar_reader reader;
		struct err err;
		int code;

		tar_reader_init(&reader);
		code = tar_read_extra(&reader, cases[i].text, strlen(cases[i].text), &err);
		if ((code == 0) != cases[i].is_good)
			fail_msg("%zu: %s gives %d", i, cases[i].text, code);
		tar_reader_done(&reader);
	}
}
