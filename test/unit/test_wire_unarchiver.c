/*
 * test_wire_unarchiver.c - frames of a process that parses hostile files, and what they may name.
 *
 * Runs in:  the unit suite.
 * Reads:    frames that it makes.
 * Never:    needs a process.
 */
#include "unit.h"

#include <string.h>

#include "wire/unarchiver.h"

static char frame[UNARCHIVER_FRAME_MAX + 1];
static struct unarchiver_frame taken;

static int take_entry(uint32_t kind, uint32_t mode, const char *path, const char *target)
{
	const struct unarchiver_entry entry = { .kind = kind, .mode = mode };
	enum unarchiver_state state = UNARCHIVER_STATE_ENTRIES;
	struct err err;

	return unarchiver_take(&state, frame, unarchiver_put_entry(frame, UNARCHIVER_ENTRY, &entry, path, target),
			 &taken, &err);
}

UNIT_TEST(paths_that_lead_outside_are_refused)
{
	static const char *const bad[] = { "",	   "/",	     "/a",    "..",	"../a", "a/..", "a/../b",
					   "a//b", "./a",    "a/",    "a/./b", "a\nb", "a\x7f",
					   "\xff", "\xc0\xaf" };
	static const char *const good[] = { "a", "a/b", "..a", "a..", "...", "\xc3\xa9" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(take_entry(UNARCHIVER_FILE, 0644, bad[i], ""), ERR_INVALID);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(take_entry(UNARCHIVER_FILE, 0644, good[i], ""), 0);
	assert_string_equal(taken.path, "\xc3\xa9");
}

UNIT_TEST(links_that_lead_outside_are_refused)
{
	static const struct {
		const char *path, *target;
		int code;
	} links[] = {
		{ "l", "a", 0 },	    { "l", "a/../b", 0 },     { "d/l", "../a", 0 },
		{ "d/l", "./..//a", 0 },    { "a/b/l", "../../c", 0 }, { "l", "", ERR_INVALID },
		{ "l", "/a", ERR_INVALID }, { "l", "..", ERR_INVALID }, { "l", "a/../..", ERR_INVALID },
		{ "d/l", "../..", ERR_INVALID }, { "l", "a\nb", ERR_INVALID },
		{ "l", "\xff", ERR_INVALID },
	};

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		assert_int_equal(take_entry(UNARCHIVER_SYMLINK, 0777, links[i].path, links[i].target),
				 links[i].code);
	assert_int_equal(take_entry(UNARCHIVER_HARDLINK, 0644, "h", "a/b"), 0);
	assert_int_equal(take_entry(UNARCHIVER_HARDLINK, 0644, "h", "../b"), ERR_INVALID);
	assert_int_equal(take_entry(UNARCHIVER_HARDLINK, 0644, "h", "/b"), ERR_INVALID);
}

UNIT_TEST(entries_outside_their_limits_are_refused)
{
	char deep[2 * UNARCHIVER_DEPTH_MAX + 3] = "";

	for (unsigned i = 0; i < UNARCHIVER_DEPTH_MAX; i++)
		memcpy(deep + 2 * i, "d/", 3);
	memcpy(deep + 2 * UNARCHIVER_DEPTH_MAX, "f", 2);
	assert_int_equal(take_entry(UNARCHIVER_FILE, 0644, deep, ""), ERR_LIMIT);
	assert_int_equal(take_entry(UNARCHIVER_FILE, 0644, deep + 2, ""), 0);
	assert_int_equal(take_entry(UNARCHIVER_FILE, 04755, "a", ""), ERR_PROTOCOL);
	assert_int_equal(take_entry(UNARCHIVER_FILE, 0644, "a", "target"), ERR_PROTOCOL);
	assert_int_equal(take_entry(0, 0644, "a", ""), ERR_PROTOCOL);
	assert_int_equal(take_entry(UNARCHIVER_HARDLINK + 1, 0644, "a", ""), ERR_PROTOCOL);
}

static int take(enum unarchiver_state *at, enum unarchiver_type type, size_t len)
{
	static const char zeros[UNARCHIVER_DATA_MAX + 1];
	struct err err;

	return unarchiver_take(at, frame, unarchiver_put(frame, type, zeros, len), &taken, &err);
}

UNIT_TEST(frames_come_in_order)
{
	const struct unarchiver_entry file = { .kind = UNARCHIVER_FILE };
	enum unarchiver_state at = UNARCHIVER_STATE_STARTING;
	struct err err;

	for (int type = 0; type < 64; type++)
		if (type != UNARCHIVER_READY && type != UNARCHIVER_FAIL)
			assert_int_equal(take(&at, (enum unarchiver_type)type, 0), ERR_PROTOCOL);
	assert_int_equal(take(&at, UNARCHIVER_READY, 1), ERR_PROTOCOL);
	assert_int_equal(at, UNARCHIVER_STATE_STARTING);
	assert_int_equal(take(&at, UNARCHIVER_READY, 0), 0);
	assert_int_equal(take(&at, UNARCHIVER_READY, 0), ERR_PROTOCOL);
	assert_int_equal(take(&at, UNARCHIVER_DATA, 1), ERR_PROTOCOL);
	assert_int_equal(take(&at, UNARCHIVER_ADD, 0), ERR_PROTOCOL);
	assert_ok(&err, unarchiver_take(&at, frame, unarchiver_put_entry(frame, UNARCHIVER_ENTRY, &file, "a", ""),
				  &taken, &err));
	assert_int_equal(at, UNARCHIVER_STATE_DATA);
	assert_int_equal(take(&at, UNARCHIVER_END, sizeof(struct unarchiver_end)), ERR_PROTOCOL);
	assert_int_equal(take(&at, UNARCHIVER_DATA, UNARCHIVER_DATA_MAX), 0);
	assert_int_equal(taken.data_len, UNARCHIVER_DATA_MAX);
	assert_int_equal(take(&at, UNARCHIVER_DATA, UNARCHIVER_DATA_MAX + 1), ERR_PROTOCOL);
	assert_int_equal(take(&at, UNARCHIVER_DATA_END, 0), 0);
	assert_int_equal(take(&at, UNARCHIVER_END, 3), ERR_PROTOCOL);
	assert_int_equal(take(&at, UNARCHIVER_END, sizeof(struct unarchiver_end)), 0);
	for (int type = 0; type < 64; type++)
		assert_int_equal(take(&at, (enum unarchiver_type)type, 0), ERR_PROTOCOL);
}

UNIT_TEST(broken_frames_are_refused)
{
	const struct unarchiver_entry entry = { .kind = UNARCHIVER_FILE };
	struct unarchiver_entry liar = entry;
	enum unarchiver_state at = UNARCHIVER_STATE_ENTRIES;
	struct err err;
	size_t len;

	len = unarchiver_put_entry(frame, UNARCHIVER_ENTRY, &entry, "abc", "");
	for (size_t cut = 0; cut < len; cut++)
		assert_err(&err, ERR_PROTOCOL, unarchiver_take(&at, frame, cut, &taken, &err));
	frame[0] ^= 1;
	assert_err(&err, ERR_PROTOCOL, unarchiver_take(&at, frame, len, &taken, &err));
	/* Lengths of the path that do not match the payload. */
	for (uint32_t wrong = 0; wrong < 3; wrong++) {
		char bytes[sizeof(liar) + 3] = "";

		liar.path_len = wrong == 0 ? 2 : wrong == 1 ? 4 : UINT32_MAX - 1;
		memcpy(bytes, &liar, sizeof(liar));
		len = unarchiver_put(frame, UNARCHIVER_ENTRY, bytes, sizeof(bytes));
		assert_err(&err, ERR_PROTOCOL, unarchiver_take(&at, frame, len, &taken, &err));
	}
	/* A NUL within a name would hide its rest. */
	liar.path_len = 3;
	{
		char bytes[sizeof(liar) + 3];

		memcpy(bytes, &liar, sizeof(liar));
		memcpy(bytes + sizeof(liar), "a\0b", 3);
		len = unarchiver_put(frame, UNARCHIVER_ENTRY, bytes, sizeof(bytes));
		assert_err(&err, ERR_PROTOCOL, unarchiver_take(&at, frame, len, &taken, &err));
	}
	assert_int_equal(at, UNARCHIVER_STATE_ENTRIES);
}

UNIT_TEST(control_characters_in_a_failure_are_replaced)
{
	struct {
		struct unarchiver_fail head;
		char text[8];
	} bytes = { { ERR_LOST }, "a\x1b[31m\n" };
	enum unarchiver_state at = UNARCHIVER_STATE_STARTING;
	struct err err;

	assert_ok(&err, unarchiver_take(&at, frame, unarchiver_put(frame, UNARCHIVER_FAIL, &bytes, sizeof(bytes)),
				  &taken, &err));
	/* The process may not report a lost session. */
	assert_int_equal(taken.fail.code, ERR_INVALID);
	assert_string_equal(taken.fail.text, "a?[31m??");
	assert_int_equal(at, UNARCHIVER_STATE_DONE);
}
