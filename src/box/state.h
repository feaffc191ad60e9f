/*
 * state.h - what the warden holds: connections, templates with their zygotes, sessions.
 *
 *   main.c, loop.c      start, the loop, the end
 *   module.h            what the parts tell each other
 *   members.c           who lives in a box
 *   requests/           what clients ask, and the answers
 *   sessions/           boxes, their kernels; made ahead of need; leased and adopted
 *   processes/          programs that clients start; what is left behind ends; ports
 *   templates/          templates, their zygotes, which do not live for ever
 *   resources/          limits, shares of the processors, what it all cost
 *   clients/            connections: read, told, gone
 *   walls/, filter/     what stands between a box and the host, and that it stands
 *   twin/               kernels out of zygotes and of each other
 *   mount/, cgroup/     a box's files; its control groups
 *
 * Calls go down this list; what lower parts have to tell comes up by hooks (module.h), so that no
 * two files call each other.
 *
 * One process, one thread, one epoll loop. What takes longer than a few milliseconds (warming a
 * zygote up) happens in another process; tracing steps are waited for in place.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "box/cgroup/cgroup.h"
#include "box/cgroup/group.h"
#include "box/filter/filter.h"
#include "box/sessions/lease.h"
#include "box/mount/shell.h"
#include "box/twin/twin.h"
#include "languages/languages.h"
#include "wire/launch.h"

#define STATE_TEMPLATES_MAX 32
#define STATE_SESSIONS_MAX 4096
/* Host uids of boxes: from here on unused by distributions and by systemd; 2^28 of them. */
#define STATE_UID_BASE 0x70000000u
#define STATE_UID_COUNT 0x10000000u
#define STATE_CONNS_MAX 16384 /* a daemon has one for each session, kernel and door */
#define STATE_DESCRIPTORS 262144u /* a session takes about a dozen, a connection one */
#define STATE_SHELLS_MAX 16
#define STATE_NETNS_MAX 64
#define STATE_SYSCTLS 16
#define STATE_MODULES_SIZE 1024
#define STATE_ENV_MAX 48

/* Something the loop waits for. `ready` is called with epoll's events. */
struct watch {
	void (*ready)(struct warden *warden, struct watch *watch, uint32_t events);
	void *arg;
	int fd;
};

enum zygote_state { ZYGOTE_ABSENT, ZYGOTE_WARMING, ZYGOTE_WARM, ZYGOTE_FAILED };

/*
 * A template's zygotes are numbered by language and by what they have imported: a bare one of each
 * language, and one with the template's modules of those that can preload.
 */
#define ZYGOTE_KINDS (2 * LANGUAGES_MAX)

static inline unsigned zygote_kind(const struct language *language, bool is_preloaded)
{
	return 2 * (unsigned)language_index(language) + is_preloaded;
}

static inline const struct language *zygote_language(unsigned kind)
{
	return language_at(kind / 2);
}

static inline bool zygote_is_preloaded(unsigned kind)
{
	return kind % 2 != 0;
}

/* What most sessions are opened from: kernels of it are parked, and begun in pooled boxes. */
static inline unsigned zygote_usual_kind(void)
{
	return zygote_kind(language_default(),
			   (language_default()->features & LANGUAGE_PRELOADS) != 0);
}

struct zygote_proc {
	enum zygote_state state;
	unsigned kind; /* zygote_kind() */
	uint64_t warm_ns; /* since when */
	unsigned kernels; /* forked from it so far */
	pid_t pid;
	int sock;
	int root_ns_fd; /* mount namespace of the template's root */
	bool traced;
	struct trace_code code; /* of its twins */
	struct watch watch;
	struct err failure;
	struct template *of;
};

/* One serves; the other is where its successor warms up, see rotate.c. */
#define ZYGOTE_SLOTS 2

struct template {
	bool used;
	char name[WARDEN_NAME_SIZE];
	char tree[512]; /* host path, "" when the template has none */
	char modules[STATE_MODULES_SIZE]; /* "a,b,c" */
	char env[STATE_ENV_MAX][160];
	size_t env_count;
	uint64_t memory_bytes; /* [limits] of template.ini, 0: none */
	uint64_t stamp;	       /* of template.ini: a rebuilt template is loaded anew */
	struct zygote_proc slots[ZYGOTE_KINDS][ZYGOTE_SLOTS];
	struct zygote_proc *zygotes[ZYGOTE_KINDS]; /* the one of each kind that serves */
	struct session *shells[STATE_SHELLS_MAX]; /* pooled boxes without a kernel */
	size_t shell_count;
	struct session *parked; /* one kernel, forked from the usual zygote, waiting */
};

struct denial {
	int nr;
	uint64_t count;
};

/*
 * A session begins as a shell, may wait parked with a kernel, is opened by a client, and is DYING
 * until everything is reaped. Kernels come and go in it (kernel.c). One with a lease is FROZEN from
 * the end of its client until the next one adopts it (adopt.c).
 */
enum session_state { SESSION_SHELL, SESSION_PARKED, SESSION_OPEN, SESSION_FROZEN, SESSION_DYING };

/* What it uses, as it was measured. */
struct kernel_usage {
	struct cgroup_usage base; /* at BEGIN */
	struct cgroup_usage last; /* at the last USAGE, when is_measured */
	bool is_measured;
	bool is_running, is_shared; /* between BEGIN and the last USAGE; with another one */
	uint64_t base_read, base_written, base_user, base_system;
	uint64_t processes_peak;
};

/* Of the processors (sched_slice.c). */
struct kernel_turn {
	uint64_t ns; /* as it was set last; 0: as it came */
	bool is_beginning; /* its cell, and is among those of the warden */
	struct box_kernel *before, *after; /* its neighbours there */
	uint64_t begun_ns;
};

/* What the filter refused it. */
struct kernel_denials {
	struct denial list[WARDEN_DENIED_MAX];
	size_t count;
	uint64_t total;
	bool is_paused; /* the watch */
};

struct kernel_end {
	bool twin_reaped, kernel_reaped;
	int status; /* once it is reaped */
	bool is_untold; /* ended, and its client's socket had no room for the news */
	struct warden_ended ended;
};

/* One kernel of a box, or the place that one had. */
struct box_kernel {
	struct session *session;
	unsigned place;	   /* index among the session's; 0: the first one */
	uint32_t id;	   /* new for each that is made here */
	struct conn *conn; /* whose it is */
	char language[WARDEN_NAME_SIZE];
	bool is_up;	   /* made, and not known to have ended */
	bool is_late;	   /* its twin is not counted by the process limit */
	struct twin_kernel made;
	struct twin_seed seed; /* of a pooled shell: a kernel that was begun */
	pid_t zygote;	   /* that the kernel was forked from */
	struct watch death_watch, notify_watch;
	int control_host;  /* our end, also while a client has it: there may be another one */
	char execution[WARDEN_EXECUTION_SIZE]; /* the last that BEGIN named */
	struct kernel_usage used;
	struct kernel_turn turn;
	struct kernel_denials denials;
	struct kernel_end end;
	struct kernel_lease lease; /* not of the first one, whose session has it */
};

/* Sessions that share processor time as if they were one. */
struct group {
	struct group *next;
	char name[WARDEN_NAME_SIZE];
	char dir[16]; /* of its cgroup */
	struct cgroup_share share;
	size_t count; /* of sessions in it */
	int prepared_fd; /* `tasks` of the next cgroup, for which all is prepared; or -1 */
	bool was_tried; /* to prepare it */
};

struct session {
	enum session_state state;
	uint32_t id;
	struct conn *conn;
	struct session *next_of_conn;
	unsigned member_count; /* connections that are its members */
	struct template *of;
	uint64_t stamp; /* of the template when the box was built */
	struct shell shell;
	struct box_kernel *kernels[WARDEN_KERNELS_MAX]; /* the first one is always there */
	struct box_process *processes; /* process.h */
	size_t process_count;
	struct warden_limits limits;
	struct warden_limits in_force; /* of the box and its first kernel, if `is_limited` */
	bool is_limited;
	struct group *group; /* or NULL */
	uint32_t guards; /* WARDEN_OPEN_… of walls/guard.h that its client asked for */
	uint32_t unheld; /* WARDEN_UNHELD_… of them */
	uint32_t shell_us, spawn_us; /* as in struct warden_opened */
	struct task_freeze *frozen; /* freeze.c; or NULL */
	uint64_t frozen_ns;	    /* since when */
	bool init_reaped;
	struct lease lease;
};

struct conn {
	struct conn *next_free;
	struct session *sessions; /* that it opened and did not close */
	bool used;
	bool greeted;
	bool strict;
	bool has_untold; /* some kernel's is_untold */
	bool is_member;	 /* made by CONTEXT or DOOR: belongs to one box … */
	struct session *member_of; /* … this one; NULL once that has ended */
	struct watch watch;
	/* An OPEN, CONTEXT or RESTART that waits for a zygote; nothing else is read meanwhile. */
	bool pending;
	struct warden_request pending_request;
	int pending_fds[WARDEN_MOUNTS_MAX];
	size_t pending_nfds;
};

struct module;

struct warden {
	const struct module *const *modules;
	/* What a client asks that said HELLO, or its HELLO. Takes the descriptors. */
	void (*on_request)(struct warden *warden, struct conn *conn,
			   const struct warden_request *request, const int *fds, size_t nfds);
	int epoll_fd;
	int listen_fd;	/* or -1 */
	int signal_fd;
	struct watch listen_watch, signal_watch;
	bool rootless;
	uid_t real_uid; /* as the host sees us */
	gid_t real_gid;
	bool stopping;
	bool single_client;
	struct err broken; /* why no session can be opened on this host; doctor still works */
	uint64_t idle_ns, idle_since, frozen_due_ns; /* when the first FROZEN one may be over */
	uint64_t left_due_ns; /* and the first kernel that nobody has; 0: there is none */
	uint32_t next_session, next_kernel;
	size_t open_sessions;
	struct watch sched_slice_watch; /* the clock of those whose cell begins, oldest first */
	bool sched_slice_armed;
	struct box_kernel *beginning, *beginning_last;
	uint64_t denials_due_ns; /* when boxes that made too many refused calls go on; 0: none wait */
	char template_dir[LAUNCH_PATH_SIZE];
	char libexec_dir[512];
	struct cgroup_host cgroups;
	struct filter_program filter;
	int filter_fd;
	unsigned park_target, shell_target;
	unsigned rotate_kernels; /* 0: by the constants of rotate.c; else for tests, at any age */
	struct template templates[STATE_TEMPLATES_MAX];
	struct session *sessions[STATE_SESSIONS_MAX]; /* by slot */
	size_t slot_count; /* slots above were never used, and are not looked at */
	size_t free_slot; /* slots below are taken */
	size_t dying_count, frozen_count;
	struct group *groups;
	uint32_t next_group;
	struct conn conns[STATE_CONNS_MAX];
	size_t conn_top; /* conns above were never used */
	struct conn *free_conns;
	size_t conn_count;
	int netns_pool[STATE_NETNS_MAX];
	size_t netns_count;
	int sysctl_dirs[STATE_SYSCTLS];
	size_t sysctl_count; /* 0: none can be made here */
};

/* loop.c */
int watch_add(struct warden *warden, struct watch *watch, uint32_t events, struct err *err);
void watch_remove(struct warden *warden, struct watch *watch);

/* members.c: kernels that live, but this one; processes that do. */
unsigned kernel_count_up(const struct session *session, const struct box_kernel *but);
unsigned process_count_up(const struct session *session);
/* Those too that have ended, and may have left something that is to stay. */
size_t process_count_left(const struct session *session);
