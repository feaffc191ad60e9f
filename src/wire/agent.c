/*
 * agent.c - frames between reckon-agent and its parent, and who may send what.
 *
 * Runs in:  reckon-agent, reckon and tests.
 * Reads:    frames of an agent that an attacker may control.
 * Never:    trusts a length, a count or a descriptor.
 */
#include "wire/agent.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/utf8.h"

#define FIRST AGENT_READY
#define COUNT (AGENT_LOOK - AGENT_READY + 1)

/* How long a field of this tag may be, and must be, in a frame of the agent. */
static const struct bound {
	uint32_t min;
	uint32_t max;
} bounds[] = {
	[AGENT_TAG_TEXT] = { 0, AGENT_ANSWER_MAX },
	[AGENT_TAG_CODE] = { 0, AGENT_CODE_MAX },
	[AGENT_TAG_USAGE] = { sizeof(struct agent_usage), sizeof(struct agent_usage) },
	[AGENT_TAG_STOP] = { 8, 8 },
	[AGENT_TAG_MESSAGE] = { 1, AGENT_MESSAGE_MAX },
	[AGENT_TAG_REMEDY] = { 1, AGENT_MESSAGE_MAX },
	[AGENT_TAG_COUNT] = { 8, 8 },
	[AGENT_TAG_HANDLE] = { 1, AGENT_HANDLE_MAX },
	[AGENT_TAG_CALL] = { 1, AGENT_CALL_ID_MAX },
	[AGENT_TAG_NAME] = { 1, AGENT_TOOL_NAME_MAX },
	[AGENT_TAG_ARGUMENTS] = { 2, AGENT_ARGUMENTS_MAX },
	[AGENT_TAG_JSON] = { 2, AGENT_CONVERSATION_MAX },
	[AGENT_TAG_PART] = { sizeof(struct agent_part), sizeof(struct agent_part) },
	[AGENT_TAG_COMMAND] = { sizeof(struct agent_command), sizeof(struct agent_command) },
	[AGENT_TAG_CHECKED] = { sizeof(struct agent_checked), sizeof(struct agent_checked) },
};

#define BIT(tag) (UINT64_C(1) << (unsigned)(AGENT_TAG_##tag))

static const struct shape {
	uint64_t must;
	uint64_t may;
	bool is_known;
} shapes[COUNT] = {
	[AGENT_READY - FIRST] = { 0, 0, true },
	[AGENT_TEXT - FIRST] = { BIT(TEXT), 0, true },
	[AGENT_THOUGHT - FIRST] = { BIT(TEXT), 0, true },
	[AGENT_NOTICE - FIRST] = { BIT(TEXT), 0, true },
	[AGENT_TURN - FIRST] = { BIT(USAGE), 0, true },
	[AGENT_EXECUTE - FIRST] = { BIT(CODE), BIT(COMMAND) | BIT(ARGUMENTS), true },
	[AGENT_DONE - FIRST] = { BIT(STOP) | BIT(USAGE),
				 BIT(TEXT) | BIT(MESSAGE) | BIT(REMEDY) | BIT(CHECKED), true },
	[AGENT_MODELS - FIRST] = { BIT(TEXT) | BIT(COUNT), 0, true },
	[AGENT_CODE - FIRST] = { BIT(TEXT) | BIT(COUNT), 0, true },
	[AGENT_CALL - FIRST] = { BIT(CALL) | BIT(NAME) | BIT(ARGUMENTS), 0, true },
	[AGENT_DISCARD - FIRST] = { BIT(TEXT), 0, true },
	[AGENT_SEALED - FIRST] = { BIT(JSON), 0, true },
	[AGENT_CONVERSATION_NOW - FIRST] = { BIT(JSON), 0, true },
	[AGENT_PAGE - FIRST] = { BIT(HANDLE) | BIT(PART), BIT(TEXT), true },
	[AGENT_LOOK - FIRST] = { BIT(TEXT), 0, true },
};

static bool is_known(uint16_t type)
{
	return type >= FIRST && type < FIRST + COUNT && shapes[type - FIRST].is_known;
}

const char *agent_stop_name(enum agent_stop stop)
{
	static const char *const names[AGENT_STOP_COUNT_] = {
		[AGENT_STOP_ANSWER] = "answer",	  [AGENT_STOP_STEPS] = "max_steps",
		[AGENT_STOP_TOKENS] = "max_tokens", [AGENT_STOP_BUDGET] = "budget",
		[AGENT_STOP_TIME] = "max_time",	  [AGENT_STOP_STUCK] = "stuck",
		[AGENT_STOP_LENGTH] = "length",	  [AGENT_STOP_REFUSED] = "refused",
		[AGENT_STOP_INTERRUPTED] = "interrupted", [AGENT_STOP_LOST] = "session_lost",
		[AGENT_STOP_FAILED] = "failed",	  [AGENT_STOP_CALLS] = "tool_calls",
	};

	return (unsigned)stop < AGENT_STOP_COUNT_ ? names[stop] : "failed";
}

bool agent_may_send(enum agent_state state, uint16_t type)
{
	switch (state) {
	case AGENT_STATE_STARTING:
		return type == AGENT_READY || type == AGENT_DONE;
	case AGENT_STATE_THINKING:
		return type > AGENT_READY && type != AGENT_MODELS && is_known(type);
	case AGENT_STATE_LISTING:
		return type == AGENT_MODELS || type == AGENT_DONE;
	case AGENT_STATE_IDLE:
	case AGENT_STATE_RUNNING:
		break;
	}
	return false;
}

/* A handle is one word; the text to find is part of one line. */
static int check_page(const struct kernel_item *items, size_t count, struct err *err)
{
	const struct kernel_item *handle = agent_find(items, count, AGENT_TAG_HANDLE);
	const struct kernel_item *needle = agent_find(items, count, AGENT_TAG_TEXT);
	struct agent_part part;

	memcpy(&part, agent_find(items, count, AGENT_TAG_PART)->data, sizeof(part));
	if (part.unit >= AGENT_UNIT_COUNT_)
		return err_set(err, ERR_PROTOCOL, "a part that is in no table");
	for (size_t i = 0; i < handle->len; i++)
		if (!isalnum((unsigned char)handle->data[i]) && handle->data[i] != '_')
			return err_set(err, ERR_PROTOCOL, "a handle that is not a word");
	if (needle != NULL && (needle->len == 0 || needle->len > AGENT_NEEDLE_MAX ||
			       memchr(needle->data, '\n', needle->len) != NULL ||
			       memchr(needle->data, '\0', needle->len) != NULL))
		return err_set(err, ERR_PROTOCOL, "a text to look for that is not a line");
	return 0;
}

/* A shell cell needs both the command and the call that it belongs to. */
static int check_command(const struct kernel_item *items, size_t count, struct err *err)
{
	const struct kernel_item *item = agent_find(items, count, AGENT_TAG_COMMAND);
	struct agent_command command;

	if ((item == NULL) != (agent_find(items, count, AGENT_TAG_ARGUMENTS) == NULL))
		return err_set(err, ERR_PROTOCOL, "a command without its call");
	if (item == NULL)
		return 0;
	memcpy(&command, item->data, sizeof(command));
	return command.count <= AGENT_COMMANDS_MAX && command.index < command.count
		       ? 0
		       : err_set(err, ERR_PROTOCOL, "a command that its call does not have");
}

/* Claims mark parts of the answer, and split no character. */
static int check_claims(const struct kernel_item *items, size_t count, struct err *err)
{
	const struct kernel_item *item = agent_find(items, count, AGENT_TAG_CHECKED);
	const struct kernel_item *answer = agent_find(items, count, AGENT_TAG_TEXT);
	const uint64_t len = answer != NULL ? answer->len : 0;
	struct agent_checked checked;

	if (item == NULL)
		return 0;
	memcpy(&checked, item->data, sizeof(checked));
	if (checked.listed > AGENT_CLAIMS_MAX ||
	    checked.numbers_unsupported > checked.numbers ||
	    checked.links_unsupported > checked.links || checked.numbers > AGENT_ANSWER_MAX ||
	    checked.links > AGENT_ANSWER_MAX)
		return err_set(err, ERR_PROTOCOL, "claims that do not add up");
	for (size_t i = 0; i < checked.listed; i++) {
		const struct agent_claim *claim = &checked.claims[i];

		if (claim->kind >= AGENT_CLAIM_COUNT_ || claim->len == 0 || claim->offset > len ||
		    claim->len > len - claim->offset ||
		    !utf8_is_valid(answer->data + claim->offset, claim->len))
			return err_set(err, ERR_PROTOCOL, "a claim that is not in the answer");
	}
	return 0;
}

int agent_check(uint16_t type, const struct kernel_item *items, size_t count, struct err *err)
{
	const struct shape *shape;
	uint64_t seen = 0;

	if (!is_known(type))
		return err_set(err, ERR_PROTOCOL, "frame %u is in no table", type);
	shape = &shapes[type - FIRST];
	for (size_t i = 0; i < count; i++) {
		const uint32_t tag = items[i].tag;

		if (tag >= ARRAY_LEN(bounds) || ((shape->must | shape->may) >> tag & 1u) == 0)
			return err_set(err, ERR_PROTOCOL, "frame %u with field %u", type, tag);
		if (items[i].len < bounds[tag].min || items[i].len > bounds[tag].max)
			return err_set(err, ERR_PROTOCOL, "field %u of %u bytes", tag,
				       items[i].len);
		if ((seen >> tag & 1u) != 0)
			return err_set(err, ERR_PROTOCOL, "field %u too often", tag);
		seen |= UINT64_C(1) << tag;
	}
	if ((seen & shape->must) != shape->must)
		return err_set(err, ERR_PROTOCOL, "frame %u lacks a field", type);
	if (type == AGENT_MODELS &&
	    agent_find(items, count, AGENT_TAG_TEXT)->len > AGENT_NAMES_BYTES)
		return err_set(err, ERR_PROTOCOL, "more names than are taken");
	if (type == AGENT_DONE &&
	    agent_u64(items, count, AGENT_TAG_STOP, AGENT_STOP_COUNT_) >= AGENT_STOP_COUNT_)
		return err_set(err, ERR_PROTOCOL, "an end that is in no table");
	if (type == AGENT_EXECUTE)
		return check_command(items, count, err);
	if (type == AGENT_DONE)
		return check_claims(items, count, err);
	if (type == AGENT_LOOK && agent_find(items, count, AGENT_TAG_TEXT)->len > AGENT_LOOKS_BYTES)
		return err_set(err, ERR_PROTOCOL, "more names than are looked for");
	return type == AGENT_PAGE ? check_page(items, count, err) : 0;
}

/* The member of `ret` for a field; NULL: not one of these. */
static const struct kernel_item **place_of(struct agent_past *ret, uint32_t tag)
{
	switch (tag) {
	case AGENT_TAG_TEXT:
		return &ret->text;
	case AGENT_TAG_CODE:
		return &ret->code;
	case AGENT_TAG_STATUS:
		return &ret->status;
	case AGENT_TAG_OUTPUT:
		return &ret->output;
	default:
		return NULL;
	}
}

static int take_past(const struct kernel_item *item, struct agent_past *ret, struct err *err)
{
	const struct kernel_item **place = place_of(ret, item->tag);
	const uint32_t max = item->tag == AGENT_TAG_CODE     ? AGENT_CODE_MAX
			     : item->tag == AGENT_TAG_STATUS ? AGENT_MESSAGE_MAX
			     : item->tag == AGENT_TAG_OUTPUT ? AGENT_RESULT_MAX
							     : AGENT_ANSWER_MAX;

	if (item->tag == AGENT_TAG_IMAGES && item->len == sizeof(ret->images)) {
		memcpy(&ret->images, item->data, sizeof(ret->images));
		return 0;
	}
	if (place == NULL || *place != NULL || item->len > max)
		return err_set(err, ERR_PROTOCOL, "a history with field %u", item->tag);
	*place = item;
	return 0;
}

int agent_next_past(const struct kernel_item *items, size_t count, size_t *at,
		    struct agent_past *ret, struct err *err)
{
	uint64_t kind = AGENT_PAST_COUNT_;
	bool is_cell;

	if (*at >= count)
		return 0;
	if (items[*at].tag == AGENT_TAG_PAST && items[*at].len == sizeof(kind))
		memcpy(&kind, items[*at].data, sizeof(kind));
	if (kind >= AGENT_PAST_COUNT_)
		return err_set(err, ERR_PROTOCOL, "a history without a beginning");
	*ret = (struct agent_past){ .kind = (enum agent_past_kind)kind };
	for ((*at)++; *at < count && items[*at].tag != AGENT_TAG_PAST; (*at)++)
		if (take_past(&items[*at], ret, err) < 0)
			return (int)err->code;
	is_cell = ret->kind == AGENT_PAST_CELL;
	if (ret->text == NULL || is_cell != (ret->code != NULL) ||
	    is_cell != (ret->status != NULL) || is_cell != (ret->output != NULL))
		return err_set(err, ERR_PROTOCOL,
			       "a history that lacks a field, or has one too many");
	return 1;
}

int agent_pack(struct buf *payload, enum agent_tag tag, const void *data, size_t len,
	       struct err *err)
{
	return kernel_pack(payload, (enum kernel_tag)tag, data, len, err);
}

int agent_pack_text(struct buf *payload, enum agent_tag tag, const char *text, struct err *err)
{
	return agent_pack(payload, tag, text, strlen(text), err);
}

int agent_pack_u64(struct buf *payload, enum agent_tag tag, uint64_t value, struct err *err)
{
	return agent_pack(payload, tag, &value, sizeof(value), err);
}

const struct kernel_item *agent_find(const struct kernel_item *items, size_t count,
				     enum agent_tag tag)
{
	return kernel_find(items, count, (enum kernel_tag)tag);
}

uint64_t agent_u64(const struct kernel_item *items, size_t count, enum agent_tag tag,
		   uint64_t otherwise)
{
	const struct kernel_item *item = agent_find(items, count, tag);
	uint64_t value;

	if (item == NULL || item->len != sizeof(value))
		return otherwise;
	memcpy(&value, item->data, sizeof(value));
	return value;
}

int agent_send(int sock, enum agent_type type, uint64_t id, const struct buf *payload,
	       struct err *err)
{
	return kernel_send(sock, (enum kernel_type)type, id, payload, NULL, 0, err);
}

int agent_recv(int sock, struct kernel_head *ret_head, struct buf *payload, struct err *err)
{
	size_t nfds;

	return kernel_recv(sock, ret_head, payload, NULL, 0, &nfds, err);
}

size_t agent_link_length(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len && strchr(" \t\r\n)]>\"'`|", text[at]) == NULL)
		at++;
	/* In "…/a.csv." the last "." ends the sentence. */
	while (at > 0 && strchr(".,;:!?*", text[at - 1]) != NULL)
		at--;
	return at;
}
