/*
 * end.c - ends or keeps the session after the question.
 *
 * Runs in:  reckon ask.
 * Reads:    how the question ended, and where its cells ran.
 * Never:    ends a session that the user named, or one that an unanswered question still needs.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/ask/ask.h"

#define HOUR_S 3600.0
#define MINUTE_S 60.0

/* The run's id is unique; a run that is not stored gets our pid. */
void ask_session_name(const struct ask *ask, char ret[ASK_NAME_SIZE])
{
	const char *kind = ask->is_chat ? "chat" : "ask", *id = ask->keep.journal.id;

	if (id[0] != '\0')
		(void)snprintf(ret, ASK_NAME_SIZE, "%s-%s", kind, id);
	else
		(void)snprintf(ret, ASK_NAME_SIZE, "%s-%ld", kind, (long)getpid());
}

bool ask_session_is_own(const struct ask *ask, const char *name)
{
	const char *id = ask->keep.journal.id;

	return name != NULL && id[0] != '\0' && strncmp(name, "ask-", 4) == 0 &&
	       strcmp(name + 4, id) == 0;
}

static void end(struct ask *ask)
{
	struct err err;

	if (ask->place->end(ask, &err) < 0 && err.code != ERR_LOST && err.code != ERR_NOT_FOUND) {
		run_output_line("reckon: session %s did not end: %s", ask->view.session->name,
				err.text);
		return;
	}
	ask_keep_session(ask, NULL, NULL, NULL);
}

static void tell_gone(const struct ask *ask)
{
	run_output_line("reckon: the session ended with this command, with its variables and the "
			"files made in it");
	if (ask->keep.fd >= 0)
		run_output_line("reckon: reckon ask --resume %s --rerun runs its cells again and "
				"goes on", ask->keep.journal.id);
}

static void tell_available(const struct ask *ask, bool has_kernel)
{
	const struct session *session = ask->view.session;
	const double idle = session->idle_s;
	char time[64] = "";

	if (idle > 0)
		(void)snprintf(time, sizeof(time), ", until nobody used it for %.0f %s",
			       idle >= HOUR_S ? idle / HOUR_S : idle / MINUTE_S,
			       idle >= HOUR_S ? "h" : "min");
	run_output_line("reckon: session %s is kept, with its %s%s",
			session->name[0] != '\0' ? session->name : session->id,
			has_kernel ? "variables and files" : "files; its variables are lost",
			time);
	if (ask->keep.fd >= 0)
		run_output_line("reckon: reckon ask --resume %s%s%s goes on with the question",
				ask->keep.journal.id, session->url != NULL ? " --url " : "",
				session->url != NULL ? session->url : "");
}

static void tell(const struct ask *ask)
{
	struct session *session = ask->view.session;
	struct err err;
	int rc;

	if (ask->place->end == NULL) {
		tell_gone(ask);
		return;
	}
	rc = session->ops->check(session, &err);
	if (rc == 0 || rc == ERR_KERNEL_LOST)
		tell_available(ask, rc == 0);
	else
		run_output_line("reckon: the session is not there any more: %s", err.text);
}

void ask_session_end(struct ask *ask)
{
	const struct session *session = ask->view.session;
	const bool has_question = ask->keep.journal.question_count > 0;

	if (ask->is_chat || session == NULL)
		return;
	if (has_question && !ask->is_answered) {
		tell(ask);
		return;
	}
	/* With --no-keep a resumed run still refers to its session, so do not end it. */
	if (ask->place->end != NULL && !ask->keep.off && ask_session_is_own(ask, session->name))
		end(ask);
}
