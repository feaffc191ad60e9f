/*
 * warden.h - the requests of a trusted client (libreckon or reckond) to reckon-warden.
 *
 * One SOCK_SEQPACKET connection; every message is one fixed-size struct, so there is nothing to
 * parse. The warden listens on a private per-user socket (or has an inherited socketpair as its
 * only connection), checks SO_PEERCRED, and ends every session of a connection that closes, except
 * sessions with a lease: it freezes those until an ADOPT. Requests are answered in order, each by
 * one struct warden_reply with the same `seq`; WARDEN_EVENT_ENDED may come in between and is sent
 * once per kernel that ended on its own.
 *
 *   HELLO                       always the first message; another version's is answered with
 *                               struct warden_other, whatever its length, and the connection ends
 *   OPEN    [mount dir fds]  -> [control socket, workspace dir]   a box with a kernel in it
 *   BEGIN                    no answer: resets peaks and denial counts, records the baseline and
 *                            the execution's id
 *   USAGE                    -> usage since BEGIN, measured from outside the box
 *   INTERRUPT, CLOSE         -> (none)
 *   BRANCH                   -> as OPEN; a copy of a live, idle kernel in a second box
 *   PROBE                    -> which walls stand on this host
 *   CONTEXT                  -> [control socket, connection]   a further kernel in a box
 *   RESTART                  -> [control socket]   replaces a kernel by a fresh one
 *   END                      -> (none)   ends one kernel and its processes; the box stays
 *   DOOR                     -> [connection]   a further connection to a box
 *   GROUP                    -> (none)   a group's share of the processors
 *   START  [order, stdio]    -> [pidfd, terminal]   a program in a box (process.h)
 *   SIGNAL, STATUS, RELEASE  -> about a process; RELEASE ends and forgets it
 *   LIST                     -> the processes of a session
 *   PORT                     -> [socket]   connecting to a TCP port of the box's loopback
 *   PORTS                    -> the ports that programs in the box listen on
 *   FREEZE, THAW             -> (none)   stops all tasks of a box, and resumes them
 *   LEASE                    -> (none)   this session outlives its connection for a while
 *   ADOPT                    ->  as OPEN, plus the last executions: takes over a session whose
 *                               connection ended; in a session: as CONTEXT, takes over a kernel
 *   BUSY                     -> (none)   the workspace is being changed in several steps
 *
 * A box outlives its kernels: when one ends, its processes end with it, WARDEN_EVENT_ENDED names
 * it, and RESTART puts a fresh one there. Only CLOSE, the end of the connection that opened it, or
 * the death of its pid 1 ends the box.
 *
 * A session with a lease outlives its connection if its first kernel is idle and no other kernel
 * executes: the warden ends its processes and freezes its box. A client that sends the lease within
 * the requested time gets the box unchanged; after that time the session ends. On a context's
 * connection LEASE applies to the context's kernel, which then stays with the box: the client that
 * adopts the box also adopts the kernel with that lease, or the kernel ends soon after. Contexts
 * without a lease end. RESTART cancels the lease of its kernel, because the fresh kernel is not
 * configured yet.
 *
 * Each new kernel gets a new number, so that an event never refers to a successor. A request names
 * its kernel by number, 0 being the session's first one; only the connection that received a kernel
 * may name it. The connections of CONTEXT and DOOR belong to one box and can reach nothing outside
 * it; closing one ends its kernel. So each kernel can have its own client thread without locking.
 *
 * Processes and kernels share one number range. A process belongs to the session, and each of the
 * session's connections may name it. It ends with the session or by RELEASE, not with a connection.
 * The reply to START comes after the program's exec, so replies to other requests may overtake it.
 *
 * A frozen box keeps its memory, its processes and its files; time limits pause, too. Until THAW
 * the warden only reports about it or closes it: other requests get ERR_UNAVAILABLE.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define WARDEN_MAGIC 0x31574b52u /* "RKW1" */
#define WARDEN_VERSION 10u
#define WARDEN_NAME_SIZE 64
#define WARDEN_PATH_SIZE 256
#define WARDEN_MOUNTS_MAX 8
#define WARDEN_DENIED_MAX 16
#define WARDEN_WALLS_MAX 24
#define WARDEN_KERNELS_MAX 8 /* in one box */
#define WARDEN_PROCESSES_MAX 256 /* in one box, including ended ones until their RELEASE */
#define WARDEN_TERMINALS_MAX 64	 /* of those processes */
#define WARDEN_PORTS_MAX 256
#define WARDEN_EXECUTION_SIZE 32 /* of an execution's id, with its NUL */
#define WARDEN_RAN_MAX 32
#define WARDEN_LEASE_SIZE 32
#define WARDEN_LEASE_SECONDS_MAX 3600u

enum warden_type {
	WARDEN_HELLO = 1,
	WARDEN_OPEN = 2,
	WARDEN_BEGIN = 3,
	WARDEN_USAGE = 4,
	WARDEN_INTERRUPT = 5,
	WARDEN_CLOSE = 6,
	WARDEN_BRANCH = 7,
	WARDEN_PROBE = 8,
	WARDEN_CONTEXT = 9,
	WARDEN_RESTART = 10,
	WARDEN_END = 11,
	WARDEN_DOOR = 12,
	WARDEN_GROUP = 13,
	WARDEN_START = 14,
	WARDEN_SIGNAL = 15,
	WARDEN_STATUS = 16,
	WARDEN_RELEASE = 17,
	WARDEN_LIST = 18,
	WARDEN_PORT = 19,
	WARDEN_PORTS = 20,
	WARDEN_FREEZE = 21,
	WARDEN_THAW = 22,
	WARDEN_LEASE = 23,
	WARDEN_ADOPT = 24,
	WARDEN_BUSY = 25,
	WARDEN_EVENT_ENDED = 64,
	WARDEN_EVENT_REFUSED = 65, /* `err` says why the warden closes this connection */
};

/* How requests and replies of every version begin, and all that two versions exchange. */
struct warden_other {
	uint32_t magic;
	uint16_t version;
	uint16_t nothing;
};

/* Zero means "no limit", except where a default is named. */
struct warden_limits {
	/* Per process (RLIMIT_DATA) and, with disk_bytes, for the whole box; half of it bounds /tmp and
	 * /dev/shm each. Default: the template's, or 1 GiB. */
	uint64_t memory_bytes;
	uint64_t disk_bytes;   /* of /mnt/data; default 1 GiB */
	uint64_t inodes;       /* in /mnt/data, /tmp and /dev/shm each; default 100000 */
	uint64_t file_bytes;   /* largest file (RLIMIT_FSIZE); default disk_bytes + 1 MiB */
	uint32_t pids;	       /* processes and threads in the box; default 128 */
	uint32_t cpu_percent;  /* share of CPU time, 100 = one core */
};

struct warden_mount {
	char target[WARDEN_PATH_SIZE]; /* absolute path inside the box, below /mnt */
	uint32_t writable;
	uint32_t reserved;
};

#define WARDEN_OPEN_NO_PARKED 1u /* fork a kernel on demand, not taking a parked one (bench) */
#define WARDEN_OPEN_NO_WARM 2u	 /* neither wait for nor use the preloaded zygote */
#define WARDEN_OPEN_WAIT_WARM 4u /* wait until the preloaded zygote is ready (bench, tests) */
#define WARDEN_OPEN_CORE_SCHEDULING 8u /* no other session's task on the sibling hardware thread */
#define WARDEN_OPEN_NO_SPECULATION 16u /* switch the processor's risky speculation off */

/*
 * Sessions of one group share processor time as if they were one session, whichever client opened
 * them: by weight against other groups and against sessions without a group, which have weight 100.
 * The last GROUP request for a group applies.
 */
#define WARDEN_GROUP_WEIGHT_MAX 10000u

struct warden_group {
	char name[WARDEN_NAME_SIZE]; /* "": none */
	uint32_t weight;	     /* 1 to 10000; 0: 100 */
	uint32_t cpu_percent;	     /* all its sessions together, 100 = one core; 0: no limit */
};

struct warden_open {
	char template_name[WARDEN_NAME_SIZE];
	char language[WARDEN_NAME_SIZE]; /* a name from the language table */
	struct warden_limits limits;
	uint32_t flags;
	uint32_t mount_count; /* the message has as many descriptors, in the same order */
	struct warden_group group;
	struct warden_mount mounts[WARDEN_MOUNTS_MAX];
};

/* A further kernel, of the session's template and behind the same walls. */
struct warden_context {
	char language[WARDEN_NAME_SIZE];
	uint32_t flags; /* WARDEN_OPEN_NO_WARM, WARDEN_OPEN_WAIT_WARM; also for RESTART */
};

#define WARDEN_START_TERMINAL 1u /* create a terminal; else the message has three descriptors */
#define WARDEN_START_DETACH 2u	 /* processes that it leaves running may stay until RELEASE */

struct warden_start {
	uint32_t flags;
	uint16_t rows, columns; /* of the terminal */
	uint64_t wall_ms;	/* 0: no limit */
	uint64_t cpu_ms;	/* of it and all its descendants; 0: no limit */
};

struct warden_signal {
	uint32_t number;   /* 1 to 31 */
	uint32_t is_leader; /* send it to the process alone, not to its process group */
};

/* The socket may still be connecting: wait until it is writable, then read SO_ERROR. */
struct warden_port {
	uint16_t number; /* from 1 */
	uint16_t is_v6;	 /* at ::1, else at 127.0.0.1 */
};

/* Secret of a session: a client that knows it gets everything in the box. */
struct warden_lease {
	uint8_t key[WARDEN_LEASE_SIZE];
	uint32_t seconds; /* LEASE: how long the box waits; 0: drop the lease */
};

struct warden_request {
	uint32_t magic;
	uint16_t version;
	uint16_t type;
	uint32_t seq;
	uint32_t session; /* 0 for HELLO, OPEN, PROBE, GROUP, ADOPT of a session */
	uint32_t kernel;  /* 0: the session's first one; not for CONTEXT, CLOSE, DOOR, START, LIST,
			   * PORT, PORTS, FREEZE, THAW, ADOPT, BUSY, nor for LEASE of a session */
	union {
		struct warden_open open;
		struct warden_context context; /* CONTEXT; RESTART reads the flags alone */
		struct warden_group group;     /* GROUP; no effect on a group without sessions */
		struct warden_start start;
		struct warden_signal signal;
		struct warden_port port;
		uint32_t strict; /* HELLO: refuse to open sessions when a wall is missing */
		uint32_t is_last; /* USAGE: the execution of the last BEGIN is over */
		char execution[WARDEN_EXECUTION_SIZE]; /* BEGIN: its id */
		struct warden_lease lease; /* LEASE, ADOPT */
		uint32_t is_busy; /* BUSY: whether a change in several steps begins or is over */
	};
};

enum warden_warmth { WARDEN_COLD, WARDEN_WARM, WARDEN_PARKED };

/* Limits that this host cannot enforce for the whole box (no cgroup controller), and requested
 * walls that it lacks the means for. */
#define WARDEN_UNHELD_MEMORY 1u
#define WARDEN_UNHELD_CPU 2u
#define WARDEN_UNHELD_CORE 4u
#define WARDEN_UNHELD_SPECULATION 8u

struct warden_opened {
	uint32_t session;
	uint32_t host_uid; /* owner of the session's files, seen from outside */
	uint32_t host_gid;
	int32_t kernel_pid; /* in the warden's pid namespace */
	uint32_t has_twin;
	uint32_t warmth; /* enum warden_warmth: what the kernel was made from */
	uint32_t unheld; /* WARDEN_UNHELD_… */
	uint32_t kernel; /* its number in requests and events */
	struct warden_limits limits; /* defaults filled in */
	uint32_t shell_us; /* time to get a box: almost none from the pool */
	uint32_t spawn_us; /* time to get a kernel in it; 0 if one was parked */
};

/* The session as it was opened, and the last executions that its kernels ended: a client whose
 * records lack one of them must not assume that the box is in the state it knows. */
struct warden_adopted {
	struct warden_opened opened;
	uint32_t count;
	char ran[WARDEN_RAN_MAX][WARDEN_EXECUTION_SIZE];
};

struct warden_denial {
	char name[32]; /* system call */
	uint64_t count;
};

/* Since BEGIN, from cgroups if the host has them, else from /proc (see `from_cgroup`). */
struct warden_usage {
	uint64_t cpu_user_ns;
	uint64_t cpu_system_ns;
	uint64_t memory_peak_bytes;
	uint64_t read_bytes;	/* by read-like system calls of the kernel and reaped children */
	uint64_t written_bytes;
	uint64_t processes_peak;
	uint64_t oom_kills;
	uint64_t pids_refused;	 /* forks that failed at the process limit */
	uint64_t disk_used_bytes; /* of /mnt/data, now */
	uint64_t inodes_used;
	uint64_t memory_bytes; /* of the whole box, now; 0 if no cgroup reports it */
	uint32_t from_cgroup;
	uint32_t denied_count;
	/* Another cell or a process ran in the box meanwhile: all numbers except read_bytes,
	 * written_bytes and denied cover the whole box, hence both. */
	uint32_t is_shared;
	uint32_t reserved;
	struct warden_denial denied[WARDEN_DENIED_MAX];
};

enum warden_end {
	WARDEN_END_EXIT = 1,   /* the kernel process ended: detail = exit status     */
	WARDEN_END_SIGNAL = 2, /* … was killed by a signal: detail = signal number              */
	WARDEN_END_OOM = 3,    /* the box exceeded its memory limit                  */
	WARDEN_END_CLOSED = 4, /* a client closed it or its session                  */
	WARDEN_END_SYSCALL = 5, /* killed for a system call of a foreign ABI         */
	WARDEN_END_WALL = 6,	/* a process reached its wall time limit             */
	WARDEN_END_CPU = 7,	/* … its processor time limit                        */
};

struct warden_ended {
	uint32_t cause; /* enum warden_end */
	int32_t detail;
	struct warden_usage usage; /* last known values */
};

struct warden_started {
	uint32_t process; /* its number in requests */
	int32_t pid;	  /* inside the box */
};

struct warden_status {
	uint32_t is_running;
	uint32_t left; /* its descendants that still exist */
	struct warden_ended ended; /* if it is not running: how it ended; `usage` is always set */
};

struct warden_listed {
	uint32_t process;
	int32_t pid; /* inside the box */
	uint32_t is_running;
};

struct warden_list {
	uint32_t count;
	struct warden_listed process[WARDEN_PROCESSES_MAX];
};

struct warden_listener {
	uint16_t port;
	uint16_t is_v6;
	uint8_t address[16]; /* in network byte order; IPv4 uses the first four bytes */
};

struct warden_ports {
	uint32_t count;
	uint32_t is_cut; /* more ports are open than the list holds */
	struct warden_listener listener[WARDEN_PORTS_MAX];
};

struct warden_wall {
	char name[24];	 /* "user namespace", "seccomp", "memory limit", … */
	char state[8];	 /* "on", "off", "partial"; "absent": an option that this host lacks */
	char detail[96]; /* what is missing and its consequence */
	char remedy[96];
};

struct warden_walls {
	uint32_t count;
	uint32_t rootless;
	struct warden_wall wall[WARDEN_WALLS_MAX];
};

struct warden_reply {
	uint32_t magic;
	uint16_t version;
	uint16_t type;	  /* of the request, or WARDEN_EVENT_… */
	uint32_t seq;	  /* of the request, 0 for events */
	uint32_t session;
	uint32_t kernel; /* of the request; ENDED: the kernel that ended */
	struct err err;	  /* code ERR_OK on success */
	union {
		struct warden_opened opened;
		struct warden_adopted adopted;
		struct warden_usage usage;
		struct warden_ended ended;
		struct warden_walls walls;
		struct warden_started started;
		struct warden_status status;
		struct warden_list list;
		struct warden_ports ports;
	};
};
