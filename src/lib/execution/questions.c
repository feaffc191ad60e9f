/*
 * questions.c - lines of input and tool calls that running code waits for.
 *
 * Runs in:  libreckon, inside reckon_execute().
 * Reads:    calls of a hostile program, on a socket of this execution only.
 * Never:    waits for the program, or reads from a descriptor that it sent.
 */
#include "lib/execution/questions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "codec/json_read.h"
#include "codec/json_write.h"
#include "lib/execution/run.h"

#define MS 1000000ull
#define WAIT_MS_DEFAULT 600000u
#define CALLS_MAX 1000u
#define PACKETS_MAX 4000u
#define PACKETS_A_TURN 16u
#define PACKET_MAX (160u * 1024u)
#define NAME_MAX_LEN 64u
#define ANSWER_MAX ((size_t)RECKON_TOOL_TEXT_MAX * 6 + 64)
#define DECLARED_MAX (4u * 1024u * 1024u)

void questions_init(struct run *run)
{
	struct questions *questions = &run->questions;
	const reckon_questions *requested = run->options->questions;
	const uint64_t wait_ms = requested != NULL ? requested->wait_ms : 0;

	*questions = (struct questions){ .sock = -1 };
	questions->answers = requested != NULL ? requested->answers : NULL;
	questions->wait_ns = (wait_ms != 0 ? wait_ms : WAIT_MS_DEFAULT) * MS;
}

void questions_done(struct run *run)
{
	struct questions *questions = &run->questions;

	if (questions->answers != NULL) {
		answers_expect_input(questions->answers, 0);
		answers_forget_calls(questions->answers);
	}
	for (size_t i = 0; i < questions->open_count; i++)
		(void)close(questions->open[i].fd);
	questions->open_count = 0;
	free(TAKE_PTR(questions->packet));
	if (questions->sock >= 0)
		(void)close(TAKE_FD(questions->sock));
}

/* ---- the clock ------------------------------------------------------------------------------ */

uint64_t questions_waited_ns(const struct run *run, uint64_t now_ns)
{
	const struct questions *questions = &run->questions;
	uint64_t waited = questions->waited_ns;

	if (questions->since_ns != 0)
		waited += now_ns - questions->since_ns;
	return waited < questions->wait_ns ? waited : questions->wait_ns;
}

uint64_t questions_next_ns(const struct run *run)
{
	const struct questions *questions = &run->questions;

	if (questions->since_ns == 0)
		return UINT64_MAX;
	return questions->since_ns + questions->wait_ns - questions->waited_ns;
}

static void note_wait(struct run *run)
{
	struct questions *questions = &run->questions;
	const bool waits = questions->asks_input || questions->open_count > 0;
	const uint64_t now = clock_mono_ns();

	if (waits && questions->since_ns == 0) {
		questions->since_ns = now;
	} else if (!waits && questions->since_ns != 0) {
		questions->waited_ns = questions_waited_ns(run, now);
		questions->since_ns = 0;
	}
}

static bool is_over(const struct run *run)
{
	return questions_waited_ns(run, clock_mono_ns()) >= run->questions.wait_ns;
}

/* ---- ---- the tools ------------------------------------------------------------------------- */

static int write_tools(const struct run *run, struct buf *ret, struct err *err)
{
	const reckon_tool *tools = run->options->questions->tools;
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_array_begin(&json);
	for (size_t i = 0; i < run->options->questions->tool_count; i++) {
		cleanup_buf struct buf schema = BUF_INIT(DECLARED_MAX);
		const char *parameters = tools[i].parameters != NULL ? tools[i].parameters : "{}";
		enum json_kind kind;

		if (json_read_compact(parameters, strlen(parameters), DECLARED_MAX, &schema, &kind,
				      err) < 0)
			return err_wrap(err, "parameters of a tool");
		json_write_object_begin(&json);
		json_write_member_string(&json, "name", tools[i].name);
		json_write_member_string(&json, "description", tools[i].description);
		json_write_key(&json, "parameters");
		json_write_raw(&json, buf_text(&schema), schema.len);
		json_write_object_end(&json);
	}
	json_write_array_end(&json);
	return json_write_finish(&json, err);
}

int questions_begin(struct run *run, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(DECLARED_MAX + 64);
	cleanup_buf struct buf json = BUF_INIT(DECLARED_MAX);
	cleanup_fd int theirs = -1;
	int pair[2];

	if (run->questions.answers == NULL || run->options->questions->tool_count == 0 ||
	    (run->session->language->features & LANGUAGE_CALLS_TOOLS) == 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "a socket for tools");
	run->questions.sock = pair[0];
	run->questions.packet = mem_new0(PACKET_MAX, 1);
	theirs = pair[1];
	if (fd_set_nonblock(pair[0], true, err) < 0)
		return (int)err->code;
	if (write_tools(run, &json, err) < 0 ||
	    kernel_pack(&payload, KERNEL_TAG_DATA, buf_text(&json), json.len, err) < 0)
		return (int)err->code;
	return kernel_send(run->session->control, KERNEL_TOOLS, run->request, &payload, &theirs, 1,
			   err);
}

/* ---- answers -------------------------------------------------------------------------------- */

/* Sends one message, without waiting, to a descriptor that the box chose; ignores failure. */
static void send_answer(int fd, const struct buf *json)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	char byte = '=';
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control.space) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	cleanup_fd int file = -1;
	struct err ignored;

	if (fd_memfd_sealed("reckon-answer", json->data, json->len, &file, &ignored) < 0)
		return;
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &file, sizeof(int));
	(void)sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void answer_call(int fd, int kind, const char *text, size_t len)
{
	static const char *const names[] = { [RECKON_TOOL_VALUE] = "value",
					     [RECKON_TOOL_ERROR] = "error",
					     [RECKON_TOOL_DENIED] = "denied" };
	cleanup_buf struct buf json = BUF_INIT(ANSWER_MAX);
	struct json_writer writer;
	struct err ignored;

	json_write_init(&writer, &json);
	json_write_object_begin(&writer);
	json_write_key(&writer, names[kind]);
	if (kind == RECKON_TOOL_VALUE)
		json_write_raw(&writer, text, len);
	else
		json_write_text(&writer, text, len);
	json_write_object_end(&writer);
	if (json_write_finish(&writer, &ignored) == 0)
		send_answer(fd, &json);
	(void)close(fd);
}

static void refuse_call(int fd, const char *why)
{
	answer_call(fd, RECKON_TOOL_ERROR, why, strlen(why));
}

static void answer_input(struct run *run, const char *line, size_t len)
{
	cleanup_buf struct buf payload = BUF_INIT(RUN_INPUT_MAX + 64);
	struct err err;

	run->questions.asks_input = false;
	if (line == NULL ||
	    kernel_pack(&payload, KERNEL_TAG_TEXT, line, len < RUN_INPUT_MAX ? len : RUN_INPUT_MAX,
			&err) == 0)
		packet_reply_input(run, &payload);
}

static void take_answer(struct run *run, const struct answer *answer)
{
	struct questions *questions = &run->questions;

	if (answer->call == 0 && questions->asks_input) {
		answer_input(run, answer->text, answer->len);
		return;
	}
	for (size_t i = 0; i < questions->open_count; i++)
		if (questions->open[i].number == answer->call) {
			const int fd = questions->open[i].fd;

			questions->open[i] = questions->open[--questions->open_count];
			answer_call(fd, answer->kind, answer->text, answer->len);
			return;
		}
}

static void give_up(struct run *run)
{
	struct questions *questions = &run->questions;

	answers_expect_input(questions->answers, 0);
	answers_forget_calls(questions->answers);
	if (questions->asks_input)
		answer_input(run, NULL, 0);
	while (questions->open_count > 0)
		refuse_call(questions->open[--questions->open_count].fd,
			    "nobody answered within the time that an execution may wait (wait_s)");
}

/* ---- asking --------------------------------------------------------------------------------- */

bool questions_ask_input(struct run *run, uint64_t seq)
{
	struct questions *questions = &run->questions;

	if (questions->answers == NULL || !run->options->questions->input)
		return false;
	questions->asks_input = true;
	if (is_over(run))
		give_up(run);
	else
		answers_expect_input(questions->answers, seq);
	note_wait(run);
	return true;
}

static bool is_declared(const struct run *run, const char *name)
{
	for (size_t i = 0; i < run->options->questions->tool_count; i++)
		if (strcmp(run->options->questions->tools[i].name, name) == 0)
			return true;
	return false;
}

static int tell_call(struct run *run, const char *name, const struct json_value *arguments,
		     uint64_t number, struct err *err)
{
	const struct questions *questions = &run->questions;
	cleanup_buf struct buf json = BUF_INIT(PACKET_MAX * 8);
	const uint64_t waited = questions_waited_ns(run, clock_mono_ns());
	char id[32];

	(void)snprintf(id, sizeof(id), "tc_%llu", (unsigned long long)number);
	if (json_read_dump(arguments, &json, err) < 0)
		return (int)err->code;
	if (run->options->on_event == NULL)
		return 0;
	buf_clear(&run->event);
	if (record_event_tool(
		    run_moment(run),
		    &(struct record_call){ .id = id,
					   .name = name,
					   .arguments = buf_text(&json),
					   .len = json.len,
					   .wait_ms = (questions->wait_ns - waited) / MS },
		    &run->event, err) < 0)
		return (int)err->code;
	run_emit(run, RECORD_EVENT_TOOL, 0, NULL);
	return 0;
}

/* Returns NULL if the call was accepted, with its descriptor; else the reason. */
static const char *open_call(struct run *run, const char *packet, size_t len, int fd)
{
	struct questions *questions = &run->questions;
	struct json_value *document = NULL;
	const struct json_value *arguments;
	const char *name, *why = NULL;
	size_t name_len = 0;
	struct err err;

	if (is_over(run))
		return "this execution may wait no longer (wait_s)";
	if (questions->calls >= CALLS_MAX)
		return "an execution may call tools 1000 times";
	if (json_read_parse(packet, len, PACKET_MAX, &document, &err) < 0)
		return "the call is not JSON";
	name = json_read_text(json_read_member(document, "name"), &name_len);
	arguments = json_read_member(document, "arguments");
	if (name == NULL || name_len > NAME_MAX_LEN || strlen(name) != name_len ||
	    !is_declared(run, name))
		why = "no such tool was declared";
	else if (json_read_kind(arguments) != JSON_KIND_OBJECT)
		why = "arguments must be an object";
	else if (questions->open_count == ANSWERS_CALLS_MAX ||
		 !answers_expect_call(questions->answers, questions->calls + 1))
		why = "64 calls wait already: await some of them first";
	if (why == NULL) {
		/* Add the call before the event is sent: the answer may come meanwhile. */
		questions->open[questions->open_count++] =
			(struct open_call){ ++questions->calls, fd };
		run_drain(run);
		(void)tell_call(run, name, arguments, questions->calls, &err);
	}
	json_read_free(document);
	return why;
}

/* False: no more calls are waiting. */
static bool receive_call(struct run *run)
{
	struct questions *questions = &run->questions;
	size_t fd_count = 0;
	const char *why;
	struct err err;
	ssize_t len;
	int fd = -1;

	len = fd_recv_msg(questions->sock, questions->packet, PACKET_MAX, &fd, 1, &fd_count, &err);
	if (len < 0 && err.code == ERR_TIMEOUT)
		return false;
	if (len == 0 || (len < 0 && err.code == ERR_SYSTEM)) {
		(void)close(TAKE_FD(questions->sock));
		return false;
	}
	if (++questions->packets >= PACKETS_MAX)
		(void)close(TAKE_FD(questions->sock));
	if (fd_count == 1) {
		why = len < 0 ? "the call is too long"
			      : open_call(run, questions->packet, (size_t)len, fd);
		if (why != NULL)
			refuse_call(fd, why);
	}
	return questions->sock >= 0;
}

/* ---- the loop ------------------------------------------------------------------------------- */

size_t questions_poll(const struct run *run, struct pollfd *ret)
{
	const struct questions *questions = &run->questions;
	size_t count = 0;

	if (questions->answers != NULL)
		ret[count++] = (struct pollfd){ .fd = answers_fd(questions->answers),
						.events = POLLIN };
	if (questions->sock >= 0)
		ret[count++] = (struct pollfd){ .fd = questions->sock, .events = POLLIN };
	return count;
}

void questions_turn(struct run *run)
{
	struct questions *questions = &run->questions;
	struct answer answer;

	if (questions->answers == NULL)
		return;
	for (unsigned i = 0; i < PACKETS_A_TURN && questions->sock >= 0 && receive_call(run); i++)
		continue;
	while (answers_take(questions->answers, &answer)) {
		take_answer(run, &answer);
		free(answer.text);
	}
	if (questions->since_ns != 0 && is_over(run))
		give_up(run);
	note_wait(run);
}
