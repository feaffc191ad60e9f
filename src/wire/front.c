/*
 * front.c - frames between reckon-front and reckond, and who may send what.
 *
 * Runs in:  reckon-front, reckond and tests.
 * Reads:    frames of a front that may be captured.
 * Never:    trusts a length, a count or a descriptor.
 */
#include "wire/front.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/mem.h"

#define HANDLE_MAX 40u
#define PATH_MAX_BYTES 4095u
#define NAME_MAX_BYTES 63u
#define ETAGS_MAX 1024u
#define TOKEN_MAX 95u
#define MODEL_MAX 320u

/* How long a field of this tag may be in a request, and how long it must be. */
static const struct bound {
	uint32_t min;
	uint32_t max;
} bounds[] = {
	[FRONT_TAG_KEY] = { 0, FRONT_KEY_MAX },
	[FRONT_TAG_SESSION] = { 1, FRONT_ID_MAX },
	[FRONT_TAG_EXECUTION] = { 1, FRONT_ID_MAX },
	[FRONT_TAG_TEMPLATE] = { 1, NAME_MAX_BYTES },
	[FRONT_TAG_LANGUAGE] = { 1, NAME_MAX_BYTES },
	[FRONT_TAG_BACKGROUND] = { 0, 0 },
	[FRONT_TAG_IDEMPOTENCY] = { 1, FRONT_KEY_MAX },
	[FRONT_TAG_PATH] = { 1, PATH_MAX_BYTES },
	[FRONT_TAG_HANDLE] = { 1, HANDLE_MAX },
	[FRONT_TAG_AFTER] = { 8, 8 },
	[FRONT_TAG_BEFORE] = { 1, FRONT_ID_MAX },
	[FRONT_TAG_LIMIT] = { 8, 8 },
	[FRONT_TAG_SIZE] = { 8, 8 },
	[FRONT_TAG_TICKET] = { 8, 8 },
	[FRONT_TAG_ID] = { 1, FRONT_ID_MAX },
	[FRONT_TAG_NAME] = { 1, NAME_MAX_BYTES },
	[FRONT_TAG_CONTEXT] = { 1, FRONT_ID_MAX },
	[FRONT_TAG_REQUEST] = { 1, FRONT_REQUEST_ID_MAX },
	[FRONT_TAG_TRACE] = { 48, 48 },
	[FRONT_TAG_IF_MATCH] = { 1, ETAGS_MAX },
	[FRONT_TAG_IF_NONE] = { 1, ETAGS_MAX },
	[FRONT_TAG_TO_PATH] = { 1, PATH_MAX_BYTES },
	[FRONT_TAG_OVERWRITE] = { 0, 0 },
	[FRONT_TAG_RECURSIVE] = { 8, 8 },
	[FRONT_TAG_FORMAT] = { 1, 15 },
	[FRONT_TAG_TOKEN] = { 1, TOKEN_MAX },
	[FRONT_TAG_EXPIRES_S] = { 8, 8 },
	[FRONT_TAG_MAX_DOWNLOADS] = { 8, 8 },
	[FRONT_TAG_WHAT] = { 8, 8 },
	[FRONT_TAG_ARTIFACT] = { 1, HANDLE_MAX },
	[FRONT_TAG_HEAD_ONLY] = { 0, 0 },
	[FRONT_TAG_GOES_ON] = { 0, 0 },
	[FRONT_TAG_MODEL] = { 1, MODEL_MAX },
	[FRONT_TAG_RUN_LIMITS] = { sizeof(struct front_run_limits),
				   sizeof(struct front_run_limits) },
	[FRONT_TAG_KEEP] = { 0, 0 },
	[FRONT_TAG_RUN_FILES] = { 1, FRONT_RUN_FILES_MAX },
	[FRONT_TAG_QUESTION] = { 1, FRONT_QUESTION_MAX },
	[FRONT_TAG_FOLLOWED] = { 0, 0 },
	[FRONT_TAG_ON_DISCONNECT] = { 8, 8 },
	[FRONT_TAG_GRACE_MS] = { 8, 8 },
};

/* Tags, closed by a zero. Each fits a byte; which of them have come is a set of that many bits. */
#define TAGS(...) ((const uint8_t[]){ __VA_ARGS__, 0 })
#define NONE ((const uint8_t[]){ 0 })
#define K FRONT_TAG_KEY
#define S FRONT_TAG_SESSION

/* The table: what a request must and may hold. A type without `must` is none. */
static const struct shape {
	const uint8_t *must;
	const uint8_t *may;
} shapes[FRONT_REQUEST_COUNT] = {
	[FRONT_CANCEL] = { NONE, NONE },
	[FRONT_AUTH] = { TAGS(K), NONE },
	[FRONT_EVENTS] = { TAGS(K, S, FRONT_TAG_EXECUTION),
		TAGS(FRONT_TAG_AFTER, FRONT_TAG_GOES_ON) },
	[FRONT_FILE_LIST] = { TAGS(K, S),
		TAGS(FRONT_TAG_PATH, FRONT_TAG_RECURSIVE, FRONT_TAG_LIMIT, FRONT_TAG_TO_PATH) },
	[FRONT_FILE_GET] = { TAGS(K, S, FRONT_TAG_PATH), NONE },
	[FRONT_FILE_PUT] = { TAGS(K, S, FRONT_TAG_PATH),
		TAGS(FRONT_TAG_SIZE, FRONT_TAG_IF_MATCH, FRONT_TAG_IF_NONE) },
	[FRONT_FILE_COMMIT] = { TAGS(FRONT_TAG_TICKET), NONE },
	[FRONT_FILE_DELETE] = { TAGS(K, S, FRONT_TAG_PATH),
		TAGS(FRONT_TAG_RECURSIVE, FRONT_TAG_IF_MATCH) },
	[FRONT_ARTIFACT_GET] = { TAGS(K, FRONT_TAG_HANDLE), NONE },
	[FRONT_ARCHIVE_GET] = { TAGS(K, S, FRONT_TAG_FORMAT), TAGS(FRONT_TAG_PATH) },
	[FRONT_ARCHIVE_PUT] = { TAGS(K, S), TAGS(FRONT_TAG_PATH, FRONT_TAG_SIZE) },
	[FRONT_FILE_MOVE] = { TAGS(K, S, FRONT_TAG_PATH, FRONT_TAG_TO_PATH),
		TAGS(FRONT_TAG_OVERWRITE) },
	[FRONT_FILE_MKDIR] = { TAGS(K, S, FRONT_TAG_PATH), NONE },
	[FRONT_VERSION_LIST] = { TAGS(K, S, FRONT_TAG_PATH),
		TAGS(FRONT_TAG_BEFORE, FRONT_TAG_LIMIT) },
	[FRONT_LINK_CREATE] = { TAGS(K, S, FRONT_TAG_EXPIRES_S),
		TAGS(FRONT_TAG_PATH, FRONT_TAG_ARTIFACT, FRONT_TAG_MAX_DOWNLOADS) },
	[FRONT_LINK_DELETE] = { TAGS(K, S, FRONT_TAG_ID), NONE },
	[FRONT_LINK_GET] = { TAGS(FRONT_TAG_TOKEN), TAGS(FRONT_TAG_HEAD_ONLY) },
	[FRONT_KEPT_LIST] = { TAGS(K, S, FRONT_TAG_WHAT), TAGS(FRONT_TAG_BEFORE, FRONT_TAG_LIMIT) },
	[FRONT_RUN_CREATE] = { TAGS(K, FRONT_TAG_QUESTION),
		TAGS(S, FRONT_TAG_MODEL, FRONT_TAG_RUN_LIMITS, FRONT_TAG_KEEP,
		     FRONT_TAG_ON_DISCONNECT, FRONT_TAG_GRACE_MS,
		     FRONT_TAG_IDEMPOTENCY, FRONT_TAG_RUN_FILES, FRONT_TAG_FOLLOWED, FRONT_TAG_BACKGROUND,
		     FRONT_TAG_TEMPLATE, FRONT_TAG_LANGUAGE) },
	[FRONT_RUN_SHOW] = { TAGS(K, FRONT_TAG_ID), NONE },
	[FRONT_RUN_EVENTS] = { TAGS(K, FRONT_TAG_ID),
		TAGS(FRONT_TAG_AFTER, FRONT_TAG_GOES_ON) },
	[FRONT_RUN_INTERRUPT] = { TAGS(K, FRONT_TAG_ID), NONE },
};

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
};

bool front_may_send(enum front_state state, uint16_t type)
{
	switch (state) {
	case FRONT_STATE_STARTING:
		return type == FRONT_READY;
	case FRONT_STATE_SERVING:
		return type == FRONT_HANDOFF ||
		       (type < FRONT_REQUEST_COUNT && shapes[type].must != NULL);
	}
	return false;
}

struct tag_set {
	uint64_t bits[4];
};

static bool set_has(const struct tag_set *set, uint32_t tag)
{
	return (set->bits[tag / 64] >> tag % 64 & 1u) != 0;
}

static void set_add(struct tag_set *set, uint32_t tag)
{
	set->bits[tag / 64] |= (uint64_t)1 << tag % 64;
}

static bool list_has(const uint8_t *tags, uint32_t tag)
{
	for (; *tags != 0; tags++)
		if (*tags == tag)
			return true;
	return false;
}

int front_check(uint16_t type, const struct kernel_item *items, size_t count, struct err *err)
{
	static const uint8_t any[] = { FRONT_TAG_REQUEST, FRONT_TAG_TRACE, 0 };
	struct tag_set seen = { 0 };
	const struct shape *shape;

	if (type >= FRONT_REQUEST_COUNT || shapes[type].must == NULL)
		return err_set(err, ERR_PROTOCOL, "request %u is in no table", type);
	shape = &shapes[type];
	for (size_t i = 0; i < count; i++) {
		const uint32_t tag = items[i].tag;

		if (tag >= ARRAY_LEN(bounds) ||
		    (!list_has(shape->must, tag) && !list_has(shape->may, tag) &&
		     (type == FRONT_CANCEL || !list_has(any, tag))))
			return err_set(err, ERR_PROTOCOL, "request %u with field %u", type, tag);
		if (items[i].len < bounds[tag].min || items[i].len > bounds[tag].max)
			return err_set(err, ERR_PROTOCOL, "field %u of %u bytes", tag,
				       items[i].len);
		if (set_has(&seen, tag))
			return err_set(err, ERR_PROTOCOL, "field %u too often", tag);
		set_add(&seen, tag);
	}
	for (const uint8_t *tag = shape->must; *tag != 0; tag++)
		if (!set_has(&seen, *tag))
			return err_set(err, ERR_PROTOCOL, "request %u lacks a field", type);
	return 0;
}

int front_pack(struct buf *payload, enum front_tag tag, const void *data, size_t len,
	       struct err *err)
{
	return kernel_pack(payload, (enum kernel_tag)tag, data, len, err);
}

int front_pack_text(struct buf *payload, enum front_tag tag, const char *text, struct err *err)
{
	return front_pack(payload, tag, text, strlen(text), err);
}

int front_pack_u64(struct buf *payload, enum front_tag tag, uint64_t value, struct err *err)
{
	return front_pack(payload, tag, &value, sizeof(value), err);
}

const struct kernel_item *front_find(const struct kernel_item *items, size_t count,
				     enum front_tag tag)
{
	return kernel_find(items, count, (enum kernel_tag)tag);
}

uint64_t front_u64(const struct kernel_item *items, size_t count, enum front_tag tag,
		   uint64_t otherwise)
{
	const struct kernel_item *item = front_find(items, count, tag);
	uint64_t value;

	if (item == NULL || item->len != sizeof(value))
		return otherwise;
	memcpy(&value, item->data, sizeof(value));
	return value;
}

bool front_text(const struct kernel_item *items, size_t count, enum front_tag tag, char *ret,
		size_t size)
{
	const struct kernel_item *item = front_find(items, count, tag);

	if (item == NULL || item->len >= size || memchr(item->data, '\0', item->len) != NULL)
		return false;
	memcpy(ret, item->data, item->len);
	ret[item->len] = '\0';
	return true;
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

int front_send(int sock, enum front_type type, uint64_t id, const struct buf *payload, int fd,
	       struct err *err)
{
	const bool is_empty = payload == NULL || payload->len == 0;

	return send_frame(sock,
			  (struct front_head){ .magic = FRONT_MAGIC,
					       .type = (uint16_t)type,
					       .id = id,
					       .field_count = is_empty ? 0
								       : kernel_count_fields(payload) },
			  payload, fd, err);
}

int front_send_call(int sock, uint16_t type, uint64_t id, const struct buf *payload,
		    struct err *err)
{
	return send_frame(sock,
			  (struct front_head){ .magic = FRONT_MAGIC,
					       .type = type,
					       .flags = FRONT_FLAG_CALL,
					       .id = id },
			  payload, -1, err);
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
	if (head->id != 0 || head->field_count != 0 || (head->flags & FRONT_FLAG_CALL) != 0)
		return err_set(err, ERR_PROTOCOL, "a hand-off that looks like a request");
	if (payload->len < sizeof(*ret) || payload->len > sizeof(*ret) + FRONT_HANDOFF_MAX)
		return err_set(err, ERR_PROTOCOL, "a hand-off of %zu bytes", payload->len);
	memcpy(ret, payload->data, sizeof(*ret));
	if (ret->dialect >= count || ret->dialect == own)
		return err_set(err, ERR_PROTOCOL, "a hand-off from dialect %zu to %u", own,
			       ret->dialect);
	if (ret->hops > FRONT_HOPS_MAX)
		return err_set(err, ERR_PROTOCOL, "a hand-off after %u hops", ret->hops);
	/* Not a file, and not the socket that connections are accepted from. */
	if (fd < 0 || !has_option(fd, SO_TYPE, SOCK_STREAM) || !has_option(fd, SO_ACCEPTCONN, 0))
		return err_set(err, ERR_PROTOCOL, "a hand-off without a client's connection");
	return 0;
}

/* The payload of a frame that was received whole; takes the blob's descriptor out of `fds`. */
static int take_payload(const struct front_head *head, const char *rest, size_t rest_len, int *fds,
			size_t *nfds, struct buf *payload, struct err *err)
{
	cleanup_fd int blob = -1;

	if (head->magic != FRONT_MAGIC)
		return err_set(err, ERR_PROTOCOL, "frame without our magic number");
	if ((head->flags & ~(FRONT_FLAG_BLOB | FRONT_FLAG_CALL)) != 0 ||
	    ((head->flags & FRONT_FLAG_CALL) != 0 && head->field_count != 0))
		return err_set(err, ERR_PROTOCOL, "flags %u", head->flags);
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
