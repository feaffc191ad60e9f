/*
 * lend.c - makes LibreChat's tools callable as functions of the code.
 *
 * Runs in:  reckon-front-librechat.
 * Reads:    declarations of any client.
 * Never:    puts a name into code that contains other characters than letters, digits and '_'.
 *
 * In reckond the tools are called t0, t1, … by their index, because LibreChat's names may contain
 * any character. A preamble to the code defines functions with the names that the model knows.
 * Tools from index LIBRECHAT_TOOLS_OWN on share one tool of reckond, with the index as an argument.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/librechat/programmatic.h"

#define NAME_LEN_MAX 250u
#define NAME_SIZE (NAME_LEN_MAX + sizeof("_tool"))

static const char python_words[] =
	" False None True and as assert async await break class continue def del elif else except "
	"finally for from global if import in is lambda nonlocal not or pass raise return try "
	"while "
	"with yield ";
static const char bash_words[] =
	" if then else elif fi case esac for while until do done in function select time coproc "
	"declare typeset local readonly export unset ";

static bool is_reserved(const char *name, const char *words)
{
	const size_t len = strlen(name);

	for (const char *at = words; (at = strstr(at, name)) != NULL; at++)
		if (at[-1] == ' ' && at[len] == ' ')
			return true;
	return false;
}

/* Makes an identifier as LibreChat's packages do; 0: nothing is left of the name, or it is too
 * long. */
static size_t identifier_of(const char *name, bool is_bash, char ret[NAME_SIZE])
{
	size_t len = 0;

	if (isdigit((unsigned char)*name))
		ret[len++] = '_';
	for (; *name != '\0'; name++) {
		const unsigned char c = (unsigned char)*name;
		const bool joins = c == '-' || c == ' ' || (c >= '\t' && c <= '\r') ||
				   (is_bash && c == '.');

		if (!joins && c != '_' && (c >= 0x80 || !isalnum(c)))
			continue;
		if (len == NAME_LEN_MAX)
			return 0;
		ret[len++] = joins ? '_' : (char)c;
	}
	ret[len] = '\0';
	if (len > 0 && is_reserved(ret, is_bash ? bash_words : python_words))
		len += (size_t)snprintf(ret + len, NAME_SIZE - len, "_tool");
	return len;
}

static int lend_python(const char *name, size_t index, struct buf *ret, struct err *err)
{
	if (index >= LIBRECHAT_TOOLS_OWN)
		return buf_addf(ret, err,
				"%s = _lend(\"" LIBRECHAT_TOOL_MORE "\", \"%s\", %zu)\n", name, name,
				index);
	return buf_addf(ret, err, "%s = _lend(\"t%zu\", \"%s\")\n", name, index, name);
}

/* The function prints a text unchanged, and anything else as JSON. */
static int lend_bash(const char *name, size_t index, struct buf *ret, struct err *err)
{
	if (index >= LIBRECHAT_TOOLS_OWN)
		return buf_addf(ret, err,
				"%s() { reckon-tool -r " LIBRECHAT_TOOL_MORE
				" \"{\\\"tool\\\": %zu, \\\"input\\\": ${1:-{\\}}}\"; }\n",
				name, index);
	return buf_addf(
		ret, err,
		"%s() { if [ $# -eq 0 ]; then reckon-tool -r t%zu; else reckon-tool -r t%zu "
		"\"$1\"; fi; }\n",
		name, index, index);
}

int librechat_lend(const struct json_value *names, bool is_bash, struct buf *ret, struct err *err)
{
	if (!is_bash && buf_adds(ret, "import asyncio, builtins\n"
				      "def _lend(tool, name, number=None):\n"
				      "    async def call(**arguments):\n"
				      "        if number is not None:\n"
				      "            arguments = {\"tool\": number, \"input\": arguments}\n"
				      "        return await builtins.tools[tool](**arguments)\n"
				      "    call.__name__ = call.__qualname__ = name\n"
				      "    return call\n", err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < json_read_count(names); i++) {
		const char *name = json_read_text(json_read_at(names, i), NULL);
		char own[NAME_SIZE];

		if (name == NULL || identifier_of(name, is_bash, own) == 0)
			return err_set(err, ERR_INVALID, "a tool has a name of 1 to 250 letters, "
							 "digits, '_' and '-'");
		if ((is_bash ? lend_bash(own, i, ret, err) : lend_python(own, i, ret, err)) < 0)
			return (int)err->code;
	}
	return is_bash ? 0 : buf_adds(ret, "del _lend\n", err);
}
