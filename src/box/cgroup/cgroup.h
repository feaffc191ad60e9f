/*
 * cgroup.h - resource limits and accounts of a box, over cgroup v2 and v1/hybrid.
 *
 * A box has two parts: its processes, and the stopped twin. Linux charges memory to the group of
 * the task that owns the memory map, which is the twin, so both parts are below one memory limit;
 * the freezer and the process limit hold the box's processes alone (a frozen twin could not fork
 * for a branch).
 *
 * Directories are named by descriptor plus relative name, so that both back ends also run against
 * a fake tree in a temporary folder (test/unit/test_box_cgroup.c).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };
enum cgroup_controller { CG_MEMORY, CG_PIDS, CG_CPU, CG_CPUACCT, CG_FREEZER, CG_COUNT };

struct cgroup_host {
	enum cgroup_kind kind;
	/* Our directory; v1: one in each hierarchy, v2: all the same; or -1. */
	int base[CG_COUNT];
	char parent[CG_COUNT][256]; /* v1 and v2: path of the directory that holds ours */
	char name[48];	       /* of our directory: cgroup_base_name() */
	char why_not[96];      /* what is missing, if anything */
};

#define CGROUP_HOST_NONE ((struct cgroup_host){ .base = { -1, -1, -1, -1, -1 } })

/*
 * Makes our directory next to the calling process in every hierarchy that allows it. Never fails:
 * what is missing stays -1 and is explained in why_not. Removes directories that a dead warden left
 * behind; a live one holds a lock on its own (base.h).
 */
void cgroup_host_open(struct cgroup_host *host);
void cgroup_host_close(struct cgroup_host *host); /* removes our (empty) directories */
/*
 * Ends what dead wardens left in their groups next to the calling process, and removes these. What
 * is frozen does not die of a SIGKILL on v1, so it is thawed, too.
 */
void cgroup_host_sweep(void);

/* As cgroup_host_open for tests: `root` has one folder per v1 controller, or is a v2 tree. */
int cgroup_host_open_at(struct cgroup_host *host, enum cgroup_kind kind, const char *root,
			struct err *err);

/* name.c */
bool cgroup_has(const struct cgroup_host *host, enum cgroup_controller controller);

struct cgroup_limits {
	uint64_t memory_bytes; /* 0: none */
	uint32_t pids;	       /* 0: none */
	uint32_t cpu_percent;  /* 0: none */
};

/* `name` is unique among the host's boxes. */
int cgroup_create(const struct cgroup_host *host, const char *name, struct err *err);
int cgroup_limit(const struct cgroup_host *host, const char *name,
		 const struct cgroup_limits *limits, struct err *err);
int cgroup_attach_box(const struct cgroup_host *host, const char *name, pid_t pid, struct err *err);
/*
 * On v1, where each controller has a hierarchy of its own, a twin counts as one of the box's
 * processes: so what it forks is in every group from birth.
 */
int cgroup_attach_twin(const struct cgroup_host *host, const char *name, pid_t pid,
		       struct err *err);
#define CGROUP_PLACES_MAX 8

/* Where a kernel belongs in its box. */
struct cgroup_place {
	unsigned number; /* 0: the first kernel's, which is the box's own group */
	/* The box is already in use and may have reached its process limit, which must not prevent
	 * the new kernel: the kernel joins that group after its birth. */
	bool is_late;
};

/* Attaches a new child of the twin, if it was not born in the right group. */
int cgroup_attach_child(const struct cgroup_host *host, const char *name,
			const struct cgroup_place *place, pid_t pid, struct err *err);
/*
 * On v1 moving another process makes Linux wait for a grace period of all processors, some 10 ms. A
 * process with one thread that joins a group by itself, writing "0" to its `tasks`, does not wait.
 * So on v1 processes are not attached; they get these open files while they still run our code. On
 * v2 and without groups `count` is 0, and they are attached.
 */
struct cgroup_joins {
	int fd[CG_COUNT];
	size_t count;
	int leave; /* leads out of the box's freezer, for a twin that has made its kernel; or -1 */
};

int cgroup_joins_open(const struct cgroup_host *host, const char *name,
		      const struct cgroup_place *place, struct cgroup_joins *ret, struct err *err);
void cgroup_joins_close(struct cgroup_joins *joins);
bool cgroup_has_joins(const struct cgroup_host *host);
/* Makes the calling process, which must have one thread, join; only with joins. */
int cgroup_join(const struct cgroup_host *host, const char *name, struct err *err);
/* Whether the process limit of a box counts its twins, too. */
bool cgroup_counts_twins(const struct cgroup_host *host);

/* Stops all processes of the box and waits (bounded) until they have stopped; or resumes them.
 * ERR_UNAVAILABLE without a freezer. */
int cgroup_freeze(const struct cgroup_host *host, const char *name, bool frozen, struct err *err);
/* Stops them without waiting: a task inside a system call stops when it leaves that. */
int cgroup_freeze_soon(const struct cgroup_host *host, const char *name, struct err *err);

/* kernel.c: groups of further kernels; no effect for place 0, or without a freezer. */
int cgroup_kernel_create(const struct cgroup_host *host, const char *name, unsigned place,
			 struct err *err);
void cgroup_kernel_remove(const struct cgroup_host *host, const char *name, unsigned place);
void cgroup_kernel_group(const struct cgroup_host *host, const char *name, unsigned place,
			 char *ret, size_t size);
/*
 * Kills the processes of one kernel but `spare` (0: none), and waits a limited time for their end.
 * Returns how many are still ending, or ERR_UNAVAILABLE without a freezer.
 */
int cgroup_kernel_kill(const struct cgroup_host *host, const char *name, unsigned place,
		       pid_t spare);

/* Kills all processes of a box (v2 without cgroup.kill: not its twins). */
void cgroup_kill(const struct cgroup_host *host, const char *name);
/* 0 when gone, ERR_SYSTEM with EBUSY while processes are still ending. */
int cgroup_remove(const struct cgroup_host *host, const char *name, struct err *err);

struct cgroup_usage {
	uint64_t cpu_user_ns;
	uint64_t cpu_system_ns;
	uint64_t memory_bytes;
	uint64_t memory_peak_bytes; /* since the last reset if Linux can reset it, else ever */
	uint64_t oom_kills;
	uint64_t pids;
	uint64_t pids_peak; /* 0 if Linux does not record it */
	uint64_t pids_refused;
};

/* Reads all fields, 0 for what cannot be read; cgroup_read_cpu() updates only the first two. */
void cgroup_read(const struct cgroup_host *host, const char *name, struct cgroup_usage *ret);
void cgroup_read_cpu(const struct cgroup_host *host, const char *name, struct cgroup_usage *ret);
void cgroup_reset_peak(const struct cgroup_host *host, const char *name);
