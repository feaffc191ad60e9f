/*
 * pack.c - writes the files it receives into an archive.
 *
 * Runs in:  reckon-unarchiver, behind the fence.
 * Reads:    frames of libreckon; files of a hostile box, which change while they are read.
 * Never:    breaks the archive when a file shrinks: zeros replace the missing bytes.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "unarchiver/unarchiver.h"

static char frame[UNARCHIVER_FRAME_MAX], chunk[UNARCHIVER_DATA_MAX];

static void __attribute__((noreturn)) broken(struct archive *archive)
{
	const char *text = archive_error_string(archive);
	const int number = archive_errno(archive);

	if (number == ENOSPC || number == EDQUOT || number == EFBIG)
		fail(ERR_SYSTEM, "there is no room for the archive where the state directory is");
	fail(ERR_SYSTEM, "the archive cannot be written: %s", text != NULL ? text : "unknown");
}

/* Copies exactly as many bytes as the header says; returns 1 if the file had fewer. */
static unsigned copy_file(struct archive *archive, int fd, uint64_t size)
{
	unsigned changed = 0;

	while (size > 0) {
		const size_t want = size < sizeof(chunk) ? (size_t)size : sizeof(chunk);
		struct err ignored;
		ssize_t n = fd_read_full(fd, chunk, want, &ignored);

		if (n < (ssize_t)want) {
			const size_t got = n > 0 ? (size_t)n : 0;

			changed = 1;
			memset(chunk + got, 0, want - got);
		}
		if (archive_write_data(archive, chunk, want) != (la_ssize_t)want)
			broken(archive);
		size -= want;
	}
	return changed;
}

static struct archive_entry *entry_of(const struct unarchiver_entry *fields, const char *path,
				      const char *target)
{
	struct archive_entry *entry = archive_entry_new();

	if (entry == NULL)
		fail(ERR_SYSTEM, "no memory");
	archive_entry_set_pathname(entry, path);
	archive_entry_set_mtime(entry, (time_t)fields->mtime_s, 0);
	archive_entry_set_perm(entry, fields->mode & 0777u);
	if (fields->kind == UNARCHIVER_FOLDER) {
		archive_entry_set_filetype(entry, AE_IFDIR);
	} else if (fields->kind == UNARCHIVER_SYMLINK) {
		archive_entry_set_filetype(entry, AE_IFLNK);
		archive_entry_set_symlink(entry, target);
	} else {
		archive_entry_set_filetype(entry, AE_IFREG);
		archive_entry_set_size(entry, (la_int64_t)fields->size);
	}
	return entry;
}

/* Handles ADD, trusting libreckon's fields. */
static unsigned add(struct archive *archive, size_t len, int fd)
{
	const char *bytes = frame + sizeof(struct unarchiver_head);
	char path[UNARCHIVER_PATH_MAX + 1] = "", target[UNARCHIVER_PATH_MAX + 1] = "";
	struct archive_entry *entry;
	struct unarchiver_entry fields;
	unsigned changed = 0;

	if (len < sizeof(fields))
		fail(ERR_SYSTEM, "a short frame");
	memcpy(&fields, bytes, sizeof(fields));
	if (fields.path_len > UNARCHIVER_PATH_MAX || fields.target_len > UNARCHIVER_PATH_MAX ||
	    sizeof(fields) + fields.path_len + fields.target_len != len)
		fail(ERR_SYSTEM, "a frame with wrong lengths");
	memcpy(path, bytes + sizeof(fields), fields.path_len);
	memcpy(target, bytes + sizeof(fields) + fields.path_len, fields.target_len);
	entry = entry_of(&fields, path, target);
	if (archive_write_header(archive, entry) < ARCHIVE_WARN)
		broken(archive);
	if (fields.kind == UNARCHIVER_FILE)
		changed = copy_file(archive, fd, fields.size);
	archive_entry_free(entry);
	return changed;
}

static struct archive *open_format(const char *format)
{
	struct archive *archive = archive_write_new();

	if (archive == NULL)
		fail(ERR_SYSTEM, "no memory");
	if (strcmp(format, "zip") == 0)
		(void)archive_write_set_format_zip(archive);
	else
		(void)archive_write_set_format_pax_restricted(archive);
	if (strcmp(format, "tar.gz") == 0) {
		(void)archive_write_add_filter_gzip(archive);
		/* The same files give the same bytes at any time. */
		(void)archive_write_set_filter_option(archive, "gzip", "timestamp", NULL);
	}
	else if (strcmp(format, "tar.zst") == 0)
		(void)archive_write_add_filter_zstd(archive);
	if (archive_write_open_fd(archive, UNARCHIVER_FILE_FD) != ARCHIVE_OK)
		broken(archive);
	return archive;
}

void pack(const char *format)
{
	struct archive *archive = open_format(format);
	struct unarchiver_end end = { 0 };
	struct unarchiver_head head;

	for (;;) {
		struct err err;
		size_t nfds = 0;
		int fds[1];
		const ssize_t n =
			fd_recv_msg(UNARCHIVER_FD, frame, sizeof(frame), fds, 1, &nfds, &err);
		cleanup_fd int fd = n > 0 && nfds == 1 ? fds[0] : -1;

		if (n < (ssize_t)sizeof(head))
			_exit(1);
		memcpy(&head, frame, sizeof(head));
		if (head.type == UNARCHIVER_FINISH)
			break;
		end.changed += add(archive, (size_t)n - sizeof(head), fd);
	}
	if (archive_write_close(archive) != ARCHIVE_OK)
		broken(archive);
	(void)archive_write_free(archive);
	send_frame(frame, unarchiver_put(frame, UNARCHIVER_END, &end, sizeof(end)));
}
