/*
 * shell.c - the shell process of a bash session.
 *
 * Runs in:  the bash kernel.
 * Reads:    the shell's status line and state, both of which a cell can forge.
 * Never:    waits for anything but the shell, its holder and an interrupt.
 *
 * One interactive bash runs for the whole session: an interrupt or a failed expansion returns an
 * interactive shell to its next command, but would end any other shell. Its standard input is our
 * command channel. Each cell has its own descriptors. They cannot be sent to a running bash, so
 * they are opened by name: a holder process (cat, waiting for end of file) inherits them, and the
 * shell redirects to /proc/HOLDER/fd/N. Our own /proc/PID/fd would not do: a kernel is not
 * dumpable, so no other process may open it.
 *
 *   kernel --commands--> bash -i          /proc/HOLDER/fd/ 10 stdin  11 stdout  12 stderr
 *     |                    | opens                          13 cell  14 status  15 state
 *     +--spawns--> cat ----+
 *
 * After each cell the shell writes its state as a script. A shell that ended (exit, exec, set -e)
 * is replaced by a new one that runs this script; so is the shell of a branch.
 */
#include "inside/bash/bash.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "wire/tools.h"

#define HOLD_FIRST 10
#define PATIENCE_GROWS 11 /* up to 512 s: meanwhile repeated requests wait in a pipe */
#define STATE_TRIES 16
#define LENT_MAX (2u << 20)
enum hold { HOLD_STDIN, HOLD_STDOUT, HOLD_STDERR, HOLD_CELL, HOLD_STATUS, HOLD_STATE, HOLD_COUNT_ };

extern char **environ;

static struct {
	pid_t pid; /* 0: none */
	int pidfd;
	int commands; /* our end of its standard input */
	struct buf state;
	struct buf first_state;
	char seed[24];
	struct buf lent; /* commands that set variables for the next cell */
} shell = { .pidfd = -1,
	    .commands = -1,
	    .state = { .max = BASH_STATE_MAX },
	    .first_state = { .max = BASH_STATE_MAX },
	    .lent = { .max = LENT_MAX } };

/* The process that holds one cell's descriptors. */
struct holder {
	pid_t pid;
	int pidfd;
	int keep; /* the write end of its standard input: closing it ends the holder */
	int status;
	int state;
};

/*
 * Uses \builtin throughout, which no alias and only a malicious function can redefine. Functions
 * come after their names so that VARIABLES need not parse shell text. Contains no single quotes: it
 * is part of a trap's text.
 */
#define STATE_COMMANDS                                                                          \
	"\\builtin declare -p; \\builtin echo " BASH_MARK_FUNCTIONS "; \\builtin declare -F; "  \
	"\\builtin echo " BASH_MARK_REST "; \\builtin declare -f; \\builtin alias -p; "         \
	"\\builtin shopt -p; \\builtin set +o; \\builtin trap -p; \\builtin umask -p; "         \
	"\\builtin printf cd\\ --\\ %q\\ \\|\\|\\ :\\\\n \"$PWD\""

/* Undoes bash_shell_lend(), once: a variable that a cell sets later must persist. */
#define TAKE_BACK "\\builtin eval \"${__reckon_back-}\"; __reckon_back=; "

static int open_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static void end_process(pid_t pid, int *pidfd)
{
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	if (*pidfd >= 0)
		(void)close(*pidfd);
	*pidfd = -1;
}

static void holder_end(struct holder *holder)
{
	end_process(holder->pid, &holder->pidfd);
	cleanup_fd_fn(&holder->keep);
	cleanup_fd_fn(&holder->status);
	cleanup_fd_fn(&holder->state);
}

/* Resets signals for the new program; the kernel's own SIGINT is blocked while it spawns. */
static int spawn(const char *path, char *const *argv, const posix_spawn_file_actions_t *actions,
		 bool own_group, pid_t *ret_pid, struct err *err)
{
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int code;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	if (posix_spawnattr_init(&attributes) != 0)
		return err_set(err, ERR_SYSTEM, "no memory to start %s", path);
	(void)posix_spawnattr_setflags(&attributes,
				       (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
					       (own_group ? POSIX_SPAWN_SETPGROUP : 0)));
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setsigdefault(&attributes, &all);
	(void)posix_spawnattr_setpgroup(&attributes, 0);
	code = posix_spawn(ret_pid, path, actions, &attributes, argv, environ);
	(void)posix_spawnattr_destroy(&attributes);
	errno = code;
	return code == 0 ? 0 : err_sys(err, "start %s", path);
}

static int make_pipe(int *ret_read, int *ret_write, struct err *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	*ret_read = ends[0];
	*ret_write = ends[1];
	return 0;
}

/* Moves fd above all HOLD_ numbers, so that file actions do not overwrite it. */
static int lift(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 64);
}

static int holder_spawn(struct holder *holder, int keep_far, int echo_far, const int *held,
			struct err *err)
{
	char name[] = "cat";
	char *argv[] = { name, NULL };
	posix_spawn_file_actions_t actions;
	int code;

	if (posix_spawn_file_actions_init(&actions) != 0)
		return err_set(err, ERR_SYSTEM, "no memory to start cat");
	(void)posix_spawn_file_actions_adddup2(&actions, keep_far, STDIN_FILENO);
	(void)posix_spawn_file_actions_adddup2(&actions, echo_far, STDOUT_FILENO);
	(void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	for (int i = 0; i < HOLD_COUNT_; i++)
		(void)posix_spawn_file_actions_adddup2(&actions, held[i], HOLD_FIRST + i);
	code = spawn("/bin/cat", argv, &actions, true, &holder->pid, err);
	(void)posix_spawn_file_actions_destroy(&actions);
	return code;
}

/*
 * A spawn returns before the child has executed its program. Until then the child is not dumpable
 * either, so the shell cannot open its /proc entry. A byte that cat echoes shows that cat runs.
 */
static int holder_wait(const struct holder *holder, int echo, struct err *err)
{
	char byte = '\n', path[48];
	ssize_t n;

	if (fd_write_full(holder->keep, &byte, 1, err) < 0)
		return (int)err->code;
	do
		n = read(echo, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		return err_set(err, ERR_LOST, "the holder of a cell's streams has ended");
	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)holder->pid, HOLD_FIRST);
	return access(path, F_OK) == 0 ? 0 : err_sys(err, "a cell's streams in /proc");
}

/* Borrows `fds` (stdout, stderr, stdin); the caller closes them. */
static int holder_start(struct holder *holder, const char *code, size_t len, const int *fds,
			struct err *err)
{
	cleanup_fd int cell = memfd_create("reckon-cell", MFD_CLOEXEC);
	cleanup_fd int keep_far = -1, echo = -1, echo_far = -1, status_far = -1;
	int held[HOLD_COUNT_], result;

	holder->state = memfd_create("reckon-state", MFD_CLOEXEC);
	if (cell < 0 || holder->state < 0)
		return err_sys(err, "memfd_create");
	if (make_pipe(&keep_far, &holder->keep, err) < 0 || make_pipe(&echo, &echo_far, err) < 0 ||
	    make_pipe(&holder->status, &status_far, err) < 0 ||
	    fd_write_full(cell, code, len, err) < 0)
		return (int)err->code;
	held[HOLD_STDIN] = lift(fds[2]);
	held[HOLD_STDOUT] = lift(fds[0]);
	held[HOLD_STDERR] = lift(fds[1]);
	held[HOLD_CELL] = lift(cell);
	held[HOLD_STATUS] = lift(status_far);
	held[HOLD_STATE] = lift(holder->state);
	result = holder_spawn(holder, keep_far, echo_far, held, err);
	for (int i = 0; i < HOLD_COUNT_; i++)
		(void)close(held[i]);
	if (result < 0)
		return result;
	cleanup_fd_fn(&echo_far); /* so that the end of cat is an end of file */
	echo_far = -1;
	holder->pidfd = open_pidfd(holder->pid);
	return holder->pidfd < 0 ? err_sys(err, "pidfd_open") : holder_wait(holder, echo, err);
}

static int command(const char *text, size_t len, struct err *err)
{
	/* A shell that has ended is noticed by its pidfd; SIGPIPE is ignored. */
	return fd_write_full(shell.commands, text, len, err);
}

/* Reports the last command's exit status, such as "s130". */
#define STATUS_COMMAND "\\builtin echo s$? >/proc/%d/fd/14"

static bool ask_status(const struct holder *holder)
{
	char text[80];
	struct err err;
	int n = snprintf(text, sizeof(text), STATUS_COMMAND "\n", (int)holder->pid);

	return n > 0 && command(text, (size_t)n, &err) >= 0;
}

static void shell_gone(void)
{
	if (shell.commands >= 0)
		(void)close(shell.commands);
	if (shell.pidfd >= 0)
		(void)close(shell.pidfd);
	bash_lend_forget();
	shell.pid = 0;
	shell.pidfd = -1;
	shell.commands = -1;
}

void bash_shell_forget(void)
{
	bash_lend_forget();
	shell.pid = 0;
	shell.pidfd = -1;
	shell.commands = -1;
}

void bash_shell_seed(const char *digits, size_t len)
{
	(void)snprintf(shell.seed, sizeof(shell.seed), "%.*s", (int)len, digits);
}

const struct buf *bash_shell_state(void)
{
	return &shell.state;
}

const struct buf *bash_shell_first_state(void)
{
	return &shell.first_state;
}

static int shell_spawn(struct err *err)
{
	/* Without line editing: there is no terminal, and readline costs a system call per byte. */
	char name[] = "bash", noprofile[] = "--noprofile", norc[] = "--norc";
	char noediting[] = "--noediting", interactive[] = "-i";
	char *argv[] = { name, noprofile, norc, noediting, interactive, NULL };
	posix_spawn_file_actions_t actions;
	cleanup_fd int commands_far = -1, tools_far = -1;
	int code;

	if (make_pipe(&commands_far, &shell.commands, err) < 0 ||
	    bash_lend_pair(&tools_far, err) < 0)
		return (int)err->code;
	if (posix_spawn_file_actions_init(&actions) != 0)
		return err_set(err, ERR_SYSTEM, "no memory to start bash");
	(void)posix_spawn_file_actions_adddup2(&actions, commands_far, STDIN_FILENO);
	(void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	(void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, tools_far, TOOLS_FD);
	code = spawn("/bin/bash", argv, &actions, true, &shell.pid, err);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (code < 0) {
		shell.pid = 0;
		return code;
	}
	shell.pidfd = open_pidfd(shell.pid);
	return shell.pidfd < 0 ? err_sys(err, "pidfd_open") : 0;
}

/*
 * Disables prompts and history, and saves the state on exit. An interactive bash prints "exit" when
 * it exits; suppress that.
 */
static const char prepare[] =
	"exit() { local __reckon_was=$?; { builtin exit \"${1-$__reckon_was}\"; } 2>/dev/null; }\n"
	"PS1= PS2= PS4='+ ' PROMPT_COMMAND=; unset HISTFILE MAILCHECK\n"
	"set +o history +H; history -c\n"
	"shopt -u huponexit checkwinsize\n"
	"trap '{ " STATE_COMMANDS "; } >/proc/$__reckon_holder/fd/15 2>/dev/null' EXIT\n";

static int append_state(struct holder *holder, struct buf *into, struct err *err)
{
	buf_clear(into);
	if (lseek(holder->state, 0, SEEK_SET) < 0)
		return err_sys(err, "lseek");
	return fd_read_all(holder->state, into, err);
}

/* Reads status lines of the shell and the holder. */
struct status_reader {
	struct pollfd waits[4];
	sigset_t mask; /* of signals, while waiting */
	char line[32];
	size_t len;
};

enum reader_event { READER_LINE, READER_TIMEOUT, READER_SIGNAL, READER_END };

static void status_reader_init(struct status_reader *status_reader, const struct holder *holder)
{
	*status_reader =
		(struct status_reader){ .waits = { { .fd = holder->status, .events = POLLIN },
						   { .fd = shell.pidfd, .events = POLLIN },
						   { .fd = holder->pidfd, .events = POLLIN },
						   { .fd = -1, .events = POLLIN } } };
	(void)sigprocmask(SIG_BLOCK, NULL, &status_reader->mask);
}

static enum reader_event status_reader_listen(struct status_reader *status_reader,
					      const struct timespec *limit)
{
	struct pollfd *tools = &status_reader->waits[3];

	for (;;) {
		int n;

		tools->fd = bash_lend_fd();
		n = ppoll(status_reader->waits, ARRAY_LEN(status_reader->waits), limit,
			  &status_reader->mask);

		if (n < 0 && errno == EINTR)
			return READER_SIGNAL;
		if (n == 0)
			return READER_TIMEOUT;
		if (n > 0 && tools->revents != 0) {
			bash_lend_turn();
			if (n == 1)
				continue;
		}
		if (n < 0 || (status_reader->waits[0].revents & POLLIN) == 0 ||
		    read(status_reader->waits[0].fd, &status_reader->line[status_reader->len], 1) !=
			    1)
			return READER_END;
		if (status_reader->line[status_reader->len] == '\n' ||
		    status_reader->len + 1 == sizeof(status_reader->line))
			break;
		status_reader->len++;
	}
	status_reader->line[status_reader->len] = '\0';
	status_reader->len = 0;
	return READER_LINE;
}

/* Parses the number after `tag`; negative: the line answers something else. */
static int status_reader_number(const struct status_reader *status_reader, char tag)
{
	return status_reader->line[0] == tag ? (int)strtol(status_reader->line + 1, NULL, 10) & 0xff
					     : -1;
}

/* How long to wait for an answer that may be late or may never come. Doubles each time. */
static struct timespec patience_after(unsigned attempt)
{
	const long ms = 250L << (attempt < PATIENCE_GROWS ? attempt : PATIENCE_GROWS);

	return (struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000 * 1000 };
}

/*
 * Waits for the status of the running command; false if the shell or holder ended first. With
 * `interrupted`, SIGINT goes to the shell's commands: bash then drops the rest of its line,
 * including the command that answers, so we repeat that command until an answer comes. A cell can
 * cause the same (kill -INT 0, or a loop over programs that die of SIGINT), so we also repeat it
 * without an interrupt, less and less often. A repeat that bash has not read is not dropped, and
 * second answers are ignored.
 */
static bool wait_status(const struct holder *holder, int *ret_status, bool *interrupted)
{
	unsigned repeats = 0, waited = 0;
	struct status_reader status_reader;

	status_reader_init(&status_reader, holder);
	if (interrupted != NULL)
		(void)sigdelset(&status_reader.mask, SIGINT); /* block it until the wait, so that
							       * none is missed */
	for (;;) {
		const bool insists = interrupted != NULL && *interrupted;
		const struct timespec patience = patience_after(insists ? 0 : waited);

		switch (status_reader_listen(&status_reader, &patience)) {
		case READER_SIGNAL:
			if (interrupted == NULL)
				return false;
			(void)kill(-shell.pid, SIGINT);
			*interrupted = true;
			break;
		case READER_TIMEOUT:
			/* The signal can miss a command that was just being started. */
			if (insists && ++repeats % 4 == 0)
				(void)kill(-shell.pid, SIGINT);
			waited++;
			if (!ask_status(holder))
				return false;
			break;
		case READER_LINE:
			*ret_status = status_reader_number(&status_reader, 's');
			if (*ret_status >= 0)
				return true;
			break;
		case READER_END:
			return false;
		}
	}
}

/*
 * Makes the shell write its state. bash may handle an interrupt from the end of the cell only now,
 * and then drops this line. So we repeat it with the next number; an answer to that number means
 * that no earlier repeat still writes.
 */
static bool fetch_state(const struct holder *holder, struct err *err)
{
	const int held = (int)holder->pid;
	struct status_reader status_reader;
	char text[2048];

	status_reader_init(&status_reader, holder);
	for (int attempt = 0; attempt < STATE_TRIES; attempt++) {
		const struct timespec patience = patience_after((unsigned)attempt);
		enum reader_event event;
		int n = snprintf(text, sizeof(text),
				 TAKE_BACK "{ %s; } >/proc/%d/fd/15 2>/dev/null || :; "
				 "\\builtin echo d%d >/proc/%d/fd/14\n",
				 STATE_COMMANDS, held, attempt, held);

		if (n < 0 || (size_t)n >= sizeof(text) || command(text, (size_t)n, err) < 0)
			return false;
		do
			event = status_reader_listen(&status_reader, &patience);
		while (event == READER_LINE &&
		       status_reader_number(&status_reader, 'd') != attempt);
		if (event == READER_LINE)
			return true;
		if (event != READER_TIMEOUT)
			return false;
	}
	return false;
}

/*
 * Runs one command line (its status is the answer), then makes the shell write its state. The line
 * contains the holder's number, because a cell could unset a variable. Only the trap relies on one.
 */
static bool converse(const struct holder *holder, const char *line, int *ret_status,
		     bool *interrupted, struct err *err)
{
	char text[2048];
	const int held = (int)holder->pid;
	int n = snprintf(text, sizeof(text), "__reckon_holder=%d; %s; " STATUS_COMMAND "\n", held,
			 line, held);

	return n > 0 && (size_t)n < sizeof(text) && command(text, (size_t)n, err) >= 0 &&
	       wait_status(holder, ret_status, interrupted) && fetch_state(holder, err);
}

static int shell_start(struct err *err)
{
	struct holder holder = { .pidfd = -1, .keep = -1, .status = -1, .state = -1 };
	cleanup_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int nulls[] = { null, null, null };
	char seed[80] = "RANDOM=$SRANDOM";
	char line[256];
	int status = 0;
	bool ok;

	if (null < 0)
		return err_sys(err, "open /dev/null");
	if (shell_spawn(err) < 0 || command(prepare, sizeof(prepare) - 1, err) < 0)
		return (int)err->code;
	if (holder_start(&holder, shell.state.data, shell.state.len, nulls, err) < 0) {
		holder_end(&holder);
		return (int)err->code;
	}
	if (shell.seed[0] != '\0')
		(void)snprintf(seed, sizeof(seed), "RANDOM=%s", shell.seed);
	/* Setting bash's own readonly variables again prints errors: send them to /dev/null. */
	(void)snprintf(line, sizeof(line), ". /proc/$__reckon_holder/fd/13; __reckon_holder=%d; %s",
		       (int)holder.pid, seed);
	ok = converse(&holder, line, &status, NULL, err);
	if (ok && shell.first_state.len == 0)
		(void)append_state(&holder, &shell.first_state, err);
	holder_end(&holder);
	if (!ok)
		return err_set(err, ERR_LOST, "the shell does not start");
	return 0;
}

static void note_shell_end(struct bash_outcome *outcome)
{
	int status = 0;

	while (waitpid(shell.pid, &status, 0) < 0 && errno == EINTR)
		continue;
	outcome->shell_ended = true;
	outcome->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	shell_gone();
}

static bool state_is_whole(const struct buf *state)
{
	return strstr(buf_text(state), "\n" BASH_MARK_REST "\n") != NULL;
}

int bash_shell_run(const char *code, size_t len, const int *fds, struct bash_outcome *ret_outcome,
		   struct err *err)
{
	char line[256];
	struct holder holder = { .pidfd = -1, .keep = -1, .status = -1, .state = -1 };
	struct bash_outcome outcome = { 0 };
	cleanup_buf struct buf state = BUF_INIT(BASH_STATE_MAX);

	if (shell.pid == 0 && shell_start(err) < 0) {
		end_process(shell.pid, &shell.pidfd);
		shell_gone();
		return (int)err->code;
	}
	if (shell.lent.len > 0 && command(shell.lent.data, shell.lent.len, err) < 0)
		return (int)err->code;
	buf_done(&shell.lent);
	if (holder_start(&holder, code, len, fds, err) < 0) {
		holder_end(&holder);
		return (int)err->code;
	}
	(void)snprintf(line, sizeof(line),
		       "IFS= \\builtin read -r -d '' __reckon_cell </proc/%1$d/fd/13 || :; "
		       "\\builtin eval \"$__reckon_cell\" </proc/%1$d/fd/10 >/proc/%1$d/fd/11 "
		       "2>/proc/%1$d/fd/12", (int)holder.pid);
	if (!converse(&holder, line, &outcome.exit_status, &outcome.interrupted, err)) {
		/* The shell exited, or a cell killed the holder, so that the shell cannot
		 * answer. */
		struct pollfd ended = { .fd = shell.pidfd, .events = POLLIN };

		if (poll(&ended, 1, 0) == 0)
			(void)kill(shell.pid, SIGKILL);
		note_shell_end(&outcome);
	}
	if (append_state(&holder, &state, err) == 0 && state_is_whole(&state)) {
		struct buf old = shell.state;

		outcome.has_saved_state = true;
		shell.state = state;
		state = old;
	}
	holder_end(&holder);
	*ret_outcome = outcome;
	return 0;
}

static bool add_export(struct buf *line, const char *name, const char *value)
{
	struct err err;
	bool ok = buf_addf(line, &err, "\n\\builtin export '%s'='", name) >= 0;

	for (const char *at = value; ok && *at != '\0'; at++)
		ok = (*at == '\'' ? buf_adds(line, "'\\''", &err) : buf_addc(line, *at, &err)) >= 0;
	return ok && buf_adds(line, "'\n", &err) >= 0;
}

/* The shell stores a command that restores the previous value until the cell has ended. */
void bash_shell_lend(const char *entry)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	const size_t len = strspn(entry, letters);
	cleanup_free char *name = NULL;
	struct err err;

	/* Not a valid variable name. */
	if (entry[len] != '=' || len == 0 || (entry[0] >= '0' && entry[0] <= '9'))
		return;
	name = strndup(entry, len);
	if (name != NULL && buf_addf(&shell.lent, &err,
				     "\n__reckon_back+=\"\\builtin unset %s; $(\\builtin declare "
				     "-p %s 2>/dev/null)\"$'\\n'\n",
				     name, name) == 0)
		(void)add_export(&shell.lent, name, entry + len + 1);
}

void bash_shell_export(const char *entry)
{
	cleanup_buf struct buf line = BUF_INIT(1u << 20);
	const char *equals = strchr(entry, '=');
	cleanup_free char *name = NULL;
	struct err err;
	bool ok;

	if (equals == NULL || equals == entry)
		return;
	name = strndup(entry, (size_t)(equals - entry));
	if (name == NULL)
		return;
	(void)setenv(name, equals + 1, 1);
	if (shell.pid == 0 && shell.state.len == 0)
		return;
	ok = add_export(&line, name, equals + 1);
	if (ok && shell.pid != 0)
		ok = command(line.data, line.len, &err) >= 0;
	if (ok)
		(void)buf_add(&shell.state, line.data, line.len, &err);
}
