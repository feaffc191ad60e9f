/*
 * fence_probe.c - enters a fence and tries what a captured front or unarchiver might do.
 *
 * Runs in:  test/e2e/test_serve_fence.py.
 * Reads:    nothing.
 * Never:    is installed. Prints "name errno" for each attempt; 0 means success.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "httpd/guard/fence.h"
#include "unarchiver/unarchiver.h"

#define FILE_FD 20

static void report(const char *name, long result)
{
	(void)dprintf(STDOUT_FILENO, "%s %d\n", name, result < 0 ? errno : 0);
}

static void try_files(void)
{
	char *const none[] = { NULL };
	char text[8];

	report("open", open("/etc/passwd", O_RDONLY));
	report("openat", syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY));
	report("openat2", syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", NULL, 0));
	report("create", syscall(SYS_openat, AT_FDCWD, "/tmp/fence", O_WRONLY | O_CREAT, 0600));
	report("stat", syscall(SYS_newfstatat, AT_FDCWD, "/etc/passwd", text, 0));
	report("readlink", readlink("/proc/self/exe", text, sizeof(text)));
	report("unlink", unlink("/tmp/fence"));
	report("chdir", chdir("/"));
	report("exec", execve("/bin/true", none, none));
	report("execveat", syscall(SYS_execveat, 1, "", none, none, AT_EMPTY_PATH));
}

static void try_network(void)
{
	const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(80) };

	report("socket", socket(AF_INET, SOCK_STREAM, 0));
	report("unix socket", socket(AF_UNIX, SOCK_STREAM, 0));
	report("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){ 0, 0 }));
	report("connect", connect(STDOUT_FILENO, (const struct sockaddr *)&to, sizeof(to)));
	report("bind", bind(STDOUT_FILENO, (const struct sockaddr *)&to, sizeof(to)));
}

static void try_processes(void)
{
	report("fork", syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	report("ptrace", ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
	report("kill", kill(getppid(), 0));
	report("unshare", unshare(CLONE_NEWUSER));
	report("setuid", setuid(0));
	report("prctl", prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	report("seccomp", syscall(SYS_seccomp, 0, 0, NULL));
	report("process_vm_readv", syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
	report("io_uring", syscall(SYS_io_uring_setup, 1, NULL));
	report("bpf", syscall(SYS_bpf, 0, NULL, 0));
}

static void try_memory(bool is_front)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	report("map to run", mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0) == MAP_FAILED ? -1 : 0);
	report("make run", mprotect(page, 4096, PROT_READ | PROT_EXEC));
	/* The process needs the following. */
	(void)dprintf(STDOUT_FILENO, "needed: memory %d\n", page == MAP_FAILED ? errno : 0);
	if (is_front)
		(void)dprintf(STDOUT_FILENO, "needed: memory file %d\n",
		      memfd_create("probe", MFD_CLOEXEC | MFD_ALLOW_SEALING) < 0 ? errno : 0);
}

/* Calls that the front may make and the unarchiver may not. */
static void try_calls_of_the_front(void)
{
	report("accept", accept4(STDOUT_FILENO, NULL, NULL, 0));
	report("listen", listen(STDOUT_FILENO, 1));
	report("epoll", syscall(SYS_epoll_create1, 0));
	report("memory file", memfd_create("probe", MFD_CLOEXEC));
	report("write to a file", write(FILE_FD, "x", 1));
}

int main(int argc, char **argv)
{
	const bool is_unarchiver = argc == 2 && strcmp(argv[1], "peek") == 0;
	struct err err;

	if (is_unarchiver) {
		/* The unarchiver has the archive open, but may not write to it. */
		if (dup2(open("/tmp", O_TMPFILE | O_RDWR, 0600), FILE_FD) < 0)
			return 1;
		if (unarchiver_fence(0, &err) < 0)
			return 1;
		try_files();
		try_network();
		try_processes();
		try_memory(false);
		try_calls_of_the_front();
		return 0;
	}
	if (httpd_fence(64, &err) < 0) {
		(void)dprintf(STDOUT_FILENO, "fence: %s\n", err.text);
		return 1;
	}
	try_files();
	try_network();
	try_processes();
	try_memory(true);
	return 0;
}
