/*
 * say.c - error messages, formatted sizes and output of the commands; running programs of libexec.
 *
 * Runs in:  reckon.
 * Reads:    error texts, which may quote file names and text of a box.
 * Never:    lets such a text add a line or control the terminal.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file/fd.h"
#include "cli/cli.h"
#include "cli/term/term.h"
#include "reckon.h"

#define LINE_MAX_BYTES 8192

static void print_line(const char *what, const char *text, const char *remedy)
{
	cleanup_buf struct buf line = BUF_INIT(LINE_MAX_BYTES);
	struct err ignored;

	/* If the line does not fit, its beginning is still printed. */
	(void)buf_adds(&line, "reckon: ", &ignored);
	if (what != NULL && term_escape_line(what, strlen(what), &line, &ignored) == 0)
		(void)buf_adds(&line, ": ", &ignored);
	(void)term_escape_line(text, strlen(text), &line, &ignored);
	if (remedy[0] != '\0') {
		(void)buf_adds(&line, " (", &ignored);
		(void)term_escape_line(remedy, strlen(remedy), &line, &ignored);
		(void)buf_adds(&line, ")", &ignored);
	}
	(void)fprintf(stderr, "%s\n", buf_text(&line));
}

int cli_complain(const struct err *err)
{
	print_line(NULL, err->text, err->remedy);
	return err->code == ERR_INVALID || err->code == ERR_NOT_FOUND ? EXIT_CODE_USAGE
								       : EXIT_CODE_RECKON;
}

int cli_complain_of(const struct opt_command *self, struct err *err)
{
	(void)err_wrap(err, "%s", self->name);
	return cli_complain(err);
}

int cli_complain_reckon(const char *what, const reckon_error *error)
{
	print_line(what, error->message, error->remedy);
	return error->code == RECKON_EINVALID || error->code == RECKON_ENOT_FOUND
		       ? EXIT_CODE_USAGE
		       : EXIT_CODE_RECKON;
}

int cli_settle(const struct opt_command *self, int parsed, const struct err *err)
{
	if (parsed == 0)
		return -1;
	if (parsed < 0) {
		(void)cli_complain(err);
		return EXIT_CODE_USAGE;
	}
	opt_print_help(stdout, self);
	return EXIT_CODE_OK;
}

int cli_write_stdout(const void *bytes, size_t len)
{
	struct err err;

	if (fd_write_full(STDOUT_FILENO, bytes, len, &err) == 0)
		return EXIT_CODE_OK;
	if (err.errnum == EPIPE)
		return EXIT_CODE_PIPE;
	err_wrap(&err, "stdout");
	(void)cli_complain(&err);
	return EXIT_CODE_RECKON;
}

int cli_print_text(const char *text, size_t len)
{
	/* Escaping makes at most four bytes of one; the 16 more are for resetting colours. */
	cleanup_buf struct buf shown = BUF_INIT(len < SIZE_MAX / 8 ? len * 4 + 16 : SIZE_MAX / 2);
	struct term_filter filter = { .escape = true };
	struct err err;

	if (!isatty(STDOUT_FILENO))
		return cli_write_stdout(text, len);
	if (term_filter_add(&filter, text, len, &shown, &err) < 0 ||
	    term_filter_end(&filter, &shown, &err) < 0)
		return cli_complain(&err);
	return cli_write_stdout(buf_text(&shown), shown.len);
}

/* Looks in the same places and in the same order as libreckon. */
int cli_libexec_path(const char *name, char path[PATH_MAX], struct err *err)
{
	const char *given = getenv("RECKON_LIBEXEC");
	char self[PATH_MAX];
	const ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		return err_sys(err, "/proc/self/exe");
	self[len] = '\0';
	*strrchr(self, '/') = '\0'; /* the kernel gives an absolute path */
	if (snprintf(path, PATH_MAX, "%s/../libexec/%s", self, name) < PATH_MAX &&
	    access(path, X_OK) == 0)
		return 0;
	if (given != NULL && snprintf(path, PATH_MAX, "%s/%s", given, name) < PATH_MAX &&
	    access(path, X_OK) == 0)
		return 0;
	if (snprintf(path, PATH_MAX, "%s/../libexec/reckon/%s", self, name) < PATH_MAX &&
	    access(path, X_OK) == 0)
		return 0;
	/* This program may itself be in libexec, beside the one it looks for. */
	if (snprintf(path, PATH_MAX, "%s/%s", self, name) < PATH_MAX && access(path, X_OK) == 0)
		return 0;
	err_set(err, ERR_UNAVAILABLE, "%s: not found in libexec beside %.200s", name, self);
	return err_remedy(err, "install it, or set RECKON_LIBEXEC to its directory");
}

int cli_exec_libexec(const char *name, char **argv)
{
	char path[PATH_MAX];
	struct err err;

	if (cli_libexec_path(name, path, &err) == 0) {
		(void)execv(path, argv);
		err_sys(&err, "%.200s", path);
	}
	(void)cli_complain(&err);
	return EXIT_CODE_RECKON;
}

static void format_scaled(uint64_t bytes, unsigned step, const char *const *units,
			  char text[CLI_SIZE_TEXT])
{
	double value = (double)bytes;
	size_t unit = 0;

	/* Without the 0.5, 999.5 would be printed as 1000 of the smaller unit. */
	for (; value >= (double)step - 0.5 && units[unit + 1] != NULL; unit++)
		value /= (double)step;
	if (unit == 0 || value >= 9.95 || value - (double)(uint64_t)value < 0.05)
		(void)snprintf(text, CLI_SIZE_TEXT, "%.0f %s", value, units[unit]);
	else
		(void)snprintf(text, CLI_SIZE_TEXT, "%.1f %s", value, units[unit]);
}

void cli_format_size(uint64_t bytes, char text[CLI_SIZE_TEXT])
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB", NULL };

	format_scaled(bytes, 1000, units, text);
}

void cli_format_binary(uint64_t bytes, char text[CLI_SIZE_TEXT])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", NULL };

	format_scaled(bytes, 1024, units, text);
}
