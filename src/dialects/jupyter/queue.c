/*
 * queue.c - bounded queues of messages for a client, independent of its format. No I/O.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    messages of this process.
 * Never:    holds more than QUEUE_BYTES_MAX for one client, or ALL_BYTES_MAX in all: it
 *           drops the queue's oldest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dialects/jupyter/server.h"

#define QUEUE_MAX 10000u
#define QUEUE_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define ALL_BYTES_MAX ((size_t)128 * 1024 * 1024)

static size_t all_bytes;

struct queued *queue_take(struct queue *queue)
{
	struct queued *first = queue->first;

	if (first == NULL)
		return NULL;
	queue->first = first->next;
	if (queue->first == NULL)
		queue->last = NULL;
	queue->count--;
	queue->bytes -= first->size;
	all_bytes -= first->size;
	return first;
}

static void append(struct queue *queue, struct queued *message)
{
	if (queue->last != NULL)
		queue->last->next = message;
	else
		queue->first = message;
	queue->last = message;
	queue->count++;
	queue->bytes += message->size;
	all_bytes += message->size;
	while (queue->first != NULL && (queue->count > QUEUE_MAX || queue->bytes > QUEUE_BYTES_MAX ||
					all_bytes > ALL_BYTES_MAX)) {
		free(queue_take(queue));
		queue->dropped++;
	}
}

static char *append_part(char *at, const struct frame_part *part)
{
	if (part->len > 0)
		memcpy(at, part->data, part->len);
	return at + part->len;
}

void queue_add(struct queue *queue, const struct frame_out *out)
{
	const size_t len = out->header.len + out->parent.len + out->content.len;
	struct queued *message = mem_new0(1, sizeof(*message) + len + 1);
	char *at = message->bytes;

	message->size = sizeof(*message) + len;
	message->channel = out->channel;
	(void)snprintf(message->id, sizeof(message->id), "%s", out->id);
	(void)snprintf(message->type, sizeof(message->type), "%s", out->type);
	message->header = out->header.len;
	message->parent = out->parent.len;
	message->content = out->content.len;
	at = append_part(at, &out->header);
	at = append_part(at, &out->parent);
	(void)append_part(at, &out->content);
	append(queue, message);
}

struct frame_out queued_frame(const struct queued *message)
{
	const char *parent = message->bytes + message->header;

	return (struct frame_out){ .channel = message->channel,
				   .id = message->id,
				   .type = message->type,
				   .header = { message->bytes, message->header },
				   .parent = { parent, message->parent },
				   .content = { parent + message->parent, message->content } };
}

void queue_move(struct queue *from, struct queue *to)
{
	struct queued *message;

	to->dropped += from->dropped;
	from->dropped = 0;
	while ((message = queue_take(from)) != NULL) {
		message->next = NULL;
		append(to, message);
	}
}

void queue_done(struct queue *queue)
{
	while (queue->first != NULL)
		free(queue_take(queue));
	queue->dropped = 0;
}
