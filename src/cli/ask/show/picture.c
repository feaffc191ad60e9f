/*
 * picture.c - draws images in an answer: ![…](sandbox:/mnt/data/chart.png).
 *
 * Runs in:  reckon ask.
 * Reads:    an address that a model wrote, a file of the box.
 * Never:    opens a file of the host or fetches anything; decodes an image outside the sandboxed
 *           decoder.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/file/fs.h"
#include "cli/ask/ask.h"

#define PATH_BYTES_MAX 4096u
#define DRAWN_MAX ((size_t)64 * 1024 * 1024)

static int digit_of(char byte)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	const char *at = byte != '\0' ? strchr(digits, byte) : NULL;

	if (at == NULL)
		return -1;
	return at - digits < 16 ? (int)(at - digits) : (int)(at - digits) - 6;
}

int ask_unescape(const char *text, size_t len, struct buf *ret, struct err *err)
{
	for (size_t i = 0; i < len; i++) {
		const int high = i + 2 < len && text[i] == '%' ? digit_of(text[i + 1]) : -1;
		const int low = high >= 0 ? digit_of(text[i + 2]) : -1;

		if (buf_addc(ret, low >= 0 ? (char)(high * 16 + low) : text[i], err) < 0)
			return (int)err->code;
		i += low >= 0 ? 2 : 0;
	}
	return 0;
}

/* The name of the workspace file, or NULL. Links may already be replaced by the path under -o. */
static const char *name_of(const struct ask *ask, const char *path)
{
	static const char workspace[] = "/mnt/data/";
	const char *folder = ask->link.folder;
	const size_t len = folder != NULL ? strlen(folder) : 0;

	if (strncmp(path, ASK_LINK, sizeof(ASK_LINK) - 1) == 0)
		path += sizeof(ASK_LINK) - 1;
	else if (strncmp(path, workspace, sizeof(workspace) - 1) == 0)
		path += sizeof(workspace) - 1;
	else if (len > 0 && strncmp(path, folder, len) == 0 &&
		 (path[len] == '/' || folder[len - 1] == '/'))
		path += len + (path[len] == '/');
	return fs_path_is_safe(path) && strchr(path, ':') == NULL ? path : NULL;
}

void ask_picture(const char *path, size_t len, struct buf *ret, void *arg)
{
	struct ask *ask = arg;
	cleanup_buf struct buf plain = BUF_INIT(PATH_BYTES_MAX);
	cleanup_buf struct buf png = BUF_INIT(IMAGE_PNG_MAX);
	cleanup_buf struct buf drawn = BUF_INIT(DRAWN_MAX);
	cleanup_fd int fd = -1;
	const char *name;
	struct err err;

	if (ask->view.images == TERM_IMAGE_NONE ||
	    ask_unescape(path, len, &plain, &err) < 0)
		return;
	name = name_of(ask, buf_text(&plain));
	/* If it cannot be drawn, the text still has its name. */
	if (name == NULL || ask->view.session->ops->open_file(ask->view.session, name, &fd, &err) < 0 ||
	    fd_read_all(fd, &png, &err) < 0 || repl_draw_png(&ask->view, &png, &drawn, &err) < 0)
		return;
	(void)buf_add(ret, drawn.data, drawn.len, &err);
}
