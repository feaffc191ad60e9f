/*
 * session.h - what a session holds; for the files of this folder.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "lib/engine.h"
#include "lib/pipes.h"
#include "lib/stuck.h"
#include "lib/workspace.h"
#include "reckon.h"
#include "wire/kernel.h"
#include "wire/warden.h"

struct reckon_session {
	struct reckon_engine *engine;
	struct client *client;
	struct reckon_session *next; /* of the engine */
	char id[ID_SIZE];
	char language[WARDEN_NAME_SIZE];
	char template_name[WARDEN_NAME_SIZE];
	reckon_limits limits; /* defaults filled in */
	uint32_t asked; /* WARDEN_UNHELD_… bits of limits that the caller named */
	uint32_t unheld; /* those of them that this host cannot hold; told in the next record */

	uint32_t number; /* what the warden calls it */
	uint32_t host_uid;
	uint32_t host_gid;
	int32_t kernel_pid; /* as the warden sees it */
	bool has_twin;
	enum warden_warmth warmth;
	int control;   /* to the kernel, non-blocking */
	int workspace; /* directory */

	enum kernel_state state;
	uint64_t next_request;
	uint64_t sequence; /* executions so far */
	struct workspace *files; /* as after the last execution */
	struct buf known; /* names of the last look at the variables, as JSON: ["a","b"] */
	uint64_t files_changes; /* grows whenever a change of them is known */
	struct stuck stuck; /* failures so far */
	int no_input[2]; /* an input at its end for every cell that has none, and its peek; or -1 */
	struct stray_set strays; /* pipes that earlier executions left open */

	bool has_ended; /* the warden said how the kernel ended */
	struct warden_ended ended;
	bool is_lost;
	struct err why_lost;
	int interrupt_fd; /* eventfd: all that reckon_interrupt() touches */
};

/* Marks the session as lost for good; the first reason stays. */
void session_lose(struct reckon_session *session, const struct err *why);

/* The same, and the warden ends what is left of it. */
void session_kill(struct reckon_session *session, const struct err *why);

/* ERR_LOST with the reason, ERR_INVALID inside a callback, else 0. */
int session_check(struct reckon_session *session, struct err *err);

/* The warden ended a session; called by the engine. */
void session_note_ended(struct reckon_session *session, const struct warden_ended *ended);

/* "exit status 3", "signal 11 (Segmentation fault)", … */
void session_describe_end(const struct warden_ended *ended, char *ret, size_t size);

/* Takes the two descriptors and the numbers of an OPEN or BRANCH reply; on failure the session is
 * to be freed with session_free(). */
int session_adopt(struct reckon_session *session, struct client_call *call, struct err *err);
struct reckon_session *session_new(struct reckon_engine *engine, struct client *client);
void session_free(struct reckon_session *session); /* unlinks; NULL is fine */
void session_link(struct reckon_session *session);

/* One packet of the kernel into `payload`. As kernel_recv(), but takes no descriptors. */
int session_recv(struct reckon_session *session, struct kernel_head *ret_head, struct buf *payload,
		 struct err *err);

/* A request without an answer (INTERRUPT, BEGIN, CLOSE); a dead warden loses the session. */
int session_tell(struct reckon_session *session, enum warden_type type, struct err *err);
