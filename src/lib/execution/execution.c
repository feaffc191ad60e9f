/*
 * execution.c - the accessors of an execution that has ended.
 *
 * Runs in:  libreckon.
 * Reads:    the collected record, and our own accounts.
 * Never:    parses the record's JSON.
 */
#include "lib/execution/execution.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/api.h"
#include "lib/record/state.h"
#include "reckon_agent.h"
#include "wire/agent.h"

void reckon_execution_free(reckon_execution *execution)
{
	if (execution == NULL)
		return;
	buf_done(&execution->record);
	free(execution->objects);
	record_free(execution->source);
	free(execution);
}

const char *reckon_execution_record(const reckon_execution *execution)
{
	return buf_text(&execution->record);
}

const char *reckon_execution_status(const reckon_execution *execution)
{
	return record_status_name(execution->status);
}

int reckon_execution_cost(const reckon_execution *execution, reckon_cost *ret, reckon_error *err)
{
	reckon_cost full;
	struct err inner;

	/* Fills only the members that the caller's version knows. */
	if (ret == NULL || api_options("reckon_cost", &full, sizeof(full), ret, &inner) < 0) {
		if (ret == NULL)
			(void)err_set(&inner, ERR_INVALID, "no reckon_cost");
		return api_fail(err, &inner);
	}
	full = execution->cost;
	full.size = ret->size;
	memcpy(ret, &full, ret->size < sizeof(full) ? ret->size : sizeof(full));
	return api_ok(err);
}

const char *reckon_execution_object(const reckon_execution *execution, size_t index,
				    uint64_t *ret_size)
{
	if (index >= execution->object_count)
		return NULL;
	if (ret_size != NULL)
		*ret_size = execution->objects[index].size;
	return execution->objects[index].id;
}

const char *reckon_execution_member(const reckon_execution *execution, const char *name,
				    size_t *ret_len)
{
	static const char *const names[] = { [RECORD_PART_FILES] = "files",
					     [RECORD_PART_RECEIPT] = "receipt" };

	for (size_t i = 0; name != NULL && i < ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0) {
			const struct record_slice part =
				record_part(execution->source, (enum record_part)i);

			*ret_len = part.len;
			return execution->record.data + part.at;
		}
	return NULL;
}

int reckon_execution_exit_code(const reckon_execution *execution)
{
	return record_status_exit_code(execution->status);
}

/* ---- ---- the form for a model ----------------------------------------------------------- */

const char *reckon_execution_text(const reckon_execution *execution, size_t *ret_len)
{
	if (ret_len != NULL)
		*ret_len = execution->source->text.len;
	return record_text(execution->source);
}

uint64_t reckon_execution_repeat(const reckon_execution *execution, unsigned *ret_same)
{
	const struct repeat_detector_repeat *repeat = &execution->source->repeat;

	_Static_assert(RECKON_SAME_CODE == AGENT_SAME_CODE &&
			       RECKON_SAME_ERROR == AGENT_SAME_ERROR &&
			       RECKON_SAME_FILES == AGENT_SAME_FILES,
		       "an agent knows the same bits");
	if (ret_same != NULL)
		*ret_same = (repeat->same_code ? RECKON_SAME_CODE : 0) |
			    (repeat->same_error ? RECKON_SAME_ERROR : 0) |
			    (repeat->same_files ? RECKON_SAME_FILES : 0);
	return repeat->count;
}

const char *execution_handle(const reckon_execution *execution, size_t index)
{
	const struct record *record = execution->source;

	for (size_t i = 0; i < ARRAY_LEN(record->cut); i++)
		if (record->cut[i].handle != NULL && index-- == 0)
			return record->cut[i].handle;
	for (size_t i = 0; i < record->left_out_count; i++)
		if (record->left_out[i].handle[0] != '\0' && index-- == 0)
			return record->left_out[i].handle;
	return NULL;
}

static bool is_for_models(const struct record_image *image)
{
	static const char *const mimes[] = { "image/png", "image/jpeg", "image/webp", "image/gif" };

	for (size_t i = 0; i < ARRAY_LEN(mimes); i++)
		if (image->mime != NULL && strcmp(image->mime, mimes[i]) == 0)
			return image->bytes.len > 0;
	return false;
}

/* The form of an image that a model is shown; NULL: there is none. */
static const struct record_image *find_image(const struct record_result *result)
{
	if (is_for_models(&result->scaled))
		return &result->scaled;
	for (size_t i = 0; i < result->image_count; i++)
		if (is_for_models(&result->images[i]))
			return &result->images[i];
	return NULL;
}

int reckon_execution_image(const reckon_execution *execution, size_t index, reckon_image *ret)
{
	const struct record *record = execution->source;

	for (size_t i = 0; i < record->result_count; i++) {
		const struct record_image *image = find_image(record->results[i]);

		if (image == NULL || index-- > 0)
			continue;
		*ret = (reckon_image){ .mime = image->mime,
				       .bytes = (const unsigned char *)buf_text(&image->bytes),
				       .len = image->bytes.len,
				       .width = image->width,
				       .height = image->height };
		return 1;
	}
	return 0;
}

int reckon_execution_file(const reckon_execution *execution, size_t index,
			  reckon_changed_file *ret)
{
	const struct record_listed *file;

	if (index >= execution->source->file_count)
		return 0;
	file = &execution->source->files[index];
	*ret = (reckon_changed_file){ .path = file->path,
				      .change = file->change,
				      .mime = file->mime,
				      .sha256 = file->sha256,
				      .artifact = file->artifact,
				      .bytes = file->size };
	return 1;
}
