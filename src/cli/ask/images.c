/*
 * images.c - images among a question's files, which are sent to the model with their names.
 *
 * Runs in:  reckon ask, reckon chat.
 * Reads:    files that the person named, and workspace files that a stored run names; checks only
 *           their first bytes, to know their type.
 * Never:    decodes an image, sends one to a model that accepts none, or more than a server
 *           accepts.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"

#define HEAD_BYTES 12u
#define IMAGE_BYTES_MAX ((off_t)5 * 1024 * 1024)
#define ALL_BYTES_MAX ((size_t)10 * 1024 * 1024)

static const char *mime_of(const unsigned char *head, size_t len)
{
	static const struct {
		const char *mime, *bytes;
		size_t len, at;
	} kinds[] = {
		{ "image/png", "\x89PNG\r\n\x1a\n", 8, 0 },
		{ "image/jpeg", "\xff\xd8\xff", 3, 0 },
		{ "image/gif", "GIF8", 4, 0 },
		{ "image/webp", "WEBP", 4, 8 },
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (len >= kinds[i].at + kinds[i].len &&
		    memcmp(head + kinds[i].at, kinds[i].bytes, kinds[i].len) == 0 &&
		    (kinds[i].at == 0 || memcmp(head, "RIFF", 4) == 0))
			return kinds[i].mime;
	return NULL;
}

const char *ask_image_kind(int fd)
{
	unsigned char head[HEAD_BYTES];
	const ssize_t len = pread(fd, head, sizeof(head), 0);

	return len > 0 ? mime_of(head, (size_t)len) : NULL;
}

static bool is_named(const struct ask *ask, const struct run_file *file)
{
	for (size_t i = 0; i < ask->image_count; i++)
		if (strcmp(ask->images[i], file->path) == 0)
			return true;
	return false;
}

int ask_images_check(const struct ask *ask, struct err *err)
{
	const struct run *run = &ask->view.run;

	for (size_t i = 0; i < run->file_count; i++)
		if (is_named(ask, &run->files[i]) && ask_image_kind(run->files[i].fd) == NULL)
			return err_set(err, ERR_INVALID,
				       "--image: %.200s is no PNG, JPEG, WebP or GIF",
				       run->files[i].path);
	if (ask->image_count > 0 && ask->settings.images == 0) {
		(void)err_set(err, ERR_INVALID, "--image: %s/%.100s is sent no images",
			      ask->provider, ask->model);
		return err_remedy(err, "--vision on, or images = yes in models.ini, when it takes "
				       "some");
	}
	return 0;
}

/* NULL: the caller reports the error. */
static void *read_whole(const struct run_file *file, size_t size)
{
	cleanup_free char *bytes = mem_new0(size + 1, 1);
	size_t len = 0;

	while (len < size) {
		const ssize_t n = pread(file->fd, bytes + len, size - len, (off_t)len);

		if (n <= 0)
			return NULL;
		len += (size_t)n;
	}
	return TAKE_PTR(bytes);
}

static void tell_left_out(const struct run_file *file, const char *why)
{
	run_output_line("reckon: the model is not shown %s: %s; its code can read it", file->name,
			why);
}

/* Whether the model gets the image. */
static bool add(const struct run_file *file, struct ask_images *ret)
{
	const char *mime = ask_image_kind(file->fd);
	struct agent_client_image *image = &ret->list[ret->count];
	struct stat st;

	if (mime == NULL || fstat(file->fd, &st) < 0)
		return false;
	if (st.st_size > IMAGE_BYTES_MAX || ret->bytes + (size_t)st.st_size > ALL_BYTES_MAX ||
	    ret->count == AGENT_IMAGES_MAX) {
		tell_left_out(file, ret->count == AGENT_IMAGES_MAX
					    ? "a question has 8 images at most"
					    : "it has more than 5 MiB, or all have more than 10");
		return false;
	}
	*image = (struct agent_client_image){ .mime = mime,
					      .bytes = read_whole(file, (size_t)st.st_size),
					      .len = (size_t)st.st_size };
	if (image->bytes == NULL) {
		tell_left_out(file, "it cannot be read");
		return false;
	}
	ret->bytes += image->len;
	ret->count++;
	return true;
}

void ask_images_read(const struct ask *ask, size_t file_count, struct ask_images *ret)
{
	*ret = (struct ask_images){ 0 };
	for (size_t i = 0; i < file_count && ask->settings.images != 0; i++)
		(void)add(&ask->view.run.files[i], ret);
}

/* ---- images of earlier questions, for another model ----------------------------------------- */

static int recall(struct ask *ask, const struct run_file *file, struct ask_images *ret,
		  struct err *err)
{
	if (!add(file, ret))
		return 0;
	return buf_addf(&ask->note, err, "%s%s",
			ret->recalled++ > 0	? ", "
			: ask->note.len > 0 ? " Images of before are shown again: "
					    : "Images of before are shown again: ",
			file->name);
}

bool ask_is_new_file(const struct ask *ask, const char *name)
{
	for (size_t i = 0; i < ask->new_files; i++)
		if (strcmp(ask->view.run.files[i].name, name) == 0)
			return true;
	return false;
}

/* Whether the name is that of an image, for a file that is gone. */
static bool has_name_of_image(const char *name)
{
	static const char *const ends[] = { ".png", ".jpg", ".jpeg", ".webp", ".gif" };
	const char *end = strrchr(name, '.');

	for (size_t i = 0; i < ARRAY_LEN(ends) && end != NULL; i++)
		if (strcasecmp(end, ends[i]) == 0)
			return true;
	return false;
}

/* A stored run is untrusted: the names in it are only looked up in the workspace. */
static int recall_stored(struct ask *ask, char *name, struct ask_images *ret, struct err *err)
{
	struct run_file file = { .name = name, .fd = -1 };
	struct session *session = ask->view.session;
	struct err why;
	int rc;

	if (!fs_path_is_safe(name) || session->ops->open_file(session, name, &file.fd, &why) < 0) {
		if (has_name_of_image(name))
			run_output_line("reckon: the model is not shown %s: it is not in the "
					"session any more", name);
		return 0;
	}
	rc = recall(ask, &file, ret, err);
	(void)close(file.fd);
	return rc;
}

int ask_images_recall(struct ask *ask, struct ask_images *ret, struct err *err)
{
	const struct journal *journal = &ask->keep.journal;
	int rc = 0;

	if (ask->settings.images == 0)
		return 0;
	for (size_t i = 0; i < ask->new_files && ask->has_named_files && rc == 0; i++)
		rc = recall(ask, &ask->view.run.files[i], ret, err);
	for (size_t i = 0; i < journal->file_count && rc == 0; i++)
		if (!ask_is_new_file(ask, journal->files[i].name))
			rc = recall_stored(ask, journal->files[i].name, ret, err);
	return rc == 0 && ret->recalled > 0 ? buf_adds(&ask->note, ".", err) : rc;
}

bool ask_images_are_given(const struct ask *ask)
{
	for (size_t i = 0; i < ask->new_files; i++)
		if (ask_image_kind(ask->view.run.files[i].fd) != NULL)
			return true;
	return false;
}

void ask_images_done(struct ask_images *images)
{
	while (images->count > 0)
		free((void *)(uintptr_t)images->list[--images->count].bytes);
}
