/*
 * stored.h - files of the tenant that model APIs upload and put into sessions.
 *
 * A multipart/form-data body is read into memory, up to STORED_BODY_MAX: clients upload larger
 * files with the native API; these dialects can then use their ids, too.
 */
#pragma once

#include "codec/form_data.h"
#include "dialects/call.h"

#define STORED_BODY_MAX (64u * 1024u * 1024u)

/* The form's parts that are used; they point into the body. */
struct stored_form {
	struct buf body;
	char name[256];	 /* the file's, without a folder */
	char purpose[64]; /* "" */
	char media_type[128]; /* "": guess it */
	uint64_t expires_in_s; /* 0: never */
	const char *data; /* NULL: the form has no file */
	size_t len;
};
#define STORED_FORM_INIT ((struct stored_form){ .body = BUF_INIT(STORED_BODY_MAX) })
void stored_form_done(struct stored_form *form);
#define cleanup_stored_form __attribute__((cleanup(stored_form_done)))

/* Takes the valid part of a given file name. */
void stored_form_name(struct stored_form *form, const char *given);
/* Reads the parts `file`, `purpose`, `expires_after[seconds]` (OpenAI) and `expires_in_seconds`
 * (Anthropic). Negative: a refusal was sent, or the client is gone. */
int stored_form_read(struct request *request, struct stored_form *form);
/* Stores the file for the tenant; *ret points into the call. */
int stored_form_keep(struct request *request, const struct stored_form *form,
		     struct api_stored_file *ret, struct call *call);
/* Puts the file into the workspace of a session. */
int stored_form_put(struct request *request, const struct stored_form *form, const char *session,
		    struct api_file_put *ret, struct call *call);
