/*
 * link.c - the agent's end of wire/agent.h.
 *
 * Runs in:  reckon-agent.
 * Reads:    frames of our parent, which is trusted.
 * Never:    sends it more than wire/agent.h allows.
 */
#include "agent/link.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

#define FRAME_MAX ((size_t)64 * 1024 * 1024)

void link_init(struct link *link, int sock)
{
	memset(link, 0, sizeof(*link));
	link->sock = sock;
	link->payload = BUF_INIT(FRAME_MAX);
}

int link_receive(struct link *link, struct err *err)
{
	const int rc = agent_recv(link->sock, &link->head, &link->payload, err);
	int count;

	if (rc <= 0)
		return rc;
	count = kernel_unpack(buf_text(&link->payload), link->payload.len, link->head.field_count,
			      link->items, AGENT_FIELDS_MAX, err);
	if (count < 0)
		return count;
	link->item_count = (size_t)count;
	if (link->head.type == AGENT_ASK || link->head.type == AGENT_CONTINUE)
		link->interrupted = false;
	else if (link->head.type == AGENT_INTERRUPT)
		link->interrupted = true;
	return 1;
}

bool link_watch(void *arg)
{
	struct link *link = arg;
	struct err err;

	/* Without a parent there is no one to answer; an invalid frame is treated the same. */
	if (link_receive(link, &err) <= 0 || link->head.type != AGENT_INTERRUPT)
		_exit(0);
	return true;
}

int link_ready(struct link *link, struct err *err)
{
	return agent_send(link->sock, AGENT_READY, 0, NULL, err);
}

int link_text(struct link *link, enum agent_type type, const char *text, size_t len,
	      struct err *err)
{
	while (len > 0) {
		cleanup_buf struct buf payload = BUF_INIT(AGENT_TEXT_MAX + 64);
		size_t n = len < AGENT_TEXT_MAX ? len : AGENT_TEXT_MAX;

		if (n < len)
			n -= utf8_incomplete_tail(text, n);
		if (agent_pack(&payload, AGENT_TAG_TEXT, text, n, err) < 0 ||
		    agent_send(link->sock, type, 0, &payload, err) < 0)
			return (int)err->code;
		text += n;
		len -= n;
	}
	return 0;
}

int link_notice(struct link *link, struct err *err, const char *fmt, ...)
{
	char line[AGENT_MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	return link_text(link, AGENT_NOTICE, line, strlen(line), err);
}

int link_discard(struct link *link, struct err *err, const char *fmt, ...)
{
	char line[AGENT_MESSAGE_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	return link_text(link, AGENT_DISCARD, line, strlen(line), err);
}

int link_turn(struct link *link, const struct agent_usage *usage, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(1024);

	if (agent_pack(&payload, AGENT_TAG_USAGE, usage, sizeof(*usage), err) < 0)
		return (int)err->code;
	return agent_send(link->sock, AGENT_TURN, 0, &payload, err);
}

int link_code(struct link *link, size_t call, const char *text, size_t len, struct err *err)
{
	while (len > 0) {
		cleanup_buf struct buf payload = BUF_INIT(AGENT_TEXT_MAX + 64);
		size_t n = len < AGENT_TEXT_MAX ? len : AGENT_TEXT_MAX;

		if (n < len)
			n -= utf8_incomplete_tail(text, n);
		if (agent_pack(&payload, AGENT_TAG_TEXT, text, n, err) < 0 ||
		    agent_pack_u64(&payload, AGENT_TAG_COUNT, call, err) < 0 ||
		    agent_send(link->sock, AGENT_CODE, 0, &payload, err) < 0)
			return (int)err->code;
		text += n;
		len -= n;
	}
	return 0;
}

int link_call(struct link *link, const struct model_call *call, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(AGENT_ARGUMENTS_MAX + 4096);

	if (agent_pack_text(&payload, AGENT_TAG_CALL, call->id, err) < 0 ||
	    agent_pack_text(&payload, AGENT_TAG_NAME, call->name, err) < 0 ||
	    agent_pack(&payload, AGENT_TAG_ARGUMENTS, call->args.data, call->args.len, err) < 0)
		return (int)err->code;
	return agent_send(link->sock, AGENT_CALL, 0, &payload, err);
}

int link_sealed(struct link *link, uint64_t maker, const char *members, size_t len, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(AGENT_CONVERSATION_MAX + 64),
			       json = BUF_INIT(AGENT_CONVERSATION_MAX);

	if (buf_addf(&json, err, "{\"made_by\":\"%016" PRIx64 "\",", maker) < 0 ||
	    buf_add(&json, members, len, err) < 0 || buf_addc(&json, '}', err) < 0 ||
	    agent_pack(&payload, AGENT_TAG_JSON, json.data, json.len, err) < 0)
		return (int)err->code;
	return agent_send(link->sock, AGENT_SEALED, 0, &payload, err);
}

int link_conversation(struct link *link, const struct buf *json, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(AGENT_CONVERSATION_MAX + 64);

	if (agent_pack(&payload, AGENT_TAG_JSON, json->data, json->len, err) < 0)
		return (int)err->code;
	return agent_send(link->sock, AGENT_CONVERSATION_NOW, 0, &payload, err);
}

/* Sends a request and waits for its reply. */
static int ask(struct link *link, enum agent_type type, const struct buf *payload,
	       enum agent_type wanted, struct err *err)
{
	const uint64_t id = ++link->next_id;
	int rc;

	if (agent_send(link->sock, type, id, payload, err) < 0)
		return (int)err->code;
	do
		rc = link_receive(link, err);
	while (rc > 0 && link->head.type == AGENT_INTERRUPT);
	if (rc < 0)
		return rc;
	if (rc == 0)
		_exit(0);
	if (link->head.type != wanted || link->head.id != id)
		return err_set(err, ERR_PROTOCOL, "frame %u instead of an answer", link->head.type);
	return 0;
}

int link_execute(struct link *link, const char *code, size_t len, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(AGENT_CODE_MAX + 64);

	if (agent_pack(&payload, AGENT_TAG_CODE, code, len, err) < 0)
		return (int)err->code;
	return ask(link, AGENT_EXECUTE, &payload, AGENT_RESULT, err);
}

int link_command(struct link *link, const char *text, const struct agent_command *command,
		 const struct buf *call, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(AGENT_CODE_MAX + AGENT_ARGUMENTS_MAX + 256);

	if (agent_pack_text(&payload, AGENT_TAG_CODE, text, err) < 0 ||
	    agent_pack(&payload, AGENT_TAG_COMMAND, command, sizeof(*command), err) < 0 ||
	    agent_pack(&payload, AGENT_TAG_ARGUMENTS, call->data, call->len, err) < 0)
		return (int)err->code;
	return ask(link, AGENT_EXECUTE, &payload, AGENT_RESULT, err);
}

int link_page(struct link *link, const char *handle, const struct agent_part *part,
	      const char *needle, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(1024);

	if (agent_pack_text(&payload, AGENT_TAG_HANDLE, handle, err) < 0 ||
	    agent_pack(&payload, AGENT_TAG_PART, part, sizeof(*part), err) < 0 ||
	    (needle[0] != '\0' && agent_pack_text(&payload, AGENT_TAG_TEXT, needle, err) < 0))
		return (int)err->code;
	return ask(link, AGENT_PAGE, &payload, AGENT_PAGED, err);
}

int link_look(struct link *link, const struct buf *names, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(AGENT_LOOKS_BYTES + 64);

	if (agent_pack(&payload, AGENT_TAG_TEXT, buf_text(names), names->len, err) < 0)
		return (int)err->code;
	return ask(link, AGENT_LOOK, &payload, AGENT_LOOKED, err);
}

/* Cuts an answer that is too long; all of it was already sent in pieces. */
static int pack_answer(struct buf *payload, const struct buf *answer, struct err *err)
{
	size_t len = answer->len;

	if (len > AGENT_ANSWER_MAX) {
		len = AGENT_ANSWER_MAX;
		len -= utf8_incomplete_tail(answer->data, len);
	}
	return agent_pack(payload, AGENT_TAG_TEXT, buf_text(answer), len, err);
}

int link_done(struct link *link, const struct link_end *end, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(AGENT_ANSWER_MAX + 16384);

	if (agent_pack_u64(&payload, AGENT_TAG_STOP, end->stop, err) < 0 ||
	    agent_pack(&payload, AGENT_TAG_USAGE, end->usage, sizeof(*end->usage), err) < 0)
		return (int)err->code;
	if (end->answer != NULL && pack_answer(&payload, end->answer, err) < 0)
		return (int)err->code;
	if (end->why != NULL && end->why->text[0] != '\0' &&
	    agent_pack_text(&payload, AGENT_TAG_MESSAGE, end->why->text, err) < 0)
		return (int)err->code;
	if (end->why != NULL && end->why->remedy[0] != '\0' &&
	    agent_pack_text(&payload, AGENT_TAG_REMEDY, end->why->remedy, err) < 0)
		return (int)err->code;
	if (end->answer != NULL && end->checked != NULL && end->checked->is_checked != 0 &&
	    agent_pack(&payload, AGENT_TAG_CHECKED, end->checked, sizeof(*end->checked), err) < 0)
		return (int)err->code;
	return agent_send(link->sock, AGENT_DONE, 0, &payload, err);
}
