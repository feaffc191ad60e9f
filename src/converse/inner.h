/* inner.h - a conversation as the files of this folder see it. */
#pragma once

#include <sys/types.h>

#include "converse/converse.h"

/* Of one frame; the longest is an answer. */
#define CONVERSE_FRAME_MAX ((size_t)16 * 1024 * 1024)
/* Of a result with its images. */
#define CONVERSE_RESULT_MAX ((size_t)60 * 1024 * 1024)

struct converse {
	pid_t pid;
	int sock;
	enum agent_state state;
	bool has_images; /* the model takes some */
	bool told_interrupt;
	uint64_t cell; /* of the EXECUTE that waits */
	struct buf payload;
	struct kernel_item items[AGENT_FIELDS_MAX];
};
