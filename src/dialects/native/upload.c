/*
 * upload.c - uploads: reckond sends a descriptor, the body is written to it, a second call takes
 * the file.
 *
 * Runs in:  reckon-front-native.
 * Reads:    bodies of any client, without inspecting them.
 * Never:    writes more than reckond allows.
 */
#include <unistd.h>

#include "api/json_out.h"
#include "base/cleanup.h"
#include "dialects/native/native.h"

#define OUT_MAX (64u * 1024u)

static uint64_t *size_of(const struct native *native, bool **ret_has)
{
	if (native->id == API_FILE_PUT) {
		struct api_file_put_in *in = native->in;

		*ret_has = &in->has_size;
		return &in->size;
	}
	if (native->id == API_STORED_CREATE) {
		struct api_stored_create_in *in = native->in;

		*ret_has = &in->has_size;
		return &in->size;
	}
	if (native->id == API_VOLUME_PUT) {
		struct api_volume_put_in *in = native->in;

		*ret_has = &in->has_size;
		return &in->size;
	}
	*ret_has = &((struct api_archive_put_in *)native->in)->has_size;
	return &((struct api_archive_put_in *)native->in)->size;
}

static void commit(const struct native *native, uint64_t ticket, struct call *call)
{
	cleanup_buf struct buf body = BUF_INIT(OUT_MAX);
	const struct api_call *row = &api_calls[native->call->commits];
	void *out = arena_new(native->arena, 1, row->gives->size);
	const struct api_file_commit_in file = { .ticket = ticket };
	const struct api_archive_commit_in archive = { .ticket = ticket };
	const struct api_stored_commit_in stored = { .ticket = ticket };
	const struct api_volume_commit_in volume = { .ticket = ticket };
	const void *in = native->call->commits == API_FILE_COMMIT     ? (const void *)&file
			 : native->call->commits == API_STORED_COMMIT ? (const void *)&stored
			 : native->call->commits == API_VOLUME_COMMIT ? (const void *)&volume
								      : (const void *)&archive;
	struct err err;

	if (call_or_refuse(native->request, (enum api_id)native->call->commits, in, out, call) < 0)
		return;
	if (api_write_body(row, out, &body, &err) < 0)
		answer_refuse_simple(native->request, 500, "internal", err.text, NULL);
	else
		answer_text(native->request, native->call->status, NATIVE_JSON, &body, NULL);
}

void native_upload(const struct native *native)
{
	cleanup_call struct call call = CALL_INIT;
	struct request *request = native->request;
	const struct http *http = request_head(request);
	struct api_upload upload;
	cleanup_fd int fd = -1;
	uint64_t ticket;
	bool *has_size;

	if (!http->is_chunked) {
		*size_of(native, &has_size) = http->length;
		*has_size = true;
	}
	if (call_or_refuse(request, native->id, native->in, &upload, &call) < 0)
		return;
	ticket = upload.ticket;
	upstream_cancel_when_gone(request, ticket);
	fd = TAKE_FD(call.reply.fd);
	if (fd < 0) {
		answer_refuse_simple(request, 500, "internal", "there is no file to write to",
				     NULL);
		return;
	}
	if (request_body_to(request, fd, upload.size_max) < 0) {
		upstream_cancel_now(request);
		return;
	}
	(void)close(TAKE_FD(fd));
	upstream_cancel_when_gone(request, 0);
	commit(native, ticket, &call);
}
