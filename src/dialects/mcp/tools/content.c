/*
 * content.c - images and links of a result, within the clients' limits.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    images of hostile programs: only the size in pixels, and only of PNG.
 * Never:    decodes an image, or makes a result larger than a client accepts.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/mcp/mcp.h"

#define RESULT_MAX ((size_t)1000 * 1000) /* per message: some clients accept 1 MiB in all */
#define REST_MAX ((size_t)64 * 1024)	/* for links, names, and the escapes of text in JSON */
#define SIDE_MAX 8000u			/* pixels; limit of the strictest client */

/* The client's header Reckon-Max-Text, else RECKON_MCP_MAX_TEXT of `reckon serve`, bounded. */
uint64_t mcp_text_budget(struct tool *tool)
{
	const char *of_client = http_header(request_head(tool->mcp->request), "reckon-max-text");
	const char *of_daemon = getenv("RECKON_MCP_MAX_TEXT");
	const char *text = of_client != NULL ? of_client : of_daemon;
	unsigned long value = text != NULL ? strtoul(text, NULL, 10) : 0;

	if (value == 0)
		value = MCP_TEXT_DEFAULT;
	return value < MCP_TEXT_MIN ? MCP_TEXT_MIN : value > MCP_TEXT_MAX ? MCP_TEXT_MAX : value;
}

bool mcp_is_image(const char *mime)
{
	static const char *const known[] = { "image/png", "image/jpeg", "image/gif", "image/webp" };

	for (size_t i = 0; mime != NULL && i < ARRAY_LEN(known); i++)
		if (strcmp(mime, known[i]) == 0)
			return true;
	return false;
}

static unsigned long big_endian(const unsigned char *at)
{
	return (unsigned long)at[0] << 24 | (unsigned long)at[1] << 16 | (unsigned long)at[2] << 8 |
	       at[3];
}

static bool has_good_sides(const void *bytes, size_t len, const char *mime)
{
	const unsigned char *at = bytes;

	if (strcmp(mime, "image/png") != 0)
		return true;
	return len > 24 && memcmp(at, "\x89PNG\r\n\x1a\n", 8) == 0 &&
	       big_endian(at + 16) <= SIDE_MAX && big_endian(at + 20) <= SIDE_MAX;
}

static size_t as_base64(size_t len)
{
	return (len + 2) / 3 * 4;
}

/* Images get the room that the text leaves, which a result contains twice. */
static bool has_room(const struct tool *tool, size_t len)
{
	const size_t taken = REST_MAX + 2 * tool->text.len + as_base64(tool->inlined);

	return taken < RESULT_MAX && as_base64(len) <= RESULT_MAX - taken;
}

bool tool_add_image(struct tool *tool, const void *bytes, size_t len, const char *mime)
{
	struct json_writer json;
	struct err ignored;

	if (!mcp_is_image(mime) || !has_room(tool, len) ||
	    !has_good_sides(bytes, len, mime))
		return false;
	tool->inlined += len;
	(void)buf_addc(&tool->content, ',', &ignored);
	json_write_init(&json, &tool->content);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", "image");
	json_write_key(&json, "data");
	json_write_base64(&json, bytes, len);
	json_write_member_string(&json, "mimeType", mime);
	json_write_object_end(&json);
	(void)json_write_finish(&json, &ignored);
	return true;
}

void tool_add_link(struct tool *tool, const char *uri, const char *name, const char *mime,
		   bool has_size, uint64_t size)
{
	struct json_writer json;
	struct err ignored;

	(void)buf_addc(&tool->content, ',', &ignored);
	json_write_init(&json, &tool->content);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", "resource_link");
	json_write_member_string(&json, "uri", uri);
	json_write_member_string(&json, "name", name);
	if (mime != NULL)
		json_write_member_string(&json, "mimeType", mime);
	if (has_size)
		json_write_member_uint(&json, "size", size);
	json_write_object_end(&json);
	(void)json_write_finish(&json, &ignored);
}
