/*
 * told.h - what a model is told of a cell.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "agent_client/outcome.h"
#include "driver/driver.h"
#include "reckon.h"

/* What a cell's thread found for the model. */
struct job_told {
	struct buf text;
	uint64_t repeat, same;
	struct agent_client_image images[AGENT_IMAGES_MAX]; /* their bytes are allocated */
	size_t image_count;
	struct outcome changes; /* files alone */
};

/* In a thread of the pool. */
struct job_told *job_told_new(const reckon_execution *done);
void job_told_free(struct job_told *told); /* NULL is fine */
