/*
 * main.c - reckon-unarchiver: reads or writes one archive for libreckon, and ends.
 *
 * Runs in:  reckon-unarchiver: descriptor 3 is the socket to its parent, 4 the archive.
 * Reads:    its job's name; then, behind the fence, the archive.
 * Never:    opens a file, or reads a byte of one, before the fence is up.
 */
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file/fd.h"
#include "base/log.h"
#include "unarchiver/unarchiver.h"

void send_frame(const void *frame, size_t len)
{
	struct err err;

	if (fd_send_msg(UNARCHIVER_FD, frame, len, NULL, 0, &err) < 0)
		_exit(1);
}

void fail(enum err_code code, const char *fmt, ...)
{
	struct unarchiver_fail head = { .code = (int32_t)code };
	char bytes[sizeof(head) + UNARCHIVER_TEXT_MAX + 1];
	char frame[sizeof(struct unarchiver_head) + sizeof(bytes)];
	va_list ap;

	memcpy(bytes, &head, sizeof(head));
	va_start(ap, fmt);
	(void)vsnprintf(bytes + sizeof(head), UNARCHIVER_TEXT_MAX + 1, fmt, ap);
	va_end(ap);
	send_frame(frame, unarchiver_put(frame, UNARCHIVER_FAIL, bytes,
				   sizeof(head) + strlen(bytes + sizeof(head))));
	_exit(0);
}

int main(int argc, char **argv)
{
	const int is_pack = argc == 3 && strcmp(argv[1], "pack") == 0;
	char frame[sizeof(struct unarchiver_head)];
	struct err err;

	log_init("peek");
	if (!is_pack && !(argc == 2 && strcmp(argv[1], "unpack") == 0)) {
		log_line(LOG_ERROR, "libreckon starts this program", NULL);
		return 2;
	}
	/* Names are UTF-8. In another locale libarchive would use iconv, which opens files. */
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	tzset(); /* reads its file now, once */
	if (unarchiver_fence(is_pack, &err) < 0)
		fail(ERR_SYSTEM, "the fence does not stand: %s", err.text);
	send_frame(frame, unarchiver_put(frame, UNARCHIVER_READY, NULL, 0));
	if (is_pack)
		pack(argv[2]);
	else
		unpack();
	return 0;
}
