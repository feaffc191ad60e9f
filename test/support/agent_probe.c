/*
 * agent_probe.c - enters the agent's fence and tries what a captured agent might do.
 *
 * Runs in:  test/e2e/test_ask_fence.py, which passes two listening ports: the one that the agent
 *           may reach, and another.
 * Reads:    nothing.
 * Never:    is installed. Prints "name errno" for each attempt; 0 means success.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/fence.h"

static void report(const char *name, long result)
{
	(void)dprintf(STDOUT_FILENO, "%s %d\n", name, result < 0 ? errno : 0);
}

static void try_files(void)
{
	char *const none[] = { NULL };

	report("open", open("/etc/passwd", O_RDONLY));
	report("certificates", open("/etc/ssl/certs/ca-certificates.crt", O_RDONLY));
	report("directory", open("/", O_RDONLY | O_DIRECTORY));
	report("openat2", syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", NULL, 0));
	report("create", open("/tmp/agent-fence", O_WRONLY | O_CREAT, 0600));
	report("write", open("/etc/hosts", O_RDWR));
	report("unlink", unlink("/tmp/agent-fence"));
	report("chmod", chmod("/etc/hosts", 0600));
	report("exec", execve("/bin/true", none, none));
	report("execveat", syscall(SYS_execveat, 1, "", none, none, 0x1000));
}

static int reach(uint16_t port, bool is_bind)
{
	const struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return is_bind ? bind(fd, (const struct sockaddr *)&to, sizeof(to))
		       : connect(fd, (const struct sockaddr *)&to, sizeof(to));
}

static void try_network(uint16_t wanted, uint16_t other)
{
	report("needed: the model's port", reach(wanted, false));
	report("another port", reach(other, false));
	report("bind", reach(0, true));
	report("unix socket", socket(AF_UNIX, SOCK_STREAM, 0));
	report("packet socket", socket(AF_PACKET, SOCK_RAW, 0));
	report("vsock", socket(40, SOCK_STREAM, 0));
	report("listen", listen(STDOUT_FILENO, 1));
	report("accept", accept4(STDOUT_FILENO, NULL, NULL, 0));
}

static void try_processes(void)
{
	report("fork", syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	report("clone3", syscall(SYS_clone3, NULL, 0));
	report("ptrace", ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
	report("kill", kill(getppid(), 0));
	report("unshare", unshare(CLONE_NEWUSER));
	report("setuid", setuid(0));
	report("dumpable", prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	report("process_vm_readv", syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0));
	report("pidfd_open", syscall(SYS_pidfd_open, getppid(), 0));
	report("io_uring", syscall(SYS_io_uring_setup, 1, NULL));
	report("bpf", syscall(SYS_bpf, 0, NULL, 0));
	report("keyctl", syscall(SYS_keyctl, 0, 0, 0, 0, 0));
}

static void *in_thread(void *arg)
{
	*(int *)arg = open("/etc/hosts", O_RDONLY);
	return NULL;
}

static void try_memory(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	int hosts = -1, code;

	report("map to run", mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0) == MAP_FAILED ? -1 : 0);
	report("make run", mprotect(page, 4096, PROT_READ | PROT_EXEC));
	/* The agent needs the following: the resolver runs in a thread and reads /etc/hosts. */
	code = pthread_create(&thread, NULL, in_thread, &hosts);
	if (code == 0)
		(void)pthread_join(thread, NULL);
	(void)dprintf(STDOUT_FILENO, "needed: a thread %d\n", code);
	report("needed: names of hosts", hosts);
	report("needed: memory file", memfd_create("probe", MFD_CLOEXEC | MFD_ALLOW_SEALING));
}

int main(int argc, char **argv)
{
	const uint16_t wanted = argc == 3 ? (uint16_t)strtoul(argv[1], NULL, 10) : 0;
	const uint16_t other = argc == 3 ? (uint16_t)strtoul(argv[2], NULL, 10) : 0;
	struct err err;

	if (agent_fence(&wanted, 1, &err) < 0) {
		(void)dprintf(STDOUT_FILENO, "fence: %s\n", err.text);
		return 1;
	}
	try_files();
	try_network(wanted, other);
	try_processes();
	try_memory();
	return 0;
}
