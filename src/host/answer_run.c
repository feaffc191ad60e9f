/*
 * answer_run.c - questions to models: begun, looked at, followed, interrupted.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests.
 * Never:    tells a tenant of another's, or a client of a key.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "host/host.h"
#include "host/quota.h"

#define FILES_MAX 100u
#define FIELDS_MAX (2u * FILES_MAX)
#define BUSY_RETRY_S 5u
#define STREAM_GRACE_MS 60000u

/* ---- beginning ------------------------------------------------------------------------------ */

/* Room for one more. */
static bool may_begin(struct host *host, const struct asked *asked)
{
	const uint64_t all = inquiry_count(host, NULL);
	const uint64_t mine = inquiry_count(host, asked->tenant);

	if (host->is_stopping) {
		peer_fail(host, asked->id, FRONT_ERR_UNAVAILABLE, "the daemon is stopping", "",
			  "ask again when it is back", 2);
		return false;
	}
	if (mine >= host->config.tenant_runs_max) {
		refuse(host, asked->id,
		       &(struct refusal){ .error = FRONT_ERR_QUOTA,
					  .message = "as many questions of this tenant are being "
						     "answered as may be",
					  .remedy = "wait for one, or interrupt one",
					  .retry_s = BUSY_RETRY_S,
					  .quota = "agent_runs",
					  .has_numbers = true,
					  .numbers = { mine, host->config.tenant_runs_max } });
		return false;
	}
	if (all < host->config.runs_max)
		return true;
	peer_fail(host, asked->id, FRONT_ERR_BUSY, "as many questions are being answered as may be",
		  "", "ask again later, or start the daemon with a larger --agent-runs",
		  BUSY_RETRY_S);
	return false;
}

static int refuse_model(struct host *host, const struct asked *asked, const struct err *err)
{
	enum front_error error = FRONT_ERR_INVALID;

	if (err->code == ERR_NOT_FOUND)
		error = FRONT_ERR_MODEL_MISSING;
	else if (err->code == ERR_LIMIT)
		error = FRONT_ERR_DENIED;
	peer_fail(host, asked->id, error, err->text, "", err->remedy, 0);
	return -1;
}

/* Model, settings and question; -1 when it was answered. */
static int take_question(struct inquiry *inquiry, const struct asked *asked)
{
	const struct kernel_item *text =
		front_find(asked->items, asked->count, FRONT_TAG_QUESTION);
	const struct kernel_item *item =
		front_find(asked->items, asked->count, FRONT_TAG_RUN_LIMITS);
	struct host *host = inquiry->host;
	struct front_run_limits limits = { 0 };
	char model[MODELS_NAME_MAX + MODELS_MODEL_MAX + 2];
	cleanup_choice struct models_choice choice = { 0 };
	const bool has_model = front_text(asked->items, asked->count, FRONT_TAG_MODEL, model,
					  sizeof(model));
	struct err err;

	if (item != NULL)
		memcpy(&limits, item->data, sizeof(limits));
	if (!utf8_is_valid(text->data, text->len) ||
	    memchr(text->data, '\0', text->len) != NULL) {
		peer_fail(host, asked->id, FRONT_ERR_INVALID, "a question is UTF-8 text", "", "", 0);
		return -1;
	}
	if (inquiry_model_choose(host, has_model ? model : NULL, &choice, &err) < 0 ||
	    inquiry_model_settings(&choice, &limits, &inquiry->settings, &err) < 0)
		return refuse_model(host, asked, &err);
	(void)snprintf(model, sizeof(model), "%s/%s", choice.provider, choice.model);
	inquiry->model = mem_strdup(model);
	inquiry->has_price = choice.has_price;
	(void)buf_add(&inquiry->question, text->data, text->len, &err); /* has its ceiling */
	return 0;
}

/* What is put into the workspace, and what is there, by name. */
static int put_file(struct inquiry *inquiry, const char *path, const struct kernel_item *content,
		    struct err *err)
{
	struct job *job;
	cleanup_fd int fd = -1;
	char line[4200];

	if (content != NULL) {
		fd = memfd_create("reckon-file", MFD_CLOEXEC);
		if (fd < 0)
			return err_sys(err, "make a file");
		if (fd_write_full(fd, content->data, content->len, err) < 0)
			return (int)err->code;
		(void)lseek(fd, 0, SEEK_SET);
		(void)snprintf(line, sizeof(line), "%s (%u bytes)", path, content->len);
		job = job_new(inquiry->session, JOB_FILE_PUT, 0);
		job->path = mem_strdup(path);
		job->fd = TAKE_FD(fd);
		job->next = inquiry->puts;
		inquiry->puts = job;
	} else {
		(void)snprintf(line, sizeof(line), "%s", path);
	}
	inquiry->files = mem_grow(inquiry->files, inquiry->file_count + 1,
				  sizeof(*inquiry->files));
	inquiry->files[inquiry->file_count++] = mem_strdup(line);
	return 0;
}

/* (PATH [BODY])*; the jobs wait until there is a session. */
static int put_files(struct inquiry *inquiry, const struct kernel_item *files, struct err *err)
{
	struct kernel_item items[FIELDS_MAX];
	const uint32_t fields = kernel_count_fields(
		&(struct buf){ .data = (char *)(uintptr_t)files->data, .len = files->len });
	const int count = kernel_unpack(files->data, files->len, fields, items, FIELDS_MAX, err);
	char path[4096];

	if (count < 0)
		return err_set(err, ERR_INVALID, "files: at most %u", FILES_MAX);
	for (int i = 0; i < count; i++) {
		const struct kernel_item *content =
			i + 1 < count && items[i + 1].tag == FRONT_TAG_BODY ? &items[i + 1] : NULL;

		if (items[i].tag != FRONT_TAG_PATH ||
		    !front_text(&items[i], 1, FRONT_TAG_PATH, path, sizeof(path)) ||
		    path[0] == '\0' || !utf8_is_valid(path, strlen(path)))
			return err_set(err, ERR_INVALID, "files: that is no path");
		if (put_file(inquiry, path, content, err) < 0)
			return (int)err->code;
		i += content != NULL;
	}
	return 0;
}

/* The session that the request names, or a new one; NULL: answered. */
static struct session *take_session(struct host *host, const struct asked *asked, bool *ret_made)
{
	*ret_made = front_find(asked->items, asked->count, FRONT_TAG_SESSION) == NULL;
	return *ret_made ? answer_session_add(host, asked) : answer_session(host, asked, true);
}

static void reply_run(struct host *host, uint64_t request, const struct inquiry *inquiry)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_INLINE_MAX);
	struct err err;

	if (front_pack_text(&payload, FRONT_TAG_RUN, inquiry->id, &err) < 0 ||
	    front_pack_text(&payload, FRONT_TAG_SESSION, inquiry->session_id, &err) < 0 ||
	    front_pack_text(&payload, FRONT_TAG_MODEL, inquiry->model, &err) < 0 ||
	    front_pack_text(&payload, FRONT_TAG_STATUS,
			    inquiry->state == INQUIRY_PREPARING ? "preparing" : "running",
			    &err) < 0)
		peer_fail(host, request, FRONT_ERR_INTERNAL, err.text, "", "", 0);
	else
		peer_reply(host, request, &payload, -1);
}

static bool has(const struct asked *asked, enum front_tag tag)
{
	return front_find(asked->items, asked->count, tag) != NULL;
}

/* Models cost money: unless the request says otherwise, a run ends with the connection. */
static struct hold *hold_asked(const struct asked *asked)
{
	const bool is_stream = has(asked, FRONT_TAG_FOLLOWED);
	const bool is_behind = has(asked, FRONT_TAG_BACKGROUND) && !is_stream;
	const uint64_t usual = is_behind ? FRONT_DISCONNECT_CONTINUE : FRONT_DISCONNECT_CANCEL;

	if (front_u64(asked->items, asked->count, FRONT_TAG_ON_DISCONNECT, usual) !=
	    FRONT_DISCONNECT_CANCEL)
		return NULL;
	return hold_new(front_u64(asked->items, asked->count, FRONT_TAG_GRACE_MS,
				  is_stream ? STREAM_GRACE_MS : 0), asked->id);
}

/* Everything is good: its jobs begin, and the last of them begins the question. */
static void begin(struct inquiry *inquiry, const struct asked *asked)
{
	const struct kernel_item *files =
		front_find(asked->items, asked->count, FRONT_TAG_RUN_FILES);
	struct host *host = inquiry->host;
	struct job *job;
	struct err err;

	inquiry->jobs++; /* ours, until all of them are there */
	if (inquiry->made_session) {
		job = job_new(inquiry->session, JOB_OPEN, 0);
		job->env_list = mem_new0(1, sizeof(*job->env_list));
		inquiry_expect(inquiry, job);
		session_enqueue(inquiry->session, job);
	} else {
		memcpy(inquiry->session_id, inquiry->session->row.id, sizeof(inquiry->session_id));
		keep_use(inquiry->session);
	}
	audit_note(host, "agent.start", inquiry->session_id, "ok", "run=%s model=%.320s",
		   inquiry->id, inquiry->model);
	if (files != NULL && put_files(inquiry, files, &err) < 0)
		inquiry_fail(inquiry, err.code == ERR_INVALID ? FRONT_ERR_INVALID
							      : FRONT_ERR_INTERNAL, err.text);
	inquiry->hold = hold_asked(asked);
	if (!has(asked, FRONT_TAG_BACKGROUND) || inquiry->failed)
		inquiry_wait(inquiry, asked->id);
	else
		reply_run(host, asked->id, inquiry);
	inquiry_opened(inquiry); /* which takes ours back */
}

void answer_run_create(struct host *host, const struct asked *asked)
{
	const struct kernel_item *files =
		front_find(asked->items, asked->count, FRONT_TAG_RUN_FILES);
	struct inquiry *inquiry;
	struct err err;
	bool made;

	if (!may_begin(host, asked) ||
	    (files != NULL && !quota_disk(host, asked, files->len)))
		return;
	inquiry = inquiry_new(host, asked->tenant, &err);
	if (inquiry == NULL) {
		peer_fail_err(host, asked->id, &err);
		return;
	}
	if (take_question(inquiry, asked) < 0 ||
	    (inquiry->session = take_session(host, asked, &made)) == NULL) {
		inquiry_discard(inquiry);
		return;
	}
	inquiry->made_session = made;
	inquiry->keeps_session = has(asked, FRONT_TAG_KEEP);
	begin(inquiry, asked);
}

/* ---- looking -------------------------------------------------------------------------------- */

static struct inquiry *find(struct host *host, const struct asked *asked)
{
	char id[ID_SIZE] = "", message[96];
	struct inquiry *inquiry;

	(void)front_text(asked->items, asked->count, FRONT_TAG_ID, id, sizeof(id));
	inquiry = inquiry_find(host, asked->tenant, id);
	if (inquiry != NULL)
		return inquiry;
	(void)snprintf(message, sizeof(message), "there is no run %s", id);
	peer_fail(host, asked->id, FRONT_ERR_RUN_NOT_FOUND, message, "",
		  "what became of it is told for a while; its executions are in its session", 0);
	return NULL;
}

bool answer_run_is_own(struct host *host, const struct asked *asked)
{
	const struct inquiry *inquiry;
	char id[ID_SIZE] = "";

	(void)front_text(asked->items, asked->count, FRONT_TAG_ID, id, sizeof(id));
	inquiry = inquiry_find(host, asked->tenant, id);
	return inquiry != NULL && strcmp(inquiry->actor, asked->key->row.id) == 0;
}

void answer_run_show(struct host *host, const struct asked *asked)
{
	struct inquiry *inquiry = find(host, asked);

	if (inquiry == NULL)
		return;
	if (inquiry->state == INQUIRY_ENDED)
		inquiry_wait(inquiry, asked->id);
	else
		reply_run(host, asked->id, inquiry);
}

void answer_run_events(struct host *host, const struct asked *asked)
{
	struct inquiry *inquiry = find(host, asked);

	if (inquiry != NULL && inquiry->state != INQUIRY_ENDED &&
	    front_find(asked->items, asked->count, FRONT_TAG_GOES_ON) == NULL)
		hold_take(inquiry->hold, asked->id);
	if (inquiry != NULL)
		inquiry_wait_events(inquiry, asked->id,
				    front_u64(asked->items, asked->count, FRONT_TAG_AFTER, 0));
}

void answer_run_interrupt(struct host *host, const struct asked *asked)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_INLINE_MAX);
	struct inquiry *inquiry = find(host, asked);
	struct err err;
	bool runs;

	if (inquiry == NULL)
		return;
	runs = inquiry->state != INQUIRY_ENDED;
	inquiry_stop(inquiry);
	if (front_pack_u64(&payload, FRONT_TAG_COUNT, runs, &err) == 0)
		peer_reply(host, asked->id, &payload, -1);
}
