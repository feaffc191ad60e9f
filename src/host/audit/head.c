/*
 * head.c - a second copy of the end of the audit, outside the database.
 *
 * Runs in:  reckond's loop and its threads; a process that opens a state directory offline.
 * Reads:    STATE/audit.head.
 * Never:    leaves half a file: it writes a new one and renames it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "host/audit/audit.h"

#define DOMAIN "reckon.audit.head/1"
#define NEW_FILE AUDIT_HEAD_FILE ".new"
#define HEX_SIZE (AUDIT_HASH_SIZE * 2 + 1)

static void seal(const struct audit_head *head, const unsigned char secret[32],
		 unsigned char ret[AUDIT_HASH_SIZE])
{
	crypto_generichash_state state;
	char number[24];

	(void)snprintf(number, sizeof(number), "%" PRIu64, head->sequence);
	(void)crypto_generichash_init(&state, secret, 32, AUDIT_HASH_SIZE);
	(void)crypto_generichash_update(&state, (const unsigned char *)DOMAIN, sizeof(DOMAIN));
	(void)crypto_generichash_update(&state, (const unsigned char *)number, strlen(number));
	(void)crypto_generichash_update(&state, head->hash, sizeof(head->hash));
	(void)crypto_generichash_final(&state, ret, AUDIT_HASH_SIZE);
}

int audit_head_write(int state_fd, const struct audit_head *head, const unsigned char secret[32],
		     struct err *err)
{
	unsigned char sealed[AUDIT_HASH_SIZE];
	char hash[HEX_SIZE], mac[HEX_SIZE], line[200];
	cleanup_fd int fd = openat(state_fd, NEW_FILE,
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_sys(err, "make %s", NEW_FILE);
	seal(head, secret, sealed);
	(void)sodium_bin2hex(hash, sizeof(hash), head->hash, sizeof(head->hash));
	(void)sodium_bin2hex(mac, sizeof(mac), sealed, sizeof(sealed));
	(void)snprintf(line, sizeof(line), "%" PRIu64 " %s %s\n", head->sequence, hash, mac);
	if (fd_write_full(fd, line, strlen(line), err) < 0)
		return (int)err->code;
	if (renameat(state_fd, NEW_FILE, state_fd, AUDIT_HEAD_FILE) < 0)
		return err_sys(err, "rename %s", NEW_FILE);
	return 0;
}

static bool take_hex(const char *text, unsigned char ret[AUDIT_HASH_SIZE])
{
	size_t len = 0;

	return sodium_hex2bin(ret, AUDIT_HASH_SIZE, text, HEX_SIZE - 1, NULL, &len, NULL) == 0 &&
	       len == AUDIT_HASH_SIZE;
}

int audit_head_read(int state_fd, const unsigned char secret[32], struct audit_head *ret,
		    bool *ret_sealed, struct err *err)
{
	cleanup_fd int fd = openat(state_fd, AUDIT_HEAD_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	unsigned char sealed[AUDIT_HASH_SIZE], found[AUDIT_HASH_SIZE];
	char text[256], *end;
	struct audit_head head;
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, "open %s", AUDIT_HEAD_FILE);
	n = fd_read_full(fd, text, sizeof(text) - 1, err);
	if (n < 0)
		return (int)err->code;
	text[n] = '\0';
	head.sequence = strtoull(text, &end, 10);
	/* Exactly "SEQUENCE HASH SEAL\n". */
	if (end == text || strlen(end) != 2 * HEX_SIZE + 1 || end[0] != ' ' ||
	    end[HEX_SIZE] != ' ' || end[2 * HEX_SIZE] != '\n' || !take_hex(end + 1, head.hash) ||
	    !take_hex(end + 1 + HEX_SIZE, found))
		return err_set(err, ERR_INVALID, "%s is damaged", AUDIT_HEAD_FILE);
	seal(&head, secret, sealed);
	*ret_sealed = sodium_memcmp(sealed, found, sizeof(sealed)) == 0;
	*ret = head;
	return 1;
}
