/*
 * stored.h - files of the tenant, as APIs of models upload them and put them into sessions.
 *
 * A body of multipart/form-data is read as one piece, up to STORED_BODY_MAX: what is larger is stored
 * with the native API, and has an id here all the same.
 */
#pragma once

#include "codec/form_data.h"
#include "dialects/call.h"

#define STORED_BODY_MAX (64u * 1024u * 1024u)

/* The parts that are wanted, which lie in the body. */
struct stored_form {
	struct buf body;
	char name[256];	 /* of the file, without a folder */
	char purpose[64]; /* "" */
	char media_type[128]; /* "": it is guessed */
	uint64_t expires_in_s; /* 0: never */
	const char *data; /* NULL: there is no file */
	size_t len;
};
#define STORED_FORM_INIT ((struct stored_form){ .body = BUF_INIT(STORED_BODY_MAX) })
void stored_form_done(struct stored_form *form);
#define cleanup_stored_form __attribute__((cleanup(stored_form_done)))

/* What of it can be a file's name. */
void stored_form_name(struct stored_form *form, const char *given);
/* The body's parts `file`, `purpose`, `expires_after[seconds]` (OpenAI) and `expires_in_seconds`
 * (Anthropic). Negative: it was refused, or the client is gone. */
int stored_form_read(struct request *request, struct stored_form *form);
/* Keeps it for the tenant; what *ret shows lives as long as the call. */
int stored_form_keep(struct request *request, const struct stored_form *form,
		     struct api_stored_file *ret, struct call *call);
/* Puts it into the workspace of a session. */
int stored_form_put(struct request *request, const struct stored_form *form, const char *session,
		    struct api_file_put *ret, struct call *call);
