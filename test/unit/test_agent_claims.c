/*
 * test_agent_claims.c - checks numbers and links of an answer against the output of its run.
 *
 * Runs in:  the unit suite.
 * Reads:    texts of its own.
 * Never:    runs anything.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "agent/claims/claims.h"

#define FOUND_MAX 4096

struct lookup {
	const char *answer, *shown;
	const char *unsupported; /* separated by bars */
};

static void look_up(const char *answer, const char *shown, struct agent_checked *ret)
{
	struct evidence evidence = { 0 };

	*ret = (struct agent_checked){ 0 };
	evidence_add(&evidence, shown, strlen(shown));
	claims_check_numbers(answer, strlen(answer), &evidence, ret);
	evidence_done(&evidence);
}

static void list(const char *answer, const struct agent_checked *checked, char *ret)
{
	size_t at = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < checked->listed; i++)
		at += (size_t)snprintf(ret + at, FOUND_MAX - at, "%s%.*s", i > 0 ? "|" : "",
				       (int)checked->claims[i].len,
				       answer + checked->claims[i].offset);
}

static void expect(const struct lookup *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct agent_checked checked;
		char found[FOUND_MAX];

		look_up(cases[i].answer, cases[i].shown, &checked);
		list(cases[i].answer, &checked, found);
		if (strcmp(found, cases[i].unsupported) != 0)
			fail_msg("%s in %s: [%s], not [%s]", cases[i].answer, cases[i].shown, found,
				 cases[i].unsupported);
	}
}

#define EXPECT(cases) expect(cases, sizeof(cases) / sizeof((cases)[0]))

UNIT_TEST(a_number_matches_in_any_notation)
{
	static const struct lookup cases[] = {
		{ "It is 42.", "42", "" },
		{ "It is 42.", "41.2", "42" },
		{ "It is 1,234.5", "1234.5", "" },
		{ "It is 1234.5", "1,234.50", "" },
		{ "Es sind 1.234,5 Euro", "1234.5", "" },
		{ "Es sind 1.234,6 Euro", "1234.5", "1.234,6 Euro" },
		{ "1 234 567 rows", "1234567", "" },
		{ "1\xe2\x80\xaf" "234 rows", "1234", "" },
		{ "1'234 Franken", "1234", "" },
		{ "12,34,567 rupees", "1234567", "" },
		{ "It lost -5.5 points", "5.5", "" },
		{ "It lost \xe2\x88\x92" "5.5 points", "x -5.5", "" },
		{ "a p value of 1.2e-05", "1.2e-05", "" },
		{ "a p value of 0.000012", "1.2e-05", "" },
		{ "a p value of 1.3e-05", "1.2e-05", "1.3e-05" },
		{ "$1,234.50 and \xe2\x82\xac" "99.90", "1234.5 99.9", "" },
		{ "$1,234.50 and \xe2\x82\xac" "98.90", "1234.5 99.9",
		  "\xe2\x82\xac" "98.90" },
		{ "rows 3,456 and 789", "3\n456\n789", "" },
		{ "it is .75", "0.75", "" },
		{ "**87.5** is the mean", "mean    87.500000", "" },
		{ "`87.5` is the mean", "mean    87.400000", "87.5" },
		{ "90071992547409931 is its id", "90071992547409931", "" },
	};

	EXPECT(cases);
}

UNIT_TEST(a_rounded_number_is_supported_a_more_precise_one_is_not)
{
	static const struct lookup cases[] = {
		{ "12.3", "12.34", "" },	  { "12.3", "12.26", "" },
		{ "12.3", "12.36", "12.3" },	  { "12.34", "12.3", "12.34" },
		{ "12.35", "12.345", "" },	  { "12 %", "0.1234", "" },
		{ "12.3%", "0.1234", "" },	  { "12.4%", "0.1234", "12.4%" },
		{ "12 percent", "12.34", "" },	  { "12\xc2\xa0%", "0.1234", "" },
		{ "a share of 0.12", "12 %", "" }, { "1.2 million", "1234567", "" },
		{ "1.3 million", "1234567", "1.3 million" },
		{ "1.2M", "1234567", "" },	  { "$1.2M", "1,234,567.89", "" },
		{ "1,2 Mio. Euro", "1234567", "" }, { "3.4bn", "3387000000", "" },
		{ "45k users", "45123", "" },	  { "46k users", "45123", "46k" },
		{ "1,200 users", "1234", "" },	  { "1,300 users", "1234", "1,300" },
		{ "2,000 users", "1834", "2,000" }, { "about 2,000 users", "1834", "" },
		{ "~2,000 users", "1834", "" },   { "nearly 2,000 users", "1034", "2,000" },
		{ "1.5 MB", "1500000", "" },	  { "120 ms", "0.12", "" },
		{ "10-20 %", "0.1 0.2", "" },	  { "10\xe2\x80\x93" "20%", "0.1 0.2", "" },
		{ "10-21 %", "0.1 0.2", "21 %" },
	};

	EXPECT(cases);
}

UNIT_TEST(dates_labels_and_counts_of_items_are_not_claims)
{
	static const struct lookup cases[] = {
		{ "In 2023 and the 1990s", "", "" },
		{ "In 2023 it was 2023.5", "", "2023.5" },
		{ "2023 % more", "", "2023 %" },
		{ "On 2024-01-31, 31/01/2024, 31.01.2024 at 12:30:05", "", "" },
		{ "from 2023/24 to 2024-06", "", "" },
		{ "on 5 January, January 17th, 24. Dezember", "", "" },
		{ "1. first\n2. second\n10) tenth\n", "", "" },
		{ "## 4 Results\n### 4.1 More\n", "", "" },
		{ "**5. Costs** rose", "", "" },
		{ "the 21st, 22nd, 23rd and 24th row", "", "" },
		{ "see Figure 12, Table 7, Step 4, Abbildung 9 and No. 17", "", "" },
		{ "as shown [12]", "", "" },
		{ "COVID-19, top-10, Q4, H2O, x17, F-16, utf-8, 7f3a9c21", "", "" },
		{ "ticket #4711 and 10^6", "", "" },
		{ "version 3.11.2", "", "" },
		{ "both of the 2 files, 3 in all", "", "" },
		{ "4 in all", "", "4" },
		{ "[plot](sandbox:/mnt/data/plot-99.png), https://x.example/17/88", "", "" },
		{ "report_77.pdf and 2024.csv", "", "" },
		{ "```python\nx = 99\n```\n", "", "" },
		{ "```\ntotal 99\n```\n", "", "99" },
		{ "`head(25)` and `x = 77`", "", "" },
		{ "<td width=45>", "", "" },
		{ "4 findings:\n\n- a\n- b\n- c\n- d\n", "", "" },
		{ "5 findings:\n\n- a\n- b\n- c\n- d\n", "", "5" },
		{ "4 cities:\n\n| a |\n|---|\n| x |\n| y |\n| z |\n| w |\n", "", "" },
	};

	EXPECT(cases);
}

UNIT_TEST(tables_are_looked_up_cell_by_cell)
{
	static const struct lookup cases[] = {
		{ "| city | sum |\n|---|---|\n| Bern | 1,200.50 |\n| Basel | 801 |\n",
		  "city,sum\nBern,1200.5\nBasel,800\n", "801" },
		{ "| a | b |\n|---|---|\n| 5 % | 77 |\n", "a 0.05\nb 77", "" },
	};

	EXPECT(cases);
}

UNIT_TEST(rows_of_output_are_read_number_by_number)
{
	static const struct lookup cases[] = {
		{ "17 and 2.5 and 900", "1,17,2.5,900,4", "" },
		{ "345", "12 345", "" },
		{ "8", "{'a': 8}", "" },
		{ "81", "n=81;", "" },
		{ "81", "7f81ab", "81" },
		{ "1,000,000", "n = 1_000_000", "" },
	};

	EXPECT(cases);
}

UNIT_TEST(claims_are_counted_beyond_the_list_limit)
{
	struct agent_checked checked;
	char answer[8192];
	size_t at = 0;

	for (unsigned i = 0; i < 200; i++)
		at += (size_t)snprintf(answer + at, sizeof(answer) - at, "%u.5, ", 1000 + i);
	look_up(answer, "7", &checked);
	assert_int_equal(checked.numbers, 200);
	assert_int_equal(checked.numbers_unsupported, 200);
	assert_int_equal(checked.listed, AGENT_CLAIMS_MAX);
}

UNIT_TEST(the_amount_of_evidence_is_limited)
{
	struct evidence evidence = { 0 };
	char line[64];

	for (unsigned i = 0; i < EVIDENCE_MAX / 2 + 10; i++) {
		const int len = snprintf(line, sizeof(line), "%u 7", 100000000 + i);

		evidence_add(&evidence, line, (size_t)len);
	}
	assert_true(evidence.is_full);
	assert_true(evidence.count <= EVIDENCE_MAX);
	assert_true(evidence_has(&evidence, 100000000, 100000000));
	assert_false(evidence_has(&evidence, 5, 6));
	evidence_done(&evidence);
}

UNIT_TEST(links_to_sandbox_files_are_found)
{
	static const char text[] = "[a](sandbox:/mnt/data/a.csv), sandbox:/mnt/data/b%20c.png. "
				   "<sandbox:/mnt/data/> sandbox:/mnt/data/x%0Ay "
				   "sandbox:/mnt/data/d/e.txt";
	static const char *const names[] = { "a.csv", "b c.png", "d/e.txt" };
	struct buf name = BUF_INIT(4096);
	struct agent_claim claim;
	size_t at = 0, count = 0;

	while (claims_next_link(text, strlen(text), &at, &name, &claim)) {
		assert_true(count < 3);
		assert_string_equal(buf_text(&name), names[count++]);
		assert_int_equal(claim.kind, AGENT_CLAIM_LINK);
		assert_true(claim.offset + claim.len <= strlen(text));
	}
	assert_int_equal(count, 3);
	buf_done(&name);
}

/* In random text every listed claim lies within the text. */
UNIT_TEST(claims_in_random_text_stay_within_it)
{
	static const char alphabet[] = "0123456789.,' _-%$eE:/#*|`\n[]()<>k\xc2\xa0\xe2\x80\x93";
	unsigned seed = 4711;

	for (unsigned round = 0; round < 20000; round++) {
		struct agent_checked checked;
		char text[64];
		size_t len;

		seed = seed * 1103515245u + 12345u;
		len = (seed >> 16) % (sizeof(text) - 1);
		for (size_t i = 0; i < len; i++) {
			seed = seed * 1103515245u + 12345u;
			text[i] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
		}
		text[len] = '\0';
		look_up(text, text, &checked);
		for (size_t i = 0; i < checked.listed; i++)
			assert_true(checked.claims[i].offset + checked.claims[i].len <= len);
	}
}
