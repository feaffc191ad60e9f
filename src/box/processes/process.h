/* process.h - programs that clients start in boxes, in addition to the kernels. */
#pragma once

#include "box/state.h"

enum process_state {
	PROCESS_LAUNCHING, /* the launcher raises its walls */
	PROCESS_BEGINNING, /* verified, about to execute the program */
	PROCESS_RUNNING,
	PROCESS_ENDED,
	PROCESS_RELEASED, /* released by the client, but its cgroup still exists */
};

/* A program that a client started. `as` holds what it has in common with a kernel: its number is
 * `as.id`, and `as.made` has no twin. */
struct box_process {
	struct box_kernel as;
	struct box_process *next; /* of the session */
	enum process_state state;
	struct warden_start how;
	struct conn *starter; /* the client whose START is not answered yet, or NULL */
	uint32_t start_seq;
	int32_t pid; /* the pid inside the box */
	int boot;    /* socket to the launcher, until the program runs */
	int master;  /* the terminal's master side, until the client gets it */
	struct watch boot_watch, timer_watch;
	uint64_t deadline_ns;	  /* of the launch, then of the program; 0: none */
	uint32_t limit;		  /* WARDEN_END_WALL or _CPU if this limit ended it, else 0 */
	uint64_t memory_peak;	  /* sampled; used if no cgroup counts it */
};

/* launch.c */
/* On success it answers the client later. The descriptors stay the caller's. */
int process_start(struct warden *warden, struct session *session, struct conn *conn,
		  const struct warden_request *request, const int *fds, size_t nfds,
		  struct err *err);

/* process.c */
struct box_process *process_find(const struct session *session, uint32_t number);
int process_signal(struct box_process *process, const struct warden_signal *signal,
		   struct err *err);
void process_status(struct warden *warden, struct box_process *process,
		    struct warden_status *ret);
void process_list(const struct session *session, struct warden_list *ret);
/* Kills the process and what it left running; frees it as soon as its cgroup can be removed. */
void process_release(struct warden *warden, struct box_process *process);
/* Kills all processes of a session that ends, without waiting, and closes their descriptors. */
void process_drop_all(struct warden *warden, struct session *session);
/* Removes the cgroups of a dead session's processes; false: some processes are still ending. */
bool process_remove_all(struct warden *warden, struct session *session);
void process_reap(const struct session *session, pid_t pid, int status);
/* Moves all deadlines by the time for which the session was frozen. */
void process_go_on(const struct session *session, uint64_t span_ns);

/* sweep.c */
/* Kills what an ended kernel left running in its box; waits a limited time until it is gone. */
void sweep_after(struct warden *warden, struct box_kernel *kernel);
/* Kills what an ended process left running, on a host without a freezer that tells what is its
 * own. */
void sweep_process(const struct session *session, const struct box_process *process);

/* ---- of process.c, for launch.c ---- */

/* Removes the cgroups that could not be removed when their process was released. */
void process_sweep_released(struct warden *warden, const struct session *session);
/* Sets the timer to the deadline or the next check of the processor time, whichever is earlier. */
void process_set_timer(const struct box_process *process);
/* Event handlers of a running program: for its timer, and for its pidfd. */
void process_timer(struct warden *warden, struct watch *watch, uint32_t events);
void process_ended(struct warden *warden, struct watch *watch, uint32_t events);
