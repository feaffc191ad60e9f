/*
 * login.c - log in with a password, which is a key, and the cookie that then stands in for the key.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    forms, cookies and queries of any client.
 * Never:    redirects to a path outside of /jupyter, lets a page of another origin use the cookie,
 *           or puts a key into it: browsers send cookies to every port of a host, and one of them
 *           may lead into a box.
 *
 * Clients (Open WebUI, VS Code) expect Jupyter Server's order: GET /login sets the cookie _xsrf,
 * POST /login answers 302 and sets the session's cookie first. The header Origin guards against
 * foreign pages; _xsrf is only set because clients read it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/jupyter/server.h"

#define ROOT "/jupyter"
#define COOKIE "reckon-jupyter"
#define COOKIE_NAME_SIZE 32u
#define KEY_SIZE 129u
#define LOGIN_ID_SIZE 33u
#define LOGINS_MAX 256u
#define LOGIN_IDLE_NS ((uint64_t)24 * 3600 * 1000000000)
#define PATH_SIZE 512u
#define PAGE_SIZE 8192u

static struct login {
	char id[LOGIN_ID_SIZE]; /* "": unused */
	char key[KEY_SIZE];
	uint64_t used_ns;
} logins[LOGINS_MAX];

/* Includes the port in the name, because all daemons of a host share its cookies. */
static void cookie_name(const struct http *http, char ret[COOKIE_NAME_SIZE])
{
	const char *host = http_header(http, "host");
	const char *port = host != NULL ? strrchr(host, ':') : NULL;
	const bool has_port = port != NULL && strspn(port + 1, "0123456789") == strlen(port + 1);

	(void)snprintf(ret, COOKIE_NAME_SIZE, COOKIE "%s%.5s", has_port ? "-" : "",
		       has_port ? port + 1 : "");
}

static struct login *find(const struct http *http)
{
	char name[COOKIE_NAME_SIZE], id[LOGIN_ID_SIZE];
	const uint64_t now = clock_mono_ns();

	cookie_name(http, name);
	if (!http_cookie(http, name, id, sizeof(id)) || id[0] == '\0')
		return NULL;
	for (size_t i = 0; i < LOGINS_MAX; i++)
		if (strcmp(logins[i].id, id) == 0 && now - logins[i].used_ns < LOGIN_IDLE_NS)
			return &logins[i];
	return NULL;
}

/* Replaces the login that was unused for longest. NULL: the system gave no random bytes. */
static const struct login *add(const char *key)
{
	struct login *oldest = &logins[0];
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return NULL;
	for (size_t i = 1; i < LOGINS_MAX; i++)
		if (logins[i].used_ns < oldest->used_ns)
			oldest = &logins[i];
	(void)snprintf(oldest->id, sizeof(oldest->id), "%016" PRIx64 "%016" PRIx64, random[0],
		       random[1]);
	(void)snprintf(oldest->key, sizeof(oldest->key), "%s", key);
	oldest->used_ns = clock_mono_ns();
	return oldest;
}

void login_use_cookie(struct request *request)
{
	char key[KEY_SIZE];
	struct login *login;

	request_key(request, key, sizeof(key));
	if (key[0] != '\0' || !request_may_use_cookie(request))
		return;
	login = find(request_head(request));
	if (login != NULL) {
		login->used_ns = clock_mono_ns();
		request_use_key(request, login->key);
	}
}

/* 1: the request's key is valid; 0: it has none, or a wrong one. Negative: answered with an error,
 * or the client is gone. */
static int check(struct request *request)
{
	cleanup_call struct call call = CALL_INIT;
	char key[KEY_SIZE];
	enum call_status status;

	request_key(request, key, sizeof(key));
	if (key[0] == '\0')
		return 0;
	if (!request_may_present(request, key)) {
		answer_refuse_simple(request, 429, "too_many_attempts",
				     "too many unknown keys came from this address",
				     "use a key that is known, or wait");
		return -1;
	}
	status = call_make(request, API_KEY_CHECK, &(struct api_key_check_in){ 0 }, NULL, &call);
	if (status == CALL_OK)
		return 1;
	if (status != CALL_FAILED)
		return -1;
	if (call.failure->error == API_ERR_UNAUTHORIZED)
		return 0;
	call_refuse(request, call.failure);
	return -1;
}

/* ---- redirects ------------------------------------------------------------------------------ */

/* Accepts only paths below /jupyter without characters that need an escape in a header or HTML. */
static bool is_safe(const char *path)
{
	const size_t len = strlen(path);

	return strncmp(path, ROOT, strlen(ROOT)) == 0 && strchr("/?", path[strlen(ROOT)]) != NULL &&
	       strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
			    "-._~/?=") == len;
}

static void find_next(const struct http *http, char ret[PATH_SIZE])
{
	const char *query = http->query;
	char name[64], value[PATH_SIZE];
	struct err ignored;
	int more;

	(void)snprintf(ret, PATH_SIZE, "%s/", ROOT);
	while ((more = http_query_next(&query, name, sizeof(name), value, sizeof(value),
				       &ignored)) != 0)
		if (more == 1 && strcmp(name, "next") == 0 && is_safe(value))
			(void)snprintf(ret, PATH_SIZE, "%s", value);
}

static void redirect(struct request *request, const char *headers)
{
	if (answer_begin(request, 302, NULL, 0, headers) == 0)
		answer_end(request);
}

static void redirect_to(struct request *request, const char *path)
{
	char headers[PATH_SIZE + 32];

	(void)snprintf(headers, sizeof(headers), "Location: %s\r\n", path);
	redirect(request, headers);
}

/* ---- pages ---------------------------------------------------------------------------------- */

static void answer_page(struct request *request, unsigned status, const char *text,
			const char *more_headers)
{
	cleanup_buf struct buf body = BUF_INIT(PAGE_SIZE);
	char headers[1024];
	struct err err;

	(void)snprintf(headers, sizeof(headers),
		       "%sContent-Security-Policy: default-src 'none'; form-action 'self'; "
		       "frame-ancestors 'none'\r\n",
		       more_headers);
	if (buf_addf(&body, &err,
		     "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		     "<title>Reckon</title></head><body>\n%s</body></html>\n",
		     text) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		answer_text(request, status, "text/html; charset=utf-8", &body, headers);
}

static const char *secure(const struct request *request)
{
	const char *proto = http_header(request_head(request), "x-forwarded-proto");

	return proto != NULL && strcasecmp(proto, "https") == 0 ? "; Secure" : "";
}

static void show_form(struct request *request, unsigned status, const char *message)
{
	char text[PATH_SIZE * 3 + 1024], headers[256], next[PATH_SIZE], escaped[PATH_SIZE * 3];
	unsigned xsrf[4] = { 0 };
	size_t len = 0;

	(void)!getrandom(xsrf, sizeof(xsrf), 0); /* no code checks it */
	find_next(request_head(request), next);
	for (const char *at = next; *at != '\0'; at++)
		len += (size_t)snprintf(escaped + len, sizeof(escaped) - len,
					strchr("/?=", *at) != NULL ? "%%%02X" : "%c", *at);
	(void)snprintf(text, sizeof(text),
		       "%s<form action=\"" ROOT "/login?next=%s\" method=\"post\">\n"
		       "<input type=\"hidden\" name=\"_xsrf\" value=\"%08x%08x%08x%08x\">\n"
		       "<label>Password or token (a key of Reckon): "
		       "<input type=\"password\" name=\"password\" autofocus></label>\n"
		       "<button type=\"submit\">Log in</button></form>\n",
		       message, escaped, xsrf[0], xsrf[1], xsrf[2], xsrf[3]);
	(void)snprintf(headers, sizeof(headers),
		       "Set-Cookie: _xsrf=%08x%08x%08x%08x; Path=/; SameSite=Strict%s\r\n",
		       xsrf[0], xsrf[1], xsrf[2], xsrf[3], secure(request));
	answer_page(request, status, text, headers);
}

void login_show_form(struct request *request)
{
	cleanup_buf struct buf unused = BUF_INIT(SERVER_BODY_MAX);
	char next[PATH_SIZE];
	int is_good;

	if (request_body(request, SERVER_BODY_MAX, &unused) < 0)
		return;
	is_good = check(request);
	find_next(request_head(request), next);
	if (is_good > 0)
		redirect_to(request, next);
	else if (is_good == 0)
		show_form(request, 200, "");
}

/* ---- logging in and out --------------------------------------------------------------------- */

static void read_password(const struct buf *body, char ret[KEY_SIZE])
{
	const char *at = buf_text(body);
	char name[64], value[KEY_SIZE];
	struct err ignored;
	int more;

	ret[0] = '\0';
	while ((more = http_query_next(&at, name, sizeof(name), value, sizeof(value),
				       &ignored)) != 0)
		if (more == 1 && strcmp(name, "password") == 0)
			(void)snprintf(ret, KEY_SIZE, "%s", value);
}

void login_take_password(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(SERVER_BODY_MAX);
	char password[KEY_SIZE], name[COOKIE_NAME_SIZE];
	char next[PATH_SIZE], headers[PATH_SIZE + 512];
	const struct login *login;
	int is_good = 0;

	if (request_body(request, SERVER_BODY_MAX, &body) < 0)
		return;
	if (!request_may_use_cookie(request)) {
		answer_refuse_simple(request, 403, "denied", "a page of another origin asks", NULL);
		return;
	}
	read_password(&body, password);
	if (password[0] != '\0') {
		request_use_key(request, password);
		is_good = check(request);
	}
	if (is_good == 0)
		show_form(request, 401, "<p>Invalid credentials</p>\n");
	if (is_good <= 0)
		return;
	login = add(password);
	if (login == NULL) {
		answer_refuse_simple(request, 500, "internal", "getrandom() failed", NULL);
		return;
	}
	find_next(request_head(request), next);
	cookie_name(request_head(request), name);
	(void)snprintf(headers, sizeof(headers),
		       "Set-Cookie: %s=%s; HttpOnly; Path=/; SameSite=Strict%s\r\n"
		       "Location: %s\r\n",
		       name, login->id, secure(request), next);
	redirect(request, headers);
}

void login_end(struct request *request)
{
	cleanup_buf struct buf unused = BUF_INIT(SERVER_BODY_MAX);
	char name[COOKIE_NAME_SIZE], headers[256];
	struct login *login;

	if (request_body(request, SERVER_BODY_MAX, &unused) < 0)
		return;
	login = find(request_head(request));
	if (login != NULL)
		*login = (struct login){ 0 };
	cookie_name(request_head(request), name);
	(void)snprintf(headers, sizeof(headers),
		       "Set-Cookie: %s=; HttpOnly; Path=/; SameSite=Strict; Max-Age=0\r\n", name);
	answer_page(request, 200,
		    "<p>Successfully logged out.</p>\n<p><a href=\"" ROOT
		    "/login\">Log in</a></p>\n",
		    headers);
}

/* Shows the page that browsers and VS Code request first. */
void login_show_home(struct request *request)
{
	cleanup_buf struct buf unused = BUF_INIT(SERVER_BODY_MAX);
	const char *path = request_head(request)->path;
	int is_good;

	if (request_body(request, SERVER_BODY_MAX, &unused) < 0)
		return;
	is_good = check(request);
	if (is_good == 0)
		redirect_to(request, strcmp(path, ROOT "/tree") == 0
					     ? ROOT "/login?next=%2Fjupyter%2Ftree"
					     : ROOT "/login?next=%2Fjupyter%2F");
	else if (is_good > 0)
		answer_page(request, 200,
			    "<p>This server has kernels, files and terminals for clients of "
			    "Jupyter Server, and no pages.</p>\n<p><a href=\"" ROOT
			    "/logout\">Log out</a></p>\n",
			    "");
}
