/* vma.h - looks up the memory areas of another process by address. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct vma {
	uint64_t from, to;
	int prot;	/* PROT_… */
	bool is_shared; /* MAP_SHARED: a write reaches all who map it */
	bool is_anonymous; /* private, not of a file */
	uint64_t device, inode; /* of its file */
};

/* The process's open maps file, for vma_next(). */
int vma_open(pid_t pid, int *ret_fd, struct err *err);

/*
 * Finds the area that covers `address`, or else the next one above it; with `shared` only shared
 * areas. 1: found, 0: none.
 */
int vma_next(int maps, uint64_t address, bool shared, struct vma *ret, struct err *err);

/* The area that covers `address`; ERR_NOT_FOUND if there is none. */
int vma_at(pid_t pid, uint64_t address, struct vma *ret, struct err *err);
