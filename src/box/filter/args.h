/*
 * args.h - which arguments of setsockopt, ioctl, prctl and fcntl pass.
 *
 * Drawn from what CPython, bash, coreutils and the libraries of the templates use: sockets of
 * asyncio and multiprocessing, terminals of curses and pty, descriptors of subprocess. Linux reads
 * 32 bits of each, and the filter compares those (docs/internals/filter.md).
 */
#pragma once

#include <linux/prctl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <sys/socket.h>

/* BPF programs: they take memory of the system that is charged to no group. Reported. */
static const uint32_t sockopt_denied[] = {
	26 /* SO_ATTACH_FILTER */, 27 /* SO_DETACH_FILTER */, 44 /* SO_LOCK_FILTER */,
	50 /* SO_ATTACH_BPF */, 51 /* SO_ATTACH_REUSEPORT_CBPF */,
	52 /* SO_ATTACH_REUSEPORT_EBPF */, 68 /* SO_DETACH_REUSEPORT_BPF */,
};

/* Only hints, which Linux limits for the whole host: they succeed without effect. */
static const uint32_t sockopt_ignored[] = { SO_SNDBUF, SO_RCVBUF };

static const uint32_t sockopt_socket[] = {
	SO_REUSEADDR, SO_KEEPALIVE, SO_BROADCAST, SO_LINGER, SO_REUSEPORT,
	SO_PASSCRED, SO_RCVLOWAT, SO_DONTROUTE, SO_PRIORITY, 20 /* SO_RCVTIMEO */,
	21 /* SO_SNDTIMEO */, 66 /* SO_RCVTIMEO_NEW */, 67 /* SO_SNDTIMEO_NEW */,
	29 /* SO_TIMESTAMP */, 63 /* SO_TIMESTAMP_NEW */,
};

static const uint32_t sockopt_tcp[] = {
	TCP_NODELAY, TCP_MAXSEG, TCP_CORK, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, TCP_SYNCNT,
	TCP_LINGER2, TCP_DEFER_ACCEPT, TCP_QUICKACK, TCP_USER_TIMEOUT, TCP_NOTSENT_LOWAT,
};

static const uint32_t sockopt_ip[] = {
	IP_TOS, IP_TTL, IP_PKTINFO, IP_MTU_DISCOVER, IP_RECVERR, IP_BIND_ADDRESS_NO_PORT,
	IP_MULTICAST_TTL, IP_MULTICAST_LOOP,
};

static const uint32_t sockopt_ipv6[] = {
	IPV6_V6ONLY, IPV6_UNICAST_HOPS, IPV6_TCLASS, IPV6_RECVPKTINFO, IPV6_MTU_DISCOVER,
	IPV6_RECVERR, IPV6_MULTICAST_HOPS, IPV6_MULTICAST_LOOP,
};

static const struct {
	uint32_t level;
	const uint32_t *options;
	uint32_t count;
} sockopt_levels[] = {
	{ SOL_SOCKET, sockopt_socket, sizeof(sockopt_socket) / sizeof(uint32_t) },
	{ IPPROTO_TCP, sockopt_tcp, sizeof(sockopt_tcp) / sizeof(uint32_t) },
	{ IPPROTO_IPV6, sockopt_ipv6, sizeof(sockopt_ipv6) / sizeof(uint32_t) },
	{ IPPROTO_IP, sockopt_ip, sizeof(sockopt_ip) / sizeof(uint32_t) },
};

/* Requests that feed a terminal, or change flags of files, file systems or interfaces. Reported. */
static const uint32_t ioctl_denied[] = {
	0x5412 /* TIOCSTI */, 0x541c /* TIOCLINUX */, 0x5423 /* TIOCSETD */,
	0x40086602 /* FS_IOC_SETFLAGS */, 0x401c5820 /* FS_IOC_FSSETXATTR */,
	0xc0045877 /* FIFREEZE */, 0xc0045878 /* FITHAW */, 0xc0185879 /* FITRIM */,
	0x8914 /* SIOCSIFFLAGS */, 0x8916 /* SIOCSIFADDR */, 0x8924 /* SIOCSIFHWADDR */,
	0x89a0 /* SIOCBRADDBR */,
};

/* All others get ENOTTY, as from a file that does not know the request. */
static const uint32_t ioctl_allowed[] = {
	/* terminals: a box has only those that were made in it */
	0x5401 /* TCGETS */, 0x5413 /* TIOCGWINSZ */, 0x540f /* TIOCGPGRP */, 0x5402 /* TCSETS */,
	0x5403 /* TCSETSW */, 0x5404 /* TCSETSF */, 0x5405 /* TCGETA */, 0x5409 /* TCSBRK */,
	0x540a /* TCXONC */, 0x540b /* TCFLSH */, 0x540e /* TIOCSCTTY */, 0x5410 /* TIOCSPGRP */,
	0x5411 /* TIOCOUTQ */, 0x5414 /* TIOCSWINSZ */, 0x5420 /* TIOCPKT */,
	0x5422 /* TIOCNOTTY */, 0x5424 /* TIOCGETD */, 0x5425 /* TCSBRKP */,
	0x5429 /* TIOCGSID */, 0x802c542a /* TCGETS2 */, 0x402c542b /* TCSETS2 */,
	0x402c542c /* TCSETSW2 */, 0x402c542d /* TCSETSF2 */, 0x80045430 /* TIOCGPTN */,
	0x40045431 /* TIOCSPTLCK */, 0x80045439 /* TIOCGPTLCK */, 0x5441 /* TIOCGPTPEER */,
	/* descriptors */
	0x541b /* FIONREAD */, 0x5421 /* FIONBIO */, 0x5450 /* FIONCLEX */, 0x5451 /* FIOCLEX */,
	0x5452 /* FIOASYNC */, 0x5460 /* FIOQSIZE */,
	/* cp --reflink, in a mount whose file system supports it */
	0x40049409 /* FICLONE */, 0x4020940d /* FICLONERANGE */,
	/* the box's loopback: reading its names, flags and addresses */
	0x8910 /* SIOCGIFNAME */, 0x8912 /* SIOCGIFCONF */, 0x8913 /* SIOCGIFFLAGS */,
	0x8915 /* SIOCGIFADDR */, 0x891b /* SIOCGIFNETMASK */, 0x8921 /* SIOCGIFMTU */,
	0x8927 /* SIOCGIFHWADDR */, 0x8933 /* SIOCGIFINDEX */,
};

/* All others are reported. */
static const uint32_t prctl_allowed[] = {
	PR_SET_PDEATHSIG, PR_GET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_DUMPABLE, PR_GET_KEEPCAPS,
	PR_SET_NAME, PR_GET_NAME, PR_GET_SECCOMP, PR_CAPBSET_READ, PR_GET_TSC, PR_GET_SECUREBITS,
	PR_SET_TIMERSLACK, PR_GET_TIMERSLACK, PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER,
	PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_GET_TID_ADDRESS, PR_SET_THP_DISABLE,
	PR_GET_THP_DISABLE, PR_GET_SPECULATION_CTRL, 0x53564d41 /* PR_SET_VMA */,
};

static const uint32_t fcntl_denied[] = { 1024 /* F_SETLEASE */, 1026 /* F_NOTIFY */ };

/* All others get EINVAL. */
static const uint32_t fcntl_allowed[] = {
	0 /* F_DUPFD */, 1 /* F_GETFD */, 2 /* F_SETFD */, 3 /* F_GETFL */, 4 /* F_SETFL */,
	5 /* F_GETLK */, 6 /* F_SETLK */, 7 /* F_SETLKW */, 8 /* F_SETOWN */, 9 /* F_GETOWN */,
	10 /* F_SETSIG */, 11 /* F_GETSIG */, 15 /* F_SETOWN_EX */, 16 /* F_GETOWN_EX */,
	36 /* F_OFD_GETLK */, 37 /* F_OFD_SETLK */, 38 /* F_OFD_SETLKW */, 1025 /* F_GETLEASE */,
	1027 /* F_DUPFD_QUERY */, 1030 /* F_DUPFD_CLOEXEC */, 1031 /* F_SETPIPE_SZ */,
	1032 /* F_GETPIPE_SZ */, 1033 /* F_ADD_SEALS */, 1034 /* F_GET_SEALS */,
};
