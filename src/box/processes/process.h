/* process.h - programs that clients start in boxes, beside the kernels. */
#pragma once

#include "box/state.h"

enum process_state {
	PROCESS_LAUNCHING, /* behind its walls soon */
	PROCESS_BEGINNING, /* verified, and on its way to the program */
	PROCESS_RUNNING,
	PROCESS_ENDED,
	PROCESS_RELEASED, /* nobody knows it, but its group is still there */
};

/* A program that a client started. What it has in common with a kernel is in `as`, whose `id` is
 * its number and whose `made` has no twin. */
struct box_process {
	struct box_kernel as;
	struct box_process *next; /* of the session */
	enum process_state state;
	struct warden_start how;
	struct conn *starter; /* whose START is not answered yet, or NULL */
	uint32_t start_seq;
	int32_t pid; /* inside the box */
	int boot;    /* to the launcher, until the program runs */
	int master;  /* of the terminal, until the client takes it */
	struct watch boot_watch, timer_watch;
	uint64_t deadline_ns;	  /* of the launch, then of the program; 0: none */
	uint32_t limit;		  /* WARDEN_END_WALL or _CPU when we ended it, else 0 */
	uint64_t memory_peak;	  /* sampled, where no group counts it */
};

/* launch.c */
/* Answers later, unless it fails; takes no descriptors. */
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
/* Ends it and all that it left, and forgets it. */
void process_release(struct warden *warden, struct box_process *process);
/* The session ends, and pid 1 with it. */
void process_drop_all(struct warden *warden, struct session *session);
/* The groups of a dead session's processes; false: some are still ending. */
bool process_remove_all(struct warden *warden, struct session *session);
void process_reap(const struct session *session, pid_t pid, int status);
/* The session was frozen for so long: that is no time of theirs. */
void process_go_on(const struct session *session, uint64_t span_ns);

/* sweep.c */
/* Ends what a kernel that is gone has left behind in its box; waits for it, bounded. */
void sweep_after(struct warden *warden, struct box_kernel *kernel);
/* Ends what a process that is gone has left behind, where no freezer tells whose it is. */
void sweep_process(const struct session *session, const struct box_process *process);

/* ---- of process.c, for launch.c ---- */

/* Groups that could not be removed when their process was released. */
void process_sweep_released(struct warden *warden, const struct session *session);
/* For the earlier of its deadline and the next look at its processor time. */
void process_set_timer(const struct box_process *process);
/* Of a program that runs: its deadline or a look is due, its pidfd is readable. */
void process_timer(struct warden *warden, struct watch *watch, uint32_t events);
void process_ended(struct warden *warden, struct watch *watch, uint32_t events);
