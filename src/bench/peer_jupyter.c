/*
 * peer_jupyter.c - measures the same work in a Jupyter kernel, through jupyter_client.
 *
 * Runs in:  reckon-bench; the client runs in a Python process, which measures the times.
 * Reads:    one line with a time for each request.
 * Never:    installs anything unless asked to (--install-peers).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "bench/proc.h"

struct jupyter {
	pid_t pid;
	FILE *ask, *answer;
};

/*
 * cell() waits only for the reply, which comes before the "idle" message. capture() waits until
 * "idle", because output comes on another channel.
 */
static const char script[] =
	"import os, sys, time\n"
	/* ipykernel sets its own backend, which shows figures */
	"os.environ.pop('MPLBACKEND', None)\n"
	"from jupyter_client.manager import start_new_kernel\n"
	"def cell(client, code):\n"
	"    sent = client.execute(code)\n"
	"    while True:\n"
	"        reply = client.get_shell_msg(timeout=120)\n"
	"        if reply['parent_header'].get('msg_id') == sent:\n"
	"            assert reply['content']['status'] == 'ok', reply['content']\n"
	"            return\n"
	"def capture(client, code, want):\n"
	"    sent, seen = client.execute(code), set()\n"
	"    while True:\n"
	"        message = client.get_iopub_msg(timeout=120)\n"
	"        if message['parent_header'].get('msg_id') != sent:\n"
	"            continue\n"
	"        seen |= set(message['content'].get('data') or ())\n"
	"        if message['content'].get('execution_state') == 'idle':\n"
	"            break\n"
	"    assert want in seen, seen\n"
	"    client.get_shell_msg(timeout=120)\n"
	"def fresh():\n"
	"    manager, client = start_new_kernel(kernel_name='python3')\n"
	"    cell(client, '" PEER_IMPORTS "\\nx = 1')\n"
	"    return manager, client\n"
	"def end(manager, client):\n"
	"    client.stop_channels()\n"
	"    manager.shutdown_kernel(now=True)\n"
	"live = fresh()\n"
	"cell(live[1], '" CAPTURE_SET_UP "')\n"
	"print('ready', flush=True)\n"
	"for question in sys.stdin:\n"
	"    while live[1].iopub_channel.msg_ready():\n" /* messages of earlier cells */
	"        live[1].get_iopub_msg(timeout=1)\n"
	"    start = time.perf_counter_ns()\n"
	"    if question == 'cold\\n':\n"
	"        other = fresh()\n"
	"        took = time.perf_counter_ns() - start\n"
	"        end(*other)\n"
	"    elif question == 'table\\n':\n"
	"        capture(live[1], '" CAPTURE_TABLE "', 'text/html')\n"
	"        took = time.perf_counter_ns() - start\n"
	"    elif question == 'figure\\n':\n"
	"        capture(live[1], '" CAPTURE_FIGURE "', 'image/png')\n"
	"        took = time.perf_counter_ns() - start\n"
	"    else:\n"
	"        cell(live[1], 'x += 1')\n"
	"        took = time.perf_counter_ns() - start\n"
	"    print(took, flush=True)\n"
	"end(*live)\n";

static void venv_path(const struct bench *bench, const char *below, char *ret, size_t size)
{
	(void)snprintf(ret, size, "%s/bench/venv%s", bench->state_dir, below);
}

int jupyter_install(struct bench *bench, struct err *err)
{
	char dir[4096], pip[4096];
	const char *const make[] = { "/usr/bin/python3", "-m", "venv", dir, NULL };
	const char *const fill[] = { pip, "install", "--quiet", "--disable-pip-version-check",
				     "ipykernel", "jupyter_client", "numpy", "pandas",
				     "matplotlib", NULL };
	uint64_t ns;

	(void)snprintf(dir, sizeof(dir), "%s/bench", bench->state_dir);
	if (fs_mkdir_parents(dir, 0755, err) < 0)
		return (int)err->code;
	venv_path(bench, "", dir, sizeof(dir));
	venv_path(bench, "/bin/pip", pip, sizeof(pip));
	bench_say(bench, "installing ipykernel and the data stack into %s", dir);
	if (proc_run(&(struct proc_command){ .argv = make }, &ns, err) < 0) {
		(void)err_wrap(err, "make a virtual environment");
		return err_remedy(err, "install python3-venv");
	}
	if (proc_run(&(struct proc_command){ .argv = fill }, &ns, err) < 0)
		return err_wrap(err, "install the peers");
	return 0;
}

__attribute__((noreturn)) static void run_script(const char *python, int in, int out)
{
	const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	for (size_t i = 0; peer_env[i] != NULL; i++)
		(void)putenv(mem_strdup(peer_env[i]));
	if (null < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(null, 2) < 0)
		_exit(126);
	(void)execl(python, python, "-c", script, (char *)NULL);
	_exit(127);
}

static int start(struct jupyter *jupyter, const char *python, struct err *err)
{
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	if (pipe2(from, O_CLOEXEC) < 0) {
		(void)close(to[0]);
		(void)close(to[1]);
		return err_sys(err, "pipe");
	}
	jupyter->pid = fork();
	if (jupyter->pid == 0)
		run_script(python, to[0], from[1]);
	(void)close(to[0]);
	(void)close(from[1]);
	jupyter->ask = fdopen(to[1], "w");
	jupyter->answer = fdopen(from[0], "r");
	if (jupyter->pid < 0 || jupyter->ask == NULL || jupyter->answer == NULL)
		return err_sys(err, "start %s", python);
	return 0;
}

void jupyter_open(struct bench *bench)
{
	struct jupyter *jupyter = mem_new0(1, sizeof(*jupyter));
	char python[4096], line[64];
	struct err err;

	bench->jupyter = jupyter;
	venv_path(bench, "/bin/python3", python, sizeof(python));
	if (access(python, X_OK) < 0) {
		for (enum row_id id = ROW_JUPYTER_COLD; id <= ROW_JUPYTER_FIGURE; id++)
			bench_absent(bench, id, "not installed: reckon bench --install-peers");
		return;
	}
	if (start(jupyter, python, &err) < 0 ||
	    fgets(line, sizeof(line), jupyter->answer) == NULL || strcmp(line, "ready\n") != 0)
		for (enum row_id id = ROW_JUPYTER_COLD; id <= ROW_JUPYTER_FIGURE; id++)
			bench_absent(bench, id, "ipykernel does not start: %.80s", python);
}

void jupyter_close(struct bench *bench)
{
	struct jupyter *jupyter = bench->jupyter;

	if (jupyter == NULL)
		return;
	if (jupyter->ask != NULL)
		(void)fclose(jupyter->ask);
	if (jupyter->pid > 0)
		while (waitpid(jupyter->pid, NULL, 0) < 0 && errno == EINTR)
			;
	if (jupyter->answer != NULL)
		(void)fclose(jupyter->answer);
	free(TAKE_PTR(bench->jupyter));
}

static int ask(struct bench *bench, const char *question, enum row_id row, struct err *err)
{
	struct jupyter *jupyter = bench->jupyter;
	char line[64];

	if (fprintf(jupyter->ask, "%s\n", question) < 0 || fflush(jupyter->ask) != 0 ||
	    fgets(line, sizeof(line), jupyter->answer) == NULL)
		return err_set(err, ERR_UNAVAILABLE, "ipykernel ended in the middle");
	samples_add(&bench->rows[row].samples, strtod(line, NULL) / 1e9);
	return 0;
}

int peer_jupyter_cold(struct bench *bench, struct err *err)
{
	return ask(bench, "cold", ROW_JUPYTER_COLD, err);
}

int peer_jupyter_table(struct bench *bench, struct err *err)
{
	return ask(bench, "table", ROW_JUPYTER_TABLE, err);
}

int peer_jupyter_figure(struct bench *bench, struct err *err)
{
	return ask(bench, "figure", ROW_JUPYTER_FIGURE, err);
}

int peer_jupyter_warm(struct bench *bench, struct err *err)
{
	return ask(bench, "warm", ROW_JUPYTER_WARM, err);
}
