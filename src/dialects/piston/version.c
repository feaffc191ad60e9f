/*
 * version.c - version ranges as in package.json, as far as Piston's clients use them.
 *
 * Runs in:  reckon-front-piston.
 * Reads:    ranges of any client, versions that a box printed.
 * Never:    accepts a version without a number.
 */
#include <stdlib.h>
#include <string.h>

#include "dialects/piston/piston.h"

struct version {
	unsigned long part[3];
	unsigned count; /* how many parts are given */
};

static struct version parse(const char *text)
{
	struct version version = { 0 };
	char *end;

	while (version.count < 3 && *text >= '0' && *text <= '9') {
		version.part[version.count++] = strtoul(text, &end, 10);
		text = *end == '.' ? end + 1 : end;
	}
	return version;
}

static int compare(const struct version *a, const struct version *b, unsigned parts)
{
	for (unsigned i = 0; i < parts; i++)
		if (a->part[i] != b->part[i])
			return a->part[i] < b->part[i] ? -1 : 1;
	return 0;
}

static bool fits_one(const char *range, const struct version *have)
{
	const size_t sign = strspn(range, "<>=^~");
	const struct version want = parse(range + sign);
	const int order = compare(have, &want, want.count);

	if (strcmp(range, "*") == 0 || strcmp(range, "x") == 0 || strcmp(range, "latest") == 0)
		return true;
	if (want.count == 0)
		return false;
	if (strncmp(range, ">=", 2) == 0)
		return order >= 0;
	if (strncmp(range, "<=", 2) == 0)
		return order <= 0;
	if (range[0] == '>')
		return order > 0;
	if (range[0] == '<')
		return order < 0;
	if (range[0] == '^')
		return order >= 0 && have->part[0] == want.part[0];
	if (range[0] == '~')
		return order >= 0 && compare(have, &want, want.count > 1 ? 2 : 1) == 0;
	return order == 0;
}

/* All ranges of a list. */
static bool fits_all(const char *wanted, size_t size, const struct version *have)
{
	const char *end = wanted + size;
	char range[64];

	while ((wanted += strspn(wanted, " ")) < end) {
		const size_t rest = strcspn(wanted, " ");
		const size_t len = rest < (size_t)(end - wanted) ? rest : (size_t)(end - wanted);

		if (len >= sizeof(range))
			return false;
		memcpy(range, wanted, len);
		range[len] = '\0';
		if (!fits_one(range, have))
			return false;
		wanted += len;
	}
	return true;
}

bool piston_version_fits(const char *wanted, const char *version)
{
	const struct version have = parse(version);
	const char *bar;

	for (; (bar = strstr(wanted, "||")) != NULL; wanted = bar + 2)
		if (fits_all(wanted, (size_t)(bar - wanted), &have))
			return true;
	return fits_all(wanted, strlen(wanted), &have);
}

const char *piston_version_of(char *printed, const char *name)
{
	const size_t len = strlen(name);
	char *next;

	for (char *line = printed; line != NULL && *line != '\0'; line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			next++;
		if (strncmp(line, name, len) == 0 && line[len] == ' ') {
			line[strcspn(line, "\n")] = '\0';
			/* A program that exists but does not start has no version. */
			return line[len + 1] != '\0' ? line + len + 1 : NULL;
		}
	}
	return NULL;
}
