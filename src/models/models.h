/*
 * models.h - chooses a model, from the built-in providers and those of a file.
 *
 *   builtin.c  the built-in providers
 *   file.c    an INI text -> struct models, and its problems by line
 *   row.c     the file's keys and their values
 *   choose.c  a query, the environment and struct models -> address, key and settings
 *
 * Each value comes from the first of these that has it: the caller (a flag, a request), the
 * environment, [model PROVIDER/NAME], [provider NAME], [default], the built-in default.
 * docs/agent.md explains this to users.
 *
 * No message contains a key, and no struct holds one after models_choice_done().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/ini_text.h"
#include "wire/agent.h"

#define MODELS_FILE_SYSTEM "/etc/reckon/models.ini" /* for a daemon of root */
#define MODELS_FILE_ENV "RECKON_MODELS"
#define MODELS_FILE_MAX (256u * 1024u)
#define MODELS_ENTRIES_MAX 1000u
#define MODELS_ALIASES_MAX 200u
#define MODELS_NAME_MAX 62u  /* of a provider's name */
#define MODELS_MODEL_MAX 255u
#define MODELS_URL_MAX 1000u
#define MODELS_KEY_MAX 8000u /* what fits into a header */

#define MODELS_UNSET UINT64_MAX /* a number that is not set */

/* ---- a parsed file ---- */

enum models_section { MODELS_DEFAULT, MODELS_PROVIDER, MODELS_MODEL, MODELS_ALIASES };

/* One section. Values that it does not set are NULL or MODELS_UNSET. */
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
	uint64_t price_in, price_cached, price_out; /* millionths, per million tokens */
	uint64_t steps_max, tokens_max, budget_micro, wall_ms; /* only in [default] */
};

/* A row of [aliases]: a client's name for a model, with * and ? as in the shell, and the real
 * model. */
struct models_alias {
	unsigned line;
	char *pattern, *model; /* `model` as models_query.model */
};

struct models {
	struct models_entry **entries; /* in file order */
	size_t count;
	struct models_alias *aliases; /* in file order: the first match counts */
	size_t alias_count;
};

/*
 * Parses `text` as a file; `is_secret`: no other user can read it, so it may hold keys. Records
 * every problem; if there is any, returns ERR_INVALID with the first one and leaves *ret unchanged.
 */
int models_parse(const char *text, size_t len, bool is_secret, struct models **ret,
		 struct ini_problems *problems, struct err *err);

/*
 * Reads the file. ERR_DENIED if other users can write it. A missing file counts as empty unless it
 * `must_exist`.
 */
int models_load(const char *path, bool must_exist, struct models **ret,
		struct ini_problems *problems, struct err *err);

void models_free(struct models *models); /* NULL is fine; keys are overwritten */

/* $RECKON_MODELS (*ret_named), $XDG_CONFIG_HOME/reckon/models.ini or ~/.config/reckon/models.ini. */
int models_user_file(char *ret, size_t size, bool *ret_named, struct err *err);

/* The section with that name, or NULL. Uses `name_len` bytes of `name`. */
const struct models_entry *models_entry_find(const struct models *models,
					     enum models_section section, const char *name,
					     size_t name_len);

/*
 * Resolves a client's name for a model: `name` itself if the file has a section for it or its
 * provider, else the model of the first matching alias, else `name`.
 */
const char *models_alias_resolve(const struct models *models, const char *name);

/* ---- providers ---- */

struct models_builtin {
	const char *name;
	const char *base_url; /* NULL: Reckon starts the server here; "": account-specific */
	const char *url_env, *key_env; /* key_env NULL: the provider needs no key */
	enum agent_protocol protocol;
	enum agent_calling calling;
	bool takes_images;
	enum agent_limit limit;
	enum agent_echo echo;
};

/* NULL past the end, or if no provider has the name. */
const struct models_builtin *models_builtin_at(size_t index);
const struct models_builtin *models_builtin_find(const char *name, size_t len);
size_t models_builtin_count(void);

/* A provider: built in, from the file, or both. */
struct models_provider {
	const char *name;
	const struct models_builtin *builtin; /* or NULL */
	const struct models_entry *entry;     /* or NULL */
	enum agent_protocol protocol;
	bool is_local;
};

/* By index: first the built-in ones, then those of the file; false past the end. */
bool models_provider_at(const struct models *models, size_t index, struct models_provider *ret);
bool models_provider_find(const struct models *models, const char *name, size_t len,
			  struct models_provider *ret);

/* "chat", "responses", "messages", "gemini". */
const char *models_protocol_name(enum agent_protocol protocol);

/* ---- a choice ---- */

/* The variable's value, or NULL. */
typedef const char *models_env_fn(const char *name);

struct models_query {
	const char *model;    /* PROVIDER/NAME or PROVIDER; NULL: from environment or file */
	const char *base_url; /* or NULL */
	models_env_fn *env;   /* NULL: the environment of this process */
};

struct models_choice {
	char provider[MODELS_NAME_MAX + 1];
	char model[MODELS_MODEL_MAX + 1];
	char base_url[MODELS_URL_MAX + 1]; /* "" for a local server */
	char *key;			   /* "": none. Not NULL after success */
	char key_from[128]; /* the variable's name, or the file's setting; "": no key */
	enum agent_protocol protocol;
	bool is_local;
	bool is_own;	/* the address is the provider's own service */
	bool has_price; /* after models_fill() */
	const struct models_entry *entry, *specific, *standard; /* or NULL: what the file says */
	const struct models_builtin *builtin;			/* or NULL */
};

/*
 * ERR_INVALID if the name is not a provider, or lacks a model, or a required key is missing; the
 * remedy says what to set. Call models_choice_done() on `ret` afterwards, even after a failure.
 */
int models_choose(const struct models *models, const struct models_query *query,
		  struct models_choice *ret, struct err *err);

/* The same for a provider and any model of it (may be ""), even if a required key is missing. */
int models_choose_provider(const struct models *models, const struct models_provider *provider,
			   const struct models_query *query, struct models_choice *ret,
			   struct err *err);

/*
 * ERR_INVALID if the address or a required key is missing: the provider's own service requires one,
 * and so does a server whose configuration names a variable for it; other servers may be open to
 * all.
 */
int models_key_check(const struct models_choice *choice, struct err *err);

void models_choice_done(struct models_choice *choice); /* overwrites the key */
#define cleanup_choice __attribute__((cleanup(models_choice_done)))

/* Sets every number to MODELS_UNSET: the caller sets its own values, models_fill() the rest. */
void models_settings_init(struct agent_settings *settings);

/*
 * Fills in values from the file, then defaults. ERR_INVALID for a budget without a price; the
 * message begins with the option ("--budget needs --price").
 */
int models_fill(struct models_choice *choice, struct agent_settings *settings, struct err *err);

/* ---- values ---- */

/* A decimal number in millionths, up to a million, with at most six decimals. */
bool models_amount_read(const char *text, const char **ret_end, uint64_t *ret);

/* http:// or https://, a host, no user, query, space or control character; `what` is for the
 * message. */
int models_url_check(const char *url, const char *what, struct err *err);
