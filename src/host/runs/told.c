/*
 * told.c - collects the result of a cell for the model from its record.
 *
 * Runs in:  job_told_new() in a thread of the pool.
 * Reads:    records of libreckon.
 */
#include "host/runs/told.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "host/host.h"
#include "reckon_agent.h"

static void take_images(struct job_told *told, const reckon_execution *done)
{
	reckon_image image;

	while (told->image_count < AGENT_IMAGES_MAX &&
	       reckon_execution_image(done, told->image_count, &image) == 1) {
		char *bytes = mem_new0(image.len + 1, 1);

		memcpy(bytes, image.bytes, image.len);
		told->images[told->image_count++] = (struct agent_client_image){
			.mime = mem_strdup(image.mime), .bytes = bytes, .len = image.len
		};
	}
}

static void take_files(struct job_told *told, const reckon_execution *done)
{
	reckon_changed_file file;

	for (size_t i = 0; reckon_execution_file(done, i, &file) == 1; i++)
		outcome_add_file(&told->changes, file.change,
				 &(struct outcome_file){
					 .path = (char *)(uintptr_t)file.path,
					 .mime = (char *)(uintptr_t)file.mime,
					 .sha256 = (char *)(uintptr_t)file.sha256,
					 .artifact = (char *)(uintptr_t)file.artifact,
					 .size = file.bytes });
}

struct job_told *job_told_new(const reckon_execution *done)
{
	struct job_told *told = mem_new0(1, sizeof(*told));
	unsigned same;
	size_t len;
	const char *text = reckon_execution_text(done, &len);
	struct err full; /* cannot happen: the text of a record is shorter */

	told->text = BUF_INIT(AGENT_RESULT_MAX);
	(void)buf_add(&told->text, text, len, &full);
	told->repeat = reckon_execution_repeat(done, &same);
	told->same = same;
	outcome_init(&told->changes, 0);
	take_images(told, done);
	take_files(told, done);
	return told;
}

void job_told_free(struct job_told *told)
{
	if (told == NULL)
		return;
	for (size_t i = 0; i < told->image_count; i++) {
		free((char *)(uintptr_t)told->images[i].mime);
		free((void *)(uintptr_t)told->images[i].bytes);
	}
	buf_done(&told->text);
	outcome_done(&told->changes);
	free(told);
}
