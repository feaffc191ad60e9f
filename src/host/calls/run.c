/*
 * run.c - questions to models: begun, looked at, followed, interrupted.
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

#include "api/image.h"
#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "host/calls/call.h"
#include "host/db/run.h"
#include "host/host.h"
#include "host/tenants/quota.h"

#define FILE_BYTES_MAX (6u * 1024u * 1024u)
#define BUSY_RETRY_S 5u
#define STREAM_GRACE_MS 60000u

/* ---- beginning ------------------------------------------------------------------------------ */

/* Room for one more. */
static bool may_begin(struct host *host, const struct asked *asked)
{
	const uint64_t all = inquiry_count(host, NULL);
	const uint64_t mine = inquiry_count(host, asked->tenant);

	if (host->is_stopping) {
		peer_fail(host, asked->id, API_ERR_UNAVAILABLE, "the daemon is stopping", "",
			  "ask again when it is back", 2);
		return false;
	}
	if (mine >= host->config.tenant_runs_max) {
		refuse(host, asked->id,
		       &(struct refusal){ .error = API_ERR_QUOTA,
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
	peer_fail(host, asked->id, API_ERR_BUSY, "as many questions are being answered as may be",
		  "", "ask again later, or start the daemon with a larger --agent-runs",
		  BUSY_RETRY_S);
	return false;
}

static int refuse_model(struct host *host, const struct asked *asked, const struct err *err)
{
	enum api_error error = API_ERR_INVALID;

	if (err->code == ERR_NOT_FOUND)
		error = API_ERR_MODEL_MISSING;
	else if (err->code == ERR_LIMIT)
		error = API_ERR_DENIED;
	peer_fail(host, asked->id, error, err->text, "", err->remedy, 0);
	return -1;
}

/* Model, settings and question; -1 when it was answered. */
static int take_question(struct inquiry *inquiry, const struct asked *asked,
			 const struct api_run_create_in *in)
{
	static const struct api_run_limits none;
	const struct api_run_limits *limits = in->limits != NULL ? in->limits : &none;
	const char *question = in->question != NULL ? in->question : "";
	const size_t len = strlen(question);
	const bool is_aged = in->model == NULL && inquiry->model != NULL;
	struct host *host = inquiry->host;
	char model[MODELS_NAME_MAX + MODELS_MODEL_MAX + 2];
	cleanup_choice struct models_choice choice = { 0 };
	struct err err;

	if (!utf8_is_valid(question, len)) {
		peer_fail(host, asked->id, API_ERR_INVALID, "a question is UTF-8 text", "", "", 0);
		return -1;
	}
	if (inquiry_model_choose(host, is_aged ? inquiry->model : in->model, &choice, &err) < 0 ||
	    inquiry_model_settings(&choice, limits, &inquiry->settings, &err) < 0)
		return refuse_model(host, asked, &err);
	(void)snprintf(model, sizeof(model), "%s/%s", choice.provider, choice.model);
	free(inquiry->model);
	inquiry->model = mem_strdup(model);
	inquiry->has_price = choice.has_price;
	(void)buf_add(&inquiry->question, question, len, &err); /* has its ceiling */
	return 0;
}

/* What is put there; `data` NULL: it is there already. */
static struct api_bytes content_of(const struct api_run_file *file)
{
	return file->text.data != NULL ? file->text : file->base64;
}

/* Of all files, with their names. */
static uint64_t bytes_of(const struct api_list *files, uint64_t *ret_content)
{
	const struct api_run_file *file = files->items;
	uint64_t sum = 0;

	*ret_content = 0;
	for (size_t i = 0; i < files->count; i++, file++) {
		*ret_content += content_of(file).len;
		sum += strlen(file->path) + content_of(file).len;
	}
	return sum;
}

/* What is put into the workspace, and what is there, by name. */
static int put_file(struct inquiry *inquiry, const struct api_run_file *file, struct err *err)
{
	const struct api_bytes content = content_of(file);
	struct job *job;
	cleanup_fd int fd = -1;
	char line[4200];

	if (!utf8_is_valid(file->path, strlen(file->path)))
		return err_set(err, ERR_INVALID, "files: that is no path");
	if (content.data != NULL) {
		fd = memfd_create("reckon-file", MFD_CLOEXEC);
		if (fd < 0)
			return err_sys(err, "make a file");
		if (fd_write_full(fd, content.data, content.len, err) < 0)
			return (int)err->code;
		(void)lseek(fd, 0, SEEK_SET);
		(void)snprintf(line, sizeof(line), "%s (%zu bytes)", file->path, content.len);
		job = job_new(inquiry->session, JOB_FILE_PUT, 0);
		job->path = mem_strdup(file->path);
		job->fd = TAKE_FD(fd);
		job->next = inquiry->puts;
		inquiry->puts = job;
	} else {
		(void)snprintf(line, sizeof(line), "%s", file->path);
	}
	inquiry->files = mem_grow(inquiry->files, inquiry->file_count + 1,
				  sizeof(*inquiry->files));
	inquiry->files[inquiry->file_count++] = mem_strdup(line);
	return 0;
}

/* The jobs wait until there is a session. */
static int put_files(struct inquiry *inquiry, const struct api_list *files, struct err *err)
{
	const struct api_run_file *file = files->items;

	for (size_t i = 0; i < files->count; i++, file++)
		if (put_file(inquiry, file, err) < 0)
			return (int)err->code;
	return 0;
}

/* The session that the request names, or a new one; NULL: answered. */
static struct session *take_session(struct host *host, const struct asked *asked,
				    const struct api_run_create_in *in, const char *session)
{
	const struct session_wish wish = { .template_name = in->template,
					   .language = in->language };

	return session != NULL ? answer_session_named(host, asked, session, true)
			       : answer_session_add(host, asked, &wish);
}

/* It was begun, or is under way: what is known of it. */
static void reply_state(struct host *host, const struct asked *asked, const struct api_run *run)
{
	if (asked->call == &api_calls[API_RUN_SHOW])
		reply_run_show(host, asked->id, &(struct api_run_show_out){ .run = run });
	else
		reply_run_create(host, asked->id, &(struct api_run_create_out){ .run = run });
}

static void reply_run(struct host *host, const struct asked *asked, const struct inquiry *inquiry)
{
	static const enum api_run_status states[] = {
		[INQUIRY_PREPARING] = API_RUN_STATUS_PREPARING,
		[INQUIRY_ASKING] = API_RUN_STATUS_RUNNING,
		[INQUIRY_ENDED] = API_RUN_STATUS_ENDED,
	};
	const char *session = inquiry->session_id;

	reply_state(host, asked,
		    &(struct api_run){ .id = inquiry->id,
				       .session = session[0] != '\0' ? session : NULL,
				       .model = inquiry->model,
				       .status = states[inquiry->state] });
}

/* Whether the client does not wait for the answer, but for events or nothing. */
static bool is_followed(const struct api_run_create_in *in)
{
	return in->followed || in->stream;
}

static bool is_behind(const struct api_run_create_in *in)
{
	return in->background || is_followed(in);
}

/* Models cost money: unless the request says otherwise, a run ends with the connection. */
static struct hold *hold_asked(const struct asked *asked, const struct api_run_create_in *in)
{
	const bool is_stream = is_followed(in);
	const bool ends = in->on_disconnect != 0
				  ? in->on_disconnect == API_RUN_CREATE_IN_ON_DISCONNECT_CANCEL
				  : is_stream || !in->background;
	const uint64_t usual = is_stream ? STREAM_GRACE_MS : 0;

	return ends ? hold_new(in->has_disconnect_grace_ms ? in->disconnect_grace_ms : usual,
			       asked->id)
		    : NULL;
}

/* Everything is good: its jobs begin, and the last of them begins the question. */
static void begin(struct inquiry *inquiry, const struct asked *asked,
		  const struct api_run_create_in *in)
{
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
	if (put_files(inquiry, &in->files, &err) < 0)
		inquiry_fail(inquiry, err.code == ERR_INVALID ? API_ERR_INVALID
							      : API_ERR_INTERNAL, err.text);
	inquiry->hold = hold_asked(asked, in);
	if (!is_behind(in) || inquiry->failed)
		inquiry_wait(inquiry, asked);
	else
		reply_run(host, asked, inquiry);
	inquiry_opened(inquiry); /* which takes ours back */
}

/* What makes two requests with one key the same question: all that the answer may come from. */
static int hash_request(const struct host *host, const struct api_run_create_in *in,
			unsigned char ret[32], struct err *err)
{
	cleanup_buf struct buf image = BUF_INIT(FRONT_PAYLOAD_MAX);
	const struct api_run_create_in same = { .question = in->question,
						.model = in->model,
						.session = in->session,
						.template = in->template,
						.language = in->language,
						.has_keep = in->keep,
						.keep = in->keep,
						.files = in->files,
						.limits = in->limits,
						.conversation = in->conversation,
						.continues = in->continues,
						.results = in->results,
						.has_keep_conversation = in->has_keep_conversation,
						.keep_conversation = in->keep_conversation };

	if (api_image_write(&api_type_run_create_in, &same, &image, err) < 0)
		return (int)err->code;
	key_hash(host, image.data, image.len, ret);
	return 0;
}

/* The same question, once more: it is not asked again. */
static void answer_again(struct host *host, const struct asked *asked, const struct db_run *row,
			 const unsigned char hash[32])
{
	const bool is_in_background = is_behind(asked->in);
	struct inquiry *live = inquiry_find(host, asked->tenant, row->id);

	if (!answer_check_same(host, asked, row->request_hash, hash))
		return;
	if (live != NULL && live->state != INQUIRY_ENDED)
		hold_take(live->hold, asked->id);
	if (live != NULL && is_in_background)
		reply_run(host, asked, live);
	else if (live != NULL)
		inquiry_wait(live, asked);
	else if (is_in_background)
		reply_state(host, asked,
			    &(struct api_run){
				    .id = row->id,
				    .session = row->session[0] != '\0' ? row->session : NULL,
				    .model = row->model,
				    .status = API_RUN_STATUS_ENDED });
	else
		inquiry_kept_reply(host, asked, row);
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
			       const struct api_run_create_in *in, const unsigned char hash[32])
{
	struct err err;
	struct inquiry *inquiry = inquiry_new(host, asked->tenant, &err);
	const char *session;
	bool is_kept = false;

	if (inquiry == NULL) {
		peer_fail_err(host, asked->id, &err);
		return NULL;
	}
	if (talk_take(inquiry, asked, in) == 0 && take_question(inquiry, asked, in) == 0) {
		inquiry->settings.keeps_talk = talk_is_kept(in);
		is_kept = inquiry_keep_begin(inquiry, in->idempotency_key, hash, &err) == 0;
		if (!is_kept)
			peer_fail_err(host, asked->id, &err);
	}
	session = talk_session(inquiry, in);
	if (is_kept)
		inquiry->session = take_session(host, asked, in, session);
	inquiry->made_session = session == NULL;
	if (inquiry->session != NULL)
		return inquiry;
	if (is_kept && db_run_drop(host->db, inquiry->id, &err) < 0)
		log_line(LOG_WARN, "a run that was refused stays in the database", "run=%s why=\"%s\"",
			 inquiry->id, err.text);
	inquiry_discard(inquiry);
	return NULL;
}

void handle_run_create(struct host *host, const struct asked *asked,
		       const struct api_run_create_in *in)
{
	uint64_t content;
	const uint64_t bytes = bytes_of(&in->files, &content);
	unsigned char hash[32];
	struct inquiry *inquiry;
	struct err err;

	if (content > FILE_BYTES_MAX) {
		peer_fail(host, asked->id, API_ERR_INVALID, "files of more than 6 MiB", "",
			  "upload them first, and name their paths", 0);
		return;
	}
	if (hash_request(host, in, hash, &err) < 0) {
		peer_fail_err(host, asked->id, &err);
		return;
	}
	if ((in->idempotency_key != NULL && was_asked(host, asked, in->idempotency_key, hash)) ||
	    !may_begin(host, asked) || (bytes > 0 && !quota_disk(host, asked, bytes)))
		return;
	inquiry = take_on(host, asked, in, hash);
	if (inquiry == NULL)
		return;
	inquiry->keeps_session = in->keep;
	begin(inquiry, asked, in);
}

/* ---- looking ------------------------------------------------------------------------------- */

bool run_is_own(struct host *host, const struct asked *asked, const char *id)
{
	const struct inquiry *inquiry = inquiry_find(host, asked->tenant, id);
	char by[ID_SIZE];
	struct err err;

	if (inquiry != NULL)
		return strcmp(inquiry->actor, asked->key->row.id) == 0;
	return db_run_asker(host->db, asked->tenant->row.id, id, by, &err) == 1 &&
	       strcmp(by, asked->key->row.id) == 0;
}

/* In memory, else *ret_row is filled in; NULL and false: it was answered that there is none. */
static struct inquiry *find(struct host *host, const struct asked *asked, const char *id,
			    struct db_run *ret_row, bool *ret_found)
{
	char message[96];
	struct inquiry *inquiry;
	struct err err;
	int found;

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
		peer_fail(host, asked->id, API_ERR_EXPIRED, "this run is older than what is kept",
			  "history-keep of the daemon", "", 0);
	else
		peer_fail(host, asked->id, API_ERR_RUN_NOT_FOUND, message, "",
			  "POST /reckon/v1/agent answers with the id of the one that it begins", 0);
	return NULL;
}

void handle_run_show(struct host *host, const struct asked *asked,
		     const struct api_run_show_in *in)
{
	struct db_run row;
	bool found;
	struct inquiry *inquiry = find(host, asked, in->id, &row, &found);

	if (inquiry == NULL && found)
		inquiry_kept_reply(host, asked, &row);
	else if (inquiry != NULL && inquiry->state == INQUIRY_ENDED)
		inquiry_wait(inquiry, asked);
	else if (inquiry != NULL)
		reply_run(host, asked, inquiry);
	db_run_done(&row);
}

void handle_run_events(struct host *host, const struct asked *asked,
		       const struct api_run_events_in *in)
{
	struct db_run row;
	bool found;
	struct inquiry *inquiry = find(host, asked, in->id, &row, &found);

	/* What goes on is known by the id that it began with. */
	if (inquiry != NULL && inquiry->state != INQUIRY_ENDED && !in->goes_on)
		hold_take(inquiry->hold, asked->id);
	if (inquiry != NULL)
		inquiry_wait_events(inquiry, asked->id, in->after);
	else if (found)
		inquiry_kept_events(host, asked->id, in->after, &row);
	db_run_done(&row);
}

void handle_run_interrupt(struct host *host, const struct asked *asked,
			  const struct api_run_interrupt_in *in)
{
	struct db_run row;
	bool found;
	struct inquiry *inquiry = find(host, asked, in->id, &row, &found);
	const bool runs = inquiry != NULL && inquiry->state != INQUIRY_ENDED;

	if (runs)
		inquiry_stop(inquiry);
	if (found)
		reply_run_interrupt(host, asked->id,
				    &(struct api_run_interrupt_out){ .interrupted = runs });
	db_run_done(&row);
}
