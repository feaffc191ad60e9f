/*
 * server.c - facts about the server (version, user, kernelspecs); answers and bodies for all files.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    heads and bodies of any client.
 * Never:    checks the media type of a body: clients send any.
 */
#include "dialects/jupyter/server.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "languages/languages.h"

static const struct language *language_of(const char *spec)
{
	const struct language *language = NULL;
	size_t i = 0;

	do
		language = language_at(i++);
	while (language != NULL && strcmp(language->kernelspec_name, spec) != 0);
	return language;
}

const char *server_language_of(const char *spec)
{
	const struct language *language =
		spec[0] != '\0' ? language_of(spec) : language_default();

	return language != NULL ? language->name : NULL;
}

const char *server_spec_of(const char *name)
{
	const struct language *language = language_find(name);

	return language != NULL ? language->kernelspec_name : name;
}

/* ---- answers -------------------------------------------------------------------------------- */

void server_answer(struct request *request, unsigned status, struct json_writer *json,
		   struct buf *body, const char *headers)
{
	struct err err;

	if (json_write_finish(json, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		answer_text(request, status, SERVER_JSON, body, headers);
}

void server_answer_nothing(struct request *request)
{
	if (answer_begin(request, 204, NULL, 0, NULL) == 0)
		answer_end(request);
}

/* Sends 403 instead of 401, as Jupyter Server does. */
void server_refuse(struct request *request, const struct refusal *refusal)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	const unsigned status = refusal->status == 401 ? 403 : refusal->status;
	struct json_writer json;
	struct err err;

	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "message",
				 refusal->message != NULL ? refusal->message : refusal->code);
	json_write_member_string(&json, "reason", refusal->remedy);
	json_write_object_end(&json);
	if (json_write_finish(&json, &err) < 0)
		answer_break_off(request);
	else
		answer_text(request, status, SERVER_JSON, &body, refusal->headers);
}

int server_take_nothing(struct request *request)
{
	cleanup_buf struct buf unused = BUF_INIT(SERVER_BODY_MAX);

	return call_check_key(request) < 0 ? -1 : request_body(request, SERVER_BODY_MAX, &unused);
}

int server_take_object(struct request *request, size_t max, struct json_value **ret)
{
	cleanup_buf struct buf body = BUF_INIT(max);
	cleanup_json struct json_value *parsed = NULL;
	struct err err = { 0 };

	*ret = NULL;
	if (call_check_key(request) < 0 || request_body(request, max, &body) < 0)
		return -1;
	if (body.len == 0)
		return 0;
	if (json_read_parse(body.data, body.len, max, &parsed, &err) < 0 ||
	    json_read_kind(parsed) != JSON_KIND_OBJECT) {
		answer_refuse_simple(request, 400, "invalid", "Invalid JSON in body of request",
				     parsed == NULL ? err.text : "send an object");
		return -1;
	}
	*ret = TAKE_PTR(parsed);
	return 0;
}

void server_write_moment(struct json_writer *json, const char *key, const char *moment)
{
	char text[40];
	const size_t len = strcspn(moment, ".Z");
	const char *digits = moment[len] == '.' ? moment + len + 1 : "";

	(void)snprintf(text, sizeof(text), "%.*s.%.*s%.*sZ", (int)len, moment,
		       (int)strspn(digits, "0123456789"), digits,
		       (int)(6 - strspn(digits, "0123456789") % 7), "000000");
	json_write_member_string(json, key, text);
}

/* ---- facts about the server ----------------------------------------------------------------- */

void server_show_version(struct request *request)
{
	cleanup_buf struct buf unused = BUF_INIT(SERVER_BODY_MAX), body = BUF_INIT(64);
	struct err err;

	if (request_body(request, SERVER_BODY_MAX, &unused) == 0 &&
	    buf_adds(&body, "{\"version\":\"2.21.1\"}", &err) == 0)
		answer_text(request, 200, SERVER_JSON, &body, NULL);
}

/* Grants whatever the client asks about: reckond checks the key with each request. */
static void write_permissions(struct request *request, struct json_writer *json)
{
	cleanup_buf struct buf compact = BUF_INIT(8192);
	const char *query = request_head(request)->query;
	enum json_kind kind = JSON_KIND_NULL;
	char name[64], value[4096];
	struct err err;

	json_write_key(json, "permissions");
	while (http_query_next(&query, name, sizeof(name), value, sizeof(value), &err) > 0)
		if (strcmp(name, "permissions") == 0 && compact.len == 0 &&
		    json_read_compact(value, strlen(value), sizeof(value), &compact, &kind, &err) ==
			    0 &&
		    kind == JSON_KIND_OBJECT) {
			json_write_raw(json, compact.data, compact.len);
			return;
		}
	json_write_raw(json, "{}", 2);
}

void server_show_me(struct request *request)
{
	static const char identity[] = "{\"username\":\"reckon\",\"name\":\"Reckon\","
				       "\"display_name\":\"Reckon\",\"initials\":\"R\","
				       "\"avatar_url\":null,\"color\":null}";
	cleanup_buf struct buf body = BUF_INIT(16384);
	struct json_writer json;

	if (server_take_nothing(request) < 0)
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_key(&json, "identity");
	json_write_raw(&json, identity, sizeof(identity) - 1);
	write_permissions(request, &json);
	json_write_object_end(&json);
	server_answer(request, 200, &json, &body, NULL);
}

static void write_spec(struct json_writer *json, const struct language *language)
{
	char display[128];

	(void)snprintf(display, sizeof(display), "%s (Reckon)", language->kernelspec_display_name);
	json_write_object_begin(json);
	json_write_member_string(json, "name", language->kernelspec_name);
	json_write_key(json, "spec");
	json_write_object_begin(json);
	json_write_key(json, "argv");
	json_write_array_begin(json);
	json_write_array_end(json);
	json_write_key(json, "env");
	json_write_object_begin(json);
	json_write_object_end(json);
	json_write_member_string(json, "display_name", display);
	json_write_member_string(json, "language", language->name);
	json_write_member_string(json, "interrupt_mode", "message");
	json_write_key(json, "metadata");
	json_write_object_begin(json);
	json_write_object_end(json);
	json_write_object_end(json);
	json_write_key(json, "resources");
	json_write_object_begin(json);
	json_write_object_end(json);
	json_write_object_end(json);
}

static void list_specs(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	struct json_writer json;

	if (server_take_nothing(request) < 0)
		return;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_member_string(&json, "default", language_default()->kernelspec_name);
	json_write_key(&json, "kernelspecs");
	json_write_object_begin(&json);
	for (size_t i = 0; language_at(i) != NULL; i++) {
		json_write_key(&json, language_at(i)->kernelspec_name);
		write_spec(&json, language_at(i));
	}
	json_write_object_end(&json);
	json_write_object_end(&json);
	server_answer(request, 200, &json, &body, NULL);
}

static void show_spec(struct request *request, const char *name)
{
	cleanup_buf struct buf body = BUF_INIT(16384);
	const struct language *language = language_of(name);
	struct json_writer json;

	if (server_take_nothing(request) < 0)
		return;
	if (language == NULL) {
		answer_refuse_simple(request, 404, "not_found", "no such kernelspec", NULL);
		return;
	}
	json_write_init(&json, &body);
	write_spec(&json, language);
	server_answer(request, 200, &json, &body, NULL);
}

void server_show_specs(struct request *request, const char *rest)
{
	if (rest[0] == '\0')
		list_specs(request);
	else
		show_spec(request, rest + 1);
}
