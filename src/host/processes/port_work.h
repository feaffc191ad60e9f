/* port_work.h - jobs about ports: their work in a thread of the pool, and their answers. */
#pragma once

#include <stdbool.h>

struct host;
struct job;
struct session;

/* Runs in a thread of the pool. */
void work_port(struct job *job);
/* sessions/file_queue.c: whether no more connections can be queued. */
bool file_queue_is_full_of_ports(const struct session *session);
/* Runs in the loop. */
void port_answer_job(struct host *host, struct job *job);
