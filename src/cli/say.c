/*
 * say.c - how the commands talk: complaints, sizes, whole output; and how they hand over.
 *
 * Runs in:  reckon.
 * Reads:    error texts, which may quote file names and what a box said.
 * Never:    lets such a text break the line or steer the terminal.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/term.h"
#include "reckon.h"

#define LINE_MAX_BYTES 8192

static void print_line(const char *what, const char *text, const char *remedy)
{
	cleanup_buf struct buf line = BUF_INIT(LINE_MAX_BYTES);
	struct err ignored;

	/* A line that does not fit is printed as far as it goes. */
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

int cli_complain_reckon(const char *what, const reckon_error *error)
{
	print_line(what, error->message, error->remedy);
	return error->code == RECKON_EINVALID || error->code == RECKON_ENOT_FOUND
		       ? EXIT_CODE_USAGE
		       : EXIT_CODE_RECKON;
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

int cli_exec_libexec(const char *name, char **argv)
{
	const char *dir = getenv("RECKON_LIBEXEC");
	char self[4096], path[4352];
	struct err err;

	if (dir != NULL && dir[0] != '\0') {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	} else {
		ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
		char *slash;

		if (len < 0) {
			err_sys(&err, "%s: where am I: /proc/self/exe", name);
			return cli_complain(&err);
		}
		self[len] = '\0';
		slash = strrchr(self, '/');
		*(slash != NULL ? slash : self) = '\0';
		(void)snprintf(path, sizeof(path), "%s/../libexec/%s", self, name);
	}
	(void)execv(path, argv);
	err_sys(&err, "%s", path);
	err_remedy(&err, "this part of Reckon is not installed; RECKON_LIBEXEC says where it is");
	return cli_complain(&err);
}

static void format_scaled(uint64_t bytes, unsigned step, const char *const *units,
			  char text[CLI_SIZE_TEXT])
{
	double value = (double)bytes;
	size_t unit = 0;

	/* 999.5 would be printed as 1000 of the smaller unit. */
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
