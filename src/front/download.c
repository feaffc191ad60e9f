/*
 * download.c - a file as HTTP: its type, its name, conditions and ranges.
 *
 * Runs in:  reckon-front.
 * Reads:    conditions of anybody; types, names and ETags from reckond.
 * Never:    lets what a box wrote be shown as if it were ours: every file is an attachment, its
 *           type is not guessed again (nosniff), a document is sandboxed, a script is plain text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "front/front.h"

#define NAME_BYTES_MAX 255u

/* ---- archives ------------------------------------------------------------------------------- */

const char *download_archive_type(const char *format)
{
	static const struct {
		const char *format, *type;
	} known[] = { { "tar", "application/x-tar" },
		      { "tar.gz", "application/gzip" },
		      { "tar.zst", "application/zstd" },
		      { "zip", "application/zip" } };

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(known[i].format, format) == 0)
			return known[i].type;
	return NULL;
}

void download_archive_name(struct conn *conn, const char *path, const char *format)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;

	(void)snprintf(conn->archive_name, sizeof(conn->archive_name), "%.230s.%s",
		       name[0] != '\0' ? name : "workspace", format);
}

static void add_counts(const struct kernel_item *items, size_t count, struct buf *ret,
		       struct err *err)
{
	const struct kernel_item *item = front_find(items, count, FRONT_TAG_COUNTS);
	struct front_counts counts;

	if (item == NULL || item->len != sizeof(counts))
		return;
	memcpy(&counts, item->data, sizeof(counts));
	(void)buf_addf(ret, err,
		       "Reckon-Archive: files=%" PRIu64 ", folders=%" PRIu64 ", links=%" PRIu64
		       ", skipped=%" PRIu64 ", changed=%" PRIu64 "\r\n",
		       counts.files, counts.folders, counts.links, counts.skipped, counts.changed);
}

/* ---- the head ------------------------------------------------------------------------------- */

/* RFC 6266: an old spelling for those that know no other, and the name itself (RFC 8187). */
static void add_disposition(const char *name, struct buf *ret, struct err *err)
{
	const size_t len = strnlen(name, NAME_BYTES_MAX);

	(void)buf_adds(ret, "Content-Disposition: attachment", err);
	if (len > 0) {
		(void)buf_adds(ret, "; filename=\"", err);
		for (size_t i = 0; i < len; i++) {
			const unsigned char byte = (unsigned char)name[i];
			const bool is_plain = byte >= 0x20 && byte < 0x7f &&
					      strchr("\"\\%/", byte) == NULL;

			(void)buf_addc(ret, is_plain ? (char)byte : '_', err);
		}
		(void)buf_adds(ret, "\"; filename*=UTF-8''", err);
		for (size_t i = 0; i < len; i++) {
			const unsigned char byte = (unsigned char)name[i];

			if (byte != '\0' && byte < 0x80 &&
			    strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				   "0123456789!#$&+-.^_`|~", byte) != NULL)
				(void)buf_addc(ret, (char)byte, err);
			else
				(void)buf_addf(ret, err, "%%%02X", byte);
		}
	}
	(void)buf_adds(ret, "\r\nContent-Security-Policy: sandbox; default-src 'none'\r\n", err);
}

static void add_state(const char *etag, uint64_t modified, struct buf *ret, struct err *err)
{
	const time_t seconds = (time_t)modified;
	char date[40];
	struct tm tm;

	if (etag[0] != '\0')
		(void)buf_addf(ret, err, "ETag: \"%s\"\r\n", etag);
	if (modified > 0 && gmtime_r(&seconds, &tm) != NULL && tm.tm_year < 8100 &&
	    strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", &tm) > 0)
		(void)buf_addf(ret, err, "Last-Modified: %s\r\n", date);
}

/* A browser may run a script that comes from here whatever its disposition: not as a script. */
static const char *safe_type(const char *type)
{
	if (type[0] == '\0')
		return "application/octet-stream";
	return strcmp(type, "text/javascript") == 0 ? "text/plain" : type;
}

static const char *name_of(const struct conn *conn, const char *given)
{
	const char *path = conn->target.path, *slash;

	if (given[0] != '\0')
		return given;
	if (conn->archive_type != NULL)
		return conn->archive_name;
	if (path == NULL)
		return conn->target.handle;
	slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

/* ---- conditions ----------------------------------------------------------------------------- */

/* `"a", W/"b"` or `*`; what is weak counts only for a reader who has the file already. */
static bool names(const char *header, const char *etag, bool weak_counts)
{
	const size_t len = strlen(etag);

	if (strcmp(header, "*") == 0)
		return true;
	while (*header != '\0') {
		header += strspn(header, ", \t");
		if (weak_counts && strncmp(header, "W/", 2) == 0)
			header += 2;
		if (header[0] == '"' && strncmp(header + 1, etag, len) == 0 &&
		    header[len + 1] == '"')
			return true;
		header += strcspn(header, ",");
	}
	return false;
}

/* True when the condition was answered. */
static bool answer_condition(struct conn *conn, const char *etag, const struct buf *extra)
{
	const char *match = http_header(&conn->http, "if-match");
	const char *none = http_header(&conn->http, "if-none-match");

	if (etag[0] == '\0')
		return false;
	if (match != NULL && !names(match, etag, false)) {
		reply_error(conn, 412, "precondition_failed",
			    "the file is not the one that the condition names", "",
			    "read the file, and its ETag, again", 0);
		return true;
	}
	if (none == NULL || !names(none, etag, true))
		return false;
	reply_head(conn, 304, "application/octet-stream", UINT64_MAX, buf_text(extra));
	conn_finish(conn);
	return true;
}

/* 1: a part; 0: the whole; -1: a part that is not there. */
static int take_range(struct conn *conn, const char *etag, uint64_t size, uint64_t *ret_first,
		      uint64_t *ret_length)
{
	const char *range = http_header(&conn->http, "range");
	const char *if_range = http_header(&conn->http, "if-range");
	struct err ignored;

	*ret_first = 0;
	*ret_length = size;
	/* ?offset and ?length; a length of 0 is the rest. */
	if ((conn->want_first | conn->want_length) != 0) {
		*ret_first = conn->want_first;
		if (*ret_first > size)
			return -1;
		*ret_length = size - *ret_first;
		if (conn->want_length != 0 && conn->want_length < *ret_length)
			*ret_length = conn->want_length;
		return 0;
	}
	if (range == NULL || (if_range != NULL && !names(if_range, etag, false)))
		return 0;
	return http_range(range, size, ret_first, ret_length, &ignored);
}

static void refuse_range(struct conn *conn, uint64_t size)
{
	cleanup_buf struct buf json = BUF_INIT(4096);
	char extra[64];
	struct err err;

	(void)snprintf(extra, sizeof(extra), "Content-Range: bytes */%" PRIu64 "\r\n", size);
	if (shape_error("range", "there is nothing in this range", "",
			"Content-Range has the size", &json, &err) < 0) {
		conn_abort(conn);
		return;
	}
	reply_head(conn, 416, "application/json", json.len, extra);
	conn_write(conn, json.data, json.len);
	conn_finish(conn);
}

void download_reply(struct conn *conn, const struct kernel_item *items, size_t count, int fd)
{
	const uint64_t size = front_u64(items, count, FRONT_TAG_SIZE, 0);
	cleanup_buf struct buf extra = BUF_INIT(8192);
	char type[96] = "", etag[64] = "", name[NAME_BYTES_MAX + 1] = "";
	uint64_t first, length;
	struct err err;
	int ranged;

	conn->file = fd; /* closed with the answer */
	(void)front_text(items, count, FRONT_TAG_MIME, type, sizeof(type));
	(void)front_text(items, count, FRONT_TAG_ETAG, etag, sizeof(etag));
	(void)front_text(items, count, FRONT_TAG_FILE_NAME, name, sizeof(name));
	add_state(etag, front_u64(items, count, FRONT_TAG_MODIFIED_S, 0), &extra, &err);
	if (answer_condition(conn, etag, &extra))
		return;
	ranged = take_range(conn, etag, size, &first, &length);
	if (ranged < 0) {
		refuse_range(conn, size);
		return;
	}
	(void)buf_adds(&extra, "Accept-Ranges: bytes\r\n", &err);
	if (ranged > 0)
		(void)buf_addf(&extra, &err,
			       "Content-Range: bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64 "\r\n", first,
			       first + length - 1, size);
	add_disposition(name_of(conn, name), &extra, &err);
	add_counts(items, count, &extra, &err);
	reply_head(conn, ranged > 0 ? 206 : 200,
		   conn->archive_type != NULL ? conn->archive_type : safe_type(type), length,
		   buf_text(&extra));
	conn->file_at = first;
	conn->file_left = conn->is_head ? 0 : length;
	conn_finish(conn);
}
