/*
 * shape_files.c - fields about files, archives and links as the JSON of the API.
 *
 * Runs in:  reckon-front.
 * Reads:    frames of reckond.
 * Never:    writes JSON by hand; what is embedded reckond took from records.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "codec/json_write.h"
#include "front/front.h"

static void number(struct json_writer *json, const char *key, const struct kernel_item *items,
		   size_t count, enum front_tag tag)
{
	if (front_find(items, count, tag) != NULL)
		json_write_member_uint(json, key, front_u64(items, count, tag, 0));
}

static void when(struct json_writer *json, const char *key, uint64_t seconds)
{
	const time_t at = (time_t)seconds;
	char date[40] = "1970-01-01T00:00:00Z";
	struct tm tm;

	if (gmtime_r(&at, &tm) != NULL && tm.tm_year < 8100)
		(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_write_member_string(json, key, date);
}

int shape_put(const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	shape_member_or_null(&json, "path", items, count, FRONT_TAG_PATH);
	number(&json, "size", items, count, FRONT_TAG_SIZE);
	shape_member_or_null(&json, "mime", items, count, FRONT_TAG_MIME);
	shape_member_or_null(&json, "etag", items, count, FRONT_TAG_ETAG);
	shape_member_or_null(&json, "sha256", items, count, FRONT_TAG_SHA256);
	shape_member_or_null(&json, "artifact", items, count, FRONT_TAG_ARTIFACT);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

int shape_moved(const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	shape_member_or_null(&json, "path", items, count, FRONT_TAG_PATH);
	shape_member_or_null(&json, "replaced", items, count, FRONT_TAG_ARTIFACT);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

int shape_deleted(const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	number(&json, "deleted", items, count, FRONT_TAG_COUNT);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

int shape_archive(const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	const struct kernel_item *item = front_find(items, count, FRONT_TAG_COUNTS);
	struct front_counts counts = { 0 };
	struct json_writer json;

	if (item != NULL && item->len == sizeof(counts))
		memcpy(&counts, item->data, sizeof(counts));
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_uint(&json, "files", counts.files);
	json_write_member_uint(&json, "folders", counts.folders);
	json_write_member_uint(&json, "links", counts.links);
	json_write_member_uint(&json, "bytes", counts.bytes);
	json_write_member_uint(&json, "replaced", counts.replaced);
	json_write_member_uint(&json, "renamed", counts.renamed);
	shape_member_or_null(&json, "artifact", items, count, FRONT_TAG_ARTIFACT);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

/* ---- lists ---------------------------------------------------------------------------------- */


static void version(struct json_writer *json, const struct kernel_item *items, size_t count)
{
	json_write_object_begin(json);
	shape_member_or_null(json, "artifact", items, count, FRONT_TAG_ARTIFACT);
	shape_member_or_null(json, "path", items, count, FRONT_TAG_PATH);
	number(json, "size", items, count, FRONT_TAG_SIZE);
	shape_member_or_null(json, "mime", items, count, FRONT_TAG_MIME);
	shape_member_or_null(json, "sha256", items, count, FRONT_TAG_SHA256);
	shape_member_or_null(json, "source", items, count, FRONT_TAG_SOURCE);
	shape_member_or_null(json, "execution", items, count, FRONT_TAG_EXECUTION);
	shape_member_or_null(json, "created_at", items, count, FRONT_TAG_CREATED_AT);
	json_write_object_end(json);
}

static void receipt(struct json_writer *json, const struct kernel_item *items, size_t count)
{
	const struct kernel_item *body = front_find(items, count, FRONT_TAG_METADATA);

	json_write_object_begin(json);
	shape_member_or_null(json, "execution", items, count, FRONT_TAG_EXECUTION);
	shape_member_or_null(json, "status", items, count, FRONT_TAG_STATUS);
	shape_member_or_null(json, "created_at", items, count, FRONT_TAG_CREATED_AT);
	json_write_key(json, "receipt");
	if (body != NULL)
		json_write_raw(json, body->data, body->len);
	else
		json_write_null(json);
	json_write_object_end(json);
}

static void link_fields(struct json_writer *json, const struct kernel_item *items, size_t count)
{
	shape_member_or_null(json, "id", items, count, FRONT_TAG_ID);
	shape_member_or_null(json, "name", items, count, FRONT_TAG_FILE_NAME);
	when(json, "expires_at", front_u64(items, count, FRONT_TAG_LINK_ENDS, 0));
}

static void link_row(struct json_writer *json, const struct kernel_item *items, size_t count)
{
	json_write_object_begin(json);
	link_fields(json, items, count);
	shape_member_or_null(json, "path", items, count, FRONT_TAG_PATH);
	shape_member_or_null(json, "artifact", items, count, FRONT_TAG_ARTIFACT);
	shape_member_or_null(json, "created_at", items, count, FRONT_TAG_CREATED_AT);
	number(json, "downloads", items, count, FRONT_TAG_COUNT);
	number(json, "max_downloads", items, count, FRONT_TAG_MAX_DOWNLOADS);
	json_write_object_end(json);
}

int shape_artifacts(const struct kernel_item *items, size_t count, struct buf *ret,
		    struct err *err)
{
	return shape_list("artifacts", FRONT_TAG_ID, true, version, items, count, ret, err);
}

int shape_versions(const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	return shape_list("versions", FRONT_TAG_ID, true, version, items, count, ret, err);
}

int shape_receipts(const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	return shape_list("receipts", FRONT_TAG_EXECUTION, true, receipt, items, count, ret, err);
}

int shape_links(const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	return shape_list("links", FRONT_TAG_ID, true, link_row, items, count, ret, err);
}

/* {"id", "url", …}: the url holds the token, which is not shown again. */
int shape_link(const struct kernel_item *items, size_t count, struct buf *ret, struct err *err)
{
	cleanup_buf struct buf url = BUF_INIT(2048);
	const struct kernel_item *name = front_find(items, count, FRONT_TAG_FILE_NAME);
	char token[96] = "";
	struct json_writer json;

	(void)front_text(items, count, FRONT_TAG_TOKEN, token, sizeof(token));
	if (buf_addf(&url, err, "/reckon/v1/links/%s/", token) < 0)
		return (int)err->code;
	for (size_t i = 0; name != NULL && i < name->len; i++) {
		const unsigned char byte = (unsigned char)((const char *)name->data)[i];
		const bool is_plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
				      (byte >= 'a' && byte <= 'z') || byte == '-' ||
				      byte == '_' || byte == '~' || byte == '.';

		if ((is_plain ? buf_addc(&url, (char)byte, err)
			      : buf_addf(&url, err, "%%%02X", byte)) < 0)
			return (int)err->code;
	}
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	link_fields(&json, items, count);
	json_write_member_string(&json, "url", buf_text(&url));
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}
