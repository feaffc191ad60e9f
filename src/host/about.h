/*
 * about.h - for whom things happen: what lines of the log and entries of the audit name.
 */
#pragma once

struct host;
struct job;

/* The job comes of the request that is answered just now. */
void about_note(const struct host *host, struct job *job);
/* What happens from now on comes of this job's request. */
void about_begin(struct host *host, const struct job *job);
void about_end(struct host *host); /* and no more */
