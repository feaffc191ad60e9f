/*
 * ask_agent.c - reckon-agent: started, told, listened to.
 *
 * Runs in:  reckon ask.
 * Reads:    frames of the agent, taken for captured.
 * Never:    puts the key on a command line or into an environment.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "cli/ask.h"
#include "cli/cli.h"

#define FRAME_MAX ((size_t)16 * 1024 * 1024)
#define POLL_MS 100
#define CLOSE_RANGE_FROM 4u

/* In the child. Its environment says nothing of ours but how it shall log. */
static void become_agent(const char *path, int sock)
{
	char name[] = "reckon-agent", *const argv[] = { name, NULL };
	static char log_level[64] = "RECKON_LOG=", asan[256] = "ASAN_OPTIONS=";
	char *const envp[] = { log_level, asan, NULL };
	const char *level = getenv("RECKON_LOG"), *options = getenv("ASAN_OPTIONS");
	const int null = open("/dev/null", O_RDWR);

	if (level != NULL)
		(void)strncat(log_level, level, sizeof(log_level) - strlen(log_level) - 1);
	if (options != NULL)
		(void)strncat(asan, options, sizeof(asan) - strlen(asan) - 1);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		_exit(EXIT_CODE_RECKON);
	if (sock == AGENT_FD ? fcntl(sock, F_SETFD, 0) < 0 : dup2(sock, AGENT_FD) < 0)
		_exit(EXIT_CODE_RECKON);
	(void)syscall(SYS_close_range, CLOSE_RANGE_FROM, ~0u, 0);
	(void)execve(path, argv, envp);
	_exit(EXIT_CODE_RECKON);
}

static int spawn(struct ask *ask, struct err *err)
{
	char path[PATH_MAX];
	sigset_t all, before;
	int ends[2];

	if (cli_libexec_path("reckon-agent", path, err) < 0)
		return (int)err->code;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_sys(err, "socketpair");
	/* Our handlers must not run in the child. */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &before);
	ask->pid = fork();
	if (ask->pid == 0) {
		(void)signal(SIGINT, SIG_IGN);
		(void)signal(SIGPIPE, SIG_DFL);
		(void)sigprocmask(SIG_SETMASK, &before, NULL);
		become_agent(path, ends[1]);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	(void)close(ends[1]);
	ask->sock = ends[0];
	if (ask->pid < 0)
		return err_sys(err, "fork");
	return 0;
}

static int pack_env(struct buf *payload, enum agent_tag tag, const char *const *names,
		    struct err *err)
{
	for (; *names != NULL; names++) {
		const char *value = getenv(*names);

		if (value != NULL && value[0] != '\0')
			return agent_pack_text(payload, tag, value, err);
	}
	return 0;
}

/* As libcurl would read them, but for the scheme at hand alone. */
static int pack_network(const struct ask *ask, struct buf *payload, struct err *err)
{
	static const char *const ca[] = { "SSL_CERT_FILE", "CURL_CA_BUNDLE", NULL };
	static const char *const secure[] = { "https_proxy", "HTTPS_PROXY", "all_proxy",
					      "ALL_PROXY", NULL };
	static const char *const plain[] = { "http_proxy", "all_proxy", "ALL_PROXY", NULL };
	static const char *const none[] = { "no_proxy", "NO_PROXY", NULL };
	const bool is_secure = strncmp(ask->base_url, "https:", 6) == 0;

	if (pack_env(payload, AGENT_TAG_CA_FILE, ca, err) < 0 ||
	    pack_env(payload, AGENT_TAG_PROXY, is_secure ? secure : plain, err) < 0)
		return (int)err->code;
	return pack_env(payload, AGENT_TAG_NO_PROXY, none, err);
}

static int send_start(struct ask *ask, struct err *err)
{
	const char *language = ask->view.run.language;
	cleanup_buf struct buf payload = BUF_INIT(65536);
	int rc;

	if (agent_pack(&payload, AGENT_TAG_SETTINGS, &ask->settings, sizeof(ask->settings), err) < 0 ||
	    agent_pack_text(&payload, AGENT_TAG_MODEL, ask->model, err) < 0 ||
	    agent_pack_text(&payload, AGENT_TAG_BASE_URL, ask->base_url, err) < 0 ||
	    agent_pack_text(&payload, AGENT_TAG_KEY, ask->key, err) < 0 ||
	    agent_pack_text(&payload, AGENT_TAG_LANGUAGE, language != NULL ? language : "python",
			    err) < 0 ||
	    pack_network(ask, &payload, err) < 0)
		return (int)err->code;
	rc = agent_send(ask->sock, AGENT_START, 0, &payload, err);
	explicit_bzero(payload.data, payload.len);
	return rc;
}

int ask_agent_start(struct ask *ask, struct err *err)
{
	ask->payload = BUF_INIT(FRAME_MAX);
	ask->state = AGENT_STATE_STARTING;
	if (spawn(ask, err) < 0 || send_start(ask, err) < 0)
		return (int)err->code;
	/* It has a copy now; ours is not needed any more. */
	explicit_bzero(ask->key, strlen(ask->key));
	return 0;
}

void ask_agent_end(struct ask *ask)
{
	if (ask->sock >= 0)
		(void)close(ask->sock);
	ask->sock = -1;
	if (ask->pid > 0) {
		(void)kill(ask->pid, SIGKILL);
		while (waitpid(ask->pid, NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	ask->pid = 0;
	buf_done(&ask->payload);
}

static int pack_file(struct buf *payload, const struct run_file *file, struct err *err)
{
	cleanup_buf struct buf line = BUF_INIT(8192);
	char size[CLI_SIZE_TEXT] = "?";
	struct stat st;

	if (fstat(file->fd, &st) == 0)
		cli_format_size((uint64_t)st.st_size, size);
	if (buf_addf(&line, err, "%s (%s)", file->name, size) < 0)
		return (int)err->code;
	return agent_pack(payload, AGENT_TAG_FILE, line.data, line.len, err);
}

int ask_agent_question(struct ask *ask, struct err *err)
{
	const struct run *run = &ask->view.run;
	cleanup_buf struct buf payload = BUF_INIT(FRAME_MAX);

	if (agent_pack(&payload, AGENT_TAG_TEXT, buf_text(&ask->question), ask->question.len, err) <
	    0)
		return (int)err->code;
	for (size_t i = 0; i < run->file_count && !ask->said_files; i++)
		if (pack_file(&payload, &run->files[i], err) < 0)
			return (int)err->code;
	ask->said_files = true;
	ask->state = AGENT_STATE_THINKING;
	ask->told_interrupt = false;
	return agent_send(ask->sock, AGENT_ASK, 0, &payload, err);
}

/* Until there is something to read. */
static int wait_for_frame(struct ask *ask, struct err *err)
{
	struct pollfd ready = { .fd = ask->sock, .events = POLLIN };

	for (;;) {
		if (ask_interrupts() > 0 && !ask->told_interrupt) {
			ask->told_interrupt = true;
			if (agent_send(ask->sock, AGENT_INTERRUPT, 0, NULL, err) < 0)
				return (int)err->code;
		}
		if (poll(&ready, 1, POLL_MS) > 0)
			return 0;
	}
}

int ask_agent_receive(struct ask *ask, struct err *err)
{
	int rc, count;

	if (wait_for_frame(ask, err) < 0)
		return (int)err->code;
	rc = agent_recv(ask->sock, &ask->head, &ask->payload, err);
	if (rc == 0)
		return err_set(err, ERR_LOST, "reckon-agent ended without a word");
	if (rc < 0)
		return err_wrap(err, "reckon-agent");
	if (!agent_may_send(ask->state, ask->head.type))
		return err_set(err, ERR_PROTOCOL, "reckon-agent: frame %u is not its to send now",
			       ask->head.type);
	count = kernel_unpack(buf_text(&ask->payload), ask->payload.len, ask->head.field_count,
			      ask->items, AGENT_FIELDS_MAX, err);
	if (count < 0)
		return err_wrap(err, "reckon-agent");
	ask->item_count = (size_t)count;
	if (agent_check(ask->head.type, ask->items, ask->item_count, err) < 0)
		return err_wrap(err, "reckon-agent");
	return 0;
}
