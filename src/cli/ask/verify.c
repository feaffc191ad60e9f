/*
 * verify.c - reports numbers in an answer that no output supports, and links to missing files.
 *
 * Runs in:  reckon ask.
 * Reads:    an answer of a model; names of files in the session.
 * Never:    opens anything but files of the session.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "agent_client/outcome.h"
#include "cli/ask/ask.h"

#define LINKS_MAX 50u
#define NAME_BYTES_MAX 4096u
#define NUMBERS_MAX 10u /* numbers that are printed */

char ask_file_is_there(struct ask *ask, const char *name)
{
	cleanup_fd int fd = -1;
	struct err err;

	if (!fs_path_is_safe(name))
		return AGENT_FILE_UNKNOWN;
	if (ask->view.session->ops->open_file(ask->view.session, name, &fd, &err) == 0)
		return AGENT_FILE_THERE;
	return err.code == ERR_NOT_FOUND ? AGENT_FILE_MISSING : AGENT_FILE_UNKNOWN;
}

static void tell_link(const char *name)
{
	run_output_line("reckon: the answer links to %s, and there is no such file", name);
}

static void tell_dead_links(struct ask *ask)
{
	const char *text = buf_text(&ask->driver.answer);
	const char *end = text + ask->driver.answer.len, *at = text;

	for (unsigned i = 0; i < LINKS_MAX && (at = strstr(at, ASK_LINK)) != NULL; i++) {
		cleanup_buf struct buf name = BUF_INIT(NAME_BYTES_MAX);
		struct err full; /* a longer text is not a name */
		size_t len;

		at += sizeof(ASK_LINK) - 1;
		len = agent_link_length(at, (size_t)(end - at));
		if (len > 0 && ask_unescape(at, len, &name, &full) == 0 &&
		    ask_file_is_there(ask, buf_text(&name)) == AGENT_FILE_MISSING)
			tell_link(buf_text(&name));
		at += len;
	}
}

/* ---- claims ---- */

static void tell_claimed_links(const struct outcome_checked *checked)
{
	for (size_t i = 0; i < checked->count; i++) {
		cleanup_buf struct buf name = BUF_INIT(NAME_BYTES_MAX);
		struct err full;

		if (checked->claims[i].is_link &&
		    ask_unescape(checked->claims[i].text, checked->claims[i].len, &name, &full) == 0)
			tell_link(buf_text(&name));
	}
}

/* Lists them in one line. */
static int list_numbers(const struct outcome_checked *checked, struct buf *ret, struct err *err)
{
	size_t listed = 0;

	for (size_t i = 0; i < checked->count && listed < NUMBERS_MAX; i++) {
		const struct outcome_claim *claim = &checked->claims[i];

		if (claim->is_link)
			continue;
		if (buf_adds(ret, listed++ > 0 ? ", " : "", err) < 0 ||
		    buf_add(ret, claim->text, claim->len, err) < 0)
			return (int)err->code;
	}
	return 0;
}

void ask_tell_checked(struct ask *ask)
{
	const struct agent_checked *raw = &ask->driver.checked;
	const uint64_t numbers = raw->numbers_unsupported;
	cleanup_buf struct buf line = BUF_INIT(AGENT_LOOKS_BYTES);
	struct outcome_checked checked;
	struct err full;

	if (raw->is_checked == 0) {
		tell_dead_links(ask);
		return;
	}
	outcome_read_checked(raw, buf_text(&ask->driver.answer), ask->driver.answer.len, &checked);
	if (numbers > 0 && list_numbers(&checked, &line, &full) == 0)
		run_output_line("reckon: %llu number%s of the answer %s in no output of this run: "
				"%s%s",
				(unsigned long long)numbers, numbers == 1 ? "" : "s",
				numbers == 1 ? "is" : "are", buf_text(&line),
				numbers > NUMBERS_MAX ? ", …" : "");
	tell_claimed_links(&checked);
}
