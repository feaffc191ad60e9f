/*
 * agent.c - starts the agent driver of reckon ask, sends questions and handles events.
 *
 * Runs in:  reckon ask.
 * Reads:    text of a model, which show.c escapes.
 * Never:    keeps the key once the agent has it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"
#include "cli/session/interrupt.h"

#define LINE_MAX_BYTES 8192

/* An agent_client_open_fn. */
static int open_output(const char *handle, int *ret_fd, struct err *err, void *arg)
{
	struct ask *ask = arg;

	return ask->view.session->ops->open_output(ask->view.session, handle, ret_fd, err);
}

/* An agent_client_look_fn. */
static char look(const char *name, void *arg)
{
	return ask_file_is_there(arg, name);
}

static int ready(struct err *err, void *arg)
{
	struct ask *ask = arg;

	return ask_settings_tell(ask, err) < 0 ? (int)err->code : ask_past_tell(ask, err);
}

static void on_event(const struct driver_event *event, void *arg)
{
	struct ask *ask = arg;

	if (event->kind == DRIVER_EVENT_THOUGHT) {
		ask_thoughts_add(ask, event->text, event->len);
		return;
	}
	ask_status_clear(ask);
	if (event->kind != DRIVER_EVENT_SEALED)
		ask_thoughts_fold(ask);
	switch (event->kind) {
	case DRIVER_EVENT_TEXT:
		ask_show_text(ask, event->text, event->len);
		return;
	case DRIVER_EVENT_NOTICE:
		ask_show_notice(ask, event->text, event->len);
		return;
	case DRIVER_EVENT_TURN:
		ask_keep_usage(ask);
		return;
	case DRIVER_EVENT_DISCARD:
		ask_show_break(ask);
		ask_show_notice(ask, event->text, event->len);
		return;
	case DRIVER_EVENT_SEALED:
	case DRIVER_EVENT_THOUGHT: /* not printed */
	case DRIVER_EVENT_CODE:	   /* printed later, as a whole */
		return;
	}
}

static bool wants_stop(void *arg)
{
	(void)arg;
	return interrupt_count() > 0;
}

static const struct driver_ops ops = {
	.event = on_event,
	.ready = ready,
	.begin = ask_step_begin,
	.approve = ask_step_approve,
	.execute = ask_step_execute,
	.end = ask_step_end,
	.session = ask_step_session,
	.wants_stop = wants_stop,
	.look = look,
	.open_output = open_output,
};

int ask_agent_start(struct ask *ask, struct err *err)
{
	struct agent_client_model model = {
		.settings = ask->settings,
		.model = ask->model,
		.base_url = ask->base_url,
		.key = ask->key,
		.headers = ask->headers,
		.language = ask->view.run.language,
	};
	char path[PATH_MAX];

	driver_init(&ask->driver, &ops, ask, 0);
	agent_client_network(&model);
	if (cli_libexec_path("reckon-agent", path, err) < 0 ||
	    driver_open(&ask->driver, path, &model, err) < 0)
		return (int)err->code;
	/* The agent has its own copy of the key now. */
	explicit_bzero(ask->key, strlen(ask->key));
	return 0;
}

void ask_agent_end(struct ask *ask)
{
	driver_close(&ask->driver);
}

static char *describe(const struct run_file *file)
{
	cleanup_buf struct buf line = BUF_INIT(LINE_MAX_BYTES);
	char size[CLI_SIZE_TEXT] = "?";
	struct stat st;
	struct err full; /* cannot happen: a name is shorter */

	if (fstat(file->fd, &st) == 0)
		cli_format_size((uint64_t)st.st_size, size);
	(void)buf_addf(&line, &full, "%s (%s)", file->name, size);
	return mem_strdup(buf_text(&line));
}

/* Asks the last question again with its images; the model gets the rest as history. */
static int go_on(struct ask *ask, struct err *err)
{
	struct ask_images images;
	int rc;

	ask_images_read(ask, 0, &images);
	rc = ask_images_recall(ask, &images, err);
	if (rc == 0)
		rc = driver_resume(&ask->driver, images.list, images.count, err);
	ask_images_done(&images);
	return rc;
}

static int ask_new(struct ask *ask, struct err *err)
{
	const struct run *run = &ask->view.run;
	/* Files of earlier questions are named in the history. */
	const bool is_new = !ask->resume.is_history_sent, has_past = !ask_past_is_empty(ask);
	const size_t count = is_new && !has_past    ? run->file_count
			     : ask->has_named_files ? 0
						    : ask->new_files;
	struct ask_images images;
	char **files = mem_new0(count + 1, sizeof(*files));
	struct driver_question question = {
		.text = buf_text(&ask->question),
		.len = ask->question.len,
		.files = (const char *const *)files,
		.file_count = count,
	};
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		files[i] = describe(&run->files[i]);
	ask_images_read(ask, count < ask->new_files ? count : ask->new_files, &images);
	if (is_new && has_past)
		rc = ask_images_recall(ask, &images, err);
	ask->has_named_files = true;
	question.images = images.list;
	question.image_count = images.count;
	/* If the agent is not ready yet, the history of a first question is sent later. */
	if (rc == 0 && ask->driver.state == DRIVER_IDLE)
		rc = ask_past_tell(ask, err);
	if (rc == 0)
		rc = driver_ask(&ask->driver, &question, err);
	for (size_t i = 0; i < count; i++)
		free(files[i]);
	free(files);
	ask_images_done(&images);
	return rc;
}

int ask_agent_question(struct ask *ask, struct err *err)
{
	return ask->resume.is_open ? go_on(ask, err) : ask_new(ask, err);
}
