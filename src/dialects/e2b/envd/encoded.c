/*
 * encoded.c - gzip of uploads and downloads, and the metadata that a client gives its files.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    bodies and heads from clients.
 * Never:    unpacks more than its caller allows, or so much at once that other requests wait.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "codec/gzip.h"
#include "dialects/e2b/envd/inside.h"

#define CHUNK 65536u
#define TURN ((size_t)2 << 20) /* bytes unpacked or packed before other requests run */
#define METADATA_HEADER "x-metadata-"
#define METADATA_MAX 4096u /* of all names and values together */
#define NAME_MAX_BYTES 246u

/* ---- uploads -------------------------------------------------------------------------------- */

bool e2b_take_encoding(const struct e2b *e2b, bool *ret_is_gzip)
{
	const char *encoding = http_header(request_head(e2b->request), "content-encoding");

	*ret_is_gzip = encoding != NULL && (strcasecmp(encoding, "gzip") == 0 ||
					    strcasecmp(encoding, "x-gzip") == 0);
	if (encoding != NULL && !*ret_is_gzip && strcasecmp(encoding, "identity") != 0) {
		e2b_refuse(e2b, 400, "a compressed upload has the Content-Encoding gzip");
		return false;
	}
	if (*ret_is_gzip)
		request_take_encoded(e2b->request);
	return true;
}

static int refuse_room(const struct e2b *e2b)
{
	e2b_refuse(e2b, 507, "there is no room for the file");
	return -1;
}

int e2b_gunzip_to(const struct e2b *e2b, const char *bytes, size_t len, int fd, uint64_t max)
{
	cleanup_gunzip struct gunzip *gunzip = gunzip_new(bytes, len);
	MEM_UNINIT char chunk[CHUNK];
	uint64_t written = 0;
	size_t got = 0, since = 0;
	struct err err;
	int code;

	if (gunzip == NULL)
		return refuse_room(e2b);
	while ((code = gunzip_read(gunzip, chunk, sizeof(chunk), &got, &err)) > 0) {
		written += got;
		since += got;
		if (written > max) {
			e2b_refuse(e2b, 413, "unpacked, the file is larger than the sandbox allows");
			return -1;
		}
		if (fd_write_full(fd, chunk, got, &err) < 0)
			return refuse_room(e2b);
		if (since >= TURN && request_pause(e2b->request, 0) < 0)
			return -1;
		since %= TURN;
	}
	if (code < 0)
		e2b_refuse(e2b, 400, err.text);
	return code;
}

/* ---- downloads ------------------------------------------------------------------------------ */

/*
 * HTTP libraries accept gzip among others by default. Only a client that accepts nothing else has
 * asked for it.
 */
bool e2b_wants_gzip(const struct http *http)
{
	const char *accept = http_header(http, "accept-encoding");

	return accept != NULL && strcasecmp(accept, "gzip") == 0 &&
	       http_header(http, "range") == NULL;
}

static int send_packed(const struct e2b *e2b, struct gzip *gzip)
{
	MEM_UNINIT char packed[CHUNK];
	size_t got;

	while (gzip_read(gzip, packed, sizeof(packed), &got) > 0)
		if (answer_write(e2b->request, packed, got) < 0)
			return -1;
	return 0;
}

/* After answer_begin(). */
void e2b_answer_gzip(const struct e2b *e2b, int fd, uint64_t size)
{
	cleanup_gzip struct gzip *gzip = gzip_new();
	MEM_UNINIT char chunk[CHUNK];
	size_t since = 0;

	if (gzip == NULL) {
		answer_break_off(e2b->request);
		return;
	}
	for (uint64_t at = 0; at < size;) {
		const size_t want = size - at < sizeof(chunk) ? (size_t)(size - at) : sizeof(chunk);
		const ssize_t n = pread(fd, chunk, want, (off_t)at);

		if (n <= 0) { /* the file has become shorter, or cannot be read */
			answer_break_off(e2b->request);
			return;
		}
		at += (uint64_t)n;
		since += (size_t)n;
		gzip_feed(gzip, chunk, (size_t)n, at == size);
		if (send_packed(e2b, gzip) < 0 ||
		    (since >= TURN && request_pause(e2b->request, 0) < 0))
			return;
		since %= TURN;
	}
	answer_end(e2b->request);
}

/* ---- metadata ------------------------------------------------------------------------------- */

static bool is_printable(const char *value)
{
	for (; *value != '\0'; value++)
		if (*value < 0x20 || *value > 0x7e)
			return false;
	return true;
}

bool e2b_take_metadata(const struct e2b *e2b, const char **ret_json)
{
	const struct http *http = request_head(e2b->request);
	cleanup_buf struct buf text = BUF_INIT(8u * METADATA_MAX);
	const size_t prefix = strlen(METADATA_HEADER);
	struct json_writer json;
	size_t used = 0, count = 0;
	struct err err;

	*ret_json = NULL;
	json_write_init(&json, &text);
	json_write_object_begin(&json);
	for (size_t i = 0; i < http->header_count; i++) {
		const char *name = http->header[i].name, *value = http->header[i].value;

		if (strncmp(name, METADATA_HEADER, prefix) != 0)
			continue;
		name += prefix; /* in lower case, as all names of headers */
		used += strlen(name) + strlen(value);
		if (name[0] == '\0' || strlen(name) > NAME_MAX_BYTES || used > METADATA_MAX ||
		    !is_printable(value)) {
			e2b_refuse(e2b, 400,
				   "metadata: printable ASCII, names of at most 246 bytes, at most "
				   "4096 bytes in all");
			return false;
		}
		json_write_member_string(&json, name, value);
		count++;
	}
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0) {
		e2b_refuse(e2b, 400, err.text);
		return false;
	}
	if (count > 0)
		*ret_json = arena_text(e2b->arena, text.data, text.len);
	return true;
}

bool e2b_keep_metadata(const struct e2b *e2b, const char *const *paths, size_t count,
		       const char *json)
{
	cleanup_json struct json_value *answer = NULL;

	if (json == NULL || count == 0)
		return true;
	answer = inside_ask(e2b, &(struct inside_order){ .command = "attributes",
							 .paths = paths,
							 .path_count = count,
							 .attributes = json });
	return answer != NULL && !inside_refused(e2b, answer);
}
