/*
 * cell_result.h - the result of a cell for the model.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "agent_client/outcome.h"
#include "driver/driver.h"
#include "reckon.h"

/* Collected by the thread that executed the cell. */
struct cell_result {
	struct buf text;
	uint64_t repeat, same;
	struct agent_client_image images[AGENT_IMAGES_MAX]; /* own their bytes */
	size_t image_count;
	struct outcome changes; /* only its files */
};

/* Runs in a thread of the pool. */
struct cell_result *cell_result_new(const reckon_execution *done);
void cell_result_free(struct cell_result *result); /* NULL is fine */
