/*
 * agent.c - a conversation with a model in a session: questions in, cells run, answers out.
 *
 * Runs in:  libreckon.
 * Reads:    frames of reckon-agent, which src/converse has checked; words of a model.
 * Never:    speaks with the model itself, or keeps a key.
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
#include "lib/agent.h"
#include "lib/api.h"
#include "lib/execution.h"
#include "lib/launch.h"
#include "lib/session.h"
#include "lib/text.h"
#include "reckon_files.h"

#define STEPS 8u
#define STEPS_MAX 1000u
#define WALL_MS (UINT64_C(15) * 60 * 1000)
#define CONTEXT 100000u
#define ANSWER_TOKENS 8192u
#define RETRIES 4u
#define QUESTION_MAX ((size_t)1024 * 1024)
#define FILES_MAX 1000u
#define WAIT_MS 1000
/* An agent ends a question by itself. One that does not by so much later is taken for broken. */
#define GRACE_NS (UINT64_C(30) * 1000000000u)

struct reckon_agent {
	reckon_session *session;
	struct converse *talk;
	struct agent_settings settings;
	char *model; /* PROTOCOL/NAME */
	uint64_t text_bytes;
	int wake_fd;		/* written by reckon_agent_interrupt() */
	atomic_int is_asking;
	atomic_int is_stopped;	/* the question is to end */
	bool is_ready;
	bool is_gone;
};

/* One question. */
struct asking {
	reckon_agent *agent;
	reckon_ask_options options;
	struct reckon_answer *answer;
	struct buf prose; /* of the turn that is being written */
	struct buf text;  /* of the event that is told */
	size_t step;
	uint64_t deadline_ns;
};

/* ---- opening ---------------------------------------------------------------------------- */

static int choose(const char *what, const char *value, const char *const *words, size_t count,
		  uint64_t *ret, struct err *err)
{
	for (size_t i = 0; i < count; i++)
		if (value != NULL && strcmp(words[i], value) == 0) {
			*ret = i;
			return 0;
		}
	(void)err_set(err, ERR_INVALID, "%s is '%.40s'", what, value != NULL ? value : "");
	return err_remedy(err, "see reckon_agent.h for what it may be");
}

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
	return value != 0 ? value : otherwise;
}

static int read_settings(const reckon_agent_options *options, struct agent_settings *ret,
			 struct err *err)
{
	static const char *const protocols[AGENT_PROTOCOL_COUNT_] = { "chat", "responses",
								      "messages", "gemini" };
	static const char *const callings[AGENT_CALLING_COUNT_] = { "tools", "fenced", "schema" };
	const char *calling = options->calling != NULL ? options->calling : callings[0];

	*ret = (struct agent_settings){
		.images = options->images != 0,
		.steps_max = or_default(options->max_steps, STEPS),
		.tokens_max = options->max_tokens,
		.budget_micro = options->budget_micro,
		.wall_ms = or_default(options->wall_ms, WALL_MS),
		.context_tokens = or_default(options->context_tokens, CONTEXT),
		.answer_tokens = or_default(options->answer_tokens, ANSWER_TOKENS),
		.retries = or_default(options->retries, RETRIES),
		.price_in = options->price_in,
		.price_cached = options->price_cached,
		.price_out = options->price_out,
	};
	if (choose("protocol", options->protocol, protocols, ARRAY_LEN(protocols), &ret->protocol,
		   err) < 0 ||
	    choose("calling", calling, callings, ARRAY_LEN(callings), &ret->calling, err) < 0)
		return (int)err->code;
	if (ret->steps_max > STEPS_MAX)
		return err_set(err, ERR_INVALID, "max_steps is %" PRIu64 ", at most %u",
			       ret->steps_max, STEPS_MAX);
	if (options->text_bytes != 0 && (options->text_bytes < 1024 || options->text_bytes > 1048576))
		return err_set(err, ERR_INVALID, "text_bytes is %" PRIu64 ", from 1 KiB to 1 MiB",
			       options->text_bytes);
	if (ret->budget_micro > 0 && ret->price_in == 0 && ret->price_out == 0)
		return err_set(err, ERR_INVALID, "a budget needs prices");
	return 0;
}

static int check_place(const reckon_agent_options *options, struct err *err)
{
	const char *url = options->base_url;

	if (options->model == NULL || options->model[0] == '\0')
		return err_set(err, ERR_INVALID, "no model is named");
	if (url == NULL || (strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0)) {
		(void)err_set(err, ERR_INVALID, "base_url '%.100s' is no address",
			      url != NULL ? url : "");
		return err_remedy(err, "it begins with https:// or http://");
	}
	return 0;
}

/* A converse_open_fn. */
static int open_output(const char *handle, int *ret_fd, struct err *err, void *arg)
{
	uint64_t size;

	return store_open_object(arg, handle, ret_fd, &size, err);
}

static int start(reckon_agent *agent, const reckon_agent_options *options, struct err *err)
{
	struct converse_model model = {
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
		converse_network(&model);
	agent->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (agent->wake_fd < 0)
		return err_sys(err, "eventfd");
	if (launch_find_beside("reckon-agent", &path, err) < 0)
		return (int)err->code;
	if (converse_open(path, &model, &agent->talk, err) < 0)
		return (int)err->code;
	converse_pages(agent->talk, open_output, agent->session->engine->store);
	return 0;
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
	    read_settings(&options, &settings, &inner) < 0 || check_place(&options, &inner) < 0)
		return api_fail(err, &inner);
	agent = mem_new0(1, sizeof(*agent));
	agent->session = session;
	agent->settings = settings;
	agent->model = name_model(&options);
	agent->text_bytes = options.text_bytes;
	agent->wake_fd = -1;
	if (start(agent, &options, &inner) < 0) {
		reckon_agent_close(agent);
		return api_fail(err, &inner);
	}
	session->stop_wanted = &agent->is_stopped;
	*ret = agent;
	return api_ok(err);
}

void reckon_agent_close(reckon_agent *agent)
{
	if (agent == NULL || atomic_load(&agent->is_asking) != 0)
		return;
	if (agent->session->stop_wanted == &agent->is_stopped)
		agent->session->stop_wanted = NULL;
	converse_close(agent->talk);
	if (agent->wake_fd >= 0)
		(void)close(agent->wake_fd);
	free(agent->model);
	free(agent);
}

/* From a signal handler, too. */
void reckon_agent_interrupt(reckon_agent *agent)
{
	const uint64_t one = 1;
	const int saved = errno;

	if (atomic_load(&agent->is_asking) == 0)
		return;
	atomic_store(&agent->is_stopped, 1);
	/* Full means that it is told already. */
	if (write(agent->wake_fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
		errno = saved;
	reckon_interrupt(agent->session);
	errno = saved;
}

/* ---- telling ---------------------------------------------------------------------------- */

static int emit(struct asking *asking, reckon_agent_event *event)
{
	int said;

	if (asking->options.on_event == NULL)
		return RECKON_CONTINUE;
	event->step = asking->step;
	said = asking->options.on_event(event, asking->options.on_event_arg);
	if (said == RECKON_STOP)
		reckon_agent_interrupt(asking->agent);
	return said;
}

/* UTF-8 as it came, else what can be read of it. */
static void read_text(const char *text, size_t len, struct buf *ret)
{
	struct err full; /* its ceiling is that of a frame */

	buf_clear(ret);
	if (utf8_is_valid(text, len) && memchr(text, '\0', len) == NULL)
		(void)buf_add(ret, text, len, &full);
	else
		text_plain(text, len, ret);
}

static int emit_text(struct asking *asking, int kind, const char *text, size_t len)
{
	reckon_agent_event event = { .kind = kind };

	read_text(text, len, &asking->text);
	event.text = buf_text(&asking->text);
	event.text_len = asking->text.len;
	return emit(asking, &event);
}

static void emit_turn(struct asking *asking)
{
	reckon_agent_usage usage = { .size = sizeof(usage) };
	reckon_agent_event event = { .kind = RECKON_AGENT_TURN, .usage = &usage };

	answer_usage(&asking->answer->usage, &usage);
	(void)emit(asking, &event);
}

static int forward(const reckon_event *output, void *arg)
{
	reckon_agent_event event = { .kind = RECKON_AGENT_OUTPUT, .output = output };
	struct asking *asking = arg;

	return emit(asking, &event) == RECKON_STOP ? RECKON_STOP : RECKON_CONTINUE;
}

/* ---- a cell ----------------------------------------------------------------------------- */

static int answer_cell(struct asking *asking, const struct converse_result *result,
		       struct err *err)
{
	struct converse *talk = asking->agent->talk;

	asking->step++;
	if (clock_mono_ns() + GRACE_NS > asking->deadline_ns)
		asking->deadline_ns = clock_mono_ns() + GRACE_NS;
	/* First what the caller wants: the agent then ends after this cell. */
	if (atomic_load(&asking->agent->is_stopped) != 0 && converse_interrupt(talk, err) < 0)
		return (int)err->code;
	return converse_answer(talk, result, err);
}

static int refuse(struct asking *asking, const char *status, const char *why, struct err *err)
{
	const struct converse_result result = { .status = status, .text = why,
						.len = strlen(why) };

	outcome_end_step(&asking->answer->outcome, status, NULL, NULL);
	return answer_cell(asking, &result, err);
}

static void read_images(const reckon_execution *execution, struct converse_result *ret)
{
	reckon_image image;

	while (ret->image_count < AGENT_IMAGES_MAX &&
	       reckon_execution_image(execution, ret->image_count, &image) == 1)
		ret->images[ret->image_count++] = (struct converse_image){
			.mime = image.mime, .bytes = image.bytes, .len = image.len
		};
}

static void note_record(struct outcome *outcome, const reckon_execution *execution)
{
	reckon_changed_file file;

	outcome_end_step(outcome, reckon_execution_status(execution), NULL,
		       reckon_execution_record(execution));
	for (size_t i = 0; reckon_execution_file(execution, i, &file) == 1; i++)
		outcome_add_file(outcome, file.change,
			       &(struct outcome_file){ .path = (char *)(uintptr_t)file.path,
						     .mime = (char *)(uintptr_t)file.mime,
						     .sha256 = (char *)(uintptr_t)file.sha256,
						     .artifact = (char *)(uintptr_t)file.artifact,
						     .size = file.bytes });
}

static int report(struct asking *asking, const reckon_execution *execution, struct err *err)
{
	reckon_agent_event event = { .kind = RECKON_AGENT_RECORD, .execution = execution };
	struct converse_result result = { .status = reckon_execution_status(execution) };
	reckon_error lost;
	unsigned same;

	result.repeat = reckon_execution_repeat(execution, &same);
	result.same = same;
	result.text = reckon_execution_text(execution, &result.len);
	read_images(execution, &result);
	while (result.handle_count < CONVERSE_HANDLES_MAX) {
		const char *handle = execution_handle(execution, result.handle_count);

		if (handle == NULL)
			break;
		result.handles[result.handle_count++] = handle;
	}
	note_record(&asking->answer->outcome, execution);
	(void)emit(asking, &event);
	if (reckon_session_check(asking->agent->session, &lost) == RECKON_ELOST) {
		result = (struct converse_result){ .status = "lost", .text = lost.message,
						   .len = strlen(lost.message) };
	}
	return answer_cell(asking, &result, err);
}

static int execute(struct asking *asking, const struct kernel_item *code, struct err *err)
{
	const reckon_execute_options options = {
		.size = sizeof(options),
		.on_event = forward,
		.on_event_arg = asking,
		.stdin_fd = -1,
		.text_bytes = asking->agent->text_bytes,
	};
	reckon_execution *execution = NULL;
	reckon_error error;
	int rc = reckon_execute(asking->agent->session, code->data, code->len, &options,
				&execution, &error);

	if (rc < 0)
		return refuse(asking, rc == RECKON_ELOST ? "lost" : "infra_error", error.message,
			      err);
	rc = report(asking, execution, err);
	reckon_execution_free(execution);
	return rc;
}

static int take_cell(struct asking *asking, const struct converse_frame *frame, struct err *err)
{
	const struct kernel_item *code = agent_find(frame->items, frame->count, AGENT_TAG_CODE);

	outcome_add_step(&asking->answer->outcome, buf_text(&asking->prose), asking->prose.len,
		       code->data, code->len);
	buf_clear(&asking->prose);
	if (!utf8_is_valid(code->data, code->len) || memchr(code->data, '\0', code->len) != NULL)
		return refuse(asking, "refused", "This is no source code: it holds NUL, or bytes "
						 "that are no UTF-8.", err);
	if (emit_text(asking, RECKON_AGENT_CELL, code->data, code->len) == RECKON_REFUSE)
		return refuse(asking, "refused",
			      "This cell was not allowed to run. Take another way, or say what you "
			      "would need it for.", err);
	if (atomic_load(&asking->agent->is_stopped) != 0)
		return refuse(asking, "refused", "The question was ended.", err);
	return execute(asking, code, err);
}

/* ---- a question ------------------------------------------------------------------------- */

static int take_end(struct asking *asking, const struct converse_frame *frame, struct err *err)
{
	struct reckon_answer *answer = asking->answer;
	struct converse_end end;

	(void)err;
	converse_read_end(frame, &end);
	answer->stop = end.stop;
	answer->usage = end.usage;
	memcpy(answer->message, end.message, sizeof(answer->message));
	memcpy(answer->remedy, end.remedy, sizeof(answer->remedy));
	answer->has_text = end.answer != NULL && end.answer_len > 0;
	if (answer->has_text)
		read_text(end.answer, end.answer_len, &answer->text);
	return 1;
}

static char *describe(const struct asking *asking, const char *path)
{
	uint64_t size = 0;
	char *line;
	size_t room;
	int fd = -1;

	if (reckon_file_open(asking->agent->session, path, &fd, &size, NULL) == RECKON_OK)
		(void)close(fd);
	room = strlen(path) + 40;
	line = mem_new0(room, 1);
	(void)snprintf(line, room, "%s (%" PRIu64 " bytes)", path, size);
	return line;
}

static int put_question(struct asking *asking, struct err *err)
{
	const char *const *given = asking->options.files;
	const struct buf *question = &asking->answer->question;
	size_t count = 0;
	char **files;
	int rc;

	while (given != NULL && given[count] != NULL && count < FILES_MAX)
		count++;
	files = mem_new0(count + 1, sizeof(*files));
	for (size_t i = 0; i < count; i++)
		files[i] = describe(asking, given[i]);
	rc = converse_ask(asking->agent->talk, buf_text(question), question->len,
			  (const char *const *)files, count, err);
	for (size_t i = 0; i < count; i++)
		free(files[i]);
	free(files);
	return rc;
}

/* 1: it was the last one. */
static int take_frame(struct asking *asking, const struct converse_frame *frame, struct err *err)
{
	struct err full; /* prose past its ceiling is an answer that is cut anyway */
	size_t len;
	const char *text = converse_read_text(frame, &len);

	switch (frame->type) {
	case AGENT_READY:
		asking->agent->is_ready = true;
		return put_question(asking, err);
	case AGENT_TEXT:
		(void)buf_add(&asking->prose, text, len, &full);
		(void)emit_text(asking, RECKON_AGENT_TEXT, text, len);
		return 0;
	case AGENT_THOUGHT:
		(void)emit_text(asking, RECKON_AGENT_THOUGHT, text, len);
		return 0;
	case AGENT_NOTICE:
		(void)emit_text(asking, RECKON_AGENT_NOTICE, text, len);
		return 0;
	case AGENT_TURN:
		converse_read_usage(frame, &asking->answer->usage);
		emit_turn(asking);
		return 0;
	case AGENT_EXECUTE:
		return take_cell(asking, frame, err);
	case AGENT_DONE:
		return take_end(asking, frame, err);
	default:
		return err_set(err, ERR_PROTOCOL, "reckon-agent: frame %u has no meaning here",
			       frame->type);
	}
}

static void drain_wake(const reckon_agent *agent)
{
	uint64_t count;

	if (read(agent->wake_fd, &count, sizeof(count)) < 0)
		return;
}

static int pass_interrupt(const struct asking *asking, struct err *err)
{
	const enum agent_state state = converse_state(asking->agent->talk);

	drain_wake(asking->agent);
	if (atomic_load(&asking->agent->is_stopped) == 0 || state != AGENT_STATE_THINKING)
		return 0;
	return converse_interrupt(asking->agent->talk, err);
}

static int converse(struct asking *asking, struct err *err)
{
	struct converse *talk = asking->agent->talk;
	int rc = asking->agent->is_ready ? put_question(asking, err) : 0;

	while (rc == 0) {
		struct converse_frame frame;

		rc = pass_interrupt(asking, err);
		if (rc == 0)
			rc = converse_take(talk, &frame, err);
		if (rc == 0)
			converse_wait(talk, asking->agent->wake_fd, WAIT_MS);
		else if (rc > 0)
			rc = take_frame(asking, &frame, err);
		if (rc == 0 && clock_mono_ns() > asking->deadline_ns)
			rc = err_set(err, ERR_TIMEOUT, "reckon-agent did not keep its time limit");
	}
	return rc < 0 ? rc : 0;
}

static int check_question(const reckon_agent *agent, const char *question, struct err *err)
{
	const size_t len = question != NULL ? strlen(question) : 0;

	if (agent->is_gone)
		return err_set(err, ERR_LOST, "this conversation has ended");
	if (atomic_load(&agent->is_asking) != 0)
		return err_set(err, ERR_INVALID, "a question is being answered");
	if (len == 0 || !utf8_is_valid(question, len))
		return err_set(err, ERR_INVALID, "a question is UTF-8 text");
	if (len > QUESTION_MAX)
		return err_set(err, ERR_LIMIT, "a question of %zu bytes; at most %zu", len,
			       QUESTION_MAX);
	return session_check_box(agent->session, err);
}

static void asking_init(struct asking *asking, reckon_agent *agent, const char *question)
{
	struct err full; /* it is shorter than its ceiling */

	asking->agent = agent;
	asking->prose = BUF_INIT(AGENT_ANSWER_MAX);
	asking->text = BUF_INIT(3 * (size_t)AGENT_ANSWER_MAX);
	asking->deadline_ns = clock_mono_ns() + agent->settings.wall_ms * 1000000u + GRACE_NS;
	asking->answer = answer_new();
	asking->answer->model = mem_strdup(agent->model);
	asking->answer->has_price = agent->settings.price_in > 0 || agent->settings.price_out > 0;
	(void)buf_adds(&asking->answer->question, question, &full);
}

int reckon_agent_ask(reckon_agent *agent, const char *question, const reckon_ask_options *options,
		     reckon_answer **ret, reckon_error *err)
{
	struct asking asking = { 0 };
	struct err inner;
	int rc;

	if (check_question(agent, question, &inner) < 0 ||
	    api_options("reckon_ask_options", &asking.options, sizeof(asking.options), options,
			&inner) < 0)
		return api_fail(err, &inner);
	asking_init(&asking, agent, question);
	drain_wake(agent);
	atomic_store(&agent->is_stopped, 0);
	atomic_store(&agent->is_asking, 1);
	rc = converse(&asking, &inner);
	atomic_store(&agent->is_asking, 0);
	atomic_store(&agent->is_stopped, 0);
	buf_done(&asking.prose);
	buf_done(&asking.text);
	if (rc < 0) {
		agent->is_gone = true;
		reckon_answer_free(asking.answer);
		return api_fail(err, &inner);
	}
	*ret = asking.answer;
	return api_ok(err);
}
