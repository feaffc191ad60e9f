/* inner.h - the private parts of a conversation, shared by the files of this folder. */
#pragma once

#include <sys/types.h>

#include "agent_client/agent_client.h"

/* Bytes of one frame; an answer is the longest. */
#define AGENT_CLIENT_FRAME_MAX ((size_t)16 * 1024 * 1024)
/* Bytes of a result with its images. */
#define AGENT_CLIENT_RESULT_MAX ((size_t)60 * 1024 * 1024)

/* Handles that the model may page through. */
#define AGENT_CLIENT_OFFERED_MAX 256u

struct agent_client {
	pid_t pid;
	int sock;
	enum agent_state state;
	bool has_images; /* the model takes images */
	bool is_interrupted;
	uint64_t cell; /* of the pending EXECUTE */
	agent_client_open_fn *open; /* or NULL */
	void *open_arg;
	const struct agent_client_image *shown[AGENT_IMAGES_MAX]; /* for the next question */
	size_t shown_count;
	agent_client_look_fn *look; /* or NULL */
	void *look_arg;
	char offered[AGENT_CLIENT_OFFERED_MAX][AGENT_HANDLE_MAX + 1]; /* ring buffer of the last */
	size_t offered_count;
	struct buf payload;
	struct kernel_item items[AGENT_FIELDS_MAX];
};

int agent_client_send(struct agent_client *client, enum agent_type type, uint64_t id,
		      const struct buf *payload, struct err *err);

/* Replies to a LOOK, likewise. */
int agent_client_look(struct agent_client *client, uint64_t id, size_t count, struct err *err);
/* Replies to a PAGE, whose fields are in client->items. */
int agent_client_page(struct agent_client *client, uint64_t id, size_t count, struct err *err);
