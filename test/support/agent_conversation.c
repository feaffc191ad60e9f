/*
 * agent_conversation.c - a conversation through reckon_agent.h: each argument is one action.
 *
 * Runs in:  tests; linked with the shared libreckon alone.
 * Reads:    its command line.
 * Never:    uses more of Reckon than the public headers.
 *
 *   reckon-agent-conversation PROTOCOL BASE_URL KEY WORD...
 *     ?TEXT         asks; prints events as lines, then "answer JSON", "last STATUS OF LAST STEP"
 *     =CODE         runs a cell without the model
 *     @PATH         names this file to the model with the next question
 *     +NAME=NUMBER  an option of the conversation: steps, tokens, wall_ms, budget, price, images;
 *     +verify=WORD  likewise
 *     &PATH         loads the conversation from this file
 *     >             continues without a question
 *     >ID=TEXT      the result of a call (!ID=TEXT: of one that failed); the next '>' sends it
 *     *PATH         saves the conversation of the next answer to this file
 *     -refuse       refuses all cells of the next question
 *     -stop=KIND    ends the next question at the first event of that kind
 *     -alarm=MS     interrupts the next question in a signal handler after this time
 *     -kill         kills the agent's process with the next cell
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>

#include <reckon_agent.h>

#define FILES_MAX 1100
#define RESULTS_MAX 8

static struct {
	reckon_engine *engine;
	reckon_session *session;
	reckon_agent *agent;
	reckon_agent_options options;
	const char *files[FILES_MAX + 1];
	size_t file_count;
	reckon_tool_result results[RESULTS_MAX];
	size_t result_count;
	const char *keep_path;
	int refuses, kills, stop_at;
	unsigned alarm_ms;
} conversation;

static const char *const kinds[] = { "", "text", "thought", "notice", "turn", "cell", "output",
				     "record", "code", "discard" };

static int fail(const reckon_error *err)
{
	printf("error %d %s\n", err->code, err->message);
	return 1;
}

static void on_alarm(int signo)
{
	(void)signo;
	reckon_agent_interrupt(conversation.agent);
}

/* Finds the agent by its process name and kills it. */
static void kill_agent(void)
{
	char path[300], line[300];
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc != NULL && (entry = readdir(proc)) != NULL) {
		int pid = atoi(entry->d_name), parent = 0;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		file = pid > 0 ? fopen(path, "r") : NULL;
		if (file == NULL)
			continue;
		if (fgets(line, sizeof(line), file) != NULL && strstr(line, "(reckon-agent)") &&
		    sscanf(strrchr(line, ')'), ") %*c %d", &parent) == 1 && parent == getpid())
			kill(pid, SIGKILL);
		fclose(file);
	}
	if (proc != NULL)
		closedir(proc);
}

static int on_event(const reckon_agent_event *event, void *arg)
{
	(void)arg;
	printf("event %s %zu", kinds[event->kind], event->step);
	if (event->text != NULL)
		printf(" %zu %s", event->text_len, event->text);
	if (event->usage != NULL)
		printf(" %llu", (unsigned long long)event->usage->input_tokens);
	if (event->output != NULL)
		printf(" %s", event->output->name);
	if (event->execution != NULL)
		printf(" %s", reckon_execution_status(event->execution));
	printf("\n");
	if (event->kind == RECKON_AGENT_CELL && conversation.kills)
		kill_agent();
	if (event->kind == conversation.stop_at)
		return RECKON_STOP;
	return event->kind == RECKON_AGENT_CELL && conversation.refuses ? RECKON_REFUSE
									: RECKON_CONTINUE;
}

static int open_agent(void)
{
	reckon_error err;

	return conversation.agent != NULL ||
			       reckon_agent_open(conversation.session, &conversation.options,
						 &conversation.agent, &err) == 0
		       ? 0
		       : fail(&err);
}

static void keep(const reckon_answer *answer)
{
	size_t len = 0;
	const char *json = reckon_answer_conversation(answer, &len);
	FILE *file = conversation.keep_path != NULL && json != NULL
			     ? fopen(conversation.keep_path, "w")
			     : NULL;

	conversation.keep_path = NULL;
	if (file == NULL)
		return;
	fwrite(json, 1, len, file);
	fclose(file);
}

static void show(const reckon_answer *answer)
{
	reckon_tool_call call = { .size = sizeof(call) };
	reckon_checked checked = { .size = sizeof(checked) };
	reckon_claim claim = { .size = sizeof(claim) };
	reckon_agent_usage usage = { .size = sizeof(usage) };
	reckon_agent_step step = { .size = sizeof(step) };
	const char *remedy = NULL;
	reckon_error err;
	char *json = NULL;
	size_t count = 0;

	printf("stop %s\n", reckon_answer_stop(answer));
	printf("text %s\n", reckon_answer_text(answer) != NULL ? reckon_answer_text(answer) : "(none)");
	printf("message %s\n", reckon_answer_message(answer, &remedy));
	while (reckon_answer_step(answer, count, &step, &err) == RECKON_OK)
		count++;
	printf("steps %zu %d %s\n", count, err.code, step.status != NULL ? step.status : "");
	for (size_t i = 0; reckon_answer_call(answer, i, &call, &err) == RECKON_OK; i++)
		printf("call %s %s %s\n", call.id, call.name, call.arguments);
	if (reckon_answer_checked(answer, &checked, &err) == RECKON_OK)
		printf("checked %d %llu %llu %llu %llu\n", checked.is_checked,
		       (unsigned long long)checked.numbers, (unsigned long long)checked.links,
		       (unsigned long long)checked.numbers_unsupported,
		       (unsigned long long)checked.links_unsupported);
	for (size_t i = 0; reckon_answer_claim(answer, i, &claim, &err) == RECKON_OK; i++)
		printf("claim %d %.*s\n", claim.is_link, (int)claim.len,
		       reckon_answer_text(answer) + claim.offset);
	printf("claims end %d\n", err.code);
	keep(answer);
	if (reckon_answer_usage(answer, &usage, &err) == RECKON_OK)
		printf("tokens %llu\n", (unsigned long long)usage.input_tokens);
	if (reckon_answer_json(answer, &json, &err) == RECKON_OK)
		printf("answer %s\n", json);
	free(json);
}

static int ask(const char *question)
{
	const reckon_ask_options options = { .size = sizeof(options),
					     .on_event = on_event,
					     .files = conversation.file_count > 0
							      ? conversation.files
							      : NULL };
	struct itimerval timer = { 0 };
	reckon_answer *answer = NULL;
	reckon_error err;
	int rc;

	if (open_agent() != 0)
		return 1;
	timer.it_value.tv_sec = conversation.alarm_ms / 1000;
	timer.it_value.tv_usec = conversation.alarm_ms % 1000 * 1000;
	setitimer(ITIMER_REAL, &timer, NULL);
	rc = question != NULL
		     ? reckon_agent_ask(conversation.agent, question, &options, &answer, &err)
		     : reckon_agent_continue(conversation.agent, conversation.results,
					     conversation.result_count, &options, &answer, &err);
	conversation.result_count = 0;
	if (rc == RECKON_OK)
		show(answer);
	else
		fail(&err);
	reckon_answer_free(answer);
	conversation.file_count = 0;
	conversation.refuses = conversation.kills = conversation.stop_at = 0;
	conversation.alarm_ms = 0;
	memset(conversation.files, 0, sizeof(conversation.files));
	return 0;
}

static int load(const char *path)
{
	static char json[1 << 20];
	FILE *file = fopen(path, "r");
	size_t len = file != NULL ? fread(json, 1, sizeof(json), file) : 0;
	reckon_error err;

	if (file == NULL)
		return 2;
	fclose(file);
	if (open_agent() != 0)
		return 1;
	return reckon_agent_load(conversation.agent, json, len, &err) == RECKON_OK ? 0 : fail(&err);
}

static int add_result(const char *word)
{
	char *text = strdup(word + 1), *equals = strchr(text, '=');

	if (equals == NULL || conversation.result_count == RESULTS_MAX) {
		free(text);
		return 2;
	}
	*equals = '\0';
	conversation.results[conversation.result_count++] =
		(reckon_tool_result){ .size = sizeof(reckon_tool_result),
				      .id = text,
				      .text = equals + 1,
				      .failed = word[0] == '!' };
	return 0;
}

static int run(const char *code)
{
	reckon_execution *done;
	reckon_changed_file file;
	reckon_image image;
	reckon_error err;
	size_t len;

	if (reckon_execute(conversation.session, code, strlen(code), NULL, &done, &err) < 0)
		return fail(&err);
	printf("cell %s %llu %s", reckon_execution_status(done),
	       (unsigned long long)reckon_execution_repeat(done, NULL), reckon_execution_text(done, &len));
	printf("\nlength %zu\n", len);
	for (size_t i = 0; reckon_execution_file(done, i, &file); i++)
		printf("file %s %s %llu %s\n", file.change, file.path,
		       (unsigned long long)file.bytes, file.artifact != NULL ? file.artifact : "");
	for (size_t i = 0; reckon_execution_image(done, i, &image); i++)
		printf("image %s %ux%u %zu\n", image.mime, image.width, image.height, image.len);
	reckon_execution_free(done);
	return 0;
}

static int set(const char *text)
{
	const char *equals = strchr(text, '=');
	const unsigned long long value = equals != NULL ? strtoull(equals + 1, NULL, 10) : 0;

	if (strncmp(text, "steps=", 6) == 0)
		conversation.options.max_steps = value;
	else if (strncmp(text, "tokens=", 7) == 0)
		conversation.options.max_tokens = value;
	else if (strncmp(text, "wall_ms=", 8) == 0)
		conversation.options.wall_ms = value;
	else if (strncmp(text, "budget=", 7) == 0)
		conversation.options.budget_micro = value;
	else if (strncmp(text, "price=", 6) == 0)
		conversation.options.price_in = conversation.options.price_out = value;
	else if (strncmp(text, "images=", 7) == 0)
		conversation.options.images = (int)value;
	else if (strncmp(text, "keep=", 5) == 0)
		conversation.options.keep_conversation = (int)value;
	else if (strncmp(text, "verify=", 7) == 0)
		conversation.options.verify = text + 7;
	else if (strncmp(text, "retries=", 8) == 0)
		conversation.options.retries = (unsigned)value;
	else
		return 2;
	return 0;
}

static int stop_at(const char *kind)
{
	for (size_t i = 1; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i], kind) == 0)
			conversation.stop_at = (int)i;
	return conversation.stop_at != 0 ? 0 : 2;
}

static int obey(const char *word)
{
	switch (word[0]) {
	case '?':
		return ask(word + 1);
	case '=':
		return run(word + 1);
	case '&':
		return load(word + 1);
	case '*':
		conversation.keep_path = word + 1;
		return 0;
	case '!':
		return add_result(word);
	case '>':
		return word[1] != '\0' ? add_result(word) : ask(NULL);
	case '+':
		return set(word + 1);
	case '@':
		if (conversation.file_count == FILES_MAX)
			return 2;
		conversation.files[conversation.file_count++] = word + 1;
		return 0;
	default:
		break;
	}
	if (strcmp(word, "-refuse") == 0)
		return conversation.refuses = 1, 0;
	if (strcmp(word, "-kill") == 0)
		return conversation.kills = 1, 0;
	if (strncmp(word, "-stop=", 6) == 0)
		return stop_at(word + 6);
	if (strncmp(word, "-alarm=", 7) != 0)
		return 2;
	conversation.alarm_ms = (unsigned)strtoul(word + 7, NULL, 10);
	return 0;
}

int main(int argc, char **argv)
{
	const reckon_session_options options = { .size = sizeof(options),
						 .template_name = "python" };
	reckon_error err;
	int status = 0;

	if (argc < 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGALRM, on_alarm);
	conversation.options.size = sizeof(conversation.options);
	conversation.options.protocol = argv[1];
	conversation.options.base_url = argv[2];
	conversation.options.key = argv[3];
	conversation.options.model = "m";
	if (reckon_engine_open(NULL, &conversation.engine, &err) < 0 ||
	    reckon_session_open(conversation.engine, &options, &conversation.session, &err) < 0)
		status = fail(&err);
	for (int i = 4; i < argc && status == 0; i++)
		status = obey(argv[i]);
	reckon_agent_close(conversation.agent);
	reckon_session_close(conversation.session);
	reckon_engine_close(conversation.engine);
	return status;
}
