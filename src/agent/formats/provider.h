/*
 * provider.h - a wire format: how a conversation becomes a request, and a stream a turn. Pure.
 *
 *   chat.c       OpenAI Chat Completions (and vLLM, Ollama, llama.cpp, LM Studio, OpenRouter …)
 *   responses.c  OpenAI Responses
 *   messages.c   Anthropic Messages
 *   gemini.c     Gemini generateContent
 *   fault.c      what their errors mean
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
	FAULT_BUSY,	/* too much asked of it just now, or a failure of its own: worth a retry */
	FAULT_QUOTA,	/* no credit; a retry changes nothing */
	FAULT_KEY,	/* who are you */
	FAULT_FILTERED, /* a filter of the provider's took the question or the answer */
	FAULT_CONTEXT,	/* the conversation is longer than the model can read */
	FAULT_REQUEST,	/* it does not understand or allow what was asked */
	FAULT_BROKEN,	/* what came is not what the protocol says */
};

struct fault {
	enum fault_kind kind;
	unsigned status;   /* of HTTP; 0 when it came within a stream */
	uint64_t retry_ms; /* what it asked for; 0: nothing */
	char text[FAULT_TEXT_MAX + 1];
};

/* What an answer that was no stream says. `json` may be anything. */
void fault_read(unsigned status, const char *json, size_t len, struct fault *ret);
/* The same of a parsed value that has a member "error", or is one. */
void fault_judge(unsigned status, const struct json_value *error, struct fault *ret);
/* A server that quotes what it was sent would have us show the key: "***" stands for it. */
void fault_hide(struct fault *fault, const char *key);
/* From ours: `kind` and text. */
void fault_set(struct fault *fault, enum fault_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Told of what a model says while it says it. */
typedef void model_piece_fn(const char *text, size_t len, bool is_thought, void *arg);

/* What a block of an answer is, where a provider sends blocks. */
enum decoder_block {
	DECODER_BLOCK_NONE,
	DECODER_BLOCK_TEXT,
	DECODER_BLOCK_THOUGHT,
	DECODER_BLOCK_CALL,
	DECODER_BLOCK_OTHER, /* kept as it came */
};

struct details;

/* A member of an object in `sealed` of a conversation: "items": […], or "call" and "extra". */
typedef void decoder_sealed_fn(const char *members, size_t len, void *arg);

struct decoder {
	struct model_turn *turn;
	model_piece_fn *piece; /* or NULL */
	decoder_sealed_fn *sealed; /* or NULL */
	void *arg;
	bool ended;	   /* the stream said that it is complete */
	bool refused;	   /* what it says is why it does not answer */
	bool begun;
	struct fault fault; /* what the stream said went wrong */
	int64_t item;	   /* where the provider is within its answer */
	enum decoder_block block; /* the one that is open */
	size_t text_from, thoughts_from; /* where it began */
	struct buf scratch; /* what of it is in neither */
	struct details *details; /* of Chat Completions; NULL: none came */
};

void decoder_init(struct decoder *decoder, struct model_turn *turn);
void decoder_done(struct decoder *decoder);

/* Both append to the turn and tell `piece`; past MODEL_TEXT_MAX they fail with ERR_LIMIT. */
int decoder_text(struct decoder *decoder, const char *text, size_t len, struct err *err);
int decoder_thought(struct decoder *decoder, const char *text, size_t len, struct err *err);
/* The call of that index; ERR_LIMIT when there are too many. */
int decoder_call(struct decoder *decoder, int64_t index, struct model_call **ret, struct err *err);

/* Appends one item to what goes back unchanged. */
int decoder_keep(struct decoder *decoder, const struct json_value *item, struct err *err);
int decoder_keep_text(struct decoder *decoder, const char *json, size_t len, struct err *err);
/* Tells of one that is a thought, as whoever goes on with the conversation gives it back. */
void decoder_tell_thought(const struct decoder *decoder, const char *json, size_t len);
/* The same of what belongs to a call: an object. */
void decoder_tell_call(const struct decoder *decoder, size_t call, const struct buf *extra);

/* What is known of a server, by its section of models.ini and by what it refused. */
struct provider_ways {
	enum agent_limit limit;
	enum agent_echo echo;
	bool no_encrypted; /* Responses: it does not give out encrypted thoughts */
};

struct provider_request {
	const char *base_url;
	const char *model;
	const char *key; /* "" when there is none */
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
	/* One event of the stream. */
	int (*event)(struct decoder *decoder, const char *name, const char *data, size_t len,
		     struct err *err);
};

extern const struct provider provider_chat;
extern const struct provider provider_responses;
extern const struct provider provider_messages;
extern const struct provider provider_gemini;

/* Whether BASE ends so, whatever '/' come behind. */
bool provider_base_ends(const struct provider_request *request, const char *end);
/* BASE + path, without doubling a '/'. */
int provider_url(struct provider_request *request, const char *path, struct err *err);
int provider_header(struct provider_request *request, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Those of models.ini, "NAME: VALUE | NAME: VALUE"; "": none. */
int provider_more_headers(struct provider_request *request, const char *headers, struct err *err);

void provider_request_init(struct provider_request *request);
void provider_request_done(struct provider_request *request);

/* Whether the turn's blob names its calls as results do: not when an id had to be made. */
bool provider_blob_holds(const struct model_turn *turn);

/* "Authorization: Bearer KEY", or nothing when there is no key. */
int provider_bearer(struct provider_request *request, struct err *err);

/* Name, description and, as `parameters`, what the tool takes: members of an open object. */
void provider_write_tool(struct json_writer *writer, const struct model_tool *tool,
			 const char *parameters);
/* A member whose value is a number as JSON; NULL: nothing. */
void provider_write_number(struct json_writer *writer, const char *key, const char *number);
/* A member that is an array of the stop texts, if there are any. */
void provider_write_stops(struct json_writer *writer, const char *key,
			  const struct model_sampling *sampling);
/* What a sampling says of the length of an answer, else the request. */
uint64_t provider_answer_tokens(const struct provider_request *request,
				const struct model_conversation *conv);
/* What the answer has to obey: of our own calling, or the application's; NULL: nothing. */
const char *provider_schema(const struct model_conversation *conv);
/* Its members: "name", where the protocol has one, "schema" and "strict". */
void provider_write_schema(struct json_writer *writer, const struct model_conversation *conv,
			   bool has_name);

typedef int provider_take_fn(struct decoder *decoder, const struct json_value *document,
			     struct err *err);
/* Parses an event and hands it on. "[DONE]" is none. */
int provider_take(struct decoder *decoder, const char *data, size_t len, provider_take_fn *take,
		  struct err *err);

/* A member that is text, else "". */
/* A number of tokens: negative, or no number, is 0. */
