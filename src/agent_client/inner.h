/* inner.h - a conversation as the files of this folder see it. */
#pragma once

#include <sys/types.h>

#include "agent_client/agent_client.h"

/* Of one frame; the longest is an answer. */
#define CONVERSE_FRAME_MAX ((size_t)16 * 1024 * 1024)
/* Of a result with its images. */
#define CONVERSE_RESULT_MAX ((size_t)60 * 1024 * 1024)

/* Handles that may be asked for. */
#define CONVERSE_OFFERED_MAX 256u

struct agent_client {
	pid_t pid;
	int sock;
	enum agent_state state;
	bool has_images; /* the model takes some */
	bool told_interrupt;
	uint64_t cell; /* of the EXECUTE that waits */
	agent_client_open_fn *open; /* or NULL */
	void *open_arg;
	const struct agent_client_image *shown[AGENT_IMAGES_MAX]; /* with the next question */
	size_t shown_count;
	agent_client_look_fn *look; /* or NULL */
	void *look_arg;
	char offered[CONVERSE_OFFERED_MAX][AGENT_HANDLE_MAX + 1]; /* a ring: the last ones */
	size_t offered_count;
	struct buf payload;
	struct kernel_item items[AGENT_FIELDS_MAX];
};

int agent_client_send(struct agent_client *talk, enum agent_type type, uint64_t id,
		  const struct buf *payload, struct err *err);

/* Answers a LOOK, likewise. */
int agent_client_look(struct agent_client *talk, uint64_t id, size_t count, struct err *err);
/* Answers a PAGE, whose fields are in talk->items. */
int agent_client_page(struct agent_client *talk, uint64_t id, size_t count, struct err *err);
