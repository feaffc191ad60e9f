/*
 * object.h - objects of OpenAI's API that are documents of the tenant, shown as they were written.
 *
 * A document's value is {"object": the object that is shown, …}; other members are internal. Its
 * metadata names the parent that it belongs to, for lists.
 */
#pragma once

#include "dialects/openai/openai.h"

#define OBJECT_MAX (1024u * 1024u)

struct object_kind {
	const char *collection;
	const char *prefix; /* of ids, with '_' */
	const char *name;   /* for people, and with ".deleted" for programs */
};

/* `id` if it can be a document's id; else "-", which is never found. */
const char *object_name(const char *id);
/* A new id. */
int object_id(const struct object_kind *kind, char ret[NAME_SIZE]);
/* Creates or replaces a document. `parent` NULL: none; `more`: members after a comma, or NULL.
 * Negative: refused. */
int object_put(struct request *request, const struct object_kind *kind, const char *id,
	       const char *parent, const struct buf *shown, const char *more);
/* The same without sending a refusal. */
int object_store(struct request *request, const struct object_kind *kind, const char *id,
		 const char *parent, const struct buf *shown, const char *more);
/* Merges JSON into the value; sends no refusal. */
int object_remember(struct request *request, const struct object_kind *kind, const char *id,
		    const char *patch);
/* Finds the whole value; free it with json_read_free(). */
int object_find(struct request *request, const struct object_kind *kind, const char *id,
		struct json_value **ret);
/* 1: it exists; 0: it does not; negative: the client is gone. */
int object_look(struct request *request, const struct object_kind *kind, const char *id,
		struct json_value **ret);
/* Answers with the object in a value. */
void object_answer(struct request *request, const struct json_value *value);
void object_show(struct request *request, const struct object_kind *kind, const char *id);
void object_answer_deleted(struct request *request, const struct object_kind *kind, const char *id);
void object_delete(struct request *request, const struct object_kind *kind, const char *id);
/* Deletes everything that belongs to `parent`. */
int object_clear(struct request *request, const struct object_kind *kind, const char *parent);

/* Answers with a page, according to the query. `write` NULL: objects are shown unchanged. */
typedef void object_write_fn(struct json_writer *json, const struct json_value *object,
			     const void *arg);
void object_list(struct request *request, const struct object_kind *kind, const char *parent,
		 object_write_fn *write, const void *arg);
/* Calls `fn` for each of the newest `max`, oldest first; `fn` owns the value. Negative: refused. */
typedef void object_each_fn(struct json_value *value, void *arg);
int object_each(struct request *request, const struct object_kind *kind, const char *parent,
		size_t max, object_each_fn *fn, void *arg);

/* Writes a member with an unchanged value; NULL or too large: null. */
void object_write_member(struct json_writer *json, const char *key, const struct json_value *value);
void object_write_value(struct json_writer *json, const struct json_value *value);
/* A member from the body, else from `was`, else `otherwise` (JSON). */
struct object_member {
	const char *key, *otherwise;
};
void object_write_members(struct json_writer *json, const struct json_value *body,
			  const struct json_value *was, const struct object_member *members,
			  size_t count);
/* Writes an object: id, kind, creation time and these members. `was` NULL: it is new. */
int object_write(const struct object_kind *kind, const char *id, const struct json_value *body,
		 const struct json_value *was, const struct object_member *members, size_t count,
		 struct buf *ret, struct err *err);
/* Reads the body: an object, or empty, which counts as {}. Free it with json_read_free(). */
int object_body(struct request *request, struct json_value **ret);
