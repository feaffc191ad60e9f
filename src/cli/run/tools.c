/*
 * tools.c - runs a program for each tool call and answers with its output.
 *
 * Runs in:  reckon run, reckon-client; a thread for each call.
 * Reads:    the file of --tools; tool calls of hostile code, which it passes as JSON on stdin.
 * Never:    puts text of a call into a command line, or runs a program that the file does not name.
 */
#include "cli/run/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "cli/run/approve.h"
#include "codec/json_read.h"
#include "codec/json_write.h"

#define FILE_MAX ((size_t)4 * 1024 * 1024)
#define TOOLS_MAX 64u
#define ARGUMENTS_MAX 64u
#define CALLS_MAX 1000u /* libreckon's limit for one cell */

extern char **environ;

struct command {
	char *argv[ARGUMENTS_MAX + 1];
	const char *name;
	bool is_approved; /* guarded by the person's lock: all its calls are approved */
};

struct call {
	struct run_tools *tools;
	struct command *command;
	char id[32];
	struct buf arguments;
	pthread_t thread;
	pid_t pid; /* guarded by the lock; 0: not running */
};

struct run_tools {
	reckon_tool list[TOOLS_MAX];
	struct command commands[TOOLS_MAX];
	size_t count;
	bool approve; /* a person approves each call */
	reckon_questions questions;
	run_tools_answer_fn *answer;
	void *answer_arg;
	pthread_mutex_t lock;
	bool is_over; /* guarded by the lock */
	struct call *calls[CALLS_MAX];
	size_t call_count;
};

/* ---- the file ------------------------------------------------------------------------------- */

static int take_command(const struct json_value *list, struct command *ret, struct err *err)
{
	const size_t count = json_read_count(list);

	if (json_read_kind(list) != JSON_KIND_ARRAY || count == 0 || count > ARGUMENTS_MAX)
		return err_set(err, ERR_INVALID, "command must be a list of 1 to %u strings",
			       ARGUMENTS_MAX);
	for (size_t i = 0; i < count; i++) {
		const char *text = json_read_text(json_read_at(list, i), NULL);

		if (text == NULL)
			return err_set(err, ERR_INVALID, "command must be a list of strings");
		ret->argv[i] = mem_strdup(text);
	}
	return 0;
}

static int take_parameters(const struct json_value *value, reckon_tool *ret, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(FILE_MAX);

	if (value == NULL)
		return 0;
	if (json_read_kind(value) != JSON_KIND_OBJECT || json_read_dump(value, &text, err) < 0)
		return err_set(err, ERR_INVALID, "parameters must be an object");
	ret->parameters = mem_strdup(buf_text(&text));
	return 0;
}

static int take_tool(struct run_tools *tools, const struct json_value *value, struct err *err)
{
	const char *name = json_read_text(json_read_member(value, "name"), NULL);
	const char *description = json_read_text(json_read_member(value, "description"), NULL);
	reckon_tool *tool = &tools->list[tools->count];

	if (name == NULL || name[0] == '\0' || strlen(name) > 64)
		return err_set(err, ERR_INVALID, "a tool has no name of 1 to 64 characters");
	for (size_t i = 0; i < tools->count; i++)
		if (strcmp(tools->list[i].name, name) == 0)
			return err_set(err, ERR_INVALID, "two tools are called %s", name);
	tool->name = mem_strdup(name);
	tools->commands[tools->count].name = tool->name;
	tool->description = description != NULL ? mem_strdup(description) : NULL;
	if (take_parameters(json_read_member(value, "parameters"), tool, err) < 0 ||
	    take_command(json_read_member(value, "command"), &tools->commands[tools->count], err) <
		    0)
		return err_wrap(err, "tool %s", name);
	return 0;
}

static int take_all(struct run_tools *tools, const struct json_value *document, struct err *err)
{
	const size_t count = json_read_count(document);

	if (json_read_kind(document) != JSON_KIND_ARRAY || count == 0 || count > TOOLS_MAX)
		return err_set(err, ERR_INVALID, "expected a list of 1 to %u tools", TOOLS_MAX);
	for (size_t i = 0; i < count; i++) {
		const int code = take_tool(tools, json_read_at(document, i), err);

		tools->count++;
		if (code < 0)
			return code;
	}
	return 0;
}

int run_tools_load(const char *path, bool approve, struct run_tools **ret, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(FILE_MAX);
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct json_value *document = NULL;
	struct run_tools *tools;
	int code;

	if (fd < 0)
		return err_sys(err, "%.200s", path);
	if (fd_read_all(fd, &text, err) < 0 ||
	    json_read_parse(buf_text(&text), text.len, FILE_MAX, &document, err) < 0)
		return err_wrap(err, "%.200s", path);
	tools = mem_new0(1, sizeof(*tools));
	tools->approve = approve;
	(void)pthread_mutex_init(&tools->lock, NULL);
	code = take_all(tools, document, err);
	json_read_free(document);
	if (code == 0) {
		*ret = tools;
		return 0;
	}
	run_tools_free(tools);
	return err_wrap(err, "%.200s", path);
}

void run_tools_free(struct run_tools *tools)
{
	if (tools == NULL)
		return;
	for (size_t i = 0; i < tools->count; i++) {
		free((void *)(uintptr_t)tools->list[i].name);
		free((void *)(uintptr_t)tools->list[i].description);
		free((void *)(uintptr_t)tools->list[i].parameters);
		for (char **at = tools->commands[i].argv; *at != NULL; at++)
			free(*at);
	}
	(void)pthread_mutex_destroy(&tools->lock);
	free(tools);
}

/* ---- a call --------------------------------------------------------------------------------- */

static void answer(const struct call *call, int kind, const char *text, size_t len)
{
	call->tools->answer(call->id, kind, text, len, call->tools->answer_arg);
}

/*
 * Starts the program in its own process group, so that the whole group can be killed. False: it
 * cannot be started, or the cell is over.
 */
static bool start(struct call *call, int in, int out)
{
	struct run_tools *tools = call->tools;
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	pid_t pid = 0;
	int code = ECANCELED;

	(void)posix_spawn_file_actions_init(&files);
	(void)posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
	(void)posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	(void)pthread_mutex_lock(&tools->lock);
	if (!tools->is_over)
		code = posix_spawnp(&pid, call->command->argv[0], &files, &attributes,
				    call->command->argv, environ);
	call->pid = code == 0 ? pid : 0;
	(void)pthread_mutex_unlock(&tools->lock);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&files);
	return code == 0;
}

static int finish(struct call *call)
{
	siginfo_t info = { 0 };
	int status = 0;

	/*
	 * WNOWAIT keeps the pid reserved until we hold the lock, so no other process can be killed
	 * by it.
	 */
	while (waitid(P_PID, (id_t)call->pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		continue;
	(void)pthread_mutex_lock(&call->tools->lock);
	while (waitpid(call->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	call->pid = 0;
	(void)pthread_mutex_unlock(&call->tools->lock);
	return status;
}

/* The program's output: JSON, or else text without its last newline. */
static void answer_output(const struct call *call, struct buf *output)
{
	cleanup_buf struct buf value = BUF_INIT((size_t)RECKON_TOOL_TEXT_MAX * 6 + 16);
	struct json_writer json;
	enum json_kind kind;
	struct err ignored;

	if (json_read_compact(buf_text(output), output->len, RECKON_TOOL_TEXT_MAX, &value, &kind,
			      &ignored) < 0) {
		buf_clear(&value);
		if (output->len > 0 && output->data[output->len - 1] == '\n')
			output->len--;
		json_write_init(&json, &value);
		json_write_text(&json, buf_text(output), output->len);
		(void)json_write_finish(&json, &ignored);
	}
	if (value.len > RECKON_TOOL_TEXT_MAX)
		answer(call, RECKON_TOOL_ERROR, "it printed more than 5 MiB", 26);
	else
		answer(call, RECKON_TOOL_VALUE, buf_text(&value), value.len);
}

static void run(struct call *call)
{
	cleanup_buf struct buf output = BUF_INIT(RECKON_TOOL_TEXT_MAX);
	cleanup_fd int in = -1, ours = -1, theirs = -1;
	char why[128];
	struct err err;
	int ends[2], status, got;

	if (fd_memfd_sealed("reckon-arguments", call->arguments.data, call->arguments.len, &in,
			    &err) < 0 ||
	    pipe2(ends, O_CLOEXEC) < 0) {
		answer(call, RECKON_TOOL_ERROR, "no descriptors", 14);
		return;
	}
	ours = ends[0];
	theirs = ends[1];
	(void)lseek(in, 0, SEEK_SET);
	if (!start(call, in, theirs)) {
		(void)snprintf(why, sizeof(why), "%.80s cannot be run", call->command->argv[0]);
		answer(call, RECKON_TOOL_ERROR, why, strlen(why));
		return;
	}
	(void)close(TAKE_FD(theirs));
	got = fd_read_all(ours, &output, &err);
	(void)close(TAKE_FD(ours)); /* a program that prints more gets SIGPIPE */
	status = finish(call);
	if (got < 0)
		answer(call, RECKON_TOOL_ERROR, "it printed more than 5 MiB", 26);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		answer_output(call, &output);
	else {
		(void)snprintf(why, sizeof(why), "%s %d",
			       WIFEXITED(status) ? "exit status" : "ended by signal",
			       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
		answer(call, RECKON_TOOL_ERROR, why, strlen(why));
	}
}

static bool is_over(void *arg)
{
	struct run_tools *tools = arg;
	bool over;

	(void)pthread_mutex_lock(&tools->lock);
	over = tools->is_over;
	(void)pthread_mutex_unlock(&tools->lock);
	return over;
}

/* NULL: the call is approved; else the reason for the refusal. */
static const char *denial(struct call *call)
{
	const struct run_call request = { .tool = call->command->name,
					  .arguments = buf_text(&call->arguments),
					  .len = call->arguments.len,
					  .is_over = is_over,
					  .arg = call->tools };
	char word = 'a';

	if (!run_person_take(is_over, call->tools))
		return "the cell has ended";
	if (!call->command->is_approved)
		word = run_approve(&request);
	call->command->is_approved = word == 'a';
	run_person_release();
	switch (word) {
	case 'y':
	case 'a':
		return NULL;
	case 'e':
		return "the cell has ended";
	case 'n':
		return "the user at the terminal said no";
	default:
		return "there is no terminal to ask whether it may run";
	}
}

static void *run_thread(void *arg)
{
	struct call *call = arg;
	const char *why = call->tools->approve ? denial(call) : NULL;

	if (why == NULL)
		run(call);
	else
		answer(call, RECKON_TOOL_DENIED, why, strlen(why));
	return NULL;
}

/* ---- a cell --------------------------------------------------------------------------------- */

int run_tools_declare(const struct run_tools *tools, struct json_writer *json, struct err *err)
{
	json_write_key(json, "tools");
	json_write_array_begin(json);
	for (size_t i = 0; i < tools->count; i++) {
		cleanup_buf struct buf schema = BUF_INIT(FILE_MAX);
		const reckon_tool *tool = &tools->list[i];
		enum json_kind kind;

		json_write_object_begin(json);
		json_write_member_string(json, "name", tool->name);
		if (tool->description != NULL)
			json_write_member_string(json, "description", tool->description);
		if (tool->parameters != NULL) {
			if (json_read_compact(tool->parameters, strlen(tool->parameters), FILE_MAX,
					      &schema, &kind, err) < 0)
				return err_wrap(err, "parameters of tool %s", tool->name);
			json_write_key(json, "parameters");
			json_write_raw(json, buf_text(&schema), schema.len);
		}
		json_write_object_end(json);
	}
	json_write_array_end(json);
	return 0;
}

void run_tools_begin_for(struct run_tools *tools, run_tools_answer_fn *taker, void *arg)
{
	tools->is_over = false;
	tools->answer = taker;
	tools->answer_arg = arg;
}

static void answer_here(const char *call, int kind, const char *text, size_t len, void *arg)
{
	reckon_error ignored;

	(void)reckon_answers_tool(arg, call, kind, text, len, &ignored);
}

const reckon_questions *run_tools_begin(struct run_tools *tools)
{
	reckon_answers *answers;
	reckon_error error;

	if (tools == NULL || reckon_answers_new(&answers, &error) < 0)
		return NULL;
	run_tools_begin_for(tools, answer_here, answers);
	tools->questions = (reckon_questions){ .answers = answers,
					       .tools = tools->list,
					       .tool_count = tools->count };
	return &tools->questions;
}

static struct command *command_of(struct run_tools *tools, const char *name)
{
	for (size_t i = 0; i < tools->count; i++)
		if (strcmp(tools->list[i].name, name) == 0)
			return &tools->commands[i];
	return NULL;
}

static void begin(struct run_tools *tools, const struct json_value *event)
{
	const char *id = json_read_text(json_read_member(event, "id"), NULL);
	const char *name = json_read_text(json_read_member(event, "name"), NULL);
	struct command *command = name != NULL ? command_of(tools, name) : NULL;
	struct err ignored;
	struct call *call;

	if (id == NULL || command == NULL || tools->call_count == CALLS_MAX)
		return;
	call = mem_new0(1, sizeof(*call));
	*call = (struct call){ .tools = tools,
			       .command = command,
			       .arguments = BUF_INIT(FILE_MAX) };
	(void)snprintf(call->id, sizeof(call->id), "%s", id);
	if (json_read_dump(json_read_member(event, "arguments"), &call->arguments, &ignored) < 0 ||
	    pthread_create(&call->thread, NULL, run_thread, call) != 0) {
		answer(call, RECKON_TOOL_ERROR, "no thread", 9);
		buf_done(&call->arguments);
		free(call);
		return;
	}
	tools->calls[tools->call_count++] = call;
}

void run_tools_event(struct run_tools *tools, const reckon_event *event)
{
	struct json_value *document;
	struct err ignored;

	if (tools == NULL || strcmp(event->name, "tool_call") != 0 ||
	    json_read_parse(event->json, event->json_len, FILE_MAX, &document, &ignored) < 0)
		return;
	begin(tools, document);
	json_read_free(document);
}

void run_tools_end(struct run_tools *tools)
{
	if (tools == NULL)
		return;
	(void)pthread_mutex_lock(&tools->lock);
	tools->is_over = true;
	for (size_t i = 0; i < tools->call_count; i++)
		if (tools->calls[i]->pid > 0)
			(void)kill(-tools->calls[i]->pid, SIGKILL);
	(void)pthread_mutex_unlock(&tools->lock);
	while (tools->call_count > 0) {
		struct call *call = tools->calls[--tools->call_count];

		(void)pthread_join(call->thread, NULL);
		buf_done(&call->arguments);
		free(call);
	}
	reckon_answers_free(TAKE_PTR(tools->questions.answers));
}
