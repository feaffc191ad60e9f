/*
 * folders.c - the tool `session` with action `mount`: a model's request and a person's answer.
 *
 * Runs in:  reckon-client.
 * Reads:    calls of a model; answers of the user's client.
 * Never:    uses an answer twice, or for another folder than the person saw; assumes an answer;
 *           asks again for a declined folder, or for one outside the client's roots if it has
 *           roots.
 */
#include "cli/mcp/folders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/reveal.h"
#include "codec/json_get.h"
#include "codec/json_write.h"

#define REQUESTS_MAX 8u /* open requests */
#define REFUSED_MAX 64u
#define ROOTS_MAX 64u
#define ID_MAX 512
#define TEXT_MAX 16384
#define META "io.modelcontextprotocol/"
#define QUESTION "folder" /* key of the only question in a call */

enum stage { ASKS_ROOTS, ASKS_PERSON };

/* A call that waits for the person's answer. */
struct folder_request {
	struct folder_request *next;
	enum stage stage;
	bool is_modern;
	char id[ID_MAX];	/* of the call, as JSON */
	char state[ID_SIZE];	/* id of our question, or requestState of a modern client */
	char *path;		/* the path that the model wrote */
	struct buf line;	/* the whole call */
	struct folder folder;
};

struct folders {
	const struct folders_calls *calls;
	void *arg;
	bool can_ask, has_roots; /* of an older client */
	struct folder_request *requests; /* newest first */
	struct folder refused[REFUSED_MAX];
	size_t refused_count;
	struct grant_folder granted[GRANT_FOLDERS_MAX];
	size_t granted_count;
};

struct folders *folders_new(const struct folders_calls *calls, void *arg)
{
	struct folders *folders = mem_new0(1, sizeof(*folders));

	folders->calls = calls;
	folders->arg = arg;
	return folders;
}

static void request_free(struct folder_request *request)
{
	free(request->path);
	buf_done(&request->line);
	free(request);
}

static void forget(struct folders *folders, struct folder_request *request)
{
	struct folder_request **at = &folders->requests;

	while (*at != request)
		at = &(*at)->next;
	*at = request->next;
	request_free(request);
}

void folders_free(struct folders *folders)
{
	if (folders == NULL)
		return;
	while (folders->requests != NULL)
		forget(folders, folders->requests);
	for (size_t i = 0; i < folders->granted_count; i++)
		grant_folder_done(&folders->granted[i]);
	free(folders);
}

static bool text_is(const struct json_value *object, const char *name, const char *want)
{
	const char *text = json_get_c_text(object, name);

	return text != NULL && strcmp(text, want) == 0;
}

static bool take_id(const struct json_value *value, char ret[ID_MAX])
{
	cleanup_buf struct buf id = BUF_INIT(ID_MAX - 1);
	struct err ignored;

	if (value == NULL || json_read_dump(value, &id, &ignored) < 0)
		return false;
	(void)snprintf(ret, ID_MAX, "%s", buf_text(&id));
	return true;
}

/*
 * ---- messages to the client -------------------------------------------------------------------
 */

static void put(struct folders *folders, struct buf *line, struct json_writer *json)
{
	struct err ignored;

	if (json_write_finish(json, &ignored) == 0)
		folders->calls->put(folders->arg, buf_text(line), line->len);
}

static void begin_message(struct json_writer *json, struct buf *line, const char *id)
{
	json_write_init(json, line);
	json_write_object_begin(json);
	json_write_member_string(json, "jsonrpc", "2.0");
	json_write_key(json, "id");
	json_write_raw(json, id, strlen(id));
}

static void begin_result(struct json_writer *json, struct buf *line,
			 const struct folder_request *request, const char *type)
{
	begin_message(json, line, request->id);
	json_write_key(json, "result");
	json_write_object_begin(json);
	if (request->is_modern)
		json_write_member_string(json, "resultType", type);
}

/* Sends the call's result, which ends the call. */
static void answer(struct folders *folders, const struct folder_request *request, bool is_error,
		   const char *text)
{
	cleanup_buf struct buf line = BUF_INIT((size_t)8 * TEXT_MAX);
	struct json_writer json;

	begin_result(&json, &line, request, "complete");
	json_write_key(&json, "content");
	json_write_array_begin(&json);
	json_write_object_begin(&json);
	json_write_member_string(&json, "type", "text");
	json_write_member_string(&json, "text", text);
	json_write_object_end(&json);
	json_write_array_end(&json);
	if (!is_error) {
		json_write_key(&json, "structuredContent");
		json_write_object_begin(&json);
		json_write_object_end(&json);
	}
	json_write_member_bool(&json, "isError", is_error);
	json_write_object_end(&json);
	json_write_object_end(&json);
	put(folders, &line, &json);
}

static void fail(struct folders *folders, const struct folder_request *request, const char *what,
		 const char *remedy)
{
	cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
	struct err ignored;

	(void)buf_addf(&text, &ignored, "error: %s\n", what);
	if (remedy != NULL && remedy[0] != '\0')
		(void)buf_addf(&text, &ignored, "what to do: %s\n", remedy);
	answer(folders, request, true, buf_text(&text));
}

/* ---- the question ----------------------------------------------------------------------------- */

static void write_question(const struct folder_request *request, struct buf *ret)
{
	const struct folder *folder = &request->folder;
	struct err ignored;

	(void)buf_addf(ret, &ignored, "%s the folder\n\n%s\n\nof this computer?\n\n",
		       folder->writable ? "Let code read AND CHANGE" : "Let code read", folder->real);
	if (strcmp(request->path, folder->real) != 0) {
		(void)buf_adds(ret, "(Asked for as ", &ignored);
		(void)reveal_line(request->path, strlen(request->path), false, ret, &ignored);
		(void)buf_adds(ret, ")\n\n", &ignored);
	}
	(void)buf_addf(ret, &ignored,
		       "The code is the model's, and what it reads goes to the model. It sees all "
		       "that is in the folder%s, until this client ends.",
		       folder->writable ? ", and can delete it" : "");
}

static void write_person(struct json_writer *json, const struct folder_request *request)
{
	static const char schema[] = "{\"type\":\"object\",\"properties\":{}}";
	cleanup_buf struct buf question = BUF_INIT((size_t)8 * TEXT_MAX);

	write_question(request, &question);
	json_write_key(json, "params");
	json_write_object_begin(json);
	json_write_member_string(json, "mode", "form");
	json_write_member_text(json, "message", buf_text(&question), question.len);
	json_write_key(json, "requestedSchema");
	json_write_raw(json, schema, sizeof(schema) - 1);
	json_write_object_end(json);
}

static void write_method(struct json_writer *json, const struct folder_request *request)
{
	json_write_member_string(json, "method", request->stage == ASKS_ROOTS
							 ? "roots/list"
							 : "elicitation/create");
	if (request->stage == ASKS_PERSON)
		write_person(json, request);
}

/* Each question has its own id, so that an answer is used only once. */
static void ask(struct folders *folders, struct folder_request *request)
{
	cleanup_buf struct buf line = BUF_INIT((size_t)16 * TEXT_MAX);
	struct json_writer json;
	char id[ID_SIZE + 2];
	struct err err;

	if (id_new(request->state, "fo", &err) < 0) {
		fail(folders, request, err.text, NULL);
		forget(folders, request);
		return;
	}
	if (request->is_modern) {
		begin_result(&json, &line, request, "input_required");
		json_write_key(&json, "inputRequests");
		json_write_object_begin(&json);
		json_write_key(&json, QUESTION);
		json_write_object_begin(&json);
		write_method(&json, request);
		json_write_object_end(&json);
		json_write_object_end(&json);
		json_write_member_string(&json, "requestState", request->state);
		json_write_object_end(&json);
	} else {
		(void)snprintf(id, sizeof(id), "\"%s\"", request->state);
		begin_message(&json, &line, id);
		write_method(&json, request);
	}
	json_write_object_end(&json);
	put(folders, &line, &json);
}

/* ---- the answer ------------------------------------------------------------------------------- */

/* Declining a folder also declines its parents; declining reading also declines writing. */
static bool was_refused(const struct folders *folders, const struct folder *folder)
{
	for (size_t i = 0; i < folders->refused_count; i++)
		if ((folder->writable || !folders->refused[i].writable) &&
		    folder_is_within(folders->refused[i].real, folder->real))
			return true;
	return false;
}

static const struct grant_folder *find_granted(const struct folders *folders,
					       const struct folder *folder)
{
	for (size_t i = 0; i < folders->granted_count; i++)
		if (strcmp(folders->granted[i].source, folder->real) == 0 &&
		    folders->granted[i].writable >= folder->writable)
			return &folders->granted[i];
	return NULL;
}

static void answer_granted(struct folders *folders, const struct folder_request *request,
			   const struct grant_folder *granted)
{
	cleanup_buf struct buf text = BUF_INIT(TEXT_MAX);
	struct err ignored;

	(void)buf_addf(&text, &ignored,
		       "[%s is the host's folder %s, as before, in sessions that were opened since "
		       "it was granted]\n",
		       granted->target, granted->source);
	answer(folders, request, false, buf_text(&text));
}

static void grant(struct folders *folders, struct folder_request *request)
{
	struct grant_folder granted;
	struct err err;

	if (folders->granted_count == GRANT_FOLDERS_MAX) {
		fail(folders, request, "no more folders can be granted until this client ends", NULL);
	} else if (folders->calls->grant(folders->arg, &request->folder, &granted, &err) < 0) {
		fail(folders, request, err.text, err.remedy);
	} else {
		folders->granted[folders->granted_count++] = granted;
		folders->calls->forward(folders->arg, buf_text(&request->line), request->line.len);
	}
	forget(folders, request);
}

static void take_person(struct folders *folders, struct folder_request *request,
			const struct json_value *result)
{
	if (text_is(result, "action", "accept")) {
		grant(folders, request);
		return;
	}
	if (text_is(result, "action", "decline")) {
		if (folders->refused_count < REFUSED_MAX)
			folders->refused[folders->refused_count++] = request->folder;
		fail(folders, request, "the user declined: the folder was not added",
		     "do not ask for it again; go on without it");
	} else {
		fail(folders, request, "the user did not answer: the folder was not added",
		     "say what it is needed for, and ask again when they agree");
	}
	forget(folders, request);
}

static void take_roots(struct folders *folders, struct folder_request *request,
		       const struct json_value *result)
{
	const struct json_value *roots = json_read_member(result, "roots");
	const size_t count = json_read_count(roots);
	bool is_within = false;
	char root[PATH_MAX];

	for (size_t i = 0; i < count && i < ROOTS_MAX; i++) {
		const char *uri = json_get_c_text(json_read_at(roots, i), "uri");

		is_within |= uri != NULL && folder_of_uri(uri, root) &&
			     folder_is_within(request->folder.real, root);
	}
	if (is_within) {
		request->stage = ASKS_PERSON;
		ask(folders, request);
		return;
	}
	fail(folders, request, "the folder is outside of what this client works on (its roots)",
	     "ask for a folder in them, or ask the user to add this one to them");
	forget(folders, request);
}

static void take_answer(struct folders *folders, struct folder_request *request,
			const struct json_value *result)
{
	if (request->stage == ASKS_ROOTS)
		take_roots(folders, request, result);
	else
		take_person(folders, request, result);
}

static struct folder_request *find_state(struct folders *folders, const char *state, bool is_modern)
{
	for (struct folder_request *at = folders->requests; at != NULL; at = at->next)
		if (at->is_modern == is_modern && state != NULL && strcmp(at->state, state) == 0)
			return at;
	return NULL;
}

/* ---- the call --------------------------------------------------------------------------------- */

/* A client that lists kinds of elicitation must list forms. */
static bool has_forms(const struct json_value *capabilities)
{
	const struct json_value *elicits = json_read_member(capabilities, "elicitation");

	return json_get_has_object(capabilities, "elicitation") &&
	       (json_get_has_object(elicits, "form") || json_read_member(elicits, "url") == NULL);
}

/*
 * Makes room for one more request by dropping the oldest of a modern client, which may never repeat
 * it.
 */
static bool make_room(struct folders *folders)
{
	struct folder_request *oldest = NULL;
	size_t count = 0;

	for (struct folder_request *at = folders->requests; at != NULL; at = at->next) {
		count++;
		if (at->is_modern)
			oldest = at;
	}
	if (count < REQUESTS_MAX)
		return true;
	if (oldest != NULL)
		forget(folders, oldest);
	return oldest != NULL;
}

/* Handles a repeated call that has the answer to its question. */
static bool take_again(struct folders *folders, const struct folder_request *now,
		       const struct json_value *params)
{
	const struct json_value *result =
		json_read_member(json_read_member(params, "inputResponses"), QUESTION);
	struct folder_request *before =
		find_state(folders, json_get_c_text(params, "requestState"), true);

	if (!now->is_modern || before == NULL || result == NULL ||
	    strcmp(before->path, now->path) != 0 || before->folder.writable != now->folder.writable)
		return false;
	(void)snprintf(before->id, sizeof(before->id), "%s", now->id);
	buf_done(&before->line);
	before->line = now->line;
	take_answer(folders, before, result);
	return true;
}

/* NULL: the call was answered; else the request about which to ask. */
static struct folder_request *check(struct folders *folders, struct folder_request *request,
				    const struct json_value *params, bool can_ask)
{
	const struct grant_folder *granted;
	struct err err;

	if (!can_ask) {
		fail(folders, request, "this client cannot ask its user for a folder",
		     "the user can add one with `reckon mcp --mount`");
	} else if (request->path == NULL) {
		fail(folders, request, "the argument path is missing",
		     "pass the path of a folder of the user's computer");
	} else if (take_again(folders, request, params)) {
		request->line = (struct buf){ 0 };
	} else if (folder_check(request->path, request->folder.writable, &request->folder, &err) <
		   0) {
		fail(folders, request, err.text, err.remedy);
	} else if ((granted = find_granted(folders, &request->folder)) != NULL) {
		answer_granted(folders, request, granted);
	} else if (was_refused(folders, &request->folder)) {
		fail(folders, request, "the user declined this folder and is not asked again",
		     "go on without it");
	} else if (!make_room(folders)) {
		fail(folders, request, "too many questions wait for the user", NULL);
	} else {
		return request;
	}
	request_free(request);
	return NULL;
}

static void take_call(struct folders *folders, const struct json_value *document, const char *line,
		      size_t len)
{
	const struct json_value *params = json_read_member(document, "params");
	const struct json_value *args = json_read_member(params, "arguments");
	const struct json_value *meta = json_read_member(params, "_meta");
	const struct json_value *can = json_read_member(meta, META "clientCapabilities");
	const bool is_modern = json_get_c_text(meta, META "protocolVersion") != NULL;
	const char *path = json_get_c_text(args, "path");
	struct folder_request *request = mem_new0(1, sizeof(*request));
	struct err err;

	request->is_modern = is_modern;
	request->line = BUF_INIT(len + 1);
	(void)json_read_bool(json_read_member(args, "write"), &request->folder.writable);
	(void)take_id(json_read_member(document, "id"), request->id);
	request->path = path != NULL && strlen(path) < PATH_MAX ? mem_strdup(path) : NULL;
	if (buf_add(&request->line, line, len, &err) < 0) {
		fail(folders, request, err.text, NULL);
		request_free(request);
		return;
	}
	request = check(folders, request, params, is_modern ? has_forms(can) : folders->can_ask);
	if (request == NULL)
		return;
	request->stage = (is_modern ? json_get_has_object(can, "roots") : folders->has_roots)
				 ? ASKS_ROOTS
				 : ASKS_PERSON;
	request->next = folders->requests;
	folders->requests = request;
	ask(folders, request);
}

static bool is_mount(const struct json_value *document)
{
	const struct json_value *params = json_read_member(document, "params");

	return text_is(document, "method", "tools/call") && text_is(params, "name", "session") &&
	       text_is(json_read_member(params, "arguments"), "action", "mount");
}

/* The client cancelled a waiting call, which gets no answer. */
static bool cancel(struct folders *folders, const struct json_value *document)
{
	char id[ID_MAX];

	if (!take_id(json_read_member(json_read_member(document, "params"), "requestId"), id))
		return false;
	for (struct folder_request *at = folders->requests; at != NULL; at = at->next)
		if (!at->is_modern && strcmp(at->id, id) == 0) {
			forget(folders, at);
			return true;
		}
	return false;
}

bool folders_take(struct folders *folders, const struct json_value *document, const char *line,
		  size_t len)
{
	const char *method = json_get_c_text(document, "method"),
		   *id = json_get_c_text(document, "id");
	const struct json_value *can =
		json_read_member(json_read_member(document, "params"), "capabilities");
	struct folder_request *request;
	char checked[ID_MAX];

	if (method == NULL) {
		if (id == NULL || strncmp(id, "fo_", 3) != 0)
			return false;
		request = find_state(folders, id, false);
		if (request != NULL)
			take_answer(folders, request, json_read_member(document, "result"));
		return true;
	}
	if (strcmp(method, "initialize") == 0) {
		folders->can_ask = has_forms(can);
		folders->has_roots = json_get_has_object(can, "roots");
	} else if (strcmp(method, "notifications/cancelled") == 0) {
		return cancel(folders, document);
	} else if (is_mount(document) && take_id(json_read_member(document, "id"), checked)) {
		take_call(folders, document, line, len);
		return true;
	}
	return false;
}
