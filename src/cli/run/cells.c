/*
 * cells.c - initializes and frees struct run; checks whether a text can be a cell.
 *
 * Runs in:  reckon, reckon-client.
 * Reads:    source text.
 * Never:    opens anything.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cli/run/run.h"

void run_init(struct run *run)
{
	memset(run, 0, sizeof(*run));
	run->stdin_fd = -1;
}

void run_done(struct run *run)
{
	for (size_t i = 0; i < run->cell_count; i++)
		buf_done(&run->cells[i].source);
	for (size_t i = 0; i < run->file_count; i++) {
		cleanup_fd_fn(&run->files[i].fd);
		free(run->files[i].path);
		free(run->files[i].name);
	}
	for (size_t i = 0; i < run->mount_count; i++) {
		free((void *)(uintptr_t)run->mounts[i].source);
		free((void *)(uintptr_t)run->mounts[i].target);
	}
	for (size_t i = 0; i < run->volume_count; i++) {
		free(run->volumes[i].name);
		free(run->volumes[i].path);
	}
	buf_done(&run->prologue);
	free(run->arguments);
	free(run->cells);
	free(run->files);
	free(run->env);
	if (run->stdin_fd > STDERR_FILENO)
		(void)close(run->stdin_fd);
	run_init(run);
}

struct run_cell *run_add_cell(struct run *run, const char *origin, const char *inline_text)
{
	run->cells = mem_grow(run->cells, run->cell_count + 1, sizeof(*run->cells));
	run->cells[run->cell_count] = (struct run_cell){
		.origin = origin,
		.inline_text = inline_text,
		.source = BUF_INIT(RUN_SOURCE_MAX),
	};
	return &run->cells[run->cell_count++];
}

int run_input_check_source(const char *text, size_t len, struct err *err)
{
	size_t at = 0, line = 1;

	while (at < len) {
		const size_t n = utf8_sequence(text + at, len - at);

		if (text[at] == '\0') {
			err_set(err, ERR_INVALID, "not source code: NUL byte in line %zu", line);
			return err_remedy(err, "data goes in with -f FILE");
		}
		if (n == 0) {
			err_set(err, ERR_INVALID, "not UTF-8: byte 0x%02x in line %zu",
				(unsigned char)text[at], line);
			return err_remedy(err, "save the file as UTF-8");
		}
		line += text[at] == '\n';
		at += n;
	}
	return 0;
}
