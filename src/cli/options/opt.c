/*
 * opt.c - parses command lines by their tables, and prints help.
 *
 * Runs in:  reckon.
 * Reads:    the command line.
 * Never:    prints an error itself; getopt's own messages are disabled.
 */
#include "cli/options/opt.h"

#include <getopt.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define HELP_ID 'h'
#define WORD_MAX 64 /* longer words are not typing mistakes */

static size_t distance(const char *a, size_t alen, const char *b, size_t blen)
{
	size_t row[WORD_MAX + 1];

	for (size_t j = 0; j <= blen; j++)
		row[j] = j;
	for (size_t i = 1; i <= alen; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= blen; j++) {
			size_t change = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < change)
				change = row[j] + 1;
			if (row[j - 1] + 1 < change)
				change = row[j - 1] + 1;
			row[j] = change;
		}
	}
	return row[blen];
}

const char *opt_nearest(const char *word, opt_word_fn *next, const void *arg)
{
	const size_t len = strlen(word);
	/* A short word with half its letters different is another word, not a mistake. */
	size_t best = len < 3 ? 1 : len < 6 ? 2 : 3;
	const char *nearest = NULL;
	const char *candidate;

	if (len == 0 || len > WORD_MAX)
		return NULL;
	for (size_t i = 0; (candidate = next(i, arg)) != NULL; i++) {
		const size_t clen = strlen(candidate);
		size_t d;

		if (clen > WORD_MAX)
			continue;
		d = distance(word, len, candidate, clen);
		if (d > best || d >= clen || (nearest != NULL && d == best))
			continue;
		best = d;
		nearest = candidate;
	}
	return nearest;
}

static const struct opt_item *item_find(const struct opt_command *command, int id)
{
	for (size_t i = 0; i < command->count; i++)
		if (command->items[i].id == id)
			return &command->items[i];
	return NULL;
}

static const char *long_name_next(size_t index, const void *arg)
{
	const struct opt_command *command = arg;

	for (size_t i = 0; i < command->count; i++) {
		if (command->items[i].name == NULL)
			continue;
		if (index-- == 0)
			return command->items[i].name;
	}
	return index == 0 ? "help" : NULL;
}

/* Explains why getopt_long() failed; `word` is the argument at which it stopped. */
static int bad_option(const struct opt_command *command, const char *word, bool no_value,
		      struct err *err)
{
	const struct opt_item *item = item_find(command, optopt);
	char name[WORD_MAX + 1] = "";
	const char *near = NULL;

	if (no_value && item != NULL && item->name != NULL && strncmp(word, "--", 2) == 0)
		err_set(err, ERR_INVALID, "%s: option --%s needs a value %s", command->name,
			item->name, item->value);
	else if (no_value)
		err_set(err, ERR_INVALID, "%s: option -%c needs a value%s%s", command->name, optopt,
			item != NULL ? " " : "", item != NULL ? item->value : "");
	else if (strncmp(word, "--", 2) == 0 && optopt != 0)
		err_set(err, ERR_INVALID, "%s: option %.*s takes no value", command->name,
			(int)strcspn(word, "="), word);
	else if (strncmp(word, "--", 2) == 0) {
		const size_t len = strcspn(word + 2, "=");

		if (len <= WORD_MAX) {
			memcpy(name, word + 2, len);
			near = opt_nearest(name, long_name_next, command);
		}
		err_set(err, ERR_INVALID, "%s: unknown or ambiguous option %.*s", command->name,
			(int)strcspn(word, "="), word);
	} else
		err_set(err, ERR_INVALID, "%s: unknown option -%c", command->name, optopt);
	if (near != NULL)
		return err_remedy(err, "did you mean --%s?", near);
	return err_remedy(err, "see reckon %s --help", command->name);
}

static void fill_getopt(const struct opt_command *command, struct option *ret_options,
			char *ret_letters)
{
	size_t used = 0;

	/*
	 * '-': return operands in order with the options; ':': report a missing value separately.
	 */
	*ret_letters++ = '-';
	*ret_letters++ = ':';
	for (size_t i = 0; i < command->count; i++) {
		const struct opt_item *item = &command->items[i];
		const int has_value = item->value == NULL      ? no_argument
				      : item->value[0] == '[' ? optional_argument
							      : required_argument;

		if (item->id < OPT_LONG) {
			*ret_letters++ = (char)item->id;
			if (has_value == required_argument)
				*ret_letters++ = ':';
		}
		if (item->name != NULL)
			ret_options[used++] =
				(struct option){ item->name, has_value, NULL, item->id };
	}
	*ret_letters++ = HELP_ID;
	*ret_letters = '\0';
	ret_options[used] = (struct option){ "help", no_argument, NULL, HELP_ID };
}

int opt_parse(const struct opt_command *command, int argc, char **argv, opt_fn *fn, void *arg,
	      struct err *err)
{
	cleanup_free struct option *options = mem_new0(command->count + 2, sizeof(*options));
	cleanup_free char *letters = mem_new0(command->count * 2 + 4, 1);
	int id;

	fill_getopt(command, options, letters);
	opterr = 0;
	optind = 0; /* glibc: reset the parser */
	for (;;) {
		const struct opt_item *item;
		const char *word;

		optopt = 0;
		id = getopt_long(argc, argv, letters, options, NULL);
		if (id == -1)
			break;
		word = argv[optind - 1];
		if (id == HELP_ID)
			return 1;
		if (id == '?' || id == ':')
			return bad_option(command, word, id == ':', err);
		item = id == OPT_OPERAND ? NULL : item_find(command, id);
		if (fn(id, item == NULL || item->value != NULL ? optarg : NULL, arg, err) < 0)
			return err_wrap(err, "%s", command->name);
	}
	for (int i = optind; i < argc; i++) /* the arguments after "--" */
		if (fn(command->takes_arguments ? OPT_ARGUMENT : OPT_OPERAND, argv[i], arg, err) <
		    0)
			return err_wrap(err, "%s", command->name);
	return 0;
}

const char *opt_word(const struct opt_command *command)
{
	const char *space = strrchr(command->name, ' ');

	return space != NULL ? space + 1 : command->name;
}

static const char *sub_name_next(size_t index, const void *arg)
{
	const struct opt_command *command = arg;

	return command->subs[index] != NULL ? opt_word(command->subs[index]) : NULL;
}

const struct opt_command *opt_sub(const struct opt_command *command, int argc, char **argv,
				  bool *ret_help, struct err *err)
{
	const char *word = argc > 1 ? argv[1] : NULL, *near;

	*ret_help = word != NULL && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
	if (*ret_help)
		return NULL;
	if (word == NULL) {
		(void)err_set(err, ERR_INVALID, "%s: missing subcommand", command->name);
		(void)err_remedy(err, "see reckon %s --help", command->name);
		return NULL;
	}
	for (size_t i = 0; command->subs[i] != NULL; i++)
		if (strcmp(opt_word(command->subs[i]), word) == 0)
			return command->subs[i];
	near = opt_nearest(word, sub_name_next, command);
	(void)err_set(err, ERR_INVALID, "%s %.100s: no such command", command->name, word);
	if (near != NULL)
		(void)err_remedy(err, "did you mean reckon %s %s?", command->name, near);
	else
		(void)err_remedy(err, "see reckon %s --help", command->name);
	return NULL;
}

static void print_item(FILE *out, const struct opt_item *item)
{
	char left[64];
	const char *equals = item->name != NULL && item->value != NULL ? " " : "";

	if (item->rare)
		return;
	if (item->id < OPT_LONG && item->name != NULL)
		(void)snprintf(left, sizeof(left), "-%c, --%s%s%s", item->id, item->name, equals,
			       item->value != NULL ? item->value : "");
	else if (item->id < OPT_LONG)
		(void)snprintf(left, sizeof(left), "-%c%s%s", item->id,
			       item->value != NULL ? " " : "",
			       item->value != NULL ? item->value : "");
	else
		(void)snprintf(left, sizeof(left), "    --%s%s%s", item->name, equals,
			       item->value != NULL ? item->value : "");
	(void)fprintf(out, "  %-29s %s\n", left, item->help);
}

#define SCREEN_LINES 24
#define SCREEN_COLUMNS 80

static size_t count_lines(const char *text)
{
	size_t lines = 1;

	for (; *text != '\0'; text++)
		lines += *text == '\n';
	return lines;
}

/*
 * Prints the names of the options from `first` on, and of rare ones, wrapped to the screen's width.
 * Returns the number of lines; prints nothing if `out` is NULL.
 */
static size_t print_names_from(FILE *out, const struct opt_command *command, size_t first)
{
	static const char lead[] = "  also, in the manual:";
	size_t lines = 0, used = 0;

	for (size_t i = 0; i < command->count; i++) {
		const struct opt_item *item = &command->items[i];
		size_t len;

		if ((i < first && !item->rare) || item->name == NULL)
			continue;
		len = strlen(item->name) + 3;
		if (lines == 0 || used + len > SCREEN_COLUMNS - 1) {
			if (out != NULL)
				(void)fputs(lines == 0 ? lead : "\n   ", out);
			used = lines == 0 ? strlen(lead) : 3;
			lines++;
		}
		if (out != NULL)
			(void)fprintf(out, " --%s", item->name);
		used += len;
	}
	if (lines > 0 && out != NULL)
		(void)fputc('\n', out);
	return lines;
}

/* How many options get a line of their own, so that the help fits on one screen. */
static size_t fitting(const struct opt_command *command)
{
	const size_t rest = 1 + (command->notes != NULL ? count_lines(command->notes) : 0);
	size_t shown = 0;

	for (size_t i = 0; command->subs != NULL && command->subs[i] != NULL; i++)
		shown++;
	for (size_t i = 0; i < command->count; i++)
		shown += !command->items[i].rare;
	for (size_t first = command->count; first > 0; first--) {
		if (rest + shown + print_names_from(NULL, command, first) <= SCREEN_LINES)
			return first;
		shown -= !command->items[first - 1].rare;
	}
	return 0;
}

void opt_print_help(FILE *out, const struct opt_command *command)
{
	const size_t first = fitting(command);

	(void)fprintf(out, "Usage: reckon %s%s%s%s\n", command->name,
		      command->count > 0 ? " [OPTION]..." : "", command->operands[0] ? " " : "",
		      command->operands);
	if (command->count == 0)
		(void)fprintf(out, "%s\n", command->summary);
	for (size_t i = 0; i < first; i++)
		print_item(out, &command->items[i]);
	(void)print_names_from(out, command, first);
	for (size_t i = 0; command->subs != NULL && command->subs[i] != NULL; i++)
		(void)fprintf(out, "  reckon %-22s %s\n", command->subs[i]->name,
			      command->subs[i]->summary);
	if (command->notes != NULL)
		(void)fprintf(out, "%s\n", command->notes);
}

static void print_names(FILE *out, const char *what, const struct opt_command *const *commands,
			bool of_daemon)
{
	const char *before = what;
	size_t width = 0;

	for (size_t i = 0; commands[i] != NULL; i++)
		if (of_daemon ? commands[i]->of_daemon : commands[i]->is_minor) {
			const size_t more = strlen(before) + strlen(commands[i]->name);

			if (width > 0 && width + more >= SCREEN_COLUMNS) {
				before = ",\n    ";
				width = 0;
			}
			width += more;
			(void)fprintf(out, "%s%s", before, commands[i]->name);
			before = ", ";
		}
	if (before != what)
		(void)fputc('\n', out);
}

void opt_print_overview(FILE *out, const struct opt_command *const *commands)
{
	(void)fputs("Usage: reckon COMMAND [ARGUMENT]...\n"
		    "Runs code that language models write, in a walled, stateful kernel.\n\n",
		    out);
	for (size_t i = 0; commands[i] != NULL; i++)
		if (!commands[i]->of_daemon && !commands[i]->is_minor)
			(void)fprintf(out, "  %-10s %s\n", commands[i]->name,
				      commands[i]->summary);
	print_names(out, "  administration: ", commands, true);
	print_names(out, "  also: ", commands, false);
	(void)fputs("\n"
		    "  reckon run -c 'print(6*7)'                run a cell\n"
		    "  reckon run -f sales.csv report.py -o out  a file in, its files out\n"
		    "\n"
		    "`reckon help COMMAND` explains one. Exit status: 0 ok, 1 the code failed,\n"
		    "2 usage, 124 time limit, 125 Reckon failed, 137 killed or out of memory.\n",
		    out);
}
