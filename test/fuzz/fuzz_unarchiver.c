/*
 * fuzz_unarchiver.c - frames of a captured reckon-unarchiver, as libreckon receives them.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes: frames, each after two bytes of its length.
 * Never:    touches a file; only the text of a frame decides what it may name.
 *
 * A frame whose first byte is below 64 gets a valid head of that type before it, so that the
 * code that reads the rest is reached.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/unarchiver.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct unarchiver_frame taken;

/* libreckon relies on this: no accepted path leads outside. */
static void check_path(const char *path)
{
	const size_t len = strlen(path);

	if (len == 0 || len > UNARCHIVER_PATH_MAX || path[0] == '/' || path[len - 1] == '/' ||
	    strstr(path, "//") != NULL || strcmp(path, "..") == 0 || strncmp(path, "../", 3) == 0 ||
	    strstr(path, "/../") != NULL || (len >= 3 && strcmp(path + len - 3, "/..") == 0))
		abort();
}

static void check_link(const char *path, const char *target)
{
	int depth = 0;

	for (const char *at = path; *at != '\0'; at++)
		depth += *at == '/';
	if (target[0] == '/' || target[0] == '\0')
		abort();
	while (*target != '\0') {
		const size_t n = strcspn(target, "/");

		if (n == 2 && memcmp(target, "..", 2) == 0)
			depth--;
		else if (n > 0 && !(n == 1 && target[0] == '.'))
			depth++;
		if (depth < 0)
			abort();
		target += n + (target[n] == '/');
	}
}

static void check(enum unarchiver_state before, enum unarchiver_state after)
{
	if (before == UNARCHIVER_STATE_DONE)
		abort();
	if (taken.type == UNARCHIVER_ENTRY) {
		check_path(taken.path);
		if (taken.entry.mode > 0777)
			abort();
		if (taken.entry.kind == UNARCHIVER_SYMLINK)
			check_link(taken.path, taken.target);
		else if (taken.entry.kind == UNARCHIVER_HARDLINK)
			check_path(taken.target);
		else if (taken.target[0] != '\0')
			abort();
		if ((taken.entry.kind == UNARCHIVER_FILE) != (after == UNARCHIVER_STATE_DATA))
			abort();
	} else if (taken.type == UNARCHIVER_DATA) {
		if (before != UNARCHIVER_STATE_DATA || taken.data_len > UNARCHIVER_DATA_MAX)
			abort();
	} else if (taken.type == UNARCHIVER_FAIL) {
		for (const char *at = taken.fail.text; *at != '\0'; at++)
			if (*at < 0x20 || *at == 0x7f)
				abort();
		if (taken.fail.code == ERR_OK || taken.fail.code == ERR_LOST)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char frame[UNARCHIVER_FRAME_MAX + 1];
	enum unarchiver_state state = UNARCHIVER_STATE_STARTING;
	struct err err;

	while (size >= 3) {
		size_t len = data[0] | (size_t)data[1] << 8;
		const enum unarchiver_state before = state;

		data += 2;
		size -= 2;
		if (len > size)
			len = size;
		if (len == 0)
			continue;
		if (data[0] < 64) {
			const size_t total = unarchiver_put(frame, (enum unarchiver_type)data[0], data + 1, len - 1);

			if (unarchiver_take(&state, frame, total, &taken, &err) == 0)
				check(before, state);
		} else if (unarchiver_take(&state, data, len, &taken, &err) == 0) {
			check(before, state);
		}
		data += len;
		size -= len;
	}
	return 0;
}
