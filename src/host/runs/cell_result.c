/*
 * cell_result.c - collects the result of a cell for the model from its record.
 *
 * Runs in:  cell_result_new() in a thread of the pool.
 * Reads:    records of libreckon.
 */
#include "host/runs/cell_result.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "host/host.h"
#include "reckon_agent.h"

static void take_images(struct cell_result *result, const reckon_execution *done)
{
	reckon_image image;

	while (result->image_count < AGENT_IMAGES_MAX &&
	       reckon_execution_image(done, result->image_count, &image) == 1) {
		char *bytes = mem_new0(image.len + 1, 1);

		memcpy(bytes, image.bytes, image.len);
		result->images[result->image_count++] = (struct agent_client_image){
			.mime = mem_strdup(image.mime), .bytes = bytes, .len = image.len
		};
	}
}

static void take_files(struct cell_result *result, const reckon_execution *done)
{
	reckon_changed_file file;

	for (size_t i = 0; reckon_execution_file(done, i, &file) == 1; i++)
		outcome_add_file(
			&result->changes, file.change,
			&(struct outcome_file){ .path = (char *)(uintptr_t)file.path,
						.mime = (char *)(uintptr_t)file.mime,
						.sha256 = (char *)(uintptr_t)file.sha256,
						.artifact = (char *)(uintptr_t)file.artifact,
						.size = file.bytes });
}

struct cell_result *cell_result_new(const reckon_execution *done)
{
	struct cell_result *result = mem_new0(1, sizeof(*result));
	unsigned same;
	size_t len;
	const char *text = reckon_execution_text(done, &len);
	struct err full; /* cannot happen: the text of a record is shorter */

	result->text = BUF_INIT(AGENT_RESULT_MAX);
	(void)buf_add(&result->text, text, len, &full);
	result->repeat = reckon_execution_repeat(done, &same);
	result->same = same;
	outcome_init(&result->changes, 0);
	take_images(result, done);
	take_files(result, done);
	return result;
}

void cell_result_free(struct cell_result *result)
{
	if (result == NULL)
		return;
	for (size_t i = 0; i < result->image_count; i++) {
		free((char *)(uintptr_t)result->images[i].mime);
		free((void *)(uintptr_t)result->images[i].bytes);
	}
	buf_done(&result->text);
	outcome_done(&result->changes);
	free(result);
}
