/*
 * port.c - TCP ports of a session's programs: list, connect.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked calls; ports from libreckon. It never reads data from a port.
 * Never:    connects to anything but the session's own loopback (libreckon, the warden).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/calls/call.h"
#include "host/host.h"
#include "host/sessions/gone.h"
#include "host/calls/link.h"
#include "host/processes/port_work.h"

/* NULL: answered with an error. */
static struct job *port_job(struct host *host, const struct request *req, struct session *session,
			    enum job_kind kind)
{
	if (file_queue_is_full_of_ports(session)) {
		observe_refused(host, "queue");
		front_fail(host, req->id, API_ERR_BUSY,
			  "too many connections to ports of this session are being made", "",
			  "wait for those", 1);
		return NULL;
	}
	return job_new(session, kind, req->id);
}

static void connect_to(struct host *host, const struct request *req, struct session *session,
		       uint64_t port)
{
	struct job *job = port_job(host, req, session, JOB_PORT_CONNECT);
	char number[8];

	if (job == NULL)
		return;
	(void)snprintf(number, sizeof(number), "%u", (unsigned)port);
	job->path = mem_strdup(number);
	file_queue_enqueue(session, job);
}

void handle_port_connect(struct host *host, const struct request *req,
			 const struct api_port_connect_in *in)
{
	struct session *session = answer_session_named(host, req, in->session, false);

	if (session != NULL)
		connect_to(host, req, session, in->port);
}

void handle_port_link_connect(struct host *host, const struct request *req,
			      const struct api_port_link_connect_in *in)
{
	struct db_link link;
	struct tenant *tenant = link_take(host, req, in->token, &link);
	struct session *session;

	if (tenant == NULL)
		return;
	if (!link_is_of_port(&link) || strcmp(link.session, in->session) != 0 ||
	    strtoul(link.name, NULL, 10) != in->port) {
		front_fail(host, req->id, API_ERR_DENIED, "this link leads to another port", "",
			  "use the url that was given for this one", 0);
		return;
	}
	session = session_find(host, tenant, link.session);
	if (session == NULL || life_is_closing(session->life) ||
	    lifecycle_is_ending(&host->life))
		session_tell_gone(host, tenant, req->id, link.session);
	else if (pause_lets(session, req->id))
		connect_to(host, req, session, in->port);
}

void handle_port_list(struct host *host, const struct request *req,
		      const struct api_port_list_in *in)
{
	struct session *session = answer_session_named(host, req, in->session, false);
	struct job *job = session != NULL ? port_job(host, req, session, JOB_PORT_LIST) : NULL;

	if (job != NULL)
		file_queue_enqueue(session, job);
}

/* ---- answers -------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const struct api_port *one = a, *other = b;

	return one->port != other->port ? (one->port < other->port ? -1 : 1)
					: strcmp(one->address, other->address);
}

static void reply_list(struct host *host, const struct job *job)
{
	struct api_port *reply = mem_new0(job->result.port_count + 1, sizeof(*reply));

	for (size_t i = 0; i < job->result.port_count; i++)
		reply[i] = (struct api_port){ .port = job->result.ports[i].port,
					     .address = job->result.ports[i].address,
					     .reachable = job->result.ports[i].is_loopback != 0 };
	qsort(reply, job->result.port_count, sizeof(*reply), by_number);
	reply_port_list(host, job->request,
			&(struct api_ports){ .ports = { reply, job->result.port_count } });
	free(reply);
}

void port_answer_job(struct host *host, struct job *job)
{
	if (job->kind == JOB_PORT_LIST)
		reply_list(host, job);
	else
		front_reply_call_fd(host, job->request, &api_type_port_connected,
				   &(struct api_port_connected){ 0 }, TAKE_FD(job->result.fd));
}
