/*
 * reserve.h - room on the disk that is kept for deletions, which have to write before they free any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct host;

struct reserve {
	int fd;		 /* of STATE/reserve, or -1: there is none */
	uint64_t size;	 /* that it holds now */
	uint64_t wanted; /* that it holds while there is room */
	bool is_full;	 /* nothing is begun, or added, until there is room again */
};

/* Makes the file. A disk that is too small, or full already, has none, which is not a failure. */
void reserve_setup(struct host *host);
/* To be called before something is written: gives room up, or takes it again. Costs one system call. */
void reserve_look(struct host *host);
uint64_t reserve_left(const struct host *host); /* bytes that are free */
void reserve_stop(struct host *host);
