/*
 * network.c - network rules of a sandbox. No sandbox has a network, so only rules that deny are
 * accepted.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    a body from a client.
 * Never:    accepts a rule that allows something.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/e2b.h"

static bool is_absent(const struct json_value *value)
{
	return value == NULL || json_read_kind(value) == JSON_KIND_NULL;
}

static bool is_list_of_texts(const struct json_value *value)
{
	if (is_absent(value))
		return true;
	if (json_read_kind(value) != JSON_KIND_ARRAY)
		return false;
	for (size_t i = 0; i < json_read_count(value); i++)
		if (json_read_text(json_read_at(value, i), NULL) == NULL)
			return false;
	return true;
}

static bool is_object(const struct json_value *value)
{
	return is_absent(value) || json_read_kind(value) == JSON_KIND_OBJECT;
}

/* Why the rules cannot be accepted; NULL: they can. */
static const char *refusal(const struct json_value *body)
{
	const struct json_value *all = json_read_member(body, "allow_internet_access");
	const struct json_value *allowed = json_read_member(body, "allowOut");
	const struct json_value *rules = json_read_member(body, "rules");
	const struct json_value *proxy = json_read_member(body, "egressProxy");
	bool is_allowed = false;

	if (!is_list_of_texts(allowed) || !is_list_of_texts(json_read_member(body, "denyOut")))
		return "allowOut and denyOut are lists of texts";
	if (!is_object(rules) || !is_object(proxy))
		return "rules and egressProxy are objects";
	if (!is_absent(all) && !json_read_bool(all, &is_allowed))
		return "allow_internet_access is true or false";
	if (is_allowed || json_read_count(allowed) > 0 || json_read_count(rules) > 0 ||
	    !is_absent(proxy))
		return "sandboxes of this server have no network: nothing can be allowed, "
		       "denyOut and allow_internet_access=false always hold";
	return NULL;
}

void e2b_network(struct e2b *e2b)
{
	cleanup_json struct json_value *body = e2b_take_json(e2b);
	cleanup_call struct call call = CALL_INIT;
	struct api_session session;
	const char *why;

	if (body == NULL ||
	    call_or_refuse(e2b->request, API_SESSION_SHOW,
			   &(struct api_session_show_in){ .session = e2b_session_of(e2b) },
			   &session, &call) < 0)
		return;
	why = refusal(body);
	if (why != NULL)
		e2b_refuse(e2b, 400, why);
	else if (e2b_is_awake(e2b, &session))
		e2b_answer_empty(e2b, 204);
}
