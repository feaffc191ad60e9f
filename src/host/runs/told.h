/*
 * told.h - the result of a cell for the model.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "agent_client/outcome.h"
#include "driver/driver.h"
#include "reckon.h"

/* Collected by the thread that executed the cell. */
struct job_told {
	struct buf text;
	uint64_t repeat, same;
	struct agent_client_image images[AGENT_IMAGES_MAX]; /* own their bytes */
	size_t image_count;
	struct outcome changes; /* only its files */
};

/* Runs in a thread of the pool. */
struct job_told *job_told_new(const reckon_execution *done);
void job_told_free(struct job_told *told); /* NULL is fine */
