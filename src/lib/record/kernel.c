/*
 * kernel.c - converts bundles and errors of a kernel into parts of a record.
 *
 * Runs in:  libreckon.
 * Reads:    decoded packets of a hostile kernel.
 * Never:    passes on JSON it has not checked, or trusts a length, a name or a type.
 */
#include "lib/record/record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_read.h"
#include "codec/json_write.h"
#include "lib/record/state.h"
#include "lib/record/text.h"

#define MIMES_MAX 32u
#define MIME_NAME_MAX 127u
#define SCALED_MIME "image/vnd.reckon.scaled"
#define DISPLAY_ID_MAX 256u
#define METADATA_MAX (1024u * 1024u)
#define FRAMES_MAX 64u
#define REPAIR_MAX 4096u
#define HINT_MAX 500u

/* ---- media types ------------------------------------------------------------------------ */

enum shape { SHAPE_TEXT, SHAPE_JSON, SHAPE_BINARY };

static bool ends_with(const char *text, const char *end)
{
	size_t text_len = strlen(text), len = strlen(end);

	return text_len >= len && strcmp(text + text_len - len, end) == 0;
}

/* How Jupyter puts a media type into JSON. */
static enum shape shape_of(const char *mime)
{
	static const char *const texts[] = {
		"application/javascript", "application/ecmascript", "application/xml",
		"application/x-latex",	  "application/x-tex",	    "application/yaml",
		"application/x-yaml",	  "application/sql",	    "application/toml",
	};

	if (strcmp(mime, "application/json") == 0 || ends_with(mime, "+json"))
		return SHAPE_JSON;
	if (strncmp(mime, "text/", 5) == 0 || ends_with(mime, "+xml"))
		return SHAPE_TEXT;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (strcmp(mime, texts[i]) == 0)
			return SHAPE_TEXT;
	return SHAPE_BINARY;
}

/* Copies a name that is type "/" subtype of RFC 6838 characters, in lower case. */
static bool copy_mime(const struct kernel_item *item, char ret[MIME_NAME_MAX + 1])
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789!#$&-^_.+";
	size_t slashes = 0;

	if (item->len < 3 || item->len > MIME_NAME_MAX)
		return false;
	for (size_t i = 0; i < item->len; i++) {
		char c = item->data[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (c == '/' && i > 0 && i + 1 < item->len)
			slashes++;
		else if (c == '\0' || strchr(allowed, c) == NULL)
			return false;
		ret[i] = c;
	}
	ret[item->len] = '\0';
	return slashes == 1;
}

/* ---- encoding one bundle ---------------------------------------------------------------- */

struct encoding {
	struct record *record;
	struct record_result *result;
	struct json_writer data;
	size_t mime_count;
	char mimes[MIMES_MAX][MIME_NAME_MAX + 1];
	int text_rank; /* rank of the content of result->text; 0: none */
};

static void complain(struct record *record, const char *code, const char *mime, const char *why)
{
	cleanup_buf struct buf message = BUF_INIT(1024);
	struct err ignored; /* both parts are bounded */

	(void)buf_addf(&message, &ignored, "%s: %s", mime, why);
	record_add_diagnostic(record, code, buf_text(&message), NULL);
}

static void complain_err(struct record *record, const char *mime, const struct err *err)
{
	complain(record, err->code == ERR_LIMIT ? "result_too_large" : "bad_result", mime,
		 err->text);
}

static bool is_repeated(const struct encoding *encoding, const char *mime)
{
	for (size_t i = 0; i < encoding->mime_count; i++)
		if (strcmp(encoding->mimes[i], mime) == 0)
			return true;
	return false;
}

/* Bytes left for results; `data` of the bundle under construction counts as well. */
static size_t room_left(const struct encoding *encoding)
{
	size_t used = encoding->record->results_size + encoding->result->data.len;

	return used < RECORD_RESULTS_MAX ? RECORD_RESULTS_MAX - used : 0;
}

/* The content as one JSON value. */
static int encode_value(const char *mime, const struct kernel_item *item, struct buf *ret,
			struct err *err)
{
	struct json_writer writer;
	enum json_kind kind;

	if (item->len > RECORD_DATA_MAX)
		return err_set(err, ERR_LIMIT, "%" PRIu32 " bytes, at most %u are kept", item->len,
			       RECORD_DATA_MAX);
	if (shape_of(mime) == SHAPE_JSON)
		return json_read_compact(item->data, item->len, RECORD_DATA_MAX, ret, &kind, err);
	json_write_init(&writer, ret);
	if (shape_of(mime) == SHAPE_TEXT)
		json_write_text(&writer, item->data, item->len);
	else
		json_write_base64(&writer, item->data, item->len);
	return json_write_finish(&writer, err);
}

/* Which text of a bundle the rendering uses: the highest rank; 0: never. */
#define RANK_PLAIN 3
#define RANK_SUMMARY 4

static int rank_text(const char *mime)
{
	if (strcmp(mime, "text/vnd.reckon.summary") == 0)
		return RANK_SUMMARY;
	if (strcmp(mime, "text/plain") == 0)
		return RANK_PLAIN;
	if (strcmp(mime, "text/markdown") == 0)
		return 2;
	return strcmp(mime, "text/latex") == 0 ? 1 : 0;
}

/* A summary replaces the plain text, which is stored so that it can be fetched. */
static void take_text(struct encoding *encoding, int rank, const struct kernel_item *item)
{
	struct record_result *result = encoding->result;
	char *text = record_copy_text(item->data, item->len, RECORD_DATA_MAX);
	struct buf *target = &result->text;
	struct err ignored; /* both have room for RECORD_DATA_MAX */

	if (rank == RANK_SUMMARY && encoding->text_rank == RANK_PLAIN) {
		buf_done(&result->plain);
		result->plain = result->text;
		result->text = BUF_INIT(RECORD_DATA_MAX);
	} else if (rank == RANK_PLAIN && encoding->text_rank == RANK_SUMMARY) {
		target = &result->plain;
	}
	if (target == &result->plain || rank > encoding->text_rank) {
		buf_clear(target);
		(void)buf_adds(target, text, &ignored);
	}
	encoding->text_rank = rank > encoding->text_rank ? rank : encoding->text_rank;
	free(text);
}

static void note_content(struct encoding *encoding, const char *mime,
			 const struct kernel_item *item)
{
	int rank = rank_text(mime);

	if (rank > 0)
		take_text(encoding, rank, item);
	else
		record_note_data(encoding->result, mime, item->data, item->len);
}

static void encode_mime(struct encoding *encoding, const struct kernel_item *name,
			const struct kernel_item *content)
{
	cleanup_buf struct buf value = BUF_INIT(room_left(encoding));
	char mime[MIME_NAME_MAX + 1];
	struct err err;

	if (!copy_mime(name, mime)) {
		complain(encoding->record, "bad_result", "a result", "its media type is not one");
		return;
	}
	if (strcmp(mime, SCALED_MIME) == 0) {
		if (content->len > room_left(encoding) ||
		    !record_take_scaled(encoding->result, content->data, content->len))
			complain(encoding->record, "bad_result", mime, "no image, or too large");
		return;
	}
	if (encoding->mime_count == MIMES_MAX || is_repeated(encoding, mime)) {
		complain(encoding->record, "bad_result", mime,
			 "given twice, or one of too many forms of a result");
		return;
	}
	if (encode_value(mime, content, &value, &err) < 0 ||
	    /* the key, its quotes, colon and comma */
	    value.len + MIME_NAME_MAX + 8 > room_left(encoding)) {
		if (value.len + MIME_NAME_MAX + 8 > room_left(encoding))
			(void)err_set(&err, ERR_LIMIT, "the results of one execution may be %u "
				      "bytes together", RECORD_RESULTS_MAX);
		complain_err(encoding->record, mime, &err);
		return;
	}
	json_write_key(&encoding->data, mime);
	json_write_raw(&encoding->data, buf_text(&value), value.len);
	note_content(encoding, mime, content);
	memcpy(encoding->mimes[encoding->mime_count++], mime, sizeof(mime));
}

static void encode_metadata(struct encoding *encoding, const struct kernel_item *item)
{
	struct buf *metadata = &encoding->result->metadata;
	enum json_kind kind = JSON_KIND_NULL;
	struct err err;
	int result;

	buf_clear(metadata);
	err_clear(&err);
	result = item != NULL ? json_read_compact(item->data, item->len, METADATA_MAX, metadata,
						  &kind, &err) : -1;
	if (result == 0 && kind == JSON_KIND_OBJECT && metadata->len <= room_left(encoding))
		return;
	if (item != NULL)
		complain(encoding->record, "bad_result", "metadata",
			 result < 0 ? err.text : "not a JSON object, or too large");
	buf_clear(metadata);
	(void)buf_adds(metadata, "{}", &err);
}

static struct record_result *result_new(void)
{
	struct record_result *result = mem_new0(1, sizeof(*result));

	result->data = BUF_INIT(RECORD_RESULTS_MAX + 4096);
	result->metadata = BUF_INIT(METADATA_MAX);
	result->text = BUF_INIT(RECORD_DATA_MAX);
	result->plain = BUF_INIT(RECORD_DATA_MAX);
	result->note = BUF_INIT(4096);
	return result;
}

/* NULL if no form of the result could be stored. */
static struct record_result *encode_bundle(struct record *record, const struct kernel_item *items,
					   size_t count)
{
	const struct kernel_item *id = kernel_find(items, count, KERNEL_TAG_DISPLAY_ID);
	cleanup_free struct encoding *encoding = mem_new0(1, sizeof(*encoding));
	const struct kernel_item *name = NULL;
	struct err err;

	encoding->record = record;
	encoding->result = result_new();
	json_write_init(&encoding->data, &encoding->result->data);
	json_write_object_begin(&encoding->data);
	for (size_t i = 0; i < count; i++) {
		if (items[i].tag == KERNEL_TAG_DATA && name != NULL)
			encode_mime(encoding, name, &items[i]);
		name = items[i].tag == KERNEL_TAG_MIME ? &items[i] : NULL;
	}
	json_write_object_end(&encoding->data);
	if (json_write_finish(&encoding->data, &err) < 0 || encoding->mime_count == 0) {
		record_result_free(encoding->result);
		return NULL;
	}
	encode_metadata(encoding, kernel_find(items, count, KERNEL_TAG_METADATA));
	if (id != NULL)
		encoding->result->display_id = record_copy_text(id->data, id->len, DISPLAY_ID_MAX);
	return encoding->result;
}

/* ---- placing it ------------------------------------------------------------------------- */

static size_t result_size(const struct record_result *result)
{
	return result->data.len + result->metadata.len + result->scaled.bytes.len;
}

static void append_result(struct record *record, struct record_result *result)
{
	size_t count = record->result_count;

	record->results = mem_grow(record->results, count + 1, sizeof(*record->results));
	record->results[record->result_count++] = result;
	record->results_size += result_size(result);
	record_order_add(record, RECORD_OUTPUT_RESULT, count);
}

static bool has_id(const struct record_result *result, const char *display_id)
{
	return result->display_id != NULL && strcmp(result->display_id, display_id) == 0;
}

static struct record_result *copy_result(const struct record_result *from)
{
	struct record_result *copy = result_new();
	struct err ignored; /* the same bounds held before */

	(void)buf_add(&copy->data, buf_text(&from->data), from->data.len, &ignored);
	(void)buf_add(&copy->metadata, buf_text(&from->metadata), from->metadata.len, &ignored);
	(void)buf_add(&copy->text, buf_text(&from->text), from->text.len, &ignored);
	(void)buf_add(&copy->plain, buf_text(&from->plain), from->plain.len, &ignored);
	record_images_copy(copy, from);
	(void)buf_add(&copy->note, buf_text(&from->note), from->note.len, &ignored);
	copy->display_id = mem_strdup(from->display_id);
	return copy;
}

/* Replaces every result with its id by `update`, which it takes; returns the first, or NULL. */
static const struct record_result *replace_results(struct record *record,
						   struct record_result *update)
{
	const struct record_result *first = NULL;
	size_t matches = 0, freed = 0;

	for (size_t i = 0; i < record->result_count; i++) {
		if (has_id(record->results[i], update->display_id)) {
			freed += result_size(record->results[i]);
			matches++;
		}
	}
	if (record->results_size - freed + matches * result_size(update) > RECORD_RESULTS_MAX) {
		complain(record, "result_too_large", "an update",
			 "it would make the results of this execution too large");
		record_result_free(update);
		return NULL;
	}
	for (size_t i = 0; i < record->result_count; i++) {
		struct record_result *old = record->results[i];
		struct record_result *new;

		if (!has_id(old, update->display_id))
			continue;
		new = copy_result(update);
		new->is_main = old->is_main;
		record->results_size += result_size(new) - result_size(old);
		record_result_free(old);
		record->results[i] = new;
		first = first != NULL ? first : new;
	}
	record_result_free(update);
	return first;
}

static bool is_shown(const struct record *record, const char *display_id)
{
	for (size_t i = 0; i < record->result_count; i++)
		if (has_id(record->results[i], display_id))
			return true;
	return false;
}

const struct record_result *record_add_bundle(struct record *record, enum record_bundle kind,
					      const struct kernel_item *items, size_t count)
{
	struct record_result *result;

	if (kind == RECORD_UPDATE_DISPLAY &&
	    kernel_find(items, count, KERNEL_TAG_DISPLAY_ID) == NULL) {
		complain(record, "bad_result", "an update", "it names no display");
		return NULL;
	}
	if (kind != RECORD_UPDATE_DISPLAY)
		record_clear_waited(record);
	result = encode_bundle(record, items, count);
	if (result == NULL)
		return NULL;
	if (kind == RECORD_UPDATE_DISPLAY && is_shown(record, result->display_id))
		return replace_results(record, result);
	/* The cell's value is its main result: always store it, after any number of displays. */
	if (kind != RECORD_RESULT && record->result_count >= record->displays_max) {
		record->displays_dropped++;
		record_result_free(result);
		return NULL;
	}
	result->is_main = kind == RECORD_RESULT;
	append_result(record, result);
	return result;
}

static void write_artifacts(struct json_writer *writer, const struct record_result *result)
{
	const struct record_image *scaled = &result->scaled;

	if (result->image_count > 0 && result->images[0].artifact[0] != '\0') {
		json_write_key(writer, "artifacts");
		json_write_object_begin(writer);
		for (size_t i = 0; i < result->image_count; i++)
			if (result->images[i].artifact[0] != '\0')
				json_write_member_string(writer, result->images[i].mime,
							 result->images[i].artifact);
		json_write_object_end(writer);
	}
	if (scaled->artifact[0] == '\0')
		return;
	json_write_key(writer, "scaled");
	json_write_object_begin(writer);
	json_write_member_string(writer, "mime", scaled->mime);
	json_write_member_uint(writer, "width", scaled->width);
	json_write_member_uint(writer, "height", scaled->height);
	json_write_member_uint(writer, "size", scaled->bytes.len);
	json_write_member_string(writer, "artifact", scaled->artifact);
	json_write_object_end(writer);
}

void record_write_result(struct json_writer *writer, const struct record_result *result)
{
	json_write_object_begin(writer);
	json_write_key(writer, "data");
	json_write_raw(writer, buf_text(&result->data), result->data.len);
	json_write_key(writer, "metadata");
	json_write_raw(writer, buf_text(&result->metadata), result->metadata.len);
	json_write_member_bool(writer, "is_main_result", result->is_main);
	json_write_member_string(writer, "display_id", result->display_id);
	write_artifacts(writer, result);
	json_write_object_end(writer);
}

/* ---- errors ----------------------------------------------------------------------------- */

static char *copy_item(const struct kernel_item *item, size_t max)
{
	return item != NULL ? record_copy_text(item->data, item->len, max) : mem_strdup("");
}

/* A line number; 0 if it is not one. */
static int64_t read_line(const struct kernel_item *item)
{
	int64_t line = 0;

	if (item->len > 9)
		return 0;
	for (size_t i = 0; i < item->len; i++) {
		if (item->data[i] < '0' || item->data[i] > '9')
			return 0;
		line = line * 10 + (item->data[i] - '0');
	}
	return line;
}

static void replace_text(char **text, const struct kernel_item *item)
{
	free(*text);
	*text = copy_item(item, 4096);
}

static void add_frame_item(struct record_frame *frame, const struct kernel_item *item)
{
	if (item->tag == KERNEL_TAG_FRAME_FILE)
		replace_text(&frame->file, item);
	else if (item->tag == KERNEL_TAG_FRAME_FUNCTION)
		replace_text(&frame->function, item);
	else if (item->tag == KERNEL_TAG_FRAME_SOURCE)
		replace_text(&frame->source, item);
	else if (item->tag == KERNEL_TAG_FRAME_LINE)
		frame->line = read_line(item);
}

static void set_hints(struct record_failure *failure, const struct kernel_item *items,
		      size_t count)
{
	for (size_t i = 0; i < count && failure->hint_count < RECORD_HINTS_MAX; i++)
		if (items[i].tag == KERNEL_TAG_HINT && items[i].len > 0)
			failure->hints[failure->hint_count++] = copy_item(&items[i], HINT_MAX);
}

/* The last FRAMES_MAX frames: in endless recursion the innermost ones are most useful. */
static void set_frames(struct record_failure *failure, const struct kernel_item *items,
		       size_t count)
{
	size_t total = 0, skip;

	for (size_t i = 0; i < count; i++)
		total += items[i].tag == KERNEL_TAG_FRAME_FILE ? 1 : 0;
	skip = total > FRAMES_MAX ? total - FRAMES_MAX : 0;
	failure->frames = mem_new0(total - skip + 1, sizeof(*failure->frames));
	for (size_t i = 0, seen = 0; i < count; i++) {
		if (items[i].tag == KERNEL_TAG_FRAME_FILE && ++seen > skip)
			failure->frame_count++;
		if (failure->frame_count > 0)
			add_frame_item(&failure->frames[failure->frame_count - 1], &items[i]);
	}
}

void record_set_error_items(struct record *record, const struct kernel_item *items, size_t count)
{
	struct record_failure *failure = &record->failure;
	const struct kernel_item *repair = kernel_find(items, count, KERNEL_TAG_REPAIR);

	record_order_drop(record, RECORD_OUTPUT_ERROR);
	record_order_add(record, RECORD_OUTPUT_ERROR, 0);
	record_failure_clear(failure);
	failure->is_set = true;
	failure->name = copy_item(kernel_find(items, count, KERNEL_TAG_NAME), 256);
	failure->value = copy_item(kernel_find(items, count, KERNEL_TAG_VALUE), 65536);
	failure->traceback = copy_item(kernel_find(items, count, KERNEL_TAG_TRACEBACK), 262144);
	failure->repair = repair != NULL ? copy_item(repair, REPAIR_MAX) : NULL;
	set_hints(failure, items, count);
	set_frames(failure, items, count);
}

static void write_frame(struct json_writer *writer, const struct record_frame *frame)
{
	json_write_object_begin(writer);
	json_write_member_string(writer, "file", frame->file);
	json_write_key(writer, "line");
	if (frame->line > 0)
		json_write_int(writer, frame->line);
	else
		json_write_null(writer);
	json_write_member_string(writer, "function", frame->function);
	json_write_member_string(writer, "source", frame->source);
	json_write_object_end(writer);
}

void record_write_failure(struct json_writer *writer, const struct record_failure *failure)
{
	if (!failure->is_set) {
		json_write_null(writer);
		return;
	}
	json_write_object_begin(writer);
	json_write_member_string(writer, "name", failure->name);
	json_write_member_string(writer, "value", failure->value);
	json_write_member_string(writer, "traceback", failure->traceback);
	json_write_key(writer, "frames");
	json_write_array_begin(writer);
	for (size_t i = 0; i < failure->frame_count; i++)
		write_frame(writer, &failure->frames[i]);
	json_write_array_end(writer);
	json_write_member_string(writer, "repair", failure->repair);
	json_write_key(writer, "hints");
	json_write_array_begin(writer);
	for (size_t i = 0; i < failure->hint_count; i++)
		json_write_string(writer, failure->hints[i]);
	json_write_array_end(writer);
	json_write_object_end(writer);
}
