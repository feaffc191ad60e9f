/*
 * link.c - replaces sandbox:/mnt/data/… in answers by the path where the file was saved.
 *
 * Runs in:  reckon ask.
 * Reads:    text of a model, cut at any byte.
 * Never:    checks whether the file exists.
 */
#include <string.h>

#include "cli/journal/form.h"

static int put(struct ask_link *link, struct buf *ret, struct err *err)
{
	const size_t folder = strlen(link->folder);

	if (buf_add(ret, link->folder, folder, err) < 0)
		return (int)err->code;
	return folder > 0 && link->folder[folder - 1] != '/' ? buf_addc(ret, '/', err) : 0;
}

int ask_link_add(struct ask_link *link, const char *text, size_t len, struct buf *ret,
		 struct err *err)
{
	const size_t whole = sizeof(ASK_LINK) - 1;

	if (link->folder == NULL)
		return buf_add(ret, text, len, err);
	for (size_t i = 0; i < len; i++) {
		/* After a mismatch, only a new "s" can begin ASK_LINK, which has no other "s". */
		if (text[i] != ASK_LINK[link->matched] && link->matched > 0) {
			if (buf_add(ret, ASK_LINK, link->matched, err) < 0)
				return (int)err->code;
			link->matched = 0;
		}
		if (text[i] == ASK_LINK[link->matched])
			link->matched++;
		else if (buf_addc(ret, text[i], err) < 0)
			return (int)err->code;
		if (link->matched < whole)
			continue;
		link->matched = 0;
		if (put(link, ret, err) < 0)
			return (int)err->code;
	}
	return 0;
}

int ask_link_end(struct ask_link *link, struct buf *ret, struct err *err)
{
	const size_t matched = link->matched;

	link->matched = 0;
	return buf_add(ret, ASK_LINK, matched, err);
}
