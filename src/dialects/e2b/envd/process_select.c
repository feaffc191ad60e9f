/*
 * process_select.c - which process a message names, and how large its terminal is.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    messages from clients.
 * Never:    selects a process that the message does not name by its pid or its tag.
 */
#include <inttypes.h>
#include <stdio.h>

#include "dialects/e2b/envd/process.h"

#define SIDE_MAX 1000

bool e2b_process_select(const struct e2b *e2b, const struct json_value *message, bool running_only,
			struct api_process *ret, struct call *call)
{
	const struct json_value *selector = json_read_member(message, "process");
	const char *tag = e2b_rpc_text(selector, "tag");
	struct api_process_list_in in = { .session = e2b->target.session,
					  .has_limit = true,
					  .limit = 1 };
	struct api_processes out;
	char text[160];
	int64_t pid = 0;

	(void)json_read_int(json_read_member(selector, "pid"), &pid);
	if (running_only)
		in.state = API_PROCESS_LIST_IN_STATE_RUNNING;
	if (tag[0] != '\0') {
		in.tag = tag;
		(void)snprintf(text, sizeof(text), "process with tag %.100s not found", tag);
	} else if (pid > 0 && pid <= INT32_MAX) {
		in.has_pid = true;
		in.pid = (uint64_t)pid;
		(void)snprintf(text, sizeof(text), "process with pid %" PRId64 " not found", pid);
	} else {
		e2b_rpc_refuse(e2b->request, 400, "a process is selected by its pid or its tag");
		return false;
	}
	if (call_or_refuse(e2b->request, API_PROCESS_LIST, &in, &out, call) < 0)
		return false;
	if (out.processes.count == 0) {
		e2b_rpc_refuse(e2b->request, 404, text);
		return false;
	}
	*ret = *(const struct api_process *)out.processes.items;
	return true;
}

static uint64_t side(const struct json_value *size, const char *name)
{
	int64_t value = 0;

	(void)json_read_int(json_read_member(size, name), &value);
	return value < 1 ? 1 : value > SIDE_MAX ? SIDE_MAX : (uint64_t)value;
}

bool e2b_process_size(const struct json_value *message, struct api_pty *ret)
{
	const struct json_value *pty = json_read_member(message, "pty");
	const struct json_value *size = json_read_member(pty, "size");

	if (json_read_kind(pty) != JSON_KIND_OBJECT)
		return false;
	*ret = (struct api_pty){ .has_rows = true, .has_cols = true };
	ret->rows = side(size, "rows");
	ret->cols = side(size, "cols");
	return true;
}
