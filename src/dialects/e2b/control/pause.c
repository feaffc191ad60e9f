/*
 * pause.c - pauses sandboxes for clients, sets what happens at the time-out, and resumes them.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    bodies from clients.
 * Never:    drops a sandbox's memory unless the client says that its files are enough.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/e2b/e2b.h"

#define CONNECT_S 300

/* The value of `memory` or `autoPauseMemory`; true when absent. False: answered with an error. */
static bool take_memory(const struct e2b *e2b, const struct json_value *given, bool *ret)
{
	*ret = true;
	if (given == NULL || json_read_kind(given) == JSON_KIND_NULL || json_read_bool(given, ret))
		return true;
	e2b_refuse(e2b, 400, "memory is true or false");
	return false;
}

static bool is_object(const struct json_value *value)
{
	return value == NULL || json_read_kind(value) == JSON_KIND_NULL ||
	       json_read_kind(value) == JSON_KIND_OBJECT;
}

bool e2b_take_lifecycle(const struct e2b *e2b, const struct json_value *body,
			struct api_session_create_in *ret)
{
	const struct json_value *memory = json_read_member(body, "autoPauseMemory");
	const struct json_value *resume = json_read_member(body, "autoResume");
	const struct json_value *pause = json_read_member(body, "autoPause");
	bool pauses = false, resumes = false, keeps;

	if (!take_memory(e2b, memory, &keeps))
		return false;
	if (!is_object(resume) || (json_read_kind(pause) != JSON_KIND_NULL &&
				   !json_read_bool(pause, &pauses))) {
		e2b_refuse(e2b, 400, "autoPause is true or false, autoResume an object");
		return false;
	}
	(void)json_read_bool(json_read_member(resume, "enabled"), &resumes);
	if ((resumes || !keeps) && !pauses) {
		e2b_refuse(e2b, 400, "autoResume and autoPauseMemory are about autoPause");
		return false;
	}
	if (resumes && !keeps) {
		e2b_refuse(e2b, 400, "autoResume cannot be used together with autoPauseMemory");
		return false;
	}
	ret->on_timeout = !pauses ? API_SESSION_CREATE_IN_ON_TIMEOUT_END
			  : keeps ? API_SESSION_CREATE_IN_ON_TIMEOUT_PAUSE
				  : API_SESSION_CREATE_IN_ON_TIMEOUT_PAUSE_FILES;
	ret->has_auto_resume = true;
	ret->auto_resume = resumes;
	return true;
}

void e2b_pause(struct e2b *e2b)
{
	cleanup_json struct json_value *body = e2b_take_json(e2b);
	cleanup_call struct call call = CALL_INIT;
	bool keeps;

	if (body != NULL && take_memory(e2b, json_read_member(body, "memory"), &keeps) &&
	    call_or_refuse(e2b->request, API_SESSION_PAUSE,
			   &(struct api_session_pause_in){ .session = e2b_session_of(e2b),
							   .has_memory = true,
							   .memory = keeps },
			   NULL, &call) == 0)
		e2b_answer_empty(e2b, 204);
}

int e2b_end_in(const struct e2b *e2b, const char *id, uint64_t ms, struct api_session *ret,
	       struct call *call)
{
	if (ms < 1000)
		ms = 1000; /* the minimum of reckond */
	return call_or_refuse(e2b->request, API_SESSION_CHANGE,
			      &(struct api_session_change_in){ .session = id,
							       .has_expires_in_ms = true,
							       .expires_in_ms = ms,
							       .has_idle_timeout_ms = true,
							       .idle_timeout_ms = e2b_idle_ms(ms) },
			      ret, call);
}

/* Resumes the session, and sets its new end and idle time-out. */
static int go_on(const struct e2b *e2b, const char *id, uint64_t ms, bool keeps,
		 struct api_session *ret, struct call *call)
{
	const uint64_t in_ms = ms < 1000 ? 1000 : ms;

	if (call_or_refuse(e2b->request, API_SESSION_RESUME,
			   &(struct api_session_resume_in){ .session = id,
							    .has_memory = true,
							    .memory = keeps,
							    .has_expires_in_ms = true,
							    .expires_in_ms = in_ms },
			   ret, call) < 0)
		return -1;
	return e2b_end_in(e2b, id, ms, ret, call);
}

/* A running sandbox keeps running, and its end never becomes earlier. */
void e2b_connect(struct e2b *e2b)
{
	cleanup_json struct json_value *body = e2b_take_json(e2b);
	const struct json_value *given = json_read_member(body, "timeout");
	const bool is_resume = strcmp(e2b->part[2], "resume") == 0;
	cleanup_call struct call call = CALL_INIT;
	const char *id = e2b_session_of(e2b);
	uint64_t ms = CONNECT_S * 1000;
	struct api_session session;
	bool keeps, was_paused;

	if (body == NULL || !take_memory(e2b, json_read_member(body, "memory"), &keeps) ||
	    (json_read_kind(given) != JSON_KIND_NULL && !e2b_take_timeout(e2b, given, &ms)) ||
	    call_or_refuse(e2b->request, API_SESSION_SHOW,
			   &(struct api_session_show_in){ .session = id }, &session, &call) < 0)
		return;
	was_paused = session.has_paused_at_ms;
	if (!was_paused && is_resume) {
		e2b_refuse(e2b, 409, "the sandbox is running");
		return;
	}
	if (was_paused && go_on(e2b, id, ms, keeps, &session, &call) < 0)
		return;
	if (!was_paused && session.has_expires_at_ms &&
	    session.expires_at_ms < clock_wall_ms() + ms &&
	    e2b_end_in(e2b, id, ms, &session, &call) < 0)
		return;
	e2b_answer_sandbox(e2b, was_paused ? 201 : 200, &session);
}

bool e2b_is_awake(const struct e2b *e2b, const struct api_session *session)
{
	cleanup_call struct call call = CALL_INIT;

	if (!session->has_paused_at_ms)
		return true;
	if (session->auto_resume)
		return call_or_refuse(e2b->request, API_SESSION_RESUME,
				      &(struct api_session_resume_in){
					      .session = e2b->target.session },
				      NULL, &call) == 0;
	answer_refuse_simple(e2b->request, 409, E2B_PAUSED, "the sandbox is paused",
			     "Sandbox.connect() resumes it");
	return false;
}
