/*
 * lend.c - lends a cell's tools to the programs that the shell starts.
 *
 * Runs in:  the bash kernel.
 * Reads:    calls from programs of the box, which it forwards unread.
 * Never:    waits for the programs; the host reads the forwarded calls, or hangs up.
 *
 * The shell runs for the whole session, a cell's socket for one cell. So the shell inherits a
 * socket of the kernel, which forwards each packet to the running cell's socket, together with the
 * descriptor for the answer. If the cell has no tools, the caller finds that descriptor closed.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "inside/bash/bash.h"

#define PACKET_MAX (192u * 1024u) /* more than the host accepts: the host reports it */
#define PACKETS_MAX 4000u	  /* per cell, the host's limit */

static struct {
	int near;    /* our end of the inherited socket, or -1 */
	int channel; /* of the running cell, or -1 */
	unsigned packets;
} lent = { -1, -1, 0 };

int bash_lend_pair(int *ret_far, struct err *err)
{
	int ends[2];

	bash_lend_forget();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_sys(err, "a socket for tools");
	lent.near = ends[0];
	*ret_far = ends[1];
	return fd_set_nonblock(lent.near, true, err);
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

void bash_lend_forget(void)
{
	close_one(&lent.near);
}

/* Forwards one packet. False: no packet is waiting. */
static bool hand_on(void)
{
	static char packet[PACKET_MAX];
	struct err err = { 0 };
	size_t count = 0;
	int answer = -1;
	const ssize_t len =
		fd_recv_msg(lent.near, packet, sizeof(packet), &answer, 1, &count, &err);

	if (len == 0 || (len < 0 && err.code == ERR_SYSTEM)) {
		bash_lend_forget(); /* the shell and all its programs have closed their end */
		return false;
	}
	if (len < 0)
		return err.code != ERR_TIMEOUT;
	if (count == 1 && lent.channel >= 0 &&
	    fd_send_msg(lent.channel, packet, (size_t)len, &answer, 1, &err) < 0)
		close_one(&lent.channel); /* the host accepts no more */
	fd_close_all(&answer, count);
	return true;
}

/* Refuses calls that were made between two cells. */
static void refuse_all(void)
{
	close_one(&lent.channel);
	for (unsigned i = 0; i < PACKETS_MAX && lent.near >= 0 && hand_on(); i++)
		continue;
}

void bash_lend_begin(int channel)
{
	refuse_all();
	lent.channel = channel;
	lent.packets = 0;
}

void bash_lend_end(void)
{
	refuse_all();
	lent.packets = 0;
}

int bash_lend_fd(void)
{
	return lent.packets < PACKETS_MAX ? lent.near : -1;
}

void bash_lend_turn(void)
{
	lent.packets++;
	(void)hand_on();
}
