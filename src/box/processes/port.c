/*
 * port.c - lists the TCP ports on which programs in a box listen, and connects to them from
 * outside.
 *
 * Runs in:  the warden.
 * Reads:    /proc/PID/net/tcp and tcp6 of the box's pid 1, which Linux writes.
 * Never:    connects to anything but the box's loopback addresses, or waits for a connection.
 */
#include "box/processes/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define STATE_LISTEN 0x0au   /* TCP_LISTEN */
#define HELPER_STACK 65536u
#define TABLE_MAX (512u * 1024u) /* listening sockets come first */

/* ---- connecting ----------------------------------------------------------------------------- */

struct helper {
	int netns, family;
	int fd; /* negative: -errno */
};

/* Shares the warden's memory and descriptors, but joins the box's network namespace. */
static int helper_main(void *arg)
{
	struct helper *helper = arg;

	if (setns(helper->netns, CLONE_NEWNET) == 0)
		helper->fd = socket(helper->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	else
		helper->fd = -1;
	if (helper->fd < 0)
		helper->fd = -errno;
	_exit(0);
}

/*
 * A socket belongs to the network namespace in which it was created, whoever uses it. A rootless
 * warden could join the box's namespace but never return to the host's. So a helper creates the
 * socket in the descriptor table that it shares with the warden, which is suspended meanwhile.
 */
static int make_socket(int netns, int family, int *ret_fd, struct err *err)
{
	static char stack[HELPER_STACK] __attribute__((aligned(16)));
	struct helper helper = { .netns = netns, .family = family, .fd = -EIO };
	const pid_t pid = clone(helper_main, stack + sizeof(stack),
				CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, &helper);

	if (pid < 0)
		return err_sys(err, "start a helper in the box's network");
	(void)waitpid(pid, NULL, __WALL);
	errno = -helper.fd;
	if (helper.fd < 0)
		return err_sys(err, "make a socket in the box's network");
	*ret_fd = helper.fd;
	return 0;
}

static int begin_connect(int fd, const struct warden_port *port, struct err *err)
{
	const struct sockaddr_in v4 = { .sin_family = AF_INET,
					.sin_port = htons(port->number),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
					 .sin6_port = htons(port->number),
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const struct sockaddr *to = port->is_v6 != 0 ? (const struct sockaddr *)&v6
						     : (const struct sockaddr *)&v4;

	if (connect(fd, to, port->is_v6 != 0 ? sizeof(v6) : sizeof(v4)) == 0 ||
	    errno == EINPROGRESS)
		return 0;
	/* If the box has no ::1, nothing listens there. */
	if (errno == ECONNREFUSED || errno == EADDRNOTAVAIL || errno == ENETUNREACH)
		return err_set(err, ERR_NOT_FOUND, "nothing listens on port %u", port->number);
	return err_sys(err, "connect to port %u of the box", port->number);
}

int port_connect(struct shell *shell, const struct warden_port *port, int *ret_fd,
		 struct err *err)
{
	cleanup_fd int fd = -1;

	if (port->number == 0)
		return err_set(err, ERR_INVALID, "invalid port 0");
	if (make_socket(shell->netns_fd, port->is_v6 != 0 ? AF_INET6 : AF_INET, &fd, err) < 0)
		return (int)err->code;
	/* A connection that is still being made must not reach the next box: do not recycle the
	 * namespace. */
	shell->has_guests = true;
	if (begin_connect(fd, port, err) < 0)
		return (int)err->code;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* ---- listing -------------------------------------------------------------------------------- */

/* Linux writes an address as 32-bit words in host byte order, in hexadecimal digits. */
static bool take_address(const char *text, size_t digits, uint8_t *ret)
{
	for (size_t word = 0; word < digits / 8; word++) {
		char piece[9];
		uint32_t value;
		char *end;

		(void)snprintf(piece, sizeof(piece), "%.8s", text + word * 8);
		value = (uint32_t)strtoul(piece, &end, 16);
		if (end != piece + 8)
			return false;
		memcpy(ret + word * 4, &value, sizeof(value));
	}
	return true;
}

/* Parses " 0: 0100007F:2135 00000000:0000 0A …"; false: the socket does not listen. */
static bool take_line(const char *line, bool is_v6, struct warden_listener *ret)
{
	const size_t digits = is_v6 ? 32 : 8;
	const char *local = strchr(line, ':');
	const char *state;

	memset(ret, 0, sizeof(*ret));
	if (local == NULL || strlen(local) < 2 + 2 * (digits + 6) + 2)
		return false;
	local += 2;
	state = local + 2 * (digits + 6);
	if (local[digits] != ':' || strtoul(state, NULL, 16) != STATE_LISTEN)
		return false;
	ret->is_v6 = is_v6;
	ret->port = (uint16_t)strtoul(local + digits + 1, NULL, 16);
	return take_address(local, digits, ret->address);
}

static bool is_listed(const struct warden_ports *ports, const struct warden_listener *listener)
{
	for (uint32_t i = 0; i < ports->count; i++)
		if (memcmp(&ports->listener[i], listener, sizeof(*listener)) == 0)
			return true;
	return false;
}

static void add_table(pid_t init, const char *name, bool is_v6, struct warden_ports *ret)
{
	char path[64], line[512];
	FILE *file;
	size_t bytes = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)init, name);
	file = fopen(path, "re");
	if (file == NULL)
		return;
	/* The first line names the columns. */
	for (bool is_head = true; bytes < TABLE_MAX && fgets(line, sizeof(line), file) != NULL;
	     is_head = false) {
		struct warden_listener listener;

		bytes += strlen(line);
		if (is_head)
			continue;
		if (!take_line(line, is_v6, &listener))
			break; /* connected sockets follow */
		if (is_listed(ret, &listener))
			continue; /* SO_REUSEPORT */
		if (ret->count == WARDEN_PORTS_MAX) {
			ret->is_cut = 1;
			break;
		}
		ret->listener[ret->count++] = listener;
	}
	(void)fclose(file);
}

void port_list(const struct shell *shell, struct warden_ports *ret)
{
	memset(ret, 0, sizeof(*ret));
	add_table(shell->init, "tcp", false, ret);
	add_table(shell->init, "tcp6", true, ret);
}
