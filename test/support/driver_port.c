/*
 * driver_port.c - ports of a session, for tests that connect to them from the host.
 *
 * Runs in:  a test, in reckon-driver.
 * Reads:    lines of driver.c; bytes of hostile servers, which it prints as hexadecimal digits.
 * Never:    waits longer than a line says.
 */
#include "driver_port.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <reckon_port.h>

#include "base/cleanup.h"
#include "driver_process.h"

#define PORTS_MAX 300

static void print_answer(int fd, int timeout_ms)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	char chunk[4096];
	ssize_t n;

	(void)fputs("{\"hex\":\"", stdout);
	while (poll(&wait, 1, timeout_ms) > 0 && (n = read(fd, chunk, sizeof(chunk))) > 0)
		for (ssize_t i = 0; i < n; i++)
			(void)printf("%02x", (unsigned char)chunk[i]);
	(void)puts("\"}");
	(void)fflush(stdout);
}

static void do_exchange(const struct json_value *line, reckon_session *session)
{
	const char *text = text_of(line, "text");
	const int timeout_ms = (int)number_of(line, "timeout_ms");
	cleanup_fd int fd = -1;
	reckon_error err;

	if (reckon_port_connect(session, (unsigned)number_of(line, "port"), timeout_ms, &fd,
				&err) < 0) {
		say_error(&err);
		return;
	}
	if (text != NULL && send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		perror("send to a port");
	print_answer(fd, timeout_ms);
}

static void do_list(reckon_session *session)
{
	static reckon_port_entry entries[PORTS_MAX];
	reckon_error err;
	const int count = reckon_port_list(session, entries, PORTS_MAX, &err);

	if (count < 0) {
		say_error(&err);
		return;
	}
	(void)putchar('[');
	for (int i = 0; i < count; i++)
		(void)printf("%s{\"port\":%u,\"address\":\"%s\",\"loopback\":%s}", i > 0 ? "," : "",
			     entries[i].port, entries[i].address,
			     entries[i].is_loopback != 0 ? "true" : "false");
	(void)puts("]");
	(void)fflush(stdout);
}

bool driver_port(const char *op, const struct json_value *line, reckon_session *session)
{
	if (session == NULL || strncmp(op, "port_", 5) != 0)
		return false;
	if (strcmp(op, "port_exchange") == 0)
		do_exchange(line, session);
	else
		do_list(session);
	return true;
}
