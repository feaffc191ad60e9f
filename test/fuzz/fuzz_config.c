/*
 * fuzz_config.c - the configuration file.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the input as the text of a file.
 * Never:    opens anything.
 *
 * Besides memory safety: each value is within the limits of its row, and a problem names an
 * existing line.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(const struct config *config, const struct config_row *row)
{
	const char *member = (const char *)config + row->offset;
	uint64_t number, scale = row->kind == CONFIG_SECONDS ? 1000 : 1;

	if (row->kind <= CONFIG_DIR) {
		if (memchr(member, '\0', row->size) == NULL)
			abort();
		return;
	}
	memcpy(&number, member, sizeof(number));
	if (number < row->min * scale || number > row->max * scale)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config config;
	static struct ini_problems problems;
	unsigned lines = 1;
	struct err err;
	int code;

	if (size > CONFIG_FILE_MAX)
		return 0;
	config_defaults(&config);
	code = config_parse(&config, (const char *)data, size, &problems, &err);
	for (size_t i = 0; i < config_row_count; i++)
		check_row(&config, &config_rows[i]);
	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	if ((code == 0) != (problems.count == 0))
		abort();
	for (unsigned i = 0; i < problems.count && i < INI_PROBLEMS_MAX; i++)
		if (problems.list[i].line > lines || problems.list[i].text[0] == '\0')
			abort();
	return 0;
}
