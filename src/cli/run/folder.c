/*
 * folder.c - adds the files of a directory given with -f, under their paths in it.
 *
 * Runs in:  reckon, reckon-client.
 * Reads:    directories that the user named, as the user.
 * Never:    follows a link out of it, or adds anything but regular files.
 */
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/run/run.h"

#define OPEN_MAX_WALK 32

/* A static variable, because nftw() passes no argument to its callback. */
static struct walk {
	struct run *run;
	const char *name; /* the directory's name in the workspace */
	size_t root_len;
	struct err *err;
	int code;
} walk;

static int walk_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	struct run *run = walk.run;
	char name[PATH_MAX];
	struct err left_out;

	(void)at;
	if (type == FTW_D)
		return 0;
	if (type != FTW_F || !S_ISREG(st->st_mode)) {
		(void)err_set(&left_out, ERR_INVALID,
			      "%.200s is not a regular file, so it is left out", path);
		(void)cli_complain(&left_out);
		return 0;
	}
	if (run->file_count == RUN_FILES_MAX)
		walk.code = err_set(walk.err, ERR_INVALID, "more than %d files", RUN_FILES_MAX);
	else if (snprintf(name, sizeof(name), "%s%s", walk.name, path + walk.root_len) >=
		 (int)sizeof(name))
		walk.code = err_set(walk.err, ERR_INVALID, "%.200s: the name is too long", path);
	if (walk.code < 0)
		return 1;
	run->files = mem_grow(run->files, run->file_count + 1, sizeof(*run->files));
	run->files[run->file_count++] = (struct run_file){
		.path = mem_strdup(path),
		.name = mem_strdup(name),
		.fd = -1,
	};
	return 0;
}

/* The name of "out/" is "out". */
static void drop_slashes(char *text)
{
	size_t len = strlen(text);

	while (len > 1 && text[len - 1] == '/')
		text[--len] = '\0';
}

static int add_folder(struct run *run, struct run_file *folder, struct err *err)
{
	int code = 0;

	drop_slashes(folder->path);
	drop_slashes(folder->name);
	walk = (struct walk){ .run = run, .name = folder->name, .err = err,
			      .root_len = strlen(folder->path) };
	if (nftw(folder->path, walk_one, OPEN_MAX_WALK, FTW_PHYS) < 0)
		code = err_sys(err, "%.200s", folder->path);
	return walk.code < 0 ? walk.code : code;
}

int run_folders_load(struct run *run, struct err *err)
{
	cleanup_free struct run_file *named = run->files;
	const size_t count = run->file_count;
	int code = 0;

	run->files = NULL;
	run->file_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct stat st;

		if (code == 0 && stat(named[i].path, &st) == 0 && S_ISDIR(st.st_mode)) {
			code = add_folder(run, &named[i], err);
		} else {
			run->files = mem_grow(run->files, run->file_count + 1, sizeof(*run->files));
			run->files[run->file_count++] = named[i];
			continue;
		}
		free(named[i].path);
		free(named[i].name);
	}
	return code;
}
