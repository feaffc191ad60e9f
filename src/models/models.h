/*
 * models.h - which model is asked: providers that are built in, and those of a file.
 *
 *   builtin.c  providers that are known without a file
 *   file.c    an INI text -> struct models; what is wrong with it, by line
 *   row.c     its keys and the values they take
 *   choose.c  a wish, the environment and struct models -> address, key and settings
 *
 * For each value the first of these counts: what the caller was told (a flag, a request), the
 * environment, [model PROVIDER/NAME], [provider NAME], [default], what is built in. docs/agent.md is
 * this for users.
 *
 * A key is never in a message and never in a struct that outlives models_choice_done().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/ini_text.h"
#include "wire/agent.h"

#define MODELS_FILE_SYSTEM "/etc/reckon/models.ini" /* of a daemon of root */
#define MODELS_FILE_ENV "RECKON_MODELS"
#define MODELS_FILE_MAX (256u * 1024u)
#define MODELS_ENTRIES_MAX 1000u
#define MODELS_ALIASES_MAX 200u
#define MODELS_NAME_MAX 62u  /* of a provider */
#define MODELS_MODEL_MAX 255u
#define MODELS_URL_MAX 1000u
#define MODELS_KEY_MAX 8000u /* what fits into a header */

#define MODELS_UNSET UINT64_MAX /* a number that nobody gave */

/* ---- what a file says ---- */

enum models_section { MODELS_DEFAULT, MODELS_PROVIDER, MODELS_MODEL, MODELS_ALIASES };

/* One section. What it does not say is NULL or MODELS_UNSET. */
struct models_entry {
	enum models_section section;
	unsigned line;
	char *name; /* "", "PROVIDER" or "PROVIDER/NAME" */
	char *base_url, *key_env, *key_file, *key, *model, *headers;
	uint64_t protocol; /* enum agent_protocol */
	uint64_t calling;  /* enum agent_calling */
	uint64_t images;
	uint64_t limit, echo; /* enum agent_limit, enum agent_echo */
	uint64_t verify; /* enum agent_verify */
	uint64_t context_tokens, answer_tokens, retries;
	uint64_t price_written;
	uint64_t price_in, price_cached, price_out; /* millionths, of a million tokens */
	uint64_t steps_max, tokens_max, budget_micro, wall_ms; /* of [default] alone */
};

/* A row of [aliases]: a name that clients say, with * and ? as in the shell, and what it means. */
struct models_alias {
	unsigned line;
	char *pattern, *model; /* `model` as models_wish.model */
};

struct models {
	struct models_entry **entries; /* in the order of the file */
	size_t count;
	struct models_alias *aliases; /* in the order of the file: the first that fits counts */
	size_t alias_count;
};

/*
 * `text` as a file; `is_secret`: nobody else can read it, so it may hold keys. Every problem is
 * noted; with one the result is ERR_INVALID with the first, and *ret is unchanged.
 */
int models_parse(const char *text, size_t len, bool is_secret, struct models **ret,
		 struct ini_problems *problems, struct err *err);

/*
 * Reads the file. ERR_DENIED when others can write it. A file that is not there is an empty one
 * unless it `must_exist`.
 */
int models_load(const char *path, bool must_exist, struct models **ret,
		struct ini_problems *problems, struct err *err);

void models_free(struct models *models); /* NULL is fine; keys are overwritten */

/* $RECKON_MODELS (*ret_named), $XDG_CONFIG_HOME/reckon/models.ini or ~/.config/reckon/models.ini. */
int models_user_file(char *ret, size_t size, bool *ret_named, struct err *err);

/* The section of that name, or NULL. `name_len` bytes of `name` count. */
const struct models_entry *models_entry_find(const struct models *models,
					     enum models_section section, const char *name,
					     size_t name_len);

/*
 * What a client's name of a model means: `name` itself where the file has its provider, else the
 * model of the first alias that fits, else `name`.
 */
const char *models_alias_resolve(const struct models *models, const char *name);

/* ---- providers ---- */

struct models_builtin {
	const char *name;
	const char *base_url; /* NULL: a server of this host, which is started; "": of the account's */
	const char *url_env, *key_env; /* the latter NULL: it needs none */
	enum agent_protocol protocol;
	enum agent_calling calling;
	bool takes_images;
	enum agent_limit limit;
	enum agent_echo echo;
};

/* NULL past the end; NULL when there is none of that name. */
const struct models_builtin *models_builtin_at(size_t index);
const struct models_builtin *models_builtin_find(const char *name, size_t len);
size_t models_builtin_count(void);

/* A provider, from one of its sources or both. */
struct models_provider {
	const char *name;
	const struct models_builtin *builtin; /* or NULL */
	const struct models_entry *entry;     /* or NULL */
	enum agent_protocol protocol;
	bool is_local;
};

/* The index-th: those that are built in, then those of the file; false past the end. */
bool models_provider_at(const struct models *models, size_t index, struct models_provider *ret);
bool models_provider_find(const struct models *models, const char *name, size_t len,
			  struct models_provider *ret);

/* "chat", "responses", "messages", "gemini". */
const char *models_protocol_name(enum agent_protocol protocol);

/* ---- a choice ---- */

/* NULL: there is none of that name. */
typedef const char *models_env_fn(const char *name);

struct models_wish {
	const char *model;    /* PROVIDER/NAME or PROVIDER; NULL: by environment or file */
	const char *base_url; /* or NULL */
	models_env_fn *env;   /* NULL: the environment of this process */
};

struct models_choice {
	char provider[MODELS_NAME_MAX + 1];
	char model[MODELS_MODEL_MAX + 1];
	char base_url[MODELS_URL_MAX + 1]; /* "" for a local one */
	char *key;			   /* "": none. Never NULL after success */
	char key_from[128]; /* the variable, or what of the file; "": there is none */
	enum agent_protocol protocol;
	bool is_local;
	bool is_own;	/* the address is the provider's own service */
	bool has_price; /* after models_fill() */
	const struct models_entry *entry, *specific, *standard; /* or NULL: what the file says */
	const struct models_builtin *builtin;			/* or NULL */
};

/*
 * ERR_INVALID for what is not a provider or has no model, and for a key that is not there; the remedy
 * says what to set. `ret` is models_choice_done()'s afterwards, also when this fails.
 */
int models_choose(const struct models *models, const struct models_wish *wish,
		  struct models_choice *ret, struct err *err);

/* The same for a provider, whatever its model (which may be ""), without a key that is needed. */
int models_choose_provider(const struct models *models, const struct models_provider *provider,
			   const struct models_wish *wish, struct models_choice *ret,
			   struct err *err);

/*
 * ERR_INVALID when it needs a key and has none: the provider's own service has to know who asks, as
 * has one for which a variable was named; another server may be open to all.
 */
int models_key_check(const struct models_choice *choice, struct err *err);

void models_choice_done(struct models_choice *choice); /* overwrites the key */
#define cleanup_choice __attribute__((cleanup(models_choice_done)))

/* Every number is MODELS_UNSET: the caller puts in what it was told, models_fill() the rest. */
void models_settings_init(struct agent_settings *settings);

/*
 * From the file, then what is built in. ERR_INVALID for a limit of money without a price; `wish`
 * ("--budget needs --price") begins the message.
 */
int models_fill(struct models_choice *choice, struct agent_settings *settings, struct err *err);

/* ---- values ---- */

/* A decimal number in millionths, up to a million, at most six digits behind its point. */
bool models_amount_read(const char *text, const char **ret_end, uint64_t *ret);

/* http:// or https://, a host, no user, query, space or control character; `what` names it. */
int models_url_check(const char *url, const char *what, struct err *err);
