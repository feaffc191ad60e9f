/*
 * output.c - output: a part of a shortened output, or of an execution's whole output.
 *
 * Runs in:  reckon-front-mcp.
 * Reads:    output and records of hostile programs, as bytes and as JSON of libreckon.
 * Never:    sends more than the budget, or half a character.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "dialects/mcp/mcp.h"

#define RECORD_MAX ((size_t)512 * 1024 * 1024)

/* Shows a page of an output of `size` bytes; `bytes` are those at `offset`. */
static void show_page(struct tool *tool, const char *bytes, size_t n, double offset, uint64_t size)
{
	size_t from = 0, len = n;
	struct err ignored;

	if (n == 0) {
		tool_say(tool, "[there are %" PRIu64 " bytes: nothing at %.0f]\n", size, offset);
		return;
	}
	/* Cut between characters: a page begins where the last one ended. */
	len -= utf8_incomplete_tail(bytes, n);
	while (from < len && from < 3 && (bytes[from] & 0xc0) == 0x80)
		from++;
	(void)buf_add(&tool->text, bytes + from, len - from, &ignored);
	if ((uint64_t)offset + len < size)
		tool_say(tool, "\n[bytes %.0f to %.0f of %" PRIu64 "; go on with offset %.0f]\n",
			 offset, offset + (double)len, size, offset + (double)len);
}

static int show_stored(struct tool *tool, const char *handle, double offset, double length)
{
	cleanup_call struct call call = CALL_INIT;
	cleanup_buf struct buf part = BUF_INIT(MCP_TEXT_MAX);
	struct api_download download;
	struct err err;
	char *space;
	ssize_t n;
	int code;

	if (!tool_make(tool, API_OUTPUT_GET, &(struct api_output_get_in){ .handle = handle },
		       &download, &call, &code))
		return code;
	if (buf_reserve(&part, (size_t)length, &space, &err) < 0)
		return tool_fail(tool, err.text, NULL);
	n = pread(call.reply.fd, space, (size_t)length, (off_t)offset);
	show_page(tool, space, n > 0 ? (size_t)n : 0, offset, download.size);
	return 0;
}

/* ---- an execution ----------------------------------------------------------------------------- */

static int add_text(struct buf *all, const struct json_value *value, struct err *err)
{
	size_t len;
	const char *text = json_read_text(value, &len);

	if (text == NULL || len == 0)
		return 0;
	if (all->len > 0 && all->data[all->len - 1] != '\n' && buf_addc(all, '\n', err) < 0)
		return -1;
	return buf_add(all, text, len, err);
}

/* Collects the output in its order: streams, values as text, the traceback. */
static int add_outputs(struct buf *all, const struct json_value *outputs, struct err *err)
{
	for (size_t i = 0; i < json_read_count(outputs); i++) {
		const struct json_value *output = json_read_at(outputs, i);
		const struct json_value *lines = json_read_member(output, "traceback");
		const struct json_value *data = json_read_member(output, "data");

		if (add_text(all, json_read_member(output, "text"), err) < 0 ||
		    add_text(all, json_read_member(data, "text/plain"), err) < 0)
			return -1;
		for (size_t k = 0; k < json_read_count(lines); k++)
			if (add_text(all, json_read_at(lines, k), err) < 0)
				return -1;
	}
	return 0;
}

static int show_execution(struct tool *tool, const char *session, const char *execution,
			  double offset, double length)
{
	cleanup_call struct call call = CALL_INIT;
	cleanup_buf struct buf all = BUF_INIT(MCP_OUT_MAX);
	struct api_execution_show_out out;
	struct json_value *record = NULL;
	size_t at, left;
	struct err err;
	int code;

	if (!tool_make(
		    tool, API_EXECUTION_SHOW,
		    &(struct api_execution_show_in){ .session = session, .execution = execution },
		    &out, &call, &code))
		return code;
	if (json_read_parse(out.record.data, out.record.len, RECORD_MAX, &record, &err) < 0)
		return tool_fail(tool, err.text, NULL);
	code = add_outputs(&all, json_read_member(record, "outputs"), &err);
	json_read_free(record);
	if (code < 0)
		return tool_fail(tool, err.text, "read its streams by the handles of the result");
	at = offset < (double)all.len ? (size_t)offset : all.len;
	left = all.len - at;
	show_page(tool, buf_text(&all) + at, left < (size_t)length ? left : (size_t)length, offset,
		  all.len);
	return 0;
}

/* ---- the tool --------------------------------------------------------------------------------- */

int tool_output(struct tool *tool)
{
	double offset = 0, length = (double)mcp_text_budget(tool);
	char session[ID_SIZE], execution[ID_SIZE];
	const char *handle;
	int end = 0;

	if (!tool_text(tool, "handle", (size_t)2 * ID_SIZE, &handle) ||
	    !tool_number(tool, "offset", 0, 1e15, &offset) ||
	    !tool_number(tool, "length", 1, MCP_TEXT_MAX, &length))
		return 0;
	if (handle == NULL)
		return tool_fail(tool, "the argument handle is missing",
				 "results name the handle of what was cut, out_...");
	if (sscanf(handle, "%31[^/]/%31[^/]%n", session, execution, &end) == 2 &&
	    handle[end] == '\0')
		return show_execution(tool, session, execution, offset, length);
	return show_stored(tool, handle, offset, length);
}
