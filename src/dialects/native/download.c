/*
 * download.c - sends a file over HTTP: type, name, conditional requests and ranges.
 *
 * Runs in:  reckon-front-native.
 * Reads:    conditions of any client; types, names and ETags from reckond.
 * Never:    lets a browser show a box's file as a page of ours: every file is an attachment,
 *           browsers must not guess its type (nosniff), a document is sandboxed, a script is plain
 *           text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "dialects/native/native.h"

#define NAME_BYTES_MAX 255u

/* How a request wants the file. */
struct download {
	struct request *request;
	const struct api_download *file;
	uint64_t first, length; /* ?offset and ?length */
	const char *type;	/* an archive's; else NULL */
	char name[256];
};

static void add_counts(const struct api_archive_counts *counts, struct buf *ret, struct err *err)
{
	if (counts != NULL)
		(void)buf_addf(ret, err,
			       "Reckon-Archive: files=%" PRIu64 ", folders=%" PRIu64
			       ", links=%" PRIu64 ", skipped=%" PRIu64 ", changed=%" PRIu64 "\r\n",
			       counts->files, counts->folders, counts->links, counts->skipped,
			       counts->changed);
}

/* ---- the head ------------------------------------------------------------------------------- */

/* RFC 6266: an ASCII name for old clients, then the real name (RFC 8187). */
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

/* A page could load the file as a script despite its disposition: send scripts as plain text. */
static const char *safe_type(const char *type)
{
	if (type[0] == '\0')
		return "application/octet-stream";
	return strcmp(type, "text/javascript") == 0 ? "text/plain" : type;
}

/* ---- conditions ----------------------------------------------------------------------------- */

/* `"a", W/"b"` or `*`; weak tags count only if the client wants to save a download. */
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

/* True if the condition has been answered. */
static bool answer_condition(const struct download *download, const char *etag,
			     const struct buf *headers)
{
	const struct http *http = request_head(download->request);
	const char *match = http_header(http, "if-match");
	const char *none = http_header(http, "if-none-match");

	if (etag[0] == '\0')
		return false;
	if (match != NULL && !names(match, etag, false)) {
		answer_refuse_simple(download->request, 412, "precondition_failed",
				     "the file is not the one that the condition names",
				     "read the file, and its ETag, again");
		return true;
	}
	if (none == NULL || !names(none, etag, true))
		return false;
	if (answer_begin(download->request, 304, NULL, 0, buf_text(headers)) == 0)
		answer_end(download->request);
	return true;
}

/* 1: a range; 0: the whole file; -1: the range cannot be satisfied. */
static int take_range(const struct download *download, const char *etag, uint64_t *ret_first,
		      uint64_t *ret_length)
{
	const struct http *http = request_head(download->request);
	const char *range = http_header(http, "range");
	const char *if_range = http_header(http, "if-range");
	const uint64_t size = download->file->size;
	struct err ignored;

	*ret_first = 0;
	*ret_length = size;
	/* A length of 0 means the rest. */
	if ((download->first | download->length) != 0) {
		*ret_first = download->first;
		if (*ret_first > size)
			return -1;
		*ret_length = size - *ret_first;
		if (download->length != 0 && download->length < *ret_length)
			*ret_length = download->length;
		return 0;
	}
	if (range == NULL || (if_range != NULL && !names(if_range, etag, false)))
		return 0;
	return http_range(range, size, ret_first, ret_length, &ignored);
}

static void refuse_range(const struct download *download)
{
	char headers[64];

	(void)snprintf(headers, sizeof(headers), "Content-Range: bytes */%" PRIu64 "\r\n",
		       download->file->size);
	answer_refuse(download->request, &(struct refusal){
						 .status = 416,
						 .code = "range",
						 .message = "there is nothing in this range",
						 .remedy = "Content-Range has the size",
						 .headers = headers,
					 });
}

static void answer_download(const struct download *download, int fd)
{
	const struct api_download *file = download->file;
	const char *etag = file->etag != NULL ? file->etag : "";
	cleanup_buf struct buf headers = BUF_INIT(8192);
	const char *type = file->mime != NULL ? file->mime : "";
	uint64_t first, length;
	struct err err;
	int ranged;

	add_state(etag, file->has_modified_ms ? file->modified_ms / 1000 : 0, &headers, &err);
	if (answer_condition(download, etag, &headers))
		return;
	ranged = take_range(download, etag, &first, &length);
	if (ranged < 0) {
		refuse_range(download);
		return;
	}
	(void)buf_adds(&headers, "Accept-Ranges: bytes\r\n", &err);
	if (ranged > 0)
		(void)buf_addf(&headers, &err,
			       "Content-Range: bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64 "\r\n",
			       first, first + length - 1, file->size);
	add_disposition(file->name != NULL ? file->name : download->name, &headers, &err);
	add_counts(file->counts, &headers, &err);
	if (answer_begin(download->request, ranged > 0 ? 206 : 200,
			 download->type != NULL ? download->type : safe_type(type), length,
			 buf_text(&headers)) == 0 &&
	    answer_file(download->request, fd, first, length) == 0)
		answer_end(download->request);
}

/* ---- which file ----------------------------------------------------------------------------- */

static void of_archive(const struct api_archive_get_in *in, struct download *ret)
{
	static const struct {
		const char *suffix, *type;
	} known[] = { [API_ARCHIVE_GET_IN_FORMAT_TAR] = { "tar", "application/x-tar" },
		      [API_ARCHIVE_GET_IN_FORMAT_TAR_GZ] = { "tar.gz", "application/gzip" },
		      [API_ARCHIVE_GET_IN_FORMAT_TAR_ZST] = { "tar.zst", "application/zstd" },
		      [API_ARCHIVE_GET_IN_FORMAT_ZIP] = { "zip", "application/zip" } };
	const unsigned format = in->format != 0 ? in->format : API_ARCHIVE_GET_IN_FORMAT_TAR_GZ;
	const char *name = in->path != NULL ? text_base_name(in->path) : "";

	ret->type = known[format].type;
	(void)snprintf(ret->name, sizeof(ret->name), "%.230s.%s",
		       name[0] != '\0' ? name : "workspace", known[format].suffix);
}

static void of_part(const char *handle, uint64_t offset, uint64_t length, struct download *ret)
{
	ret->first = offset;
	ret->length = length;
	(void)snprintf(ret->name, sizeof(ret->name), "%s", handle);
}

static void describe(const struct native *native, struct download *ret)
{
	if (native->id == API_ARCHIVE_GET) {
		of_archive(native->in, ret);
	} else if (native->id == API_OUTPUT_GET) {
		const struct api_output_get_in *in = native->in;

		of_part(in->handle, in->offset, in->length, ret);
	} else if (native->id == API_ARTIFACT_GET) {
		const struct api_artifact_get_in *in = native->in;

		of_part(in->artifact, in->offset, in->length, ret);
	} else if (native->id == API_FILE_GET) {
		const struct api_file_get_in *in = native->in;

		(void)snprintf(ret->name, sizeof(ret->name), "%.255s", text_base_name(in->path));
	} else if (native->id == API_LINK_GET) {
		const struct api_link_get_in *in = native->in;

		(void)snprintf(ret->name, sizeof(ret->name), "%.255s", text_base_name(in->path));
	}
}

void native_download(const struct native *native)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_download file;
	struct download download = { .request = native->request, .file = &file };

	if (call_or_refuse(native->request, native->id, native->in, &file, &call) < 0)
		return;
	describe(native, &download);
	if (call.reply.fd < 0)
		answer_refuse_simple(native->request, 500, "internal", "there is no file to read",
				     NULL);
	else
		answer_download(&download, call.reply.fd);
}
