/* early.h - the row of a session, written while its box is made. */
#pragma once

struct session;

/* For a session in OPENING: before its job is given away, and then. */
void early_begin(struct session *session);
void early_write(struct session *session);
void early_note(const struct session *session); /* it could be opened */
/* It could not, or is not to be: nothing of it stays. */
void early_undo(struct session *session, const char *why);
