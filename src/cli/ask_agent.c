/*
 * ask_agent.c - what reckon-agent is told of a question, and how it is listened to.
 *
 * Runs in:  reckon ask.
 * Reads:    frames of the agent, which src/converse has checked.
 * Never:    keeps the key once the agent has it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/ask.h"
#include "cli/cli.h"

#define POLL_MS 100
#define LINE_MAX_BYTES 8192

/* A converse_open_fn. */
static int open_output(const char *handle, int *ret_fd, struct err *err, void *arg)
{
	struct ask *ask = arg;

	return ask->place->open_output(ask, handle, ret_fd, err);
}

int ask_agent_start(struct ask *ask, struct err *err)
{
	struct converse_model model = {
		.settings = ask->settings,
		.model = ask->model,
		.base_url = ask->base_url,
		.key = ask->key,
		.language = ask->view.run.language,
	};
	char path[PATH_MAX];

	converse_network(&model);
	if (cli_libexec_path("reckon-agent", path, err) < 0 ||
	    converse_open(path, &model, &ask->talk, err) < 0)
		return (int)err->code;
	converse_pages(ask->talk, open_output, ask);
	/* It has a copy now; ours is not needed any more. */
	explicit_bzero(ask->key, strlen(ask->key));
	return 0;
}

void ask_agent_end(struct ask *ask)
{
	converse_close(TAKE_PTR(ask->talk));
}

static char *describe(const struct run_file *file)
{
	cleanup_buf struct buf line = BUF_INIT(LINE_MAX_BYTES);
	char size[CLI_SIZE_TEXT] = "?";
	struct stat st;
	struct err full; /* a name is shorter */

	if (fstat(file->fd, &st) == 0)
		cli_format_size((uint64_t)st.st_size, size);
	(void)buf_addf(&line, &full, "%s (%s)", file->name, size);
	return mem_strdup(buf_text(&line));
}

int ask_agent_question(struct ask *ask, struct err *err)
{
	const struct run *run = &ask->view.run;
	const size_t count = ask->said_files ? 0 : ask->new_files;
	char **files;
	int rc;

	if (ask_past_tell(ask, err) < 0)
		return (int)err->code;
	files = mem_new0(count + 1, sizeof(*files));
	for (size_t i = 0; i < count; i++)
		files[i] = describe(&run->files[i]);
	ask->said_files = true;
	rc = converse_ask(ask->talk, buf_text(&ask->question), ask->question.len,
			  (const char *const *)files, count, err);
	for (size_t i = 0; i < count; i++)
		free(files[i]);
	free(files);
	return rc;
}

int ask_agent_receive(struct ask *ask, struct err *err)
{
	for (;;) {
		int rc;

		if (ask_interrupts() > 0 && converse_interrupt(ask->talk, err) < 0)
			return (int)err->code;
		rc = converse_take(ask->talk, &ask->frame, err);
		if (rc != 0)
			return rc < 0 ? rc : 0;
		converse_wait(ask->talk, -1, POLL_MS);
	}
}
