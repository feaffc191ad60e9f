/*
 * templates.c - lists the built templates and their packages.
 *
 * Runs in:  libreckon.
 * Reads:    TEMPLATES/NAME/template.ini and the names of installed packages, which our own user
 *           wrote.
 * Never:    starts a process, or opens a name with a "/".
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "codec/json_write.h"
#include "languages/languages.h"
#include "lib/api.h"
#include "lib/engine.h"
#include "reckon_files.h"

#define LIST_BYTES_MAX (16u * 1024u * 1024u)
#define INI_BYTES_MAX (1024u * 1024u)
#define NAMES_MAX 4096u

struct names {
	char *names[NAMES_MAX];
	size_t count;
};

static void names_done(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->names[i]);
}

static int compare(const void *left, const void *right)
{
	return strcasecmp(*(char *const *)left, *(char *const *)right);
}

/* Reads the names in a directory, sorted; an unreadable one counts as empty. */
static void read_names(int at_fd, const char *path, struct names *ret)
{
	int fd = openat(at_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	ret->count = 0;
	while (dir != NULL && ret->count < NAMES_MAX && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			ret->names[ret->count++] = mem_strdup(entry->d_name);
	qsort(ret->names, ret->count, sizeof(ret->names[0]), compare);
}

/* ---- template.ini --------------------------------------------------------------------------- */

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t\r");
	len = strlen(text);
	while (len > 0 && strchr(" \t\r", text[len - 1]) != NULL)
		text[--len] = '\0';
	return text;
}

typedef void line_fn(const char *name, const char *value, void *arg);

/* Calls `fn` for each `name = value` of one section; does not change `ini`. */
static void each_line(const struct buf *ini, const char *section, line_fn *fn, void *arg)
{
	cleanup_free char *copy = mem_strdup(buf_text(ini));
	char *rest = copy, *line, *equals;
	bool is_in = false;

	while ((line = strsep(&rest, "\n")) != NULL) {
		const size_t len = strlen(line = trim(line));

		if (line[0] == '[' && line[len - 1] == ']') {
			line[len - 1] = '\0';
			is_in = strcmp(line + 1, section) == 0;
			continue;
		}
		equals = strchr(line, '=');
		if (!is_in || equals == NULL || line[0] == '#' || line[0] == ';')
			continue;
		*equals = '\0';
		fn(trim(line), trim(equals + 1), arg);
	}
}

struct wanted {
	const char *name;
	char value[64];
};

static void take_value(const char *name, const char *value, void *arg)
{
	struct wanted *wanted = arg;

	if (strcmp(name, wanted->name) == 0)
		(void)snprintf(wanted->value, sizeof(wanted->value), "%s", value);
}

static void write_value(struct json_writer *json, const struct buf *ini, const char *section,
			const char *name)
{
	struct wanted wanted = { .name = name };

	each_line(ini, section, take_value, &wanted);
	json_write_member_string(json, name, wanted.value[0] != '\0' ? wanted.value : NULL);
}

static void write_modules(const char *name, const char *value, void *arg)
{
	struct json_writer *json = arg;

	if (strcmp(name, "modules") != 0)
		return;
	for (size_t n; *value != '\0'; value += n) {
		value += strspn(value, ", \t");
		n = strcspn(value, ", \t");
		if (n > 0)
			json_write_text(json, value, n);
	}
}

static void write_member(const char *name, const char *value, void *arg)
{
	json_write_member_string(arg, name, value);
}

/* ---- one template --------------------------------------------------------------------------- */

/* Lists packages by the folders that pip creates, such as "numpy-2.1.0.dist-info". */
static void write_packages(struct json_writer *json, int dir_fd, const char *python)
{
	__attribute__((cleanup(names_done))) struct names names;
	char path[128];

	(void)snprintf(path, sizeof(path), "tree/lib/python%s/site-packages", python);
	read_names(dir_fd, path, &names);
	json_write_key(json, "packages");
	json_write_array_begin(json);
	for (size_t i = 0; i < names.count; i++) {
		char *name = names.names[i], *end = strstr(name, ".dist-info");
		char *dash = strrchr(name, '-');

		if (end == NULL || strcmp(end, ".dist-info") != 0)
			continue;
		*end = '\0';
		dash = strrchr(name, '-');
		if (dash == NULL)
			continue;
		*dash = '\0';
		json_write_object_begin(json);
		json_write_member_string(json, "name", name);
		json_write_member_string(json, "version", dash + 1);
		json_write_object_end(json);
	}
	json_write_array_end(json);
}

static void write_template(struct json_writer *json, int dir_fd, const char *name,
			   const struct buf *ini)
{
	struct wanted python = { .name = "python" };

	each_line(ini, "template", take_value, &python);
	json_write_object_begin(json);
	json_write_member_string(json, "name", name);
	write_value(json, ini, "template", "python");
	/* Each kernel works in every template. */
	json_write_key(json, "languages");
	json_write_array_begin(json);
	for (size_t i = 0; language_at(i) != NULL; i++)
		json_write_string(json, language_at(i)->name);
	json_write_array_end(json);
	json_write_key(json, "preload");
	json_write_array_begin(json);
	each_line(ini, "preload", write_modules, json);
	json_write_array_end(json);
	json_write_key(json, "env");
	json_write_object_begin(json);
	each_line(ini, "env", write_member, json);
	json_write_object_end(json);
	json_write_key(json, "limits");
	json_write_object_begin(json);
	write_value(json, ini, "limits", "memory");
	json_write_object_end(json);
	write_packages(json, dir_fd, python.value);
	json_write_object_end(json);
}

/* 1: it is a template; 0: it is not. */
static int try_template(struct json_writer *json, int all_fd, const char *name, struct err *err)
{
	cleanup_fd int dir_fd = openat(all_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int fd = dir_fd >= 0 ? openat(dir_fd, "template.ini", O_RDONLY | O_CLOEXEC) : -1;
	cleanup_buf struct buf ini = BUF_INIT(INI_BYTES_MAX);

	if (fd < 0)
		return 0;
	if (fd_read_all(fd, &ini, err) < 0)
		return err_wrap(err, "template %.60s", name);
	write_template(json, dir_fd, name, &ini);
	return 1;
}

static int list(struct reckon_engine *engine, const char *name, char **ret_json, struct err *err)
{
	__attribute__((cleanup(names_done))) struct names names = { .count = 0 };
	cleanup_fd int all_fd = open(engine->template_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_buf struct buf text = BUF_INIT(LIST_BYTES_MAX);
	struct json_writer json;
	int found = 0;

	json_write_init(&json, &text);
	if (all_fd < 0 && errno != ENOENT)
		return err_sys(err, "open %.200s", engine->template_dir);
	if (name != NULL) {
		if (name[0] != '.' && strchr(name, '/') == NULL && all_fd >= 0)
			found = try_template(&json, all_fd, name, err);
		if (found == 0)
			return err_set(err, ERR_NOT_FOUND, "no template \"%.60s\" is built", name);
	} else {
		if (all_fd >= 0)
			read_names(all_fd, ".", &names);
		json_write_array_begin(&json);
		for (size_t i = 0; i < names.count && found >= 0; i++)
			found = try_template(&json, all_fd, names.names[i], err);
		json_write_array_end(&json);
	}
	if (found < 0 || json_write_finish(&json, err) < 0)
		return (int)err->code;
	*ret_json = TAKE_PTR(text.data);
	return 0;
}

int reckon_template_list(reckon_engine *engine, const char *name, char **ret_json,
			 reckon_error *err)
{
	struct err inner;

	if (list(engine, name, ret_json, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}
