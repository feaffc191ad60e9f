/* port_work.h - jobs about ports: what they do in a thread of the pool, and how they are answered. */
#pragma once

#include <stdbool.h>

struct host;
struct job;
struct session;

/* In a thread of the pool. */
void work_port(struct job *job);
/* sessions/file_queue.c: no more connections can wait. */
bool file_queue_is_full_of_ports(const struct session *session);
/* In the loop. */
void port_answer_job(struct host *host, struct job *job);
