/*
 * dead_links.c - links of an answer to files that are not there.
 *
 * Runs in:  reckon ask.
 * Reads:    an answer that a model wrote; names of files of the session.
 * Never:    opens anything but files of the session.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "cli/ask/ask.h"

#define LINKS_MAX 50u
#define NAME_BYTES_MAX 4096u

/* Where a link ends: in Markdown at ")", in prose at a blank, at the marks around it. */
static size_t link_length(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len && strchr(" \t\r\n)]>\"'`|", text[at]) == NULL)
		at++;
	/* "…/a.csv." is the end of a sentence. */
	while (at > 0 && strchr(".,;:!?*", text[at - 1]) != NULL)
		at--;
	return at;
}

static bool is_missing(struct ask *ask, const char *name)
{
	cleanup_fd int fd = -1;
	struct err err;

	return fs_path_is_safe(name) && ask->place->open_file(ask, name, &fd, &err) < 0 &&
	       err.code == ERR_NOT_FOUND;
}

void ask_tell_dead_links(struct ask *ask)
{
	const char *text = buf_text(&ask->driver.answer);
	const char *end = text + ask->driver.answer.len, *at = text;

	for (unsigned i = 0; i < LINKS_MAX && (at = strstr(at, ASK_LINK)) != NULL; i++) {
		cleanup_buf struct buf name = BUF_INIT(NAME_BYTES_MAX);
		struct err full; /* what is too long is not a name */
		size_t len;

		at += sizeof(ASK_LINK) - 1;
		len = link_length(at, (size_t)(end - at));
		if (len > 0 && ask_unescape(at, len, &name, &full) == 0 &&
		    is_missing(ask, buf_text(&name)))
			run_output_line("reckon: the answer links to %s, and there is no such file",
					buf_text(&name));
		at += len;
	}
}
