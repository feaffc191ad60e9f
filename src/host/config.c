/*
 * config.c - reads options from a file and the command line, by one table.
 *
 * Runs in:  reckond, before it starts and at SIGHUP.
 * Reads:    the command line, the configuration file, environment variables.
 * Never:    accepts an unknown option, or adjusts a value that is out of range.
 */
#include "host/config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"

#define OPTION(section_, name_, kind_, member_, min_, max_, standard_, when_, value_, summary_) \
	{ .section = section_, .name = name_, .kind = CONFIG_##kind_,                           \
	  .offset = offsetof(struct config, member_),                                           \
	  .size = sizeof(((struct config *)NULL)->member_), .min = min_, .max = max_,           \
	  .standard = standard_, .reload = WHEN_##when_, .value = value_, .summary = summary_ },
#define WHEN_RELOAD true
#define WHEN_START false

const struct config_row config_rows[] = {
#include "base/serve_options.def"
};
#undef OPTION

const size_t config_row_count = ARRAY_LEN(config_rows);

/* Each number needs eight bytes, because put() writes as many. */
#define OPTION(section_, name_, kind_, member_, min_, max_, standard_, when_, value_, summary_) \
	_Static_assert(CONFIG_##kind_ <= CONFIG_DIR                                             \
			       ? sizeof(((struct config *)NULL)->member_) > (max_)              \
			       : sizeof(((struct config *)NULL)->member_) == sizeof(uint64_t),  \
		       name_);
#include "base/serve_options.def"
#undef OPTION

/* ---- values --------------------------------------------------------------------------------- */

static void put(struct config *config, const struct config_row *row, uint64_t value)
{
	memcpy((char *)config + row->offset, &value, sizeof(value));
}

static uint64_t get(const struct config *config, const struct config_row *row)
{
	uint64_t value;

	memcpy(&value, (const char *)config + row->offset, sizeof(value));
	return value;
}

struct unit {
	const char *name;
	uint64_t factor;
};

/* Accepts digits and at most one unit: no sign, space or fraction, and no overflow. */
static bool read_number(const char *text, const struct unit *units, uint64_t *ret)
{
	const size_t digits = strspn(text, "0123456789");
	uint64_t factor = 0;
	char *end;

	if (digits == 0 || digits > 18)
		return false;
	*ret = strtoull(text, &end, 10);
	for (; units->name != NULL; units++)
		if (strcmp(end, units->name) == 0)
			factor = units->factor;
	return factor != 0 && !__builtin_mul_overflow(*ret, factor, ret);
}

static int set_number(struct config *config, const struct config_row *row, const char *what,
		      const char *value, const struct unit *units, uint64_t scale,
		      const char *examples, struct err *err)
{
	uint64_t number;

	if (!read_number(value, units, &number) || number < row->min || number > row->max)
		return err_set(err, ERR_INVALID, "%s takes %s from %llu to %llu", what, examples,
			       (unsigned long long)row->min, (unsigned long long)row->max);
	put(config, row, number * scale);
	return 0;
}

static int set_text(struct config *config, const struct config_row *row, const char *what,
		    const char *value, struct err *err)
{
	const size_t len = strlen(value);

	if (len < row->min || len > row->max)
		return err_set(err, ERR_INVALID, "%s takes %llu to %llu characters", what,
			       (unsigned long long)row->min, (unsigned long long)row->max);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)value[i] < 0x20 || value[i] == 0x7f)
			return err_set(err, ERR_INVALID, "%s has a control character", what);
	memcpy((char *)config + row->offset, value, len + 1);
	return 0;
}

static int set_switch(struct config *config, const struct config_row *row, const char *what,
		      const char *value, struct err *err)
{
	const bool yes = strcmp(value, "yes") == 0 || strcmp(value, "true") == 0;

	if (!yes && strcmp(value, "no") != 0 && strcmp(value, "false") != 0)
		return err_set(err, ERR_INVALID, "%s takes yes or no", what);
	put(config, row, yes);
	return 0;
}

static int set_choice(struct config *config, const struct config_row *row, const char *what,
		      const char *value, struct err *err)
{
	const size_t len = strlen(value);
	const char *at = row->value;

	for (uint64_t i = 0; i <= row->max; i++) {
		const size_t word = strcspn(at, " ");

		if (word == len && memcmp(at, value, len) == 0) {
			put(config, row, i);
			return 0;
		}
		at += word + (at[word] == ' ');
	}
	return err_set(err, ERR_INVALID, "%s takes one of %s", what, row->value);
}

int config_set(struct config *config, const struct config_row *row, const char *what,
	       const char *value, struct err *err)
{
	static const struct unit none[] = { { "", 1 }, { NULL, 0 } };
	static const struct unit times[] = { { "", 1 },	  { "s", 1 },	  { "m", 60 },
					     { "h", 3600 }, { "d", 86400 }, { NULL, 0 } };
	static const struct unit sizes[] = { { "", 1 },		{ "K", 1ull << 10 },
					     { "M", 1ull << 20 }, { "G", 1ull << 30 },
					     { "T", 1ull << 40 }, { NULL, 0 } };

	switch (row->kind) {
	case CONFIG_TEXT:
	case CONFIG_FILE:
	case CONFIG_DIR:
		return set_text(config, row, what, value, err);
	case CONFIG_SWITCH:
		return set_switch(config, row, what, value, err);
	case CONFIG_NUMBER:
		return set_number(config, row, what, value, none, 1, "a number", err);
	case CONFIG_SECONDS:
		return set_number(config, row, what, value, times, 1000,
				  "seconds (or 5m, 2h, 7d)", err);
	case CONFIG_SIZE:
		return set_number(config, row, what, value, sizes, 1, "bytes (or 512M, 2G)", err);
	case CONFIG_CHOICE:
		return set_choice(config, row, what, value, err);
	}
	return err_set(err, ERR_INVALID, "%s", what);
}

void config_defaults(struct config *ret)
{
	struct err ignored;

	memset(ret, 0, sizeof(*ret));
	/* Cannot fail: a unit test checks that each default is a valid value. */
	for (size_t i = 0; i < config_row_count; i++)
		(void)config_set(ret, &config_rows[i], config_rows[i].name,
				 config_rows[i].standard, &ignored);
}

/* ---- the file ------------------------------------------------------------------------------- */

struct parsing {
	struct config *config;
	struct ini_text text;
	bool is_seen[128];
};

_Static_assert(ARRAY_LEN(config_rows) <= ARRAY_LEN(((struct parsing *)NULL)->is_seen),
	       "each row is seen once");

static int take_pair(void *arg, const char *section, const char *name, const char *value)
{
	struct parsing *parsing = arg;
	char what[64], text[240];
	struct err err;

	for (size_t i = 0; i < config_row_count; i++) {
		const struct config_row *row = &config_rows[i];

		if (row->section[0] == '\0' || strcmp(row->name, name) != 0)
			continue;
		(void)snprintf(what, sizeof(what), "\"%s\"", row->name);
		if (strcmp(row->section, section) != 0)
			(void)snprintf(text, sizeof(text), "%s belongs to [%s]", what,
				       row->section);
		else if (parsing->is_seen[i])
			(void)snprintf(text, sizeof(text), "%s was given before", what);
		else if (config_set(parsing->config, row, what, value, &err) < 0)
			(void)snprintf(text, sizeof(text), "%.239s", err.text);
		else
			text[0] = '\0';
		parsing->is_seen[i] |= strcmp(row->section, section) == 0;
		if (text[0] != '\0')
			ini_text_complain(&parsing->text, parsing->text.line, text);
		return 1;
	}
	(void)snprintf(text, sizeof(text), "\"%.60s\" is not known", name);
	ini_text_complain(&parsing->text, parsing->text.line, text);
	return 1;
}

int config_parse(struct config *config, const char *text, size_t len,
		 struct ini_problems *problems, struct err *err)
{
	struct parsing parsing = { .config = config,
				   .text = { .at = text, .end = text + len,
					     .problems = problems } };

	memset(problems, 0, sizeof(*problems));
	return ini_text_end(&parsing.text,
			    ini_parse_stream(ini_text_next, &parsing.text, take_pair, &parsing),
			    err);
}

static int read_file(const char *path, struct buf *ret, struct err *err)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "%.200s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "%.200s is not a file", path);
	if ((st.st_mode & S_IWOTH) != 0) {
		(void)err_set(err, ERR_DENIED, "%.200s can be written by anybody", path);
		return err_remedy(err, "chmod o-w it");
	}
	if (fd_read_all(fd, ret, err) < 0)
		return err_wrap(err, "%.200s", path);
	return 0;
}

static int load_file(struct config *config, struct ini_problems *problems, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(CONFIG_FILE_MAX);

	if (config->config_file[0] == '\0')
		return 0;
	if (read_file(config->config_file, &text, err) < 0)
		return (int)err->code;
	if (config_parse(config, buf_text(&text), text.len, problems, err) < 0)
		return err_wrap(err, "%.200s", config->config_file);
	return 0;
}

/* ---- the command line ----------------------------------------------------------------------- */

static int parse_arguments(int argc, char *const *argv, struct config *config, struct err *err)
{
	struct option options[ARRAY_LEN(config_rows) + 1];
	char what[64];
	int opt, index = 0;

	memset(options, 0, sizeof(options));
	for (size_t i = 0; i < config_row_count; i++)
		options[i] = (struct option){
			.name = config_rows[i].name,
			.has_arg = config_rows[i].kind == CONFIG_SWITCH ? optional_argument
								       : required_argument,
			.val = 1,
		};
	opterr = 0;
	optind = 0; /* restarts getopt: SIGHUP parses the same arguments again */
	while ((opt = getopt_long(argc, argv, "+", options, &index)) != -1) {
		if (opt != 1)
			return err_set(err, ERR_INVALID,
				       "unknown option, or one without its value; see reckon serve "
				       "--help");
		(void)snprintf(what, sizeof(what), "--%s", config_rows[index].name);
		if (config_set(config, &config_rows[index], what, optarg != NULL ? optarg : "yes",
			       err) < 0)
			return (int)err->code;
	}
	if (optind < argc)
		return err_set(err, ERR_INVALID, "unexpected argument '%.100s'", argv[optind]);
	return 0;
}

/* Whether the command line names a file, even an empty one ("--config="). */
static bool names_file(int argc, char *const *argv)
{
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "--config=", 9) == 0 || strcmp(argv[i], "--config") == 0)
			return true;
	return false;
}

/* The same directories as libreckon, in the same order. */
void config_choose_state(struct config *config)
{
	const char *given = secure_getenv("RECKON_STATE"), *home = secure_getenv("HOME");
	const char *xdg = secure_getenv("XDG_STATE_HOME");
	char *text = config->state_dir;
	const size_t size = sizeof(config->state_dir);

	if (text[0] != '\0')
		return;
	if (given != NULL && given[0] != '\0')
		(void)snprintf(text, size, "%s", given);
	else if (geteuid() == 0)
		(void)snprintf(text, size, "/var/lib/reckon");
	else if (xdg != NULL && xdg[0] != '\0')
		(void)snprintf(text, size, "%s/reckon", xdg);
	else
		(void)snprintf(text, size, "%s/.local/state/reckon", home != NULL ? home : "");
}

/*
 * RECKON_LOG, which `reckon run` and the warden use too, applies if neither file nor command line
 * set the level.
 */
static void take_log_level(struct config *config)
{
	const char *level = secure_getenv("RECKON_LOG");
	struct err ignored;

	for (size_t i = 0; level != NULL && i < config_row_count; i++)
		if (strcmp(config_rows[i].name, "log-level") == 0)
			(void)config_set(config, &config_rows[i], "RECKON_LOG", level, &ignored);
}

int config_load(int argc, char *const *argv, struct config *ret, struct ini_problems *problems,
		struct err *err)
{
	__attribute__((cleanup(cleanup_free_fn))) struct config *config =
		mem_new0(1, sizeof(*config));
	char file[sizeof(config->config_file)];

	err_clear(err);
	memset(problems, 0, sizeof(*problems));
	config_defaults(config);
	if (geteuid() == 0 && !names_file(argc, argv) && access(CONFIG_FILE_DEFAULT, F_OK) == 0)
		(void)snprintf(config->config_file, sizeof(config->config_file), "%s",
			       CONFIG_FILE_DEFAULT);
	/*
	 * Parses the command line twice: first for the name of the file, later to override the
	 * file.
	 */
	if (parse_arguments(argc, argv, config, err) < 0)
		return (int)err->code;
	memcpy(file, config->config_file, sizeof(file));
	config_defaults(config);
	take_log_level(config);
	memcpy(config->config_file, file, sizeof(file));
	if (load_file(config, problems, err) < 0 || parse_arguments(argc, argv, config, err) < 0)
		return (int)err->code;
	config_choose_state(config);
	*ret = *config;
	return 0;
}

unsigned config_reload(struct config *config, const struct config *fresh, struct buf *ret_fixed)
{
	unsigned changed = 0;
	struct err ignored;

	for (size_t i = 0; i < config_row_count; i++) {
		const struct config_row *row = &config_rows[i];
		char *ours = (char *)config + row->offset;
		const char *theirs = (const char *)fresh + row->offset;
		const bool is_text = row->kind <= CONFIG_DIR;

		if (is_text ? strcmp(ours, theirs) == 0 : get(config, row) == get(fresh, row))
			continue;
		if (!row->reload) {
			(void)buf_addf(ret_fixed, &ignored, "%s%s", ret_fixed->len > 0 ? " " : "",
				       row->name);
			continue;
		}
		memcpy(ours, theirs, row->size);
		changed++;
	}
	return changed;
}

int config_describe(struct buf *ret, struct err *err)
{
	const char *section = "";

	for (size_t i = 0; i < config_row_count; i++) {
		const struct config_row *row = &config_rows[i];

		if (row->section[0] == '\0')
			continue;
		if (strcmp(section, row->section) != 0 &&
		    buf_addf(ret, err,
			     "%s## [%s]\n\n| key | default | SIGHUP | |\n|---|---|---|---|\n",
			     section[0] != '\0' ? "\n" : "", row->section) < 0)
			return (int)err->code;
		section = row->section;
		if (buf_addf(ret, err, "| `%s` | %s%s%s | %s | %s |\n", row->name,
			     row->standard[0] != '\0' ? "`" : "", row->standard,
			     row->standard[0] != '\0' ? "`" : "", row->reload ? "yes" : "restart",
			     row->summary) < 0)
			return (int)err->code;
	}
	return 0;
}
