/*
 * fixtures_ask.c - fixtures that want something of the client: asked while a call waits (legacy), or
 * said in its result, with a state that comes back with the answers (modern).
 *
 * Runs in:  reckon-front-mcp, with RECKON_MCP_CONFORMANCE=1.
 * Reads:    messages of the conformance suite.
 * Never:    takes a state that this process did not give out.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/mcp/fixtures.h"

#define TEXT_MAX ((size_t)64 * 1024)
#define STATE_SIZE (ID_SIZE + 16)

/* ---- legacy ----------------------------------------------------------------------------------- */

static const char *text_of(const struct json_value *value)
{
	const char *text = json_read_text(value, NULL);

	return text != NULL ? text : "";
}

/* The params of the question, with the argument of the tool in the place of %s. */
static int fill_params(const struct json_value *ask, const struct json_value *args, struct buf *ret)
{
	cleanup_buf struct buf raw = BUF_INIT(TEXT_MAX), word = BUF_INIT(TEXT_MAX);
	const struct json_value *value;
	const char *key, *place;
	struct err err;

	if (json_read_dump(json_read_member(ask, "params"), &raw, &err) < 0)
		return -1;
	place = strstr(buf_text(&raw), "%s");
	if (place == NULL || !json_read_member_at(args, 0, &key, &value) ||
	    json_read_kind(value) != JSON_KIND_STRING || json_read_dump(value, &word, &err) < 0)
		return buf_add(ret, raw.data, raw.len, &err);
	if (buf_add(ret, raw.data, (size_t)(place - raw.data), &err) < 0 ||
	    buf_add(ret, word.data + 1, word.len - 2, &err) < 0)
		return -1;
	return buf_adds(ret, place + 2, &err);
}

static void say_answer(struct mcp *mcp, const struct json_value *ask,
		       const struct json_value *result)
{
	cleanup_buf struct buf text = BUF_INIT(TEXT_MAX), content = BUF_INIT(TEXT_MAX);
	const struct json_value *part = json_read_member(result, "content");
	const char *begin = rpc_text(ask, "result", 64);
	struct err ignored;

	(void)buf_adds(&text, begin != NULL ? begin : "", &ignored);
	if (json_read_member(part, "text") != NULL)
		(void)buf_adds(&text, text_of(json_read_member(part, "text")), &ignored);
	else if (json_read_dump(part, &content, &ignored) == 0)
		(void)buf_addf(&text, &ignored, "action=%s, content=%s",
			       text_of(json_read_member(result, "action")), buf_text(&content));
	fixture_say(mcp, buf_text(&text));
}

void fixture_ask(struct mcp *mcp, const struct json_value *ask, const struct json_value *args)
{
	cleanup_buf struct buf params = BUF_INIT(TEXT_MAX), answer = BUF_INIT(TEXT_MAX);
	struct json_value *result = NULL;
	const char *method = rpc_text(ask, "method", 64);
	struct err err;
	int code;

	if (method == NULL || fill_params(ask, args, &params) < 0)
		return;
	code = mcp_ask(mcp, method, buf_text(&params), &answer);
	if (code < 0)
		return;
	if (code > 0 &&
	    json_read_parse(buf_text(&answer), answer.len, TEXT_MAX, &result, &err) == 0)
		say_answer(mcp, ask, result);
	else
		fixture_say(mcp, "the client did not answer");
	json_read_free(result);
}

/* ---- modern ----------------------------------------------------------------------------------- */

/* "ROUND.RANDOM": what nobody can make who did not get it from this process. */
static void state_of(size_t round, char ret[STATE_SIZE])
{
	static char secret[ID_SIZE];
	struct err ignored;

	if (secret[0] == '\0')
		(void)id_new(secret, "st", &ignored);
	(void)snprintf(ret, STATE_SIZE, "%zu.%s", round, secret);
}

static bool may_ask(const struct mcp *mcp, const struct json_value *request)
{
	const char *method = rpc_text(request, "method", 64);

	if (method == NULL)
		return false;
	return (strcmp(method, "elicitation/create") == 0 &&
		(mcp->capabilities & RPC_CAN_ELICIT) != 0) ||
	       (strcmp(method, "sampling/createMessage") == 0 &&
		(mcp->capabilities & RPC_CAN_SAMPLE) != 0) ||
	       (strcmp(method, "roots/list") == 0 && (mcp->capabilities & RPC_CAN_LIST_ROOTS) != 0);
}

/* Whether all that a round asks for is there, as objects. */
static bool has_answers(const struct mcp *mcp, const struct json_value *round)
{
	const struct json_value *answers = json_read_member(mcp->rpc.params, "inputResponses");
	const struct json_value *request;
	const char *key;

	for (size_t i = 0; json_read_member_at(round, i, &key, &request); i++)
		if (may_ask(mcp, request) &&
		    json_read_kind(json_read_member(answers, key)) != JSON_KIND_OBJECT)
			return false;
	return true;
}

static void require_input(struct mcp *mcp, const struct json_value *round, const char *state)
{
	cleanup_buf struct buf out = BUF_INIT(TEXT_MAX);
	const struct json_value *request;
	struct json_writer json;
	const char *key;

	mcp_result_begin_as(mcp, "input_required", &out, &json);
	json_write_key(&json, "inputRequests");
	json_write_object_begin(&json);
	for (size_t i = 0; json_read_member_at(round, i, &key, &request); i++) {
		if (!may_ask(mcp, request))
			continue;
		json_write_key(&json, key);
		fixture_write(&json, request);
	}
	json_write_object_end(&json);
	if (state != NULL)
		json_write_member_string(&json, "requestState", state);
	mcp_result_end(mcp, &out, &json);
}

static void complete(struct mcp *mcp, const struct json_value *input, bool is_prompt)
{
	static const char message[] = "[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":"
				      "\"A prompt with the context that was given.\"}}]";
	cleanup_buf struct buf out = BUF_INIT(TEXT_MAX);
	const struct json_value *answers = json_read_member(mcp->rpc.params, "inputResponses");
	const struct json_value *name = json_read_member(
		json_read_member(json_read_member(answers, "user_name"), "content"), "name");
	const char *result = rpc_text(input, "result", 64);
	struct json_writer json;
	char text[256];

	if (is_prompt) {
		mcp_result_begin(mcp, &out, &json);
		json_write_key(&json, "messages");
		json_write_raw(&json, message, sizeof(message) - 1);
		mcp_result_end(mcp, &out, &json);
		return;
	}
	if (result == NULL || strstr(result, "%s") == NULL)
		(void)snprintf(text, sizeof(text), "%s", result != NULL ? result : "");
	else
		(void)snprintf(text, sizeof(text), "Hello, %.100s!", text_of(name));
	fixture_say(mcp, text);
}

void fixture_input(struct mcp *mcp, const struct json_value *input, bool is_prompt)
{
	const struct json_value *rounds = json_read_member(input, "rounds");
	const char *given = rpc_text(mcp->rpc.params, "requestState", 128);
	const bool has_state = json_read_member(input, "state") != NULL;
	const size_t count = json_read_count(rounds);
	size_t round = 0;
	char state[STATE_SIZE];

	if (has_state && json_read_member(mcp->rpc.params, "requestState") != NULL) {
		for (round = 0; round < count; round++) {
			state_of(round, state);
			if (given != NULL && strcmp(state, given) == 0)
				break;
		}
		if (round == count) {
			mcp_error(mcp, RPC_INVALID_PARAMS, "requestState is none of this server's",
				  NULL);
			return;
		}
	}
	if (json_read_kind(json_read_member(mcp->rpc.params, "inputResponses")) ==
		    JSON_KIND_OBJECT &&
	    has_answers(mcp, json_read_at(rounds, round)))
		round++;
	if (round == count) {
		complete(mcp, input, is_prompt);
		return;
	}
	state_of(round, state);
	require_input(mcp, json_read_at(rounds, round), has_state ? state : NULL);
}
