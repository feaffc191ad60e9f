/*
 * options.c - parses and checks the options of reckon run.
 *
 * Runs in:  reckon.
 * Reads:    the command line.
 * Never:    opens the files it names; input.c does that.
 */
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options/parse.h"
#include "cli/run/run.h"
#include "cli/run/entry.h"
#include "cli/run/options.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define TIB (UINT64_C(1) << 40)

const struct opt_item run_items[] = {
	{ 'c', NULL, "CODE", "run CODE; several -c and FILE share one session", OPT_HINT_NONE, NULL,
	  true },
	{ 's', "session", "NAME", "in a session that stays (reckon session --help)", OPT_HINT_LIVE,
	  OPT_LIVE_SESSIONS, false },
	RUN_OPTIONS_WHERE,
	{ OPT_ENTRY, "entry", "FILE", "run FILE of the folder DIR as a program", OPT_HINT_NONE,
	  NULL, false },
	{ 'w', "workdir", "DIR", "with --entry: working directory (/mnt/data)", OPT_HINT_NONE, NULL,
	  false, true },
	{ OPT_IMAGE, "image", "TEMPLATE", "the same as --template, for users of docker run",
	  OPT_HINT_CHOICE, "data python", false, true },
	{ OPT_NETWORK, "network", "none", "there is no other: a box has no network",
	  OPT_HINT_CHOICE, "none", false, true },
	{ OPT_STDIN, "stdin", "FILE", "what the code reads (-: our stdin)", OPT_HINT_FILE, NULL,
	  false },
	{ OPT_TOOLS, "tools", "FILE", "programs that the code may call (docs/questions.md)",
	  OPT_HINT_FILE, NULL, false, true },
	{ OPT_APPROVE, "approve", NULL, "with --tools: ask me before each call", OPT_HINT_NONE,
	  NULL, false, true },
	{ OPT_TIMEOUT, "timeout", "TIME", "limit of one cell (30s)", OPT_HINT_NONE, NULL, false },
	RUN_OPTIONS_LIMITS,
	{ OPT_MAX_TEXT, "max-text", "SIZE", "of the record's text, for a model (16K)",
	  OPT_HINT_NONE, NULL, false },
	{ OPT_JSON, "json", NULL, "print each cell's record, one line of JSON", OPT_HINT_NONE, NULL,
	  false },
	{ OPT_EVENTS, "events", NULL, "print events as they come, one line each", OPT_HINT_NONE,
	  NULL, false },
	{ OPT_RECEIPT, "receipt", NULL, "print the cost of each cell", OPT_HINT_NONE, NULL, false },
	{ OPT_KEEP_GOING, "keep-going", NULL, "run later cells also after one failed",
	  OPT_HINT_NONE, NULL, false },
	RUN_OPTION_STRICT,
	{ OPT_PRIVATE, "private", NULL, "a warden of its own, which ends with this run",
	  OPT_HINT_NONE, NULL, false, true },
	RUN_OPTIONS_STORAGE(true),
	{ OPT_URL, "url", "URL", "the daemon of -s (RECKON_URL; else your private one)",
	  OPT_HINT_NONE, NULL, false, true },
	{ OPT_KEY, "key", "KEY", "its API key; RECKON_API_KEY keeps it out of ps", OPT_HINT_NONE,
	  NULL, false, true },
	{ OPT_NO_WAIT, "no-wait", NULL, "fail when the daemon is busy (waits 60 s)", OPT_HINT_NONE,
	  NULL, false, true },
	{ OPT_ON_DISCONNECT, "on-disconnect", "WHAT",
	  "of -s, should this program be gone before a "
	  "cell's end: continue (default) it, or cancel",
	  OPT_HINT_CHOICE, "continue cancel", false, true },
};

_Static_assert(ARRAY_LEN(run_items) == RUN_ITEM_COUNT, "as run.h has it");

/* After a FILE or -c, "--" starts the program's arguments; before them, it ends our options. */
static int add_argument(struct run *run, const char *value, struct err *err)
{
	if (run->argument_count == RUN_ARGUMENTS_MAX)
		return err_set(err, ERR_INVALID, "at most %d arguments", RUN_ARGUMENTS_MAX);
	run->has_arguments = true;
	run->arguments = mem_grow(run->arguments, run->argument_count + 1, sizeof(*run->arguments));
	run->arguments[run->argument_count++] = value;
	return 0;
}

static int add_cell(struct run *run, int id, const char *value, struct err *err)
{
	if (id == OPT_ARGUMENT && run->cell_count == 0)
		run->ends_options = true;
	if (id == OPT_ARGUMENT && !run->ends_options)
		return add_argument(run, value, err);
	if (run->cell_count == RUN_CELLS_MAX)
		return err_set(err, ERR_INVALID, "at most %d cells", RUN_CELLS_MAX);
	(void)run_add_cell(run, id == 'c' ? "-c" : value, id == 'c' ? value : NULL);
	return 0;
}

static int add_file(struct run *run, const char *value, struct err *err)
{
	struct run_file file = { .fd = -1 };

	if (run->file_count == RUN_FILES_MAX)
		return err_set(err, ERR_INVALID, "at most %d files", RUN_FILES_MAX);
	if (parse_file_spec(value, &file.path, &file.name, err) < 0)
		return (int)err->code;
	run->files = mem_grow(run->files, run->file_count + 1, sizeof(*run->files));
	run->files[run->file_count++] = file;
	return 0;
}

static int add_mount(struct run *run, const char *value, struct err *err)
{
	char *source, *target;
	bool writable;

	if (run->mount_count == RUN_MOUNTS_MAX)
		return err_set(err, ERR_INVALID, "at most %d directories", RUN_MOUNTS_MAX);
	if (parse_mount_spec(value, &source, &target, &writable, err) < 0)
		return (int)err->code;
	run->mounts[run->mount_count++] = (reckon_mount){
		.source = source,
		.target = target,
		.writable = writable,
	};
	return 0;
}

static int add_volume(struct run *run, const char *value, struct err *err)
{
	struct run_volume volume = { .name = NULL };

	if (run->volume_count == RUN_VOLUMES_MAX)
		return err_set(err, ERR_INVALID, "at most %d volumes", RUN_VOLUMES_MAX);
	if (parse_volume_spec(value, &volume.name, &volume.path, &volume.read_only, err) < 0)
		return (int)err->code;
	run->volumes[run->volume_count++] = volume;
	return 0;
}

static int add_env(struct run *run, const char *value, struct err *err)
{
	if (run->env_count == RUN_ENV_MAX)
		return err_set(err, ERR_INVALID, "at most %d variables", RUN_ENV_MAX);
	if (parse_env(value, err) < 0)
		return (int)err->code;
	run->env = mem_grow(run->env, run->env_count + 2, sizeof(*run->env));
	run->env[run->env_count++] = value;
	run->env[run->env_count] = NULL;
	return 0;
}

static int size_between(const char *value, uint64_t min, uint64_t max, uint64_t *ret,
			struct err *err)
{
	char low[CLI_SIZE_TEXT], high[CLI_SIZE_TEXT];
	uint64_t bytes;

	if (parse_size(value, &bytes, err) < 0)
		return (int)err->code;
	if (bytes < min || bytes > max) {
		cli_format_binary(min, low);
		cli_format_binary(max, high);
		err_set(err, ERR_INVALID, "%.60s is out of range", value);
		return err_remedy(err, "from %s to %s", low, high);
	}
	*ret = bytes;
	return 0;
}

static int count_between(const char *value, uint64_t min, uint64_t max, uint32_t *ret,
			 struct err *err)
{
	uint64_t count;

	if (parse_count(value, &count, err) < 0)
		return (int)err->code;
	if (count < min || count > max) {
		err_set(err, ERR_INVALID, "%.60s is out of range", value);
		return err_remedy(err, "from %llu to %llu", (unsigned long long)min,
				  (unsigned long long)max);
	}
	*ret = (uint32_t)count;
	return 0;
}

static int set_time(uint64_t *ret_ms, const char *value, struct err *err)
{
	uint64_t ms;

	if (parse_duration(value, &ms, err) < 0)
		return (int)err->code;
	if (ms > UINT64_C(7) * 24 * 3600 * 1000) {
		err_set(err, ERR_INVALID, "%.60s is out of range", value);
		return err_remedy(err, "at most 168h");
	}
	*ret_ms = ms;
	return 0;
}

static int set_cpus(struct run *run, const char *value, struct err *err)
{
	uint32_t percent;

	if (parse_cpus(value, &percent, err) < 0)
		return (int)err->code;
	if (percent > 102400) {
		err_set(err, ERR_INVALID, "%.60s is out of range", value);
		return err_remedy(err, "from 0.01 to 1024");
	}
	run->limits.cpu_percent = percent;
	return 0;
}

static int set_limit(struct run *run, int id, const char *value, struct err *err)
{
	reckon_limits *limits = &run->limits;

	switch (id) {
	case OPT_TIMEOUT:
		return set_time(&limits->wall_ms, value, err);
	case OPT_CPU_TIME:
		return set_time(&limits->cpu_ms, value, err);
	case OPT_MEMORY:
		return size_between(value, 16 * MIB, TIB, &limits->memory_bytes, err);
	case OPT_CPUS:
		return set_cpus(run, value, err);
	case OPT_PIDS:
		return count_between(value, 1, 32768, &limits->pids, err);
	case OPT_DISK:
		return size_between(value, 1 * MIB, TIB, &limits->disk_bytes, err);
	case OPT_MAX_TEXT:
		return size_between(value, 1 * KIB, 1 * MIB, &run->text_bytes, err);
	default:
		return size_between(value, 1 * KIB, 64 * MIB, &limits->output_bytes, err);
	}
}

static int set_language(struct run *run, const char *value, struct err *err)
{
	const struct language *language = language_find_label(value, strlen(value));

	if (language == NULL)
		return language_unknown(value, err);
	run->language = language->name;
	run->language_given = true;
	return 0;
}

/* The value has one or both names, in any order. */
static int set_isolation(struct run *run, const char *value, struct err *err)
{
	static const struct {
		const char *name;
		unsigned flag;
	} known[] = { { "core", RECKON_SESSION_CORE_SCHEDULING },
		      { "speculation", RECKON_SESSION_NO_SPECULATION } };

	for (const char *at = value; at != NULL;) {
		const size_t len = strcspn(at, ",");
		size_t i = 0;

		while (i < ARRAY_LEN(known) &&
		       (strlen(known[i].name) != len || strncmp(at, known[i].name, len) != 0))
			i++;
		if (i == ARRAY_LEN(known)) {
			err_set(err, ERR_INVALID, "\"%.60s\" is not a list of walls", value);
			return err_remedy(err, "core, speculation, or core,speculation");
		}
		run->session_flags |= known[i].flag;
		at = at[len] == ',' ? at + len + 1 : NULL;
	}
	return 0;
}

static int set_switch(struct run *run, int id)
{
	switch (id) {
	case OPT_JSON:
		run->json = true;
		break;
	case OPT_EVENTS:
		run->events = true;
		break;
	case OPT_RECEIPT:
		run->receipt = true;
		break;
	case OPT_KEEP_GOING:
		run->keep_going = true;
		break;
	case OPT_STRICT:
		run->strict = true;
		break;
	case OPT_APPROVE:
		run->approve = true;
		break;
	case OPT_NO_WAIT:
		run->no_wait = true;
		break;
	default:
		run->private_warden = true;
		break;
	}
	return 0;
}

static int check_network(const char *value, struct err *err)
{
	if (strcmp(value, "none") == 0)
		return 0;
	err_set(err, ERR_INVALID, "'%.60s': a box has no network", value);
	return err_remedy(err, "--network none, or leave it out; files go in with -f and -m");
}

static int take_value(struct run *run, int id, const char *value, struct err *err)
{
	switch (id) {
	case 'c':
	case OPT_OPERAND:
	case OPT_ARGUMENT:
		return add_cell(run, id, value, err);
	case 'l':
		return set_language(run, value, err);
	case OPT_ENTRY:
		run->entry = value;
		return 0;
	case 'w':
		run->workdir = value;
		return value[0] != '\0' && strlen(value) < 1000
			       ? 0
			       : err_set(err, ERR_INVALID, "'%.60s' is not a folder", value);
	case OPT_NETWORK:
		return check_network(value, err);
	case OPT_IMAGE:
	case 't':
		run->template_name = value;
		return parse_template(value, err);
	case 'f':
		return add_file(run, value, err);
	case 'm':
		return add_mount(run, value, err);
	case 'v':
		return add_volume(run, value, err);
	case OPT_SNAPSHOT:
		run->snapshot = value;
		return value[0] != '\0' ? 0 : err_set(err, ERR_INVALID, "it is empty");
	case 'o':
		run->out_path = value;
		return 0;
	case 's':
		run->session = value;
		return parse_session(value, err);
	case OPT_URL:
		run->url = value;
		return 0;
	case OPT_KEY:
		run->key = value;
		return 0;
	case OPT_ON_DISCONNECT:
		run->on_disconnect = value;
		if (strcmp(value, "continue") == 0 || strcmp(value, "cancel") == 0)
			return 0;
		return err_set(err, ERR_INVALID,
			       "invalid value '%.60s': expected continue or cancel", value);
	case OPT_TOOLS:
		run->tools_path = value;
		return 0;
	case OPT_STDIN:
		run->stdin_path = value;
		return 0;
	case OPT_ISOLATE_CPU:
		return set_isolation(run, value, err);
	case OPT_ENV:
		return add_env(run, value, err);
	default:
		return set_limit(run, id, value, err);
	}
}

/* Puts the option's name before the error about its value. */
int run_options_take(int id, const char *value, void *arg, struct err *err)
{
	struct run *run = arg;

	if (value == NULL)
		return set_switch(run, id);
	if (take_value(run, id, value, err) == 0)
		return 0;
	for (size_t i = 0; i < RUN_ITEM_COUNT; i++) {
		if (run_items[i].id != id)
			continue;
		if (run_items[i].name != NULL)
			return err_wrap(err, "--%s", run_items[i].name);
		return err_wrap(err, "-%c", run_items[i].id);
	}
	return (int)err->code;
}

/*
 * Without -l, the file suffixes choose the language. All must agree: the cells run in one kernel.
 */
static int choose_language(struct run *run, struct err *err)
{
	const struct language *chosen = NULL;
	const char *by = NULL;

	if (run->language != NULL)
		return 0;
	for (size_t i = 0; i < run->cell_count; i++) {
		const struct run_cell *cell = &run->cells[i];
		const struct language *named =
			cell->inline_text == NULL ? language_find_path(cell->origin) : NULL;

		if (named == NULL)
			continue;
		if (chosen != NULL && chosen != named) {
			(void)err_set(err, ERR_INVALID, "%.100s is %s, %.100s is %s", by,
				      chosen->prose_name, cell->origin, named->prose_name);
			return err_remedy(err, "run them one after the other, or name the language "
					       "of all with -l");
		}
		chosen = named;
		by = cell->origin;
	}
	if (chosen != NULL)
		run->language = chosen->name;
	return 0;
}

/* With -s, refuses options that only a box of our own can have. */
static int check_fit(const struct run *run, struct err *err)
{
	const char *option = run->mount_count > 0      ? "--mount"
			     : run->stdin_path != NULL ? "--stdin"
			     : run->session_flags != 0 ? "--isolate-cpu"
			     : run->strict	       ? "--strict"
			     : run->private_warden     ? "--private"
						       : NULL;

	if (option == NULL)
		return 0;
	(void)err_set(err, ERR_INVALID, "%s cannot be used with -s: the session is a daemon's",
		      option);
	if (run->mount_count > 0)
		return err_remedy(err, "-f, or reckon files put, takes files there");
	return err_remedy(err, "leave it out, or run without -s");
}

int run_options_check_session(const struct run *run, struct err *err)
{
	if (run->session != NULL)
		return check_fit(run, err);
	if (run->volume_count > 0 || run->snapshot != NULL) {
		err_set(err, ERR_INVALID,
			"--%s needs -s: a daemon keeps it, for sessions that "
			"stay",
			run->volume_count > 0 ? "volume" : "snapshot");
		return err_remedy(err, "name the session: -s NAME%s",
				  run->volume_count > 0 ? "; -m shows a directory without one" : "");
	}
	if (run->url == NULL && run->key == NULL)
		return 0;
	err_set(err, ERR_INVALID, "--url and --key need -s: without a session no daemon is asked");
	return err_remedy(err, "name the session: -s NAME --url URL");
}

int run_options_check(struct run *run, struct err *err)
{
	if (run_options_check_session(run, err) < 0)
		return (int)err->code;
	if (run->json && run->events) {
		err_set(err, ERR_INVALID, "--json and --events cannot be used together");
		return err_remedy(err, "the last line of --events holds the record");
	}
	if (run->approve && run->tools_path == NULL) {
		err_set(err, ERR_INVALID,
			"--approve needs --tools: it asks before each call of one");
		return err_remedy(err, "reckon run --tools FILE --approve");
	}
	if (run->session == NULL && run->on_disconnect != NULL) {
		err_set(err, ERR_INVALID,
			"--on-disconnect needs -s: a session of one's own ends "
			"with its program");
		return err_remedy(err, "reckon run -s NAME --on-disconnect cancel");
	}
	if (run->entry == NULL && run->workdir != NULL) {
		err_set(err, ERR_INVALID, "--workdir needs --entry: cells begin in /mnt/data");
		return err_remedy(err, "os.chdir() in a cell, or reckon run --entry FILE DIR");
	}
	if (run->entry != NULL)
		return run_entry_check(run, err);
	run->mode = run->json	? RUN_MODE_JSON
		    : run->events ? RUN_MODE_EVENTS
				  : RUN_MODE_TEXT;
	if (run->cell_count == 0 && isatty(STDIN_FILENO)) {
		err_set(err, ERR_INVALID, "nothing to run");
		return err_remedy(err, "give -c CODE, a FILE, or - for stdin; see reckon run "
				       "--help");
	}
	if (run->cell_count == 0)
		(void)run_add_cell(run, "-", NULL);
	return choose_language(run, err);
}
