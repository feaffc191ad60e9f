/*
 * ini_text.c - reads an INI text line by line and lists its problems.
 *
 * Runs in:  reckon, reckond and tests.
 * Reads:    a text that the user or the administrator wrote.
 * Never:    gives inih a line that inih would cut or join to another.
 */
#include "base/ini_text.h"

#include <stdio.h>
#include <string.h>

/* A file's text has no NUL at its end. */
static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
			return false;
	return true;
}

void ini_text_complain(struct ini_text *text, unsigned line, const char *why)
{
	struct ini_problems *problems = text->problems;

	if (line != 0 && text->problem_line == line)
		return;
	text->problem_line = line;
	if (problems->count < INI_PROBLEMS_MAX) {
		struct ini_problem *problem = &problems->list[problems->count];

		problem->line = line;
		(void)snprintf(problem->text, sizeof(problem->text), "%s", why);
	}
	problems->count++;
}

char *ini_text_next(char *ret, int size, void *arg)
{
	struct ini_text *text = arg;
	const size_t left = (size_t)(text->end - text->at);
	const char *newline = left > 0 ? memchr(text->at, '\n', left) : NULL, *line = text->at;
	const size_t len = newline != NULL ? (size_t)(newline - line) : left;
	const char *why = NULL;
	bool is_for_inih = false;

	if (left == 0)
		return NULL;
	text->line++;
	text->at += len + (newline != NULL);
	if (memchr(line, '\0', len) != NULL)
		why = "the line has a NUL byte";
	else if (len > 0 && line[0] == '[' && text->on_section != NULL)
		text->on_section(text->arg, line, len);
	else if (len + 2 > (size_t)size)
		why = "the line is too long";
	else if (len > 0 && (line[0] == ' ' || line[0] == '\t'))
		why = is_blank(line, len) ? NULL : "the line begins with a space";
	else
		is_for_inih = true;
	if (why != NULL)
		ini_text_complain(text, text->line, why);
	if (is_for_inih)
		memcpy(ret, line, len);
	memcpy(ret + (is_for_inih ? len : 0), "\n", 2);
	return ret;
}

int ini_problems_check(const struct ini_problems *problems, struct err *err)
{
	if (problems->count == 0)
		return 0;
	return err_set(err, ERR_INVALID, "line %u: %s", problems->list[0].line,
		       problems->list[0].text);
}

int ini_text_end(struct ini_text *text, int parsed, struct err *err)
{
	const struct ini_problems *problems = text->problems;
	bool is_known = parsed == 0;

	for (unsigned i = 0; i < problems->count && i < INI_PROBLEMS_MAX; i++)
		is_known |= parsed > 0 && problems->list[i].line == (unsigned)parsed;
	if (!is_known)
		ini_text_complain(text, parsed > 0 ? (unsigned)parsed : 0,
				  "this is neither [section] nor key = value");
	return ini_problems_check(problems, err);
}
