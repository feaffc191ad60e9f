/*
 * entry.c - reckon run --entry: runs a folder as a program, as `docker run` does.
 *
 * Runs in:  reckon.
 * Reads:    the folder, as the user; what the program writes, which is hostile.
 * Never:    follows a symbolic link of the folder, or writes unescaped output to a terminal.
 */
#include "cli/run/entry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/session/interrupt.h"
#include "reckon_process.h"

#define FILES_MAX 10000u
#define DEPTH_MAX 64u
#define PATH_SIZE 4096u
#define CHUNK 65536u
#define WALL_MS 30000u
#define POLL_MS 250 /* between two checks for an interrupt */
#define SIGNALED 128
#define WORKSPACE "/mnt/data"

/* ---- how it is run -------------------------------------------------------------------------- */

/* Chosen by the suffix of the file name. */
static const char *interpreter_of(const char *entry)
{
	static const struct {
		const char *suffix, *program;
	} known[] = {
		{ ".py", "python3" }, { ".sh", "bash" },  { ".js", "node" },   { ".mjs", "node" },
		{ ".pl", "perl" },    { ".rb", "ruby" },  { ".php", "php" },   { ".lua", "lua" },
		{ ".R", "Rscript" },  { ".jl", "julia" },
	};
	const size_t len = strlen(entry);

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		const size_t suffix = strlen(known[i].suffix);

		if (len > suffix && strcmp(entry + len - suffix, known[i].suffix) == 0)
			return known[i].program;
	}
	return NULL;
}

static int check_options(const struct run *run, struct err *err)
{
	if (run->session != NULL || run->json || run->events || run->tools_path != NULL ||
	    run->out_path != NULL) {
		err_set(err, ERR_INVALID,
			"--entry cannot be used with -s, --json, --events, --tools or -o");
		return err_remedy(err,
				  "its program prints; -m DIR:DST:rw lends a folder to write to");
	}
	for (size_t i = 0; i < run->cell_count; i++)
		if (run->cells[i].inline_text != NULL) {
			err_set(err, ERR_INVALID, "--entry runs a file of DIR, -c is code");
			return err_remedy(err, "reckon run --entry main.py DIR");
		}
	if (run->cell_count != 1) {
		err_set(err, ERR_INVALID, "--entry needs the folder that the file is in, one");
		return err_remedy(err, "reckon run --entry %.100s DIR -- ARGUMENT...", run->entry);
	}
	return 0;
}

int run_entry_check(const struct run *run, struct err *err)
{
	char path[2 * PATH_SIZE];
	struct stat st;

	if (check_options(run, err) < 0)
		return (int)err->code;
	if (!fs_path_is_safe(run->entry)) {
		err_set(err, ERR_INVALID, "--entry: '%.100s' is not below the folder", run->entry);
		return err_remedy(err, "name a file of DIR, relative to it");
	}
	if (interpreter_of(run->entry) == NULL) {
		err_set(err, ERR_INVALID, "--entry: what runs '%.100s' is not known", run->entry);
		return err_remedy(
			err, "its name ends with .py, .sh, .js, .mjs, .pl, .rb, .php, .lua, .R or "
			     ".jl");
	}
	(void)snprintf(path, sizeof(path), "%s/%s", run->cells[0].origin, run->entry);
	if (lstat(path, &st) < 0)
		return err_sys(err, "--entry: %.200s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "--entry: %.200s: is not a regular file", path);
	return 0;
}

/* ---- the folder ----------------------------------------------------------------------------- */

struct copy {
	struct session *session;
	size_t files, left_out;
	char path[PATH_SIZE]; /* relative to the folder */
};

static int copy_folder(struct copy *copy, int dir, size_t len, unsigned depth, struct err *err);

static int copy_file(struct copy *copy, int dir, const char *name, struct err *err)
{
	cleanup_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return err_sys(err, "%.200s", copy->path);
	if (++copy->files > FILES_MAX)
		return err_set(err, ERR_LIMIT, "the folder has more than %u files", FILES_MAX);
	if (copy->session->ops->put(copy->session, copy->path, fd, err) < 0) {
		err_wrap(err, "%.100s", copy->path);
		err->code = ERR_LIMIT;
		return ERR_LIMIT;
	}
	return 0;
}

static int copy_entry(struct copy *copy, int dir, const char *name, size_t len, unsigned depth,
		      struct err *err)
{
	const size_t end = len + (len > 0) + strlen(name);
	cleanup_fd int below = -1;
	struct stat st;

	/* Git's own data is not part of the program. */
	if (text_is_dots(name) || strcmp(name, ".git") == 0)
		return 0;
	if (end >= PATH_SIZE)
		return err_set(err, ERR_LIMIT, "a name in the folder is too long");
	(void)snprintf(copy->path + len, PATH_SIZE - len, "%s%s", len > 0 ? "/" : "", name);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, "%.200s", copy->path);
	if (S_ISREG(st.st_mode))
		return copy_file(copy, dir, name, err);
	if (!S_ISDIR(st.st_mode)) {
		copy->left_out++;
		return 0;
	}
	if (depth == DEPTH_MAX)
		return err_set(err, ERR_LIMIT, "the folder is too deep");
	below = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (below < 0)
		return err_sys(err, "%.200s", copy->path);
	return copy_folder(copy, TAKE_FD(below), end, depth + 1, err);
}

/* Takes ownership of `dir` and closes it. */
static int copy_folder(struct copy *copy, int dir, size_t len, unsigned depth, struct err *err)
{
	DIR *stream = fdopendir(dir);
	const struct dirent *entry;
	int code = 0;

	if (stream == NULL) {
		(void)close(dir);
		return err_sys(err, "read the folder");
	}
	while (code == 0 && (entry = readdir(stream)) != NULL)
		code = copy_entry(copy, dirfd(stream), entry->d_name, len, depth, err);
	(void)closedir(stream);
	return code;
}

static int put_folder(const struct run *run, struct session *session, struct err *err)
{
	struct copy copy = { .session = session };
	const int dir = open(run->cells[0].origin, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return err_sys(err, "%.200s", run->cells[0].origin);
	if (copy_folder(&copy, dir, 0, 0, err) < 0)
		return (int)err->code;
	if (copy.left_out > 0)
		run_output_line("reckon: left out of the folder, as links and devices are: %zu",
				copy.left_out);
	return 0;
}

/* ---- while it runs -------------------------------------------------------------------------- */

struct running {
	struct run_output *output;
	reckon_process *process;
	int passed; /* interrupts passed on to the program */
	bool is_open[2];
	struct buf input; /* read from stdin, not yet written to the program */
};

/* Output to a terminal is escaped; all other output is copied unchanged. */
static int show(struct running *running, int which)
{
	const int fd = which == 0 ? STDOUT_FILENO : STDERR_FILENO;
	char bytes[CHUNK];
	const ssize_t len = read(reckon_process_fd(running->process, RECKON_PROCESS_STDOUT + which),
				 bytes, sizeof(bytes));
	struct err err;

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (len <= 0)
		running->is_open[which] = false;
	else if (isatty(fd))
		run_output_text(running->output, fd, bytes, (size_t)len);
	else if (fd_write_full(fd, bytes, (size_t)len, &err) < 0)
		running->output->status = EXIT_CODE_PIPE;
	return running->output->status;
}

static void feed(struct running *running)
{
	const int to = reckon_process_fd(running->process, RECKON_PROCESS_STDIN);
	char bytes[CHUNK];
	struct err ignored;
	ssize_t len;

	if (running->input.len == 0) {
		len = read(running->output->run->stdin_fd, bytes, sizeof(bytes));
		if (len < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (len <= 0 || buf_add(&running->input, bytes, (size_t)len, &ignored) < 0) {
			reckon_process_close_input(running->process);
			return;
		}
	}
	len = write(to, running->input.data, running->input.len);
	if (len > 0)
		buf_consume(&running->input, (size_t)len);
	else if (len < 0 && errno != EAGAIN && errno != EINTR)
		reckon_process_close_input(running->process);
}

/* The first Ctrl-C sends SIGINT to the program, the second SIGKILL. */
static void pass_interrupts(struct running *running)
{
	const int count = interrupt_count();
	reckon_error ignored;

	if (count > running->passed)
		(void)reckon_process_signal(running->process, count == 1 ? SIGINT : SIGKILL, 0,
					    &ignored);
	running->passed = count;
}

static bool is_readable(const struct pollfd *fd)
{
	return fd->fd >= 0 && fd->revents != 0;
}

static int pump(struct running *running)
{
	while (running->is_open[0] || running->is_open[1]) {
		const int to = reckon_process_fd(running->process, RECKON_PROCESS_STDIN);
		/* Poll for only one direction: write what was read before reading more. */
		struct pollfd fds[] = {
			{ running->is_open[0] ? reckon_process_fd(running->process,
								  RECKON_PROCESS_STDOUT)
					      : -1,
			  POLLIN, 0 },
			{ running->is_open[1] ? reckon_process_fd(running->process,
								  RECKON_PROCESS_STDERR)
					      : -1,
			  POLLIN, 0 },
			{ to < 0 ? -1 : running->input.len > 0 ? to : running->output->run->stdin_fd,
			  running->input.len > 0 ? POLLOUT : POLLIN, 0 },
		};

		if (poll(fds, ARRAY_LEN(fds), POLL_MS) < 0 && errno != EINTR)
			return EXIT_CODE_RECKON;
		pass_interrupts(running);
		for (int which = 0; which < 2; which++)
			if (is_readable(&fds[which]) && show(running, which) != 0)
				return running->output->status;
		if (is_readable(&fds[2]))
			feed(running);
	}
	return 0;
}

/* ---- its end -------------------------------------------------------------------------------- */

static int status_of(struct running *running)
{
	reckon_process_state state = { .size = sizeof(state) };
	reckon_error error;

	if (reckon_process_wait(running->process, -1, &state, &error) < 0)
		return cli_complain_reckon("run", &error);
	if (strcmp(state.cause, "exit") == 0)
		return state.exit_code;
	if (strcmp(state.cause, "timeout") == 0 || strcmp(state.cause, "cpu_limit") == 0) {
		run_output_line("reckon: the program was killed: %s",
				state.cause[0] == 't' ? "timed out (--timeout moves the limit)"
						      : "CPU time limit reached");
		return EXIT_CODE_TIMEOUT;
	}
	if (strcmp(state.cause, "out_of_memory") == 0) {
		run_output_line("reckon: the program was killed: out of memory");
		return EXIT_CODE_KILLED;
	}
	return SIGNALED + (state.signal > 0 ? state.signal : SIGKILL);
}

static int start(const struct run *run, struct session *session, reckon_process **ret)
{
	const char **argv = mem_new0(run->argument_count + 3, sizeof(*argv));
	const char *workdir = run->workdir != NULL ? run->workdir : ".";
	char cwd[PATH_SIZE], entry[PATH_SIZE];
	const reckon_process_options options = {
		.size = sizeof(options),
		.argv = argv,
		.cwd = cwd,
		.env = run->env,
		.flags = run->stdin_fd >= 0 ? RECKON_PROCESS_INPUT : 0,
		.wall_ms = run->limits.wall_ms != 0 ? run->limits.wall_ms : WALL_MS,
		.cpu_ms = run->limits.cpu_ms,
	};
	reckon_error error;
	int status = EXIT_CODE_OK;

	(void)snprintf(cwd, sizeof(cwd), "%s%s", workdir[0] == '/' ? "" : WORKSPACE "/", workdir);
	(void)snprintf(entry, sizeof(entry), WORKSPACE "/%s", run->entry);
	argv[0] = interpreter_of(run->entry);
	argv[1] = entry;
	for (size_t i = 0; i < run->argument_count; i++)
		argv[i + 2] = run->arguments[i];
	if (reckon_process_start(session_own_handle(session), &options, ret, &error) < 0)
		status = cli_complain_reckon("run", &error);
	free(argv);
	return status;
}

int run_entry(const struct run *run, struct run_output *output)
{
	struct running running = { .output = output,
				   .is_open = { true, true },
				   .input = BUF_INIT(2 * CHUNK) };
	struct err err;
	int status;

	if (put_folder(run, output->session, &err) < 0) {
		err_wrap(&err, "run");
		return cli_complain(&err);
	}
	status = start(run, output->session, &running.process);
	if (status != EXIT_CODE_OK)
		return status;
	status = pump(&running);
	if (status == 0)
		status = status_of(&running);
	reckon_process_close(running.process);
	buf_done(&running.input);
	return status;
}
