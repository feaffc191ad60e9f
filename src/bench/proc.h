/* proc.h - runs and times programs; reads the processes and memory below the warden. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * A program that proc_run() runs to its end; an exit status other than 0 is an error. `add_env` (or
 * NULL) replaces or adds variables of our environment. With hides_unified the program gets a mount
 * namespace without the second cgroup hierarchy of hybrid hosts.
 */
struct proc_command {
	const char *const *argv;
	const char *const *add_env;
	bool hides_unified;
	bool shows_output;
};

int proc_run(const struct proc_command *command, uint64_t *ret_ns, struct err *err);

/* Finds a program in PATH. False: it is not there. */
bool proc_find(const char *name, char *ret, size_t size);

/* The processes and memory of a private warden's sessions. */
struct proc_tree {
	size_t kernels;	    /* children of twins, and their own children */
	size_t processes;   /* kernels, twins and inits */
	uint64_t pss_bytes; /* of inits and kernels; a twin shares its kernel's memory */
};

/* Reads all descendants of our own warden. `with_pss`: also pss_bytes, which is slow to read. */
int proc_tree_read(bool with_pss, struct proc_tree *ret, struct err *err);

uint64_t proc_memory_available(void);
