/*
 * ask_step.c - a cell the model wants: allowed, run, reported back.
 *
 * Runs in:  reckon ask.
 * Reads:    code from the agent, which goes to the box as it is; records; a word of the person.
 * Never:    runs anything outside the box, or without the leave that was asked for.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "codec/json_read.h"

#define RESULT_MAX ((size_t)60 * 1024 * 1024)
#define LOST_NOTE                                                                                \
	"\nThe session was lost, with its variables and the files made in it. A new one has "      \
	"begun, in which the person's files are again."

int ask_session_open(struct ask *ask)
{
	const struct run *run = &ask->view.run;
	reckon_error error;
	int status = run_open_session(run, "ask", ask->view.engine, &ask->view.session);

	if (status != EXIT_CODE_OK)
		return status;
	ask->view.output.session = ask->view.session;
	for (size_t i = 0; i < run->file_count; i++) {
		(void)lseek(run->files[i].fd, 0, SEEK_SET);
		if (reckon_file_put(ask->view.session, run->files[i].name, run->files[i].fd,
				    &error) < 0)
			return cli_complain_reckon(run->files[i].path, &error);
	}
	return EXIT_CODE_OK;
}

/* ---- leave to run ---- */

static bool has_writable_mount(const struct ask *ask)
{
	for (size_t i = 0; i < ask->view.run.mount_count; i++)
		if (ask->view.run.mounts[i].writable)
			return true;
	return false;
}

static bool must_ask(const struct ask *ask)
{
	if (ask->approved_all)
		return false;
	return ask->approve == ASK_APPROVE_ALWAYS ||
	       (ask->approve == ASK_APPROVE_WRITES && has_writable_mount(ask));
}

/* 'y', 'n', 'a' or 'q' (also at the end of input, and after Ctrl-C). */
static char ask_person(void)
{
	static const char words[] = "Run it? [y]es, [n]o, [a]ll from here on, [q]uit: ";
	cleanup_fd int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	char line[64];

	if (fd < 0)
		return 'q';
	for (;;) {
		ssize_t n;

		if (write(fd, words, sizeof(words) - 1) < 0)
			return 'q';
		n = read(fd, line, sizeof(line));
		if (n <= 0)
			return 'q';
		if (strchr("ynaq", line[0]) != NULL)
			return line[0];
	}
}

/* ---- what goes back ---- */

static int pack_image(struct buf *payload, const char *mime, const struct json_value *data,
		      struct err *err)
{
	cleanup_buf struct buf image = BUF_INIT(AGENT_IMAGE_MAX + 64);
	struct err full;
	size_t len;
	const char *text = json_read_text(json_read_member(data, mime), &len);

	/* One too large for a model is still in `text`, as a line. */
	if (text == NULL || len > AGENT_IMAGE_MAX)
		return 0;
	if (buf_add(&image, mime, strlen(mime) + 1, &full) < 0 ||
	    buf_add(&image, text, len, &full) < 0)
		return 0;
	return agent_pack(payload, AGENT_TAG_IMAGE, image.data, image.len, err) < 0
		       ? (int)err->code
		       : 1;
}

static int pack_images(struct buf *payload, const struct json_value *record, struct err *err)
{
	static const char *const mimes[] = { "image/png", "image/jpeg", "image/webp", "image/gif" };
	const struct json_value *results = json_read_member(record, "results");
	unsigned count = 0;

	for (size_t i = 0; i < json_read_count(results) && count < AGENT_IMAGES_MAX; i++) {
		const struct json_value *data =
			json_read_member(json_read_at(results, i), "data");
		int rc = 0;

		for (size_t j = 0; j < ARRAY_LEN(mimes) && rc == 0; j++)
			rc = pack_image(payload, mimes[j], data, err);
		if (rc < 0)
			return rc;
		count += (unsigned)rc;
	}
	return 0;
}

static int send_result(struct ask *ask, const char *status, const char *text, size_t len,
		       const struct json_value *record, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(RESULT_MAX);
	int64_t count;

	if (len > AGENT_RESULT_MAX) {
		len = AGENT_RESULT_MAX;
		len -= utf8_incomplete_tail(text, len);
	}
	if (agent_pack_text(&payload, AGENT_TAG_STATUS, status, err) < 0 ||
	    agent_pack(&payload, AGENT_TAG_TEXT, text, len, err) < 0)
		return (int)err->code;
	if (json_read_int(json_read_member(json_read_member(record, "repeat"), "count"), &count) &&
	    count > 0 && agent_pack_u64(&payload, AGENT_TAG_REPEAT, (uint64_t)count, err) < 0)
		return (int)err->code;
	if (ask->settings.images != 0 && pack_images(&payload, record, err) < 0)
		return (int)err->code;
	/* What the person wants comes first: the agent then ends after this cell. */
	if (ask_interrupts() > 0 && !ask->told_interrupt) {
		ask->told_interrupt = true;
		if (agent_send(ask->sock, AGENT_INTERRUPT, 0, NULL, err) < 0)
			return (int)err->code;
	}
	ask->state = AGENT_STATE_THINKING;
	return agent_send(ask->sock, AGENT_RESULT, ask->head.id, &payload, err);
}

static int refuse(struct ask *ask, const char *why, struct err *err)
{
	return send_result(ask, "refused", why, strlen(why), NULL, err);
}

/* A kernel that died took its session along: the model goes on in a new one. */
static int replace_session(struct ask *ask, struct buf *text, struct err *err)
{
	reckon_error error;

	if (reckon_session_check(ask->view.session, &error) == RECKON_OK)
		return 0;
	ask_lend(NULL);
	reckon_session_close(ask->view.session);
	ask->view.session = NULL;
	if (ask_session_open(ask) != EXIT_CODE_OK)
		return err_set(err, ERR_LOST, "the session was lost, and no new one can be opened");
	ask_lend(ask->view.session);
	return buf_adds(text, LOST_NOTE, err);
}

static int report(struct ask *ask, const reckon_execution *execution, struct err *err)
{
	const char *json = reckon_execution_record(execution);
	cleanup_buf struct buf text = BUF_INIT(RUN_JSON_MAX);
	struct json_value *record = NULL;
	const char *shaped;
	size_t len = 0;
	int rc;

	if (json_read_parse(json, strlen(json), RUN_JSON_MAX, &record, err) < 0)
		return err_wrap(err, "record");
	ask_show_record(ask, record);
	shaped = json_read_text(json_read_member(record, "text"), &len);
	rc = buf_add(&text, shaped != NULL ? shaped : "", len, err);
	if (rc == 0)
		rc = replace_session(ask, &text, err);
	if (rc == 0)
		rc = send_result(ask, reckon_execution_status(execution), buf_text(&text), text.len,
				 record, err);
	json_read_free(record);
	return rc;
}

static struct ask_step *note_step(struct ask *ask, const char *code, size_t len)
{
	struct ask_step *step;

	ask->steps = mem_grow(ask->steps, ask->step_count + 1, sizeof(*ask->steps));
	step = &ask->steps[ask->step_count++];
	step->code = mem_new0(len + 1, 1);
	step->record = NULL;
	step->prose = mem_strdup(buf_text(&ask->prose));
	memcpy(step->code, code, len);
	return step;
}

static void note_record(struct ask *ask, struct ask_step *step, const reckon_execution *execution)
{
	const char *json = reckon_execution_record(execution);
	const size_t len = strlen(json);

	if (ask->record_bytes + len > ASK_RECORDS_MAX)
		return;
	ask->record_bytes += len;
	step->record = mem_strdup(json);
}

static int execute(struct ask *ask, struct ask_step *step, size_t len, struct err *err)
{
	const reckon_execute_options options = {
		.size = sizeof(options),
		.on_event = ask_show_event,
		.on_event_arg = ask,
		.stdin_fd = -1,
		.text_bytes = ask->view.run.text_bytes,
	};
	reckon_execution *execution = NULL;
	reckon_error error;
	int rc;

	if (reckon_execute(ask->view.session, step->code, len, &options, &execution, &error) < 0) {
		err_set(err, (enum err_code)error.code, "%s", error.message);
		return err_remedy(err, "%s", error.remedy);
	}
	note_record(ask, step, execution);
	rc = report(ask, execution, err);
	reckon_execution_free(execution);
	return rc;
}

int ask_step(struct ask *ask, struct err *err)
{
	const struct kernel_item *code = agent_find(ask->items, ask->item_count, AGENT_TAG_CODE);
	struct ask_step *step;
	struct err why;

	ask->state = AGENT_STATE_RUNNING;
	step = note_step(ask, code->data, code->len);
	ask_show_turn(ask);
	ask->view.number = ask->view.output.cell = ask->step_count;
	ask->view.figures = 0;
	ask_show_code(ask, code->data, code->len);
	if (run_input_check_source(code->data, code->len, &why) < 0)
		return refuse(ask, why.text, err);
	switch (must_ask(ask) ? ask_person() : 'y') {
	case 'n':
		return refuse(ask, "The person did not allow this cell to run. Take another way, "
				   "or say what you would need it for.", err);
	case 'a':
		ask->approved_all = true;
		break;
	case 'q':
		raise(SIGINT);
		return refuse(ask, "The person ended the session.", err);
	default:
		break;
	}
	return execute(ask, step, code->len, err);
}
