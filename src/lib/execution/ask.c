/*
 * ask.c - questions to an idle kernel: variables, completion, inspection, complete cells.
 *
 * Runs in:  libreckon.
 * Reads:    one packet of a hostile kernel.
 * Never:    waits beyond the question's timeout; then it interrupts the kernel.
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
#include "languages/languages.h"
#include "lib/api.h"
#include "lib/session/session.h"
#include "wire/kernel.h"

#define ASK_TIMEOUT_MS 10000
#define ASK_INTERRUPTS 5
#define ASK_AGAIN_MS 500
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

/* 1: a packet; 0: none in time; ERR_LOST: the kernel or the warden has ended. */
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
		if (session_is_gone(session, err))
			return (int)err->code;
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
	/* As for a cell (stop.c): a kernel may swallow the first interrupt, but not the third. */
	for (int tries = 0; n == 0 && tries < ASK_INTERRUPTS; tries++) {
		if (session_tell(session, WARDEN_INTERRUPT, err) < 0)
			return (int)err->code;
		n = wait_packet(session, &head, answer, ASK_AGAIN_MS, err);
	}
	if (n == 0)
		return err_set(err, ERR_LOST, "the kernel gave no answer for %d s and was ended; "
			       "its variables are gone",
			       (ASK_TIMEOUT_MS + ASK_INTERRUPTS * ASK_AGAIN_MS) / 1000);
	if (n < 0 || check_answer(session, &head, want, id, answer, err) < 0)
		return (int)err->code;
	session->state = KERNEL_STATE_IDLE;
	return 0;
}

/* A language's row says which requests its kernel answers. */
static bool answers(const struct reckon_session *session, enum kernel_type type)
{
	static const struct {
		enum kernel_type type;
		unsigned feature;
	} features[] = {
		{ KERNEL_VARIABLES, LANGUAGE_LISTS_VARIABLES },
		{ KERNEL_COMPLETE, LANGUAGE_COMPLETES },
		{ KERNEL_INSPECT, LANGUAGE_INSPECTS },
		{ KERNEL_IS_COMPLETE, LANGUAGE_JUDGES_CELLS },
	};

	for (size_t i = 0; i < ARRAY_LEN(features); i++)
		if (features[i].type == type)
			return (session->language->features & features[i].feature) != 0;
	return true;
}

/* Gives an answer without fields if the language's kernel does not support the request. */
static int ask(struct reckon_session *session, enum kernel_type type, const struct buf *payload,
	       enum kernel_type want, struct answer *answer, struct err *err)
{
	if (session_check_kernel(session, err) < 0)
		return (int)err->code;
	if (!answers(session, type))
		return 0;
	if (exchange(session, type, payload, want, answer, err) == 0)
		return 0;
	/* After an error the two ends may disagree about the next packet. */
	if (client_is_dead(session->client, err))
		session_lose(session, err);
	else
		session_kill(session, err);
	(void)session_is_gone(session, err);
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

static void write_variable(struct json_writer *json, const struct kernel_item *first, size_t fields)
{
	const struct kernel_item *kind = kernel_find(first, fields, KERNEL_TAG_VAR_KIND);

	json_write_object_begin(json);
	member_item(json, "name", first);
	member_item(json, "type", kernel_find(first, fields, KERNEL_TAG_VAR_TYPE));
	member_item(json, "shape", kernel_find(first, fields, KERNEL_TAG_VAR_SHAPE));
	write_number(json, "size", kernel_find(first, fields, KERNEL_TAG_VAR_SIZE));
	member_item(json, "preview", kernel_find(first, fields, KERNEL_TAG_VAR_PREVIEW));
	if (kind != NULL && kind->len > 0)
		member_item(json, "kind", kind);
	else
		json_write_member_string(json, "kind", "data");
	json_write_object_end(json);
}

static void write_omitted(struct json_writer *json, const struct kernel_item *count)
{
	char text[48];

	if (count == NULL || count->len == 0 || count->len > 12)
		return;
	(void)snprintf(text, sizeof(text), "%.*s more", (int)count->len, count->data);
	json_write_object_begin(json);
	json_write_member_string(json, "name", "…");
	json_write_member_string(json, "type", "");
	json_write_member_string(json, "shape", "");
	json_write_key(json, "size");
	json_write_null(json);
	json_write_member_text(json, "preview", text, strlen(text));
	json_write_member_string(json, "kind", "omitted");
	json_write_object_end(json);
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
	known_clear(&session->known);
	for (size_t i = 0; i < answer.count;) {
		const struct kernel_item *first = answer.items + i;
		size_t fields = 1;

		/* One variable: the fields from its name to the next name. */
		while (i + fields < answer.count && first[fields].tag != KERNEL_TAG_VAR_NAME)
			fields++;
		i += fields;
		if (first->tag != KERNEL_TAG_VAR_NAME)
			continue;
		write_variable(&json, first, fields);
		if (session->known.count < KNOWN_MAX)
			known_add(&session->known, first->data, first->len);
	}
	write_omitted(&json, kernel_find(answer.items, answer.count, KERNEL_TAG_VAR_OMITTED));
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

/* CODE and CURSOR of a question about code. */
static int pack_place(struct buf *payload, const char *code, size_t len, size_t cursor,
		      struct err *err)
{
	char at[24];

	if (code == NULL && len > 0)
		return err_set(err, ERR_INVALID, "no code");
	if (cursor > len)
		return err_set(err, ERR_INVALID, "the cursor (%zu) is past the end of the code "
			       "(%zu)", cursor, len);
	(void)snprintf(at, sizeof(at), "%zu", cursor);
	if (kernel_pack(payload, KERNEL_TAG_CODE, code, len, err) < 0)
		return (int)err->code;
	return kernel_pack(payload, KERNEL_TAG_CURSOR, at, strlen(at), err);
}

/* A hostile kernel may send any offset; callers cut their code there. */
static size_t read_offset(const struct answer *answer, enum kernel_tag tag, size_t otherwise)
{
	const struct kernel_item *item = kernel_find(answer->items, answer->count, tag);
	size_t value = 0;

	if (item == NULL || item->len == 0 || item->len > 9)
		return otherwise;
	for (size_t i = 0; i < item->len; i++) {
		if (item->data[i] < '0' || item->data[i] > '9')
			return otherwise;
		value = value * 10 + (size_t)(item->data[i] - '0');
	}
	return value;
}

static int complete(struct reckon_session *session, const char *code, size_t len, size_t cursor,
		    char **ret_json, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(CODE_MAX + 4096);
	cleanup_buf struct buf out = BUF_INIT((size_t)KERNEL_PAYLOAD_MAX * 7);
	cleanup_answer struct answer answer = ANSWER_INIT;
	struct json_writer json;
	size_t start, end;

	if (pack_place(&payload, code, len, cursor, err) < 0 ||
	    ask(session, KERNEL_COMPLETE, &payload, KERNEL_COMPLETE_REPLY, &answer, err) < 0)
		return (int)err->code;
	start = read_offset(&answer, KERNEL_TAG_CURSOR_START, cursor);
	end = read_offset(&answer, KERNEL_TAG_CURSOR_END, cursor);
	if (start > end || end > len)
		start = end = cursor;
	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_key(&json, "cursor_start");
	json_write_uint(&json, start);
	json_write_key(&json, "cursor_end");
	json_write_uint(&json, end);
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

/* Only text, in types that Jupyter front ends show, each once. */
static void write_description(struct json_writer *json, const struct answer *answer,
			      bool *ret_found)
{
	static const char *const types[] = { "text/plain", "text/markdown", "text/html" };

	for (size_t t = 0; t < ARRAY_LEN(types); t++)
		for (size_t i = 0; i + 1 < answer->count; i++) {
			const struct kernel_item *mime = &answer->items[i];

			if (mime->tag != KERNEL_TAG_MIME || mime[1].tag != KERNEL_TAG_DATA ||
			    mime->len != strlen(types[t]) ||
			    memcmp(mime->data, types[t], mime->len) != 0)
				continue;
			json_write_member_text(json, types[t], mime[1].data, mime[1].len);
			*ret_found = true;
			break;
		}
}

static int inspect(struct reckon_session *session, const char *code, size_t len, size_t cursor,
		   int detail_level, char **ret_json, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(CODE_MAX + 4096);
	cleanup_buf struct buf out = BUF_INIT((size_t)KERNEL_PAYLOAD_MAX * 7);
	cleanup_answer struct answer answer = ANSWER_INIT;
	struct json_writer json;
	bool found = false;

	if (detail_level != 0 && detail_level != 1)
		return err_set(err, ERR_INVALID, "the detail level is %d, not 0 or 1",
			       detail_level);
	if (pack_place(&payload, code, len, cursor, err) < 0 ||
	    (detail_level == 1 && kernel_pack(&payload, KERNEL_TAG_DETAIL, "1", 1, err) < 0) ||
	    ask(session, KERNEL_INSPECT, &payload, KERNEL_INSPECT_REPLY, &answer, err) < 0)
		return (int)err->code;
	json_write_init(&json, &out);
	json_write_object_begin(&json);
	json_write_key(&json, "data");
	json_write_object_begin(&json);
	write_description(&json, &answer, &found);
	json_write_object_end(&json);
	json_write_member_bool(&json, "found", found);
	json_write_key(&json, "metadata");
	json_write_object_begin(&json);
	json_write_object_end(&json);
	json_write_object_end(&json);
	if (json_write_finish(&json, err) < 0)
		return (int)err->code;
	*ret_json = TAKE_PTR(out.data);
	return 0;
}

int reckon_inspect(reckon_session *session, const char *code, size_t code_len, size_t cursor,
		   int detail_level, char **ret_json, reckon_error *err)
{
	struct err inner;

	if (inspect(session, code, code_len, cursor, detail_level, ret_json, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

/* Passes on only the documented words and white space: a caller may print both. */
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
		if (kernel_item_is(status, words[i]))
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
	    ask(session, KERNEL_IS_COMPLETE, &payload, KERNEL_IS_COMPLETE_REPLY, &answer, err) <
		    0 ||
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
