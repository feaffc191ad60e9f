/*
 * frame.c - draws a DataFrame as a table: numbers with the decimals they need, dates without a zero
 * time.
 *
 * Runs in:  reckon.
 * Reads:    application/vnd.reckon.table+json, which a hostile box may have written.
 * Never:    trusts a count in it: it counts the values.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/term/table.h"
#include "codec/json_get.h"

#define ROWS_WHOLE 60 /* larger tables are shortened */
#define ROWS_PART 10  /* rows from each end of a shortened table */
#define DECIMALS_MAX 6

enum kind { KIND_TEXT, KIND_NUMBER, KIND_DATE };

struct frame {
	const struct json_value *columns, *index, *data;
	size_t column_count, row_count; /* of the values in the JSON */
	int64_t rows, columns_total;	/* of the whole DataFrame */
	size_t head, tail;		/* rows drawn from each end */
	bool gap;			/* a row of "…" is between them */
};

/* One column while it is drawn; the JSON has its values by row. */
struct series {
	const struct frame *frame;
	size_t at; /* 0 is the index */
	const char *dtype;
	enum kind kind;
	int decimals;	 /* for floats; -1: exponent notation */
	bool dates_only; /* no value has a time of day */
};

static const struct json_value *value_at(const struct series *series, size_t row)
{
	const struct frame *frame = series->frame;

	if (series->at == 0)
		return json_read_at(json_read_member(frame->index, "values"), row);
	return json_read_at(json_read_at(frame->data, row), series->at - 1);
}

static bool begins(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static enum kind kind_of(const char *dtype)
{
	static const char *const numbers[] = { "int",	"uint",	 "float", "Int",
					       "UInt",	"Float", "complex", "decimal" };

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (begins(dtype, numbers[i]))
			return KIND_NUMBER;
	return begins(dtype, "datetime") ? KIND_DATE : KIND_TEXT;
}

/* The decimals that this value needs, as pandas counts them. */
static int decimals_of(double value)
{
	char text[64];
	int decimals = DECIMALS_MAX;
	size_t len;

	if (value != 0 && (fabs(value) >= 1e15 || fabs(value) < 1e-5))
		return -1;
	len = (size_t)snprintf(text, sizeof(text), "%.*f", DECIMALS_MAX, value);
	while (decimals > 1 && text[len - 1] == '0') {
		len--;
		decimals--;
	}
	return decimals;
}

static bool has_time(const char *text, size_t len)
{
	return len > 10 && (len != 19 || strcmp(text + 10, "T00:00:00") != 0);
}

static void series_scan(struct series *series)
{
	series->decimals = 1;
	series->dates_only = true;
	for (size_t row = 0; row < series->frame->row_count; row++) {
		const struct json_value *value = value_at(series, row);
		const char *text;
		double number;
		size_t len;

		text = json_read_text(value, &len);
		if (text != NULL && has_time(text, len))
			series->dates_only = false;
		if (json_read_double(value, &number) && series->decimals >= 0) {
			const int need = decimals_of(number);

			series->decimals = need < 0 || need > series->decimals ? need
									       : series->decimals;
		}
	}
}

static const char *missing(const struct series *series)
{
	if (series->kind == KIND_DATE || begins(series->dtype, "timedelta"))
		return "NaT";
	if (begins(series->dtype, "Int") || begins(series->dtype, "UInt") ||
	    begins(series->dtype, "Float") || begins(series->dtype, "boolean") ||
	    begins(series->dtype, "string"))
		return "<NA>";
	return "NaN";
}

static int cell_number(const struct series *series, const struct json_value *value, char text[64])
{
	int64_t whole;
	double number = 0;

	if (json_read_int(value, &whole) && !begins(series->dtype, "float") &&
	    !begins(series->dtype, "Float"))
		return snprintf(text, 64, "%lld", (long long)whole);
	(void)json_read_double(value, &number);
	if (begins(series->dtype, "float") || begins(series->dtype, "Float")) {
		if (series->decimals < 0)
			return snprintf(text, 64, "%.6g", number);
		return snprintf(text, 64, "%.*f", series->decimals, number);
	}
	return snprintf(text, 64, "%.15g", number);
}

static int cell_date(const struct series *series, const char *text, size_t len, char out[64])
{
	if (len >= 64)
		len = 63;
	if (series->dates_only && len > 10)
		len = 10;
	memcpy(out, text, len);
	if (len > 10 && out[10] == 'T')
		out[10] = ' ';
	return (int)len;
}

static int put_cell(struct term_table *table, size_t row, const struct series *series, size_t from,
		    struct err *err)
{
	const struct json_value *value = value_at(series, from);
	const char *text = NULL;
	bool truth = false;
	char made[64];
	size_t len = 0;

	if (value == NULL)
		return 0; /* the row is too short, or there is no index */
	switch (json_read_kind(value)) {
	case JSON_KIND_STRING:
		text = json_read_text(value, &len);
		if (series->kind == KIND_DATE) {
			len = (size_t)cell_date(series, text, len, made);
			text = made;
		}
		break;
	case JSON_KIND_NUMBER:
		len = (size_t)cell_number(series, value, made);
		text = made;
		break;
	case JSON_KIND_BOOL:
		(void)json_read_bool(value, &truth);
		text = truth ? "True" : "False";
		len = strlen(text);
		break;
	case JSON_KIND_NULL:
		text = missing(series);
		len = strlen(text);
		break;
	case JSON_KIND_ARRAY:
	case JSON_KIND_OBJECT:
		text = "…";
		len = strlen(text);
		break;
	}
	return term_table_cell(table, row, series->at, text, len, err);
}

static int put_series(struct term_table *table, const struct frame *frame, size_t at,
		      struct err *err)
{
	const struct json_value *what = at == 0 ? frame->index
						: json_read_at(frame->columns, at - 1);
	struct series series = { .frame = frame, .at = at, .dtype = json_get_str(what, "dtype") };

	series.kind = kind_of(series.dtype);
	series_scan(&series);
	term_table_head(table, at, json_get_str(what, "name"), series.kind == KIND_NUMBER);
	for (size_t row = 0; row < frame->head; row++)
		if (put_cell(table, row, &series, row, err) < 0)
			return (int)err->code;
	if (frame->gap && term_table_cell(table, frame->head, at, "…", strlen("…"), err) < 0)
		return (int)err->code;
	for (size_t row = 0; row < frame->tail; row++)
		if (put_cell(table, frame->head + frame->gap + row, &series,
			     frame->row_count - frame->tail + row, err) < 0)
			return (int)err->code;
	return 0;
}

static int frame_read(const struct json_value *json, struct frame *frame, struct err *err)
{
	frame->columns = json_read_member(json, "columns");
	frame->index = json_read_member(json, "index");
	frame->data = json_read_member(json, "data");
	if (json_read_kind(frame->columns) != JSON_KIND_ARRAY ||
	    json_read_kind(frame->data) != JSON_KIND_ARRAY)
		return err_set(err, ERR_INVALID, "not a table");
	frame->column_count = json_read_count(frame->columns);
	frame->row_count = json_read_count(frame->data);
	if (!json_read_int(json_read_member(json, "rows"), &frame->rows) ||
	    frame->rows < (int64_t)frame->row_count)
		frame->rows = (int64_t)frame->row_count;
	if (!json_read_int(json_read_member(json, "columns_total"), &frame->columns_total) ||
	    frame->columns_total < (int64_t)frame->column_count)
		frame->columns_total = (int64_t)frame->column_count;
	frame->head = frame->row_count;
	if (frame->row_count > ROWS_WHOLE && frame->rows == (int64_t)frame->row_count) {
		frame->head = frame->tail = ROWS_PART;
	} else if (frame->rows > (int64_t)frame->row_count || frame->row_count > ROWS_WHOLE) {
		frame->head = frame->row_count < 2 * (size_t)ROWS_PART ? frame->row_count
									: 2 * (size_t)ROWS_PART;
	}
	frame->gap = frame->rows > (int64_t)(frame->head + frame->tail);
	if ((frame->column_count + 1) * (frame->head + frame->tail + 2) > TERM_TABLE_CELLS_MAX)
		return err_set(err, ERR_LIMIT, "the table has too many cells");
	return 0;
}

int term_frame_draw(const struct json_value *json, size_t width, bool bold, struct buf *ret,
		    struct err *err)
{
	struct frame frame = { 0 };
	struct term_table *table;
	int rc = 0;

	if (frame_read(json, &frame, err) < 0)
		return (int)err->code;
	table = term_table_new(frame.column_count + 1, frame.head + frame.tail + frame.gap);
	for (size_t i = 0; i <= frame.column_count && rc == 0; i++)
		rc = put_series(table, &frame, i, err);
	if (rc == 0)
		rc = term_table_draw(table, width, bold, ret, err);
	term_table_free(table);
	if (rc < 0)
		return rc;
	return buf_addf(ret, err, "%lld row%s × %lld column%s\n", (long long)frame.rows,
			frame.rows == 1 ? "" : "s", (long long)frame.columns_total,
			frame.columns_total == 1 ? "" : "s");
}
