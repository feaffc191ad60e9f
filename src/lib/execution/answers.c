/*
 * answers.c - a mailbox for the answers that other threads give to an execution's questions.
 *
 * Runs in:  libreckon; the thread that executes, and any other.
 * Reads:    nothing.
 * Never:    stores an answer without a question, or two answers to one question.
 */
#include "lib/execution/answers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "lib/api.h"

#define PREFIX "tc_"

struct reckon_answers {
	pthread_mutex_t lock;
	int fd; /* eventfd */
	uint64_t input_seq; /* of the question that waits for input; 0: none */
	uint64_t calls[ANSWERS_CALLS_MAX]; /* calls that wait; 0: free */
	struct answer given[ANSWERS_CALLS_MAX + 1];
	size_t given_count;
};

int reckon_answers_new(reckon_answers **ret, reckon_error *err)
{
	reckon_answers *answers = mem_new0(1, sizeof(*answers));
	struct err inner;

	answers->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (answers->fd < 0) {
		(void)err_sys(&inner, "eventfd");
		free(answers);
		return api_fail(err, &inner);
	}
	(void)pthread_mutex_init(&answers->lock, NULL);
	*ret = answers;
	return api_ok(err);
}

void reckon_answers_free(reckon_answers *answers)
{
	if (answers == NULL)
		return;
	for (size_t i = 0; i < answers->given_count; i++)
		free(answers->given[i].text);
	(void)pthread_mutex_destroy(&answers->lock);
	(void)close(answers->fd);
	free(answers);
}

/* Call with the lock held. There is room: each question gets one answer. */
static void give(reckon_answers *answers, uint64_t call, int kind, const char *text, size_t len)
{
	struct answer *answer = &answers->given[answers->given_count++];
	const uint64_t one = 1;

	*answer = (struct answer){ .call = call, .kind = kind, .len = len };
	if (text != NULL) {
		answer->text = mem_new0(len + 1, 1);
		if (len > 0)
			memcpy(answer->text, text, len);
	}
	if (write(answers->fd, &one, sizeof(one)) < 0)
		return; /* full: it is already readable */
}

static bool take_call(reckon_answers *answers, uint64_t call)
{
	for (size_t i = 0; i < ANSWERS_CALLS_MAX; i++)
		if (call != 0 && answers->calls[i] == call) {
			answers->calls[i] = 0;
			return true;
		}
	return false;
}

int reckon_answers_input(reckon_answers *answers, uint64_t seq, const char *line, size_t len,
			 reckon_error *err)
{
	struct err inner;
	bool is_expected;

	(void)pthread_mutex_lock(&answers->lock);
	is_expected = answers->input_seq != 0 && (seq == 0 || seq == answers->input_seq);
	if (is_expected) {
		answers->input_seq = 0;
		give(answers, 0, RECKON_TOOL_VALUE, line, len);
	}
	(void)pthread_mutex_unlock(&answers->lock);
	if (is_expected)
		return api_ok(err);
	(void)err_set(&inner, ERR_NOT_FOUND, "the program waits for no such input");
	return api_fail(err, &inner);
}

static uint64_t number_of(const char *call)
{
	char *end;
	unsigned long long number;

	if (strncmp(call, PREFIX, strlen(PREFIX)) != 0 || call[strlen(PREFIX)] < '1' ||
	    call[strlen(PREFIX)] > '9')
		return 0;
	number = strtoull(call + strlen(PREFIX), &end, 10);
	return *end == '\0' ? number : 0;
}

int reckon_answers_tool(reckon_answers *answers, const char *call, int kind, const char *text,
			size_t len, reckon_error *err)
{
	const uint64_t number = number_of(call);
	struct err inner;
	bool is_expected;

	if (kind < RECKON_TOOL_VALUE || kind > RECKON_TOOL_DENIED || text == NULL ||
	    len > RECKON_TOOL_TEXT_MAX) {
		(void)err_set(&inner, ERR_INVALID, "an answer of %zu bytes; at most 5 MiB", len);
		return api_fail(err, &inner);
	}
	(void)pthread_mutex_lock(&answers->lock);
	is_expected = take_call(answers, number);
	if (is_expected)
		give(answers, number, kind, text, len);
	(void)pthread_mutex_unlock(&answers->lock);
	if (is_expected)
		return api_ok(err);
	(void)err_set(&inner, ERR_NOT_FOUND, "the program waits for no call %.40s", call);
	return api_fail(err, &inner);
}

size_t reckon_answers_waiting(reckon_answers *answers)
{
	size_t count = 0;

	(void)pthread_mutex_lock(&answers->lock);
	for (size_t i = 0; i < ANSWERS_CALLS_MAX; i++)
		count += answers->calls[i] != 0;
	(void)pthread_mutex_unlock(&answers->lock);
	return count;
}

/* ---- ---- the executing side ---------------------------------------------------------------- */

int answers_fd(const struct reckon_answers *answers)
{
	return answers->fd;
}

void answers_expect_input(struct reckon_answers *answers, uint64_t seq)
{
	(void)pthread_mutex_lock(&answers->lock);
	answers->input_seq = seq;
	(void)pthread_mutex_unlock(&answers->lock);
}

bool answers_expect_call(struct reckon_answers *answers, uint64_t call)
{
	size_t count, place = ANSWERS_CALLS_MAX;

	(void)pthread_mutex_lock(&answers->lock);
	/* Questions that were answered, but not fetched, have a place in `given`. */
	count = answers->given_count;
	for (size_t i = 0; i < ANSWERS_CALLS_MAX; i++) {
		count += answers->calls[i] != 0;
		if (answers->calls[i] == 0)
			place = i;
	}
	if (count < ANSWERS_CALLS_MAX)
		answers->calls[place] = call;
	(void)pthread_mutex_unlock(&answers->lock);
	return count < ANSWERS_CALLS_MAX;
}

void answers_forget_calls(struct reckon_answers *answers)
{
	(void)pthread_mutex_lock(&answers->lock);
	memset(answers->calls, 0, sizeof(answers->calls));
	(void)pthread_mutex_unlock(&answers->lock);
}

bool answers_take(struct reckon_answers *answers, struct answer *ret)
{
	uint64_t ignored;
	bool is_there;

	(void)pthread_mutex_lock(&answers->lock);
	is_there = answers->given_count > 0;
	if (is_there) {
		*ret = answers->given[0];
		answers->given_count--;
		memmove(answers->given, answers->given + 1,
			answers->given_count * sizeof(answers->given[0]));
	} else if (read(answers->fd, &ignored, sizeof(ignored)) < 0) {
		ignored = 0;
	}
	(void)pthread_mutex_unlock(&answers->lock);
	return is_there;
}
