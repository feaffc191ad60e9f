/*
 * data.c - the parts that are files: inline data, and references to files of the tenant.
 *
 * Runs in:  reckon-front-gemini and tests.
 * Reads:    parts of any client.
 * Never:    uses a client's text as a file name.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/base64.h"
#include "dialects/gemini/gemini.h"

/* The file's id: the last part of its URI. */
static const char *id_of(const struct json_value *part)
{
	const char *uri = order_text(order_member(part, "fileData"), "fileUri"), *slash;

	if (uri == NULL)
		return NULL;
	slash = strrchr(uri, '/');
	return slash != NULL ? slash + 1 : uri;
}

static struct order_stored *stored_of(const struct json_value *part, struct order *order)
{
	const char *id = id_of(part);

	for (size_t i = 0; id != NULL && i < order->stored_count; i++)
		if (strcmp(order->stored[i].id, id) == 0)
			return &order->stored[i];
	return NULL;
}

static int note_stored(const struct json_value *part, struct order *order, struct err *err)
{
	const char *id = id_of(part);

	if (!order_has(part, "fileData") || (id != NULL && stored_of(part, order) != NULL))
		return 0;
	if (id == NULL || order->stored_count == GEMINI_FILES_MAX)
		return err_set(err, ERR_INVALID,
			       "fileData: it has a fileUri, and there are at most "
			       "%u files",
			       GEMINI_FILES_MAX);
	order->stored[order->stored_count++] = (struct order_stored){
		.id = id, .mime = order_text(order_member(part, "fileData"), "mimeType")
	};
	return 0;
}

int data_stored(const struct json_value *contents, struct order *order, struct err *err)
{
	for (size_t i = 0; i < json_read_count(contents); i++) {
		const struct json_value *parts =
			json_read_member(json_read_at(contents, i), "parts");

		for (size_t k = 0; k < json_read_count(parts); k++)
			if (note_stored(json_read_at(parts, k), order, err) < 0)
				return err_wrap(err, "contents[%zu]", i);
	}
	return 0;
}

static const char *mime_of(const struct json_value *part, struct order *order)
{
	const struct order_stored *stored = stored_of(part, order);

	return stored != NULL ? stored->mime
			      : order_text(order_member(part, "inlineData"), "mimeType");
}

/* Returns standard base64 with padding (SDKs send the URL alphabet), and appends the bytes to
 * `ret`. */
static const char *read_base64(const struct json_value *part, struct order *order, struct buf *ret)
{
	const struct order_stored *stored = stored_of(part, order);
	size_t len;
	const char *text =
		json_read_text(order_member(order_member(part, "inlineData"), "data"), &len);
	struct err err;
	char *copy;

	if (stored != NULL && stored->base64 != NULL)
		return base64_decode(stored->base64, strlen(stored->base64), ret, &err) < 0
			       ? NULL
			       : stored->base64;
	if (text == NULL || len == 0 || len > GEMINI_BODY_MAX)
		return NULL;
	while (len > 0 && text[len - 1] == '=')
		len--;
	copy = arena_new(&order->arena, len + 4, 1);
	for (size_t i = 0; i < len; i++)
		copy[i] = (char)(text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i]);
	while (len % 4 != 0)
		copy[len++] = '=';
	return base64_decode(copy, len, ret, &err) < 0 ? NULL : copy;
}

static const char *suffix_of(const char *mime)
{
	static const struct {
		const char *mime, *suffix;
	} known[] = {
		{ "text/csv", ".csv" },		{ "text/plain", ".txt" },
		{ "text/html", ".html" },	{ "text/markdown", ".md" },
		{ "text/xml", ".xml" },		{ "application/xml", ".xml" },
		{ "application/json", ".json" }, { "application/pdf", ".pdf" },
		{ "image/png", ".png" },	{ "image/jpeg", ".jpeg" },
		{ "image/webp", ".webp" },	{ "image/gif", ".gif" },
		{ "audio/wav", ".wav" },	{ "audio/mpeg", ".mp3" },
		{ "video/mp4", ".mp4" },	{ "application/zip", ".zip" },
		{ "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xlsx" },
		{ "application/vnd.apache.parquet", ".parquet" },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(known[i].mime, mime) == 0)
			return known[i].suffix;
	return "";
}

static bool is_image(const struct json_value *part, struct order *order)
{
	const char *mime = mime_of(part, order);

	return mime != NULL && strncmp(mime, "image/", 6) == 0;
}

/* Reserves the path of a file that will be copied into the workspace, once per file. */
static int take_large(struct order_stored *stored, struct order *order, struct err *err)
{
	struct api_run_file *file = &order->files[order->file_count];
	char path[64];

	if (stored->path != NULL)
		return 0;
	if (order->file_count == GEMINI_FILES_MAX)
		return err_set(err, ERR_INVALID, "fileData: there are at most %u",
			       GEMINI_FILES_MAX);
	(void)snprintf(path, sizeof(path), "input_file_%zu%s", order->file_count,
		       suffix_of(stored->mime != NULL ? stored->mime : ""));
	file->path = stored->path = arena_text(&order->arena, path, strlen(path));
	order->file_count++;
	return 0;
}

/* If the request allows code, puts the data into the workspace under Gemini's name for it;
 * otherwise adds it as text. */
int data_take(const struct json_value *part, struct order *order, struct buf *text, struct err *err)
{
	cleanup_buf struct buf bytes = BUF_INIT(GEMINI_FILE_BYTES_MAX);
	struct api_run_file *file = &order->files[order->file_count];
	const char *mime = mime_of(part, order);
	struct order_stored *stored = stored_of(part, order);
	char path[64];

	if (stored != NULL && stored->is_large)
		return take_large(stored, order, err);
	if (!order->runs_code && is_image(part, order))
		return 0; /* data_write_image() handles images */
	if (mime == NULL || read_base64(part, order, &bytes) == NULL)
		return err_set(err, ERR_INVALID,
			       "inlineData: it has a mimeType, and data in base64 "
			       "of at most %u bytes",
			       GEMINI_FILE_BYTES_MAX);
	if (!order->runs_code) {
		if (strncmp(mime, "text/", 5) == 0)
			return buf_add_line(text, buf_text(&bytes), bytes.len, err);
		return err_set(err, ERR_INVALID,
			       "inlineData: '%.60s' is only of use where code can "
			       "run",
			       mime);
	}
	if (order->file_count == GEMINI_FILES_MAX ||
	    order->file_bytes + bytes.len > GEMINI_FILE_BYTES_MAX)
		return err_set(err, ERR_INVALID, "inlineData: there are at most %u, of %u bytes "
			       "together", GEMINI_FILES_MAX, GEMINI_FILE_BYTES_MAX);
	(void)snprintf(path, sizeof(path), "input_file_%zu%s", order->file_count, suffix_of(mime));
	file->path = arena_text(&order->arena, path, strlen(path));
	file->base64 = (struct api_bytes){
		arena_text(&order->arena, buf_text(&bytes), bytes.len), bytes.len
	};
	order->file_bytes += bytes.len;
	order->file_count++;
	return 0;
}

int data_write_image(const struct json_value *part, struct order *order, struct json_writer *writer,
		     struct err *err)
{
	cleanup_buf struct buf bytes = BUF_INIT(GEMINI_BODY_MAX);
	const char *base64;

	if (!is_image(part, order) ||
	    (stored_of(part, order) != NULL && stored_of(part, order)->is_large))
		return 0;
	base64 = read_base64(part, order, &bytes);
	if (base64 == NULL)
		return err_set(err, ERR_INVALID, "inlineData: data is not base64");
	order->image_bytes += bytes.len; /* thousands of parts may refer to one file */
	if (order->image_bytes > GEMINI_CONVERSATION_MAX)
		return err_set(err, ERR_LIMIT,
			       "inlineData: the images are larger than %u bytes "
			       "together",
			       GEMINI_CONVERSATION_MAX);
	json_write_object_begin(writer);
	json_write_member_string(writer, "mime", mime_of(part, order));
	json_write_member_string(writer, "base64", base64);
	json_write_object_end(writer);
	return 0;
}
