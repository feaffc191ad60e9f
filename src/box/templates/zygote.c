/*
 * zygote.c - starts, watches and ends the zygotes of a template.
 *
 * Runs in:  the warden, and a child that becomes a zygote.
 * Reads:    what a zygote reports before it is warm.
 * Never:    waits for a zygote to warm up: the loop learns of it by an event.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd.h"
#include "base/log.h"
#include "box/module.h"
#include "box/state.h"
#include "box/sys.h"
#include "box/templates/template.h"
#include "box/twin/trace.h"
#include "wire/zygote.h"

struct start {
	const struct warden *warden;
	const struct template *of;
	unsigned kind;
	int sock;
};

/*
 * Twins are forks of a zygote and run outside every box. They join the namespaces and the root of a
 * box, and a branch's twin fetches descriptors of the warden. These three capabilities suffice for
 * that; all others of root are dropped.
 */
static int keep_needed_caps(struct err *err)
{
	static const int needed[] = { CAP_SYS_ADMIN, CAP_SYS_CHROOT, CAP_SYS_PTRACE };
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { 0 };

	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (cap != needed[0] && cap != needed[1] && cap != needed[2] &&
		    prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return err_sys(err, "drop a capability of a zygote");
	/* Inheritable capabilities would survive the exec in spite of the bounding set. */
	if (syscall(SYS_capget, &head, caps) < 0)
		return err_sys(err, "read the capabilities of a zygote");
	caps[0].inheritable = caps[1].inheritable = 0;
	return syscall(SYS_capset, &head, caps) < 0
		       ? err_sys(err, "clear what a zygote inherits")
		       : 0;
}

__attribute__((noreturn)) static void zygote_main(const struct start *start)
{
	const struct mount_tree tree = {
		.template_tree = start->of->tree[0] != '\0' ? start->of->tree : NULL,
		.libexec_dir = start->warden->libexec_dir,
	};
	const char *env[STATE_ENV_MAX + 16];
	char program[64];
	/* The bare zygote has to be ready at once: "-" also skips what makes its forks cheaper. */
	const char *modules = zygote_is_preloaded(start->kind) ? start->of->modules : "-";
	const char *argv[] = { program, tree.template_tree != NULL ? "/opt/template" : "-", modules,
			       NULL };
	struct zygote_ready report = { .type = ZYGOTE_READY };
	struct err ignored;
	sigset_t none;

	(void)snprintf(program, sizeof(program), "/opt/reckon/%s",
		       zygote_language(start->kind)->zygote);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)setsid();
	(void)umask(022);
	if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0)
		(void)err_sys(&report.err, "make namespaces for a zygote");
	else if (mount_template_root(&tree, &report.err) == 0 &&
		 keep_needed_caps(&report.err) == 0) {
		const int null_fd = open("/dev/null", O_RDWR);
		/* Each may be open as 3 or 4 now: move both out of the way first. */
		const int sock = fcntl(start->sock, F_DUPFD, 100);
		const int filter = fcntl(start->warden->filter_fd, F_DUPFD, 101);

		(void)template_zygote_env(start->of, env, ARRAY_LEN(env));
		if (null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(null_fd, 1) < 0 ||
		    dup2(sock, ZYGOTE_FD) < 0 || dup2(filter, ZYGOTE_FILTER_FD) < 0 ||
		    syscall(SYS_close_range, ZYGOTE_FILTER_FD + 1, ~0u, 0) < 0)
			(void)err_sys(&report.err, "arrange a zygote's descriptors");
		else
			(void)execve(program, (char *const *)(uintptr_t)argv,
				     (char *const *)(uintptr_t)env);
		if (report.err.code == ERR_OK)
			(void)err_sys(&report.err, "execute %s", program);
	}
	(void)fd_send_msg(start->sock, &report, sizeof(report), NULL, 0, &ignored);
	(void)fd_send_msg(ZYGOTE_FD, &report, sizeof(report), NULL, 0, &ignored);
	_exit(125);
}

void zygote_forget(struct warden *warden, struct zygote_proc *zygote)
{
	watch_remove(warden, &zygote->watch);
	if (zygote->sock >= 0)
		(void)close(zygote->sock);
	if (zygote->root_ns_fd >= 0)
		(void)close(zygote->root_ns_fd);
	zygote->sock = zygote->root_ns_fd = -1;
	if (zygote->pid > 0)
		(void)kill(zygote->pid, SIGKILL);
	zygote->state = ZYGOTE_ABSENT;
	zygote->kernels = 0;
	zygote->code = (struct trace_code){ 0 };
}

static void failed(struct warden *warden, struct zygote_proc *zygote, const struct err *why)
{
	zygote_forget(warden, zygote);
	if (zygote->of->zygotes[zygote->kind] == zygote) {
		zygote->state = ZYGOTE_FAILED;
		zygote->failure = *why;
	}
	MODULE_EACH(warden, zygote_failed, zygote);
	log_line(LOG_WARN, "a zygote failed", "template=%s why=\"%s\"", zygote->of->name,
		 why->text);
}

static void became_warm(struct zygote_proc *zygote, const struct zygote_ready *ready)
{
	struct err err = { 0 };
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)zygote->pid);
	zygote->root_ns_fd = open(path, O_RDONLY | O_CLOEXEC);
	zygote->traced = trace_seize(zygote->pid, &err) == 0;
	zygote->state = ZYGOTE_WARM;
	zygote->warm_ns = clock_mono_ns();
	log_line(LOG_INFO, "zygote ready", "template=%s areas=%u bytes=%llu hot=%u twins=%d",
		 zygote->of->name, ready->frozen_areas, (unsigned long long)ready->frozen_bytes,
		 ready->hot_pages, (int)zygote->traced);
}

/* The zygote's ready message, or its end. */
static void on_ready(struct warden *warden, struct watch *watch, uint32_t events)
{
	struct zygote_proc *zygote = watch->arg;
	struct zygote_ready ready;
	struct err err = { 0 };
	size_t nfds;
	ssize_t n;

	(void)events;
	n = fd_recv_msg(zygote->sock, &ready, sizeof(ready), NULL, 0, &nfds, &err);
	if (zygote->state == ZYGOTE_WARM) {
		/* A warm zygote sends nothing, so it has ended. The next kernel that needs it
		 * starts another one; running sessions do not depend on it. */
		log_line(LOG_WARN, "a zygote ended", "template=%s", zygote->of->name);
		zygote_forget(warden, zygote);
	} else if (n != (ssize_t)sizeof(ready)) {
		(void)err_set(&err, ERR_LOST,
			      "the zygote of template \"%s\" ended while warming up",
			      zygote->of->name);
		failed(warden, zygote, &err);
	} else if (ready.err.code != ERR_OK) {
		failed(warden, zygote, &ready.err);
	} else {
		became_warm(zygote, &ready);
		MODULE_EACH(warden, zygote_warm, warden, zygote);
	}
	MODULE_EACH(warden, zygote_settled, warden);
}

int zygote_start(struct warden *warden, struct zygote_proc *zygote, struct err *err)
{
	struct start start = { .warden = warden, .of = zygote->of, .kind = zygote->kind };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");
	start.sock = pair[1];
	zygote->pid = fork();
	if (zygote->pid == 0)
		zygote_main(&start);
	(void)close(pair[1]);
	zygote->sock = pair[0];
	if (zygote->pid < 0) {
		(void)close(pair[0]);
		zygote->sock = -1;
		return err_sys(err, "fork a zygote");
	}
	zygote->state = ZYGOTE_WARMING;
	zygote->watch = (struct watch){ .ready = on_ready, .arg = zygote, .fd = pair[0] };
	return watch_add(warden, &zygote->watch, EPOLLIN, err);
}

int zygote_of(struct warden *warden, struct template *of, unsigned kind,
		    struct zygote_proc **ret, struct err *err)
{
	struct zygote_proc *zygote = of->zygotes[kind];

	*ret = NULL;
	switch (zygote->state) {
	case ZYGOTE_ABSENT:
		return zygote_start(warden, zygote, err);
	case ZYGOTE_WARMING:
		return 0;
	case ZYGOTE_WARM:
		*ret = zygote;
		return 0;
	case ZYGOTE_FAILED:
		*err = zygote->failure;
		/* Report the failure once; the next try starts a new zygote. */
		zygote->state = ZYGOTE_ABSENT;
		return (int)err->code;
	}
	return 0;
}

static struct zygote_proc *find_zygote(struct warden *warden, pid_t pid)
{
	for (size_t i = 0; i < STATE_TEMPLATES_MAX; i++)
		for (int k = 0; warden->templates[i].used && k < ZYGOTE_KINDS; k++)
			for (int s = 0; s < ZYGOTE_SLOTS; s++)
				if (warden->templates[i].slots[k][s].pid == pid)
					return &warden->templates[i].slots[k][s];
	return NULL;
}

bool zygote_is_one(struct warden *warden, pid_t pid)
{
	return find_zygote(warden, pid) != NULL;
}

void zygote_ended(struct warden *warden, pid_t pid)
{
	struct zygote_proc *zygote = find_zygote(warden, pid);

	if (zygote == NULL)
		return;
	zygote->pid = 0;
	/* It cannot serve any longer. If it was still warming up, its socket tells why it
	 * failed. */
	if (zygote->state == ZYGOTE_WARM)
		zygote_forget(warden, zygote);
}

int zygote_pick(struct warden *warden, struct template *of, const char *language,
		   uint32_t flags, struct zygote_proc **ret, enum warden_warmth *ret_warmth,
		   struct err *err)
{
	const struct language *spoken = language_find(language);
	struct zygote_proc *warm = NULL, *cold = NULL;
	unsigned bare, preloaded;

	*ret_warmth = WARDEN_COLD;
	if (spoken == NULL)
		return language_unknown(language, err);
	bare = zygote_kind(spoken, false);
	preloaded = zygote_kind(spoken, true);
	if ((flags & WARDEN_OPEN_NO_WARM) != 0 || (spoken->features & LANGUAGE_PRELOADS) == 0)
		return zygote_of(warden, of, bare, ret, err);
	if ((flags & WARDEN_OPEN_WAIT_WARM) == 0 && of->zygotes[preloaded]->state != ZYGOTE_WARM &&
	    of->zygotes[preloaded]->state != ZYGOTE_FAILED) {
		/* The bare interpreter is ready in a few milliseconds and serves the first call,
		 * while the preloaded one warms up. */
		if (zygote_of(warden, of, bare, &cold, err) < 0)
			return (int)err->code;
		if (cold != NULL && zygote_of(warden, of, preloaded, &warm, err) < 0)
			return (int)err->code;
		*ret = cold;
		return 0;
	}
	*ret_warmth = WARDEN_WARM;
	return zygote_of(warden, of, preloaded, ret, err);
}
