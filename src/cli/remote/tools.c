/*
 * tools.c - queues results of tool calls for a daemon.
 *
 * Runs in:  reckon-client; answers come from a thread for each call.
 * Reads:    output of local programs.
 * Never:    sends anything: it wakes the thread that owns the client.
 */
#include "cli/remote/tools.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_write.h"
#include "reckon_answers.h"

#define WAITING_MAX 64u /* tool calls that one execution may have open at once */
#define RESULT_MAX ((size_t)RECKON_TOOL_TEXT_MAX * 6 + 256)
#define BATCH_BYTES ((size_t)1024 * 1024) /* past it the rest goes into another request */

struct remote_tools {
	int wake_fd;
	pthread_mutex_t lock;
	struct buf results[WAITING_MAX]; /* guarded by the lock, like the next two */
	size_t count;
};

struct remote_tools *remote_tools_new(int wake_fd)
{
	struct remote_tools *tools = mem_new0(1, sizeof(*tools));

	tools->wake_fd = wake_fd;
	(void)pthread_mutex_init(&tools->lock, NULL);
	return tools;
}

void remote_tools_forget(struct remote_tools *tools)
{
	(void)pthread_mutex_lock(&tools->lock);
	while (tools->count > 0)
		buf_done(&tools->results[--tools->count]);
	(void)pthread_mutex_unlock(&tools->lock);
}

void remote_tools_free(struct remote_tools *tools)
{
	if (tools == NULL)
		return;
	remote_tools_forget(tools);
	(void)pthread_mutex_destroy(&tools->lock);
	free(tools);
}

static int write_result(const char *call, int kind, const char *text, size_t len, struct buf *ret,
			struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", call);
	json_write_key(&json, kind == RECKON_TOOL_VALUE	  ? "value"
			      : kind == RECKON_TOOL_ERROR ? "error"
							  : "denied");
	if (kind == RECKON_TOOL_VALUE)
		json_write_raw(&json, text, len);
	else
		json_write_text(&json, text, len);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

void remote_tools_answer(const char *call, int kind, const char *text, size_t len, void *arg)
{
	struct remote_tools *tools = arg;
	struct buf result = BUF_INIT(RESULT_MAX);
	struct err ignored;
	bool is_queued = false;

	if (write_result(call, kind, text, len, &result, &ignored) == 0) {
		(void)pthread_mutex_lock(&tools->lock);
		is_queued = tools->count < WAITING_MAX;
		if (is_queued)
			tools->results[tools->count++] = result;
		(void)pthread_mutex_unlock(&tools->lock);
	}
	if (!is_queued)
		buf_done(&result);
	(void)!write(tools->wake_fd, "", 1);
}

int remote_tools_take(struct remote_tools *tools, struct buf *ret, struct err *err)
{
	size_t taken = 0;
	int code = buf_adds(ret, "{\"results\":[", err);

	(void)pthread_mutex_lock(&tools->lock);
	while (code == 0 && taken < tools->count && (taken == 0 || ret->len < BATCH_BYTES)) {
		struct buf *result = &tools->results[taken];

		if (taken > 0)
			code = buf_addc(ret, ',', err);
		if (code == 0)
			code = buf_add(ret, result->data, result->len, err);
		buf_done(result);
		taken++;
	}
	tools->count -= taken;
	for (size_t i = 0; i < tools->count; i++)
		tools->results[i] = tools->results[i + taken];
	(void)pthread_mutex_unlock(&tools->lock);
	if (code == 0)
		code = buf_adds(ret, "]}", err);
	return code < 0 ? code : taken > 0;
}
