/*
 * place.c - the directories of the artifact store, and error messages for its disk.
 *
 * Runs in:  libreckon.
 * Reads:    errno.
 * Never:    follows a link that it did not create.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "lib/store/inner.h"

static unsigned digit(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

void store_note_dirty(struct store *store, const char *sha256)
{
	const unsigned shard = digit(sha256[0]) * 16 + digit(sha256[1]);

	store->dirty[shard / 64] |= (uint64_t)1 << shard % 64;
}

int store_disk_err(struct err *err, const char *what)
{
	bool is_full = errno == ENOSPC || errno == EDQUOT;

	(void)err_sys(err, "%s in the artifact store", what);
	if (is_full)
		(void)err_remedy(err, "free some space where the state directory is");
	return (int)err->code;
}

int store_open_shard(struct store *store, const char *sha256, int *ret_fd, struct err *err)
{
	const char shard[3] = { sha256[0], sha256[1], '\0' };
	int fd;

	if (mkdirat(store->root_fd, shard, 0700) == 0)
		store->root_is_dirty = true;
	else if (errno != EEXIST)
		return store_disk_err(err, "make a directory");
	fd = openat(store->root_fd, shard, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, "open artifact directory %s", shard);
	store_note_dirty(store, sha256);
	*ret_fd = fd;
	return 0;
}
