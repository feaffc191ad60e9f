/*
 * config.h - the configuration of reckond: defaults, then the file, then the command line.
 *
 * The options are rows of base/serve_options.def. A later source overrides an earlier one; every
 * value is checked, also one that is overridden. Nothing here opens, binds or starts anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/ini_text.h"

#define CONFIG_FILE_DEFAULT "/etc/reckon/reckond.conf" /* for root, if it exists */
#define CONFIG_FILE_MAX (256u * 1024u)

enum config_metrics { CONFIG_METRICS_KEY, CONFIG_METRICS_LOOPBACK, CONFIG_METRICS_OFF };

struct config {
	char config_file[4096]; /* "": none */
	uint64_t check_only;
	uint64_t is_private;   /* uses a socket of the user instead of an address; private.c */
	uint64_t idle_exit_ms; /* of a private daemon */
	uint64_t upgrade;
	char address[96]; /* as given: ADDRESS:PORT */
	uint64_t public_ok;
	char allowed_hosts[1024];
	char state_dir[4096]; /* never "": by default the same as libreckon's */
	uint64_t durability; /* 1: relaxed, which syncs nothing */
	uint64_t strict; /* refuses sessions if a wall is missing */
	uint64_t workers;
	uint64_t connections_max;
	uint64_t header_timeout_ms; /* for the fronts */
	uint64_t body_timeout_ms;
	uint64_t stop_grace_ms;
	uint64_t sessions_max;
	uint64_t idle_ms, tool_wait_ms; /* default of sessions */
	uint64_t store_keep_ms; /* 0: for ever */
	uint64_t adopt_grace_ms; /* 0: boxes end with the daemon */
	uint64_t memory_reserve;
	uint64_t overcommit;
	/* For tenants without a quota of their own; 0: unlimited. See quota_of(). */
	uint64_t quota_sessions, quota_executions, quota_queued, quota_workers, quota_requests;
	uint64_t quota_cpu_ms, quota_memory, quota_memory_used, quota_disk;
	uint64_t quota_cpu_weight, quota_cpu_percent;
	uint64_t max_memory, max_disk, max_wall_ms, max_volume;
	uint64_t quota_processes;
	char models_file[4096]; /* "": see runs/model.c for the default */
	uint64_t mcp_approve;
	uint64_t runs_max, tenant_runs_max;
	uint64_t log_level; /* enum log_level */
	uint64_t log_format; /* enum log_format */
	uint64_t log_rate;
	uint64_t history_keep_ms, session_keep_ms; /* 0: for ever */
	uint64_t audit_keep_ms, audit_archive_keep_ms; /* 0: for ever */
	uint64_t audit_entries, audit_archive_bytes;   /* 0: unlimited */
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
	size_t offset, size; /* of the member */
	uint64_t min, max;
	const char *standard;
	bool reload;
	const char *value;
	const char *summary;
};

extern const struct config_row config_rows[];
extern const size_t config_row_count;

void config_defaults(struct config *ret);

/* Sets one option from its text; `what` is its name in error messages. */
int config_set(struct config *config, const struct config_row *row, const char *what,
	       const char *value, struct err *err);

/*
 * Parses the text of a file. ERR_INVALID if there are problems; `config` may then be partly
 * changed.
 */
int config_parse(struct config *config, const char *text, size_t len,
		 struct ini_problems *problems, struct err *err);

/*
 * Loads defaults, file and command line. Writes *ret only on success. If the file has problems,
 * *err has the first, `problems` all of them.
 */
int config_load(int argc, char *const *argv, struct config *ret, struct ini_problems *problems,
		struct err *err);

/* Chooses the state directory if none is set, as libreckon does. */
void config_choose_state(struct config *config);

/*
 * Takes over options that may change at run time; returns how many changed. Appends to `ret_fixed`
 * the names of changed options that need a restart, separated by spaces.
 */
unsigned config_reload(struct config *config, const struct config *fresh, struct buf *ret_fixed);

/* The table as Markdown, for docs/configuration.md and the test that compares them. */
int config_describe(struct buf *ret, struct err *err);
