/*
 * pages.c - shows the model outputs that a result left out.
 *
 * Runs in:  programs that start an agent.
 * Reads:    checked requests of the agent; output of a box.
 * Never:    shows an output that no result of this conversation named.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "codec/page.h"
#include "agent_client/inner.h"

#define PAGE_MAX (PAGE_BYTES * 4 + 4096) /* each byte may need an escape */

void agent_client_pages(struct agent_client *client, agent_client_open_fn *open, void *arg)
{
	client->open = open;
	client->open_arg = arg;
}

static bool is_offered(const struct agent_client *client, const char *handle)
{
	for (size_t i = 0; i < client->offered_count && i < AGENT_CLIENT_OFFERED_MAX; i++)
		if (strcmp(client->offered[i], handle) == 0)
			return true;
	return false;
}

void agent_client_offer(struct agent_client *client, const char *handle)
{
	const size_t len = strlen(handle);

	if (len == 0 || len > AGENT_HANDLE_MAX || is_offered(client, handle))
		return;
	memcpy(client->offered[client->offered_count++ % AGENT_CLIENT_OFFERED_MAX], handle,
	       len + 1);
}

static void read_choice(const struct agent_part *part, const char *needle,
			struct page_choice *ret)
{
	*ret = (struct page_choice){
		.has_lines = part->unit == AGENT_UNIT_LINES,
		.first = part->first,
		.last = part->last,
		.head = part->unit == AGENT_UNIT_HEAD ? part->last : 0,
		.tail = part->unit == AGENT_UNIT_TAIL ? part->last : 0,
		.has_range = part->unit == AGENT_UNIT_BYTES,
		.from = part->first,
		.to = part->last,
		.needle = needle[0] != '\0' ? needle : NULL,
		.page_bytes = (size_t)part->bytes_max,
	};
}

static int show(const struct page_choice *choice, int fd, const char *handle, struct buf *ret,
		struct err *err)
{
	struct stat st;
	void *bytes = NULL;
	size_t len = 0;
	int rc;

	if (fstat(fd, &st) < 0)
		return err_sys(err, "%s", handle);
	if (st.st_size > 0) {
		len = (size_t)st.st_size;
		bytes = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
		if (bytes == MAP_FAILED)
			return err_sys(err, "%s", handle);
	}
	rc = page_show(choice, len > 0 ? bytes : "", len, handle, ret, err);
	if (len > 0)
		(void)munmap(bytes, len);
	return rc;
}

/* Writes the requested page, or for the model the reason why there is none. */
static void find(struct agent_client *client, const char *handle, const struct page_choice *choice,
		 struct buf *ret)
{
	cleanup_fd int fd = -1;
	struct err why;

	err_clear(&why);
	if (!is_offered(client, handle))
		(void)err_set(&why, ERR_NOT_FOUND,
			      "no output of this conversation has the handle %s", handle);
	else if (client->open == NULL)
		(void)err_set(&why, ERR_NOT_FOUND, "outputs cannot be read again here");
	else if (client->open(handle, &fd, &why, client->open_arg) == 0 &&
		 show(choice, fd, handle, ret, &why) == 0)
		return;
	buf_clear(ret);
	(void)buf_addf(ret, &why, "Error: %s", why.text);
}

int agent_client_page(struct agent_client *client, uint64_t id, size_t count, struct err *err)
{
	const struct kernel_item *handle = agent_find(client->items, count, AGENT_TAG_HANDLE);
	const struct kernel_item *text = agent_find(client->items, count, AGENT_TAG_TEXT);
	cleanup_buf struct buf page = BUF_INIT(PAGE_MAX), payload = BUF_INIT(PAGE_MAX + 4096);
	char name[AGENT_HANDLE_MAX + 1] = "", needle[AGENT_NEEDLE_MAX + 1] = "";
	struct page_choice choice;
	struct agent_part part;

	memcpy(name, handle->data, handle->len);
	if (text != NULL)
		memcpy(needle, text->data, text->len);
	memcpy(&part, agent_find(client->items, count, AGENT_TAG_PART)->data, sizeof(part));
	read_choice(&part, needle, &choice);
	find(client, name, &choice, &page);
	if (agent_pack_text(&payload, AGENT_TAG_STATUS, "ok", err) < 0 ||
	    agent_pack(&payload, AGENT_TAG_TEXT, buf_text(&page), page.len, err) < 0)
		return (int)err->code;
	return agent_client_send(client, AGENT_PAGED, id, &payload, err);
}

/* ---- files ---- */

void agent_client_looks(struct agent_client *client, agent_client_look_fn *look, void *arg)
{
	client->look = look;
	client->look_arg = arg;
}

/* Refuse names that could lead out of the workspace. */
static char look_for(const struct agent_client *client, const char *line, size_t len)
{
	cleanup_buf struct buf name = BUF_INIT(AGENT_LOOKS_BYTES);
	struct err full; /* always fits: a line of the frame is shorter */

	if (client->look == NULL || buf_add(&name, line, len, &full) < 0 ||
	    memchr(line, '\0', len) != NULL || !fs_path_is_safe(buf_text(&name)))
		return AGENT_FILE_UNKNOWN;
	return client->look(buf_text(&name), client->look_arg);
}

int agent_client_look(struct agent_client *client, uint64_t id, size_t count, struct err *err)
{
	const struct kernel_item *names = agent_find(client->items, count, AGENT_TAG_TEXT);
	cleanup_buf struct buf payload = BUF_INIT(4096);
	const char *at = names->data, *end = at + names->len;
	char states[AGENT_LOOKS_MAX];
	size_t found = 0;

	while (at < end && found < AGENT_LOOKS_MAX) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const size_t len = (size_t)((newline != NULL ? newline : end) - at);

		states[found++] = len > 0 ? look_for(client, at, len) : AGENT_FILE_UNKNOWN;
		at += len + 1;
	}
	if (agent_pack(&payload, AGENT_TAG_TEXT, states, found, err) < 0)
		return (int)err->code;
	return agent_client_send(client, AGENT_LOOKED, id, &payload, err);
}
