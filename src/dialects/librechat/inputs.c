/*
 * inputs.c - finds the files of a request and puts them into the run's box.
 *
 * Runs in:  reckon-front-librechat.
 * Reads:    ids and names of any client.
 * Never:    uses a file that does not belong to the key's tenant.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_get.h"
#include "dialects/librechat/librechat.h"

/* If names repeat, the last one counts. */
static struct librechat_input *slot_of(struct librechat_exec *exec, const char *name)
{
	for (size_t i = 0; i < exec->count; i++)
		if (strcmp(exec->inputs[i].file.name, name) == 0)
			return &exec->inputs[i];
	return &exec->inputs[exec->count++];
}

static int find_input(struct request *request, const struct json_value *given,
		      struct librechat_exec *exec)
{
	const char *session = json_get_str(given, "storage_session_id");
	const char *name = json_get_str(given, "name");
	struct librechat_file file;
	int found;

	if (session[0] == '\0')
		session = json_get_str(given, "session_id");
	found = librechat_may_use(request, session, &exec->who,
				  librechat_is_shared(json_get_str(given, "kind"))
					  ? json_get_str(given, "resource_id")
					  : NULL);
	if (found > 0)
		found = librechat_find(request, session, json_get_str(given, "id"), &file);
	if (found <= 0)
		return found < 0 ? -1 : librechat_refuse_file(request);
	/* Other dialects put files there under any name. */
	if (strncmp(name, "/mnt/data/", 10) == 0)
		name += 10;
	if (name[0] != '\0')
		(void)snprintf(file.name, sizeof(file.name), "%s", name);
	*slot_of(exec, file.name) = (struct librechat_input){ .file = file };
	return 0;
}

int librechat_find_inputs(struct request *request, const struct json_value *body,
			  struct librechat_exec *exec)
{
	const struct json_value *files = json_read_member(body, "files");
	const size_t count = json_read_kind(files) == JSON_KIND_ARRAY ? json_read_count(files) : 0;

	if (count > LIBRECHAT_FILES_MAX) {
		answer_refuse_simple(request, 400, "too_many_files",
				     "files has at most 200 entries", NULL);
		return -1;
	}
	if (librechat_who(request, body, &exec->who) < 0)
		return -1;
	exec->inputs = mem_new0(count + 1, sizeof(*exec->inputs));
	for (size_t i = 0; i < count; i++)
		if (find_input(request, json_read_at(files, i), exec) < 0)
			return -1;
	return 0;
}

int librechat_put_inputs(struct request *request, struct librechat_exec *exec)
{
	for (size_t i = 0; i < exec->count; i++) {
		const struct librechat_file *file = &exec->inputs[i].file;
		cleanup_fd int fd = -1;
		uint64_t size;
		const int found = librechat_open(request, file, &fd, &size);

		if (found <= 0)
			return found < 0 ? -1 : librechat_refuse_file(request);
		if (program_put_file(&exec->code.program, file->name, fd, size) < 0)
			return -1;
		(void)snprintf(exec->inputs[i].artifact, sizeof(exec->inputs[i].artifact), "%s",
			       exec->code.program.artifact);
	}
	return 0;
}
