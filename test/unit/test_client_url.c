/*
 * test_client_url.c - addresses of a daemon: which are accepted, and which are refused.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    resolves or connects.
 */
#include "unit.h"

#include <string.h>

#include "client/client.h"
#include "client/url.h"

UNIT_TEST(valid_addresses_are_parsed)
{
	static const struct {
		const char *text, *base, *socket;
		bool tls, loopback;
	} cases[] = {
		{ "http://127.0.0.1:7263", "http://127.0.0.1:7263", "", false, true },
		{ "http://127.0.0.1:7263/", "http://127.0.0.1:7263", "", false, true },
		{ "http://localhost:1/reckon/v1/", "http://localhost:1", "", false, true },
		{ "http://[::1]:7263", "http://[::1]:7263", "", false, true },
		{ "https://box.example.org/team/a", "https://box.example.org/team/a", "", true,
		  false },
		{ "http://127.example.org", "http://127.example.org", "", false, false },
		{ "http://10.0.0.1", "http://10.0.0.1", "", false, false },
		{ "unix:/run/r/d.sock", "http://localhost", "/run/r/d.sock", false, true },
		{ "unix:///run/r/d.sock", "http://localhost", "/run/r/d.sock", false, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct url url;
		struct err err;

		assert_ok(&err, url_parse(cases[i].text, &url, &err));
		assert_string_equal(url.base, cases[i].base);
		assert_string_equal(url.socket, cases[i].socket);
		assert_int_equal(url.is_tls, cases[i].tls);
		assert_int_equal(url.is_loopback, cases[i].loopback);
	}
}

UNIT_TEST(invalid_addresses_are_refused)
{
	static const char *const cases[] = {
		"", "127.0.0.1:7263", "ftp://host", "http://", "http:///x", "http://ho st",
		"http://host:0", "http://host:65536", "http://host:123456789", "http://host:",
		"http://host:7a", "http://host?x=1", "http://host/#a", "http://host/\r\nX: y",
		"http://[::1", "http://[]", "http://user@host", "http://a:b@host/", "unix:",
		"unix:relative", "unix:/", "HTTP://host", "http://host\\x",
	};
	char longest[700] = "http://host/";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct url url;
		struct err err;

		assert_err(&err, ERR_INVALID, url_parse(cases[i], &url, &err));
	}
	memset(longest + 12, 'a', sizeof(longest) - 13);
	struct url url;
	struct err err;

	assert_err(&err, ERR_INVALID, url_parse(longest, &url, &err));
}

UNIT_TEST(a_password_is_not_repeated)
{
	struct url url;
	struct err err;

	assert_err(&err, ERR_INVALID, url_parse("http://user:geheim@host", &url, &err));
	assert_null(strstr(err.text, "geheim"));
}

UNIT_TEST(paths_are_percent_encoded)
{
	cleanup_buf struct buf path = BUF_INIT(256);
	struct err err;

	assert_ok(&err, client_path_add(&path, "a/b c?d#e%ü", true, &err));
	assert_string_equal(buf_text(&path), "a/b%20c%3Fd%23e%25%C3%BC");
	buf_clear(&path);
	assert_ok(&err, client_path_add(&path, "a/b", false, &err));
	assert_string_equal(buf_text(&path), "a%2Fb");
}
