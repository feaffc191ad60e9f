/*
 * figures.c - the figures of a record: images for the model, and links to the originals.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    images of hostile programs, and smaller copies that libreckon made.
 * Never:    decodes an image: the record has a smaller copy, or none exists.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "codec/base64.h"
#include "dialects/mcp/mcp.h"

#define IMAGE_MAX ((size_t)16 * 1024 * 1024)
#define SCALED_MAX ((size_t)2 * 1024 * 1024)
#define FIGURES_MAX 10u
#define URI_SIZE 160

/* 1: added the smaller copy; 0: there is no suitable one; -1: the client is gone. */
static int show_scaled(struct tool *tool, const struct json_value *scaled)
{
	cleanup_call struct call call = CALL_INIT;
	cleanup_buf struct buf bytes = BUF_INIT(SCALED_MAX);
	const char *artifact = rpc_text(scaled, "artifact", 40),
		   *mime = rpc_text(scaled, "mime", 64);
	struct api_download file;
	enum call_status status;
	struct err ignored;
	char *space;

	if (artifact == NULL || mime == NULL)
		return 0;
	status = call_make(tool->mcp->request, API_ARTIFACT_GET,
			   &(struct api_artifact_get_in){ .artifact = artifact }, &file, &call);
	if (status == CALL_GONE)
		return -1;
	if (status != CALL_OK || call.reply.fd < 0 || file.size > SCALED_MAX ||
	    buf_reserve(&bytes, (size_t)file.size, &space, &ignored) < 0 ||
	    pread(call.reply.fd, space, (size_t)file.size, 0) != (ssize_t)file.size)
		return 0;
	return tool_add_image(tool, space, (size_t)file.size, mime) ? 1 : 0;
}

/* The first image among a result's media types; NULL: none. */
static const char *find_image(const struct json_value *result, const char **ret_mime,
			      size_t *ret_len)
{
	const struct json_value *data = json_read_member(result, "data"), *value;

	for (size_t i = 0; json_read_member_at(data, i, ret_mime, &value); i++) {
		const char *text = json_read_text(value, ret_len);

		if (text != NULL && mcp_is_image(*ret_mime))
			return text;
	}
	return NULL;
}

static int add_figure(struct tool *tool, const struct json_value *result, const char *name,
		      const char *uri)
{
	cleanup_buf struct buf bytes = BUF_INIT(IMAGE_MAX);
	const char *mime;
	size_t len;
	const char *text = find_image(result, &mime, &len);
	struct err ignored;
	const int shown = show_scaled(tool, json_read_member(result, "scaled"));

	if (shown < 0)
		return -1;
	if (base64_decode(text, len, &bytes, &ignored) < 0)
		buf_clear(&bytes);
	if (shown == 0 && (bytes.len == 0 || !tool_add_image(tool, bytes.data, bytes.len, mime)))
		tool_say(tool, "[%s (%s, %zu bytes) is too large to show: read %s]\n", name, mime,
			 len / 4 * 3, uri);
	tool_add_link(tool, uri, name, mime, bytes.len > 0, bytes.len);
	return 0;
}

int tool_add_figures(struct tool *tool, const struct running *running,
		     const struct json_value *record, struct buf *uris)
{
	const struct json_value *results = json_read_member(record, "results");
	char uri[URI_SIZE], name[40];
	size_t shown = 0, len;
	struct err ignored;
	const char *mime;

	for (size_t i = 0; i < json_read_count(results) && shown < FIGURES_MAX; i++) {
		const struct json_value *result = json_read_at(results, i);

		if (find_image(result, &mime, &len) == NULL)
			continue;
		(void)snprintf(uri, sizeof(uri), "reckon://figures/%s/%s/%zu", running->session,
			       running->execution, i);
		(void)snprintf(name, sizeof(name), "figure %zu", i);
		(void)buf_addf(uris, &ignored, "%s\n", uri);
		if (add_figure(tool, result, name, uri) < 0)
			return -1;
		shown++;
	}
	return 0;
}
