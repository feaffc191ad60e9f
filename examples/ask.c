/*
 * ask.c - a C program that asks a model about files; the model runs code to answer.
 *
 * Runs in:  your program; build with `cc ask.c -lreckon`.
 * Reads:    the files in its arguments; OPENAI_API_KEY, OPENAI_BASE_URL, MODEL.
 * Never:    sends more of this host than the question and the output of the model's cells.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <reckon_agent.h>

static reckon_agent *agent; /* for the handler of Ctrl-C */

static void stop(int signo)
{
	(void)signo;
	reckon_agent_interrupt(agent);
}

static int complain(const reckon_error *err)
{
	fprintf(stderr, "%s\n%s\n", err->message, err->remedy);
	return 125;
}

/* Prints progress to stderr, but not the code itself, because a model may write anything. */
static int show(const reckon_agent_event *event, void *arg)
{
	(void)arg;
	if (event->kind == RECKON_AGENT_CELL)
		fprintf(stderr, "cell %zu: %zu bytes of code\n", event->step + 1, event->text_len);
	else if (event->kind == RECKON_AGENT_RECORD)
		fprintf(stderr, "cell %zu: %s\n", event->step + 1,
			reckon_execution_status(event->execution));
	return RECKON_CONTINUE;
}

static int ask(reckon_session *session, const char *question, const char *const *files)
{
	const char *base_url = getenv("OPENAI_BASE_URL");
	const reckon_agent_options options = {
		.size = sizeof(options),
		.protocol = "chat",
		.model = getenv("MODEL"),
		.base_url = base_url != NULL ? base_url : "https://api.openai.com/v1",
		.key = getenv("OPENAI_API_KEY"),
		.max_steps = 12,
	};
	const reckon_ask_options how = { .size = sizeof(how), .on_event = show, .files = files };
	reckon_answer *answer = NULL;
	reckon_error err;
	char *json = NULL;
	int status = 125;

	if (reckon_agent_open(session, &options, &agent, &err) < 0)
		return complain(&err);
	signal(SIGINT, stop);
	if (reckon_agent_ask(agent, question, &how, &answer, &err) < 0 ||
	    reckon_answer_json(answer, &json, &err) < 0) {
		(void)complain(&err);
	} else {
		puts(json);
		status = strcmp(reckon_answer_stop(answer), "answer") == 0 ? 0 : 3;
	}
	signal(SIGINT, SIG_DFL);
	free(json);
	reckon_answer_free(answer);
	reckon_agent_close(agent);
	return status;
}

/* Copies a file into the workspace, under its own name. */
static int put(reckon_session *session, const char *path, reckon_error *err)
{
	const char *slash = strrchr(path, '/');
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd < 0) {
		perror(path);
		exit(2);
	}
	rc = reckon_file_put(session, slash != NULL ? slash + 1 : path, fd, err);
	close(fd);
	return rc;
}

int main(int argc, char **argv)
{
	reckon_engine *engine = NULL;
	reckon_session *session = NULL;
	reckon_error err;
	int status = 125, rc;

	if (argc < 2 || strcmp(argv[1], "--help") == 0) {
		printf("usage: MODEL=NAME %s QUESTION [FILE]... (prints the answer as JSON)\n",
		       argv[0]);
		return argc < 2 ? 2 : 0;
	}
	rc = reckon_engine_open(NULL, &engine, &err);
	if (rc == RECKON_OK)
		rc = reckon_session_open(engine, NULL, &session, &err);
	for (int i = 2; i < argc && rc == RECKON_OK; i++) {
		rc = put(session, argv[i], &err);
		argv[i] = strrchr(argv[i], '/') != NULL ? strrchr(argv[i], '/') + 1 : argv[i];
	}
	status = rc == RECKON_OK ? ask(session, argv[1], (const char *const *)argv + 2)
				 : complain(&err);
	reckon_session_close(session);
	reckon_engine_close(engine);
	return status;
}
