/* row_before_open.h - writes a session's row while its box is being opened. */
#pragma once

struct session;

/* For a session in OPENING: begin() before its job is submitted, write() afterwards. */
void row_before_open_begin(struct session *session);
void row_before_open_write(struct session *session);
void row_before_open_note(const struct session *session); /* the session could be opened */
/* The session was not opened, or is not wanted: removes its row. */
void row_before_open_undo(struct session *session, const char *why);
