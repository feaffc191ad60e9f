/*
 * cells.c - keeps the cells that ran, for %save and figures.
 *
 * Runs in:  reckon repl.
 * Reads:    records.
 * Never:    grows without bound: it drops the oldest records first, and never a cell's source.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/repl/repl.h"
#include "codec/base64.h"

static void drop_oldest(struct repl *repl)
{
	for (size_t i = 0; i < repl->cell_count && repl->cell_bytes > REPL_CELLS_BYTES_MAX; i++) {
		if (repl->cells[i].record == NULL)
			continue;
		repl->cell_bytes -= strlen(repl->cells[i].record);
		free(repl->cells[i].record);
		repl->cells[i].record = NULL;
	}
}

void repl_cells_add(struct repl *repl, const char *source, size_t len, const char *record)
{
	struct repl_cell *cell;

	repl->cells = mem_grow(repl->cells, repl->cell_count + 1, sizeof(*repl->cells));
	cell = &repl->cells[repl->cell_count++];
	cell->source = mem_new0(len + 1, 1);
	memcpy(cell->source, source, len);
	cell->is_prose = false;
	cell->record = mem_strdup(record);
	cell->number = repl->number;
	repl->cell_bytes += strlen(record);
	drop_oldest(repl);
}

void repl_cells_prose(struct repl *repl, const char *text)
{
	repl->cells = mem_grow(repl->cells, repl->cell_count + 1, sizeof(*repl->cells));
	repl->cells[repl->cell_count++] = (struct repl_cell){
		.source = mem_strdup(text),
		.is_prose = true,
	};
}

void repl_cells_done(struct repl *repl)
{
	for (size_t i = 0; i < repl->cell_count; i++) {
		free(repl->cells[i].source);
		free(repl->cells[i].record);
	}
	free(repl->cells);
}

struct json_value *repl_cell_record(const struct repl_cell *cell)
{
	struct json_value *record = NULL;
	struct err ignored;

	if (cell->record == NULL || json_read_parse(cell->record, strlen(cell->record),
						    RUN_JSON_MAX, &record, &ignored) < 0)
		return NULL;
	return record;
}

struct json_value *repl_cells_last(const struct repl *repl)
{
	return repl->cell_count > 0 ? repl_cell_record(&repl->cells[repl->cell_count - 1]) : NULL;
}

static bool figure_of(const struct json_value *record, size_t cell, const char *name,
		      struct buf *ret)
{
	const struct json_value *results = json_read_member(record, "results");
	size_t number = 0;

	for (size_t i = 0; i < json_read_count(results); i++) {
		struct image_found found;
		struct err ignored;
		char own[64];

		if (!repl_find_image(json_read_member(json_read_at(results, i), "data"), &found))
			continue;
		(void)snprintf(own, sizeof(own), "figure-%zu-%zu.%s", cell, ++number, found.suffix);
		if (strcmp(own, name) != 0)
			continue;
		if (found.is_text)
			return buf_add(ret, found.text, found.len, &ignored) == 0;
		return base64_decode(found.text, found.len, ret, &ignored) == 0;
	}
	return false;
}

bool repl_cells_figure(const struct repl *repl, const char *name, struct buf *ret)
{
	static const char start[] = "figure-";
	size_t number;

	if (strncmp(name, start, sizeof(start) - 1) != 0)
		return false;
	number = strtoul(name + sizeof(start) - 1, NULL, 10);
	/* Search from the newest, because cell numbers begin again after a restart. */
	for (size_t i = repl->cell_count; i > 0; i--) {
		struct json_value *record;
		bool found;

		if (repl->cells[i - 1].number != number)
			continue;
		record = repl_cell_record(&repl->cells[i - 1]);
		found = record != NULL && figure_of(record, number, name, ret);
		json_read_free(record);
		if (found)
			return true;
	}
	return false;
}
