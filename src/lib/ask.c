/*
 * ask.c - questions to an idle kernel: variables, completion, whether a cell is whole.
 *
 * Runs in:  libreckon.
 * Reads:    one packet of a hostile kernel.
 * Never:    waits longer than the question is worth; then the kernel is interrupted.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "codec/json_write.h"
#include "lib/api.h"
#include "lib/session.h"

#define ASK_TIMEOUT_MS 10000
#define ASK_GRACE_MS 2000
#define CODE_MAX (32u * 1024u * 1024u)
#define INDENT_MAX 256

struct answer {
	struct buf payload;
	struct kernel_item *items;
	size_t count;
};

static void answer_done(struct answer *answer)
{
	buf_done(&answer->payload);
	free(answer->items);
}

#define cleanup_answer __attribute__((cleanup(answer_done)))
#define ANSWER_INIT ((struct answer){ .payload = BUF_INIT(KERNEL_PAYLOAD_MAX) })

/* 1: a packet; 0: none in time; ERR_LOST: the kernel or the warden is gone. */
static int wait_packet(struct reckon_session *session, struct kernel_head *head,
		       struct answer *answer, uint64_t timeout_ms, struct err *err)
{
	const uint64_t end = clock_mono_ns() + timeout_ms * 1000000u;

	for (;;) {
		struct pollfd wait[2] = {
			{ .fd = session->control, .events = POLLIN },
			{ .fd = client_sock(session->client), .events = POLLIN },
		};
		int n = session_recv(session, head, &answer->payload, err);

		if (n > 0)
			return 1;
		if (n != ERR_TIMEOUT) {
			if (n == 0 || n == ERR_SYSTEM)
				return err_set(err, ERR_LOST, "the kernel ended; its variables "
					       "are gone");
			return n;
		}
		client_dispatch(session->client);
		if (session->is_lost) {
			*err = session->why_lost;
			return (int)err->code;
		}
		if (client_is_dead(session->client, err))
			return (int)err->code;
		stray_drain(&session->strays);
		if (clock_mono_ns() >= end)
			return 0;
		if (poll(wait, 2, 100) < 0 && errno != EINTR)
			return err_sys(err, "poll");
	}
}

static int check_answer(const struct reckon_session *session, const struct kernel_head *head,
			enum kernel_type want, uint64_t id, struct answer *answer,
			struct err *err)
{
	int n;

	if (!kernel_may_send(session->state, head->type) || head->type != (uint16_t)want ||
	    head->id != id)
		return err_set(err, ERR_PROTOCOL, "the kernel broke the protocol: an answer to "
			       "something else");
	answer->items = mem_new0(KERNEL_FIELDS_MAX, sizeof(*answer->items));
	n = kernel_unpack(buf_text(&answer->payload), answer->payload.len, head->field_count,
			  answer->items, KERNEL_FIELDS_MAX, err);
	answer->count = n > 0 ? (size_t)n : 0;
	return n < 0 ? n : 0;
}

static int exchange(struct reckon_session *session, enum kernel_type type,
		    const struct buf *payload, enum kernel_type want, struct answer *answer,
		    struct err *err)
{
	const uint64_t id = session->next_request++;
	struct kernel_head head;
	int n;

	if (kernel_send(session->control, type, id, payload, NULL, 0, err) < 0)
		return (int)err->code;
	session->state = KERNEL_STATE_ASKING;
	n = wait_packet(session, &head, answer, ASK_TIMEOUT_MS, err);
	if (n == 0) {
		if (session_tell(session, WARDEN_INTERRUPT, err) < 0)
			return (int)err->code;
		n = wait_packet(session, &head, answer, ASK_GRACE_MS, err);
	}
	if (n == 0)
		return err_set(err, ERR_LOST, "the kernel gave no answer for %d s and was ended; "
			       "its variables are gone",
			       (ASK_TIMEOUT_MS + ASK_GRACE_MS) / 1000);
	if (n < 0 || check_answer(session, &head, want, id, answer, err) < 0)
		return (int)err->code;
	session->state = KERNEL_STATE_IDLE;
	return 0;
}

static int ask(struct reckon_session *session, enum kernel_type type, const struct buf *payload,
	       enum kernel_type want, struct answer *answer, struct err *err)
{
	if (session_check(session, err) < 0)
		return (int)err->code;
	if (exchange(session, type, payload, want, answer, err) == 0)
		return 0;
	/* Whatever went wrong, the two ends no longer agree on what comes next. */
	session_kill(session, err);
	*err = session->why_lost;
	return (int)err->code;
}

static void write_number(struct json_writer *json, const char *key, const struct kernel_item *item)
{
	char text[24];
	unsigned long long value;
	char *end;

	json_write_key(json, key);
	if (item == NULL || item->len == 0 || item->len >= sizeof(text)) {
		json_write_null(json);
		return;
	}
	memcpy(text, item->data, item->len);
	text[item->len] = '\0';
	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end != '\0' || errno != 0 || strspn(text, "0123456789") != item->len)
		json_write_null(json);
	else
		json_write_uint(json, value);
}

static void member_item(struct json_writer *json, const char *key, const struct kernel_item *item)
{
	json_write_member_text(json, key, item != NULL ? item->data : "",
			       item != NULL ? item->len : 0);
}

static int variables(struct reckon_session *session, char **ret_json, struct err *err)
{
	cleanup_buf struct buf out = BUF_INIT((size_t)KERNEL_PAYLOAD_MAX * 7);
	cleanup_answer struct answer answer = ANSWER_INIT;
	struct json_writer json;

	if (ask(session, KERNEL_VARIABLES, NULL, KERNEL_VARIABLES_REPLY, &answer, err) < 0)
		return (int)err->code;
	json_write_init(&json, &out);
	json_write_array_begin(&json);
	for (size_t i = 0; i < answer.count;) {
		const struct kernel_item *first = answer.items + i;
		size_t fields = 1;

		/* One variable: from its name to the next one's. */
		while (i + fields < answer.count && first[fields].tag != KERNEL_TAG_VAR_NAME)
			fields++;
		i += fields;
		if (first->tag != KERNEL_TAG_VAR_NAME)
			continue;
		json_write_object_begin(&json);
		member_item(&json, "name", first);
		member_item(&json, "type", kernel_find(first, fields, KERNEL_TAG_VAR_TYPE));
		member_item(&json, "shape", kernel_find(first, fields, KERNEL_TAG_VAR_SHAPE));
		write_number(&json, "size", kernel_find(first, fields, KERNEL_TAG_VAR_SIZE));
		member_item(&json, "preview", kernel_find(first, fields, KERNEL_TAG_VAR_PREVIEW));
		json_write_object_end(&json);
	}
	json_write_array_end(&json);
	if (json_write_finish(&json, err) < 0)
		return (int)err->code;
	*ret_json = TAKE_PTR(out.data);
	return 0;
}

int reckon_variables(reckon_session *session, char **ret_json, reckon_error *err)
{
	struct err inner;

	if (variables(session, ret_json, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

static int complete(struct reckon_session *session, const char *code, size_t len, size_t cursor,
		    char **ret_json, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(CODE_MAX + 4096);
	cleanup_buf struct buf out = BUF_INIT((size_t)KERNEL_PAYLOAD_MAX * 7);
	cleanup_answer struct answer answer = ANSWER_INIT;
	struct json_writer json;
	char at[24];

	if (cursor > len)
		return err_set(err, ERR_INVALID, "the cursor (%zu) is past the end of the code "
			       "(%zu)", cursor, len);
	(void)snprintf(at, sizeof(at), "%zu", cursor);
	if (kernel_pack(&payload, KERNEL_TAG_CODE, code, len, err) < 0 ||
	    kernel_pack(&payload, KERNEL_TAG_CURSOR, at, strlen(at), err) < 0 ||
	    ask(session, KERNEL_COMPLETE, &payload, KERNEL_COMPLETE_REPLY, &answer, err) < 0)
		return (int)err->code;
	json_write_init(&json, &out);
	json_write_object_begin(&json);
	write_number(&json, "cursor_start",
		     kernel_find(answer.items, answer.count, KERNEL_TAG_CURSOR_START));
	write_number(&json, "cursor_end",
		     kernel_find(answer.items, answer.count, KERNEL_TAG_CURSOR_END));
	json_write_key(&json, "matches");
	json_write_array_begin(&json);
	for (size_t i = 0; i < answer.count; i++)
		if (answer.items[i].tag == KERNEL_TAG_MATCH)
			json_write_text(&json, answer.items[i].data, answer.items[i].len);
	json_write_array_end(&json);
	json_write_object_end(&json);
	if (json_write_finish(&json, err) < 0)
		return (int)err->code;
	*ret_json = TAKE_PTR(out.data);
	return 0;
}

int reckon_complete(reckon_session *session, const char *code, size_t code_len, size_t cursor,
		    char **ret_json, reckon_error *err)
{
	struct err inner;

	if (complete(session, code, code_len, cursor, ret_json, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

static bool is_status(const struct kernel_item *item, const char *text)
{
	return item != NULL && item->len == strlen(text) && memcmp(item->data, text, item->len) == 0;
}

/* Only the words of the contract, and white space, leave here: a caller may print both. */
static int write_whole(const struct answer *answer, struct buf *out, struct err *err)
{
	static const char *const words[] = { "complete", "incomplete", "invalid" };
	const struct kernel_item *status =
		kernel_find(answer->items, answer->count, KERNEL_TAG_STATUS);
	const struct kernel_item *indent =
		kernel_find(answer->items, answer->count, KERNEL_TAG_INDENT);
	const char *word = "unknown";
	struct json_writer json;
	size_t spaces = 0;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (is_status(status, words[i]))
			word = words[i];
	while (indent != NULL && spaces < indent->len && spaces < INDENT_MAX &&
	       (indent->data[spaces] == ' ' || indent->data[spaces] == '\t'))
		spaces++;
	json_write_init(&json, out);
	json_write_object_begin(&json);
	json_write_member_string(&json, "status", word);
	json_write_member_text(&json, "indent", spaces > 0 ? indent->data : "", spaces);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

static int is_complete(struct reckon_session *session, const char *code, size_t len,
		       char **ret_json, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(CODE_MAX + 4096);
	cleanup_buf struct buf out = BUF_INIT(4096);
	cleanup_answer struct answer answer = ANSWER_INIT;

	if (kernel_pack(&payload, KERNEL_TAG_CODE, code, len, err) < 0 ||
	    ask(session, KERNEL_IS_COMPLETE, &payload, KERNEL_IS_COMPLETE_REPLY, &answer, err) < 0 ||
	    write_whole(&answer, &out, err) < 0)
		return (int)err->code;
	*ret_json = TAKE_PTR(out.data);
	return 0;
}

int reckon_is_complete(reckon_session *session, const char *code, size_t code_len, char **ret_json,
		       reckon_error *err)
{
	struct err inner;

	if (is_complete(session, code, code_len, ret_json, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}
