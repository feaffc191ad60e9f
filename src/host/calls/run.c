/*
 * run.c - calls for runs: start, show, follow, interrupt.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests.
 * Never:    tells a tenant about runs of another, or a client about a model's key.
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
#include "host/db/tables/run.h"
#include "host/executions/asking.h"
#include "host/host.h"
#include "host/idempotency.h"
#include "host/tenants/quota.h"

#define FILE_BYTES_MAX (6u * 1024u * 1024u)
#define BUSY_RETRY_S 5u
#define STREAM_GRACE_MS 60000u

/* ---- start ---------------------------------------------------------------------------------- */

/* Whether one more run may start. */
static bool may_begin(struct host *host, const struct request *req)
{
	const uint64_t all = run_count(host, NULL);
	const uint64_t mine = run_count(host, req->tenant);

	if (lifecycle_is_ending(&host->life)) {
		front_fail(host, req->id, API_ERR_UNAVAILABLE, "the daemon is stopping", "",
			  "ask again when it is back", 2);
		return false;
	}
	if (mine >= host->config.tenant_runs_max) {
		refuse(host, req->id,
		       &(struct refusal){ .error = API_ERR_QUOTA,
					  .message =
						  "the tenant's limit of runs at a time is reached",
					  .remedy = "wait for one, or interrupt one",
					  .retry_s = BUSY_RETRY_S,
					  .quota = "agent_runs",
					  .has_numbers = true,
					  .numbers = { mine, host->config.tenant_runs_max } });
		return false;
	}
	if (all < host->config.runs_max)
		return true;
	front_fail(host, req->id, API_ERR_BUSY, "the limit of runs at a time is reached", "",
		   "ask again later, or start the daemon with a larger --agent-runs", BUSY_RETRY_S);
	return false;
}

static int refuse_model(struct host *host, const struct request *req, const struct err *err)
{
	enum api_error error = API_ERR_INVALID;

	if (err->code == ERR_NOT_FOUND)
		error = API_ERR_MODEL_MISSING;
	else if (err->code == ERR_LIMIT)
		error = API_ERR_DENIED;
	front_fail(host, req->id, error, err->text, "", err->remedy, 0);
	return -1;
}

/* Takes model, settings and question; -1: answered with an error. */
static int take_question(struct run *run, const struct request *req,
			 const struct api_run_create_in *in)
{
	static const struct api_run_limits none;
	const struct api_run_limits *limits = in->limits != NULL ? in->limits : &none;
	const char *question = in->question != NULL ? in->question : "";
	const size_t len = strlen(question);
	const bool is_aged = in->model == NULL && run->model != NULL;
	struct host *host = run->host;
	char model[MODELS_NAME_MAX + MODELS_MODEL_MAX + 2];
	cleanup_choice struct models_choice choice = { 0 };
	struct err err;

	if (!utf8_is_valid(question, len)) {
		front_fail(host, req->id, API_ERR_INVALID, "a question is UTF-8 text", "", "", 0);
		return -1;
	}
	if (run_model_choose(host, is_aged ? run->model : in->model, &choice, &err) < 0 ||
	    run_model_settings(&choice, limits, &run->settings, &err) < 0)
		return refuse_model(host, req, &err);
	if (in->verify != 0)
		run->settings.verify = (uint64_t)in->verify - 1;
	(void)snprintf(model, sizeof(model), "%s/%s", choice.provider, choice.model);
	free(run->model);
	run->model = mem_strdup(model);
	run->has_price = choice.has_price;
	(void)buf_add(&run->question, question, len, &err); /* the field table limits it */
	return 0;
}

/* The content of a file; `data` NULL: the file is already in the workspace. */
static struct api_bytes content_of(const struct api_run_file *file)
{
	return file->text.data != NULL ? file->text : file->base64;
}

/* The bytes of all files with their paths; *ret_content: without the paths. */
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

/* Makes a job for a file with content, and adds the file to the list for the model. */
static int put_file(struct run *run, const struct api_run_file *file, struct err *err)
{
	const struct api_bytes content = content_of(file);
	struct job *job;
	cleanup_fd int fd = -1;
	char line[4200];

	if (!utf8_is_valid(file->path, strlen(file->path)))
		return err_set(err, ERR_INVALID, "files: that is not a path");
	if (content.data != NULL) {
		fd = memfd_create("reckon-file", MFD_CLOEXEC);
		if (fd < 0)
			return err_sys(err, "make a file");
		if (fd_write_full(fd, content.data, content.len, err) < 0)
			return (int)err->code;
		(void)lseek(fd, 0, SEEK_SET);
		(void)snprintf(line, sizeof(line), "%s (%zu bytes)", file->path, content.len);
		job = job_new(run->session, JOB_FILE_PUT, 0);
		job->path = mem_strdup(file->path);
		job->fd = TAKE_FD(fd);
		job->next = run->puts;
		run->puts = job;
	} else {
		(void)snprintf(line, sizeof(line), "%s", file->path);
	}
	run->files = mem_grow(run->files, run->file_count + 1,
				  sizeof(*run->files));
	run->files[run->file_count++] = mem_strdup(line);
	return 0;
}

/* The jobs wait until the session is open. */
static int put_files(struct run *run, const struct api_list *files, struct err *err)
{
	const struct api_run_file *file = files->items;

	for (size_t i = 0; i < files->count; i++, file++)
		if (put_file(run, file, err) < 0)
			return (int)err->code;
	return 0;
}

/* The session that the request names, or a new one; NULL: answered with an error. */
static struct session *take_session(struct host *host, const struct request *req,
				    const struct api_run_create_in *in, const char *session)
{
	const struct session_params params = { .template_name = in->template,
					       .language = in->language };

	return session != NULL ? answer_session_named(host, req, session, true)
			       : answer_session_add(host, req, &params);
}

/* Answers with the state of a run that has started. */
static void reply_state(struct host *host, const struct request *req, const struct api_run *run)
{
	if (req->call == &api_calls[API_RUN_SHOW])
		reply_run_show(host, req->id, &(struct api_run_show_out){ .run = run });
	else
		reply_run_create(host, req->id, &(struct api_run_create_out){ .run = run });
}

static void reply_run(struct host *host, const struct request *req, const struct run *run)
{
	static const enum api_run_status states[] = {
		[RUN_PREPARING] = API_RUN_STATUS_PREPARING,
		[RUN_ASKING] = API_RUN_STATUS_RUNNING,
		[RUN_ENDED] = API_RUN_STATUS_ENDED,
	};
	const char *session = run->session_id;
	const bool is_live = run->state != RUN_ENDED;

	reply_state(host, req,
		    &(struct api_run){ .id = run->id,
				       .session = session[0] != '\0' ? session : NULL,
				       .model = run->model,
				       .status = states[run->state],
				       .has_tenant_runs = is_live,
				       .tenant_runs = run_count(host, req->tenant),
				       .has_tenant_runs_max = is_live,
				       .tenant_runs_max = host->config.tenant_runs_max });
}

/* Whether the client waits for events, or not at all, instead of the answer. */
static bool is_followed(const struct api_run_create_in *in)
{
	return in->followed || in->stream;
}

static bool is_behind(const struct api_run_create_in *in)
{
	return in->background || is_followed(in);
}

/*
 * Models cost money, so a run is cancelled when its client disconnects, unless the request or
 * `background` says otherwise.
 */
static struct lease *lease_of_request(const struct request *req, const struct api_run_create_in *in)
{
	const bool is_stream = is_followed(in);
	const bool ends = in->on_disconnect != 0
				  ? in->on_disconnect == API_RUN_CREATE_IN_ON_DISCONNECT_CANCEL
				  : is_stream || !in->background;
	const uint64_t usual = is_stream ? STREAM_GRACE_MS : 0;

	return ends ? lease_new(in->has_disconnect_grace_ms ? in->disconnect_grace_ms : usual,
			       req->id)
		    : NULL;
}

/* Starts the jobs of the run; the last one to return asks the model. */
static void begin(struct run *run, const struct request *req,
		  const struct api_run_create_in *in)
{
	struct host *host = run->host;
	struct job *job;
	struct err err;

	run->jobs++; /* keeps the count above 0 until all jobs are queued */
	if (run->made_session) {
		job = job_new(run->session, JOB_OPEN, 0);
		job->box.env_list = mem_new0(1, sizeof(*job->box.env_list));
		run_expect(run, job);
		session_enqueue(run->session, job);
	} else {
		memcpy(run->session_id, run->session->row.id, sizeof(run->session_id));
		run_keep_session(run);
		persist_use(run->session);
	}
	audit_note(host, "agent.start", run->session_id, "ok", "run=%s model=%.320s",
		   run->id, run->model);
	if (put_files(run, &in->files, &err) < 0)
		run_abort(run, err.code == ERR_INVALID ? API_ERR_INVALID
							      : API_ERR_INTERNAL, err.text);
	run->lease = lease_of_request(req, in);
	if (!is_behind(in) || run->failed)
		run_wait(run, req);
	else
		reply_run(host, req, run);
	run_opened(run); /* also takes back the count from above */
}

/*
 * Hashes what must be equal in two requests with one key: all fields that may influence the answer.
 */
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
						.verify = in->verify,
						.tools = in->tools,
						.wait_ms = in->wait_ms,
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

/* Answers a repeated request without asking the model again. */
static void answer_again(struct host *host, const struct request *req, const struct db_run *row,
			 const unsigned char hash[32])
{
	const bool is_in_background = is_behind(req->in);
	struct run *live = run_find(host, req->tenant, row->id);

	if (!idempotency_check(host, req, row->request_hash, hash))
		return;
	if (live != NULL && live->state != RUN_ENDED)
		lease_take(live->lease, req->id);
	if (live != NULL && is_in_background)
		reply_run(host, req, live);
	else if (live != NULL)
		run_wait(live, req);
	else if (is_in_background)
		reply_state(host, req,
			    &(struct api_run){
				    .id = row->id,
				    .session = row->session[0] != '\0' ? row->session : NULL,
				    .model = row->model,
				    .status = API_RUN_STATUS_ENDED });
	else
		run_reply_from_row(host, req, row);
}

/* Whether this key was used before, or there was an error; then the request is answered. */
static bool is_repeated(struct host *host, const struct request *req, const char *idempotency,
			const unsigned char hash[32])
{
	struct db_run row;
	struct err err;
	const int found = db_run_by_key(host->db, req->tenant->row.id, idempotency, &row, &err);

	if (found < 0)
		front_fail_err(host, req->id, &err);
	if (found == 1) {
		answer_again(host, req, &row, hash);
		db_run_done(&row);
	}
	return found != 0;
}

/* Creates the run with its row and session; NULL: answered with an error. */
static struct run *take_on(struct host *host, const struct request *req,
			       const struct api_run_create_in *in, const unsigned char hash[32])
{
	struct err err;
	struct run *run = run_new(host, req->tenant, &err);
	const char *session;
	bool is_stored = false;

	if (run == NULL) {
		front_fail_err(host, req->id, &err);
		return NULL;
	}
	if (run_conversation_take(run, req, in) == 0 && take_question(run, req, in) == 0) {
		run->settings.persists_conversation = run_conversation_is_persisted(in);
		is_stored = run_keep_begin(run, in->idempotency_key, hash, &err) == 0;
		if (!is_stored)
			front_fail_err(host, req->id, &err);
	}
	session = run_conversation_session(run, in);
	if (is_stored)
		run->session = take_session(host, req, in, session);
	run->made_session = session == NULL;
	if (run->session != NULL)
		return run;
	if (is_stored && db_run_drop(host->db, run->id, &err) < 0)
		log_line(LOG_WARN, "a run that was refused stays in the database",
			 "run=%s why=\"%s\"", run->id, err.text);
	run_discard(run);
	return NULL;
}

void handle_run_create(struct host *host, const struct request *req,
		       const struct api_run_create_in *in)
{
	uint64_t content;
	const uint64_t bytes = bytes_of(&in->files, &content);
	unsigned char hash[32];
	struct run *run;
	struct err err;

	if (content > FILE_BYTES_MAX) {
		front_fail(host, req->id, API_ERR_INVALID, "files of more than 6 MiB", "",
			  "upload them first, and name their paths", 0);
		return;
	}
	if (hash_request(host, in, hash, &err) < 0) {
		front_fail_err(host, req->id, &err);
		return;
	}
	if (!asking_is_good(host, req, &in->tools) || !asking_fits(host, req, &in->tools))
		return;
	if ((in->idempotency_key != NULL && is_repeated(host, req, in->idempotency_key, hash)) ||
	    !may_begin(host, req) || (bytes > 0 && !quota_disk(host, req, bytes)))
		return;
	run = take_on(host, req, in, hash);
	if (run == NULL)
		return;
	run->keeps_session = in->keep;
	run->tools = asking_keep(&in->tools);
	run->wait_ms = in->wait_ms;
	begin(run, req, in);
}

/* ---- show, follow --------------------------------------------------------------------------- */

bool run_is_own(struct host *host, const struct request *req, const char *id)
{
	const struct run *run = run_find(host, req->tenant, id);
	char by[ID_SIZE];
	struct err err;

	if (run != NULL)
		return strcmp(run->actor, req->key->row.id) == 0;
	return db_run_asker(host->db, req->tenant->row.id, id, by, &err) == 1 &&
	       strcmp(by, req->key->row.id) == 0;
}

/* A run in memory, or else its row in *ret_row. *ret_found false: answered with an error. */
static struct run *find(struct host *host, const struct request *req, const char *id,
			    struct db_run *ret_row, bool *ret_found)
{
	char message[96];
	struct run *run;
	struct err err;
	int found;

	db_run_init(ret_row);
	run = run_find(host, req->tenant, id);
	*ret_found = true;
	if (run != NULL)
		return run;
	found = db_run_find(host->db, req->tenant->row.id, id, ret_row, &err);
	if (found == 1)
		return NULL;
	*ret_found = false;
	(void)snprintf(message, sizeof(message), "there is no run %s", id);
	if (found < 0)
		front_fail_err(host, req->id, &err);
	else if (retain_is_expired(host->config.history_keep_ms, id))
		front_fail(host, req->id, API_ERR_EXPIRED, "this run is older than what is kept",
			  "history-keep of the daemon", "", 0);
	else
		front_fail(host, req->id, API_ERR_RUN_NOT_FOUND, message, "",
			  "POST /reckon/v1/agent answers with the id of the one that it begins", 0);
	return NULL;
}

void handle_run_show(struct host *host, const struct request *req,
		     const struct api_run_show_in *in)
{
	struct db_run row;
	bool found;
	struct run *run = find(host, req, in->id, &row, &found);

	if (run == NULL && found)
		run_reply_from_row(host, req, &row);
	else if (run != NULL && run->state == RUN_ENDED)
		run_wait(run, req);
	else if (run != NULL)
		reply_run(host, req, run);
	db_run_done(&row);
}

void handle_run_events(struct host *host, const struct request *req,
		       const struct api_run_events_in *in)
{
	struct db_run row;
	bool found;
	struct run *run = find(host, req, in->id, &row, &found);

	/* A follow-up request is held by the id of the first one. */
	if (run != NULL && run->state != RUN_ENDED && !in->goes_on)
		lease_take(run->lease, req->id);
	if (run != NULL)
		run_wait_events(run, req->id, in->after);
	else if (found)
		run_reply_events_from_row(host, req->id, in->after, &row);
	db_run_done(&row);
}

void handle_run_interrupt(struct host *host, const struct request *req,
			  const struct api_run_interrupt_in *in)
{
	struct db_run row;
	bool found;
	struct run *run = find(host, req, in->id, &row, &found);
	const bool runs = run != NULL && run->state != RUN_ENDED;

	if (runs)
		run_stop(run);
	if (found)
		reply_run_interrupt(host, req->id,
				    &(struct api_run_interrupt_out){ .interrupted = runs });
	db_run_done(&row);
}
