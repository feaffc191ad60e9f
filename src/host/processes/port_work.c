/*
 * port_work.c - jobs about ports, in a thread of the pool.
 *
 * Runs in:  a thread of reckond's pool.
 * Reads:    its job, the handles of its session.
 * Never:    waits until a program of the box accepts: the dialect process of the client does that.
 */
#include "host/processes/port_work.h"

#include <stdlib.h>

#include "base/mem.h"
#include "host/host.h"

static void list(struct job *job)
{
	int count;

	job->result.ports = mem_new0(JOB_PORTS_MAX, sizeof(*job->result.ports));
	count = reckon_port_list(job->session->file_queue.handle, job->result.ports, JOB_PORTS_MAX,
				 &job->error);
	job->result.port_count = count > 0 ? (size_t)count : 0;
	if (job->result.port_count > JOB_PORTS_MAX)
		job->result.port_count = JOB_PORTS_MAX;
}

static void connect_to(struct job *job)
{
	const unsigned port = (unsigned)strtoul(job->path, NULL, 10);

	if (reckon_port_connect(job->session->file_queue.handle, port, 0, &job->result.fd,
				&job->error) == RECKON_ENOT_FOUND)
		job->files.refusal = API_ERR_PORT_CLOSED;
}

void work_port(struct job *job)
{
	if (file_queue_handle(job) == NULL)
		return;
	if (job->kind == JOB_PORT_LIST)
		list(job);
	else
		connect_to(job);
}
