/*
 * agent.h - the requests of reckon-agent to its parent, and the replies.
 *
 * The agent talks to a model: it holds the key, reads what the model writes, and the design assumes
 * that an attacker controls it. Its parent (`reckon ask`) has the session, the files and the
 * person; it reads only these frames. One SOCK_SEQPACKET socket, descriptor AGENT_FD of the agent.
 * A frame is a packet of kernel.h (head, fields, long ones as a sealed memory file) with the types
 * and tags below; no other descriptor ever travels. Integers are 8 bytes in host order.
 *
 *   parent                              agent
 *    | START -------------------------->  |   settings and key, once; then the agent fences itself
 *    | <------------------------- READY   |   the fence stands; nothing was sent to the network
 *    | HISTORY ------------------------>  |   any number: what was said before
 *    | or CONVERSATION ---------------->  |   a whole one, see docs/conversation.schema.json
 *    | ASK ---------------------------->  |   a question
 *    | or CONTINUE -------------------->  |   no question: answer the conversation's last message
 *    | <-- TEXT, THOUGHT, SEALED, CODE, DISCARD, NOTICE, TURN |   any number: to show
 *    | <--------------------- EXECUTE (n) |   one cell at a time
 *    | RESULT (n) --------------------->  |   exactly one for each
 *    | <------------------------ PAGE (m) |   a part of an output that a RESULT named
 *    | PAGED (m) ---------------------->  |   exactly one for each
 *    | <------------------------ LOOK (m) |   are these files in the workspace?
 *    | LOOKED (m) -------------------->  |   exactly one for each
 *    | <-------------------------- CALL   |   any number: calls of the application's tools
 *    | <-------------- CONVERSATION_NOW   |   the conversation as it is now, if START requested it
 *    | <-------------------------- DONE   |   how it ended; another ASK or CONTINUE may follow
 *    | LIST --------------------------->  |   which models are there? instead of an ASK
 *    | <------------ MODELS, or DONE with what went wrong
 *    | INTERRUPT ---------------------->  |   at any time: DONE comes soon
 *
 * The table of agent_check() says which fields a frame of the agent may have; agent_may_send()
 * says when the agent may send it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/kernel.h"

#define AGENT_FD 3
#define AGENT_CODE_MAX (1u * 1024u * 1024u)
#define AGENT_TEXT_MAX (64u * 1024u)		/* of one piece */
#define AGENT_ANSWER_MAX (4u * 1024u * 1024u)
#define AGENT_MESSAGE_MAX 1024u
#define AGENT_IMAGES_MAX 8u			/* of one result */
#define AGENT_IMAGE_MAX (8u * 1024u * 1024u)	/* bytes of its base64 */
#define AGENT_RESULT_MAX (2u * 1024u * 1024u)	/* bytes of its text */
#define AGENT_HANDLE_MAX 64u
#define AGENT_NEEDLE_MAX 256u
#define AGENT_FIELDS_MAX 1200u
#define AGENT_HEADERS_MAX 8u
#define AGENT_HEADERS_MARK " | "
#define AGENT_CONVERSATION_MAX (15u * 1024u * 1024u) /* a conversation as JSON */
#define AGENT_CALL_ID_MAX 256u
#define AGENT_TOOL_NAME_MAX 128u
#define AGENT_ARGUMENTS_MAX (8u * 1024u * 1024u)
#define AGENT_CALLS_MAX 16u /* of one answer */
#define AGENT_COMMANDS_MAX 64u /* of one call of the shell */
#define AGENT_LOOKS_MAX 50u /* names of one LOOK */
#define AGENT_LOOKS_BYTES (64u * 1024u)
#define AGENT_NAMES_MAX 1000u		/* of models */
#define AGENT_NAMES_BYTES (64u * 1024u)

enum agent_type {
	/* parent to agent */
	AGENT_START = 1,     /* SETTINGS MODEL BASE_URL KEY LANGUAGE [CA_FILE] [PROXY] [NO_PROXY]
			      * [HEADERS] [TOOLS]                                               */
	AGENT_ASK = 2,	     /* TEXT FILE*                                                      */
	AGENT_RESULT = 3,    /* STATUS TEXT [REPEAT SAME] IMAGE*; the id is that of the EXECUTE */
	AGENT_INTERRUPT = 4, /* nothing                                                         */
	AGENT_HISTORY = 8,   /* earlier turns, see struct agent_past; before an ASK */
	AGENT_LIST = 9,	     /* nothing                                                         */
	AGENT_PAGED = 10,    /* STATUS TEXT; the id is that of the PAGE                         */
	AGENT_CONVERSATION =
		11,	     /* JSON: before an ASK or CONTINUE, instead of HISTORY              */
	AGENT_CONTINUE = 12, /* (CALL STATUS TEXT IMAGE*)*: results of the pending calls; or IMAGE*:
			      * those of the last question of a HISTORY                         */
	AGENT_LOOKED = 13,   /* TEXT: an AGENT_FILE_… for each name; the id is that of the LOOK */
	/* agent to parent */
	AGENT_READY = 32,
	AGENT_TEXT = 33,    /* TEXT: a piece of the model's answer                               */
	AGENT_THOUGHT = 34, /* TEXT: a piece of the model's reasoning                            */
	AGENT_NOTICE = 35,  /* TEXT: one line, for example why the agent waits                   */
	AGENT_TURN = 36,    /* USAGE (sums so far): an answer of the model is complete           */
	AGENT_EXECUTE = 37, /* CODE [COMMAND ARGUMENTS]                                          */
	AGENT_DONE = 38,    /* STOP USAGE [TEXT] [MESSAGE] [REMEDY] [CHECKED]                    */
	AGENT_MODELS = 39,  /* TEXT: one name per line; COUNT: how many there are in all         */
	AGENT_PAGE = 40,    /* HANDLE PART [TEXT]: only lines that contain TEXT                  */
	AGENT_CODE = 41,    /* TEXT: a piece of a call's code as the model writes it; COUNT       */
	AGENT_CALL = 42,    /* CALL NAME ARGUMENTS: of the application's tool; DONE follows       */
	AGENT_CONVERSATION_NOW =
		43,	    /* JSON: the conversation as it is now; DONE follows                  */
	AGENT_DISCARD = 44, /* TEXT: why to drop what the model said since the last TURN          */
	AGENT_SEALED = 45,  /* JSON: the provider must get it back unchanged, see conversation.h  */
	AGENT_LOOK = 46,    /* TEXT: one file name per line                                       */
};

enum agent_tag {
	AGENT_TAG_SETTINGS = 1, /* struct agent_settings */
	AGENT_TAG_MODEL = 2,
	AGENT_TAG_BASE_URL = 3,
	AGENT_TAG_KEY = 4,
	AGENT_TAG_LANGUAGE = 5,
	AGENT_TAG_CA_FILE = 6,
	AGENT_TAG_PROXY = 7,
	AGENT_TAG_NO_PROXY = 8,
	AGENT_TAG_TEXT = 9,
	AGENT_TAG_FILE = 10, /* "NAME (1.2 MB)" */
	AGENT_TAG_STATUS = 11,
	AGENT_TAG_REPEAT = 12, /* how often this failure was seen, including now */
	AGENT_TAG_IMAGE = 13,  /* media type, NUL, base 64 */
	AGENT_TAG_CODE = 14,
	AGENT_TAG_USAGE = 15, /* struct agent_usage */
	AGENT_TAG_STOP = 16,  /* enum agent_stop */
	AGENT_TAG_MESSAGE = 17,
	AGENT_TAG_REMEDY = 18,
	AGENT_TAG_CALL = 19,   /* id of a call of an application's tool */
	AGENT_TAG_PAST = 20,   /* enum agent_past_kind: starts an entry */
	AGENT_TAG_OUTPUT = 21, /* of a cell, as the model saw it */
	AGENT_TAG_IMAGES = 22, /* number of images that the model saw and that are not here */
	AGENT_TAG_HANDLE = 25, /* "out_…" */
	AGENT_TAG_PART = 26,   /* struct agent_part */
	AGENT_TAG_SAME = 27,   /* AGENT_SAME_…: what has not changed since this failure was seen */
	AGENT_TAG_COUNT = 28,
	AGENT_TAG_NAME = 23,	  /* of a tool */
	AGENT_TAG_ARGUMENTS = 24, /* a JSON object */
	AGENT_TAG_JSON = 29,	  /* reckon.conversation/1 */
	AGENT_TAG_TOOLS = 31,	  /* callable by code: [{"name", "description", "parameters"}] */
	AGENT_TAG_CHECKED = 33,	  /* struct agent_checked */
	AGENT_TAG_HEADERS = 30,	  /* of each request: "NAME: VALUE", joined by AGENT_HEADERS_MARK */
	AGENT_TAG_COMMAND = 32,	  /* struct agent_command: CODE is for the shell */
};

enum agent_protocol {
	AGENT_PROTOCOL_CHAT,	  /* OpenAI Chat Completions and compatible servers */
	AGENT_PROTOCOL_RESPONSES, /* OpenAI Responses */
	AGENT_PROTOCOL_MESSAGES,  /* Anthropic Messages */
	AGENT_PROTOCOL_GEMINI,	  /* Gemini generateContent */
	AGENT_PROTOCOL_COUNT_
};

/* How the model passes code to run. */
enum agent_calling {
	AGENT_CALLING_TOOLS,  /* the protocol's tool calls */
	AGENT_CALLING_FENCED, /* a fenced block in its text */
	AGENT_CALLING_SCHEMA, /* an object that obeys a JSON schema */
	AGENT_CALLING_COUNT_
};

/* Which field tells a Chat Completions server how long an answer may be. */
enum agent_limit {
	AGENT_LIMIT_AUTO,	/* chosen by the server's address, then by what it rejects */
	AGENT_LIMIT_TOKENS,	/* max_tokens */
	AGENT_LIMIT_COMPLETION, /* max_completion_tokens */
	AGENT_LIMIT_COUNT_
};

/* Which reasoning goes back to a Chat Completions server. */
enum agent_echo {
	AGENT_ECHO_AUTO, /* each under the name it came with, then by what the server rejects */
	AGENT_ECHO_ALL,	 /* also missing reasoning, as an empty text */
	AGENT_ECHO_NONE,
	AGENT_ECHO_COUNT_
};

/* Whether the agent looks up an answer's numbers and links in the outputs of its run. */
enum agent_verify {
	AGENT_VERIFY_NO,
	AGENT_VERIFY_MARK, /* the answer lists what no output supports */
	AGENT_VERIFY_ASK,  /* the model also gets the list once, and may correct itself */
	AGENT_VERIFY_COUNT_
};

struct agent_settings {
	uint64_t protocol;     /* enum agent_protocol */
	uint64_t calling;      /* enum agent_calling */
	uint64_t images;       /* non-zero: the model takes images */
	uint64_t steps_max;    /* cells per question */
	uint64_t tokens_max;   /* input and output, per question; 0: no limit */
	uint64_t budget_micro; /* millionths of the price's currency; 0: no limit */
	uint64_t wall_ms;      /* per question */
	uint64_t context_tokens; /* older output is shortened to stay below this */
	uint64_t answer_tokens;	 /* per answer of the model */
	uint64_t retries;
	/* millionths per million tokens; all zero: unknown price */
	uint64_t price_in, price_cached, price_out;
	uint64_t price_written; /* for writing to a cache; 0: the protocol's usual ratio */
	uint64_t limit, echo; /* enum agent_limit, enum agent_echo; for Chat Completions */
	uint64_t persists_conversation; /* non-zero: CONVERSATION_NOW before each DONE */
	uint64_t has_shell;  /* non-zero: commands can run in a shell beside the cells */
	uint64_t verify; /* enum agent_verify */
};

/* What a LOOKED says about a file. */
#define AGENT_FILE_THERE '+'
#define AGENT_FILE_MISSING '-'
#define AGENT_FILE_UNKNOWN '?'

#define AGENT_SAME_CODE 1u
#define AGENT_SAME_ERROR 2u
#define AGENT_SAME_FILES 4u

/* Which part of an output to read. */
enum agent_unit {
	AGENT_UNIT_LINES, /* first to last, from 1 */
	AGENT_UNIT_HEAD,  /* the first `last` lines */
	AGENT_UNIT_TAIL,  /* the last `last` lines */
	AGENT_UNIT_BYTES, /* first to last, from 0 */
	AGENT_UNIT_COUNT_
};

struct agent_part {
	uint64_t unit; /* enum agent_unit */
	uint64_t first, last;
	uint64_t bytes_max; /* of the page; 0: the parent decides */
};

/* One command of a shell call; 0: no separate limit. */
struct agent_command {
	uint64_t index, count;
	uint64_t timeout_ms; /* of this command */
	uint64_t output_max; /* bytes of its output for the model */
};

struct agent_usage {
	uint64_t requests;
	uint64_t steps; /* cells that ran */
	uint64_t in;	/* tokens, cached ones included */
	uint64_t cached;
	uint64_t out; /* reasoning included */
	uint64_t reasoning;
	uint64_t cost_micro;
};

enum agent_stop {
	AGENT_STOP_ANSWER, /* the model requested no more code */
	AGENT_STOP_STEPS,
	AGENT_STOP_TOKENS,
	AGENT_STOP_BUDGET,
	AGENT_STOP_TIME,
	AGENT_STOP_STUCK,  /* it repeated what had already failed */
	AGENT_STOP_LENGTH, /* its answer was cut at its length limit */
	AGENT_STOP_REFUSED, /* the model, or a filter in front of it, refused */
	AGENT_STOP_INTERRUPTED,
	AGENT_STOP_LOST,   /* the session is gone */
	AGENT_STOP_FAILED, /* provider or network; MESSAGE says what */
	AGENT_STOP_CALLS,  /* it called the application's tools: CONTINUE brings the results */
	AGENT_STOP_COUNT_
};

/* What of an answer was looked up in the outputs of its run. */
#define AGENT_CLAIMS_MAX 50u /* more are counted, not listed */

enum agent_claim_kind { AGENT_CLAIM_NUMBER, AGENT_CLAIM_LINK, AGENT_CLAIM_COUNT_ };

/* A part of the answer that no output supports. */
struct agent_claim {
	uint64_t kind; /* enum agent_claim_kind */
	uint64_t offset, len;
};

struct agent_checked {
	uint64_t is_checked; /* zero: the agent looked nothing up */
	uint64_t numbers, links; /* how many it looked up */
	uint64_t numbers_unsupported, links_unsupported;
	uint64_t listed;
	struct agent_claim claims[AGENT_CLAIMS_MAX];
};

#define AGENT_PAST_MAX 1000u /* of one HISTORY */

enum agent_past_kind {
	AGENT_PAST_QUESTION, /* TEXT                             */
	AGENT_PAST_CELL,     /* TEXT CODE STATUS OUTPUT [IMAGES] */
	AGENT_PAST_ANSWER,   /* TEXT                             */
	AGENT_PAST_NOTE,     /* TEXT: goes to the model with the next question, also a later one */
	AGENT_PAST_COUNT_
};

/* One earlier event; points into the frame. */
struct agent_past {
	enum agent_past_kind kind;
	const struct kernel_item *text, *code, *status, *output;
	uint64_t images;
};

/* "answer", "max_steps", …; for JSON. Never NULL. */
const char *agent_stop_name(enum agent_stop stop);

/* What the parent knows about its agent. */
enum agent_state {
	AGENT_STATE_STARTING, /* expects READY, or DONE if the agent cannot start */
	AGENT_STATE_IDLE,     /* expects nothing */
	AGENT_STATE_THINKING, /* expects everything but READY */
	AGENT_STATE_RUNNING,  /* expects nothing: the agent waits for a RESULT */
	AGENT_STATE_LISTING,  /* expects MODELS, or DONE if there is no list */
};

/* The monitor table: whether an agent may send `type` in `state`. */
bool agent_may_send(enum agent_state state, uint16_t type);

/*
 * Checks the fields of a frame of this type from the agent: only known tags, each once unless it
 * may repeat, within the table's lengths, and no required one missing. ERR_PROTOCOL otherwise.
 */
int agent_check(uint16_t type, const struct kernel_item *items, size_t count, struct err *err);

/*
 * The next entry of a HISTORY: returns 1, or 0 at the end; start with *at 0. The fields come from a
 * stored run, which anybody may have written: ERR_PROTOCOL if they are not as above.
 */
int agent_next_past(const struct kernel_item *items, size_t count, size_t *at,
		    struct agent_past *ret, struct err *err);

/* Appends a field to a payload. Texts are not terminated on the wire. */
int agent_pack(struct buf *payload, enum agent_tag tag, const void *data, size_t len,
	       struct err *err);
int agent_pack_text(struct buf *payload, enum agent_tag tag, const char *text, struct err *err);
int agent_pack_u64(struct buf *payload, enum agent_tag tag, uint64_t value, struct err *err);

/* Finds a field; NULL or `otherwise` if it is missing. */
const struct kernel_item *agent_find(const struct kernel_item *items, size_t count,
				     enum agent_tag tag);
uint64_t agent_u64(const struct kernel_item *items, size_t count, enum agent_tag tag,
		   uint64_t otherwise);

int agent_send(int sock, enum agent_type type, uint64_t id, const struct buf *payload,
	       struct err *err);

/* As kernel_recv(); a descriptor in the frame is ERR_PROTOCOL. */
int agent_recv(int sock, struct kernel_head *ret_head, struct buf *payload, struct err *err);
/* Length of the link at the start of `text`: in Markdown it ends at ")", in prose at a blank or at
 * the marks around it. Agent and parent both look up links of an answer. */
size_t agent_link_length(const char *text, size_t len);
