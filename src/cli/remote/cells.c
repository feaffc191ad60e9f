/*
 * cells.c - what commands that run cells in a session of a daemon share.
 *
 * Runs in:  reckon-client.
 * Reads:    answers of a daemon.
 * Never:    changes what a session is: what was said at its making cannot be said otherwise later.
 */
#include "cli/remote/cells.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/run/tools.h"
#include "codec/json_write.h"

#define GRACE_S 20u /* as long as a connection that broke is tried again, and a little more */

double remote_number(const struct json_value *value)
{
	double number = 0;
	int64_t whole = 0;

	if (json_read_int(value, &whole))
		return (double)whole;
	(void)json_read_double(value, &number);
	return number;
}

static int differs(const struct remote_cells *at, const char *option, struct err *err)
{
	(void)err_set(err, ERR_INVALID, "--%s cannot be changed: session %s already exists",
		      option, remote_text(at->session, "name"));
	return err_remedy(err,
			  "leave it out, take another name, or end that one: reckon session rm "
			  "%s",
			  remote_text(at->session, "name"));
}

/* What was asked for at its making may be said again, so that a script can always say it. */
int remote_check_same(const struct remote_cells *at, struct err *err)
{
	const reckon_limits *limits = &at->run->limits;
	const struct json_value *now = json_read_member(at->session, "limits");
	const struct {
		const char *option, *name;
		double value;
	} numbers[] = {
		{ "cpu-time", "cpu_s", (double)limits->cpu_ms / 1000 },
		{ "memory", "memory_bytes", (double)limits->memory_bytes },
		{ "disk", "disk_bytes", (double)limits->disk_bytes },
		{ "max-output", "output_bytes", (double)limits->output_bytes },
		{ "pids", "processes", limits->pids },
		{ "cpus", "cpu_percent", limits->cpu_percent },
	};
	const struct {
		const char *option, *value;
	} texts[] = {
		{ "template", at->run->template_name },
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i].value != NULL &&
		    strcmp(texts[i].value, remote_text(at->session, texts[i].option)) != 0)
			return differs(at, texts[i].option, err);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i].value > 0 &&
		    fabs(numbers[i].value - remote_number(json_read_member(now, numbers[i].name))) >
			    0.0005)
			return differs(at, numbers[i].option, err);
	return at->run->env_count > 0 ? differs(at, "env", err) : 0;
}

static int make(struct remote_cells *at, const char *name, const struct err *before,
		bool *ret_made, struct err *err)
{
	cleanup_buf struct buf body = BUF_INIT(1024 * 1024);

	if (remote_session_body(at->run, name, 0, false, &body, err) < 0)
		return (int)err->code;
	if (client_call(at->client, "POST", "sessions", &body, &at->session, err) == 0) {
		if (before->code == ERR_LOST)
			run_output_line("reckon: %s", before->text);
		run_output_line("reckon: made session %s (reckon session rm %s ends it)", name,
				name);
		*ret_made = true;
		return 0;
	}
	/* Somebody else made it in this moment. */
	if (strcmp(client_last(at->client)->code, "session_exists") != 0)
		return (int)err->code;
	if (remote_session(at->client, name, &at->session, err) < 0)
		return (int)err->code;
	return remote_check_same(at, err);
}

int remote_cells_open(struct remote_cells *at, const char *name, bool *ret_made, struct err *err)
{
	struct err before;
	int code;

	json_read_free(at->session);
	at->session = NULL;
	*ret_made = false;
	code = remote_session(at->client, name, &at->session, &before);
	if (code == 0)
		return remote_check_same(at, err);
	/* An id is given by a daemon: one that is not there cannot be made. */
	if ((code == ERR_NOT_FOUND || code == ERR_LOST) && strncmp(name, "se_", 3) != 0)
		return make(at, name, &before, ret_made, err);
	*err = before;
	return code;
}

/* Options of a box that is made for one run, or that a daemon does not let its clients say. */
int remote_check_fit(const struct run *run, struct err *err)
{
	const char *option = run->mount_count > 0      ? "--mount"
			     : run->stdin_path != NULL ? "--stdin"
			     : run->session_flags != 0 ? "--isolate-cpu"
			     : run->strict	       ? "--strict"
			     : run->private_warden     ? "--private"
						       : NULL;

	if (option == NULL)
		return 0;
	(void)err_set(err, ERR_INVALID, "%s does not go with -s: the session is a daemon's",
		      option);
	if (run->mount_count > 0)
		return err_remedy(err, "-f, or reckon files put, takes files there");
	return err_remedy(err, "leave it out, or run without -s");
}

static int file_path(const struct remote_cells *at, const char *name, struct buf *path,
		     struct err *err)
{
	if (remote_path(path, at->session, "/files/", err) < 0)
		return (int)err->code;
	return client_path_add(path, name, true, err);
}

int remote_put_file(const struct remote_cells *at, const struct run_file *file, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(64 * 1024);
	struct stat st;

	if (fstat(file->fd, &st) < 0 || lseek(file->fd, 0, SEEK_SET) < 0)
		return err_sys(err, "read");
	if (file_path(at, file->name, &path, err) < 0)
		return (int)err->code;
	return client_upload(at->client, buf_text(&path), file->fd, (uint64_t)st.st_size, NULL,
			     err);
}

/* The stored copy when there is one: it is what the record describes, whatever came later. */
int remote_fetch(const char *path, const char *artifact, int fd, void *arg, struct err *err)
{
	cleanup_buf struct buf where = BUF_INIT(64 * 1024);
	const struct remote_cells *at = arg;

	if (artifact == NULL ? file_path(at, path, &where, err) < 0
			     : (buf_adds(&where, "artifacts/", err) < 0 ||
				client_path_add(&where, artifact, false, err) < 0))
		return (int)err->code;
	return client_download(at->client, buf_text(&where), fd, NULL, err);
}

int remote_cell_body(const struct run *run, const char *code, size_t len, struct buf *ret,
		     struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_text(&json, "code", code, len);
	/* Another one than the session's has a kernel of its own there. */
	if (run->language != NULL)
		json_write_member_string(&json, "language", run->language);
	if (run->limits.wall_ms != 0) {
		json_write_key(&json, "timeout_s");
		json_write_seconds(&json, run->limits.wall_ms * 1000000u);
	}
	if (run->text_bytes != 0)
		json_write_member_uint(&json, "max_text", run->text_bytes);
	if (run_can_ask(run))
		json_write_member_bool(&json, "allow_input", true);
	if (run->tools != NULL && run_tools_declare(run->tools, &json, err) < 0)
		return (int)err->code;
	if (run->on_disconnect != NULL)
		json_write_member_string(&json, "on_disconnect", run->on_disconnect);
	if (run->on_disconnect != NULL && strcmp(run->on_disconnect, "cancel") == 0)
		json_write_member_uint(&json, "disconnect_grace_s", GRACE_S);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

/* Whether it waits behind other cells of the session: what runs then is somebody else's. */
bool remote_is_queued(const struct remote_cells *at, const char *id)
{
	cleanup_buf struct buf path = BUF_INIT(1024);
	struct json_value *execution;
	struct err ignored;
	bool queued;

	if (remote_path(&path, at->session, "/executions/", &ignored) < 0 ||
	    client_path_add(&path, id, false, &ignored) < 0 ||
	    client_call(at->client, "GET", buf_text(&path), NULL, &execution, &ignored) < 0)
		return false;
	queued = strcmp(remote_text(execution, "status"), "queued") == 0;
	json_read_free(execution);
	return queued;
}

int remote_interrupt(const struct remote_cells *at, struct err *err)
{
	cleanup_buf struct buf path = BUF_INIT(1024), body = BUF_INIT(16);

	if (buf_adds(&body, "{}", err) < 0 ||
	    remote_path(&path, at->session, "/interrupt", err) < 0)
		return (int)err->code;
	return client_call(at->client, "POST", buf_text(&path), &body, NULL, err);
}
