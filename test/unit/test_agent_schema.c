/*
 * test_agent_schema.c - whether an answer obeys a JSON schema.
 *
 * Runs in:  the unit suite.
 * Reads:    schemas and answers of its own.
 * Never:    asks a model.
 */
#include "unit.h"

#include <string.h>

#include "agent/conversation/schema.h"
#include "base/buf.h"
#include "base/cleanup.h"

#define PERSON                                                                                     \
	"{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"                     \
	"\"age\":{\"type\":[\"integer\",\"null\"]},\"tags\":{\"type\":\"array\",\"maxItems\":2,"   \
	"\"items\":{\"enum\":[\"a\",\"b\"]}}},\"required\":[\"name\"],\"additionalProperties\":false}"
#define TREE                                                                                       \
	"{\"$defs\":{\"tree\":{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"object\",\"properties\":"  \
	"{\"left\":{\"$ref\":\"#/$defs/tree\"},\"value\":{\"const\":1}},\"required\":[\"left\"]}]}}," \
	"\"$ref\":\"#/$defs/tree\"}"

UNIT_TEST(answers_are_validated)
{
	static const struct {
		const char *schema, *answer, *why; /* NULL: it is valid */
	} cases[] = {
		{ PERSON, "{\"name\":\"Ada\"}", NULL },
		{ PERSON, "{\"name\":\"Ada\",\"age\":36,\"tags\":[\"a\",\"b\"]}", NULL },
		{ PERSON, "{\"name\":\"Ada\",\"age\":null}", NULL },
		{ PERSON, "{\"name\":\"Ada\",\"age\":3.5}", "the answer.age is of another type" },
		{ PERSON, "{\"age\":3}", "the answer has no \"name\"" },
		{ PERSON, "{\"name\":\"\",\"x\":1}", "the answer may not have \"x\"" },
		{ PERSON, "{\"name\":\"\",\"tags\":[\"c\"]}",
		  "the answer.tags[0] is none of the values that it may have" },
		{ PERSON, "{\"name\":\"\",\"tags\":[\"a\",\"a\",\"a\"]}",
		  "the answer.tags has too few or too many items" },
		{ PERSON, "[]", "the answer is of another type" },
		{ PERSON, "Here it is: {}", "the answer is not JSON" },
		{ PERSON, "", "the answer is not JSON" },
		{ TREE, "{\"left\":{\"left\":null,\"value\":1}}", NULL },
		{ TREE, "{\"left\":{\"left\":null,\"value\":2}}",
		  "the answer.left.value is none of the values that it may have" },
		{ "{\"$ref\":\"#\"}", "1", "the answer is too deep or too large to be checked" },
		{ "{\"additionalProperties\":{\"type\":\"number\"}}", "{\"a\":\"b\"}",
		  "the answer.a is of another type" },
		{ "{\"allOf\":[{\"type\":\"string\"},{\"const\":\"x\"}]}", "\"y\"",
		  "the answer is none of the values that it may have" },
		{ "{}", "1", NULL },
		{ "{\"$ref\":\"#/nothing\"}", "1", NULL },
	};
	struct err err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *answer = cases[i].answer;
		const int rc = schema_check(cases[i].schema, answer, strlen(answer), &err);

		if (cases[i].why == NULL) {
			assert_int_equal(rc, 0);
			continue;
		}
		assert_int_equal(rc, ERR_INVALID);
		assert_memory_equal(err.text, cases[i].why, strlen(cases[i].why));
	}
}

/* Writes a chain of `count` schemas: the root and `count` - 1 definitions, linked by "$ref". */
static void write_chain(struct buf *schema, size_t count)
{
	struct err err;

	assert_ok(&err, buf_adds(schema, "{\"$defs\":{", &err));
	for (size_t i = 1; i + 1 < count; i++)
		assert_ok(&err, buf_addf(schema, &err, "\"d%zu\":{\"$ref\":\"#/$defs/d%zu\"},", i,
					 i + 1));
	assert_ok(&err, buf_addf(schema, &err, "\"d%zu\":{}},\"$ref\":\"#/$defs/d1\"}", count - 1));
}

UNIT_TEST(the_depth_of_a_schema_is_limited)
{
	static const size_t most = 100; /* CHECK_DEPTH_MAX */

	for (size_t over = 0; over < 2; over++) {
		cleanup_buf struct buf schema = BUF_INIT(16384);
		struct err err;

		write_chain(&schema, most + over);
		assert_int_equal(schema_check(buf_text(&schema), "1", 1, &err),
				 over == 0 ? 0 : ERR_INVALID);
	}
}

UNIT_TEST(the_number_of_checked_values_is_limited)
{
	static const size_t most = 200000; /* CHECK_COUNT_MAX: an array and its items */

	for (size_t over = 0; over < 2; over++) {
		cleanup_buf struct buf json = BUF_INIT(1u << 20);
		struct err err;

		assert_ok(&err, buf_adds(&json, "[1", &err));
		for (size_t i = 2; i < most + over; i++)
			assert_ok(&err, buf_adds(&json, ",1", &err));
		assert_ok(&err, buf_addc(&json, ']', &err));
		assert_int_equal(schema_check("{\"items\":{}}", json.data, json.len, &err),
				 over == 0 ? 0 : ERR_INVALID);
	}
}
