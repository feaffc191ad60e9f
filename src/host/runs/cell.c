/*
 * cell.c - executes a cell that a model wants, as an ordinary execution of the session.
 *
 * Runs in:  reckond's loop; cell_result_new() in a thread of the pool.
 * Reads:    code of a model, records of libreckon.
 * Never:    runs a cell beyond a quota, or without its row in the history.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "codec/json_write.h"
#include "host/executions/asking.h"
#include "host/host.h"
#include "host/tenants/quota.h"
#include "languages/languages.h"
#include "reckon_agent.h"

#define REFUSED_MAX 3u
#define TEXT_MIN 1024u /* for the text of a record */
#define TEXT_MAX (1024u * 1024u)
#define EVENT_MAX ((size_t)48 * 1024 * 1024)

/* ---- results -------------------------------------------------------------------------------- */

void run_cell_refuse(struct run *run, const char *status, const char *why)
{
	struct err err;

	if (driver_cell_refuse(&run->driver, status, why, &err) < 0)
		run_end(run, AGENT_STOP_FAILED, err.text);
}

static void push_record(struct run *run, const struct job *job)
{
	cleanup_buf struct buf json = BUF_INIT(EVENT_MAX);
	struct json_writer writer;

	if (job->result.json_len > EVENT_MAX / 2)
		return; /* a client can read the execution instead */
	run_event_begin(&writer, &json, "record");
	json_write_member_uint(&writer, "step", run->driver.step);
	json_write_member_string(&writer, "execution", job->execution->id);
	json_write_key(&writer, "record");
	json_write_raw(&writer, job->result.json, job->result.json_len);
	run_event_end(run, &writer, "record");
}

/* Implements driver_ops.end. */
void run_cell_end(const struct driver_cell_end *end, void *arg)
{
	struct run *run = arg;

	if (end->owner == NULL)
		return;
	push_record(run, end->owner);
	run_tell(run);
}

static void read_result(const struct job *job, struct agent_client_result *ret)
{
	const struct cell_result *result = job->result.cell;

	*ret = (struct agent_client_result){
		.status = job->result.status,
		.text = buf_text(&result->text),
		.len = result->text.len,
		.repeat = result->repeat,
		.same = result->same,
		.image_count = result->image_count,
	};
	/* Outputs that the text shortens; other objects are not offered to the model. */
	for (size_t i = 0;
	     i < job->result.object_count && ret->handle_count < AGENT_CLIENT_HANDLES_MAX; i++)
		if (strncmp(job->result.objects[i].id, "out_", 4) == 0)
			ret->handles[ret->handle_count++] = job->result.objects[i].id;
	memcpy(ret->images, result->images, sizeof(ret->images));
}

void run_cell_done(struct run *run, const struct job *job)
{
	const struct cell_result *result = job->result.cell;
	struct driver_cell_end end = {
		.status = job->result.status,
		.execution = job->execution->id,
		.record = job->result.json,
		.owner = job,
	};
	struct err err;

	if (run->cell == job->execution)
		run->cell = NULL;
	if (run->state != RUN_ASKING)
		return;
	run_act(run);
	if (job->result.json == NULL || result == NULL) {
		run_cell_refuse(run, "infra_error", job->error.message);
		return;
	}
	end.files = result->changes.files;
	end.file_count = result->changes.file_count;
	read_result(job, &end.result);
	if (driver_cell_done(&run->driver, &end, &err) < 0)
		run_end(run, AGENT_STOP_FAILED, err.text);
}

/* ---- the cell ------------------------------------------------------------------------------- */

static void push_cell(struct run *run, const char *execution, const struct driver_cell *cell)
{
	cleanup_buf struct buf json = BUF_INIT(EVENT_MAX);
	struct json_writer writer;

	run_event_begin(&writer, &json, "cell");
	json_write_member_uint(&writer, "step", run->driver.step);
	json_write_member_string(&writer, "execution", execution);
	json_write_member_text(&writer, "code", cell->code, cell->len);
	if (cell->command != NULL) {
		json_write_key(&writer, "command");
		json_write_raw(&writer, cell->command->call, cell->command->len);
	}
	run_event_end(run, &writer, "cell");
}

/* Why the cell may not run now, or NULL. */
static const char *forbidden(struct run *run, const struct context *context)
{
	const struct request nobody = { .tenant = run->tenant };
	const struct session *session = run->session;

	if ((context != NULL ? context->queued : session->queue.count) >= HOST_QUEUE_MAX)
		return "Not run: too much waits for this session already.";
	/* Request 0, so that no refusal is sent: the client waits for the answer of the run. */
	if (!quota_execution(run->host, &nobody, session, 0))
		return "Not run: a quota of the person's account is reached.";
	return NULL;
}

/* Whether the cell can run. *ret is the context to use, NULL for the session's first kernel. */
static bool find_context(struct session *session, const struct driver_cell *cell,
			 struct context **ret)
{
	const struct language *shell = language_shell();

	*ret = NULL;
	if (cell->command == NULL)
		return true;
	if (shell == NULL)
		return false;
	if (strcmp(session->row.language, shell->name) == 0)
		return true;
	*ret = context_of_language(session, shell->name);
	return *ret != NULL;
}

/*
 * Applies the limits that the model set for its command, within those of the session and of
 * records.
 */
static void bound_command(const struct session *session, const struct driver_cell *cell,
			  struct job *job)
{
	const struct agent_command *limits = cell->command != NULL ? &cell->command->limits : NULL;
	const uint64_t most = session->limits.wall_ms;

	if (limits == NULL)
		return;
	if (limits->timeout_ms > 0)
		job->timeout_ms = most == 0 || limits->timeout_ms < most ? limits->timeout_ms
									 : most;
	if (limits->output_max > 0)
		job->text_bytes = limits->output_max < TEXT_MIN	  ? TEXT_MIN
				  : limits->output_max > TEXT_MAX ? TEXT_MAX
								  : limits->output_max;
}

/* Ends the cell with the question's time. */
static void bound_time(const struct run *run, struct job *job)
{
	const uint64_t most = job->timeout_ms > 0 ? job->timeout_ms : run->session->limits.wall_ms;
	const uint64_t limit = driver_cell_limit_ms(&run->driver, most, clock_mono_ns());

	if (limit > 0)
		job->timeout_ms = limit;
}

/* Implements driver_ops.execute. */
int run_cell_execute(const struct driver_cell *cell, struct err *err, void *arg)
{
	struct run *run = arg;
	struct session *session = run->session;
	struct db_execution row = { 0 };
	struct context *context;
	const char *why;
	struct err broken;
	struct job *job;

	if (session == NULL || !life_is_live(session->life))
		return driver_cell_refuse(&run->driver, "lost", "The session has ended.", err);
	if (!find_context(session, cell, &context))
		return driver_cell_refuse(&run->driver, "refused", "Not run: the session has no "
					  "room for a shell.", err);
	why = forbidden(run, context);
	if (why != NULL && ++run->refused >= REFUSED_MAX)
		return err_set(err, ERR_LIMIT, "a quota of the tenant is reached");
	if (why != NULL)
		return driver_cell_refuse(&run->driver, "refused", why, err);
	run->refused = 0;
	persist_use(session);
	run_act(run);
	run->cell = execution_begin(session, &row, NULL, cell->code, cell->len, &broken);
	if (run->cell == NULL)
		return driver_cell_refuse(&run->driver, "infra_error", broken.text, err);
	if (run->tools != NULL && asking_from_json(run->host, run->tools, run->wait_ms,
						   &run->cell->asking, &broken) < 0) {
		execution_free(TAKE_PTR(run->cell));
		return driver_cell_refuse(&run->driver, "infra_error", broken.text, err);
	}
	job = execution_job(run->cell);
	driver_cell_begun(&run->driver, job->execution->id);
	run_expect(run, job);
	push_cell(run, job->execution->id, cell);
	bound_command(session, cell, job);
	bound_time(run, job);
	context_enqueue(session, context, job);
	return 0;
}
