/*
 * agent.c - a conversation with a model in a session: sends questions, runs cells, returns answers.
 *
 * Runs in:  libreckon.
 * Reads:    frames of reckon-agent, which src/agent_client has checked; text of a model.
 * Never:    talks to the model itself, or stores a key.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "lib/agent/agent.h"
#include "lib/api.h"
#include "lib/execution/execution.h"
#include "lib/launch.h"
#include "lib/session/session.h"
#include "lib/record/text.h"
#include "reckon_files.h"

#define QUESTION_MAX ((size_t)1024 * 1024)
#define FILES_MAX 1000u

struct reckon_agent {
	reckon_session *session;
	struct driver driver;
	struct agent_settings settings;
	char *model; /* PROTOCOL/NAME */
	uint64_t text_bytes;
	int wake_fd;		/* written by reckon_agent_interrupt() */
	atomic_int is_asking;
	atomic_int is_stopped;	/* the question must end */
	bool is_gone;
	/* of the question that is being answered */
	reckon_ask_options ask;
	struct buf text; /* of the event that is being reported */
};

/* ---- ---- events ------------------------------------------------------------------------ */

static int emit(reckon_agent *agent, reckon_agent_event *event)
{
	int decision;

	if (agent->ask.on_event == NULL)
		return RECKON_CONTINUE;
	event->step = agent->driver.step;
	decision = agent->ask.on_event(event, agent->ask.on_event_arg);
	if (decision == RECKON_STOP)
		reckon_agent_interrupt(agent);
	return decision;
}

/* Copies UTF-8 unchanged; replaces anything else. */
static void read_text(const char *text, size_t len, struct buf *ret)
{
	struct err full; /* its ceiling is the size of a frame */

	buf_clear(ret);
	if (utf8_is_valid(text, len) && memchr(text, '\0', len) == NULL)
		(void)buf_add(ret, text, len, &full);
	else
		text_plain(text, len, ret);
}

static int emit_text(reckon_agent *agent, int kind, size_t call, const char *text, size_t len)
{
	reckon_agent_event event = { .kind = kind, .call = call };

	read_text(text, len, &agent->text);
	event.text = buf_text(&agent->text);
	event.text_len = agent->text.len;
	return emit(agent, &event);
}

static void emit_turn(reckon_agent *agent)
{
	reckon_agent_usage usage = { .size = sizeof(usage) };
	reckon_agent_event event = { .kind = RECKON_AGENT_TURN, .usage = &usage };

	answer_usage(&agent->driver.usage, &usage);
	(void)emit(agent, &event);
}

static void on_event(const struct driver_event *event, void *arg)
{
	static const int kinds[] = { [DRIVER_EVENT_TEXT] = RECKON_AGENT_TEXT,
				     [DRIVER_EVENT_THOUGHT] = RECKON_AGENT_THOUGHT,
				     [DRIVER_EVENT_NOTICE] = RECKON_AGENT_NOTICE,
				     [DRIVER_EVENT_CODE] = RECKON_AGENT_CODE,
				     [DRIVER_EVENT_DISCARD] = RECKON_AGENT_DISCARD };

	if (event->kind == DRIVER_EVENT_TURN)
		emit_turn(arg);
	else if (event->kind != DRIVER_EVENT_SEALED) /* the conversation contains it */
		(void)emit_text(arg, kinds[event->kind], event->call, event->text, event->len);
}

static int forward(const reckon_event *output, void *arg)
{
	reckon_agent_event event = { .kind = RECKON_AGENT_OUTPUT, .output = output };

	return emit(arg, &event) == RECKON_STOP ? RECKON_STOP : RECKON_CONTINUE;
}

/* ---- a cell ----------------------------------------------------------------------------- */

static const char *approve(const struct driver_cell *cell, void *arg)
{
	return emit_text(arg, RECKON_AGENT_CELL, 0, cell->code, cell->len) == RECKON_REFUSE
		       ? "This cell was not allowed to run. Take another way, or say what you "
			 "would need it for."
		       : NULL;
}

static void read_result(const reckon_execution *execution, struct agent_client_result *ret)
{
	reckon_image image;
	unsigned same;

	*ret = (struct agent_client_result){ .status = reckon_execution_status(execution) };
	ret->repeat = reckon_execution_repeat(execution, &same);
	ret->same = same;
	ret->text = reckon_execution_text(execution, &ret->len);
	while (ret->image_count < AGENT_IMAGES_MAX &&
	       reckon_execution_image(execution, ret->image_count, &image) == 1)
		ret->images[ret->image_count++] = (struct agent_client_image){
			.mime = image.mime, .bytes = image.bytes, .len = image.len
		};
	while (ret->handle_count < AGENT_CLIENT_HANDLES_MAX) {
		const char *handle = execution_handle(execution, ret->handle_count);

		if (handle == NULL)
			break;
		ret->handles[ret->handle_count++] = handle;
	}
}

static struct outcome_file *read_files(const reckon_execution *execution, size_t *ret_count)
{
	struct outcome_file *files = NULL;
	reckon_changed_file file;
	size_t count = 0;

	for (; reckon_execution_file(execution, count, &file) == 1; count++) {
		files = mem_grow(files, count + 1, sizeof(*files));
		files[count] = (struct outcome_file){
			.path = (char *)(uintptr_t)file.path,
			.mime = (char *)(uintptr_t)file.mime,
			.sha256 = (char *)(uintptr_t)file.sha256,
			.artifact = (char *)(uintptr_t)file.artifact,
			.size = file.bytes,
			.is_deleted = strcmp(file.change, "deleted") == 0,
		};
	}
	*ret_count = count;
	return files;
}

static int report(reckon_agent *agent, const reckon_execution *execution, struct err *err)
{
	struct driver_cell_end end = {
		.status = reckon_execution_status(execution),
		.record = reckon_execution_record(execution),
		.owner = execution,
	};
	struct outcome_file *files = read_files(execution, &end.file_count);
	int rc;

	end.files = files;
	read_result(execution, &end.result);
	rc = driver_cell_done(&agent->driver, &end, err);
	free(files);
	return rc;
}

static int execute(const struct driver_cell *cell, struct err *err, void *arg)
{
	reckon_agent *agent = arg;
	const reckon_execute_options options = {
		.size = sizeof(options),
		.on_event = forward,
		.on_event_arg = agent,
		.stdin_fd = -1,
		.text_bytes = agent->text_bytes,
		.wall_ms = driver_cell_limit_ms(&agent->driver, agent->session->limits.wall_ms,
						clock_mono_ns()),
	};
	reckon_execution *execution = NULL;
	reckon_error error;
	int rc = reckon_execute(agent->session, cell->code, cell->len, &options, &execution,
				&error);

	if (rc < 0)
		return driver_cell_refuse(&agent->driver,
					  rc == RECKON_ELOST ? "lost" : "infra_error",
					  error.message, err);
	rc = report(agent, execution, err);
	reckon_execution_free(execution);
	return rc;
}

static void on_cell_end(const struct driver_cell_end *end, void *arg)
{
	reckon_agent_event event = { .kind = RECKON_AGENT_RECORD, .execution = end->owner };

	if (end->owner != NULL)
		(void)emit(arg, &event);
}

static enum driver_session check_session(struct buf *note, struct err *err, void *arg)
{
	const reckon_agent *agent = arg;
	reckon_error lost;

	if (reckon_session_check(agent->session, &lost) != RECKON_ELOST)
		return DRIVER_SESSION_LIVE;
	return buf_adds(note, lost.message, err) == 0 ? DRIVER_SESSION_LOST
						      : DRIVER_SESSION_FAILED;
}

/* ---- a question ------------------------------------------------------------------------- */

static void drain_wake(const reckon_agent *agent)
{
	uint64_t count;

	if (read(agent->wake_fd, &count, sizeof(count)) < 0)
		return;
}

static bool wants_stop(void *arg)
{
	const reckon_agent *agent = arg;

	drain_wake(agent);
	return atomic_load(&agent->is_stopped) != 0;
}

/* An agent_client_open_fn. */
static int open_output(const char *handle, int *ret_fd, struct err *err, void *arg)
{
	const reckon_agent *agent = arg;
	uint64_t size;

	return store_open_object(agent->session->engine->store, handle, ret_fd, &size, err);
}

/* An agent_client_look_fn. */
static char look(const char *name, void *arg)
{
	const reckon_agent *agent = arg;
	cleanup_fd int fd = -1;
	reckon_error error;
	uint64_t size;
	const int rc = reckon_file_open(agent->session, name, &fd, &size, &error);

	return rc == RECKON_OK	       ? AGENT_FILE_THERE
	       : rc == RECKON_ENOT_FOUND ? AGENT_FILE_MISSING
					 : AGENT_FILE_UNKNOWN;
}

static const struct driver_ops ops = {
	.event = on_event,
	.approve = approve,
	.execute = execute,
	.end = on_cell_end,
	.session = check_session,
	.wants_stop = wants_stop,
	.look = look,
	.open_output = open_output,
};

/* ---- opening ---------------------------------------------------------------------------- */

static int start(reckon_agent *agent, const reckon_agent_options *options, struct err *err)
{
	struct agent_client_model model = {
		.settings = agent->settings,
		.model = options->model,
		.base_url = options->base_url,
		.key = options->key != NULL ? options->key : "",
		.language = agent->session->language->name,
		.ca_file = options->ca_file,
		.proxy = options->proxy,
		.no_proxy = options->no_proxy,
	};
	cleanup_free char *path = NULL;

	if (model.ca_file == NULL && model.proxy == NULL && model.no_proxy == NULL)
		agent_client_network(&model);
	agent->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (agent->wake_fd < 0)
		return err_sys(err, "eventfd");
	if (launch_find_sibling("reckon-agent", &path, err) < 0)
		return (int)err->code;
	return driver_open(&agent->driver, path, &model, err);
}

static char *name_model(const reckon_agent_options *options)
{
	const size_t size = strlen(options->protocol) + strlen(options->model) + 2;
	char *name = mem_new0(size, 1);

	(void)snprintf(name, size, "%s/%s", options->protocol, options->model);
	return name;
}

int reckon_agent_open(reckon_session *session, const reckon_agent_options *given,
		      reckon_agent **ret, reckon_error *err)
{
	reckon_agent_options options;
	struct agent_settings settings;
	reckon_agent *agent;
	struct err inner;

	if (session_check_box(session, &inner) < 0 ||
	    api_options("reckon_agent_options", &options, sizeof(options), given, &inner) < 0 ||
	    agent_read_settings(&options, &settings, &inner) < 0)
		return api_fail(err, &inner);
	agent = mem_new0(1, sizeof(*agent));
	agent->session = session;
	agent->settings = settings;
	agent->model = name_model(&options);
	agent->text_bytes = options.text_bytes;
	agent->wake_fd = -1;
	/* A byte that is not UTF-8 becomes three bytes. */
	agent->text = BUF_INIT(3 * (size_t)AGENT_ANSWER_MAX);
	driver_init(&agent->driver, &ops, agent, ANSWER_RECORDS_MAX);
	if (start(agent, &options, &inner) < 0) {
		reckon_agent_close(agent);
		return api_fail(err, &inner);
	}
	session->interrupt.stop_wanted = &agent->is_stopped;
	*ret = agent;
	return api_ok(err);
}

void reckon_agent_close(reckon_agent *agent)
{
	if (agent == NULL || atomic_load(&agent->is_asking) != 0)
		return;
	if (agent->session->interrupt.stop_wanted == &agent->is_stopped)
		agent->session->interrupt.stop_wanted = NULL;
	driver_done(&agent->driver);
	buf_done(&agent->text);
	if (agent->wake_fd >= 0)
		(void)close(agent->wake_fd);
	free(agent->model);
	free(agent);
}

/* May be called from a signal handler. */
void reckon_agent_interrupt(reckon_agent *agent)
{
	const uint64_t one = 1;
	const int saved = errno;

	if (atomic_load(&agent->is_asking) == 0)
		return;
	atomic_store(&agent->is_stopped, 1);
	/* A full counter means that the wake-up is already pending. */
	if (write(agent->wake_fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
		errno = saved;
	reckon_interrupt(agent->session);
	errno = saved;
}

static int check_free(const reckon_agent *agent, struct err *err)
{
	if (agent->is_gone)
		return err_set(err, ERR_LOST, "this conversation has ended");
	if (atomic_load(&agent->is_asking) != 0)
		return err_set(err, ERR_INVALID, "a question is being answered");
	return 0;
}

static int check_question(const char *question, struct err *err)
{
	const size_t len = question != NULL ? strlen(question) : 0;

	if (len == 0 || !utf8_is_valid(question, len))
		return err_set(err, ERR_INVALID, "a question is UTF-8 text");
	if (len > QUESTION_MAX)
		return err_set(err, ERR_LIMIT, "a question of %zu bytes; at most %zu", len,
			       QUESTION_MAX);
	return 0;
}

static char *describe(const reckon_agent *agent, const char *path)
{
	uint64_t size = 0;
	char *line;
	size_t room;
	int fd = -1;

	if (reckon_file_open(agent->session, path, &fd, &size, NULL) == RECKON_OK)
		(void)close(fd);
	room = strlen(path) + 40;
	line = mem_new0(room, 1);
	(void)snprintf(line, room, "%s (%" PRIu64 " bytes)", path, size);
	return line;
}

/* More of them are not named, which the model is told. */
static char *describe_rest(size_t count)
{
	char line[96];

	(void)snprintf(line, sizeof(line), "and %zu more, which are not named here", count);
	return mem_strdup(line);
}

static int put_question(reckon_agent *agent, const char *text, struct err *err)
{
	const char *const *given = agent->ask.files;
	struct driver_question question = { .text = text, .len = strlen(text) };
	char **files;
	size_t count = 0, total = 0;
	int rc;

	while (given != NULL && given[total] != NULL)
		total++;
	files = mem_new0(FILES_MAX + 1, sizeof(*files));
	for (; count < total && count < FILES_MAX; count++)
		files[count] = describe(agent, given[count]);
	if (total > count)
		files[count++] = describe_rest(total - FILES_MAX);
	question.files = (const char *const *)files;
	question.file_count = count;
	rc = driver_ask(&agent->driver, &question, err);
	for (size_t i = 0; i < count; i++)
		free(files[i]);
	free(files);
	return rc;
}

/* A request: a question, or results of the application's tools. */
struct request {
	const char *question; /* or NULL */
	const reckon_tool_result *results;
	size_t count;
};

static int put_results(reckon_agent *agent, const struct request *request, struct err *err)
{
	struct agent_client_tool_result results[AGENT_CALLS_MAX] = { 0 };

	if (request->count > AGENT_CALLS_MAX)
		return err_set(err, ERR_LIMIT, "%zu results; at most %u", request->count,
			       AGENT_CALLS_MAX);
	for (size_t i = 0; i < request->count; i++) {
		reckon_tool_result given;

		if (api_options("reckon_tool_result", &given, sizeof(given), &request->results[i],
				err) < 0)
			return (int)err->code;
		if (given.id == NULL || given.text == NULL || !utf8_is_valid(given.text,
									       strlen(given.text)))
			return err_set(err, ERR_INVALID, "a result has an id and UTF-8 text");
		results[i] = (struct agent_client_tool_result){ .call = given.id,
							    .text = given.text,
							    .len = strlen(given.text),
							    .failed = given.failed != 0 };
	}
	return driver_continue(&agent->driver, results, request->count, err);
}

static int converse(reckon_agent *agent, const struct request *request, struct err *err)
{
	enum driver_result result;

	if ((request->question != NULL ? put_question(agent, request->question, err)
				       : put_results(agent, request, err)) < 0)
		return (int)err->code;
	result = driver_run(&agent->driver, agent->wake_fd, err);
	return result == DRIVER_ENDED || result == DRIVER_PARKED ? 0 : (int)err->code;
}

static struct reckon_answer *take_answer(reckon_agent *agent, const char *question)
{
	struct reckon_answer *answer = answer_new();
	struct driver *driver = &agent->driver;
	struct err full; /* it is shorter than its ceiling */

	(void)buf_adds(&answer->question, question, &full);
	answer->model = mem_strdup(agent->model);
	answer->has_price = agent->settings.price_in > 0 || agent->settings.price_out > 0;
	answer->stop = driver->stop;
	answer->usage = driver->usage;
	memcpy(answer->message, driver->message, sizeof(answer->message));
	memcpy(answer->remedy, driver->remedy, sizeof(answer->remedy));
	answer->has_text = driver->has_answer;
	answer->checked = driver->checked;
	read_text(buf_text(&driver->answer), driver->answer.len, &answer->text);
	if (answer->text.len != driver->answer.len)
		answer->checked.listed = 0; /* their bytes have been overwritten */
	driver_take_outcome(driver, &answer->outcome);
	memcpy(answer->calls, driver->calls, sizeof(answer->calls));
	answer->call_count = driver->call_count;
	driver->call_count = 0; /* the answer owns them now */
	(void)buf_add(&answer->conversation, buf_text(&driver->conversation),
		      driver->conversation.len, &full);
	return answer;
}

static int ask(reckon_agent *agent, const struct request *request,
	       const reckon_ask_options *options, reckon_answer **ret, reckon_error *err)
{
	reckon_ask_options chosen;
	struct err inner;
	int rc;

	if (session_check_box(agent->session, &inner) < 0 ||
	    api_options("reckon_ask_options", &chosen, sizeof(chosen), options, &inner) < 0)
		return api_fail(err, &inner);
	agent->ask = chosen;
	drain_wake(agent);
	atomic_store(&agent->is_stopped, 0);
	atomic_store(&agent->is_asking, 1);
	rc = converse(agent, request, &inner);
	atomic_store(&agent->is_asking, 0);
	atomic_store(&agent->is_stopped, 0);
	agent->ask = (reckon_ask_options){ 0 };
	if (rc < 0) {
		/* If the request did not start, the agent is unchanged. */
		agent->is_gone = agent->driver.state != DRIVER_IDLE &&
				 agent->driver.state != DRIVER_STARTING;
		return api_fail(err, &inner);
	}
	*ret = take_answer(agent, request->question != NULL ? request->question : "");
	return api_ok(err);
}

int reckon_agent_ask(reckon_agent *agent, const char *question, const reckon_ask_options *options,
		     reckon_answer **ret, reckon_error *err)
{
	const struct request request = { .question = question };
	struct err inner;

	if (check_free(agent, &inner) < 0 || check_question(question, &inner) < 0)
		return api_fail(err, &inner);
	return ask(agent, &request, options, ret, err);
}

int reckon_agent_load(reckon_agent *agent, const char *json, size_t len, reckon_error *err)
{
	struct err inner;

	if (check_free(agent, &inner) < 0 || driver_load(&agent->driver, json, len, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

int reckon_agent_continue(reckon_agent *agent, const reckon_tool_result *results, size_t count,
			  const reckon_ask_options *options, reckon_answer **ret,
			  reckon_error *err)
{
	const struct request request = { .results = results, .count = count };
	struct err inner;

	if (check_free(agent, &inner) < 0)
		return api_fail(err, &inner);
	return ask(agent, &request, options, ret, err);
}
