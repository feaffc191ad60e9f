/*
 * about.c - the context of log lines and audit entries: which request they belong to.
 *
 * Runs in:  reckond's loop.
 * Reads:    nothing.
 */
#include "host/about.h"

#include <string.h>

#include "host/host.h"

void about_note(const struct host *host, struct job *job)
{
	job->about = host->about;
	memcpy(job->actor, host->actor, sizeof(job->actor));
}

void about_begin(struct host *host, const struct job *job)
{
	host->about = job->about;
	memcpy(host->actor, job->actor, sizeof(host->actor));
	log_about(&host->about);
}

void about_end(struct host *host)
{
	log_about(NULL);
	memset(&host->about, 0, sizeof(host->about));
	host->actor[0] = '\0';
}
