/*
 * front.c - frames between reckon-front and reckond, and who may send what.
 *
 * Runs in:  reckon-front, reckond and tests.
 * Reads:    frames of a front that an attacker may control.
 * Never:    trusts a length, a count or a descriptor.
 */
#include "wire/front.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"

const char *const front_scope_names[FRONT_SCOPES] = {
	"admin", "sessions", "execute", "files", "read", "agent",
};

#define BYTES ((uint64_t)1 << 50)
#define WEEK_MS (7ull * 86400 * 1000)

const struct front_quota_kind front_quota_kinds[FRONT_QUOTA_COUNT] = {
	[FRONT_QUOTA_SESSIONS] = { "sessions", false, 1000000 },
	[FRONT_QUOTA_EXECUTIONS] = { "executions", false, 1000000 },
	[FRONT_QUOTA_QUEUED] = { "queued", false, 1000000 },
	[FRONT_QUOTA_WORKERS] = { "workers", false, 1024 },
	[FRONT_QUOTA_WEIGHT] = { "weight", false, 1000 },
	[FRONT_QUOTA_REQUESTS] = { "requests_per_s", false, 1000000 },
	[FRONT_QUOTA_CPU] = { "cpu_s_per_hour", true, WEEK_MS * 1000 },
	[FRONT_QUOTA_MEMORY] = { "memory_bytes", false, BYTES },
	[FRONT_QUOTA_MEMORY_USED] = { "memory_used_bytes", false, BYTES },
	[FRONT_QUOTA_DISK] = { "disk_bytes", false, BYTES },
	[FRONT_QUOTA_MAX_WALL] = { "max_wall_s", true, WEEK_MS },
	[FRONT_QUOTA_MAX_CPU] = { "max_cpu_s", true, WEEK_MS },
	[FRONT_QUOTA_MAX_MEMORY] = { "max_memory_bytes", false, BYTES },
	[FRONT_QUOTA_MAX_DISK] = { "max_disk_bytes", false, BYTES },
	[FRONT_QUOTA_MAX_INODES] = { "max_files", false, 1000000000 },
	[FRONT_QUOTA_MAX_FILE] = { "max_file_bytes", false, BYTES },
	[FRONT_QUOTA_MAX_OUTPUT] = { "max_output_bytes", false, 64 << 20 },
	[FRONT_QUOTA_MAX_PIDS] = { "max_processes", false, 4194304 },
	[FRONT_QUOTA_MAX_CPU_PERCENT] = { "max_cpu_percent", false, 1000000 },
	[FRONT_QUOTA_MAX_DISPLAYS] = { "max_displays", false, 100000 },
	[FRONT_QUOTA_MAX_IDLE] = { "max_idle_timeout_s", true, 30ull * 86400 * 1000 },
	[FRONT_QUOTA_CPU_WEIGHT] = { "cpu_weight", false, 10000 },
	[FRONT_QUOTA_CPU_PERCENT] = { "cpu_percent", false, 1000000 },
	[FRONT_QUOTA_PROCESSES] = { "processes", false, 1000000 },
};

bool front_may_send(enum front_state state, uint16_t type)
{
	switch (state) {
	case FRONT_STATE_STARTING:
		return type == FRONT_READY;
	case FRONT_STATE_SERVING:
		return type == FRONT_CANCEL || type == FRONT_HANDOFF;
	}
	return false;
}

static int send_frame(int sock, struct front_head head, const struct buf *payload, int fd,
		      struct err *err)
{
	MEM_UNINIT char frame[sizeof(head) + FRONT_INLINE_MAX];
	size_t len = payload != NULL ? payload->len : 0, nfds = 0;
	cleanup_fd int blob = -1;
	int pass[2];

	if (len > FRONT_PAYLOAD_MAX)
		return err_set(err, ERR_LIMIT, "a frame of %zu bytes", len);
	if (fd >= 0)
		pass[nfds++] = fd;
	head.payload_len = (uint32_t)len;
	if (len > FRONT_INLINE_MAX) {
		if (fd_memfd_sealed("reckon-frame", payload->data, len, &blob, err) < 0)
			return (int)err->code;
		head.flags |= FRONT_FLAG_BLOB;
		pass[nfds++] = blob;
		len = 0;
	}
	memcpy(frame, &head, sizeof(head));
	if (len > 0)
		memcpy(frame + sizeof(head), payload->data, len);
	return fd_send_msg(sock, frame, sizeof(head) + len, pass, nfds, err);
}

int front_send(int sock, enum front_type type, uint64_t id, struct err *err)
{
	return send_frame(sock,
			  (struct front_head){ .magic = FRONT_MAGIC,
					       .type = (uint16_t)type,
					       .id = id },
			  NULL, -1, err);
}

int front_send_image(int sock, uint16_t type, uint64_t id, const struct buf *payload, int fd,
		     struct err *err)
{
	return send_frame(sock,
			  (struct front_head){ .magic = FRONT_MAGIC,
					       .type = type,
					       .flags = FRONT_FLAG_CALL,
					       .id = id },
			  payload, fd, err);
}

int front_send_handoff(int sock, enum front_type type, const struct buf *payload, int fd,
		       struct err *err)
{
	return send_frame(sock,
			  (struct front_head){ .magic = FRONT_MAGIC, .type = (uint16_t)type },
			  payload, fd, err);
}

static bool has_option(int fd, int name, int value)
{
	socklen_t len = sizeof(int);
	int got;

	return getsockopt(fd, SOL_SOCKET, name, &got, &len) == 0 && got == value;
}

int front_check_handoff(const struct front_head *head, const struct buf *payload, int fd,
			size_t own, size_t count, struct front_handoff *ret, struct err *err)
{
	if (head->id != 0 || head->reserved != 0 || (head->flags & FRONT_FLAG_CALL) != 0)
		return err_set(err, ERR_PROTOCOL, "a hand-off that looks like a request");
	if (payload->len < sizeof(*ret) || payload->len > sizeof(*ret) + FRONT_HANDOFF_MAX)
		return err_set(err, ERR_PROTOCOL, "a hand-off of %zu bytes", payload->len);
	memcpy(ret, payload->data, sizeof(*ret));
	if (ret->dialect >= count || ret->dialect == own)
		return err_set(err, ERR_PROTOCOL, "a hand-off from dialect %zu to %u", own,
			       ret->dialect);
	if (ret->hops > FRONT_HOPS_MAX)
		return err_set(err, ERR_PROTOCOL, "a hand-off after %u hops", ret->hops);
	/* Reject files and listening sockets. */
	if (fd < 0 || !has_option(fd, SO_TYPE, SOCK_STREAM) || !has_option(fd, SO_ACCEPTCONN, 0))
		return err_set(err, ERR_PROTOCOL, "a hand-off without a client's connection");
	return 0;
}

/* Reads the payload of a frame that was received whole; takes the blob's descriptor out of
 * `fds`. */
static int take_payload(const struct front_head *head, const char *rest, size_t rest_len, int *fds,
			size_t *nfds, struct buf *payload, struct err *err)
{
	cleanup_fd int blob = -1;

	if (head->magic != FRONT_MAGIC)
		return err_set(err, ERR_PROTOCOL, "frame without our magic number");
	if ((head->flags & ~(FRONT_FLAG_BLOB | FRONT_FLAG_CALL)) != 0 || head->reserved != 0)
		return err_set(err, ERR_PROTOCOL, "flags %u", head->flags);
	if ((head->flags & FRONT_FLAG_CALL) == 0 && head->payload_len != 0 &&
	    head->type != FRONT_HANDOFF && head->type != FRONT_CONNECTION)
		return err_set(err, ERR_PROTOCOL, "frame %u with a payload", head->type);
	if (head->payload_len > FRONT_PAYLOAD_MAX)
		return err_set(err, ERR_PROTOCOL, "frame of %u bytes", head->payload_len);
	if ((head->flags & FRONT_FLAG_BLOB) == 0) {
		if (head->payload_len != rest_len)
			return err_set(err, ERR_PROTOCOL,
				       "payload of another length than announced");
		return buf_add(payload, rest, rest_len, err);
	}
	if (*nfds == 0 || rest_len != 0)
		return err_set(err, ERR_PROTOCOL, "a blob without its memory file");
	blob = fds[--*nfds];
	if (fd_read_sealed(blob, payload, err) < 0)
		return err_wrap(err, "blob");
	if (payload->len != head->payload_len)
		return err_set(err, ERR_PROTOCOL, "a blob of another length than announced");
	return 0;
}

int front_recv(int sock, struct front_head *ret_head, struct buf *payload, int *ret_fd,
	       struct err *err)
{
	MEM_UNINIT char frame[sizeof(*ret_head) + FRONT_INLINE_MAX];
	int fds[2];
	size_t nfds;
	ssize_t n = fd_recv_msg(sock, frame, sizeof(frame), fds, ARRAY_LEN(fds), &nfds, err);
	int code;

	*ret_fd = -1;
	if (n <= 0)
		return (int)n;
	buf_clear(payload);
	memset(ret_head, 0, sizeof(*ret_head));
	if ((size_t)n < sizeof(*ret_head)) {
		code = err_set(err, ERR_PROTOCOL, "frame of %zd bytes", n);
	} else {
		memcpy(ret_head, frame, sizeof(*ret_head));
		code = take_payload(ret_head, frame + sizeof(*ret_head),
				    (size_t)n - sizeof(*ret_head), fds, &nfds, payload, err);
	}
	if (code == 0 && nfds > 1)
		code = err_set(err, ERR_PROTOCOL, "descriptors nobody asked for");
	if (code < 0) {
		fd_close_all(fds, nfds);
		return code;
	}
	if (nfds == 1)
		*ret_fd = fds[0];
	return 1;
}
