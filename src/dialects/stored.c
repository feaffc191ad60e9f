/*
 * stored.c - files of the tenant, uploaded through model APIs.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    bodies of anybody.
 * Never:    stores a file from an incomplete body.
 */
#include "dialects/stored.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"

#define OPENAI_MIN_S 3600u
#define OPENAI_MAX_S (30u * 86400u)
#define ANTHROPIC_MAX_S (90u * 86400u)

void stored_form_done(struct stored_form *form)
{
	buf_done(&form->body);
}

void stored_form_name(struct stored_form *form, const char *given)
{
	const char *slash = strrchr(given, '/');

	given = slash != NULL ? slash + 1 : given;
	(void)snprintf(form->name, sizeof(form->name), "%.255s",
		       given[0] != '\0' ? given : "upload");
}

static int take_seconds(const struct form_part *part, uint64_t min, uint64_t max, uint64_t *ret,
			struct err *err)
{
	uint64_t seconds = 0;
	bool is_number = part->len > 0 && part->len < 16;

	for (size_t i = 0; i < part->len && is_number; i++) {
		is_number = part->data[i] >= '0' && part->data[i] <= '9';
		seconds = seconds * 10 + (uint64_t)(part->data[i] - '0');
	}
	if (!is_number || seconds < min || seconds > max)
		return err_set(err, ERR_INVALID, "%s: a number of seconds from %" PRIu64 " to %" PRIu64,
			       part->name, min, max);
	*ret = seconds;
	return 0;
}

static int take_parts(struct stored_form *form, const char *type, struct err *err)
{
	struct form_data parts;
	struct form_part part;
	int more;

	if (form_data_begin(type, buf_text(&form->body), form->body.len, &parts, err) < 0)
		return (int)err->code;
	while ((more = form_data_next(&parts, &part, err)) > 0) {
		if (strcmp(part.name, "file") == 0 && form->data == NULL) {
			stored_form_name(form, part.filename);
			form->data = part.data;
			form->len = part.len;
		} else if (strcmp(part.name, "purpose") == 0 && part.len < sizeof(form->purpose)) {
			(void)snprintf(form->purpose, sizeof(form->purpose), "%.*s", (int)part.len,
				       part.data);
		} else if (strcmp(part.name, "expires_after[seconds]") == 0) {
			if (take_seconds(&part, OPENAI_MIN_S, OPENAI_MAX_S, &form->expires_in_s,
					 err) < 0)
				return (int)err->code;
		} else if (strcmp(part.name, "expires_in_seconds") == 0) {
			if (take_seconds(&part, 1, ANTHROPIC_MAX_S, &form->expires_in_s, err) < 0)
				return (int)err->code;
		}
	}
	if (more < 0)
		return (int)err->code;
	return form->data != NULL ? 0 : err_set(err, ERR_INVALID, "there is no part \"file\"");
}

int stored_form_read(struct request *request, struct stored_form *form)
{
	const char *type = http_header(request_head(request), "content-type");
	cleanup_call struct call call = CALL_INIT;
	struct err err;

	if (call_or_refuse(request, API_KEY_CHECK, &(struct api_key_check_in){ 0 }, NULL, &call) <
		    0 ||
	    request_body(request, STORED_BODY_MAX, &form->body) < 0)
		return -1;
	if (take_parts(form, type != NULL ? type : "", &err) == 0)
		return 0;
	answer_refuse_simple(request, 400, "invalid", err.text, NULL);
	return -1;
}

/* Writes the form's file into the descriptor of the upload that `call` began. */
static int write_all(struct request *request, const struct stored_form *form,
		     const struct api_upload *upload, struct call *call)
{
	cleanup_fd int fd = TAKE_FD(call->reply.fd);
	struct err err;

	if (form->len <= upload->size_max && fd >= 0 &&
	    fd_write_full(fd, form->data, form->len, &err) == 0)
		return 0;
	upstream_cancel_when_gone(request, upload->ticket);
	upstream_cancel_now(request);
	answer_refuse_simple(request, form->len > upload->size_max ? 413 : 507, "limit",
			     "the file does not fit", NULL);
	return -1;
}

int stored_form_keep(struct request *request, const struct stored_form *form,
		     struct api_stored_file *ret, struct call *call)
{
	const struct api_stored_create_in in = {
		.has_size = true,
		.size = form->len,
		.name = form->name,
		.purpose = form->purpose[0] != '\0' ? form->purpose : NULL,
		.media_type = form->media_type[0] != '\0' ? form->media_type : NULL,
		.has_expires_in_s = form->expires_in_s > 0,
		.expires_in_s = form->expires_in_s,
	};
	struct api_upload upload;

	if (call_or_refuse(request, API_STORED_CREATE, &in, &upload, call) < 0 ||
	    write_all(request, form, &upload, call) < 0)
		return -1;
	return call_or_refuse(request, API_STORED_COMMIT,
			      &(struct api_stored_commit_in){ .ticket = upload.ticket }, ret, call);
}

int stored_form_put(struct request *request, const struct stored_form *form, const char *session,
		    struct api_file_put *ret, struct call *call)
{
	struct api_upload upload;

	if (call_or_refuse(request, API_FILE_PUT,
			   &(struct api_file_put_in){ .session = session,
						      .path = form->name,
						      .has_size = true,
						      .size = form->len },
			   &upload, call) < 0 ||
	    write_all(request, form, &upload, call) < 0)
		return -1;
	return call_or_refuse(request, API_FILE_COMMIT,
			      &(struct api_file_commit_in){ .ticket = upload.ticket }, ret, call);
}
