/*
 * provider.h - wire formats: convert a conversation into a request, and a stream into a turn. Pure.
 *
 *   chat.c       OpenAI Chat Completions (and vLLM, Ollama, llama.cpp, LM Studio, OpenRouter …)
 *   responses.c  OpenAI Responses
 *   messages.c   Anthropic Messages
 *   gemini.c     Gemini generateContent
 *   fault.c      classifies their errors
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/conversation/model.h"
#include "base/buf.h"
#include "base/err.h"
#include "codec/json_read.h"
#include "wire/agent.h"

#define FAULT_TEXT_MAX 300u
#define PROVIDER_HEADERS_MAX (4u + AGENT_HEADERS_MAX)

enum fault_kind {
	FAULT_NONE,
	FAULT_BUSY,	/* overloaded, or failed internally: retry */
	FAULT_QUOTA,	/* no credit left: a retry does not help */
	FAULT_KEY,	/* authentication failed */
	FAULT_FILTERED, /* the provider's filter blocked the question or the answer */
	FAULT_CONTEXT,	/* the conversation is longer than the context window */
	FAULT_REQUEST,	/* the request is invalid or not allowed */
	FAULT_BROKEN,	/* the response violates the protocol */
};

struct fault {
	enum fault_kind kind;
	unsigned status;   /* HTTP status; 0 for an error inside a stream */
	uint64_t retry_ms; /* delay that the server asked for; 0: none */
	char text[FAULT_TEXT_MAX + 1];
};

/* Parses a response that is not a stream. `json` is untrusted. */
void fault_read(unsigned status, const char *json, size_t len, struct fault *ret);
/* The same for a parsed value that has a member "error", or is the error. */
void fault_judge(unsigned status, const struct json_value *error, struct fault *ret);
/* Replaces the key by "***", because a server may quote it in an error. */
void fault_hide(struct fault *fault, const char *key);
/* Sets an error of our own. */
void fault_set(struct fault *fault, enum fault_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Called for each piece of text of the model as it arrives. */
typedef void model_piece_fn(const char *text, size_t len, bool is_thought, void *arg);

/* The kind of the current block, for providers that send blocks. */
enum decoder_block {
	DECODER_BLOCK_NONE,
	DECODER_BLOCK_TEXT,
	DECODER_BLOCK_THOUGHT,
	DECODER_BLOCK_CALL,
	DECODER_BLOCK_OTHER, /* kept unchanged */
};

struct details;

/* A member for an object in `sealed` of a conversation: "items": […], or "call" and "extra". */
typedef void decoder_sealed_fn(const char *members, size_t len, void *arg);

struct decoder {
	struct model_turn *turn;
	model_piece_fn *piece; /* or NULL */
	decoder_sealed_fn *sealed; /* or NULL */
	void *arg;
	bool ended;	   /* the stream reported its end */
	bool refused;	   /* the text is a refusal */
	bool begun;
	struct fault fault; /* error that the stream reported */
	int64_t item;	   /* the provider's position in its answer */
	enum decoder_block block; /* the open block */
	size_t text_from, thoughts_from; /* where the open block begins */
	struct buf scratch; /* the block's other data */
	struct details *details; /* of Chat Completions; NULL: none received */
};

void decoder_init(struct decoder *decoder, struct model_turn *turn);
void decoder_done(struct decoder *decoder);

/* Append to the turn and call `piece`; ERR_LIMIT beyond MODEL_TEXT_MAX. */
int decoder_text(struct decoder *decoder, const char *text, size_t len, struct err *err);
int decoder_thought(struct decoder *decoder, const char *text, size_t len, struct err *err);
/* The call with that index; ERR_LIMIT: there are too many. */
int decoder_call(struct decoder *decoder, int64_t index, struct model_call **ret, struct err *err);

/* Appends one item to the items that are sent back unchanged. */
int decoder_keep(struct decoder *decoder, const struct json_value *item, struct err *err);
int decoder_keep_text(struct decoder *decoder, const char *json, size_t len, struct err *err);
/* Passes a thought to `sealed`, in the form in which a client sends it back later. */
void decoder_tell_thought(const struct decoder *decoder, const char *json, size_t len);
/* The same for an object that belongs to a call. */
void decoder_tell_call(const struct decoder *decoder, size_t call, const struct buf *extra);

/* How a server deviates, from its section in models.ini and from requests it refused. */
struct provider_ways {
	enum agent_limit limit;
	enum agent_echo echo;
	bool no_encrypted; /* Responses: the server does not return encrypted thoughts */
};

struct provider_request {
	const char *base_url;
	const char *model;
	const char *key; /* "" if there is none */
	uint64_t answer_tokens;
	struct provider_ways ways;
	struct buf url;
	struct buf body;
	struct buf headers[PROVIDER_HEADERS_MAX]; /* "Name: value" */
	size_t header_count;
};

struct provider {
	const char *name;
	int (*request)(const struct model_conversation *conv, struct provider_request *request,
		       struct err *err);
	/* Handles one event of the stream. */
	int (*event)(struct decoder *decoder, const char *name, const char *data, size_t len,
		     struct err *err);
};

extern const struct provider provider_chat;
extern const struct provider provider_responses;
extern const struct provider provider_messages;
extern const struct provider provider_gemini;

/* Whether the base URL ends with `end`, ignoring slashes after it. */
bool provider_base_ends(const struct provider_request *request, const char *end);
/* Base URL + path, with a single '/' between them. */
int provider_url(struct provider_request *request, const char *path, struct err *err);
int provider_header(struct provider_request *request, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds the headers of models.ini, "NAME: VALUE | NAME: VALUE"; "": none. */
int provider_more_headers(struct provider_request *request, const char *headers, struct err *err);

void provider_request_init(struct provider_request *request);
void provider_request_done(struct provider_request *request);

/* Whether the ids in the turn's blob match the results; false if an id was generated. */
bool provider_blob_holds(const struct model_turn *turn);

/* Adds "Authorization: Bearer KEY" if there is a key. */
int provider_bearer(struct provider_request *request, struct err *err);

/* Writes name, description and the schema, with the key `parameters`, into an open object. */
void provider_write_tool(struct json_writer *writer, const struct model_tool *tool,
			 const char *parameters);
/* Writes a member with a JSON number; NULL: nothing. */
void provider_write_number(struct json_writer *writer, const char *key, const char *number);
/* Writes a member with the array of stop texts, if there are any. */
void provider_write_stops(struct json_writer *writer, const char *key,
			  const struct model_sampling *sampling);
/* The answer limit of the sampling options, or else of the request. */
uint64_t provider_answer_tokens(const struct provider_request *request,
				const struct model_conversation *conv);
/* The schema for the answer: of our own calling or the application; NULL: none. */
const char *provider_schema(const struct model_conversation *conv);
/* Writes its members: "name" if the protocol has it, "schema" and "strict". */
void provider_write_schema(struct json_writer *writer, const struct model_conversation *conv,
			   bool has_name);

typedef int provider_take_fn(struct decoder *decoder, const struct json_value *document,
			     struct err *err);
/* Parses an event and passes it to `take`. Ignores "[DONE]". */
int provider_take(struct decoder *decoder, const char *data, size_t len, provider_take_fn *take,
		  struct err *err);

