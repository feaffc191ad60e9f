/*
 * test_httpd_host_name.c - the host names that a request may use.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    looks a name up.
 */
#include "unit.h"

#include "base/cleanup.h"
#include "httpd/guard/host_name.h"

#define OWN "reckon.example.com, ci.example\tother"

UNIT_TEST(test_allowed_names)
{
	static const char *const names[] = {
		"127.0.0.1", "127.0.0.1:7263", "10.1.2.3", "[::1]", "[::1]:7263", "[fe80::1]",
		"localhost", "LocalHost:80", "localhost.", "a.localhost", "8501-x.localhost:7263",
		"reckon.example.com", "RECKON.example.com.:443", "a.b.reckon.example.com", "ci.example",
		"other:1",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!host_name_is_allowed(names[i], OWN))
			fail_msg("%s", names[i]);
}

UNIT_TEST(test_other_names_are_refused)
{
	static const char *const names[] = {
		"evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "xlocalhost",
		".localhost", "evil-localhost", "example.com", "xreckon.example.com", "com", "1.2.3",
		"1.2.3.4.5", "[::1", "[::1].evil.example", "[evil.example]", "::1", "localhost:80x",
		"localhost:80.evil.example", "", ".", ":80", "ther", "[]", "0x7f.0.0.1",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (host_name_is_allowed(names[i], OWN))
			fail_msg("%s", names[i]);
}

UNIT_TEST(test_no_configured_names)
{
	assert_true(host_name_is_allowed("localhost", ""));
	assert_false(host_name_is_allowed("reckon.example.com", ""));
	assert_false(host_name_is_allowed("reckon.example.com", " , ,"));
	assert_false(host_name_is_allowed(".", ","));
}
