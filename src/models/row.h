/* row.h - the keys of models.ini: their sections and values; only for file.c. */
#pragma once

#include "models/models.h"

enum models_row_kind {
	MODELS_ROW_TEXT,
	MODELS_ROW_URL,
	MODELS_ROW_NAME, /* name of a variable */
	MODELS_ROW_PATH,
	MODELS_ROW_HEADERS,
	MODELS_ROW_SECRET, /* members up to here are a char *, later ones a uint64_t */
	MODELS_ROW_CHOICE,
	MODELS_ROW_COUNT,
	MODELS_ROW_AMOUNT,
	MODELS_ROW_SECONDS,
};

struct models_row {
	unsigned sections; /* a bit for each enum models_section that may contain it */
	const char *name;
	enum models_row_kind kind;
	size_t offset; /* of the member in struct models_entry */
	uint64_t max;  /* of a count, an amount in millionths, seconds; number of choices */
	const char *choices;
};

/* Also finds "base_url" as "base-url". NULL: unknown name. */
const struct models_row *models_row_find(const char *name);

/* This row's bit. */
uint32_t models_row_bit(const struct models_row *row);

/* Sets a member from the file's text. ERR_INVALID: the row does not accept the value. */
int models_row_set(struct models_entry *entry, const struct models_row *row, const char *value,
		   struct err *err);

/* Sets every number to MODELS_UNSET. */
void models_row_unset_all(struct models_entry *entry);
