/*
 * config.h - what reckond is told: defaults, then the file, then the command line.
 *
 * The options are rows of base/serve_options.def. A later source overrides an earlier one; every
 * value is judged, also one that is overridden. Nothing here opens, binds or starts anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/ini_text.h"

#define CONFIG_FILE_DEFAULT "/etc/reckon/reckond.conf" /* of root, when it is there */
#define CONFIG_FILE_MAX (256u * 1024u)

enum config_metrics { CONFIG_METRICS_KEY, CONFIG_METRICS_LOOPBACK, CONFIG_METRICS_OFF };

struct config {
	char config_file[4096]; /* "": none */
	uint64_t check_only;
	uint64_t is_private;   /* a socket of the user's instead of an address; private.c */
	uint64_t idle_exit_ms; /* of a private one */
	uint64_t upgrade;
	char address[96]; /* as given: ADDRESS:PORT */
	uint64_t public_ok;
	char allowed_hosts[1024];
	char state_dir[4096]; /* never "": as libreckon chooses when nobody named one */
	uint64_t durability; /* 1: relaxed, nothing is synced to the disk */
	uint64_t strict; /* no session where a wall is missing */
	uint64_t workers;
	uint64_t connections_max;
	uint64_t header_timeout_ms; /* the front's */
	uint64_t body_timeout_ms;
	uint64_t stop_grace_ms;
	uint64_t sessions_max;
	uint64_t idle_ms, tool_wait_ms; /* of sessions that name none */
	uint64_t store_keep_ms; /* 0: for ever */
	uint64_t adopt_grace_ms; /* 0: boxes end with the daemon */
	uint64_t memory_reserve;
	uint64_t overcommit;
	/* Of tenants that have no quota of their own; 0: none. quota_of() knows which is which. */
	uint64_t quota_sessions, quota_executions, quota_queued, quota_workers, quota_requests;
	uint64_t quota_cpu_ms, quota_memory, quota_memory_used, quota_disk;
	uint64_t quota_cpu_weight, quota_cpu_percent;
	uint64_t max_memory, max_disk, max_wall_ms, max_volume;
	uint64_t quota_processes;
	char models_file[4096]; /* "": runs/model.c knows where */
	uint64_t mcp_approve;
	uint64_t runs_max, tenant_runs_max;
	uint64_t log_level; /* enum log_level */
	uint64_t log_format; /* enum log_format */
	uint64_t log_rate;
	uint64_t history_keep_ms, session_keep_ms; /* 0: for ever */
	uint64_t audit_keep_ms, audit_archive_keep_ms; /* 0: for ever */
	uint64_t audit_entries, audit_archive_bytes;   /* 0: any */
	uint64_t metrics; /* enum config_metrics */
};

enum config_kind {
	CONFIG_TEXT,
	CONFIG_FILE,
	CONFIG_DIR,
	CONFIG_SWITCH,
	CONFIG_NUMBER,
	CONFIG_SECONDS,
	CONFIG_SIZE,
	CONFIG_CHOICE,
};

struct config_row {
	const char *section;
	const char *name;
	enum config_kind kind;
	size_t offset, size; /* of its member */
	uint64_t min, max;
	const char *standard;
	bool reload;
	const char *value;
	const char *summary;
};

extern const struct config_row config_rows[];
extern const size_t config_row_count;

void config_defaults(struct config *ret);

/* One value as it is written; `what` names it in the message. */
int config_set(struct config *config, const struct config_row *row, const char *what,
	       const char *value, struct err *err);

/* The text of a file. ERR_INVALID when there is any problem; `config` is then half changed. */
int config_parse(struct config *config, const char *text, size_t len,
		 struct ini_problems *problems, struct err *err);

/*
 * Everything: defaults, file, command line. *ret is written only on success. With a problem in
 * the file *err names the first, `problems` all of them.
 */
int config_load(int argc, char *const *argv, struct config *ret, struct ini_problems *problems,
		struct err *err);

/* The directory that libreckon takes when nobody names one. */
void config_choose_state(struct config *config);

/*
 * Takes over what may change at run time. The names of options that differ and need a restart are
 * put into `ret_fixed`, separated by spaces; returns how many changed.
 */
unsigned config_reload(struct config *config, const struct config *fresh, struct buf *ret_fixed);

/* The table as rows of Markdown, for docs/configuration.md and the test that compares them. */
int config_describe(struct buf *ret, struct err *err);
