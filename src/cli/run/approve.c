/*
 * approve.c - asks a person to approve each tool call.
 *
 * Runs in:  reckon run, reckon-client; in the thread of a call.
 * Reads:    tool calls of hostile code, which it prints; a line that the person types.
 * Never:    accepts an answer that was typed before the question, or any other word.
 *
 * The question goes to the terminal itself, because stdout and stderr may be files or pipes, where
 * the person does not see it.
 */
#include "cli/run/approve.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/reveal.h"

#define LOOK_MS 100
#define SHOWN_MAX ((size_t)4 * 1024 * 1024) /* 128 KiB, each byte as "ESC[7m\xNN ESC[0m" */

static pthread_mutex_t person = PTHREAD_MUTEX_INITIALIZER;

bool run_person_take(bool (*is_over)(void *arg), void *arg)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };

	while (pthread_mutex_trylock(&person) != 0) {
		if (is_over(arg))
			return false;
		(void)nanosleep(&pause, NULL);
	}
	return true;
}

void run_person_release(void)
{
	(void)pthread_mutex_unlock(&person);
}

/* The box's output may have left colours on and the cursor in the middle of a line. */
static int write_question(const struct run_call *call, struct buf *ret, struct err *err)
{
	if (buf_adds(ret, "\r\x1b[0m\xe2\x94\x82 ", err) < 0 || /* │ */
	    reveal_line(call->tool, strlen(call->tool), true, ret, err) < 0 ||
	    buf_addc(ret, ' ', err) < 0 ||
	    reveal_line(call->arguments, call->len, true, ret, err) < 0)
		return (int)err->code;
	return buf_addc(ret, '\n', err);
}

/* The first letter of a word that was typed as the letter or in full. 0: any other text. */
static char read_word(const char *line, size_t len)
{
	static const char *const words[] = { "yes", "no", "always" };

	while (len > 0 && strchr(" \t\r\n", line[len - 1]) != NULL && line[len - 1] != '\0')
		len--;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if ((len == 1 && line[0] == words[i][0]) ||
		    (len == strlen(words[i]) && memcmp(line, words[i], len) == 0))
			return words[i][0];
	return '\0';
}

static bool wait_for_line(int tty, const struct run_call *call)
{
	struct pollfd wait = { .fd = tty, .events = POLLIN };

	while (!call->is_over(call->arg))
		if (poll(&wait, 1, LOOK_MS) > 0)
			return true;
	return false;
}

static char ask(int tty, const struct run_call *call)
{
	static const char question[] = "Call it? [y]es, [n]o, [a]lways this tool: ";
	struct err ignored;

	/* Discard what was typed before the question: a cell may have printed a fake one. */
	(void)tcflush(tty, TCIFLUSH);
	for (;;) {
		char line[64], word;
		ssize_t n;

		if (fd_write_full(tty, question, sizeof(question) - 1, &ignored) < 0)
			return 'n';
		if (!wait_for_line(tty, call)) {
			(void)fd_write_full(tty, "\n", 1, &ignored);
			return 'e';
		}
		n = read(tty, line, sizeof(line));
		if (n <= 0)
			return 'n';
		word = read_word(line, (size_t)n);
		if (word != '\0')
			return word;
	}
}

char run_approve(const struct run_call *call)
{
	cleanup_buf struct buf text = BUF_INIT(SHOWN_MAX);
	cleanup_fd int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	struct err ignored;

	if (tty < 0)
		return '\0';
	if (write_question(call, &text, &ignored) < 0 ||
	    fd_write_full(tty, text.data, text.len, &ignored) < 0)
		return 'n';
	return ask(tty, call);
}
