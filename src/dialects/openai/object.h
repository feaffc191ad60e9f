/*
 * object.h - things of OpenAI's API that are documents of the tenant: shown as they were written.
 *
 * A document's value is {"object": what is shown, …}: further members are remembered beside. Its
 * metadata names what it belongs to, by which it is listed.
 */
#pragma once

#include "dialects/openai/openai.h"

#define OBJECT_MAX (1024u * 1024u)

struct object_kind {
	const char *collection;
	const char *prefix; /* of its ids, with '_' */
	const char *name;   /* for people, and with ".deleted" for programs */
};

/* What the id of a document can be; anything else becomes "-", which nothing is called. */
const char *object_name(const char *id);
/* A new id. */
int object_id(const struct object_kind *kind, char ret[NAME_SIZE]);
/* `parent` NULL: it belongs to nothing; `more`: members behind a comma, or NULL. Negative: refused. */
int object_put(struct request *request, const struct object_kind *kind, const char *id,
	       const char *parent, const struct buf *shown, const char *more);
/* The same without a refusal. */
int object_store(struct request *request, const struct object_kind *kind, const char *id,
		 const char *parent, const struct buf *shown, const char *more);
/* Merges JSON into the value; without a refusal. */
int object_remember(struct request *request, const struct object_kind *kind, const char *id,
		    const char *patch);
/* The whole value; json_read_free() it. */
int object_find(struct request *request, const struct object_kind *kind, const char *id,
		struct json_value **ret);
/* 1: it is there; 0: it is not; negative: nobody is left. */
int object_look(struct request *request, const struct object_kind *kind, const char *id,
		struct json_value **ret);
/* Shows what a value says of itself. */
void object_answer(struct request *request, const struct json_value *value);
void object_show(struct request *request, const struct object_kind *kind, const char *id);
void object_answer_deleted(struct request *request, const struct object_kind *kind, const char *id);
void object_delete(struct request *request, const struct object_kind *kind, const char *id);
/* All that belong to `parent`, however many. */
int object_clear(struct request *request, const struct object_kind *kind, const char *parent);

/* A page, as the query of the request wants it. `write` NULL: each as it is. */
typedef void object_write_fn(struct json_writer *json, const struct json_value *object,
			     const void *arg);
void object_list(struct request *request, const struct object_kind *kind, const char *parent,
		 object_write_fn *write, const void *arg);
/* Each, the oldest first; `fn` takes what it is given. At most `max`; negative: refused. */
typedef void object_each_fn(struct json_value *value, void *arg);
int object_each(struct request *request, const struct object_kind *kind, const char *parent,
		size_t max, object_each_fn *fn, void *arg);

/* A member whose value is as it is; NULL or too large: null. */
void object_write_member(struct json_writer *json, const char *key, const struct json_value *value);
void object_write_value(struct json_writer *json, const struct json_value *value);
/* The body's member, else that of `was`, else `otherwise` (JSON). */
struct object_member {
	const char *key, *otherwise;
};
void object_write_members(struct json_writer *json, const struct json_value *body,
			  const struct json_value *was, const struct object_member *members,
			  size_t count);
/* All that is shown of one: id, kind, when it was made, and these members. `was` NULL: it is new. */
int object_write(const struct object_kind *kind, const char *id, const struct json_value *body,
		 const struct json_value *was, const struct object_member *members, size_t count,
		 struct buf *ret, struct err *err);
/* Its body is an object, or there is none: an empty one. json_read_free() it. */
int object_body(struct request *request, struct json_value **ret);
