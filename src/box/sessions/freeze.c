/*
 * freeze.c - freezes a box until its client thaws it: memory, processes and files stay.
 *
 * Runs in:  the warden.
 * Reads:    nothing of the box but which tasks it has (twin/task_freeze.c).
 * Never:    leaves a box frozen when it is to end: session_end() thaws it first, so that it can
 *           die.
 */
#include "box/sessions/freeze.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "box/twin/task_freeze.h"

int freeze_begin(struct warden *warden, struct session *session, struct err *err)
{
	struct task_freeze *frozen;

	if (session->frozen != NULL)
		return 0;
	frozen = mem_new0(1, sizeof(*frozen));
	/* 0: no kernel is stopped already, so all tasks are to be stopped. */
	if (task_freeze_begin(frozen, &warden->cgroups, &session->shell, 0, err) < 0) {
		task_freeze_end(frozen);
		free(frozen);
		return (int)err->code;
	}
	session->frozen = frozen;
	session->frozen_ns = clock_mono_ns();
	log_line(LOG_INFO, "box frozen", "session=%u", session->id);
	return 0;
}

void freeze_end(struct session *session)
{
	if (session->frozen == NULL)
		return;
	task_freeze_end(session->frozen);
	free(session->frozen);
	session->frozen = NULL;
	log_line(LOG_INFO, "box thawed", "session=%u", session->id);
}

bool freeze_allows(const struct session *session, uint16_t type)
{
	return session->frozen == NULL || type == WARDEN_FREEZE || type == WARDEN_THAW ||
	       type == WARDEN_CLOSE || type == WARDEN_DOOR || type == WARDEN_USAGE ||
	       type == WARDEN_STATUS || type == WARDEN_LIST || type == WARDEN_PORTS || type == WARDEN_LEASE ||
	       type == WARDEN_BUSY;
}
