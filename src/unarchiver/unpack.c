/*
 * unpack.c - reads an archive into entries: tar (plain, gzip, xz, zstd, bzip2) and zip.
 *
 * Runs in:  reckon-unarchiver, behind the fence.
 * Reads:    an archive of unknown origin, with libarchive.
 * Never:    decides alone: libreckon checks each entry again.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "unarchiver/unarchiver.h"

#define READ_BLOCK 65536u

static uint64_t renamed;

static void __attribute__((noreturn)) broken(struct archive *archive)
{
	const char *text = archive_error_string(archive);

	if (archive_errno(archive) == ENOMEM)
		fail(ERR_LIMIT, "the archive needs more memory than there is for it");
	if (text != NULL && strstr(text, "ncrypt") != NULL)
		fail(ERR_INVALID, "the archive is encrypted");
	if (text != NULL && strstr(text, "Unrecognized") != NULL)
		fail(ERR_INVALID, "this is neither a tar (.gz, .xz, .zst, .bz2) nor a zip archive");
	fail(ERR_INVALID, "the archive is damaged: %s", text != NULL ? text : "no more is known");
}

/*
 * Copies one byte of a name, as %XX if it is not allowed here (control characters, invalid UTF-8):
 * old systems made such archives, and users want their files.
 */
static size_t copy_name_byte(const char *name, char *ret, size_t room, size_t *ret_used,
			     bool *ret_changed)
{
	size_t n = utf8_sequence(name, strlen(name));

	if (n > 0 && !(n == 1 && ((unsigned char)name[0] < 0x20 || name[0] == 0x7f))) {
		*ret_used = n;
		if (n < room)
			memcpy(ret, name, n);
		return n;
	}
	*ret_used = 1;
	*ret_changed = true;
	if (room > 3)
		(void)snprintf(ret, room, "%%%02X", (unsigned char)name[0]);
	return 3;
}

/* Drops "./", "//" and a trailing "/"; "" means the target folder itself. */
static void clean_path(const char *name, char ret[UNARCHIVER_PATH_MAX + 1])
{
	bool changed = false;
	size_t len = 0;

	if (name[0] == '/')
		fail(ERR_INVALID, "the path of an entry is absolute: %.100s", name);
	while (*name != '\0') {
		const size_t n = strcspn(name, "/");

		if (n == 2 && name[0] == '.' && name[1] == '.')
			fail(ERR_INVALID, "the path of an entry leads out of the folder: %.100s",
			     name);
		if (n > 0 && !(n == 1 && name[0] == '.')) {
			const char *end = name + n;

			if (len > 0)
				ret[len++] = '/';
			for (size_t used; name < end; name += used) {
				len += copy_name_byte(name, ret + len, UNARCHIVER_PATH_MAX - len,
						      &used, &changed);
				if (len + 4 > UNARCHIVER_PATH_MAX)
					fail(ERR_INVALID, "the path of an entry is too long");
			}
		} else {
			name += n;
		}
		name += *name == '/';
	}
	ret[len] = '\0';
	renamed += changed;
}

static void send_entry(enum unarchiver_kind kind, struct archive_entry *entry, const char *path,
		       const char *target)
{
	const struct unarchiver_entry fields = {
		.kind = kind,
		.mode = archive_entry_perm(entry) & 0777u,
		.mtime_s = archive_entry_mtime_is_set(entry) ? archive_entry_mtime(entry) : 0,
	};
	static char frame[UNARCHIVER_FRAME_MAX];
	struct err err;

	/* libreckon runs the same check; here the message can name the reason. */
	if (unarchiver_check(&fields, path, target, &err) < 0)
		fail(err.code, "%s", err.text);
	send_frame(frame, unarchiver_put_entry(frame, UNARCHIVER_ENTRY, &fields, path, target));
}

static void send_data(struct archive *archive)
{
	static char bytes[UNARCHIVER_DATA_MAX], frame[UNARCHIVER_FRAME_MAX];

	for (;;) {
		const la_ssize_t n = archive_read_data(archive, bytes, sizeof(bytes));

		if (n == ARCHIVE_RETRY)
			continue;
		if (n < 0)
			broken(archive);
		if (n == 0)
			break;
		send_frame(frame, unarchiver_put(frame, UNARCHIVER_DATA, bytes, (size_t)n));
	}
	send_frame(frame, unarchiver_put(frame, UNARCHIVER_DATA_END, NULL, 0));
}

static void __attribute__((noreturn)) refuse_kind(mode_t type, const char *path)
{
	const char *kind = "of an unknown kind";

	if (type == AE_IFCHR || type == AE_IFBLK)
		kind = "a device";
	else if (type == AE_IFIFO)
		kind = "a pipe";
	else if (type == AE_IFSOCK)
		kind = "a socket";
	fail(ERR_INVALID, "the entry %.100s is %s", path, kind);
}

static void send_one(struct archive *archive, struct archive_entry *entry)
{
	const char *name = archive_entry_pathname(entry);
	const char *link = archive_entry_hardlink(entry);
	const mode_t type = archive_entry_filetype(entry);
	char path[UNARCHIVER_PATH_MAX + 1], target[UNARCHIVER_PATH_MAX + 1];

	if (name == NULL || name[0] == '\0')
		fail(ERR_INVALID, "an entry without a name");
	if (archive_entry_is_encrypted(entry))
		fail(ERR_INVALID, "the archive is encrypted");
	clean_path(name, path);
	if (link != NULL) {
		clean_path(link, target);
		send_entry(UNARCHIVER_HARDLINK, entry, path, target);
	} else if (type == AE_IFDIR) {
		if (path[0] != '\0') /* "" is the target folder itself */
			send_entry(UNARCHIVER_FOLDER, entry, path, "");
	} else if (type == AE_IFLNK) {
		link = archive_entry_symlink(entry);
		if (link == NULL || strlen(link) > UNARCHIVER_PATH_MAX)
			fail(ERR_INVALID, "the link %.100s leads nowhere", path);
		send_entry(UNARCHIVER_SYMLINK, entry, path, link);
	} else if (type == AE_IFREG) {
		send_entry(UNARCHIVER_FILE, entry, path, "");
		send_data(archive);
	} else {
		refuse_kind(type, path);
	}
}

/* A zip archive without entries is only an end record, which libarchive does not recognize. */
static bool is_empty_zip(void)
{
	static const char end[20] = "PK\5\6";
	char bytes[22];

	return pread(UNARCHIVER_FILE_FD, bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes) &&
	       memcmp(bytes, end, sizeof(end)) == 0;
}

void unpack(void)
{
	struct archive *archive = archive_read_new();
	struct archive_entry *entry;
	struct unarchiver_end end = { 0 };
	char frame[sizeof(struct unarchiver_head) + sizeof(end)];
	int result;

	if (archive == NULL)
		fail(ERR_SYSTEM, "no memory");
	if (is_empty_zip()) {
		send_frame(frame, unarchiver_put(frame, UNARCHIVER_END, &end, sizeof(end)));
		return;
	}
	(void)archive_read_support_filter_gzip(archive);
	(void)archive_read_support_filter_xz(archive);
	(void)archive_read_support_filter_zstd(archive);
	(void)archive_read_support_filter_bzip2(archive);
	(void)archive_read_support_format_tar(archive);
	/* Use only the central directory: ignore data between entries. */
	(void)archive_read_support_format_zip_seekable(archive);
	if (archive_read_open_fd(archive, UNARCHIVER_FILE_FD, READ_BLOCK) != ARCHIVE_OK)
		broken(archive);
	while ((result = archive_read_next_header(archive, &entry)) != ARCHIVE_EOF) {
		if (result == ARCHIVE_RETRY)
			continue;
		if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
			broken(archive);
		send_one(archive, entry);
	}
	end.renamed = renamed;
	send_frame(frame, unarchiver_put(frame, UNARCHIVER_END, &end, sizeof(end)));
	(void)archive_read_free(archive);
}
