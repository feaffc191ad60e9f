/*
 * files_read.c - reads files for the model that a request names by id.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    ids that any client may have invented; files of the tenant, whose first bytes show
 *           their type.
 * Never:    reads more than fits a conversation.
 */
#include "dialects/openai/files/files_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/base64.h"
#include "codec/json_get.h"

#define PARTS_MAX 100u

/* ---- a file --------------------------------------------------------------------------------- */

static int refuse(struct request *request, unsigned status, const char *message)
{
	answer_refuse_simple(request, status, status == 404 ? "not_found" : "invalid", message,
			     NULL);
	return -1;
}

static int read_stored(struct request *request, const char *file, struct buf *ret,
		       char name[FILES_NAME_SIZE])
{
	cleanup_call struct call call = CALL_INIT;
	struct api_download download;
	struct err err;

	if (call_or_refuse(request, API_STORED_GET, &(struct api_stored_get_in){ .file = file },
			   &download, &call) < 0)
		return -1;
	if (download.size > ret->max - ret->len)
		return refuse(request, 413, "the files of the input are too large: put them into a "
			      "container");
	(void)snprintf(name, FILES_NAME_SIZE, "%s", download.name != NULL ? download.name : "");
	return files_read_descriptor(call.reply.fd, download.size, ret, &err) < 0
		       ? refuse(request, 500, err.text)
		       : 0;
}

static int refuse_unknown(struct request *request, const char *id)
{
	char message[160];

	(void)snprintf(message, sizeof(message), "No such File object: %.100s", id);
	return refuse(request, 404, message);
}

int files_check(struct request *request, const char *id)
{
	cleanup_call struct call call = CALL_INIT;
	char file[ID_SIZE];
	enum call_status status;

	/* Files that runs wrote may be gone: reading them will show that. */
	if (strncmp(id, OPENAI_PICTURE, strlen(OPENAI_PICTURE)) == 0 ||
	    strncmp(id, OPENAI_FILE_OF, strlen(OPENAI_FILE_OF)) == 0)
		return 0;
	if (!name_swap(id, OPENAI_FILE, "file_", file, sizeof(file)))
		return refuse_unknown(request, id);
	status = call_make(request, API_STORED_SHOW, &(struct api_stored_show_in){ .file = file },
			   NULL, &call);
	if (status == CALL_FAILED && call.failure->error == API_ERR_NOT_FOUND)
		return refuse_unknown(request, id);
	if (status == CALL_FAILED)
		call_refuse(request, call.failure);
	return status == CALL_OK ? 0 : -1;
}

int files_read(struct request *request, const char *id, struct buf *ret, char name[FILES_NAME_SIZE])
{
	char file[ID_SIZE];
	const int is_named = files_named_read(request, id, ret, name);

	if (is_named != 0)
		return is_named < 0 ? -1 : 0;
	if (name_swap(id, OPENAI_FILE, "file_", file, sizeof(file)))
		return read_stored(request, file, ret, name);
	return refuse_unknown(request, id);
}

/* The type according to the first bytes; NULL: no image type that models accept. */
static const char *type_of_image(const struct buf *bytes)
{
	static const struct {
		const char *type, *mark;
		size_t at, len;
	} types[] = { { "image/png", "\x89PNG\r\n\x1a\n", 0, 8 },
		      { "image/jpeg", "\xff\xd8\xff", 0, 3 },
		      { "image/gif", "GIF8", 0, 4 },
		      { "image/webp", "WEBP", 8, 4 } };

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (bytes->len >= types[i].at + types[i].len &&
		    memcmp(bytes->data + types[i].at, types[i].mark, types[i].len) == 0)
			return types[i].type;
	return NULL;
}

int files_read_image(struct request *request, const char *id, struct buf *ret_url)
{
	cleanup_buf struct buf bytes = BUF_INIT(OPENAI_FILE_BYTES_MAX);
	char name[FILES_NAME_SIZE], message[160];
	const char *type;
	struct err err;

	if (files_read(request, id, &bytes, name) < 0)
		return -1;
	type = type_of_image(&bytes);
	if (type == NULL) {
		(void)snprintf(message, sizeof(message),
			       "the file %.60s is not an image of type png, jpeg, gif or webp", id);
		return refuse(request, 400, message);
	}
	if (buf_addf(ret_url, &err, "data:%s;base64,", type) < 0 ||
	    base64_encode(bytes.data, bytes.len, ret_url, &err) < 0)
		return refuse(request, 413, "the image is too large");
	return 0;
}

/* ---- files of an input ---------------------------------------------------------------------- */

void files_brought_done(struct order *order)
{
	for (size_t i = 0; i < order->brought_count; i++)
		buf_done(&order->brought[i].bytes);
	free(order->brought);
	order->brought = NULL;
	order->brought_count = 0;
}

const struct brought *files_brought(const struct order *order, const struct json_value *part)
{
	for (size_t i = 0; i < order->brought_count; i++)
		if (order->brought[i].part == part)
			return &order->brought[i];
	return NULL;
}

static int bring(struct request *request, struct order *order, const struct json_value *part,
		 bool is_image)
{
	struct brought *brought;
	char message[64];

	if (order->brought_count == PARTS_MAX) {
		(void)snprintf(message, sizeof(message), "input: there are at most %u files",
			       PARTS_MAX);
		return refuse(request, 400, message);
	}
	order->brought = mem_grow(order->brought, order->brought_count + 1,
				  sizeof(*order->brought));
	brought = &order->brought[order->brought_count++];
	*brought = (struct brought){ .part = part, .bytes = BUF_INIT(OPENAI_CONVERSATION_MAX) };
	if (is_image)
		return files_read_image(request, json_get_text(part, "file_id"), &brought->bytes);
	return files_read(request, json_get_text(part, "file_id"), &brought->bytes, brought->name);
}

/* Skips file ids in the model's messages: they are citations. */
static int bring_item(struct request *request, struct order *order, const struct json_value *item)
{
	const struct json_value *content = json_read_member(item, "content");
	uint64_t sum = 0;

	for (size_t i = 0; i < json_read_count(content); i++) {
		const struct json_value *part = json_read_at(content, i);
		const char *type = json_get_text(part, "type");
		const bool is_image = type != NULL && strcmp(type, "input_image") == 0;

		if (json_get_text(part, "file_id") == NULL || type == NULL ||
		    (!is_image && strcmp(type, "input_file") != 0))
			continue;
		if (bring(request, order, part, is_image) < 0)
			return -1;
		for (size_t k = 0; k < order->brought_count; k++)
			sum += order->brought[k].bytes.len;
		if (sum > OPENAI_CONVERSATION_MAX)
			return refuse(request, 413, "the files of the input are too large: put "
				      "them into a container");
		sum = 0;
	}
	return 0;
}

int files_bring(struct request *request, struct order *order)
{
	const struct json_value *input = json_read_member(order->body, "input");

	for (size_t i = 0; i < order->earlier_count; i++)
		if (bring_item(request, order, json_read_member(order->earlier[i], "object")) < 0)
			return -1;
	for (size_t i = 0; i < json_read_count(input); i++)
		if (bring_item(request, order, json_read_at(input, i)) < 0)
			return -1;
	return 0;
}
