/*
 * inside.c - runs reckon-files in the box, and reads its answer.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    what a program in a hostile box printed.
 * Never:    uses the answer for anything but that box's own files.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "dialects/e2b/envd/inside.h"

#define PROGRAM "exec /opt/reckon/bin/reckon-files"
#define ORDER_MAX ((size_t)1 << 20)
#define ANSWER_MAX ((size_t)48 << 20)
#define HEAD_MAX 4096u /* the line before a file's content */
#define TIMEOUT_MS 600000u

/* ---- the request ---------------------------------------------------------------------------- */

static int write_order(const struct inside_order *order, struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "command", order->command);
	if (order->path != NULL)
		json_write_member_string(&json, "path", order->path);
	if (order->to != NULL)
		json_write_member_string(&json, "to", order->to);
	if (order->depth > 0)
		json_write_member_uint(&json, "depth", (uint64_t)order->depth);
	if (order->paths != NULL) {
		json_write_key(&json, "paths");
		json_write_array_begin(&json);
		for (size_t i = 0; i < order->path_count; i++)
			json_write_string(&json, order->paths[i]);
		json_write_array_end(&json);
	}
	if (order->attributes != NULL) {
		json_write_member_string(&json, "prefix", INSIDE_ATTRIBUTES);
		json_write_key(&json, "attributes");
		json_write_raw(&json, order->attributes, strlen(order->attributes));
	}
	json_write_object_end(&json);
	if (json_write_finish(&json, err) < 0 || buf_addc(ret, '\n', err) < 0)
		return (int)err->code;
	return 0;
}

static void refuse(const struct e2b *e2b, unsigned status, const char *message)
{
	if (e2b_is_rpc(request_head(e2b->request)))
		e2b_rpc_refuse(e2b->request, status, message);
	else
		e2b_refuse(e2b, status, message);
}

static struct program program_of(const struct e2b *e2b)
{
	struct program ret = PROGRAM_INIT;

	ret.request = e2b->request;
	(void)snprintf(ret.session, sizeof(ret.session), "%s", e2b->target.session);
	return ret;
}

/* There is no answer: the program was killed, or another program printed in its place. */
static void refuse_end(const struct e2b *e2b, const struct program_end *end)
{
	char message[512];

	(void)snprintf(message, sizeof(message), "the sandbox could not look at its files: %s%.300s",
		       end->how == PROGRAM_OUT_OF_MEMORY ? "out of memory"
		       : end->how == PROGRAM_TIMEOUT	 ? "it took too long"
							 : "",
		       buf_text(&end->err));
	refuse(e2b, 500, message);
}

struct json_value *inside_ask(const struct e2b *e2b, const struct inside_order *order)
{
	cleanup_buf struct buf input = BUF_INIT(ORDER_MAX + order->len);
	cleanup_program struct program program = program_of(e2b);
	cleanup_program_end struct program_end end = PROGRAM_END_INIT;
	struct json_value *ret = NULL;
	const char *line;
	struct err err;

	if (write_order(order, &input, &err) < 0 ||
	    buf_add(&input, order->len > 0 ? order->bytes : "", order->len, &err) < 0) {
		refuse(e2b, 400, err.text);
		return NULL;
	}
	if (program_run(&program,
			&(struct program_stage){ .command = PROGRAM,
						 .tag = INSIDE_TAG,
						 .timeout_ms = TIMEOUT_MS,
						 .input = input.data,
						 .input_len = input.len },
			&end) < 0)
		return NULL;
	line = memchr(buf_text(&end.out), '\n', end.out.len);
	if (line == NULL || json_read_parse(end.out.data, (size_t)(line - end.out.data), ANSWER_MAX,
					    &ret, &err) < 0) {
		refuse_end(e2b, &end);
		return NULL;
	}
	return ret;
}

/* ---- the answer ----------------------------------------------------------------------------- */

bool inside_refused(const struct e2b *e2b, const struct json_value *answer)
{
	static const struct {
		const char *code;
		unsigned status;
	} known[] = {
		{ "not_found", 404 }, { "denied", 403 }, { "full", 507 }, { "loop", 412 },
	};
	const char *code = e2b_rpc_text(answer, "error");
	const char *message = e2b_rpc_text(answer, "message");
	unsigned status = 400;
	char text[E2B_PATH_SIZE + 256];

	if (code[0] == '\0')
		return false;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(known[i].code, code) == 0)
			status = known[i].status;
	(void)snprintf(text, sizeof(text), "%s%.4200s",
		       status == 404   ? "path not found: "
		       : status == 403 ? "permission denied in the sandbox: "
				       : "",
		       message);
	if (strcmp(code, "no_attributes") == 0)
		(void)snprintf(text, sizeof(text),
			       "this host keeps no metadata of files: it takes Linux 6.6");
	refuse(e2b, status, text);
	return true;
}

static const char *copy_text(const struct e2b *e2b, const struct json_value *answer,
			     const char *key)
{
	const char *text = e2b_rpc_text(answer, key);

	return arena_text(e2b->arena, text, strlen(text));
}

static uint64_t number(const struct json_value *answer, const char *key)
{
	int64_t value = 0;

	return json_read_int(json_read_member(answer, key), &value) && value > 0 ? (uint64_t)value
										 : 0;
}

void inside_entry(const struct e2b *e2b, const struct json_value *answer, struct entry *ret)
{
	*ret = (struct entry){
		.name = copy_text(e2b, answer, "name"),
		.path = copy_text(e2b, answer, "path"),
		.owner = copy_text(e2b, answer, "owner"),
		.group = copy_text(e2b, answer, "group"),
		.modified = entry_moment(e2b, number(answer, "modified_s") * 1000),
		.size = number(answer, "size"),
		.mode = (unsigned)number(answer, "mode"),
		.link_mode = (unsigned)number(answer, "link_mode"),
		.metadata = entry_metadata(e2b, json_read_member(answer, "attributes")),
	};
	if (e2b_rpc_text(answer, "target")[0] != '\0')
		ret->target = copy_text(e2b, answer, "target");
}

/* ---- a file's content ----------------------------------------------------------------------- */

struct reading {
	struct program_interactive interactive;
	const struct e2b *e2b;
	const char *headers;
	struct buf head; /* the line before the content */
	struct json_value *answer;
	uint64_t left;
	bool has_begun;
};

static int begin_bytes(struct reading *reading)
{
	if (e2b_rpc_text(reading->answer, "error")[0] != '\0')
		return 0;
	reading->left = number(reading->answer, "size");
	reading->has_begun = true;
	return answer_begin(reading->e2b->request, 200, "application/octet-stream", reading->left,
			    reading->headers);
}

/*
 * Sends the content as it comes, at most as much as the first line says: the file may have grown.
 */
static int take_output(struct program_interactive *interactive, bool is_error, const char *bytes,
		       size_t len)
{
	struct reading *reading = (struct reading *)interactive;
	const char *end;
	struct err err;
	size_t used;

	if (is_error)
		return 0;
	if (reading->answer == NULL) {
		end = memchr(bytes, '\n', len);
		used = end != NULL ? (size_t)(end - bytes) + 1 : len;
		if (buf_add(&reading->head, bytes, used, &err) < 0)
			return 0;
		bytes += used;
		len -= used;
		if (end == NULL || json_read_parse(reading->head.data, reading->head.len - 1,
						   HEAD_MAX, &reading->answer, &err) < 0)
			return 0;
		if (begin_bytes(reading) < 0)
			return -1;
	}
	if (!reading->has_begun)
		return 0;
	len = len < reading->left ? len : (size_t)reading->left;
	reading->left -= len;
	return len > 0 ? answer_write(reading->e2b->request, bytes, len) : 0;
}

static int wait_for_more(struct program_interactive *interactive)
{
	return upstream_wait(((struct reading *)interactive)->e2b->request, 0) < 0 ? -1 : 0;
}

static void read_bytes(struct reading *reading, const struct e2b *e2b)
{
	cleanup_program struct program program = program_of(e2b);
	cleanup_program_end struct program_end end = PROGRAM_END_INIT;

	program.output_max = UINT64_MAX;
	if (program_run(&program,
			&(struct program_stage){ .command = PROGRAM,
						 .tag = INSIDE_TAG,
						 .timeout_ms = TIMEOUT_MS,
						 .interactive = &reading->interactive },
			&end) < 0)
		return;
	if (reading->has_begun && reading->left == 0)
		answer_end(e2b->request);
	else if (reading->has_begun)
		answer_break_off(e2b->request);
	else if (reading->answer == NULL || !inside_refused(e2b, reading->answer))
		refuse_end(e2b, &end);
}

void inside_read(const struct e2b *e2b, const struct e2b_path *path, const char *headers)
{
	struct reading reading = { .interactive = { .take_output = take_output,
						    .wait = wait_for_more,
						    .input = BUF_INIT(ORDER_MAX) },
				   .e2b = e2b,
				   .headers = headers,
				   .head = BUF_INIT(HEAD_MAX) };
	struct err err;

	if (write_order(&(struct inside_order){ .command = "read", .path = path->whole },
			&reading.interactive.input, &err) < 0)
		refuse(e2b, 400, err.text);
	else
		read_bytes(&reading, e2b);
	buf_done(&reading.interactive.input);
	buf_done(&reading.head);
	json_read_free(reading.answer);
}
