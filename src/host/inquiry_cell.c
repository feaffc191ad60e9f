/*
 * inquiry_cell.c - a cell that a model wants: an execution of its session like any other.
 *
 * Runs in:  reckond's loop; job_told_new() in a thread of the pool.
 * Reads:    code of a model, records of libreckon.
 * Never:    runs a cell past a quota, or without its row in the history.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "codec/json_write.h"
#include "host/host.h"
#include "host/quota.h"
#include "reckon_agent.h"

#define REFUSED_MAX 3u
#define EVENT_MAX ((size_t)48 * 1024 * 1024)
#define GRACE_NS (UINT64_C(30) * 1000000000u)

/* ---- for the model, in the thread of the cell ------------------------------------------------ */

static void take_images(struct job_told *told, const reckon_execution *done)
{
	reckon_image image;

	while (told->image_count < AGENT_IMAGES_MAX &&
	       reckon_execution_image(done, told->image_count, &image) == 1) {
		char *bytes = mem_new0(image.len + 1, 1);

		memcpy(bytes, image.bytes, image.len);
		told->images[told->image_count++] = (struct converse_image){
			.mime = mem_strdup(image.mime), .bytes = bytes, .len = image.len
		};
	}
}

static void take_files(struct job_told *told, const reckon_execution *done)
{
	reckon_changed_file file;

	for (size_t i = 0; reckon_execution_file(done, i, &file) == 1; i++)
		outcome_add_file(&told->changes, file.change,
				 &(struct outcome_file){
					 .path = (char *)(uintptr_t)file.path,
					 .mime = (char *)(uintptr_t)file.mime,
					 .sha256 = (char *)(uintptr_t)file.sha256,
					 .artifact = (char *)(uintptr_t)file.artifact,
					 .size = file.bytes });
}

struct job_told *job_told_new(const reckon_execution *done)
{
	struct job_told *told = mem_new0(1, sizeof(*told));
	unsigned same;
	size_t len;
	const char *text = reckon_execution_text(done, &len);
	struct err full; /* a record's text is shorter */

	told->text = BUF_INIT(AGENT_RESULT_MAX);
	(void)buf_add(&told->text, text, len, &full);
	told->repeat = reckon_execution_repeat(done, &same);
	told->same = same;
	outcome_init(&told->changes, 0);
	take_images(told, done);
	take_files(told, done);
	return told;
}

void job_told_free(struct job_told *told)
{
	if (told == NULL)
		return;
	for (size_t i = 0; i < told->image_count; i++) {
		free((char *)(uintptr_t)told->images[i].mime);
		free((void *)(uintptr_t)told->images[i].bytes);
	}
	buf_done(&told->text);
	outcome_done(&told->changes);
	free(told);
}

/* ---- what goes back ------------------------------------------------------------------------- */

static void answer_cell(struct inquiry *inquiry, const struct converse_result *result)
{
	const uint64_t later = clock_mono_ns() + GRACE_NS;
	struct err err;

	if (later > inquiry->deadline_ns)
		inquiry->deadline_ns = later;
	if (converse_answer(inquiry->talk, result, &err) < 0)
		inquiry_end(inquiry, AGENT_STOP_FAILED, err.text);
}

void inquiry_refuse(struct inquiry *inquiry, const char *status, const char *why)
{
	const struct converse_result result = { .status = status, .text = why,
						.len = strlen(why) };

	outcome_end_step(&inquiry->outcome, status, NULL, NULL);
	answer_cell(inquiry, &result);
}

static void push_record(struct inquiry *inquiry, const struct job *job)
{
	cleanup_buf struct buf json = BUF_INIT(EVENT_MAX);
	struct json_writer writer;

	if (job->json_len > EVENT_MAX / 2)
		return; /* who wants it asks for the execution */
	inquiry_event_begin(&writer, &json, "record");
	json_write_member_uint(&writer, "step", inquiry->outcome.step_count - 1);
	json_write_member_string(&writer, "execution", job->execution->id);
	json_write_key(&writer, "record");
	json_write_raw(&writer, job->json, job->json_len);
	inquiry_event_end(inquiry, &writer, "record");
}

void inquiry_cell_done(struct inquiry *inquiry, const struct job *job)
{
	const struct job_told *told = job->told;
	struct converse_result result = { .status = job->status };

	if (inquiry->cell == job->execution)
		inquiry->cell = NULL;
	if (inquiry->state != INQUIRY_ASKING)
		return;
	inquiry_act(inquiry);
	if (job->json == NULL || told == NULL) {
		inquiry_refuse(inquiry, "infra_error", job->error.message);
		return;
	}
	outcome_end_step(&inquiry->outcome, job->status, job->execution->id, job->json);
	for (size_t i = 0; i < told->changes.file_count; i++) {
		const struct outcome_file *file = &told->changes.files[i];

		outcome_add_file(&inquiry->outcome, file->is_deleted ? "deleted" : "modified",
				 file);
	}
	push_record(inquiry, job);
	inquiry_tell(inquiry);
	result.text = buf_text(&told->text);
	result.len = told->text.len;
	result.repeat = told->repeat;
	result.same = told->same;
	/* What its text leaves out, and nothing else of the store. */
	for (size_t i = 0; i < job->object_count && result.handle_count < CONVERSE_HANDLES_MAX; i++)
		if (strncmp(job->objects[i].id, "out_", 4) == 0)
			result.handles[result.handle_count++] = job->objects[i].id;
	result.image_count = told->image_count;
	memcpy(result.images, told->images, sizeof(result.images));
	answer_cell(inquiry, &result);
}

/* ---- the cell ------------------------------------------------------------------------------- */

static void push_cell(struct inquiry *inquiry, const char *execution, const char *code, size_t len)
{
	cleanup_buf struct buf json = BUF_INIT(EVENT_MAX);
	struct json_writer writer;

	inquiry_event_begin(&writer, &json, "cell");
	json_write_member_uint(&writer, "step", inquiry->outcome.step_count - 1);
	json_write_member_string(&writer, "execution", execution);
	json_write_member_text(&writer, "code", code, len);
	inquiry_event_end(inquiry, &writer, "cell");
}

/* NULL, or why it may not run now. */
static const char *forbidden(struct inquiry *inquiry)
{
	const struct asked nobody = { .tenant = inquiry->tenant };
	const struct session *session = inquiry->session;

	if (session->queued >= HOST_QUEUE_MAX)
		return "Not run: too much waits for this session already.";
	/* Who would be told is the client, and that one waits for an answer. */
	if (!quota_execution(inquiry->host, &nobody, session, 0))
		return "Not run: a quota of the person's account is reached.";
	return NULL;
}

void inquiry_cell(struct inquiry *inquiry, const char *code, size_t len)
{
	struct session *session = inquiry->session;
	struct db_execution row = { 0 };
	const char *why;
	struct err err;
	struct job *job;

	if (session == NULL || session->phase != SESSION_LIVE) {
		inquiry_refuse(inquiry, "lost", "The session has ended.");
		return;
	}
	if (!utf8_is_valid(code, len) || memchr(code, '\0', len) != NULL) {
		inquiry_refuse(inquiry, "refused", "This is no source code: it holds NUL, or bytes "
						   "that are no UTF-8.");
		return;
	}
	why = forbidden(inquiry);
	if (why != NULL && ++inquiry->refused >= REFUSED_MAX) {
		inquiry_end(inquiry, AGENT_STOP_FAILED, "a quota of the tenant is reached");
		return;
	}
	if (why != NULL) {
		inquiry_refuse(inquiry, "refused", why);
		return;
	}
	inquiry->refused = 0;
	keep_use(session);
	inquiry_act(inquiry);
	inquiry->cell = execution_begin(session, &row, NULL, code, len, &err);
	if (inquiry->cell == NULL) {
		inquiry_refuse(inquiry, "infra_error", err.text);
		return;
	}
	job = execution_job(inquiry->cell);
	outcome_begin_step(&inquiry->outcome, job->execution->id);
	inquiry_expect(inquiry, job);
	push_cell(inquiry, job->execution->id, code, len);
	session_enqueue(session, job);
}

void inquiry_cell_stop(struct inquiry *inquiry)
{
	struct execution *cell = inquiry->cell;
	struct session *session = inquiry->session;

	if (cell == NULL || session == NULL)
		return;
	cell->wants_stop = true; /* said again while it runs */
	if (session->running != NULL && session->running->execution == cell)
		execution_nudge(cell, session->handle);
}
