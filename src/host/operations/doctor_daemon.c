/*
 * doctor_daemon.c - checks the daemon of a state directory: does it run, does it answer, is its
 * front restricted.
 *
 * Runs in:  a separate reckond, for `reckon doctor --service`.
 * Reads:    STATE/reckond.lock, /proc of the daemon and its front, one answer.
 * Never:    asks the daemon about its restrictions: the kernel reports them.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "host/operations/doctor.h"
#include "host/host.h"

#define FRONT_NAME "reckon-front-"
#define ANSWER_S 10

/* Reads a small file of /proc; -1 on failure. */
static int slurp(const char *path, char *text, size_t size)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;

	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? 0 : -1;
}

/* Finds the word after "Name:" in /proc/PID/status. */
static bool status_word(const char *status, const char *name, char *ret, size_t size)
{
	const char *at = strstr(status, name);
	size_t len;

	if (at == NULL)
		return false;
	at += strlen(name);
	at += strspn(at, " \t");
	len = strcspn(at, " \t\n");
	(void)snprintf(ret, size, "%.*s", (int)len, at);
	return true;
}

/* Finds a front among the children of all threads, because any thread may have started it. */
static long find_front(long pid)
{
	char path[80], children[4096], name[32];
	cleanup_dir DIR *tasks = NULL;
	struct dirent *entry;

	(void)snprintf(path, sizeof(path), "/proc/%ld/task", pid);
	tasks = opendir(path);
	while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
		char *at = children, *end;

		(void)snprintf(path, sizeof(path), "/proc/%ld/task/%.20s/children", pid,
			       entry->d_name);
		if (entry->d_name[0] == '.' || slurp(path, children, sizeof(children)) < 0)
			continue;
		for (long child; (child = strtol(at, &end, 10)) > 0 && end != at; at = end) {
			(void)snprintf(path, sizeof(path), "/proc/%ld/comm", child);
			if (slurp(path, name, sizeof(name)) == 0 &&
			    strncmp(name, FRONT_NAME, strlen(FRONT_NAME)) == 0)
				return child;
		}
	}
	return 0;
}

static void check_front(struct doctor *doctor, long pid)
{
	static const struct {
		const char *name, *want, *what;
	} walls[] = {
		{ "\nNoNewPrivs:", "1", "no new privileges" },
		{ "\nSeccomp:", "2", "a filter of system calls" },
		{ "\nCapEff:", "0000000000000000", "no capabilities" },
	};
	const long front = find_front(pid);
	char path[64], status[4096], word[64], text[200] = "";

	if (front == 0) {
		doctor_say(doctor, DOCTOR_BAD, "front", "see the daemon's log", "it does not run");
		return;
	}
	(void)snprintf(path, sizeof(path), "/proc/%ld/status", front);
	if (slurp(path, status, sizeof(status)) < 0) {
		doctor_say(doctor, DOCTOR_BAD, "front", "", "it cannot be looked at");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(walls); i++)
		if (!status_word(status, walls[i].name, word, sizeof(word)) ||
		    strcmp(word, walls[i].want) != 0)
			(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
				       text[0] != '\0' ? ", " : "it lacks: ", walls[i].what);
	if (text[0] == '\0' && geteuid() == 0 &&
	    status_word(status, "\nUid:", word, sizeof(word)) && strcmp(word, "0") == 0)
		(void)snprintf(text, sizeof(text), "it is root");
	doctor_say(doctor, text[0] == '\0' ? DOCTOR_OK : DOCTOR_BAD, "front",
		   "start the daemon again; see its log",
		   "%s",
		   text[0] == '\0' ? "behind its fence: no capabilities, no privileges, a filter"
				   : text);
}

/* Connects to "127.0.0.1:7263" or "[::1]:7263", in the format of the lock file. */
static int connect_to(const char *text)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	const struct timeval limit = { .tv_sec = ANSWER_S };
	const char *colon = strrchr(text, ':');
	char host[64];
	cleanup_fd int fd = -1;
	bool is_v6;

	if (colon == NULL || (size_t)(colon - text) >= sizeof(host))
		return -1;
	is_v6 = text[0] == '[';
	(void)snprintf(host, sizeof(host), "%.*s", (int)(colon - text) - 2 * is_v6, text + is_v6);
	v4.sin_port = v6.sin6_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	if (inet_pton(is_v6 ? AF_INET6 : AF_INET, host,
		      is_v6 ? (void *)&v6.sin6_addr : (void *)&v4.sin_addr) != 1)
		return -1;
	fd = socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
	    connect(fd, is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
		    is_v6 ? sizeof(v6) : sizeof(v4)) < 0)
		return -1;
	return TAKE_FD(fd);
}

static void check_answer(struct doctor *doctor, const char *listening)
{
	static const char request[] = "GET /reckon/v1/ready HTTP/1.0\r\nHost: localhost\r\n\r\n";
	char answer[2048], text[200];
	const char *body;
	cleanup_fd int fd = -1;
	ssize_t n = -1;

	if (strncmp(listening, "http://", 7) != 0) {
		doctor_say(doctor, DOCTOR_OK, "listening", "", "%s", listening);
		return;
	}
	fd = connect_to(listening + 7);
	if (fd >= 0 && send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) > 0)
		n = recv(fd, answer, sizeof(answer) - 1, MSG_WAITALL);
	answer[n > 0 ? n : 0] = '\0';
	body = strstr(answer, "\r\n\r\n");
	(void)snprintf(text, sizeof(text), "%.90s", listening);
	if (strncmp(answer, "HTTP/1.1 200", 12) == 0)
		doctor_say(doctor, DOCTOR_OK, "listening", "", "%s", text);
	else if (n > 0 && body != NULL)
		doctor_say(doctor, DOCTOR_PARTIAL, "listening", "see /reckon/v1/ready", "%s",
			   body + 4);
	else
		doctor_say(doctor, DOCTOR_BAD, "listening", "see the daemon's log", "%s", text);
}

/* Checks whether the daemon's file has been replaced since it started. */
static void check_binary(struct doctor *doctor, long pid)
{
	char path[64], text[300];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%ld/exe", pid);
	n = readlink(path, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	if (n <= 0)
		doctor_say(doctor, DOCTOR_PARTIAL, "program", "", "it cannot be looked at");
	else if (strstr(text, " (deleted)") != NULL)
		doctor_say(doctor, DOCTOR_PARTIAL, "program", "reckon serve --upgrade",
			   "an older file than the one that is installed");
	else
		doctor_say(doctor, DOCTOR_OK, "program", "", "%s", text);
}

void doctor_check_daemon(struct doctor *doctor)
{
	cleanup_fd int lock = openat(doctor->state_fd, "reckond.lock",
				     O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	char text[200] = "", detail[64], *newline;
	long pid;

	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK ||
	    read(lock, text, sizeof(text) - 1) <= 0 || (pid = strtol(text, NULL, 10)) <= 1) {
		doctor_say(doctor, DOCTOR_ABSENT, "daemon", "start it: reckon serve",
			   "none uses this directory");
		return;
	}
	(void)snprintf(detail, sizeof(detail), "pid %ld", pid);
	doctor_say(doctor, DOCTOR_OK, "daemon", "", "%s", detail);
	newline = strchr(text, '\n');
	if (newline != NULL && newline[1] != '\0') {
		newline[1 + strcspn(newline + 1, "\n")] = '\0';
		check_answer(doctor, newline + 1);
	}
	check_front(doctor, pid);
	check_binary(doctor, pid);
}
