/*
 * about.h - the context of log lines and audit entries: which request they belong to.
 */
#pragma once

struct host;
struct job;

/* Stores the context of the request that is being answered in its job. */
void about_note(const struct host *host, struct job *job);
/* From now on the context is that of this job's request. */
void about_begin(struct host *host, const struct job *job);
void about_end(struct host *host); /* removes the context */
