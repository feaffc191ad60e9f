/*
 * fuzz_librechat.c - valid ids and tokens round trip; names of tools never become code.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes.
 * Never:    keeps state between inputs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/librechat/programmatic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void token(const char *text)
{
	struct librechat_program program = { 0 };
	char again[LIBRECHAT_TOKEN_SIZE];

	if (!program_token_read(text, program.execution, &program.round))
		return;
	program_token(&program, again);
	/* The round is not compared: its number may have leading zeros. */
	if (strncmp(text, again, strcspn(again, ".")) != 0)
		abort();
}

/* A character that only a name could add. In Bash, our own backslashes precede '"' or '}'. */
static bool is_foreign(const char *at, bool is_bash)
{
	if (*at == '\\')
		return !is_bash || (at[1] != '"' && at[1] != '}');
	return *at != '\0' && strchr(is_bash ? "`&|<>'" : "`;&|<>'", *at) != NULL;
}

/* The code for the tools contains no character that only a name could add. */
static void lend(const char *text, size_t size)
{
	struct json_value *names = NULL;
	struct err err;

	if (json_read_parse(text, size, 1 << 20, &names, &err) < 0)
		return;
	for (int is_bash = 0; is_bash < 2; is_bash++) {
		struct buf code = BUF_INIT(1 << 20);

		if (librechat_lend(names, is_bash == 1, &code, &err) == 0)
			for (size_t i = 0; i < code.len; i++)
				if (is_foreign(buf_text(&code) + i, is_bash == 1))
					abort();
		buf_done(&code);
	}
	json_read_free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), ours[OURS_SIZE], again[LIBRECHAT_ID_SIZE];
	unsigned flags;

	if (text == NULL)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (librechat_session_of(text, ours)) {
		librechat_session_id(ours, again);
		if (strcmp(text, again) != 0)
			abort();
	}
	if (librechat_artifact_of(text, ours, &flags)) {
		librechat_file_id(ours, flags, again);
		if (strcmp(text, again) != 0)
			abort();
	}
	librechat_session_id(text, again);
	librechat_file_id(text, 1, again);
	token(text);
	lend(text, size);
	free(text);
	return 0;
}
