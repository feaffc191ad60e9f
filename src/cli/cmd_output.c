/*
 * cmd_output.c - reckon output, reckon artifact: fetch stored outputs and artifacts of earlier
 * executions.
 *
 * Runs in:  reckon.
 * Reads:    stored bytes that a box produced.
 * Never:    prints them to a terminal unescaped, or creates a file before it is complete.
 */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/options/parse.h"
#include "cli/remote/remote.h"
#include "cli/run/run.h"
#include "codec/page.h"
#include "reckon.h"

#define SHOWN_MAX ((size_t)1024 * 1024 * 1024)

#define OUTPUT_REMOTE                                                                             \
	{ REMOTE_OPT_URL, "url", "URL", "ask this daemon (else: here, as `run` left it)",          \
	  OPT_HINT_NONE, NULL, false },                                                           \
	{ REMOTE_OPT_KEY, "key", "KEY", "its API key; RECKON_API_KEY keeps it out of ps",         \
	  OPT_HINT_NONE, NULL, false }

enum { OPT_RANGE = OPT_LONG, OPT_LINES, OPT_GREP, OPT_HEAD, OPT_TAIL, OPT_ALL };

struct fetch {
	const char *command; /* the command's name, for messages */
	const char *id;
	const char *path; /* the argument of -o, or NULL */
	uint64_t offset, length;
	struct output_where *where;
	bool has_range, is_paged; /* paged: a limited part, chosen by lines */
	struct page_choice choice;
};

static int take_count(const char *value, const char *name, uint64_t *ret, struct err *err)
{
	uint64_t count;

	if (parse_count(value, &count, err) < 0)
		return err_wrap(err, "--%s", name);
	if (count == 0)
		return err_set(err, ERR_INVALID, "--%s must be at least 1", name);
	*ret = count;
	return 0;
}

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct fetch *fetch = arg;
	struct page_choice *choice = &fetch->choice;

	switch (id) {
	case OPT_RANGE:
		fetch->has_range = true;
		return parse_range(value, &fetch->offset, &fetch->length, err) < 0
			       ? err_wrap(err, "--range")
			       : 0;
	case OPT_LINES:
		choice->has_lines = true;
		return parse_lines(value, &choice->first, &choice->last, err) < 0
			       ? err_wrap(err, "--lines")
			       : 0;
	case OPT_GREP:
		choice->needle = value;
		return 0;
	case OPT_HEAD:
		return take_count(value, "head", &choice->head, err);
	case OPT_TAIL:
		return take_count(value, "tail", &choice->tail, err);
	case OPT_ALL:
		choice->is_all = true;
		return 0;
	case 'o':
		fetch->path = value;
		return 0;
	case REMOTE_OPT_URL:
		fetch->where->url = value;
		return 0;
	case REMOTE_OPT_KEY:
		fetch->where->key = value;
		return 0;
	default:
		if (fetch->id != NULL)
			return err_set(err, ERR_INVALID, "unexpected argument '%.100s'", value);
		fetch->id = value;
		return 0;
	}
}

/* Checks which of the options that choose a part can be used together. */
static int check_choice(struct fetch *fetch, struct err *err)
{
	const struct page_choice *choice = &fetch->choice;
	const int ways = fetch->has_range + choice->has_lines + (choice->head > 0) +
			 (choice->tail > 0);

	if (ways > 1) {
		err_set(err, ERR_INVALID,
			"--range, --lines, --head and --tail cannot be used together");
		return err_remedy(err, "--grep works with the last three");
	}
	if (fetch->has_range && choice->needle != NULL)
		return err_set(err, ERR_INVALID, "--grep looks at lines, not at a --range");
	if (choice->needle != NULL && (choice->needle[0] == '\0' || strchr(choice->needle, '\n')))
		return err_set(err, ERR_INVALID, "--grep takes a text of one line");
	if (fetch->path != NULL && (ways > fetch->has_range || choice->needle != NULL)) {
		err_set(err, ERR_INVALID, "-o writes the whole output or a --range");
		return err_remedy(err, "redirect stdout to keep chosen lines");
	}
	fetch->is_paged = strcmp(fetch->command, "output") == 0 && fetch->path == NULL &&
			  !fetch->has_range && !(choice->is_all && ways == 0 &&
						 choice->needle == NULL);
	return 0;
}

static int get(const struct fetch *fetch, int fd)
{
	return fetch->where->get(fetch->command, fetch->id, fetch->offset, fetch->length, fd,
				 fetch->where->arg);
}

/*
 * Splits the path into its directory, opened, and a name in it, so that rename() can replace the
 * file.
 */
static int split_target(const char *path, int *ret_dir, char **ret_name, struct err *err)
{
	cleanup_free char *for_dir = mem_strdup(path);
	cleanup_free char *for_name = mem_strdup(path);
	struct stat st;
	int fd;

	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		err_set(err, ERR_INVALID, "%.200s: is a directory", path);
		return err_remedy(err, "name the file to write");
	}
	fd = open(dirname(for_dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || faccessat(fd, ".", W_OK | X_OK, 0) < 0) {
		err_sys(err, "%.200s", path);
		cleanup_fd_fn(&fd);
		return err_remedy(err, "name a file in a directory that you may write to");
	}
	*ret_dir = fd;
	*ret_name = mem_strdup(basename(for_name));
	return 0;
}

static int to_file(const struct fetch *fetch)
{
	char temp[RUN_FILES_TEMP_SIZE];
	cleanup_free char *name = NULL;
	cleanup_fd int dir = -1;
	cleanup_fd int fd = -1;
	struct err err;
	int status;

	if (split_target(fetch->path, &dir, &name, &err) < 0 ||
	    run_files_create(dir, name, temp, &fd, &err) < 0) {
		err_wrap(&err, "%s", fetch->command);
		(void)cli_complain(&err);
		return EXIT_CODE_USAGE;
	}
	status = get(fetch, fd);
	if (status == EXIT_CODE_OK && run_files_commit(dir, temp, name, &err) < 0) {
		(void)cli_complain(&err);
		status = EXIT_CODE_RECKON;
	}
	if (status != EXIT_CODE_OK)
		run_files_abandon(dir, temp);
	return status;
}

/* A range may cut a character at either end; ignore that. Other invalid UTF-8 is not text. */
static bool is_text(const char *bytes, size_t len)
{
	size_t skip = 0;

	while (skip < len && skip < 3 && ((unsigned char)bytes[skip] & 0xc0) == 0x80)
		skip++;
	len -= skip;
	return memchr(bytes + skip, '\0', len) == NULL &&
	       utf8_is_valid(bytes + skip, len - utf8_incomplete_tail(bytes + skip, len));
}

/* Fetches the requested part into memory. */
static int get_bytes(const struct fetch *fetch, struct buf *ret)
{
	cleanup_fd int fd = memfd_create("reckon-output", MFD_CLOEXEC);
	struct err err;
	int status;

	if (fd < 0) {
		err_sys(&err, "%s: memfd_create", fetch->command);
		return cli_complain(&err);
	}
	status = get(fetch, fd);
	if (status != EXIT_CODE_OK)
		return status;
	if (lseek(fd, 0, SEEK_SET) < 0 || fd_read_all(fd, ret, &err) < 0)
		return cli_complain(&err);
	return EXIT_CODE_OK;
}

/* A terminal gets only text, with control characters escaped; anything else gets the raw bytes. */
static int show(const struct fetch *fetch, const struct buf *bytes)
{
	cleanup_buf struct buf shown = BUF_INIT(SHOWN_MAX * 4);
	struct term_filter filter = { .escape = true };
	struct err err;

	if (!isatty(STDOUT_FILENO))
		return cli_write_stdout(buf_text(bytes), bytes->len);
	if (!is_text(buf_text(bytes), bytes->len)) {
		err_set(&err, ERR_INVALID, "%s: %.60s is not text", fetch->command, fetch->id);
		err_remedy(&err, "-o FILE saves it");
		return cli_complain(&err);
	}
	if (term_filter_add(&filter, buf_text(bytes), bytes->len, &shown, &err) < 0 ||
	    term_filter_end(&filter, &shown, &err) < 0)
		return cli_complain(&err);
	return cli_write_stdout(buf_text(&shown), shown.len);
}

static int to_terminal(const struct fetch *fetch)
{
	cleanup_buf struct buf bytes = BUF_INIT(SHOWN_MAX);
	int status = get_bytes(fetch, &bytes);

	return status == EXIT_CODE_OK ? show(fetch, &bytes) : status;
}

/*
 * Prints one page to stdout. stderr says which part it is and how to get the next one, so that
 * stdout has only the output's own bytes.
 */
static int to_page(const struct fetch *fetch)
{
	cleanup_buf struct buf bytes = BUF_INIT(SHOWN_MAX);
	cleanup_buf struct buf page = BUF_INIT(SHOWN_MAX);
	cleanup_buf struct buf notice = BUF_INIT(4096);
	char name[1024];
	struct err err;
	int status = get_bytes(fetch, &bytes);

	if (status != EXIT_CODE_OK)
		return status;
	/* The command that the message suggests has to name the daemon, too. */
	(void)snprintf(name, sizeof(name), "%s%s%s", fetch->where->url != NULL ? "--url " : "",
		       fetch->where->url != NULL ? fetch->where->url : "",
		       fetch->where->url != NULL ? " " : "");
	(void)snprintf(name + strlen(name), sizeof(name) - strlen(name), "%s", fetch->id);
	if (page_choose(&fetch->choice, buf_text(&bytes), bytes.len, name, &page, &notice, &err) <
	    0) {
		err_wrap(&err, "%s", fetch->command);
		(void)cli_complain(&err);
		return EXIT_CODE_USAGE;
	}
	status = show(fetch, &page);
	if (notice.len > 0)
		run_output_line("reckon: %s", buf_text(&notice));
	return status;
}

int output_run(const struct opt_command *self, int argc, char **argv, struct output_where *where)
{
	struct fetch fetch = { .command = self->name, .where = where };
	struct err err;
	int rc = opt_parse(self, argc, argv, take, &fetch, &err);

	if (rc == 0 && fetch.id == NULL) {
		rc = err_set(&err, ERR_INVALID, "%s: missing argument HANDLE", self->name);
		rc = err_remedy(&err, "reckon %s %s", self->name, self->operands);
	}
	if (rc == 0 && check_choice(&fetch, &err) < 0)
		rc = err_wrap(&err, "%s", self->name);
	if (rc != 0)
		return cli_settle(self, rc, &err);
	/* reckon-client makes the requests to a daemon. */
	if (where->get == NULL)
		return remote_hand_over(argc, argv, where->key);
	if (fetch.path != NULL)
		return to_file(&fetch);
	if (fetch.is_paged)
		return to_page(&fetch);
	return isatty(STDOUT_FILENO) ? to_terminal(&fetch) : get(&fetch, STDOUT_FILENO);
}

/* Reads from this machine's own store. */
static int get_here(const char *command, const char *id, uint64_t offset, uint64_t length, int fd,
		    void *arg)
{
	const reckon_engine_options options = { .size = sizeof(options) };
	reckon_engine *engine;
	reckon_error error;
	int status = EXIT_CODE_OK;

	(void)arg;
	if (reckon_engine_open(&options, &engine, &error) < 0)
		return cli_complain_reckon(command, &error);
	if (reckon_artifact_get(engine, id, offset, length, fd, &error) < 0)
		status = cli_complain_reckon(command, &error);
	reckon_engine_close(engine);
	return status;
}

static int note_where(int id, const char *value, void *arg, struct err *err)
{
	struct output_where *where = arg;

	(void)value;
	(void)err;
	if (id == REMOTE_OPT_URL || id == REMOTE_OPT_KEY)
		where->get = NULL;
	return 0;
}

static int cmd_fetch(const struct opt_command *self, int argc, char **argv)
{
	struct output_where where = { .get = get_here };
	struct err ignored;

	(void)opt_parse(self, argc, argv, note_where, &where, &ignored);
	return output_run(self, argc, argv, &where);
}

static const struct opt_item output_items[] = {
	{ OPT_LINES, "lines", "A:B", "these lines, counting from 1; A: to the end", OPT_HINT_NONE,
	  NULL, false },
	{ OPT_HEAD, "head", "N", "the first N lines", OPT_HINT_NONE, NULL, false },
	{ OPT_TAIL, "tail", "N", "the last N lines", OPT_HINT_NONE, NULL, false },
	{ OPT_GREP, "grep", "TEXT", "of them, those with TEXT in them, numbered", OPT_HINT_NONE,
	  NULL, false },
	{ OPT_ALL, "all", NULL, "print everything instead of one page of 16 KiB", OPT_HINT_NONE,
	  NULL, false },
	{ OPT_RANGE, "range", "A-B", "these bytes, counting from 0; A- to the end", OPT_HINT_NONE,
	  NULL, false },
	{ 'o', "output", "FILE", "write everything to FILE", OPT_HINT_FILE, NULL, false },
	OUTPUT_REMOTE,
};

const struct opt_command cmd_output_table = {
	.name = "output",
	.is_minor = true,
	.operands = "HANDLE",
	.summary = "read output that was cut (out_...)",
	.items = output_items,
	.count = ARRAY_LEN(output_items),
	.run = cmd_fetch,
};

static const struct opt_item artifact_items[] = {
	{ 'o', "output", "FILE", "write to FILE", OPT_HINT_FILE, NULL, false },
	OUTPUT_REMOTE,
};

const struct opt_command cmd_artifact_table = {
	.name = "artifact",
	.is_minor = true,
	.operands = "ID",
	.summary = "fetch a file that an execution produced (ar_...)",
	.items = artifact_items,
	.count = ARRAY_LEN(artifact_items),
	.run = cmd_fetch,
};
