/*
 * test_lib_launch.c - finding, starting and sharing a warden.
 *
 * Runs in:  the unit suite. The same program, called by the name reckon-warden, is the warden.
 * Reads:    its own temporary directories.
 * Never:    touches the user's real warden.
 */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "lib/launch.h"
#include "wire/launch.h"

extern char **environ;

/* ---- as the warden: sends what it was started with --------------------------------------- */

static void describe(char *text, size_t size, int argc, char **argv)
{
	char cwd[256] = "", fds[64] = "";
	size_t used = 0;

	for (int fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			used += (size_t)snprintf(fds + used, sizeof(fds) - used, "%d,", fd);
	(void)snprintf(text, size, "pid=%d fds=%s cwd=%s env=", getpid(), fds,
		       getcwd(cwd, sizeof(cwd)));
	for (char **env = environ; *env != NULL; env++)
		(void)strncat(text, *env, size - strlen(text) - 1);
	(void)strncat(text, " args=", size - strlen(text) - 1);
	for (int i = 1; i < argc; i++) {
		(void)strncat(text, argv[i], size - strlen(text) - 1);
		(void)strncat(text, ",", size - strlen(text) - 1);
	}
}

static int be_warden(int argc, char **argv)
{
	struct pollfd wait = { .fd = 3, .events = POLLIN };
	char text[2048];

	describe(text, sizeof(text), argc, argv);
	if (strcmp(argv[1], "--client-fd") == 0) {
		if (send(3, text, strlen(text), 0) < 0)
			return 1;
		/* Waits until the connection closes. */
		return read(3, text, sizeof(text)) != 0;
	}
	/* Exits after 3 s without a connection, so that no test leaves one behind. */
	while (poll(&wait, 1, 3000) > 0) {
		int sock = accept(3, NULL, NULL);

		if (sock < 0 || send(sock, text, strlen(text), 0) < 0)
			return 1;
		(void)close(sock);
	}
	return 0;
}

/* ---- the tests --------------------------------------------------------------------------- */

struct place {
	char dir[64];
	char warden[128];
};

static int setup(void **state)
{
	struct place *place = test_malloc(sizeof(*place));
	char self[512];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(n > 0);
	self[n] = '\0';
	(void)close(unit_mkdir(place->dir));
	(void)snprintf(place->warden, sizeof(place->warden), "%s/reckon-warden", place->dir);
	assert_int_equal(symlink(self, place->warden), 0);
	assert_int_equal(setenv("XDG_RUNTIME_DIR", place->dir, 1), 0);
	assert_int_equal(setenv("RECKON_LIBEXEC", place->dir, 1), 0);
	assert_int_equal(setenv("SECRET_TOKEN", "hunter2", 1), 0);
	*state = place;
	return 0;
}

static int teardown(void **state)
{
	struct place *place = *state;

	unit_rmdir(place->dir);
	test_free(place);
	return 0;
}

static void receive_text(int sock, char *text, size_t size)
{
	ssize_t n = recv(sock, text, size - 1, 0);

	assert_true(n > 0);
	text[n] = '\0';
	(void)close(sock);
}

static void check_clean(const char *text)
{
	assert_non_null(strstr(text, "fds=0,1,2,3, "));
	assert_non_null(strstr(text, "cwd=/ "));
	assert_null(strstr(text, "hunter2"));
	assert_non_null(strstr(text, "env=PATH="));
}

UNIT_TEST_WITH(test_find_warden, setup, teardown)
{
	const struct place *place = *state;
	cleanup_free char *found = NULL;
	char *none = NULL;
	struct err err;

	assert_ok(&err, launch_find_warden(&found, &err));
	assert_string_equal(found, place->warden);
	assert_int_equal(setenv("RECKON_LIBEXEC", "/nowhere", 1), 0);
	if (launch_find_warden(&none, &err) < 0) {
		assert_int_equal(err.code, ERR_UNAVAILABLE);
		assert_non_null(strstr(err.remedy, "RECKON_LIBEXEC"));
	}
	free(none);
}

UNIT_TEST_WITH(test_private_warden, setup, teardown)
{
	const struct place *place = *state;
	char text[2048];
	struct err err;
	int sock, status;
	pid_t pid;

	assert_ok(&err, launch_private(place->warden, "/some/templates", &sock, &pid, &err));
	receive_text(sock, text, sizeof(text));
	check_clean(text);
	assert_non_null(strstr(text, "--templates,/some/templates,"));
	/* The connection is closed, so the warden exits; it is a child of this process. */
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

UNIT_TEST_WITH(test_shared_warden_is_started_once, setup, teardown)
{
	const struct place *place = *state;
	char first[2048], second[2048], other[2048];
	struct err err;
	int sock;

	assert_ok(&err, launch_join_shared(place->warden, "/t", &sock, &err));
	receive_text(sock, first, sizeof(first));
	check_clean(first);
	assert_non_null(strstr(first, "--idle-seconds,900,"));
	assert_ok(&err, launch_join_shared(place->warden, "/t", &sock, &err));
	receive_text(sock, second, sizeof(second));
	assert_string_equal(first, second);
	/* Other templates need another warden. */
	assert_ok(&err, launch_join_shared(place->warden, "/u", &sock, &err));
	receive_text(sock, other, sizeof(other));
	assert_string_not_equal(first, other);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Of many processes that connect at once, the lock lets only one start the warden. */
UNIT_TEST_WITH(test_concurrent_callers_start_one_shared_warden, setup, teardown)
{
	const struct place *place = *state;
	pid_t crowd[8];
	int ends[2];
	char first[16] = "", text[2048];
	struct err err;

	assert_int_equal(pipe(ends), 0);
	for (size_t i = 0; i < ARRAY_LEN(crowd); i++) {
		int sock;

		crowd[i] = fork();
		if (crowd[i] != 0)
			continue;
		if (launch_join_shared(place->warden, "/crowd", &sock, &err) < 0)
			_exit(1);
		receive_text(sock, text, sizeof(text));
		/* "pid=N fds…": fixed width through padding. */
		_exit(dprintf(ends[1], "%-15.15s", strtok(text, " ")) == 15 ? 0 : 2);
	}
	for (size_t i = 0; i < ARRAY_LEN(crowd); i++) {
		int status;

		assert_int_equal(waitpid(crowd[i], &status, 0), crowd[i]);
		assert_int_equal(status, 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(crowd); i++) {
		char pid[16] = "";

		assert_int_equal(read(ends[0], pid, 15), 15);
		if (i == 0)
			memcpy(first, pid, sizeof(first));
		assert_string_equal(pid, first);
	}
	(void)close(ends[0]);
	(void)close(ends[1]);
}

/* A dead warden's socket file does not keep a new warden from starting. */
UNIT_TEST_WITH(test_a_dead_wardens_socket, setup, teardown)
{
	const struct place *place = *state;
	char text[2048], again[2048];
	struct err err;
	int sock;
	pid_t pid = 0;

	assert_ok(&err, launch_join_shared(place->warden, "/dead", &sock, &err));
	receive_text(sock, text, sizeof(text));
	assert_int_equal(sscanf(text, "pid=%d", &pid), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	while (kill(pid, 0) == 0)
		(void)usleep(1000);
	assert_ok(&err, launch_join_shared(place->warden, "/dead", &sock, &err));
	receive_text(sock, again, sizeof(again));
	assert_string_not_equal(text, again);
}

UNIT_TEST_WITH(test_an_insecure_runtime_directory_is_refused, setup, teardown)
{
	const struct place *place = *state;
	char dir[128];
	struct err err;
	int sock;

	(void)snprintf(dir, sizeof(dir), "%s/reckon", place->dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_err(&err, ERR_DENIED, launch_join_shared(place->warden, "/t", &sock, &err));
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(symlink("/tmp", dir), 0);
	assert_true(launch_join_shared(place->warden, "/t", &sock, &err) < 0);
}

UNIT_TEST_WITH(test_a_warden_that_cannot_run, setup, teardown)
{
	const struct place *place = *state;
	char path[128];
	struct err err;
	int sock;
	pid_t pid;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/broken", place->dir);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs("not a program", file) >= 0);
	(void)fclose(file);
	assert_int_equal(chmod(path, 0755), 0);
	assert_err(&err, ERR_SYSTEM, launch_private(path, "/t", &sock, &pid, &err));
	assert_non_null(strstr(err.text, "broken"));
	assert_err(&err, ERR_SYSTEM, launch_join_shared(path, "/t", &sock, &err));
	/* No socket file remains. */
	(void)snprintf(path, sizeof(path), "%s/reckon", place->dir);
	{
		cleanup_dir DIR *dir = opendir(path);
		struct dirent *entry;

		assert_non_null(dir);
		while ((entry = readdir(dir)) != NULL)
			assert_true(strlen(entry->d_name) < 5 ||
				    strcmp(entry->d_name + strlen(entry->d_name) - 5, ".sock") != 0);
	}
}

/* ---- a service manager that starts the warden ------------------------------------------------ */

enum manager { MANAGER_STARTS, MANAGER_FAILS, MANAGER_CLOSES, MANAGER_IS_GONE };

/* In a child: takes one launch request, then sends "managed" to one client as its warden. */
__attribute__((noreturn)) static void manage(int door, enum manager how)
{
	struct launch_request request;
	struct err err = { 0 };
	const int sock = accept(door, NULL, NULL);
	int listener = -1, client;
	size_t nfds;

	if (fd_recv_msg(sock, &request, sizeof(request), &listener, 1, &nfds, &err) !=
		    (ssize_t)sizeof(request) ||
	    nfds != 1 || request.version != LAUNCH_VERSION || request.idle_seconds != 900 ||
	    strcmp(request.template_dir, "/managed") != 0 || strcmp(request.log, "debug") != 0 ||
	    request.rotate[0] != '\0')
		_exit(1);
	if (how == MANAGER_CLOSES)
		_exit(0);
	err_clear(&err);
	if (how == MANAGER_FAILS)
		(void)err_set(&err, ERR_LIMIT, "too many wardens");
	if (fd_send_msg(sock, &err, sizeof(err), NULL, 0, &err) < 0)
		_exit(2);
	if (how == MANAGER_FAILS)
		_exit(0);
	client = accept(listener, NULL, NULL);
	_exit(client >= 0 && send(client, "managed", 7, 0) == 7 ? 0 : 3);
}

static pid_t start_manager(const struct place *place, enum manager how)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const int door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	pid_t pid;

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/manager", place->dir);
	(void)unlink(address.sun_path);
	assert_int_equal(bind(door, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(setenv("RECKON_WARDEN_SOCKET", address.sun_path, 1), 0);
	assert_int_equal(setenv("RECKON_LOG", "debug", 1), 0);
	if (how != MANAGER_IS_GONE)
		assert_int_equal(listen(door, 1), 0);
	pid = how == MANAGER_IS_GONE ? 0 : fork();
	if (pid == 0 && how != MANAGER_IS_GONE)
		manage(door, how);
	(void)close(door);
	return pid;
}

static void end_manager(const struct place *place, pid_t pid)
{
	char path[128];
	int status = 0;

	if (pid > 0)
		assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	(void)snprintf(path, sizeof(path), "%s/manager", place->dir);
	assert_int_equal(unlink(path), 0);
	(void)unsetenv("RECKON_WARDEN_SOCKET");
	(void)unsetenv("RECKON_LOG");
}

UNIT_TEST_WITH(test_a_service_manager_starts_the_warden, setup, teardown)
{
	const struct place *place = *state;
	const pid_t pid = start_manager(place, MANAGER_STARTS);
	char text[2048];
	struct err err;
	int sock;

	assert_ok(&err, launch_join_shared(place->warden, "/managed", &sock, &err));
	receive_text(sock, text, sizeof(text));
	assert_string_equal(text, "managed");
	end_manager(place, pid);
}

UNIT_TEST_WITH(test_an_error_of_the_service_manager_is_returned, setup, teardown)
{
	const struct place *place = *state;
	const pid_t pid = start_manager(place, MANAGER_FAILS);
	struct err err;
	int sock;

	assert_err(&err, ERR_LIMIT, launch_join_shared(place->warden, "/managed", &sock, &err));
	assert_string_equal(err.text, "too many wardens");
	end_manager(place, pid);
}

UNIT_TEST_WITH(test_without_a_service_manager_the_warden_is_forked, setup, teardown)
{
	const struct place *place = *state;
	char text[2048];
	struct err err;
	int sock;

	for (enum manager how = MANAGER_CLOSES; how <= MANAGER_IS_GONE; how++) {
		const pid_t pid = start_manager(place, how);

		assert_ok(&err, launch_join_shared(place->warden, "/managed", &sock, &err));
		receive_text(sock, text, sizeof(text));
		assert_non_null(strstr(text, "--templates,/managed,"));
		end_manager(place, pid);
		assert_int_equal(sscanf(text, "pid=%d", &(int){ 0 }), 1);
		/* Kill this warden, so that the next round starts another one. */
		assert_int_equal(kill((pid_t)strtol(text + 4, NULL, 10), SIGKILL), 0);
		while (kill((pid_t)strtol(text + 4, NULL, 10), 0) == 0)
			(void)usleep(1000);
	}
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');

	if (name != NULL && strcmp(name + 1, "reckon-warden") == 0)
		return be_warden(argc, argv);
	return unit_run(NULL, NULL);
}
