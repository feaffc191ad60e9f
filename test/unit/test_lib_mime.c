/*
 * test_lib_mime.c - the type follows from the bytes; the name only refines it.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    reads past the window it hands over.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "lib/record/mime.h"

#define CASE(name, head, mime) { name, head, sizeof(head) - 1, mime }
#define OOXML "application/vnd.openxmlformats-officedocument."

UNIT_TEST(types_are_recognised)
{
	static const struct {
		const char *name;
		const char *head;
		size_t len;
		const char *mime;
	} cases[] = {
		CASE("a.png", "\x89PNG\r\n\x1a\n", "image/png"),
		CASE("a.jpg", "\xff\xd8\xff\xe0", "image/jpeg"),
		CASE(NULL, "GIF89a", "image/gif"),
		CASE("x", "RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
		CASE("x", "RIFF\0\0\0\0WAVEfmt ", "audio/wav"),
		CASE("x", "\0\0\0\x18" "ftypmp42\0\0\0\0", "video/mp4"),
		CASE("x", "\0\0\0\x18" "ftypavif\0\0\0\0", "image/avif"),
		CASE("x", "ID3\3", "audio/mpeg"),
		CASE("x", "\xff\xfb\x90\x64", "audio/mpeg"),
		CASE("x", "%PDF-1.7", "application/pdf"),
		CASE("t.parquet", "PAR1\x15", "application/vnd.apache.parquet"),
		CASE("t.feather", "ARROW1\0\0", "application/vnd.apache.arrow.file"),
		CASE("x", "SQLite format 3\0", "application/vnd.sqlite3"),
		CASE("x", "\x93NUMPY\1\0", "application/x-npy"),
		CASE("x", "\x1f\x8b\x08\0", "application/gzip"),
		CASE("x", "\x28\xb5\x2f\xfd", "application/zstd"),
		CASE("a.zip", "PK\3\4\x14", "application/zip"),
		CASE("a.xlsx", "PK\3\4\x14", OOXML "spreadsheetml.sheet"),
		CASE("a.DOCX", "PK\3\4\x14", OOXML "wordprocessingml.document"),
		CASE("a.pptx", "PK\3\4\x14", OOXML "presentationml.presentation"),
		CASE("a.npz", "PK\3\4\x14", "application/x-npz"),
		CASE("out/t.csv", "a,b\n1,2\n", "text/csv"),
		CASE("t.csv", "pr\xe9nom\n", "text/csv"), /* Latin-1 */
		CASE("t.csv", "\xff\xfe" "a\0,\0", "text/csv"), /* UTF-16 */
		CASE("t.tsv", "a\tb", "text/tab-separated-values"),
		CASE("README.md", "# t", "text/markdown"),
		CASE("n.ipynb", "{}", "application/x-ipynb+json"),
		CASE("a.py", "<html>", "text/x-python"),
		CASE("a.json", "{\"a\":1}", "application/json"),
		CASE("x", " \n{ \"a\": 1}", "application/json"),
		CASE("x", "[1, 2]", "application/json"),
		CASE("x", "[section]\nk=v\n", "text/plain"),
		CASE("x", "<!DOCTYPE HTML><p>", "text/html"),
		CASE("x", "\xef\xbb\xbf<html>", "text/html"),
		CASE("x", "<svg xmlns=''/>", "image/svg+xml"),
		CASE("x", "<?xml version='1.0'?><svg/>", "image/svg+xml"),
		CASE("x", "<?xml version='1.0'?><a/>", "application/xml"),
		CASE("x", "#!/usr/bin/env python3\n", "text/x-python"),
		CASE("x", "plain words \xc3\xa9", "text/plain"),
		CASE("x", "not \xff text", "application/octet-stream"),
		CASE("x", "nul\0", "application/octet-stream"),
		CASE("", "", "text/plain"),
		CASE("m.pkl", "\x80\x04\x95", "application/x-pickle"),
		/* The bytes contradict the name. */
		CASE("a.png", "\0\1\2\3", "application/octet-stream"),
		CASE("a.png", "<html><script>", "text/html"),
		CASE("a.csv", "\0\1\2", "application/octet-stream"),
		CASE("a.txt", "\x89PNG\r\n\x1a\n", "image/png"),
		CASE("a.xlsx", "\0\1", "application/octet-stream"),
		CASE("d.csv/x", "\0\1", "application/octet-stream"),
		CASE("a.", "w", "text/plain"),
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(mime_guess(cases[i].name, cases[i].head, cases[i].len),
				    cases[i].mime);
	assert_string_equal(mime_guess(NULL, NULL, 0), "text/plain");
}

/* A character cut by the end of the window is still text; one cut by the end of the file is not. */
UNIT_TEST(a_cut_character_at_the_window_is_text)
{
	char head[MIME_HEAD_SIZE];

	memset(head, 'a', sizeof(head));
	head[sizeof(head) - 1] = '\xc3';
	assert_string_equal(mime_guess("x", head, sizeof(head)), "text/plain");
	assert_string_equal(mime_guess("x", head + 1, sizeof(head) - 1), "application/octet-stream");
}

/* Each prefix of each beginning in memory of exactly its size: sanitizers detect reads past it. */
UNIT_TEST(no_byte_past_the_end_is_read)
{
	static const char *const starts[] = { "RIFF....WEBP", "....ftypmp42", "<!doctype html>", "{  \"",
					      "#!/bin/sh",    "\xff\xfb\x90",  "<?xml <svg" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		for (size_t len = 0; len <= strlen(starts[i]); len++) {
			char *exact = malloc(len > 0 ? len : 1);

			assert_non_null(exact);
			memcpy(exact, starts[i], len);
			assert_non_null(strchr(mime_guess("x", exact, len), '/'));
			free(exact);
		}
	}
}
