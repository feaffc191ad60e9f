/*
 * ask_keep.c - what happens, noted as it happens: in memory, and on the disk when runs are kept.
 *
 * Runs in:  reckon ask, reckon chat.
 * Reads:    what a person asked, a model said and a box printed.
 * Never:    notes a key; lets a run fail because it cannot be kept (it says so, once).
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/runs.h"

#define NOT_KEPT "-"

static void give_up(struct ask *ask, struct err *err)
{
	struct ask_keep *keep = &ask->keep;

	if (keep->fd >= 0)
		(void)close(TAKE_FD(keep->fd));
	if (!keep->gave_up)
		run_output_line("reckon: the run is not kept from here on: %s", err->text);
	keep->gave_up = true;
}

/* The disk comes first: what is in memory may be shown to the person next. */
static void store(struct ask *ask, const struct buf *line)
{
	struct err err;

	if (ask->keep.fd >= 0 && runs_append(ask->keep.fd, line, &err) < 0)
		give_up(ask, &err);
}

/* A line into both; `rc` is how writing it went. */
static int put(struct ask *ask, const struct buf *line, int rc, struct err *err)
{
	if (rc == 0)
		rc = story_read(&ask->keep.story, buf_text(line), line->len, err);
	if (rc == 0)
		store(ask, line);
	return rc;
}

static void put_or_give_up(struct ask *ask, const struct buf *line, int rc, struct err *err)
{
	if (put(ask, line, rc, err) < 0)
		give_up(ask, err);
}

/* ---- how it begins ---- */

static int make_run(struct ask *ask, char id[STORY_ID_SIZE], struct err *err)
{
	cleanup_fd int dir = -1;
	size_t removed;

	if (runs_open(true, &dir, err) < 0 ||
	    runs_prune(dir, RUNS_COUNT_MAX - 1, RUNS_BYTES_MAX, &removed, err) < 0)
		return (int)err->code;
	return runs_new(dir, id, &ask->keep.fd, err);
}

static void note_run(struct ask *ask)
{
	cleanup_buf struct buf line = BUF_INIT(STORY_LINE_MAX);
	struct story *story = &ask->keep.story;
	char id[STORY_ID_SIZE] = NOT_KEPT;
	struct err err;
	int rc;

	if (story->lines > 0) /* one that is gone on with */
		return;
	if (!ask->keep.off && make_run(ask, id, &err) < 0)
		give_up(ask, &err);
	rc = story_write_run(&line, id, ask->is_chat ? "chat" : "ask", &err);
	put_or_give_up(ask, &line, rc, &err);
	if (strcmp(story->id, NOT_KEPT) == 0)
		story->id[0] = '\0';
}

/* An address may hold a name and a password. */
static char *without_user(const char *url)
{
	const char *start = strstr(url, "://"), *at;
	char *clean = mem_strdup(url);

	if (start == NULL)
		return clean;
	start += 3;
	at = memrchr(start, '@', strcspn(start, "/?#"));
	if (at != NULL)
		memmove(clean + (start - url), clean + (at + 1 - url), strlen(at + 1) + 1);
	clean[strcspn(clean, "?#")] = '\0';
	return clean;
}

static void note_setting(struct ask *ask)
{
	static const char *const callings[] = { "tools", "fenced", "schema" };
	cleanup_buf struct buf line = BUF_INIT(STORY_LINE_MAX), model = BUF_INIT(4096);
	cleanup_free char *url = ask->has_own_url ? without_user(ask->base_url) : NULL;
	const struct run *run = &ask->view.run;
	const struct story_setting setting = {
		.base_url = url,
		.language = run->language != NULL ? run->language : "python",
		.template_name = run->template_name,
		.calling = callings[ask->settings.calling % ARRAY_LEN(callings)],
		.settings = &ask->settings,
	};
	struct story_setting whole = setting;
	struct err err;
	int rc = buf_addf(&model, &err, "%s/%s", ask->provider, ask->model);

	whole.model = buf_text(&model);
	if (rc == 0)
		rc = story_write_setting(&line, &whole, &err);
	put_or_give_up(ask, &line, rc, &err);
}

void ask_keep_file(struct ask *ask, const struct run_file *file)
{
	cleanup_buf struct buf line = BUF_INIT(STORY_LINE_MAX);
	cleanup_free char *path = realpath(file->path, NULL);
	struct err err;

	if (path != NULL)
		put_or_give_up(ask, &line, story_write_file(&line, path, file->name, &err), &err);
}

void ask_keep_session(struct ask *ask, const char *id, const char *name, const char *url)
{
	cleanup_buf struct buf line = BUF_INIT(STORY_LINE_MAX);
	cleanup_free char *clean = url != NULL ? without_user(url) : NULL;
	struct err err;

	put_or_give_up(ask, &line, story_write_session(&line, id, name, clean, &err), &err);
}

static void begin(struct ask *ask)
{
	const struct run *run = &ask->view.run;

	ask->keep.begun = true;
	note_run(ask);
	note_setting(ask);
	ask_keep_session(ask, NULL, NULL, NULL);
	for (size_t i = 0; i < run->file_count; i++)
		ask_keep_file(ask, &run->files[i]);
}

/* ---- what happens ---- */

static void note_text(struct ask *ask, enum story_kind kind, const char *text, size_t len)
{
	cleanup_buf struct buf line = BUF_INIT(STORY_LINE_MAX);
	struct err err;

	put_or_give_up(ask, &line, story_write_text(&line, kind, text, len, &err), &err);
}

void ask_keep_question(struct ask *ask)
{
	if (!ask->keep.begun)
		begin(ask);
	note_text(ask, STORY_QUESTION, buf_text(&ask->question), ask->question.len);
}

void ask_keep_note(struct ask *ask, const char *text)
{
	note_text(ask, STORY_NOTE, text, strlen(text));
}

void ask_keep_usage(struct ask *ask)
{
	cleanup_buf struct buf line = BUF_INIT(STORY_LINE_MAX);
	struct err err;

	put_or_give_up(ask, &line,
		       story_write_usage(&line, &ask->usage, ask_has_price(ask), &err), &err);
}

size_t ask_keep_cell(struct ask *ask, const char *code, size_t len)
{
	cleanup_buf struct buf line = BUF_INIT(STORY_LINE_MAX);
	const size_t number = ask->keep.story.cell_count + 1;
	struct err err;

	if (ask->prose.len > 0)
		note_text(ask, STORY_SAID, ask->prose.data, ask->prose.len);
	put_or_give_up(ask, &line, story_write_cell(&line, number, code, len, &err), &err);
	return number;
}

void ask_keep_brief(struct ask *ask, size_t number, const char *status, const char *text,
		    size_t len, uint64_t left_out)
{
	const struct story_brief brief = { status, text, len, left_out };
	cleanup_buf struct buf line = BUF_INIT(STORY_LINE_MAX);
	struct err err;

	put_or_give_up(ask, &line, story_write_brief(&line, number, &brief, &err), &err);
}

void ask_keep_record(struct ask *ask, size_t number, const char *record,
		     const struct converse_result *result)
{
	cleanup_buf struct buf line = BUF_INIT(STORY_LINE_MAX);
	struct story *story = &ask->keep.story;
	const size_t len = strlen(record);
	struct story_item *cell;
	struct err err;

	if (len <= STORY_RECORD_MAX && story->bytes + len <= STORY_WHOLE_MAX &&
	    put(ask, &line, story_write_record(&line, number, record, len, &err), &err) == 0) {
		/* As it was spelt, which reading and writing numbers again does not keep. */
		cell = story_cell(story, number);
		free(cell->record);
		cell->record = mem_strdup(record);
		return;
	}
	ask_keep_brief(ask, number, result->status, result->text, result->len, len);
}

void ask_keep_answer(struct ask *ask)
{
	const struct story_end end = {
		.text = ask->answer.len > 0 ? ask->answer.data : NULL,
		.len = ask->answer.len,
		.stop = ask->stop,
		.message = ask->why.text[0] != '\0' ? ask->why.text : NULL,
		.usage = &ask->usage,
		.has_cost = ask_has_price(ask),
	};
	cleanup_buf struct buf line = BUF_INIT(STORY_LINE_MAX);
	struct err err;

	put_or_give_up(ask, &line, story_write_answer(&line, &end, &err), &err);
}

/* ---- how it ends ---- */

int ask_save(struct ask *ask)
{
	const char *path = ask->save_path;
	struct err err;

	if (path == NULL)
		return EXIT_CODE_OK;
	if (story_save(&ask->keep.story, path, !ask->is_chat, ask->view.run.out_path, &err) == 0) {
		if (!ask->json)
			run_output_line("saved as %s", path);
		return EXIT_CODE_OK;
	}
	err_wrap(&err, "ask: --save %.200s", path);
	(void)cli_complain(&err);
	return EXIT_CODE_RECKON;
}

int ask_json_print(const struct ask *ask)
{
	cleanup_buf struct buf out = BUF_INIT(STORY_FORM_MAX);
	const struct story *story = &ask->keep.story;
	struct err err;

	if (story->question_count == 0)
		return EXIT_CODE_RECKON; /* which was said: nothing could be noted */
	if (story_json_question(story, story->question_count - 1, ask->view.run.out_path, &out,
				&err) < 0)
		return cli_complain(&err);
	return cli_write_stdout(out.data, out.len);
}

void ask_keep_end(struct ask *ask)
{
	if (ask->keep.fd >= 0)
		(void)close(TAKE_FD(ask->keep.fd));
	story_done(&ask->keep.story);
}
