/*
 * note.c - the line in the rendering for an image, a chart or other data of a result.
 *
 * Runs in:  libreckon.
 * Reads:    data of a hostile kernel: images by their header, charts with the strict reader.
 * Never:    puts more than a line for each into the rendering, or a control character.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_read.h"
#include "lib/record/image_size.h"
#include "lib/record/mime.h"
#include "lib/record/state.h"
#include "lib/record/text.h"

#define CHART_MIME "application/vnd.reckon.chart+json"
#define CHART_MAX ((size_t)4 * 1024 * 1024) /* a larger one is not parsed */
#define CHART_WORD 60u			 /* bytes of a title or label */
#define CHART_VALUES 8u			 /* bars or slices that are listed */
#define CHART_PARTS 6u			 /* charts of one figure that are described */

static void size_text(uint64_t bytes, char ret[TEXT_COUNT_SIZE])
{
	if (bytes < 1000)
		(void)snprintf(ret, TEXT_COUNT_SIZE, "%" PRIu64 " bytes", bytes);
	else if (bytes < 1000000)
		(void)snprintf(ret, TEXT_COUNT_SIZE, "%" PRIu64 " KB", (bytes + 500) / 1000);
	else
		(void)snprintf(ret, TEXT_COUNT_SIZE, "%.1f MB", (double)bytes / 1e6);
}

/* ---- charts ----------------------------------------------------------------------------- */

/* A title or label in one line, shortened. */
static void add_word(struct buf *ret, const struct json_value *value)
{
	size_t len = 0;
	const char *text = json_read_text(value, &len);
	cleanup_free char *clean =
		record_copy_text(text != NULL ? text : "", text != NULL ? len : 0, 4096);
	struct err ignored;

	for (char *at = clean; *at != '\0'; at++)
		if (*at == '\n' || *at == '\t')
			*at = ' ';
	len = text_boundary_down(clean, strlen(clean), CHART_WORD);
	(void)buf_addf(ret, &ignored, "%.*s%s", (int)len, clean,
		       clean[len] != '\0' ? "\xe2\x80\xa6" : "");
}

static void add_label(struct buf *ret, const struct json_value *chart, const char *key,
		      const char *before, const char *after)
{
	const struct json_value *value = json_read_member(chart, key);
	struct err ignored;

	if (json_read_text(value, NULL) == NULL)
		return;
	(void)buf_adds(ret, before, &ignored);
	add_word(ret, value);
	(void)buf_adds(ret, after, &ignored);
}

/* The number of elements: more than are listed if the kernel sent only every nth. */
static size_t count_all(const struct json_value *owner, const char *total, size_t listed)
{
	int64_t all = 0;

	if (json_read_int(json_read_member(owner, total), &all) && all > 0 &&
	    (uint64_t)all > listed)
		return (size_t)all;
	return listed;
}

/* "12 points x 2 series", or separate numbers if they differ. */
static bool add_series(struct buf *ret, const struct json_value *chart)
{
	const struct json_value *elements = json_read_member(chart, "elements");
	size_t series = json_read_count(elements), least = SIZE_MAX, most = 0;
	struct err ignored;

	for (size_t i = 0; i < series; i++) {
		const struct json_value *element = json_read_at(elements, i);
		const struct json_value *points = json_read_member(element, "points");
		size_t count = count_all(element, "points_total", json_read_count(points));

		if (json_read_kind(points) != JSON_KIND_ARRAY)
			return false;
		least = count < least ? count : least;
		most = count > most ? count : most;
	}
	if (series == 0)
		return false;
	if (least == most)
		(void)buf_addf(ret, &ignored, ", %zu point%s", most, most == 1 ? "" : "s");
	else
		(void)buf_addf(ret, &ignored, ", %zu to %zu points", least, most);
	series = count_all(chart, "elements_total", series);
	if (series > 1)
		(void)buf_addf(ret, &ignored, " x %zu series", series);
	return true;
}

/* An unnamed group is called "Group 0", which carries no information. */
static bool is_named(const struct json_value *group)
{
	const char *name = json_read_text(group, NULL);

	return name != NULL && strncmp(name, "Group ", 6) != 0;
}

/* ", 3 bars: north 12, south 7, west 9" */
static void add_elements(struct buf *ret, const struct json_value *chart, const char *type)
{
	const struct json_value *elements = json_read_member(chart, "elements");
	const char *word = strcmp(type, "bar") == 0 ? "bar"
			   : strcmp(type, "pie") == 0 ? "slice"
			   : strcmp(type, "box_and_whisker") == 0 ? "box"
								  : "element";
	size_t count = json_read_count(elements);
	struct err ignored;
	double value;

	if (count == 0)
		return;
	(void)buf_addf(ret, &ignored, ", %zu %s%s", count_all(chart, "elements_total", count), word,
		       count == 1		 ? ""
		       : strcmp(word, "box") == 0 ? "es"
						  : "s");
	for (size_t i = 0; i < count && i < CHART_VALUES; i++) {
		const struct json_value *element = json_read_at(elements, i);

		if (!json_read_double(json_read_member(element, "value"), &value))
			return;
		(void)buf_adds(ret, i == 0 ? ": " : ", ", &ignored);
		if (is_named(json_read_member(element, "group")))
			add_label(ret, element, "group", "", " ");
		add_label(ret, element, "label", "", " ");
		(void)buf_addf(ret, &ignored, "%.6g", value);
	}
	if (count > CHART_VALUES)
		(void)buf_adds(ret, ", \xe2\x80\xa6", &ignored);
}

static void add_chart(struct buf *ret, const struct json_value *chart)
{
	const struct json_value *type = json_read_member(chart, "type");
	const char *name = json_read_text(type, NULL);

	add_word(ret, type);
	add_label(ret, chart, "title", ", '", "'");
	add_label(ret, chart, "x_label", ", x: ", "");
	add_label(ret, chart, "y_label", ", y: ", "");
	if (!add_series(ret, chart))
		add_elements(ret, chart, name != NULL ? name : "");
}

static void add_charts(struct buf *ret, const struct json_value *figure)
{
	const struct json_value *charts = json_read_member(figure, "elements");
	const char *type = json_read_text(json_read_member(figure, "type"), NULL);
	size_t count = json_read_count(charts);
	struct err ignored;

	if (type == NULL || strcmp(type, "superchart") != 0) {
		add_chart(ret, figure);
		return;
	}
	(void)buf_addf(ret, &ignored, "%zu charts", count);
	add_label(ret, figure, "title", ", '", "'");
	for (size_t i = 0; i < count && i < CHART_PARTS; i++) {
		(void)buf_adds(ret, i == 0 ? ": " : "; ", &ignored);
		add_chart(ret, json_read_at(charts, i));
	}
	if (count > CHART_PARTS)
		(void)buf_adds(ret, "; \xe2\x80\xa6", &ignored);
}

/* A chart that the kernel could not describe adds nothing to its image. */
static bool is_described(const struct json_value *chart)
{
	const char *type = json_read_text(json_read_member(chart, "type"), NULL);

	return type != NULL && type[0] != '\0' && strcmp(type, "unknown") != 0;
}

static bool note_chart(struct record_result *result, const char *data, size_t len)
{
	cleanup_buf struct buf line = BUF_INIT(4096);
	struct json_value *chart = NULL;
	struct err err;

	if (json_read_parse(data, len, CHART_MAX, &chart, &err) < 0)
		return false;
	if (is_described(chart)) {
		add_charts(&line, chart);
		(void)buf_addf(&result->note, &err, "chart: %s\n", buf_text(&line));
	}
	json_read_free(chart);
	return line.len > 0;
}

/* ---- images ----------------------------------------------------------------------------- */

/* Holds the image in memory until it is stored at the end of the execution. */
static void persist_image(struct record_image *image, const char *mime, const char *data,
			  size_t len, uint32_t width, uint32_t height)
{
	struct err ignored; /* without it the image is only in the record */

	image->bytes = BUF_INIT(RECORD_DATA_MAX);
	(void)buf_add(&image->bytes, data, len, &ignored);
	image->mime = mem_strdup(mime);
	image->width = width;
	image->height = height;
}

bool record_take_scaled(struct record_result *result, const char *data, size_t len)
{
	const char *mime = mime_guess(NULL, data, len < MIME_HEAD_SIZE ? len : MIME_HEAD_SIZE);
	uint32_t width, height;

	if (result->scaled.mime != NULL || len > RECORD_SCALED_MAX ||
	    !image_size(data, len, &width, &height))
		return false;
	persist_image(&result->scaled, mime, data, len, width, height);
	return true;
}

static void image_copy(struct record_image *to, const struct record_image *from)
{
	if (from->mime != NULL)
		persist_image(to, from->mime, buf_text(&from->bytes), from->bytes.len, from->width,
			   from->height);
}

void record_images_copy(struct record_result *to, const struct record_result *from)
{
	for (size_t i = 0; i < from->image_count; i++)
		image_copy(&to->images[i], &from->images[i]);
	to->image_count = from->image_count;
	image_copy(&to->scaled, &from->scaled);
}

/* If a file of this execution has the same content, its name says more than an id. */
static const char *file_name(const struct record *record, const char *sha256)
{
	for (size_t i = 0; i < record->file_count; i++)
		if (record->files[i].sha256 != NULL && strcmp(record->files[i].sha256, sha256) == 0)
			return record->files[i].path;
	return NULL;
}

static void store_image(struct record *record, struct record_image *image)
{
	struct store_object object;
	struct err err;

	if (image->bytes.len == 0 || image->artifact[0] != '\0')
		return;
	if (store_put_bytes(record->store, "ar", image->bytes.data, image->bytes.len, &object,
			    &err) < 0) {
		record_add_diagnostic(record, "output_not_kept", err.text, NULL);
		return;
	}
	memcpy(image->artifact, object.id, sizeof(image->artifact));
	memcpy(image->sha256, object.sha256, sizeof(image->sha256));
}

void record_store_images(struct record *record, struct record_result *result)
{
	if (record->store == NULL)
		return;
	for (size_t i = 0; i < result->image_count; i++)
		store_image(record, &result->images[i]);
	store_image(record, &result->scaled);
}

/* "image/png 554x454, 27 KB: ar_…" */
static void add_image(const struct record *record, const struct record_image *image,
		      struct buf *ret)
{
	const char *name = NULL;
	char size[TEXT_COUNT_SIZE];
	struct err ignored;

	size_text(image->bytes.len, size);
	if (image->artifact[0] != '\0') {
		name = file_name(record, image->sha256);
		name = name != NULL ? name : image->artifact;
	}
	(void)buf_addf(ret, &ignored, "%s %" PRIu32 "x%" PRIu32 ", %s%s%s", image->mime,
		       image->width, image->height, size, name != NULL ? ": " : "",
		       name != NULL ? name : "");
}

void record_add_image_lines(const struct record *record, const struct record_result *result,
			    struct buf *ret)
{
	struct err ignored;

	for (size_t i = 0; i < result->image_count; i++) {
		(void)buf_addc(ret, '[', &ignored);
		add_image(record, &result->images[i], ret);
		if (i == 0 && result->scaled.mime != NULL) {
			(void)buf_adds(ret, "; scaled: ", &ignored);
			add_image(record, &result->scaled, ret);
		}
		(void)buf_adds(ret, "]\n", &ignored);
	}
}

/* ---- all of them ------------------------------------------------------------------------ */

void record_note_data(struct record_result *result, const char *mime, const char *data, size_t len)
{
	uint32_t width, height;
	char size[TEXT_COUNT_SIZE];
	struct err ignored; /* a note beyond the limit is left out */

	size_text(len, size);
	if (strcmp(mime, CHART_MIME) == 0 && note_chart(result, data, len))
		return;
	if (!image_size(data, len, &width, &height))
		(void)buf_addf(&result->note, &ignored, "[%s, %s]\n", mime, size);
	else if (result->image_count < RECORD_IMAGES_MAX)
		persist_image(&result->images[result->image_count++], mime, data, len, width,
			      height);
	else
		(void)buf_addf(&result->note, &ignored, "[%s %" PRIu32 "x%" PRIu32 ", %s]\n", mime,
			       width, height, size);
}
