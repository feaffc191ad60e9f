/*
 * sessions.c - which notebook has which kernel, stored in documents of the tenant.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    bodies of any client; documents, which any client of the tenant can write.
 * Never:    shows a notebook whose kernel has ended.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_get.h"
#include "dialects/jupyter/server.h"

#define COLLECTION "jupyter"
#define PAGE 100u
#define LISTED_CHARS 512u /* limit of a value of metadata; used for bytes, which are never fewer */
#define VALUE_MAX 65536u

/* The content of a document. */
struct notebook {
	char id[ID_SIZE]; /* of the document */
	char path[CONTENTS_PATH_SIZE];
	char name[512], type[32];
	char kernel[UUID_SIZE];
};

/* ---- documents ------------------------------------------------------------------------------ */

static bool take_document(const struct api_document *document, struct notebook *ret)
{
	cleanup_json struct json_value *value = NULL;
	struct err err;

	*ret = (struct notebook){ 0 };
	if (json_read_parse(document->value.data, document->value.len, FRAME_MAX, &value, &err) < 0)
		return false;
	(void)snprintf(ret->id, sizeof(ret->id), "%s", document->id);
	(void)snprintf(ret->path, sizeof(ret->path), "%s", json_get_str(value, "path"));
	(void)snprintf(ret->name, sizeof(ret->name), "%s", json_get_str(value, "name"));
	(void)snprintf(ret->type, sizeof(ret->type), "%s", json_get_str(value, "type"));
	(void)snprintf(ret->kernel, sizeof(ret->kernel), "%s", json_get_str(value, "kernel"));
	return ret->kernel[0] != '\0';
}

static int write_value(const struct notebook *notebook, struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "path", notebook->path);
	json_write_member_string(&json, "name", notebook->name);
	json_write_member_string(&json, "type", notebook->type);
	json_write_member_string(&json, "kernel", notebook->kernel);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

/* Writes the metadata by which lists find the path, cut to the limit of 512 characters. */
static int write_listed(const char *path, struct buf *ret, struct err *err)
{
	const size_t len = strlen(path);
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_text(&json, "path", path, len < LISTED_CHARS ? len : LISTED_CHARS);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

/* Creates the document, or replaces it if it has an id. Negative: answered with an error, or the
 * client is gone. */
static int keep(struct request *request, struct notebook *notebook)
{
	cleanup_buf struct buf value = BUF_INIT(VALUE_MAX), listed = BUF_INIT(VALUE_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_document made;
	struct err err;

	if (write_value(notebook, &value, &err) < 0 ||
	    write_listed(notebook->path, &listed, &err) < 0) {
		answer_refuse_simple(request, 400, "invalid", "path or name are too long", NULL);
		return -1;
	}
	if (notebook->id[0] != '\0')
		return call_or_refuse(request, API_DOCUMENT_PUT,
				      &(struct api_document_put_in){
					      .collection = COLLECTION,
					      .id = notebook->id,
					      .value = { value.data, value.len },
					      .metadata = { listed.data, listed.len } },
				      NULL, &call);
	if (call_or_refuse(request, API_DOCUMENT_CREATE,
			   &(struct api_document_create_in){
				   .collection = COLLECTION,
				   .value = { value.data, value.len },
				   .metadata = { listed.data, listed.len } },
			   &made, &call) < 0)
		return -1;
	(void)snprintf(notebook->id, sizeof(notebook->id), "%s", made.id);
	return 0;
}

/* ---- notebooks with their kernels ----------------------------------------------------------- */

static void write_session(struct json_writer *json, const struct notebook *notebook,
			  const struct kernel_ref *kernel)
{
	char uuid[UUID_SIZE];

	if (!server_uuid_of(notebook->id, uuid))
		uuid[0] = '\0';
	json_write_object_begin(json);
	json_write_member_string(json, "id", uuid);
	json_write_member_string(json, "path", notebook->path);
	json_write_member_string(json, "name", notebook->name);
	json_write_member_string(json, "type", notebook->type);
	json_write_key(json, "kernel");
	kernels_write(json, kernel);
	json_write_key(json, "notebook");
	json_write_object_begin(json);
	json_write_member_string(json, "path", notebook->path);
	json_write_member_string(json, "name", notebook->name);
	json_write_object_end(json);
	json_write_object_end(json);
}

static void answer_session(struct request *request, unsigned status,
			   const struct notebook *notebook, const struct kernel_ref *kernel)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	char headers[128] = "", uuid[UUID_SIZE];
	struct json_writer json;

	if (status == 201 && server_uuid_of(notebook->id, uuid))
		(void)snprintf(headers, sizeof(headers), "Location: /jupyter/api/sessions/%s\r\n",
			       uuid);
	json_write_init(&json, &body);
	write_session(&json, notebook, kernel);
	server_answer(request, status, &json, &body, headers);
}

/* All kernels. */
struct all {
	struct kernel_ref *kernels;
	size_t count, space;
};

static void all_done(struct all *all)
{
	free(all->kernels);
}

static bool add(const struct kernel_ref *kernel, void *arg)
{
	struct all *all = arg;

	if (all->count == all->space) {
		all->space = all->space > 0 ? 2 * all->space : 16;
		all->kernels = mem_grow(all->kernels, all->space, sizeof(*all->kernels));
	}
	all->kernels[all->count++] = *kernel;
	return true;
}

static const struct kernel_ref *kernel_of(const struct all *all, const char *uuid)
{
	char session[ID_SIZE], context[ID_SIZE];

	if (!server_session_of(uuid, session) || !server_context_of(uuid, context))
		return NULL;
	for (size_t i = 0; i < all->count; i++) {
		const struct kernel_ref *kernel = &all->kernels[i];

		if (kernel->context[0] != '\0' ? strcmp(kernel->context, context) == 0
					       : strcmp(kernel->session, session) == 0)
			return kernel;
	}
	return NULL;
}

/* ---- lists ---------------------------------------------------------------------------------- */

typedef bool each_fn(const struct notebook *notebook, const struct kernel_ref *kernel, void *arg);

/*
 * Calls `fn` for each notebook that has a kernel, until it returns false; deletes documents whose
 * kernel is gone. It reads documents before kernels, because a kernel exists before its document.
 * `listed`: only documents with this metadata; NULL: all.
 */
static int each(struct request *request, const char *listed, each_fn *fn, void *arg)
{
	cleanup_call struct call call = CALL_INIT;
	__attribute__((cleanup(all_done))) struct all all = { 0 };
	char before[64] = "";
	struct notebook notebook;
	bool goes_on = true;

	do {
		const struct api_document *documents;
		struct api_documents page;

		if (call_or_refuse(request, API_DOCUMENT_LIST,
				   &(struct api_document_list_in){
					   .collection = COLLECTION,
					   .metadata = listed,
					   .has_limit = true,
					   .limit = PAGE,
					   .before = before[0] != '\0' ? before : NULL },
				   &page, &call) < 0)
			return -1;
		all.count = 0;
		if (kernels_each(request, add, &all) < 0)
			return -1;
		documents = page.documents.items;
		for (size_t i = 0; goes_on && i < page.documents.count; i++) {
			const struct kernel_ref *kernel = NULL;

			if (take_document(&documents[i], &notebook))
				kernel = kernel_of(&all, notebook.kernel);
			if (kernel == NULL &&
			    call_delete_document(request, COLLECTION, documents[i].id) < 0)
				return -1;
			if (kernel != NULL)
				goes_on = fn(&notebook, kernel, arg);
		}
		(void)snprintf(before, sizeof(before), "%s", page.next != NULL ? page.next : "");
	} while (goes_on && before[0] != '\0');
	return 0;
}

static bool write_one(const struct notebook *notebook, const struct kernel_ref *kernel, void *arg)
{
	write_session(arg, notebook, kernel);
	return true;
}

static void list(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	struct json_writer json;

	if (server_take_nothing(request) < 0)
		return;
	json_write_init(&json, &body);
	json_write_array_begin(&json);
	if (each(request, NULL, write_one, &json) < 0)
		return;
	json_write_array_end(&json);
	server_answer(request, 200, &json, &body, NULL);
}

/* ---- a new one ------------------------------------------------------------------------------ */

struct search {
	const char *path;
	struct notebook notebook;
	struct kernel_ref kernel;
	bool is_found;
};

static bool look_for(const struct notebook *notebook, const struct kernel_ref *kernel, void *arg)
{
	struct search *search = arg;

	if (strcmp(notebook->path, search->path) != 0)
		return true;
	search->notebook = *notebook;
	search->kernel = *kernel;
	search->is_found = true;
	return false;
}

static int search_path(struct request *request, struct search *search)
{
	cleanup_buf struct buf listed = BUF_INIT(VALUE_MAX);
	struct err err;

	if (write_listed(search->path, &listed, &err) < 0) {
		answer_refuse_simple(request, 400, "invalid", "the path is too long", NULL);
		return -1;
	}
	return each(request, buf_text(&listed), look_for, search);
}

/* Finds the kernel with the given id, or starts one. Negative: as above. */
static int take_kernel(struct request *request, const struct json_value *wanted, const char *path,
		       struct kernel_ref *ret)
{
	const char *id = json_get_str(wanted, "id");

	return id[0] != '\0' ? kernels_find(request, id, ret)
			     : kernels_make(request, json_get_str(wanted, "name"), path, ret);
}

static void set_kernel(struct notebook *notebook, const struct kernel_ref *kernel)
{
	if (!server_uuid_of(kernel->context[0] != '\0' ? kernel->context : kernel->session,
			    notebook->kernel))
		notebook->kernel[0] = '\0';
}

static void set_texts(struct notebook *notebook, const struct json_value *body)
{
	const struct {
		const char *key;
		char *to;
		size_t size;
	} texts[] = { { "path", notebook->path, sizeof(notebook->path) },
		      { "name", notebook->name, sizeof(notebook->name) },
		      { "type", notebook->type, sizeof(notebook->type) } };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (json_read_text(json_read_member(body, texts[i].key), NULL) != NULL)
			(void)snprintf(texts[i].to, texts[i].size, "%s",
				       json_get_str(body, texts[i].key));
}

static void start(struct request *request)
{
	cleanup_json struct json_value *body = NULL;
	struct notebook notebook = { .type = "notebook" };
	struct search search = { .path = notebook.path };
	struct kernel_ref kernel;

	if (server_take_object(request, SERVER_BODY_MAX, &body) < 0)
		return;
	set_texts(&notebook, body);
	if (notebook.path[0] == '\0') {
		answer_refuse_simple(request, 400, "invalid", "Missing field in JSON data: path",
				     NULL);
		return;
	}
	if (search_path(request, &search) < 0)
		return;
	if (search.is_found) {
		answer_session(request, 201, &search.notebook, &search.kernel);
		return;
	}
	if (take_kernel(request, json_read_member(body, "kernel"), notebook.path, &kernel) < 0)
		return;
	set_kernel(&notebook, &kernel);
	if (keep(request, &notebook) == 0)
		answer_session(request, 201, &notebook, &kernel);
}

/* ---- one ------------------------------------------------------------------------------------ */

static int find(struct request *request, const char *uuid, struct notebook *ret)
{
	cleanup_call struct call call = CALL_INIT;
	enum call_status status = CALL_OK;
	struct api_document document;
	char id[ID_SIZE], message[96];

	if (server_document_of(uuid, id)) {
		status = call_make(request, API_DOCUMENT_GET,
				   &(struct api_document_get_in){ .collection = COLLECTION,
								  .id = id },
				   &document, &call);
		if (status == CALL_OK && take_document(&document, ret))
			return 0;
	}
	if (status == CALL_FAILED && call.failure->error != API_ERR_NOT_FOUND) {
		call_refuse(request, call.failure);
	} else if (status != CALL_GONE) {
		(void)snprintf(message, sizeof(message), "Session not found: %.40s", uuid);
		answer_refuse_simple(request, 404, "not_found", message, NULL);
	}
	return -1;
}

static void show(struct request *request, const char *uuid)
{
	struct notebook notebook;
	struct kernel_ref kernel;

	if (server_take_nothing(request) == 0 && find(request, uuid, &notebook) == 0 &&
	    kernels_find(request, notebook.kernel, &kernel) == 0)
		answer_session(request, 200, &notebook, &kernel);
}

/* Changes path, name or kernel; a kernel that is replaced ends. */
static void change(struct request *request, const char *uuid)
{
	cleanup_json struct json_value *body = NULL;
	cleanup_call struct call call = CALL_INIT;
	const struct json_value *wanted;
	struct kernel_ref kernel, before;
	struct notebook notebook;

	if (server_take_object(request, SERVER_BODY_MAX, &body) < 0 ||
	    find(request, uuid, &notebook) < 0 ||
	    kernels_find(request, notebook.kernel, &before) < 0)
		return;
	set_texts(&notebook, body);
	wanted = json_read_member(body, "kernel");
	kernel = before;
	if (wanted != NULL && json_read_kind(wanted) == JSON_KIND_OBJECT &&
	    strcmp(json_get_str(wanted, "id"), notebook.kernel) != 0) {
		if (take_kernel(request, wanted, notebook.path, &kernel) < 0)
			return;
		set_kernel(&notebook, &kernel);
	}
	if (keep(request, &notebook) < 0)
		return;
	if ((strcmp(kernel.session, before.session) != 0 ||
	     strcmp(kernel.context, before.context) != 0) &&
	    kernels_make_end(request, &before, &call) == CALL_GONE)
		return;
	answer_session(request, 200, &notebook, &kernel);
}

static void end(struct request *request, const char *uuid)
{
	cleanup_call struct call call = CALL_INIT;
	struct notebook notebook;
	struct kernel_ref kernel;

	if (server_take_nothing(request) == 0 && find(request, uuid, &notebook) == 0 &&
	    kernels_find(request, notebook.kernel, &kernel) == 0 &&
	    kernels_make_end(request, &kernel, &call) != CALL_GONE &&
	    call_delete_document(request, COLLECTION, notebook.id) == 0)
		server_answer_nothing(request);
}

void sessions_route(struct request *request, const char *rest)
{
	const enum http_verb verb = request_head(request)->verb;
	const char *uuid = rest[0] == '/' ? rest + 1 : "";

	request_note(request,
		     uuid[0] != '\0' ? "/jupyter/api/sessions/{id}" : "/jupyter/api/sessions", NULL,
		     NULL);
	if (uuid[0] == '\0' && verb == HTTP_VERB_GET)
		list(request);
	else if (uuid[0] == '\0' && verb == HTTP_VERB_POST)
		start(request);
	else if (uuid[0] != '\0' && verb == HTTP_VERB_GET)
		show(request, uuid);
	else if (uuid[0] != '\0' && verb == HTTP_VERB_PATCH)
		change(request, uuid);
	else if (uuid[0] != '\0' && verb == HTTP_VERB_DELETE)
		end(request, uuid);
	else
		answer_refuse_simple(request, 404, "not_found", "there is nothing here", NULL);
}
