/*
 * start.c - reckon-agent: its process, and the frame with its key.
 *
 * Runs in:  programs that start an agent: reckon ask, libreckon, reckond.
 * Reads:    RECKON_LOG, which the agent inherits.
 * Never:    passes the key through a command line or the environment: it goes only to the socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/child.h"
#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "agent_client/inner.h"
#include "languages/languages.h"

#define START_MAX (1024u * 1024u)
#define EXIT_NOT_STARTED 125

/* The agent's whole environment: its log settings, and where a test looks for errors. */
struct surroundings {
	char log[64];
	char asan[256];
	char *list[3];
};

static void add(struct surroundings *around, size_t at, char *into, size_t size, const char *name)
{
	const char *value = getenv(name);

	(void)snprintf(into, size, "%s=%s", name, value != NULL ? value : "");
	around->list[at] = into;
}

static void look(struct surroundings *around)
{
	memset(around, 0, sizeof(*around));
	add(around, 0, around->log, sizeof(around->log), "RECKON_LOG");
	add(around, 1, around->asan, sizeof(around->asan), "ASAN_OPTIONS");
}

/* Runs between fork and exec, maybe with threads: only async-signal-safe calls. */
static void __attribute__((noreturn)) become(const char *path, const struct surroundings *around,
					     int sock)
{
	char name[] = "reckon-agent", *const argv[] = { name, NULL };
	const int high = fcntl(sock, F_DUPFD, 10);
	const int null = open("/dev/null", O_RDWR);

	/* Ctrl-C signals the terminal's whole group, but the agent gets a frame instead. */
	child_reset_signals(SIGINT);
	if (high < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0 || dup2(high, AGENT_FD) < 0 ||
	    close_range(AGENT_FD + 1, ~0u, 0) < 0)
		_exit(EXIT_NOT_STARTED);
	(void)execve(path, argv, around->list);
	_exit(EXIT_NOT_STARTED);
}

static int spawn(struct agent_client *client, const char *path, struct err *err)
{
	struct surroundings around;
	cleanup_fd int theirs = -1;
	sigset_t all, before;
	int ends[2];

	look(&around);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_sys(err, "socketpair");
	client->sock = ends[0];
	theirs = ends[1];
	if (fd_set_nonblock(client->sock, true, err) < 0)
		return (int)err->code;
	/* The parent's signal handlers must not run in the child. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	client->pid = fork();
	if (client->pid == 0)
		become(path, &around, theirs);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return client->pid < 0 ? err_sys(err, "fork") : 0;
}

static int pack_some(struct buf *payload, enum agent_tag tag, const char *text, struct err *err)
{
	return text != NULL ? agent_pack_text(payload, tag, text, err) : 0;
}

static int send_start(struct agent_client *client, const struct agent_client_model *model,
		      struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(START_MAX);
	const char *language = model->language != NULL ? model->language
							: language_default()->name;
	int rc = 0;

	if (agent_pack(&payload, AGENT_TAG_SETTINGS, &model->settings, sizeof(model->settings),
		       err) < 0 ||
	    agent_pack_text(&payload, AGENT_TAG_MODEL, model->model, err) < 0 ||
	    agent_pack_text(&payload, AGENT_TAG_BASE_URL, model->base_url, err) < 0 ||
	    agent_pack_text(&payload, AGENT_TAG_LANGUAGE, language, err) < 0 ||
	    pack_some(&payload, AGENT_TAG_CA_FILE, model->ca_file, err) < 0 ||
	    pack_some(&payload, AGENT_TAG_HEADERS, model->headers, err) < 0 ||
	    pack_some(&payload, AGENT_TAG_TOOLS, model->tools, err) < 0 ||
	    pack_some(&payload, AGENT_TAG_PROXY, model->proxy, err) < 0 ||
	    pack_some(&payload, AGENT_TAG_NO_PROXY, model->no_proxy, err) < 0 ||
	    agent_pack_text(&payload, AGENT_TAG_KEY, model->key, err) < 0 ||
	    agent_client_tell(client, AGENT_START, &payload, err) < 0)
		rc = (int)err->code;
	if (payload.data != NULL)
		explicit_bzero(payload.data, payload.cap);
	return rc;
}

int agent_client_open(const char *path, const struct agent_client_model *model,
		      struct agent_client **ret, struct err *err)
{
	cleanup_agent_client struct agent_client *client = mem_new0(1, sizeof(*client));

	client->sock = -1;
	client->payload = BUF_INIT(AGENT_CLIENT_FRAME_MAX);
	client->state = AGENT_STATE_STARTING;
	client->has_images = model->settings.images != 0;
	if (spawn(client, path, err) < 0 || send_start(client, model, err) < 0)
		return (int)err->code;
	*ret = TAKE_PTR(client);
	return 0;
}

void agent_client_close(struct agent_client *client)
{
	if (client == NULL)
		return;
	if (client->sock >= 0)
		(void)close(client->sock);
	if (client->pid > 0) {
		(void)kill(client->pid, SIGKILL);
		while (waitpid(client->pid, NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	buf_done(&client->payload);
	free(client);
}

void agent_client_closep(struct agent_client **client)
{
	agent_client_close(*client);
}
