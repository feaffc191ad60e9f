/*
 * template.c - templates on disk and their zygotes.
 *
 * Runs in:  the warden.
 * Reads:    TEMPLATES/NAME/template.ini, which belongs to the same user.
 * Never:    waits for a zygote to warm up: the loop is told.
 */
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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
#include "box/processes/process.h"
#include "box/state.h"
#include "box/sys.h"
#include "box/twin/trace.h"
#include "wire/zygote.h"

static bool name_is_safe(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len < WARDEN_NAME_SIZE && name[0] != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") ==
		       len;
}

/* "1G", "512M", "64k" or a plain number of bytes; 0 when it is none of these. */
static uint64_t parse_size(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	switch (*end) {
	case 'G': case 'g':
		return value << 30;
	case 'M': case 'm':
		return value << 20;
	case 'K': case 'k':
		return value << 10;
	default:
		return *end == '\0' ? value : 0;
	}
}

static void add_modules(struct template *of, const char *list)
{
	size_t used = strlen(of->modules);

	for (const char *at = list; *at != '\0' && used + 2 < sizeof(of->modules);) {
		size_t n = strcspn(at, ", \t\n");

		if (n > 0 && used + n + 2 < sizeof(of->modules)) {
			if (used > 0)
				of->modules[used++] = ',';
			memcpy(of->modules + used, at, n);
			used += n;
			of->modules[used] = '\0';
		}
		at += n + (at[n] != '\0');
	}
}

static int on_ini_line(void *arg, const char *section, const char *name, const char *value)
{
	struct template *of = arg;

	if (strcmp(section, "preload") == 0 && strcmp(name, "modules") == 0)
		add_modules(of, value);
	else if (strcmp(section, "env") == 0 && of->env_count < STATE_ENV_MAX)
		(void)snprintf(of->env[of->env_count++], sizeof(of->env[0]), "%.60s=%.90s", name,
			       value);
	else if (strcmp(section, "limits") == 0 && strcmp(name, "memory") == 0)
		of->memory_bytes = parse_size(value);
	return 1;
}

static uint64_t ini_stamp(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return 0;
	return (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec + st.st_ino;
}

static int load(struct warden *warden, const char *name, struct template *ret, struct err *err)
{
	char path[700];
	int line;

	memset(ret, 0, sizeof(*ret));
	for (int k = 0; k < ZYGOTE_KINDS; k++) {
		for (int i = 0; i < ZYGOTE_SLOTS; i++)
			ret->slots[k][i] = (struct zygote_proc){ .kind = (unsigned)k,
								 .sock = -1,
								 .root_ns_fd = -1,
								 .of = ret };
		ret->zygotes[k] = &ret->slots[k][0];
	}
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	(void)snprintf(path, sizeof(path), "%s/%s/template.ini", warden->template_dir, name);
	ret->stamp = ini_stamp(path);
	if (ret->stamp == 0) {
		(void)err_set(err, ERR_NOT_FOUND, "no template \"%s\" is built", name);
		return err_remedy(err,
				  "reckon template ls names what can be built; reckon template add "
				  "makes one of your own");
	}
	line = ini_parse(path, on_ini_line, ret);
	if (line != 0)
		return err_set(err, ERR_INVALID, "%s: cannot be read (line %d)", path, line);
	(void)snprintf(ret->tree, sizeof(ret->tree), "%.440s/%s/tree", warden->template_dir, name);
	if (access(ret->tree, F_OK) < 0)
		ret->tree[0] = '\0';
	ret->used = true;
	return 0;
}

int template_find(struct warden *warden, const char *name, struct template **ret, struct err *err)
{
	struct template *free_entry = NULL;
	char path[700];

	if (!name_is_safe(name))
		return err_set(err, ERR_INVALID, "\"%.60s\" is not the name of a template", name);
	(void)snprintf(path, sizeof(path), "%s/%s/template.ini", warden->template_dir, name);
	for (size_t i = 0; i < STATE_TEMPLATES_MAX; i++) {
		struct template *at = &warden->templates[i];

		if (at->used && strcmp(at->name, name) == 0) {
			if (at->stamp == ini_stamp(path)) {
				*ret = at;
				return 0;
			}
			template_drop(warden, at);
		}
		if (!at->used && free_entry == NULL)
			free_entry = at;
	}
	if (free_entry == NULL)
		return err_set(err, ERR_LIMIT, "%d templates are loaded", STATE_TEMPLATES_MAX);
	if (load(warden, name, free_entry, err) < 0)
		return (int)err->code;
	*ret = free_entry;
	return 0;
}

/* ---- zygotes ------------------------------------------------------------------------------ */

struct start {
	const struct warden *warden;
	const struct template *of;
	unsigned kind;
	int sock;
};

static size_t make_env(const struct template *of, const char **env, size_t max)
{
	static const char *const fixed[] = {
		"HOME=/home/user", "USER=user", "LOGNAME=user", "LANG=C.UTF-8", "TZ=UTC",
		"PATH=/opt/template/bin:/usr/local/bin:/usr/bin:/bin:/opt/reckon/bin", "TERM=dumb",
		"MPLBACKEND=Agg", "PYTHONDONTWRITEBYTECODE=1", "OPENBLAS_NUM_THREADS=1",
		"LD_BIND_NOW=1", /* zygote.c takes it away */
	};
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(fixed) && count + 1 < max; i++)
		env[count++] = fixed[i];
	for (size_t i = 0; i < of->env_count && count + 1 < max; i++)
		env[count++] = of->env[i];
	env[count] = NULL;
	return count;
}

/*
 * Twins are forks of a zygote and stand outside of every box. They join its namespaces and its root,
 * and a branch's fetches descriptors of ours, which as root can do anything: all the rest goes.
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
	/* What is inherited by exec would come past the bounding set. */
	if (syscall(SYS_capget, &head, caps) < 0)
		return err_sys(err, "read the capabilities of a zygote");
	caps[0].inheritable = caps[1].inheritable = 0;
	return syscall(SYS_capset, &head, caps) < 0
		       ? err_sys(err, "clear what a zygote inherits")
		       : 0;
}

size_t template_env(const struct template *of, const char **env, size_t max)
{
	const size_t count = make_env(of, env, max);
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (strcmp(env[i], "LD_BIND_NOW=1") != 0) /* the zygote's alone */
			env[kept++] = env[i];
	env[kept] = NULL;
	return kept;
}

__attribute__((noreturn)) static void zygote_main(const struct start *start)
{
	const struct mount_tree tree = {
		.template_tree = start->of->tree[0] != '\0' ? start->of->tree : NULL,
		.libexec_dir = start->warden->libexec_dir,
	};
	const char *env[STATE_ENV_MAX + 16];
	char program[64];
	/* The cold one has to be there at once: "-" spares it what makes its forks cheaper, too. */
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
		/* 3 and 4 may be taken by each other: park both above first. */
		const int sock = fcntl(start->sock, F_DUPFD, 100);
		const int filter = fcntl(start->warden->filter_fd, F_DUPFD, 101);

		(void)make_env(start->of, env, ARRAY_LEN(env));
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

void template_forget(struct warden *warden, struct zygote_proc *zygote)
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

static void zygote_failed(struct warden *warden, struct zygote_proc *zygote, const struct err *why)
{
	template_forget(warden, zygote);
	if (rotate_is_successor(zygote)) {
		rotate_failed(zygote);
	} else {
		zygote->state = ZYGOTE_FAILED;
		zygote->failure = *why;
	}
	log_line(LOG_WARN, "a zygote failed", "template=%s why=\"%s\"", zygote->of->name,
		 why->text);
}

static void zygote_became_warm(struct zygote_proc *zygote, const struct zygote_ready *ready)
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
static void zygote_ready(struct warden *warden, struct watch *watch, uint32_t events)
{
	struct zygote_proc *zygote = watch->arg;
	struct zygote_ready ready;
	struct err err = { 0 };
	size_t nfds;
	ssize_t n;

	(void)events;
	n = fd_recv_msg(zygote->sock, &ready, sizeof(ready), NULL, 0, &nfds, &err);
	if (zygote->state == ZYGOTE_WARM) {
		/* A warm zygote says nothing, so it ended. It is started again when it is next
		 * needed; running sessions do not depend on it. */
		log_line(LOG_WARN, "a zygote ended", "template=%s", zygote->of->name);
		template_forget(warden, zygote);
	} else if (n != (ssize_t)sizeof(ready)) {
		(void)err_set(&err, ERR_LOST,
			      "the zygote of template \"%s\" ended while warming up",
			      zygote->of->name);
		zygote_failed(warden, zygote, &err);
	} else if (ready.err.code != ERR_OK) {
		zygote_failed(warden, zygote, &ready.err);
	} else {
		zygote_became_warm(zygote, &ready);
		rotate_ready(warden, zygote);
	}
	client_retry_pending(warden);
}

int template_start(struct warden *warden, struct zygote_proc *zygote, struct err *err)
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
	zygote->watch = (struct watch){ .ready = zygote_ready, .arg = zygote, .fd = pair[0] };
	return watch_add(warden, &zygote->watch, EPOLLIN, err);
}

int template_zygote(struct warden *warden, struct template *of, unsigned kind,
		    struct zygote_proc **ret, struct err *err)
{
	struct zygote_proc *zygote = of->zygotes[kind];

	*ret = NULL;
	switch (zygote->state) {
	case ZYGOTE_ABSENT:
		return template_start(warden, zygote, err);
	case ZYGOTE_WARMING:
		return 0;
	case ZYGOTE_WARM:
		*ret = zygote;
		return 0;
	case ZYGOTE_FAILED:
		*err = zygote->failure;
		/* Told once; the next try starts a new one. */
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

bool template_has_zygote(struct warden *warden, pid_t pid)
{
	return find_zygote(warden, pid) != NULL;
}

void template_zygote_ended(struct warden *warden, pid_t pid)
{
	struct zygote_proc *zygote = find_zygote(warden, pid);

	if (zygote == NULL)
		return;
	zygote->pid = 0;
	/* Nobody may be served from it any more. One that was warming up is left to its socket,
	 * which says why it failed. */
	if (zygote->state == ZYGOTE_WARM)
		template_forget(warden, zygote);
}

void template_drop(struct warden *warden, struct template *of)
{
	if (of->parked != NULL)
		session_end(warden, of->parked);
	of->parked = NULL;
	for (size_t i = 0; i < of->shell_count; i++)
		session_end(warden, of->shells[i]);
	of->shell_count = 0;
	for (int k = 0; k < ZYGOTE_KINDS; k++)
		for (int i = 0; i < ZYGOTE_SLOTS; i++)
			template_forget(warden, &of->slots[k][i]);
	of->used = false;
}
