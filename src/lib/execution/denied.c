/*
 * denied.c - explains system calls that the sandbox refused to the author of the code.
 *
 * Runs in:  libreckon.
 * Reads:    names and counts from the warden.
 * Never:    decides anything.
 */
#include "lib/execution/denied.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "codec/json_write.h"

struct advice {
	const char *name;
	const char *text;
};

#define NO_DEBUG "debuggers and tracers do not work here"
#define NO_MOUNT "file systems cannot be mounted here"
#define NO_NAMESPACE "containers and sandboxes cannot be nested here"
#define NO_NETWORK "there is no network in this session; give it the data as files"
#define NO_TIME "the clock cannot be set here"
#define NO_KERNEL "this is for administrators of a whole machine"
#define NO_KEYRING "kernel keyrings are not available here"
#define NO_URING "use ordinary reads and writes, or threads"

static const struct advice advices[] = {
	{ "add_key", NO_KEYRING },
	{ "bpf", NO_KERNEL },
	{ "chroot", NO_NAMESPACE },
	{ "clock_adjtime", NO_TIME },
	{ "clock_settime", NO_TIME },
	{ "clone", NO_NAMESPACE },
	{ "clone3", NO_NAMESPACE },
	{ "connect", NO_NETWORK },
	{ "io_uring_setup", NO_URING },
	{ "kexec_load", NO_KERNEL },
	{ "keyctl", NO_KEYRING },
	{ "mount", NO_MOUNT },
	{ "move_mount", NO_MOUNT },
	{ "open_by_handle_at", "open files by path" },
	{ "perf_event_open", "profilers that use hardware counters do not work here" },
	{ "pivot_root", NO_NAMESPACE },
	{ "process_vm_readv", NO_DEBUG },
	{ "process_vm_writev", NO_DEBUG },
	{ "ptrace", NO_DEBUG },
	{ "request_key", NO_KEYRING },
	{ "setns", NO_NAMESPACE },
	{ "settimeofday", NO_TIME },
	{ "socket", "only local sockets work here: " NO_NETWORK },
	{ "umount2", NO_MOUNT },
	{ "unshare", NO_NAMESPACE },
	{ "userfaultfd", NO_KERNEL },
};

static const char *find_advice(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(advices); i++)
		if (strcmp(advices[i].name, name) == 0)
			return advices[i].text;
	return "it is not among the calls that programs here may make";
}

void denied_diagnose(const struct warden_usage *usage, struct record *record)
{
	for (uint32_t i = 0; i < usage->denied_count && i < WARDEN_DENIED_MAX; i++) {
		const struct warden_denial *denial = &usage->denied[i];
		cleanup_buf struct buf detail = BUF_INIT(1024);
		char name[sizeof(denial->name) + 1], text[256];
		struct json_writer json;
		struct err err;

		(void)snprintf(name, sizeof(name), "%.*s", (int)sizeof(denial->name),
			       denial->name);
		(void)snprintf(text, sizeof(text), "%s was refused by the sandbox (%" PRIu64
			       "×): %s", name, denial->count, find_advice(name));
		json_write_init(&json, &detail);
		json_write_object_begin(&json);
		json_write_member_string(&json, "syscall", name);
		json_write_member_uint(&json, "count", denial->count);
		json_write_object_end(&json);
		if (json_write_finish(&json, &err) == 0)
			record_add_diagnostic(record, "syscall_denied", text, detail.data);
	}
}
