/*
 * contents_route.c - maps methods and paths of the contents to handlers.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    paths of any client.
 * Never:    reads a file.
 */
#include <string.h>

#include "dialects/jupyter/server.h"

/* Cuts the path at its last "/checkpoints". Returns the part after it, or NULL. */
static const char *cut_checkpoints(char *path)
{
	static const char word[] = "/checkpoints";
	char *last = NULL;

	for (char *at = strstr(path, word); at != NULL; at = strstr(at + 1, word))
		if (at[sizeof(word) - 1] == '\0' || at[sizeof(word) - 1] == '/')
			last = at;
	if (last == NULL || last == path)
		return NULL;
	*last = '\0';
	return last + sizeof(word) - 1;
}

void contents_route(struct request *request, const char *rest)
{
	const enum http_verb verb = request_head(request)->verb;
	char path[CONTENTS_PATH_SIZE];
	const char *of_checkpoints;
	size_t len;

	rest += strspn(rest, "/");
	if (!http_decode(rest, strlen(rest), path, sizeof(path))) {
		answer_refuse_simple(request, 400, "invalid", "the path is malformed", NULL);
		return;
	}
	len = strlen(path);
	while (len > 0 && path[len - 1] == '/')
		path[--len] = '\0';
	of_checkpoints = cut_checkpoints(path);
	request_note(request,
		     of_checkpoints != NULL ? "/jupyter/api/contents/{path}/checkpoints"
					    : "/jupyter/api/contents/{path}",
		     NULL, NULL);
	if (of_checkpoints != NULL)
		checkpoints_route(request, path, of_checkpoints);
	else if (verb == HTTP_VERB_GET)
		contents_show(request, path);
	else if (verb == HTTP_VERB_POST)
		change_make(request, path);
	else if (verb == HTTP_VERB_PUT && path[0] != '\0')
		change_write(request, path);
	else if (verb == HTTP_VERB_PATCH && path[0] != '\0')
		change_move(request, path);
	else if (verb == HTTP_VERB_DELETE && path[0] != '\0')
		change_remove(request, path);
	else
		answer_refuse_simple(request, 404, "not_found", "there is nothing here", NULL);
}
