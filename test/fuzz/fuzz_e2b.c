/*
 * fuzz_e2b.c - paths, ids and keys of E2B's clients, bundles that a program displays, and what a
 *              program in the box reports about a file.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes.
 * Never:    keeps state between inputs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/envd/inside.h"
#include "dialects/e2b/interpreter/interpreter.h"

#define RESULT_MAX ((size_t)1 << 26)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool climbs(const char *path)
{
	const size_t len = strlen(path);

	return strcmp(path, "..") == 0 || strncmp(path, "../", 3) == 0 ||
	       strstr(path, "/../") != NULL || (len > 2 && strcmp(path + len - 3, "/..") == 0) ||
	       path[0] == '/' || strstr(path, "//") != NULL;
}

static void check_path(const char *text)
{
	static struct e2b_path path;

	if (e2b_path_of(text, &path) && path.inside == NULL &&
	    (path.whole[0] != '/' || climbs(path.whole + 1) ||
	     strncmp(path.whole, "/home/user/", 11) == 0))
		abort();
	if (e2b_path_of(text, &path) && path.inside != NULL &&
	    (climbs(path.inside) || path.inside < path.whole ||
	     path.inside > path.whole + strlen(path.whole) || path.whole[0] != '/'))
		abort();
}

static void check_names(const char *text)
{
	char session[E2B_ID_SIZE], again[E2B_ID_SIZE], key[E2B_KEY_SIZE];

	e2b_session_id(text, session);
	if (strcmp(session, "-") != 0) {
		e2b_sandbox_id(session, again);
		if (strcmp(again, text) != 0)
			abort();
	}
	e2b_key_of(text, key, sizeof(key));
	if (strlen(key) >= sizeof(key))
		abort();
}

/* The line for any bundle is JSON, unless it is nested too deeply. */
static void check_result(const char *text, size_t len)
{
	struct json_value *bundle = NULL, *line = NULL;
	struct buf body = BUF_INIT(RESULT_MAX);
	struct json_writer json;
	struct err err;

	if (json_read_parse(text, len, 1 << 20, &bundle, &err) < 0)
		return;
	json_write_init(&json, &body);
	e2b_write_result(&json, bundle, true);
	if (json_write_finish(&json, &err) == 0 &&
	    json_read_parse(body.data, body.len, RESULT_MAX, &line, &err) < 0 &&
	    strstr(err.text, "deep") == NULL && strstr(err.text, "nest") == NULL)
		abort();
	buf_done(&body);
	json_read_free(line);
	json_read_free(bundle);
}

/* Whatever a box reports about a file, its entry is JSON. */
static void check_entry(const char *text, size_t len)
{
	cleanup_arena struct arena arena = { 0 };
	const struct e2b e2b = { .arena = &arena };
	struct json_value *answer = NULL, *entry = NULL;
	struct buf body = BUF_INIT(RESULT_MAX);
	struct entry found, listed;
	struct json_writer json;
	struct err err;

	if (json_read_parse(text, len, 1 << 20, &answer, &err) < 0)
		return;
	inside_entry(&e2b, answer, &found);
	(void)entry_of_listed(&e2b, answer, &listed);
	listed.path = "/home/user/x";
	json_write_init(&json, &body);
	json_write_array_begin(&json);
	entry_write(&json, &found);
	entry_write(&json, &listed);
	json_write_array_end(&json);
	if (json_write_finish(&json, &err) < 0 ||
	    json_read_parse(body.data, body.len, RESULT_MAX, &entry, &err) < 0)
		abort();
	buf_done(&body);
	json_read_free(entry);
	json_read_free(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (text == NULL)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	check_path(text);
	check_names(text);
	check_result(text, size);
	check_entry(text, size);
	free(text);
	return 0;
}
