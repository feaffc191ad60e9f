/*
 * command.c - commands of the REPL: a line with % and a name. Everything else goes to the kernel.
 *
 * Runs in:  reckon repl.
 * Reads:    what the user types.
 * Never:    handles a name that is not in the table: it may be a magic of the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/options/parse.h"
#include "cli/repl/repl.h"
#include "cli/term/table.h"

#define WORDS_MAX 8
#define WORD_BYTES_MAX 8192

extern char **environ;

struct words {
	char *word[WORDS_MAX];
	size_t count;
};

typedef void command_fn(struct repl *repl, struct words *words);

static void usage(const char *text)
{
	run_output_line("usage: %s", text);
}

/* ---- looking ---- */

static void put_variable(struct term_table *table, size_t row, const struct json_value *variable)
{
	static const char *const keys[] = { "name", "type", "shape", "size", "preview" };
	char size[CLI_SIZE_TEXT];
	int64_t bytes;
	struct err ignored;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		size_t len = 0;
		const char *text = json_read_text(json_read_member(variable, keys[i]), &len);

		if (json_read_int(json_read_member(variable, keys[i]), &bytes) && bytes >= 0) {
			cli_format_size((uint64_t)bytes, size);
			text = size;
			len = strlen(size);
		}
		(void)term_table_cell(table, row, i, text != NULL ? text : "", len, &ignored);
	}
}

static void draw_variables(const struct repl *repl, const struct json_value *variables)
{
	static const char *const names[] = { "name", "type", "shape", "size", "value" };
	cleanup_buf struct buf shown = BUF_INIT(REPL_ANSWER_MAX);
	const size_t count = json_read_count(variables);
	struct term_table *table;
	struct err ignored;

	if (count == 0 || count > TERM_TABLE_CELLS_MAX / 8) {
		repl_print(count == 0 ? "No variables.\n" : "Too many variables to list.\n");
		return;
	}
	table = term_table_new(ARRAY_LEN(names), count);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		term_table_head(table, i, names[i], i == 3);
	for (size_t i = 0; i < count; i++)
		put_variable(table, i, json_read_at(variables, i));
	if (term_table_draw(table, repl_width(), repl->coloured, &shown, &ignored) == 0)
		(void)cli_write_stdout(shown.data, shown.len);
	term_table_free(table);
}

static void on_vars(struct repl *repl, struct words *words)
{
	const struct session_look look = { .kind = SESSION_LOOK_VARIABLES };
	struct json_value *variables = NULL;
	struct err err;

	(void)words;
	if (repl_is_lost(repl))
		return;
	if (repl_look(repl, &look, &variables, &err) < 0) {
		repl_failed(repl, "variables", &err);
		return;
	}
	draw_variables(repl, variables);
	json_read_free(variables);
}

static void on_files(struct repl *repl, struct words *words)
{
	(void)words;
	repl_files_list(repl);
}

static void on_put(struct repl *repl, struct words *words)
{
	repl_files_put(repl, words->word, words->count);
}

static void on_get(struct repl *repl, struct words *words)
{
	repl_files_get(repl, words->word, words->count);
}

static void on_save(struct repl *repl, struct words *words)
{
	repl_save(repl, words->word, words->count);
}

static void on_receipt(struct repl *repl, struct words *words)
{
	struct json_value *record = repl_cells_last(repl);

	(void)words;
	if (record == NULL) {
		repl_print("Nothing ran yet.\n");
		return;
	}
	repl->output.cell = repl->cells[repl->cell_count - 1].number;
	run_report_receipt(&repl->output, record);
	json_read_free(record);
}

static void on_record(struct repl *repl, struct words *words)
{
	const char *record = repl->cell_count > 0 ? repl->cells[repl->cell_count - 1].record : NULL;

	(void)words;
	if (record == NULL) {
		repl_print("Nothing ran yet.\n");
		return;
	}
	repl_print_text(record, strlen(record));
	repl_print("\n");
}

static void on_history(struct repl *repl, struct words *words)
{
	(void)words;
	for (size_t i = 0; i < repl->cell_count; i++) {
		repl_print("[%zu] ", repl->cells[i].number);
		repl_print_text(repl->cells[i].source, strlen(repl->cells[i].source));
		repl_print("\n");
	}
}

/* ---- doing ---- */

static void on_restart(struct repl *repl, struct words *words)
{
	(void)words;
	repl_restart(repl);
}

static void on_time_limit(struct repl *repl, struct words *words)
{
	uint64_t ms;
	struct err err;

	if (words->count == 1 && strcmp(words->word[0], "none") == 0) {
		repl->wall_ms = REPL_WALL_MS;
	} else if (words->count == 1) {
		if (parse_duration(words->word[0], &ms, &err) < 0) {
			(void)cli_complain(&err);
			return;
		}
		repl->wall_ms = ms < REPL_WALL_MS ? ms : REPL_WALL_MS;
	} else if (words->count > 1) {
		usage("%time-limit [TIME | none]");
		return;
	}
	if (repl->wall_ms == REPL_WALL_MS)
		repl_print("No time limit.\n");
	else
		repl_print("A cell may take %g s.\n", (double)repl->wall_ms / 1000);
}

static void on_run(struct repl *repl, struct words *words)
{
	cleanup_buf struct buf source = BUF_INIT(RUN_SOURCE_MAX);
	struct err err;

	if (words->count != 1) {
		usage("%run HOSTFILE");
		return;
	}
	if (repl_files_read(words->word[0], &source, &err) < 0)
		(void)cli_complain(&err);
	else
		repl_run(repl, source.data, source.len);
}

static void offer(struct repl *repl, const char *path)
{
	struct err err;

	buf_clear(&repl->preload);
	if (repl->editor == NULL) {
		run_output_line("this needs a terminal with a line editor");
		return;
	}
	if (repl_files_read(path, &repl->preload, &err) < 0)
		(void)cli_complain(&err);
	while (repl->preload.len > 0 && repl->preload.data[repl->preload.len - 1] == '\n')
		repl->preload.data[--repl->preload.len] = '\0';
}

static void on_load(struct repl *repl, struct words *words)
{
	if (words->count == 1)
		offer(repl, words->word[0]);
	else
		usage("%load HOSTFILE");
}

/* Runs the user's editor in the foreground and waits for it. */
static int run_editor(const char *path, struct err *err)
{
	static char shell[] = "sh", option[] = "-c",
		    script[] = "exec ${VISUAL:-${EDITOR:-vi}} \"$1\"";
	cleanup_free char *name = mem_strdup(path);
	char *const argv[] = { shell, option, script, shell, name, NULL };
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int code, status = 0;
	pid_t pid;

	(void)sigemptyset(&defaults);
	(void)sigaddset(&defaults, SIGINT);
	(void)sigaddset(&defaults, SIGQUIT);
	(void)sigaddset(&defaults, SIGTSTP);
	(void)sigaddset(&defaults, SIGPIPE);
	if (posix_spawnattr_init(&attributes) != 0)
		return err_set(err, ERR_SYSTEM, "no memory to start the editor");
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	(void)posix_spawnattr_setsigdefault(&attributes, &defaults);
	code = posix_spawn(&pid, "/bin/sh", NULL, &attributes, argv, environ);
	(void)posix_spawnattr_destroy(&attributes);
	errno = code;
	if (code != 0)
		return err_sys(err, "start the editor");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(err, ERR_SYSTEM, "the editor failed");
	return 0;
}

static const struct repl_cell *cell_numbered(const struct repl *repl, const char *number)
{
	uint64_t wanted;
	struct err ignored;

	if (parse_count(number, &wanted, &ignored) == 0)
		for (size_t i = repl->cell_count; i > 0; i--)
			if (repl->cells[i - 1].number == wanted)
				return &repl->cells[i - 1];
	return NULL;
}

static void on_edit(struct repl *repl, struct words *words)
{
	const struct repl_cell *cell =
		repl->cell_count > 0 ? &repl->cells[repl->cell_count - 1] : NULL;
	char path[] = "/tmp/reckon-cell-XXXXXX.py";
	cleanup_fd int fd = -1;
	struct err err;

	if (words->count > 1 || (words->count == 1 &&
				 (cell = cell_numbered(repl, words->word[0])) == NULL)) {
		usage("%edit [NUMBER OF A CELL]");
		return;
	}
	if (repl->editor == NULL) {
		run_output_line("this needs a terminal with a line editor");
		return;
	}
	fd = mkostemps(path, 3, O_CLOEXEC);
	if (fd < 0) {
		err_sys(&err, "%s", path);
		(void)cli_complain(&err);
		return;
	}
	if ((cell != NULL && fd_write_full(fd, cell->source, strlen(cell->source), &err) < 0) ||
	    run_editor(path, &err) < 0)
		(void)cli_complain(&err);
	else
		offer(repl, path);
	(void)unlink(path);
}

static void on_exit_word(struct repl *repl, struct words *words)
{
	(void)words;
	repl->leaving = true;
}

/* ---- the table ---- */

static command_fn on_help;

static const struct {
	const char *name;
	command_fn *fn;
	const char *operands, *help;
} commands[] = {
	{ "help", on_help, "", "this list" },
	{ "vars", on_vars, "", "variables: type, shape, size, value" },
	{ "files", on_files, "", "files of the workspace" },
	{ "put", on_put, "HOSTFILE [NAME]", "put a file into the workspace" },
	{ "get", on_get, "[-f] NAME [HOSTPATH]", "fetch a file or figure-CELL-N.png; -f replaces" },
	{ "save", on_save, "[-f] PATH", "what ran, as .ipynb with its outputs, or as a script" },
	{ "run", on_run, "HOSTFILE", "run a file of this side as one cell" },
	{ "load", on_load, "HOSTFILE", "put a file's text on the line, to edit and run" },
	{ "edit", on_edit, "[CELL]", "edit a cell in $EDITOR, then put it on the line" },
	{ "history", on_history, "", "what ran in this session" },
	{ "restart", on_restart, "", "a fresh kernel: variables go, files stay" },
	{ "time-limit", on_time_limit, "[TIME | none]", "show or set the limit of one cell" },
	{ "receipt", on_receipt, "", "what the last cell cost" },
	{ "record", on_record, "", "the last cell's record, as JSON" },
	{ "exit", on_exit_word, "", "leave, as Ctrl-D does" },
};

static void on_help(struct repl *repl, struct words *words)
{
	struct term_table *table = term_table_new(2, ARRAY_LEN(commands));
	cleanup_buf struct buf shown = BUF_INIT(REPL_ANSWER_MAX);
	struct err ignored;

	(void)words;
	term_table_head(table, 0, "command", false);
	term_table_head(table, 1, "what it does", false);
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		char left[64];
		const int len = snprintf(left, sizeof(left), "%%%s%s%s", commands[i].name,
					 commands[i].operands[0] != '\0' ? " " : "",
					 commands[i].operands);

		(void)term_table_cell(table, i, 0, left, (size_t)len, &ignored);
		(void)term_table_cell(table, i, 1, commands[i].help, strlen(commands[i].help),
				      &ignored);
	}
	if (term_table_draw(table, repl_width(), repl->coloured, &shown, &ignored) == 0)
		(void)cli_write_stdout(shown.data, shown.len);
	term_table_free(table);
	repl_print("\nTab completes; Alt-Enter adds a line; Ctrl-R searches the history.\n"
		   "Ctrl-C stops a cell or clears the line; Ctrl-D leaves.\n"
		   "name? explains a name. All other %%magics and !commands are the kernel's\n"
		   "(%%lsmagic lists them), and so are these with a space before them.\n");
}

const char *repl_command_name(size_t index)
{
	return index < ARRAY_LEN(commands) ? commands[index].name : NULL;
}

/* ---- from a line to a command ---- */

static bool is_exit(const char *text, size_t len)
{
	static const char *const words[] = { "exit", "quit", "exit()", "quit()" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i]) == len && memcmp(text, words[i], len) == 0)
			return true;
	return false;
}

static size_t trimmed(const char *text, size_t len)
{
	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\n' || text[len - 1] == '\t'))
		len--;
	return len;
}

/* The command's index in the table, or -1. */
static int find(const char *text, size_t len)
{
	len = trimmed(text, len);
	if (len < 2 || text[0] != '%' || memchr(text, '\n', len) != NULL)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		const size_t own = strlen(commands[i].name);

		if (len >= own + 1 && memcmp(text + 1, commands[i].name, own) == 0 &&
		    (len == own + 1 || text[own + 1] == ' '))
			return (int)i;
	}
	return -1;
}

bool repl_command_is(const char *text, size_t len)
{
	return find(text, len) >= 0 || is_exit(text, trimmed(text, len));
}

/*
 * Splits into words like a shell: quotes, backslashes, and ~/ at the start of a word. False: too
 * many.
 */
static bool split(const char *text, struct words *words)
{
	const char *home = getenv("HOME");

	words->count = 0;
	for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
		cleanup_buf struct buf word = BUF_INIT(WORD_BYTES_MAX);
		struct err ignored;
		char quote = '\0';

		if (words->count == WORDS_MAX)
			return false;
		if (text[0] == '~' && text[1] == '/' && home != NULL) {
			(void)buf_adds(&word, home, &ignored);
			text++;
		}
		for (; *text != '\0' && (quote != '\0' || *text != ' '); text++) {
			if (quote == '\0' && (*text == '\'' || *text == '"')) {
				quote = *text;
			} else if (*text == quote) {
				quote = '\0';
			} else {
				if (*text == '\\' && quote != '\'' && text[1] != '\0')
					text++;
				if (buf_addc(&word, *text, &ignored) < 0)
					return false;
			}
		}
		words->word[words->count++] = mem_strdup(buf_text(&word));
	}
	return true;
}

bool repl_command(struct repl *repl, const char *text, size_t len)
{
	const int at = find(text, len);
	struct words words = { .count = 0 };
	cleanup_free char *rest = NULL;

	if (is_exit(text, trimmed(text, len))) {
		repl->leaving = true;
		return true;
	}
	if (at < 0)
		return false;
	rest = mem_new0(len + 1, 1);
	memcpy(rest, text, trimmed(text, len));
	if (split(rest + 1 + strlen(commands[at].name), &words))
		commands[at].fn(repl, &words);
	else
		run_output_line("reckon: too many words");
	for (size_t i = 0; i < words.count; i++)
		free(words.word[i]);
	return true;
}
