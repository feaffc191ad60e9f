/*
 * state.h - the state of the warden: connections, templates with their zygotes, sessions.
 *
 *   main.c, loop.c      start, event loop, end
 *   module.h            events that parts report to others
 *   members.c           counts what lives in a box
 *   requests/           requests of clients, and their answers
 *   sessions/           boxes and their kernels: pooled, opened, leased, adopted, ended
 *   processes/          programs that clients start; killing what they leave; ports
 *   templates/          templates, their zygotes, and when these are replaced
 *   resources/          limits, processor shares, usage
 *   clients/            connections of clients
 *   walls/, filter/     walls between a box and the host, and their verification
 *   twin/               makes kernels from zygotes, and copies of kernels
 *   mount/, cgroup/     a box's files; its control groups
 *
 * Calls go down this list; lower parts report upwards through hooks (module.h), so that no two
 * files call each other.
 *
 * One process, one thread, one epoll loop. What takes longer than a few milliseconds (warming a
 * zygote up) happens in another process; the warden waits in place for tracing steps.
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
/* Host uids of boxes: 2^28 of them, which distributions and systemd leave unused. */
#define STATE_UID_BASE 0x70000000u
#define STATE_UID_COUNT 0x10000000u
#define STATE_CONNS_MAX 16384 /* a daemon has one for each session, kernel and door */
#define STATE_DESCRIPTORS 262144u /* a session takes about a dozen, a connection one */
#define STATE_SHELLS_MAX 16
#define STATE_NETNS_MAX 64
#define STATE_SYSCTLS 16
#define STATE_MODULES_SIZE 1024
#define STATE_ENV_MAX 48

/* A descriptor that the loop watches. `ready` is called with epoll's events. */
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

/* The kind that most sessions use: its kernels are parked, and begun in pooled boxes. */
static inline unsigned zygote_usual_kind(void)
{
	return zygote_kind(language_default(),
			   (language_default()->features & LANGUAGE_PRELOADS) != 0);
}

struct zygote_proc {
	enum zygote_state state;
	unsigned kind; /* zygote_kind() */
	uint64_t warm_ns; /* since when it is warm */
	unsigned kernels; /* forked from it so far */
	pid_t pid;
	int sock;
	int root_ns_fd; /* mount namespace of the template's root */
	bool traced;
	struct trace_code code; /* see struct twin_kernel */
	struct watch watch;
	struct err failure;
	struct template *of;
};

/* One zygote serves; in the other slot its successor warms up, see rotate.c. */
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
	uint64_t requested_ns; /* when a session with it was last requested */
	struct zygote_proc slots[ZYGOTE_KINDS][ZYGOTE_SLOTS];
	struct zygote_proc *zygotes[ZYGOTE_KINDS]; /* the one of each kind that serves */
	struct session *shells[STATE_SHELLS_MAX]; /* pooled boxes; a kernel may be begun in one */
	size_t shell_count;
	/* A box with a kernel of the usual zygote, which waits for a client; or NULL. */
	struct session *parked;
};

struct denial {
	int nr;
	uint64_t count;
};

/*
 * A session begins as a SHELL, may wait PARKED with a kernel, is OPEN while a client has it, and is
 * DYING until everything is reaped. Kernels come and go in it (kernel.c). With a lease it is FROZEN
 * after its client is gone, until another client adopts it (adopt.c).
 */
enum session_state { SESSION_SHELL, SESSION_PARKED, SESSION_OPEN, SESSION_FROZEN, SESSION_DYING };

/* The measured usage of a kernel or process. */
struct kernel_usage {
	struct cgroup_usage base; /* at BEGIN */
	struct cgroup_usage last; /* at the last USAGE, when is_measured */
	bool is_measured;
	bool is_running, is_shared; /* a cell runs (BEGIN to last USAGE); others shared the box */
	uint64_t base_read, base_written, base_user, base_system;
	uint64_t processes_peak;
};

/* The scheduler slices of a kernel (sched_slice.c). */
struct kernel_turn {
	uint64_t ns; /* the slice that was set last; 0: none yet */
	bool is_beginning; /* its cell has just begun: it is in the warden's list */
	struct box_kernel *before, *after; /* its neighbours in that list */
	uint64_t begun_ns;
};

/* The system calls that the filter refused. */
struct kernel_denials {
	struct denial list[WARDEN_DENIED_MAX];
	size_t count;
	uint64_t total;
	bool is_paused; /* its watch is removed for a while */
};

struct kernel_end {
	bool twin_reaped, kernel_reaped;
	int status; /* wait status, once it is reaped */
	bool is_unreported; /* ended, but its client's socket had no room for the event */
	struct warden_ended ended;
};

/* One kernel of a box, or the place where one was. */
struct box_kernel {
	struct session *session;
	unsigned place;	   /* index in the session's `kernels`; 0: the first one */
	uint32_t id;	   /* its number: a new one for each kernel in this place */
	struct conn *conn; /* the connection that it belongs to, or NULL */
	char language[WARDEN_NAME_SIZE];
	bool is_up;	   /* made, and not known to have ended */
	bool is_late;	   /* its twin is not counted by the process limit */
	struct twin_kernel made;
	struct twin_seed seed; /* in a pooled box: a kernel that was begun */
	pid_t zygote;	   /* from which the kernel was forked */
	struct watch death_watch, notify_watch;
	/* Our end; stays open while a client has a copy: another client may follow. */
	int control_host;
	char execution[WARDEN_EXECUTION_SIZE]; /* id from the last BEGIN */
	struct kernel_usage used;
	struct kernel_turn turn;
	struct kernel_denials denials;
	struct kernel_end end;
	struct kernel_lease lease; /* not for the first kernel: its session has the lease */
};

/* Sessions that share processor time as if they were one. */
struct group {
	struct group *next;
	char name[WARDEN_NAME_SIZE];
	char dir[16]; /* name of its cgroup */
	struct cgroup_share share;
	size_t count; /* of sessions in it */
	int prepared_fd; /* `tasks` of the cgroup prepared for the next session; or -1 */
	bool was_tried; /* a preparation was tried */
};

struct session {
	enum session_state state;
	uint32_t id;
	struct conn *conn;
	struct session *next_of_conn;
	unsigned member_count; /* connections that belong to it */
	struct template *of;
	uint64_t stamp; /* of the template when the box was built */
	struct shell shell;
	struct box_kernel *kernels[WARDEN_KERNELS_MAX]; /* the first one is always there */
	struct box_process *processes; /* process.h */
	size_t process_count;
	struct warden_limits limits;
	struct warden_limits in_force; /* for the box and its first kernel, if `is_limited` */
	bool is_limited;
	struct group *group; /* or NULL */
	uint32_t guards; /* WARDEN_OPEN_… walls of guard.h that its client requested */
	uint32_t unheld; /* WARDEN_UNHELD_…: those that the host lacks */
	uint32_t shell_us, spawn_us; /* as in struct warden_opened */
	struct task_freeze *frozen; /* freeze.c; or NULL */
	uint64_t frozen_ns;	    /* since when it is frozen */
	bool init_reaped;
	struct lease lease;
};

struct conn {
	struct conn *next_free;
	struct session *sessions; /* those that it opened or adopted, and did not close */
	bool used;
	bool greeted;
	bool strict;
	bool has_unreported; /* one of its kernels has is_unreported set */
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
	/* Answers a request of a client; takes the descriptors. */
	void (*on_request)(struct warden *warden, struct conn *conn,
			   const struct warden_request *request, const int *fds, size_t nfds);
	int epoll_fd;
	int listen_fd;	/* or -1 */
	int signal_fd;
	struct watch listen_watch, signal_watch;
	bool rootless;
	uid_t real_uid; /* our uid and gid as the host sees them */
	gid_t real_gid;
	bool stopping;
	bool single_client;
	struct err broken; /* why no session can be opened on this host; doctor still works */
	/* frozen_due_ns: when the first FROZEN session may end. */
	uint64_t idle_ns, idle_since, frozen_due_ns;
	uint64_t left_due_ns; /* when the first kernel without a client may end; 0: there is none */
	uint32_t next_session, next_kernel;
	size_t open_sessions;
	struct watch sched_slice_watch; /* timer for `beginning`, whose order is oldest first */
	bool sched_slice_armed;
	struct box_kernel *beginning, *beginning_last;
	uint64_t denials_due_ns; /* when boxes that made too many refused calls go on; 0: none wait */
	char template_dir[LAUNCH_PATH_SIZE];
	char libexec_dir[512];
	struct cgroup_host cgroups;
	struct filter_program filter;
	int filter_fd;
	unsigned park_target, shell_target;
	/* 0: rotate.c's constants apply; else (in tests) so many kernels, at any age. */
	unsigned rotate_kernels;
	struct template templates[STATE_TEMPLATES_MAX];
	struct session *sessions[STATE_SESSIONS_MAX]; /* by slot */
	size_t slot_count; /* slots from this one on were never used */
	size_t free_slot; /* all slots below this one are taken */
	size_t dying_count, frozen_count;
	struct group *groups;
	uint32_t next_group;
	struct conn conns[STATE_CONNS_MAX];
	size_t conn_top; /* from this one on, connections were never used */
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

/* members.c: the live kernels except `but`; the live processes. */
unsigned kernel_count_up(const struct session *session, const struct box_kernel *but);
unsigned process_count_up(const struct session *session);
/* Also counts ended processes that may have left children which are to stay (DETACH). */
size_t process_count_left(const struct session *session);
