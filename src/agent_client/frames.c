/*
 * frames.c - frames to an agent, and checked frames from it.
 *
 * Runs in:  programs that start an agent.
 * Reads:    frames of the agent, which an attacker may control.
 * Never:    waits for the agent: an agent that does not read its frames is given up.
 */
#include <poll.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "codec/base64.h"
#include "codec/json_read.h"
#include "agent_client/inner.h"

#define FIELD_ROOM 64u /* a field and its header */

int agent_client_fd(const struct agent_client *client)
{
	return client->sock;
}

enum agent_state agent_client_state(const struct agent_client *client)
{
	return client->state;
}

/* ---- to the agent ---- */

int agent_client_tell(struct agent_client *client, enum agent_type type, const struct buf *payload,
		      struct err *err)
{
	return agent_client_send(client, type, 0, payload, err);
}

static int add_encoded(struct buf *ret, const struct agent_client_image *image, struct err *err)
{
	return image->is_encoded ? buf_add(ret, image->bytes, image->len, err)
				 : base64_encode(image->bytes, image->len, ret, err);
}

static int pack_image(struct buf *payload, const struct agent_client_image *image, struct err *err)
{
	const size_t head = strlen(image->mime) + 1;
	cleanup_buf struct buf whole = BUF_INIT(AGENT_IMAGE_MAX + head);
	struct err full;

	/* An image that does not fit is still in the text, as a line. */
	if (buf_add(&whole, image->mime, head, &full) < 0 ||
	    add_encoded(&whole, image, &full) < 0 ||
	    payload->len + whole.len + FIELD_ROOM > payload->max)
		return 0;
	return agent_pack(payload, AGENT_TAG_IMAGE, whole.data, whole.len, err);
}

void agent_client_show(struct agent_client *client, const struct agent_client_image *image)
{
	if (client->has_images && client->shown_count < AGENT_IMAGES_MAX)
		client->shown[client->shown_count++] = image;
}

int agent_client_ask(struct agent_client *client, const char *question, size_t len,
		     const char *const *files, size_t file_count, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(AGENT_CLIENT_RESULT_MAX);

	if (agent_pack(&payload, AGENT_TAG_TEXT, question, len, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < file_count; i++)
		if (agent_pack_text(&payload, AGENT_TAG_FILE, files[i], err) < 0)
			return (int)err->code;
	for (size_t i = 0; i < client->shown_count; i++)
		if (pack_image(&payload, client->shown[i], err) < 0)
			return (int)err->code;
	client->shown_count = 0;
	client->state = AGENT_STATE_THINKING;
	client->is_interrupted = false;
	return agent_client_tell(client, AGENT_ASK, &payload, err);
}

int agent_client_load(struct agent_client *client, const char *json, size_t len, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(AGENT_CLIENT_FRAME_MAX);

	if (len > AGENT_CONVERSATION_MAX)
		return err_set(err, ERR_LIMIT, "a conversation of %zu bytes; at most %u", len,
			       AGENT_CONVERSATION_MAX);
	if (agent_pack(&payload, AGENT_TAG_JSON, json, len, err) < 0)
		return (int)err->code;
	return agent_client_tell(client, AGENT_CONVERSATION, &payload, err);
}

static int pack_tool_result(struct buf *payload, const struct agent_client_tool_result *result,
			    struct err *err)
{
	size_t len = result->len;

	if (len > AGENT_RESULT_MAX) {
		len = AGENT_RESULT_MAX;
		len -= utf8_incomplete_tail(result->text, len);
	}
	if (agent_pack_text(payload, AGENT_TAG_CALL, result->call, err) < 0 ||
	    agent_pack_text(payload, AGENT_TAG_STATUS, result->failed ? "error" : "ok", err) < 0)
		return (int)err->code;
	return agent_pack(payload, AGENT_TAG_TEXT, result->text, len, err);
}

int agent_client_continue(struct agent_client *client,
			  const struct agent_client_tool_result *results, size_t count,
			  struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(AGENT_CLIENT_RESULT_MAX);

	if (count > AGENT_CALLS_MAX)
		return err_set(err, ERR_LIMIT, "more than %u results", AGENT_CALLS_MAX);
	for (size_t i = 0; i < count; i++)
		if (pack_tool_result(&payload, &results[i], err) < 0)
			return (int)err->code;
	for (size_t i = 0; i < client->shown_count; i++)
		if (pack_image(&payload, client->shown[i], err) < 0)
			return (int)err->code;
	client->shown_count = 0;
	client->state = AGENT_STATE_THINKING;
	client->is_interrupted = false;
	return agent_client_tell(client, AGENT_CONTINUE, &payload, err);
}

int agent_client_list(struct agent_client *client, struct err *err)
{
	client->state = AGENT_STATE_LISTING;
	return agent_client_tell(client, AGENT_LIST, NULL, err);
}

int agent_client_answer(struct agent_client *client, const struct agent_client_result *result,
			struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(AGENT_CLIENT_RESULT_MAX);
	size_t len = result->len;

	if (len > AGENT_RESULT_MAX) {
		len = AGENT_RESULT_MAX;
		len -= utf8_incomplete_tail(result->text, len);
	}
	if (agent_pack_text(&payload, AGENT_TAG_STATUS, result->status, err) < 0 ||
	    agent_pack(&payload, AGENT_TAG_TEXT, result->text, len, err) < 0)
		return (int)err->code;
	if (result->repeat > 0 &&
	    agent_pack_u64(&payload, AGENT_TAG_REPEAT, result->repeat, err) < 0)
		return (int)err->code;
	if (result->same > 0 && agent_pack_u64(&payload, AGENT_TAG_SAME, result->same, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < result->handle_count; i++)
		agent_client_offer(client, result->handles[i]);
	for (size_t i = 0; i < result->image_count && client->has_images; i++)
		if (pack_image(&payload, &result->images[i], err) < 0)
			return (int)err->code;
	client->state = AGENT_STATE_THINKING;
	return agent_client_send(client, AGENT_RESULT, client->cell, &payload, err);
}

int agent_client_interrupt(struct agent_client *client, struct err *err)
{
	if (client->is_interrupted)
		return 0;
	client->is_interrupted = true;
	return agent_client_tell(client, AGENT_INTERRUPT, NULL, err);
}

/* ---- from the agent ---- */

void agent_client_wait(const struct agent_client *client, int wake_fd, int timeout_ms)
{
	struct pollfd ready[2] = { { .fd = client->sock, .events = POLLIN },
				   { .fd = wake_fd, .events = POLLIN } };

	(void)poll(ready, ARRAY_LEN(ready), timeout_ms);
}

/* Checks that a field that is stored or passed on as JSON is a JSON object. */
static int check_object(const struct agent_client *client, size_t count, enum agent_tag tag,
			struct err *err)
{
	const struct kernel_item *json = agent_find(client->items, count, tag);
	cleanup_buf struct buf compact = BUF_INIT(AGENT_CLIENT_FRAME_MAX);
	enum json_kind kind;

	if (json_read_compact(json->data, json->len, AGENT_CONVERSATION_MAX, &compact, &kind, err) <
	    0)
		return (int)err->code;
	return kind == JSON_KIND_OBJECT ? 0
					: err_set(err, ERR_PROTOCOL, "JSON that is not an object");
}

static bool is_word(const struct agent_client *client, size_t count, enum agent_tag tag)
{
	const struct kernel_item *word = agent_find(client->items, count, tag);

	return utf8_is_valid(word->data, word->len) &&
	       memchr(word->data, '\0', word->len) == NULL;
}

static int judge(struct agent_client *client, const struct kernel_head *head, size_t *ret_count,
		 struct err *err)
{
	int count;

	if (!agent_may_send(client->state, head->type))
		return err_set(err, ERR_PROTOCOL, "frame %u is not its to send now", head->type);
	count = kernel_unpack(buf_text(&client->payload), client->payload.len, head->field_count,
			      client->items, AGENT_FIELDS_MAX, err);
	if (count < 0)
		return (int)err->code;
	*ret_count = (size_t)count;
	if (agent_check(head->type, client->items, (size_t)count, err) < 0)
		return (int)err->code;
	if (head->type == AGENT_CALL && (!is_word(client, (size_t)count, AGENT_TAG_CALL) ||
					 !is_word(client, (size_t)count, AGENT_TAG_NAME)))
		return err_set(err, ERR_PROTOCOL, "a call without a name");
	if (head->type == AGENT_CALL ||
	    (head->type == AGENT_EXECUTE &&
	     agent_find(client->items, (size_t)count, AGENT_TAG_COMMAND) != NULL))
		return check_object(client, (size_t)count, AGENT_TAG_ARGUMENTS, err);
	if (head->type == AGENT_CONVERSATION_NOW)
		return check_object(client, (size_t)count, AGENT_TAG_JSON, err);
	return 0;
}

/* Updates the agent's state after a frame. */
static void follow(struct agent_client *client, const struct kernel_head *head)
{
	if (head->type == AGENT_READY || head->type == AGENT_DONE ||
	    head->type == AGENT_MODELS) {
		client->state = AGENT_STATE_IDLE;
	} else if (head->type == AGENT_EXECUTE) {
		client->state = AGENT_STATE_RUNNING;
		client->cell = head->id;
	}
}

int agent_client_take(struct agent_client *client, struct agent_client_frame *ret, struct err *err)
{
	struct kernel_head head;
	size_t count = 0;
	int rc = agent_recv(client->sock, &head, &client->payload, err);

	if (rc == ERR_TIMEOUT)
		return 0;
	if (rc == 0)
		return err_set(err, ERR_LOST, "reckon-agent ended without a word");
	if (rc < 0 || judge(client, &head, &count, err) < 0)
		return err_wrap(err, "reckon-agent");
	if (head.type == AGENT_PAGE)
		return agent_client_page(client, head.id, count, err) < 0
			       ? err_wrap(err, "reckon-agent")
			       : 0;
	if (head.type == AGENT_LOOK)
		return agent_client_look(client, head.id, count, err) < 0
			       ? err_wrap(err, "reckon-agent")
			       : 0;
	follow(client, &head);
	*ret = (struct agent_client_frame){ .type = head.type,
					    .items = client->items,
					    .count = count };
	return 1;
}

void agent_client_read_usage(const struct agent_client_frame *frame, struct agent_usage *ret)
{
	const struct kernel_item *usage =
		agent_find(frame->items, frame->count, AGENT_TAG_USAGE);

	if (usage != NULL)
		memcpy(ret, usage->data, sizeof(*ret));
}

int agent_client_read_command(const struct agent_client_frame *frame, struct agent_command *ret,
			      struct buf *call, struct err *err)
{
	const struct kernel_item *command =
		agent_find(frame->items, frame->count, AGENT_TAG_COMMAND);
	const struct kernel_item *json =
		agent_find(frame->items, frame->count, AGENT_TAG_ARGUMENTS);
	enum json_kind kind;

	if (command == NULL)
		return 0;
	memcpy(ret, command->data, sizeof(*ret));
	return json_read_compact(json->data, json->len, AGENT_ARGUMENTS_MAX, call, &kind, err) < 0
		       ? (int)err->code
		       : 1;
}

bool agent_client_read_sealed(const struct agent_client_frame *frame, struct buf *ret)
{
	const struct kernel_item *json = agent_find(frame->items, frame->count, AGENT_TAG_JSON);
	enum json_kind kind;
	struct err ignored;

	return json_read_compact(json->data, json->len, AGENT_CONVERSATION_MAX, ret, &kind,
				 &ignored) == 0 &&
	       kind == JSON_KIND_OBJECT;
}

const char *agent_client_read_text(const struct agent_client_frame *frame, size_t *ret_len)
{
	const struct kernel_item *text = agent_find(frame->items, frame->count, AGENT_TAG_TEXT);

	*ret_len = text != NULL ? text->len : 0;
	return text != NULL ? text->data : "";
}

static void copy_text(const struct agent_client_frame *frame, enum agent_tag tag, char *ret,
		      size_t size)
{
	const struct kernel_item *item = agent_find(frame->items, frame->count, tag);
	const size_t len = item == NULL ? 0 : item->len < size ? item->len : size - 1;

	if (len > 0)
		memcpy(ret, item->data, len);
	ret[len] = '\0';
}

void agent_client_read_end(const struct agent_client_frame *done, struct agent_client_end *ret)
{
	const struct kernel_item *answer = agent_find(done->items, done->count, AGENT_TAG_TEXT);
	const struct kernel_item *checked =
		agent_find(done->items, done->count, AGENT_TAG_CHECKED);

	memset(ret, 0, sizeof(*ret));
	ret->stop = (enum agent_stop)agent_u64(done->items, done->count, AGENT_TAG_STOP,
					       AGENT_STOP_FAILED);
	agent_client_read_usage(done, &ret->usage);
	if (checked != NULL)
		memcpy(&ret->checked, checked->data, sizeof(ret->checked));
	ret->answer = answer != NULL ? answer->data : NULL;
	ret->answer_len = answer != NULL ? answer->len : 0;
	copy_text(done, AGENT_TAG_MESSAGE, ret->message, sizeof(ret->message));
	copy_text(done, AGENT_TAG_REMEDY, ret->remedy, sizeof(ret->remedy));
}
