/*
 * parse.h - parses sizes, durations and specifications of the command line.
 *
 * Pure and strict: any text that does not match completely is ERR_INVALID, and the message lists
 * the valid forms. Fuzzed by test/fuzz/fuzz_cli_parse.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * "4096", "64K", "1.5G", "512MiB": a decimal number and K, M, G or T, optionally followed by "i",
 * "B" or "iB". All units are powers of 1024.
 */
int parse_size(const char *text, uint64_t *ret_bytes, struct err *err);

/*
 * "30", "1.5s", "250ms", "2m", "1h"; a bare number is seconds. The result is in milliseconds, at
 * least 1.
 */
int parse_duration(const char *text, uint64_t *ret_ms, struct err *err);

/* "1", "0.5", "2.25": a number of CPUs; the result is in hundredths. */
int parse_cpus(const char *text, uint32_t *ret_percent, struct err *err);

/* A whole number. */
int parse_count(const char *text, uint64_t *ret_count, struct err *err);

/* "100-199" (both included) or "100-" (to the end, *ret_length is 0); a colon is accepted, too. */
int parse_range(const char *text, uint64_t *ret_offset, uint64_t *ret_length, struct err *err);

/*
 * "100:199" (both included) or "100:" (to the end, *ret_last is the maximum); a dash is accepted,
 * too.
 */
int parse_lines(const char *text, uint64_t *ret_first, uint64_t *ret_last, struct err *err);

/* "NAME=value": a name that a shell accepts, and any UTF-8 value. */
int parse_env(const char *text, struct err *err);

/* A template's name: letters, digits, '.', '_' and '-', at most 63, not starting with a sign. */
int parse_template(const char *text, struct err *err);

/* A session: its id, or a name of letters, digits, '.', '_' and '-', at most 63. */
int parse_session(const char *text, struct err *err);

/*
 * "FILE" or "FILE:NAME". The last colon separates them, so a FILE whose name has a colon needs
 * NAME. NAME defaults to the last component of FILE. NAME is a safe relative path (base/file/fs.h).
 * The caller frees the results with free().
 */
int parse_file_spec(const char *text, char **ret_file, char **ret_name, struct err *err);

/*
 * "VOLUME[:PATH][:ro|rw]": a daemon's volume by name or id, writable unless "ro". PATH begins with
 * "/mnt/"; without it *ret_path is NULL. The caller frees the results with free().
 */
int parse_volume_spec(const char *text, char **ret_name, char **ret_path, bool *ret_read_only,
		      struct err *err);

/*
 * "SRC[:DST][:ro|rw]", read-only unless "rw". DST begins with "/mnt/"; without it *ret_target is
 * NULL. The caller frees the results with free().
 */
int parse_mount_spec(const char *text, char **ret_source, char **ret_target, bool *ret_writable,
		     struct err *err);
