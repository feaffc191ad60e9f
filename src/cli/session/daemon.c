/*
 * daemon.c - a daemon's session, over HTTP: it outlives the program.
 *
 * Runs in:  reckon-client.
 * Reads:    events and records of a daemon, whose text comes from a box.
 * Never:    replaces a lost session unless renew() is called.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/remote/tools.h"
#include "cli/session/daemon_state.h"
#include "cli/session/interrupt.h"
#include "codec/json_get.h"
#include "codec/json_write.h"

/* ---- looks ---------------------------------------------------------------------------------- */

static int write_look(const struct daemon *this, const struct session_look *look, struct buf *ret,
		      struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	if (look->code != NULL)
		json_write_member_text(&json, "code", look->code, look->len);
	if (look->kind == SESSION_LOOK_COMPLETE)
		json_write_member_uint(&json, "cursor", look->cursor);
	if (this->context[0] != '\0')
		json_write_member_string(&json, "context", this->context);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

static int look(struct session *session, const struct session_look *look, struct buf *ret,
		struct err *err)
{
	static const struct {
		/* NULL: the request is a POST, and the whole answer is used */
		const char *path, *member;
	} kinds[] = {
		[SESSION_LOOK_VARIABLES] = { "/variables", "variables" },
		[SESSION_LOOK_FILES] = { "/files", "files" },
		[SESSION_LOOK_COMPLETE] = { "/complete", NULL },
		[SESSION_LOOK_IS_COMPLETE] = { "/is_complete", NULL },
	};
	cleanup_buf struct buf path = BUF_INIT(1024), body = BUF_INIT(CLIENT_JSON_MAX);
	const char *member = kinds[look->kind].member;
	const struct daemon *this = daemon_of(session);
	struct json_value *answer = NULL;
	int code;

	if (remote_path(&path, this->at.session, kinds[look->kind].path, err) < 0 ||
	    (member == NULL && write_look(this, look, &body, err) < 0) ||
	    (look->kind == SESSION_LOOK_VARIABLES && this->context[0] != '\0' &&
	     (buf_adds(&path, "?context=", err) < 0 ||
	      client_path_add(&path, this->context, false, err) < 0)) ||
	    client_call(this->at.client, member == NULL ? "POST" : "GET", buf_text(&path),
			member == NULL ? &body : NULL, &answer, err) < 0)
		return (int)err->code;
	code = json_read_dump(member == NULL ? answer : json_read_member(answer, member), ret, err);
	json_read_free(answer);
	return code;
}

/* ---- its life ------------------------------------------------------------------------------- */

static int check(struct session *session, struct err *err)
{
	const struct daemon *this = daemon_of(session);
	struct json_value *now;
	bool has_kernel;

	if (remote_session(this->at.client, session->id, &now, err) < 0) {
		if (err->code == ERR_NOT_FOUND)
			err->code = ERR_LOST;
		return (int)err->code;
	}
	has_kernel = strcmp(json_get_str(now, "kernel"), "lost") != 0;
	json_read_free(now);
	return has_kernel ? 0 : err_set(err, ERR_KERNEL_LOST, "the kernel is gone");
}

static int restart(struct session *session, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024), body = BUF_INIT(256);
	const struct session_look none = { .code = NULL };
	const struct daemon *this = daemon_of(session);

	if (write_look(this, &none, &body, err) < 0 ||
	    remote_path(&path, this->at.session, "/restart", err) < 0)
		return (int)err->code;
	return client_call(this->at.client, "POST", buf_text(&path), &body, NULL, err);
}

static int renew(struct session *session, struct err *err)
{
	struct daemon *this = daemon_of(session);
	bool made;

	if (check(session, err) == 0 || err->code == ERR_KERNEL_LOST)
		return 0;
	if (err->code != ERR_LOST)
		return (int)err->code;
	if (this->name[0] == '\0' ||
	    remote_cells_open(&this->at, this->name, &made, err) < 0)
		return err_wrap(err, "the session was lost, and no new one can be had");
	session_daemon_joined(session, true);
	return 1;
}

static void close_it(struct session *session)
{
	struct daemon *this = daemon_of(session);

	interrupt_wake(-1);
	buf_done(&this->question);
	remote_tools_free(this->tools);
	json_read_free(this->at.session);
	client_close(this->at.client);
	for (size_t i = 0; i < ARRAY_LEN(this->wake); i++)
		if (this->wake[i] >= 0)
			(void)close(this->wake[i]);
	free(this);
}

/* ---- files ---------------------------------------------------------------------------------- */

static int file_path(const struct daemon *this, const char *name, struct buf *path,
		     struct err *err)
{
	if (remote_path(path, this->at.session, "/files/", err) < 0)
		return (int)err->code;
	return client_path_add(path, name, true, err);
}

static int put(struct session *session, const char *name, int fd, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(DAEMON_PATH_MAX);
	const struct daemon *this = daemon_of(session);
	struct stat st;

	if (fstat(fd, &st) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(err, "read");
	if (file_path(this, name, &path, err) < 0)
		return (int)err->code;
	return client_upload(this->at.client, buf_text(&path), fd, (uint64_t)st.st_size, NULL, err);
}

static int stored_path(const char *kind, const char *id, struct buf *path, struct err *err)
{
	return buf_adds(path, kind, err) < 0 ? (int)err->code
					      : client_path_add(path, id, false, err);
}

static int get(struct session *session, const char *name, const char *artifact, int fd,
	       struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(DAEMON_PATH_MAX);
	const struct daemon *this = daemon_of(session);

	if (artifact != NULL ? stored_path("artifacts/", artifact, &path, err) < 0
			     : file_path(this, name, &path, err) < 0)
		return (int)err->code;
	return client_download(this->at.client, buf_text(&path), fd, NULL, err);
}

/* Downloads into a memfd, because callers read the file several times and at any offset. */
static int download(const struct daemon *this, const struct buf *path, int *ret_fd,
		    struct err *err)
{
	cleanup_fd int fd = memfd_create("reckon-download", MFD_CLOEXEC);

	if (fd < 0)
		return err_sys(err, "memfd");
	if (client_download(this->at.client, buf_text(path), fd, NULL, err) < 0)
		return (int)err->code;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(err, "memfd");
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int open_file(struct session *session, const char *name, int *ret_fd, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(DAEMON_PATH_MAX);

	if (file_path(daemon_of(session), name, &path, err) < 0)
		return (int)err->code;
	return download(daemon_of(session), &path, ret_fd, err);
}

static int open_output(struct session *session, const char *handle, int *ret_fd, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024);

	if (stored_path("outputs/", handle, &path, err) < 0)
		return (int)err->code;
	return download(daemon_of(session), &path, ret_fd, err);
}

/* ---- opening -------------------------------------------------------------------------------- */

static const struct session_ops ops = {
	.execute = daemon_execute,
	.look = look,
	.check = check,
	.restart = restart,
	.renew = renew,
	.put = put,
	.get = get,
	.open_file = open_file,
	.open_output = open_output,
	.close = close_it,
};

struct remote_cells *session_daemon_at(struct session *session)
{
	return &daemon_of(session)->at;
}

void session_daemon_joined(struct session *session, bool is_fresh)
{
	struct daemon *this = daemon_of(session);
	const struct client *client = this->at.client;

	(void)snprintf(this->name, sizeof(this->name), "%s",
		       json_get_str(this->at.session, "name"));
	this->context[0] = '\0';
	session->is_fresh = is_fresh;
	session->id = json_get_str(this->at.session, "id");
	session->name = this->name;
	session->url = client_is_private(client) ? NULL : client_name(client);
	session->language = json_get_str(this->at.session, "language");
	session->idle_s = remote_number(json_read_member(this->at.session, "idle_timeout_s"));
}

int session_daemon_connect(const struct run *run, enum session_daemon_which which,
			   struct session **ret, struct err *err)
{
	const struct remote where = {
		.where = { .url = run->url,
			   .key = run->key,
			   .only_private = which == SESSION_DAEMON_PRIVATE },
		.no_wait = run->no_wait,
	};
	struct daemon *this = mem_new0(1, sizeof(*this));

	*this = (struct daemon){ .base = { .ops = &ops, .run = run },
				 .at = { .run = run },
				 .wake = { -1, -1 },
				 .question = BUF_INIT(CLIENT_JSON_MAX) };
	if (pipe2(this->wake, O_CLOEXEC | O_NONBLOCK) < 0)
		(void)err_sys(err, "pipe");
	else if (remote_open(&where, &this->at.client, err) == 0) {
		interrupt_wake(this->wake[1]);
		*ret = &this->base;
		return 0;
	}
	close_it(&this->base);
	return (int)err->code;
}

int session_open_daemon(const struct run *run, struct session **ret, struct err *err)
{
	struct remote_cells *at;
	struct session *session;
	bool made;

	if (session_daemon_connect(run, SESSION_DAEMON_NAMED, &session, err) < 0)
		return (int)err->code;
	at = session_daemon_at(session);
	if (remote_cells_open(at, run->session, &made, err) < 0) {
		close_it(session);
		return (int)err->code;
	}
	session_daemon_joined(session, made);
	if (remote_number(json_read_member(at->session, "pending")) > 0)
		run_output_line("reckon: session %s is busy; waiting for its turn", run->session);
	*ret = session;
	return 0;
}
