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
#include "host/db_run.h"
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
	struct session_wish wish = { 0 };
	char template_name[64], language[64];

	*ret_made = front_find(asked->items, asked->count, FRONT_TAG_SESSION) == NULL;
	if (!*ret_made)
		return answer_session(host, asked, true);
	if (front_text(asked->items, asked->count, FRONT_TAG_TEMPLATE, template_name,
		       sizeof(template_name)))
		wish.template_name = template_name;
	if (front_text(asked->items, asked->count, FRONT_TAG_LANGUAGE, language, sizeof(language)))
		wish.language = language;
	return answer_session_add(host, asked, &wish);
}

static void reply_state(struct host *host, uint64_t request, const char *id, const char *session,
			const char *model, const char *status)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_INLINE_MAX);
	struct err err;

	if (front_pack_text(&payload, FRONT_TAG_RUN, id, &err) < 0 ||
	    (session[0] != '\0' &&
	     front_pack_text(&payload, FRONT_TAG_SESSION, session, &err) < 0) ||
	    front_pack_text(&payload, FRONT_TAG_MODEL, model, &err) < 0 ||
	    front_pack_text(&payload, FRONT_TAG_STATUS, status, &err) < 0)
		peer_fail(host, request, FRONT_ERR_INTERNAL, err.text, "", "", 0);
	else
		peer_reply(host, request, &payload, -1);
}

static void reply_run(struct host *host, uint64_t request, const struct inquiry *inquiry)
{
	static const char *const states[] = { [INQUIRY_PREPARING] = "preparing",
					      [INQUIRY_ASKING] = "running",
					      [INQUIRY_ENDED] = "ended" };

	reply_state(host, request, inquiry->id, inquiry->session_id, inquiry->model,
		    states[inquiry->state]);
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
				  is_stream ? STREAM_GRACE_MS : 0),
			asked->id);
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
		inquiry_keep_session(inquiry);
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

/* What makes two requests with one key the same question: all that the answer may come from. */
static void hash_request(const struct host *host, const struct asked *asked,
			 unsigned char ret[32])
{
	static const enum front_tag tags[] = {
		FRONT_TAG_QUESTION, FRONT_TAG_MODEL,	  FRONT_TAG_SESSION, FRONT_TAG_TEMPLATE,
		FRONT_TAG_LANGUAGE, FRONT_TAG_RUN_LIMITS, FRONT_TAG_KEEP,    FRONT_TAG_RUN_FILES,
	};

	memset(ret, 0, 32);
	for (size_t i = 0; i < ARRAY_LEN(tags); i++)
		answer_hash_field(host, asked, tags[i], ret);
}

/* The same question, once more: it is not asked again. */
static void answer_again(struct host *host, const struct asked *asked, const struct db_run *row,
			 const unsigned char hash[32])
{
	const bool is_behind = has(asked, FRONT_TAG_BACKGROUND);
	struct inquiry *live = inquiry_find(host, asked->tenant, row->id);

	if (!answer_check_same(host, asked, row->request_hash, hash))
		return;
	if (live != NULL && live->state != INQUIRY_ENDED)
		hold_take(live->hold, asked->id);
	if (live != NULL && is_behind)
		reply_run(host, asked->id, live);
	else if (live != NULL)
		inquiry_wait(live, asked->id);
	else if (is_behind)
		reply_state(host, asked->id, row->id, row->session, row->model, "ended");
	else
		inquiry_kept_reply(host, asked->id, row);
}

/* Whether this key has its question already, which is answered; so is what goes wrong. */
static bool was_asked(struct host *host, const struct asked *asked, const char *idempotency,
		      const unsigned char hash[32])
{
	struct db_run row;
	struct err err;
	const int found = db_run_by_key(host->db, asked->tenant->row.id, idempotency, &row, &err);

	if (found < 0)
		peer_fail_err(host, asked->id, &err);
	if (found == 1) {
		answer_again(host, asked, &row, hash);
		db_run_done(&row);
	}
	return found != 0;
}

/* Everything that may be refused; NULL: it was. */
static struct inquiry *take_on(struct host *host, const struct asked *asked,
			       const char *idempotency, const unsigned char hash[32])
{
	struct err err;
	struct inquiry *inquiry = inquiry_new(host, asked->tenant, &err);
	bool made = false, is_kept = false;

	if (inquiry == NULL) {
		peer_fail_err(host, asked->id, &err);
		return NULL;
	}
	if (take_question(inquiry, asked) == 0) {
		is_kept = inquiry_keep_begin(inquiry, idempotency, hash, &err) == 0;
		if (!is_kept)
			peer_fail_err(host, asked->id, &err);
	}
	if (is_kept)
		inquiry->session = take_session(host, asked, &made);
	inquiry->made_session = made;
	if (inquiry->session != NULL)
		return inquiry;
	if (is_kept && db_run_drop(host->db, inquiry->id, &err) < 0)
		log_line(LOG_WARN, "a run that was refused stays in the database", "run=%s why=\"%s\"",
			 inquiry->id, err.text);
	inquiry_discard(inquiry);
	return NULL;
}

void answer_run_create(struct host *host, const struct asked *asked)
{
	const struct kernel_item *files =
		front_find(asked->items, asked->count, FRONT_TAG_RUN_FILES);
	char idempotency[FRONT_KEY_MAX + 1];
	const bool has_key = front_text(asked->items, asked->count, FRONT_TAG_IDEMPOTENCY,
					idempotency, sizeof(idempotency));
	unsigned char hash[32];
	struct inquiry *inquiry;

	hash_request(host, asked, hash);
	if ((has_key && was_asked(host, asked, idempotency, hash)) || !may_begin(host, asked) ||
	    (files != NULL && !quota_disk(host, asked, files->len)))
		return;
	inquiry = take_on(host, asked, has_key ? idempotency : NULL, hash);
	if (inquiry == NULL)
		return;
	inquiry->keeps_session = has(asked, FRONT_TAG_KEEP);
	begin(inquiry, asked);
}

/* ---- looking ------------------------------------------------------------------------------- */

bool answer_run_is_own(struct host *host, const struct asked *asked)
{
	const struct inquiry *inquiry;
	char id[ID_SIZE] = "", by[ID_SIZE];
	struct err err;

	(void)front_text(asked->items, asked->count, FRONT_TAG_ID, id, sizeof(id));
	inquiry = inquiry_find(host, asked->tenant, id);
	if (inquiry != NULL)
		return strcmp(inquiry->actor, asked->key->row.id) == 0;
	return db_run_asker(host->db, asked->tenant->row.id, id, by, &err) == 1 &&
	       strcmp(by, asked->key->row.id) == 0;
}

/* In memory, else *ret_row is filled in; NULL and false: it was answered that there is none. */
static struct inquiry *find(struct host *host, const struct asked *asked, struct db_run *ret_row,
			    bool *ret_found)
{
	char id[ID_SIZE] = "", message[96];
	struct inquiry *inquiry;
	struct err err;
	int found;

	(void)front_text(asked->items, asked->count, FRONT_TAG_ID, id, sizeof(id));
	db_run_init(ret_row);
	inquiry = inquiry_find(host, asked->tenant, id);
	*ret_found = true;
	if (inquiry != NULL)
		return inquiry;
	found = db_run_find(host->db, asked->tenant->row.id, id, ret_row, &err);
	if (found == 1)
		return NULL;
	*ret_found = false;
	(void)snprintf(message, sizeof(message), "there is no run %s", id);
	if (found < 0)
		peer_fail_err(host, asked->id, &err);
	else if (retain_is_expired(host->config.history_keep_ms, id))
		peer_fail(host, asked->id, FRONT_ERR_EXPIRED, "this run is older than what is kept",
			  "history-keep of the daemon", "", 0);
	else
		peer_fail(host, asked->id, FRONT_ERR_RUN_NOT_FOUND, message, "",
			  "POST /reckon/v1/agent answers with the id of the one that it begins", 0);
	return NULL;
}

void answer_run_show(struct host *host, const struct asked *asked)
{
	struct db_run row;
	bool found;
	struct inquiry *inquiry = find(host, asked, &row, &found);

	if (inquiry == NULL && found)
		inquiry_kept_reply(host, asked->id, &row);
	else if (inquiry != NULL && inquiry->state == INQUIRY_ENDED)
		inquiry_wait(inquiry, asked->id);
	else if (inquiry != NULL)
		reply_run(host, asked->id, inquiry);
	db_run_done(&row);
}

void answer_run_events(struct host *host, const struct asked *asked)
{
	const uint64_t after = front_u64(asked->items, asked->count, FRONT_TAG_AFTER, 0);
	struct db_run row;
	bool found;
	struct inquiry *inquiry = find(host, asked, &row, &found);

	/* What goes on is known by the id that it began with. */
	if (inquiry != NULL && inquiry->state != INQUIRY_ENDED &&
	    front_find(asked->items, asked->count, FRONT_TAG_GOES_ON) == NULL)
		hold_take(inquiry->hold, asked->id);
	if (inquiry != NULL)
		inquiry_wait_events(inquiry, asked->id, after);
	else if (found)
		inquiry_kept_events(host, asked->id, after, &row);
	db_run_done(&row);
}

void answer_run_interrupt(struct host *host, const struct asked *asked)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_INLINE_MAX);
	struct db_run row;
	bool found;
	struct inquiry *inquiry = find(host, asked, &row, &found);
	const bool runs = inquiry != NULL && inquiry->state != INQUIRY_ENDED;
	struct err err;

	if (runs)
		inquiry_stop(inquiry);
	if (found && front_pack_u64(&payload, FRONT_TAG_COUNT, runs, &err) == 0)
		peer_reply(host, asked->id, &payload, -1);
	db_run_done(&row);
}
