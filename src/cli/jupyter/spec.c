/*
 * spec.c - installs and removes kernel.json where Jupyter finds it.
 *
 * Runs in:  reckon.
 * Reads:    the command line, JUPYTER_DATA_DIR and HOME.
 * Never:    removes other files: only kernel.json, and its folder if that is then empty.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/file/fs.h"
#include "base/id.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/jupyter/jupyter.h"
#include "cli/run/run.h"
#include "codec/json_write.h"
#include "languages/languages.h"

#define SPEC_MAX 65536u
#define ARGUMENTS_MAX 100u

struct spec {
	struct run run; /* parsed options, so that errors are reported now */
	const char *name, *display, *prefix;
	char *arguments[ARGUMENTS_MAX];
	size_t count;
};

/* ---- the command line ----------------------------------------------------------------------- */

static int keep(struct spec *spec, int id, const char *value, struct err *err)
{
	const struct opt_command *table = &jupyter_kernel_table;
	const char *name = NULL;
	char *text = NULL;

	for (size_t i = 0; i < table->count; i++)
		if (table->items[i].id == id)
			name = table->items[i].name;
	if (name == NULL || spec->count == ARGUMENTS_MAX)
		return err_set(err, ERR_INVALID, "too many options");
	if (asprintf(&text, value != NULL ? "--%s=%s" : "--%s", name, value) < 0)
		return err_set(err, ERR_LIMIT, "no memory");
	spec->arguments[spec->count++] = text;
	return 0;
}

static int take_name(struct spec *spec, const char *name, struct err *err)
{
	spec->name = name;
	if (id_is_name(name, strlen(name), "se"))
		return 0;
	err_set(err, ERR_INVALID, "invalid kernel name '%.100s'", name);
	return err_remedy(err, "letters, digits, '.', '_' and '-', at most 63");
}

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct spec *spec = arg;

	switch (id) {
	case JUPYTER_OPT_NAME:
		return take_name(spec, value, err);
	case JUPYTER_OPT_DISPLAY:
		spec->display = value;
		return 0;
	case JUPYTER_OPT_PREFIX:
		spec->prefix = value;
		return 0;
	case OPT_OPERAND:
		err_set(err, ERR_INVALID, "unexpected argument '%.100s'", value);
		return err_remedy(err, "see reckon jupyter install --help");
	default:
		if (run_options_take(id, value, &spec->run, err) < 0)
			return (int)err->code;
		return keep(spec, id, value, err);
	}
}

static int take_uninstall(int id, const char *value, void *arg, struct err *err)
{
	struct spec *spec = arg;

	if (id == JUPYTER_OPT_PREFIX)
		spec->prefix = value;
	else if (id == OPT_OPERAND && spec->name == NULL)
		return take_name(spec, value, err);
	else
		return err_set(err, ERR_INVALID, "unexpected argument '%.100s'", value);
	return 0;
}

/* ---- places --------------------------------------------------------------------------------- */

static int folder_of(const struct spec *spec, const char *name, char ret[PATH_MAX],
		     struct err *err)
{
	const char *data = getenv("JUPYTER_DATA_DIR"), *home = getenv("HOME");
	int len;

	if (spec->prefix != NULL)
		len = snprintf(ret, PATH_MAX, "%s/share/jupyter/kernels/%s", spec->prefix, name);
	else if (data != NULL && data[0] != '\0')
		len = snprintf(ret, PATH_MAX, "%s/kernels/%s", data, name);
	else if (home != NULL && home[0] != '\0')
		len = snprintf(ret, PATH_MAX, "%s/.local/share/jupyter/kernels/%s", home, name);
	else
		return err_set(err, ERR_INVALID, "HOME is not set: --prefix says where");
	return len < PATH_MAX ? 0 : err_set(err, ERR_INVALID, "the path is too long");
}

/* ---- kernel.json ---------------------------------------------------------------------------- */

static int write_spec(const struct spec *spec, const struct language *language, struct buf *ret,
		      struct err *err)
{
	char program[PATH_MAX], display[128];
	const ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	struct json_writer json;

	if (len < 0)
		return err_sys(err, "/proc/self/exe");
	program[len] = '\0';
	(void)snprintf(display, sizeof(display), "%s (Reckon)", language->prose_name);
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_key(&json, "argv");
	json_write_array_begin(&json);
	json_write_string(&json, program);
	json_write_string(&json, "jupyter");
	json_write_string(&json, "kernel");
	for (size_t i = 0; i < spec->count; i++)
		json_write_string(&json, spec->arguments[i]);
	json_write_string(&json, "-f");
	json_write_string(&json, "{connection_file}");
	json_write_array_end(&json);
	json_write_member_string(&json, "display_name",
				 spec->display != NULL ? spec->display : display);
	json_write_member_string(&json, "language", language->name);
	json_write_member_string(&json, "interrupt_mode", "message");
	json_write_key(&json, "metadata");
	json_write_object_begin(&json);
	json_write_member_bool(&json, "debugger", false);
	json_write_object_end(&json);
	json_write_object_end(&json);
	return json_write_finish(&json, err) < 0 ? (int)err->code : buf_addc(ret, '\n', err);
}

static int install(const struct spec *spec, char ret_path[PATH_MAX], struct err *err)
{
	const struct language *language = run_language(&spec->run);
	cleanup_buf struct buf text = BUF_INIT(SPEC_MAX);
	char folder[PATH_MAX], name[ID_NAME_MAX + 1];
	cleanup_fd int fd = -1;

	(void)snprintf(name, sizeof(name), "reckon-%.50s", language->name);
	if (write_spec(spec, language, &text, err) < 0 ||
	    folder_of(spec, spec->name != NULL ? spec->name : name, folder, err) < 0 ||
	    fs_mkdir_parents(folder, 0755, err) < 0)
		return (int)err->code;
	if (mkdir(folder, 0755) < 0 && errno != EEXIST)
		return err_sys(err, "%.200s", folder);
	if (snprintf(ret_path, PATH_MAX, "%s/kernel.json", folder) >= PATH_MAX)
		return err_set(err, ERR_INVALID, "the path is too long");
	fd = open(ret_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_sys(err, "%.200s", ret_path);
	return fd_write_full(fd, buf_text(&text), text.len, err);
}

/* ---- commands ------------------------------------------------------------------------------- */

int jupyter_install(const struct opt_command *self, int argc, char **argv)
{
	struct spec spec = { 0 };
	char path[PATH_MAX];
	struct err err;
	int status;

	run_init(&spec.run);
	status = cli_settle(self, opt_parse(self, argc, argv, take, &spec, &err), &err);
	if (status < 0) {
		status = install(&spec, path, &err) < 0 ? cli_complain(&err) : EXIT_CODE_OK;
		if (status == EXIT_CODE_OK)
			(void)printf("%s\n", path);
	}
	for (size_t i = 0; i < spec.count; i++)
		free(spec.arguments[i]);
	run_done(&spec.run);
	return status;
}

static int uninstall(const struct spec *spec, struct err *err)
{
	char folder[PATH_MAX], path[PATH_MAX];

	if (spec->name == NULL)
		return err_set(err, ERR_INVALID, "the name of a kernel is missing");
	if (folder_of(spec, spec->name, folder, err) < 0)
		return (int)err->code;
	if (snprintf(path, sizeof(path), "%s/kernel.json", folder) >= (int)sizeof(path))
		return err_set(err, ERR_INVALID, "the path is too long");
	if (unlink(path) < 0)
		return err_sys(err, "%.200s", path);
	(void)rmdir(folder); /* fails if the folder has other files, which stay */
	return 0;
}

int jupyter_uninstall(const struct opt_command *self, int argc, char **argv)
{
	struct spec spec = { 0 };
	struct err err;
	int status;

	status = cli_settle(self, opt_parse(self, argc, argv, take_uninstall, &spec, &err), &err);
	if (status < 0)
		status = uninstall(&spec, &err) < 0 ? cli_complain(&err) : EXIT_CODE_OK;
	return status;
}
