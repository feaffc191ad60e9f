/*
 * answer.c - turns a server's refusals and connection failures into errors.
 *
 * Runs in:  programs that are clients of a daemon.
 * Reads:    bodies from any server at the address.
 * Never:    assumes that the body comes from Reckon: an HTML page is reported as one. Never repeats
 *           a key. Never tells whoever typed a command to send a request.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/inner.h"
#include "codec/json_get.h"

static enum err_code code_of(unsigned status)
{
	static const struct {
		unsigned status;
		enum err_code code;
	} known[] = {
		{ 401, ERR_DENIED },  { 403, ERR_DENIED },	{ 404, ERR_NOT_FOUND },
		{ 408, ERR_TIMEOUT }, { 410, ERR_LOST },	{ 429, ERR_LIMIT },
		{ 503, ERR_UNAVAILABLE }, { 504, ERR_TIMEOUT }, { 507, ERR_LIMIT },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].status == status)
			return known[i].code;
	return status >= 400 && status < 500 ? ERR_INVALID : ERR_SYSTEM;
}

/* A server may echo a request: keep the key out of the message. */
static void redact(const struct client *client, char *text)
{
	const size_t len = strlen(client->key);

	while (len > 0 && (text = strstr(text, client->key)) != NULL) {
		memset(text, '*', len);
		text += len;
	}
}

int answer_error(struct client *client, const struct json_value *error, unsigned status,
		 struct err *err)
{
	const char *cause = json_get_str(error, "cause");
	char message[WORDS_SIZE], remedy[WORDS_SIZE];

	words_message(json_get_str(error, "message"), message, sizeof(message));
	words_remedy(json_get_str(error, "remedy"), remedy, sizeof(remedy));
	client->last.status = status;
	(void)snprintf(client->last.code, sizeof(client->last.code), "%s",
		       json_get_str(error, "code"));
	(void)err_set(err, code_of(status), "%s%s%s", message, cause[0] != '\0' ? ": " : "", cause);
	(void)err_remedy(err, "%s", remedy);
	redact(client, err->text);
	redact(client, err->remedy);
	return (int)err->code;
}

static int refused_by_other(const struct transfer *transfer, struct err *err)
{
	(void)err_set(err, ERR_PROTOCOL,
		      "%s answered %u%s%.40s, which is not an answer of Reckon's",
		      transfer->client->name, transfer->answer.status,
		      transfer->type[0] != '\0' ? " with " : "", transfer->type);
	return err_remedy(err, transfer->answer.status >= 500
				       ? "something between here and the daemon answered; try again"
				       : "check the address");
}

int answer_refused(struct transfer *transfer, struct err *err)
{
	const struct json_value *error = NULL;
	struct json_value *document = NULL;
	struct err ignored;
	int code;

	if (json_read_parse(buf_text(&transfer->refusal), transfer->refusal.len,
			    transfer->refusal.len, &document, &ignored) == 0)
		error = json_read_member(document, "error");
	if (json_get_str(error, "code")[0] == '\0' || json_get_str(error, "message")[0] == '\0')
		code = refused_by_other(transfer, err);
	else
		code = answer_error(transfer->client, error, transfer->answer.status, err);
	json_read_free(document);
	return code;
}

static int nobody(const struct client *client, struct err *err)
{
	(void)err_set(err, ERR_UNAVAILABLE, "cannot connect to %s", client->name);
	if (client->is_private)
		return err_remedy(err, "ask again: it is started when it is needed");
	return err_remedy(err,
			  "start it there (reckon serve), or leave --url and RECKON_URL out to "
			  "use your private daemon");
}

int answer_broken(struct transfer *transfer, struct err *err)
{
	const struct client *client = transfer->client;
	int code = ERR_PROTOCOL;

	transfer->is_broken = true;
	switch ((int)transfer->result) {
	case CURLE_COULDNT_CONNECT:
		return nobody(client, err);
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		(void)err_set(err, ERR_UNAVAILABLE, "%s: the name is not known", client->name);
		return err_remedy(err, "check the address");
	case CURLE_OPERATION_TIMEDOUT:
		return err_set(err, ERR_TIMEOUT, "%s does not answer", client->name);
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_CACERT_BADFILE:
		code = err_set(err, ERR_DENIED, "%s: %.200s", client->name, transfer->reason);
		break;
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
		return err_set(err, ERR_UNAVAILABLE, "%s closed the connection", client->name);
	default:
		code = err_set(err, ERR_PROTOCOL, "%s: %.200s", client->name,
			       transfer->reason[0] != '\0' ? transfer->reason
							   : curl_easy_strerror(transfer->result));
		(void)err_remedy(err, "check the address: is that a Reckon daemon?");
		break;
	}
	redact(client, err->text);
	return code;
}
