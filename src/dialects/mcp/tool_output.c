/*
 * tool_output.c - output: a part of what was cut.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    output of hostile programs, as bytes.
 * Never:    sends more than the budget, or half a character.
 */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "dialects/mcp/mcp.h"

int tool_output(struct tool *tool)
{
	cleanup_call struct call call = CALL_INIT;
	cleanup_buf struct buf part = BUF_INIT(MCP_TEXT_MAX);
	double offset = 0, length = (double)mcp_text_budget(tool);
	struct api_download download;
	const char *handle;
	char *space;
	size_t from = 0, len;
	ssize_t n;
	struct err err;
	int code;

	if (!tool_text(tool, "handle", 40, &handle) ||
	    !tool_number(tool, "offset", 0, 1e15, &offset) ||
	    !tool_number(tool, "length", 1, MCP_TEXT_MAX, &length))
		return 0;
	if (handle == NULL)
		return tool_fail(tool, "the argument handle is missing",
				 "results name the handle of what was cut, out_...");
	if (!tool_make(tool, API_OUTPUT_GET, &(struct api_output_get_in){ .handle = handle },
		       &download, &call, &code))
		return code;
	if (buf_reserve(&part, (size_t)length, &space, &err) < 0)
		return tool_fail(tool, err.text, NULL);
	n = pread(call.reply.fd, space, (size_t)length, (off_t)offset);
	if (n <= 0) {
		tool_say(tool, "[there are %" PRIu64 " bytes: nothing at %.0f]\n", download.size,
			 offset);
		return 0;
	}
	/* The edges fall between characters: a page begins where the last one ended. */
	len = (size_t)n - utf8_incomplete_tail(space, (size_t)n);
	while (from < len && from < 3 && (space[from] & 0xc0) == 0x80)
		from++;
	(void)buf_add(&tool->text, space + from, len - from, &err);
	if ((uint64_t)offset + len < download.size)
		tool_say(tool, "\n[bytes %.0f to %.0f of %" PRIu64 "; go on with offset %.0f]\n",
			 offset, offset + (double)len, download.size, offset + (double)len);
	return 0;
}
