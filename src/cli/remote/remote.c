/*
 * remote.c - functions shared by commands that send requests to a daemon.
 *
 * Runs in:  reckon-client.
 * Reads:    the command line; answers of a server.
 * Never:    prints text of a server to a terminal unescaped.
 */
#include "cli/remote/remote.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/options/parse.h"
#include "cli/term/term.h"
#include "codec/json_get.h"

#define WAIT_S 60u /* sum of all waits of one command */

bool remote_take(struct remote *remote, int id, const char *value)
{
	switch (id) {
	case REMOTE_OPT_URL:
		remote->where.url = value;
		return true;
	case REMOTE_OPT_KEY:
		remote->where.key = value;
		return true;
	case REMOTE_OPT_JSON:
		remote->json = true;
		return true;
	case REMOTE_OPT_NO_WAIT:
		remote->no_wait = true;
		return true;
	case 's':
		remote->session = value;
		return true;
	case OPT_OPERAND:
		if (remote->name != NULL)
			return false;
		remote->name = value;
		return true;
	default:
		return false;
	}
}

int remote_unexpected(const char *value, struct err *err)
{
	return err_set(err, ERR_INVALID, "unexpected argument '%.100s'", value);
}

int remote_take_all(int id, const char *value, void *arg, struct err *err)
{
	return remote_take(arg, id, value) ? 0 : remote_unexpected(value, err);
}

int remote_parse(const struct opt_command *self, int argc, char **argv, opt_fn *fn, void *arg)
{
	struct err err;
	const int rc = opt_parse(self, argc, argv, fn, arg, &err);

	return cli_settle(self, rc, &err);
}

/* Prints the message only for the first wait. */
static void say_wait(unsigned seconds, const char *why, void *arg)
{
	static bool is_reported;
	struct err notice;

	(void)arg;
	if (is_reported)
		return;
	is_reported = true;
	(void)err_set(&notice, ERR_LIMIT, "%s", why);
	(void)err_remedy(&notice, "asked again in %u s, for %u s at most; --no-wait: not at all",
			 seconds, WAIT_S);
	(void)cli_complain(&notice);
}

static void say_note(const char *text, const char *remedy, void *arg)
{
	struct err notice;

	(void)arg;
	(void)err_set(&notice, ERR_UNAVAILABLE, "%s", text);
	if (remedy[0] != '\0')
		(void)err_remedy(&notice, "%s", remedy);
	(void)cli_complain(&notice);
}

int remote_open(const struct remote *remote, struct client **ret, struct err *err)
{
	struct client_options where = remote->where;

	where.wait_s = remote->no_wait ? 0 : WAIT_S;
	where.on_wait = say_wait;
	where.on_note = say_note;
	if (client_open(&where, ret, err) < 0)
		return (int)err->code;
	if (client_is_exposed(*ret))
		(void)fprintf(stderr, "reckon: the key and all data travel to %s unencrypted\n",
			      client_name(*ret));
	return 0;
}

int remote_read_event(const struct client *client, reckon_event *event,
		      struct json_value **ret_document, struct err *err)
{
	struct json_value *document;

	if (json_read_parse(event->json, event->json_len, CLIENT_JSON_MAX, &document, err) < 0) {
		err->code = ERR_PROTOCOL;
		return err_wrap(err, "%s sent an event that is not JSON", client_name(client));
	}
	if (strcmp(event->name, "stream") == 0) {
		event->text = json_read_text(json_read_member(document, "text"), &event->text_len);
		event->stream = strcmp(json_get_str(document, "name"), "stderr") == 0 ? 2 : 1;
	}
	*ret_document = document;
	return 0;
}

const char *remote_session_status(const struct json_value *session)
{
	const char *status = json_get_str(session, "status");
	int64_t pending = 0;

	if (strcmp(status, "live") != 0)
		return status;
	(void)json_read_int(json_read_member(session, "pending"), &pending);
	if (json_get_str(session, "paused_at")[0] != '\0')
		return "paused";
	if (strcmp(json_get_str(session, "kernel"), "lost") == 0)
		return "no kernel";
	return pending > 0 ? "busy" : status;
}

int remote_print_json(const struct json_value *value)
{
	cleanup_buf struct buf text = BUF_INIT(CLIENT_JSON_MAX);
	struct err err;

	if (json_read_dump(value, &text, &err) < 0 || buf_addc(&text, '\n', &err) < 0)
		return cli_complain(&err);
	return cli_write_stdout(buf_text(&text), text.len);
}

int remote_path(struct buf *path, const struct json_value *session, const char *rest,
		struct err *err)
{
	buf_clear(path);
	if (buf_adds(path, "sessions/", err) < 0 ||
	    client_path_add(path, json_get_str(session, "id"), false, err) < 0)
		return (int)err->code;
	return buf_adds(path, rest, err);
}

static int gone(const struct json_value *session, const char *name, struct err *err)
{
	const char *why = json_get_str(session, "why");

	(void)err_set(err, ERR_LOST, "session %.64s is %.20s%s%.160s", name,
		      json_get_str(session, "status"), why[0] != '\0' ? ": " : "", why);
	return err_remedy(err, "its variables and files are gone; reckon run -s NAME makes a new "
			       "one");
}

/*
 * Finds the newest session with this name. A live one is always the newest, because a name can only
 * be reused after its session ended.
 */
static int by_name(struct client *client, const char *name, struct json_value **ret,
		   struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024), one = BUF_INIT(CLIENT_JSON_MAX);
	struct json_value *page;
	const struct json_value *newest;
	int code;

	if (buf_adds(&path, "sessions?limit=1&name=", err) < 0 ||
	    client_path_add(&path, name, false, err) < 0 ||
	    client_call(client, "GET", buf_text(&path), NULL, &page, err) < 0)
		return (int)err->code;
	newest = json_read_at(json_read_member(page, "sessions"), 0);
	if (newest == NULL) {
		code = err_set(err, ERR_NOT_FOUND, "there is no session named %s at %s", name,
			       client_name(client));
		(void)err_remedy(err, "reckon session ls shows what there is");
	} else {
		code = json_read_dump(newest, &one, err);
		if (code == 0)
			code = json_read_parse(buf_text(&one), one.len, CLIENT_JSON_MAX, ret, err);
	}
	json_read_free(page);
	return code;
}

static int by_id(struct client *client, const char *id, struct json_value **ret, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);

	if (buf_adds(&path, "sessions/", err) < 0 || client_path_add(&path, id, false, err) < 0)
		return (int)err->code;
	return client_call(client, "GET", buf_text(&path), NULL, ret, err);
}

int remote_session_any(struct client *client, const char *name, struct json_value **ret,
		       struct err *err)
{
	return strncmp(name, "se_", 3) == 0 ? by_id(client, name, ret, err)
					    : by_name(client, name, ret, err);
}

int remote_session(struct client *client, const char *name, struct json_value **ret,
		   struct err *err)
{
	struct json_value *session;
	int code;

	if (remote_session_any(client, name, &session, err) < 0)
		return (int)err->code;
	if (strcmp(json_get_str(session, "status"), "live") == 0) {
		*ret = session;
		return 0;
	}
	code = gone(session, name, err);
	json_read_free(session);
	return code;
}

int remote_chosen(struct client *client, const struct remote *remote, bool live,
		  struct json_value **ret, struct err *err)
{
	cleanup_buf struct buf id = BUF_INIT(128);
	struct json_value *page;
	const struct json_value *sessions;
	size_t found = 0;
	int code = 0;

	if (remote->session != NULL && parse_session(remote->session, err) < 0)
		return (int)err->code;
	if (remote->session != NULL)
		return (live ? remote_session : remote_session_any)(client, remote->session, ret,
								    err);
	if (client_call(client, "GET", "sessions?limit=500", NULL, &page, err) < 0)
		return (int)err->code;
	sessions = json_read_member(page, "sessions");
	for (size_t i = 0, n = json_read_count(sessions); i < n && code == 0; i++)
		if (strcmp(json_get_str(json_read_at(sessions, i), "status"), "live") == 0 &&
		    found++ == 0)
			code = buf_adds(&id, json_get_str(json_read_at(sessions, i), "id"), err);
	json_read_free(page);
	if (code == 0 && found == 1)
		return remote_session(client, buf_text(&id), ret, err);
	if (code == 0) {
		code = found == 0 ? err_set(err, ERR_NOT_FOUND, "there is no session")
				  : err_set(err, ERR_INVALID, "there are %zu sessions", found);
		(void)err_remedy(err, "name one with -s; reckon session ls shows what there is");
	}
	return code;
}
