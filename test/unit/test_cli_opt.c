/*
 * test_cli_opt.c - command lines, help and completion from one table.
 *
 * Runs in:  the unit suite.
 * Reads:    command lines of its own.
 * Never:    uses the real commands; test/e2e covers those.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/options/opt.h"

enum { OPT_SIZE = OPT_LONG, OPT_QUIET, OPT_AGAIN };

static const struct opt_item items[] = {
	{ 'c', NULL, "CODE", "code to run", OPT_HINT_NONE, NULL, true },
	{ 'o', "output", "DIR", "it's a [place]", OPT_HINT_DIR, NULL, false },
	{ OPT_SIZE, "size", "SIZE", "how much", OPT_HINT_NONE, NULL, false },
	{ 'l', "language", "LANGUAGE", "which", OPT_HINT_CHOICE, "one two", false },
	{ OPT_QUIET, "quiet", NULL, "say less", OPT_HINT_NONE, NULL, false },
	{ OPT_AGAIN, "again", "[ID]", "as then", OPT_HINT_NONE, NULL, false },
};

static const struct opt_command cook = {
	.name = "cook",
	.operands = "[FILE]...",
	.summary = "make it: hot",
	.items = items,
	.count = ARRAY_LEN(items),
	.operand_hint = OPT_HINT_FILE,
};

static const struct opt_item rare_items[] = {
	{ OPT_SIZE, "size", "SIZE", "how much", OPT_HINT_NONE, NULL, false },
	{ OPT_QUIET, "quiet", NULL, "say less", OPT_HINT_NONE, NULL, false, true },
};

static const struct opt_command lay = {
	.name = "table lay",
	.operands = "NAME",
	.summary = "put plates on it",
	.items = rare_items,
	.count = ARRAY_LEN(rare_items),
};
static const struct opt_command clear = {
	.name = "table clear", .operands = "", .summary = "take them away"
};
static const struct opt_command *const table_subs[] = { &lay, &clear, NULL };
static const struct opt_command table = {
	.name = "table", .operands = "COMMAND", .summary = "all about it", .subs = table_subs
};

static const struct opt_command *const commands[] = { &cook, &table, NULL };

/* Writes "id=value " for each option and operand. */
static int note(int id, const char *value, void *arg, struct err *err)
{
	if (value != NULL && strcmp(value, "refuse") == 0)
		return err_set(err, ERR_LIMIT, "refused");
	return buf_addf(arg, err, "%d=%s ", id, value != NULL ? value : "NULL");
}

#define parse(ret, err, ...)                                                      \
	parse_words(ret, err, (char *[]){ (char[]){ "cook" }, __VA_ARGS__, NULL })

static int parse_words(struct buf *ret, struct err *err, char **argv)
{
	int argc = 0;

	while (argv[argc] != NULL)
		argc++;
	err_clear(err);
	buf_clear(ret);
	return opt_parse(&cook, argc, argv, note, ret, err);
}

#define W(text) ((char[]){ text })

UNIT_TEST(options_and_operands_keep_their_order)
{
	cleanup_buf struct buf got = BUF_INIT(4096);
	struct err err;

	assert_int_equal(parse(&got, &err, W("-c"), W("1"), W("a.py"), W("-c2"), W("-"),
			       W("--size=3"), W("--output"), W("d"), W("--quiet")),
			 0);
	assert_string_equal(got.data, "99=1 1=a.py 99=2 1=- 256=3 111=d 257=NULL ");
	assert_int_equal(parse(&got, &err, W("a"), W("--"), W("-c"), W("--size")), 0);
	assert_string_equal(got.data, "1=a 1=-c 1=--size ");
	assert_int_equal(parse(&got, &err, W("-c"), W("")), 0);
	assert_string_equal(got.data, "99= ");
	/* An optional value must be attached to its option with "=". */
	assert_int_equal(parse(&got, &err, W("--again"), W("a"), W("--again=b")), 0);
	assert_string_equal(got.data, "258=NULL 1=a 258=b ");
}

UNIT_TEST(parsing_does_not_depend_on_an_earlier_call)
{
	cleanup_buf struct buf got = BUF_INIT(4096);
	struct err err;

	assert_int_equal(parse(&got, &err, W("-z"), W("a"), W("b")), ERR_INVALID);
	assert_int_equal(parse(&got, &err, W("a"), W("b")), 0);
	assert_string_equal(got.data, "1=a 1=b ");
}

UNIT_TEST(help_ends_the_parsing)
{
	cleanup_buf struct buf got = BUF_INIT(4096);
	struct err err;

	assert_int_equal(parse(&got, &err, W("--help"), W("--bad")), 1);
	assert_int_equal(parse(&got, &err, W("-h")), 1);
	assert_int_equal(parse(&got, &err, W("--"), W("-h")), 0);
}

static void assert_complaint(char **argv, const char *text, const char *remedy)
{
	cleanup_buf struct buf got = BUF_INIT(4096);
	struct err err;

	assert_int_equal(parse_words(&got, &err, argv), ERR_INVALID);
	assert_string_equal(err.text, text);
	assert_string_equal(err.remedy, remedy);
}

#define complaint(text, remedy, ...) \
	assert_complaint((char *[]){ (char[]){ "cook" }, __VA_ARGS__, NULL }, text, remedy)

UNIT_TEST(bad_options_are_named)
{
	const char *see = "see reckon cook --help";

	complaint("cook: unknown or ambiguous option --outptu", "did you mean --output?",
		  W("--outptu=x"));
	complaint("cook: unknown or ambiguous option --hlep", "did you mean --help?", W("--hlep"));
	complaint("cook: unknown or ambiguous option --something", see, W("--something"));
	complaint("cook: unknown option -z", see, W("-z"));
	complaint("cook: option --size needs a value SIZE", see, W("--size"));
	complaint("cook: option -c needs a value CODE", see, W("-c"));
	complaint("cook: option --quiet takes no value", see, W("--quiet=1"));
}

UNIT_TEST(a_handlers_error_is_passed_on)
{
	cleanup_buf struct buf got = BUF_INIT(4096);
	struct err err;

	assert_int_equal(parse(&got, &err, W("-c"), W("refuse"), W("x")), ERR_LIMIT);
	assert_string_equal(err.text, "cook: refused");
	assert_int_equal(got.len, 0);
	assert_int_equal(parse(&got, &err, W("--"), W("refuse")), ERR_LIMIT);
}

static const char *word_next(size_t index, const void *arg)
{
	return ((const char *const *)arg)[index];
}

UNIT_TEST(only_typing_errors_are_corrected)
{
	static const char *const words[] = { "run", "doctor", "template", "version", NULL };

	assert_string_equal(opt_nearest("rnu", word_next, words), "run");
	assert_string_equal(opt_nearest("rum", word_next, words), "run");
	assert_string_equal(opt_nearest("docter", word_next, words), "doctor");
	assert_string_equal(opt_nearest("templates", word_next, words), "template");
	assert_string_equal(opt_nearest("verison", word_next, words), "version");
	assert_null(opt_nearest("", word_next, words));
	assert_null(opt_nearest("xyz", word_next, words));
	assert_null(opt_nearest("deploy", word_next, words));
	assert_null(opt_nearest("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
				"aaaaaaaaaaa",
				word_next, words));
}

struct printed {
	char *text;
	size_t len;
};

static FILE *printed_open(struct printed *printed)
{
	FILE *out = open_memstream(&printed->text, &printed->len);

	assert_non_null(out);
	return out;
}

static void assert_contains(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("'%s' is missing in:\n%s", part, text);
}

UNIT_TEST(help_shows_every_option)
{
	struct printed printed;
	FILE *out = printed_open(&printed);

	opt_print_help(out, &cook);
	assert_int_equal(fclose(out), 0);
	assert_contains(printed.text, "Usage: reckon cook [OPTION]... [FILE]...\n");
	assert_contains(printed.text, "  -c CODE                       code to run\n");
	assert_contains(printed.text, "  -o, --output DIR              it's a [place]\n");
	assert_contains(printed.text, "      --size SIZE               how much\n");
	assert_contains(printed.text, "      --quiet                   say less\n");
	free(printed.text);
}

UNIT_TEST(completions_contain_every_option)
{
	static const struct {
		const char *shell;
		const char *parts[4];
	} rows[] = {
		{ "bash",
		  { "words='-c -o --output --size -l --language --quiet --again --help'",
		    "-o|--output) COMPREPLY=($(compgen -d", "-l|--language) COMPREPLY=($(compgen "
							    "-W 'one two'",
		    "files=1" } },
		{ "zsh",
		  { "'--output[it'\\''s a \\[place\\]]:DIR:_files -/'", "'*-c[code to run]:CODE: '",
		    "'cook:make it\\: hot'", "'--quiet[say less]'" } },
		{ "fish",
		  { "-s o -l output -r -F -d 'it'\\''s a [place]'", "-l quiet -d 'say less'",
		    "-x -a 'one two'", "-a cook -d 'make it: hot'" } },
	};
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct printed printed;
		FILE *out = printed_open(&printed);

		assert_ok(&err, opt_print_completion(out, rows[i].shell, commands, &err));
		assert_int_equal(fclose(out), 0);
		for (size_t j = 0; j < ARRAY_LEN(rows[i].parts); j++)
			assert_contains(printed.text, rows[i].parts[j]);
		free(printed.text);
	}
	assert_err(&err, ERR_INVALID, opt_print_completion(stderr, "csh", commands, &err));
}

UNIT_TEST(the_manual_has_the_same_options)
{
	struct printed printed;
	FILE *out = printed_open(&printed);

	opt_print_manual(out, &cook);
	assert_int_equal(fclose(out), 0);
	assert_contains(printed.text, "*reckon cook* [option...]");
	assert_contains(printed.text, "*-o*, *--output* DIR\n\tit's a [place]\n");
	assert_contains(printed.text, "*-c* CODE\n\tcode to run; may be given several times\n");
	free(printed.text);
}

static const struct opt_command *sub_of(struct err *err, bool *ret_help, const char *word)
{
	char first[] = "table", second[32];
	char *argv[] = { first, second, NULL };

	(void)snprintf(second, sizeof(second), "%s", word != NULL ? word : "");
	err_clear(err);
	return opt_sub(&table, word != NULL ? 2 : 1, argv, ret_help, err);
}

UNIT_TEST(the_second_word_names_a_command)
{
	struct err err;
	bool help;

	assert_ptr_equal(sub_of(&err, &help, "lay"), &lay);
	assert_ptr_equal(sub_of(&err, &help, "clear"), &clear);
	assert_string_equal(opt_word(&lay), "lay");
	assert_string_equal(opt_word(&cook), "cook");
	assert_null(sub_of(&err, &help, "--help"));
	assert_true(help);
	assert_null(sub_of(&err, &help, NULL));
	assert_false(help);
	assert_string_equal(err.text, "table: missing subcommand");
	assert_null(sub_of(&err, &help, "claer"));
	assert_int_equal(err.code, ERR_INVALID);
	assert_string_equal(err.remedy, "did you mean reckon table clear?");
}

UNIT_TEST(subcommands_are_in_help_completion_and_manual)
{
	static const char *const shells[] = { "bash", "zsh", "fish" };
	static const char *const parts[] = { "operands='lay clear'", "'lay:put plates on it'",
					     "-a lay -d 'put plates on it'" };
	struct printed printed;
	struct err err;
	FILE *out;

	for (size_t i = 0; i < ARRAY_LEN(shells); i++) {
		out = printed_open(&printed);
		assert_ok(&err, opt_print_completion(out, shells[i], commands, &err));
		assert_int_equal(fclose(out), 0);
		assert_contains(printed.text, parts[i]);
		assert_contains(printed.text, "quiet");
		free(printed.text);
	}
	out = printed_open(&printed);
	opt_print_help(out, &table);
	opt_print_manual(out, &table);
	assert_int_equal(fclose(out), 0);
	assert_contains(printed.text, "  reckon table lay              put plates on it\n");
	assert_contains(printed.text, "*reckon table lay* [option...] NAME\n");
	assert_contains(printed.text, "## table clear\n");
	free(printed.text);
}

UNIT_TEST(the_overview_lists_daemon_commands_in_one_line)
{
	static const struct opt_command one = { .name = "one", .summary = "1", .of_daemon = true };
	static const struct opt_command two = { .name = "two", .summary = "2", .of_daemon = true };
	static const struct opt_command *const all[] = { &one, &cook, &two, NULL };
	struct printed printed;
	FILE *out = printed_open(&printed);

	opt_print_overview(out, all);
	assert_int_equal(fclose(out), 0);
	assert_contains(printed.text, "  cook       make it: hot\n");
	assert_contains(printed.text, "  administration: one, two\n");
	free(printed.text);
}

UNIT_TEST(rare_options_are_named_in_help_and_in_the_manual)
{
	struct printed printed;
	FILE *out = printed_open(&printed);

	opt_print_help(out, &lay);
	assert_int_equal(fclose(out), 0);
	assert_contains(printed.text, "--size");
	assert_contains(printed.text, "  also, in the manual: --quiet\n");
	assert_null(strstr(printed.text, "say less"));
	free(printed.text);
	out = printed_open(&printed);
	opt_print_manual(out, &lay);
	assert_int_equal(fclose(out), 0);
	assert_contains(printed.text, "--quiet");
	free(printed.text);
}
