/* row.h - the keys of models.ini: where each belongs and what it takes; for file.c alone. */
#pragma once

#include "models/models.h"

enum models_row_kind {
	MODELS_ROW_TEXT,
	MODELS_ROW_URL,
	MODELS_ROW_NAME, /* of a variable */
	MODELS_ROW_PATH,
	MODELS_ROW_HEADERS,
	MODELS_ROW_SECRET, /* up to here members are a char *, from here on a uint64_t */
	MODELS_ROW_CHOICE,
	MODELS_ROW_COUNT,
	MODELS_ROW_AMOUNT,
	MODELS_ROW_SECONDS,
};

struct models_row {
	unsigned sections; /* a bit for each enum models_section it may stand in */
	const char *name;
	enum models_row_kind kind;
	size_t offset; /* of the member of struct models_entry */
	uint64_t max;  /* of a count, an amount's millionths, seconds; the places of a choice */
	const char *choices;
};

/* "base_url" is "base-url". NULL: there is none of that name. */
const struct models_row *models_row_find(const char *name);

/* One bit, this row's alone. */
uint32_t models_row_bit(const struct models_row *row);

/* The value as it stands in the file. ERR_INVALID for one that the row does not take. */
int models_row_set(struct models_entry *entry, const struct models_row *row, const char *value,
		   struct err *err);

/* Every number is one that nobody gave. */
void models_row_unset_all(struct models_entry *entry);
