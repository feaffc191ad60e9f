/*
 * reserve.h - disk space reserved for deletions, which must write before they free any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct host;

struct reserve {
	int fd;		 /* of STATE/reserve, or -1 if there is none */
	uint64_t size;	 /* present size */
	uint64_t wanted; /* size while there is space */
	bool is_full;	 /* refuse new work and data until there is space again */
};

/* Makes the file. If the disk is too small or full there is none, which is not an error. */
void reserve_setup(struct host *host);
/*
 * Call before something is written: shortens or extends the file. One system call if neither is
 * needed.
 */
void reserve_look(struct host *host);
uint64_t reserve_left(const struct host *host); /* free bytes of the disk */
void reserve_stop(struct host *host);
