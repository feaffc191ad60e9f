/*
 * doctor.h - checks a state directory and the daemon that uses it.
 */
#pragma once

#include <stddef.h>

#include "host/db/db.h"

#define DOCTOR_CHECKS_MAX 24

enum doctor_state { DOCTOR_OK, DOCTOR_PARTIAL, DOCTOR_BAD, DOCTOR_ABSENT };

struct doctor {
	const char *state_dir;
	int state_fd;
	struct db *db;
	size_t count;
	struct doctor_check {
		const char *name;
		enum doctor_state state;
		char detail[260];
		char remedy[180];
	} checks[DOCTOR_CHECKS_MAX];
};

int doctor_main(int argc, char **argv);

/* ---- doctor_say.c ---- */
void doctor_say(struct doctor *doctor, enum doctor_state state, const char *name,
		const char *remedy, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* ---- doctor_daemon.c: the running daemon ---- */
void doctor_check_daemon(struct doctor *doctor);
