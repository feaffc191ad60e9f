/* row_before_open.h - the row of a session, written while its box is made. */
#pragma once

struct session;

/* For a session in OPENING: before its job is given away, and then. */
void row_before_open_begin(struct session *session);
void row_before_open_write(struct session *session);
void row_before_open_note(const struct session *session); /* it could be opened */
/* It could not, or is not to be: nothing of it stays. */
void row_before_open_undo(struct session *session, const char *why);
