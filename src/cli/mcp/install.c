/*
 * install.c - reckon mcp install, uninstall: write or remove the entry in a client's configuration.
 *
 * Runs in:  reckon-client.
 * Reads:    the user's configuration of another program.
 * Never:    changes a file that it cannot parse completely, or without a backup beside it.
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
#include "cli/cli.h"
#include "cli/mcp/config_text.h"
#include "cli/mcp/mcp.h"
#include "cli/options/parse.h"
#include "codec/json_write.h"

#define NAME "reckon" /* name of the entry */
#define CONTEXT_LINES 3

/* Path of each client's configuration below the home directory, and the key of its servers. */
static const struct place {
	const char *client, *path, *key;
} places[] = {
	{ "claude-code", ".claude.json", "mcpServers" },
	{ "claude-desktop", ".config/Claude/claude_desktop_config.json", "mcpServers" },
	{ "cursor", ".cursor/mcp.json", "mcpServers" },
	{ "gemini", ".gemini/settings.json", "mcpServers" },
	{ "vscode", ".config/Code/User/mcp.json", "servers" },
	{ "windsurf", ".codeium/windsurf/mcp_config.json", "mcpServers" },
};

/* ---- the new text ----------------------------------------------------------------------------- */

static int find_reckon(char ret[PATH_MAX], struct err *err)
{
	static const char *const candidates[] = { "/../bin/reckon", "/../../bin/reckon",
						  "/reckon" };
	char self[PATH_MAX], path[PATH_MAX + 32];
	const ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		return err_sys(err, "/proc/self/exe");
	self[len] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < ARRAY_LEN(candidates); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", self, candidates[i]);
		if (access(path, X_OK) == 0 && realpath(path, ret) != NULL)
			return 0;
	}
	return err_set(err, ERR_NOT_FOUND, "the program reckon was not found beside %s", self);
}

/* Makes the path absolute, because the client may start in any directory. */
static void write_mount(struct json_writer *json, const char *given)
{
	cleanup_buf struct buf spec = BUF_INIT(PATH_MAX + 512);
	cleanup_free char *source = NULL, *target = NULL;
	char real[PATH_MAX];
	struct err ignored;
	bool writable;

	if (parse_mount_spec(given, &source, &target, &writable, &ignored) < 0 ||
	    realpath(source, real) == NULL ||
	    buf_addf(&spec, &ignored, "%s%s%s%s", real, target != NULL ? ":" : "",
		     target != NULL ? target : "", writable ? ":rw" : "") < 0)
		return;
	json_write_text(json, buf_text(&spec), spec.len);
}

/* Refuses mounts with which a client could not start. */
static int check_mounts(const struct mcp_options *options, struct err *err)
{
	char id[ID_SIZE];
	cleanup_fd int fd = -1;
	int code = 0;

	if (options->mount_count == 0)
		return 0;
	if (options->remote.where.url != NULL)
		return err_set(err, ERR_INVALID, "--mount and --url cannot be used together");
	if (grant_create(id, &fd, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < options->mount_count && code == 0; i++) {
		cleanup_free char *source = NULL, *target = NULL;
		struct grant_folder folder = { 0 };
		bool writable;

		code = parse_mount_spec(options->mounts[i], &source, &target, &writable, err);
		if (code == 0)
			code = grant_add(fd, source, target, writable, &folder, err);
		grant_folder_done(&folder);
	}
	grant_remove(id, -1);
	return code < 0 ? err_wrap(err, "--mount") : 0;
}

/* The WSL distribution that this runs in if `path` is a file of Windows; else NULL. */
static const char *windows_distribution(const char *path)
{
	const char *name = getenv("WSL_DISTRO_NAME");

	return name != NULL && name[0] != '\0' && strncmp(path, "/mnt/", 5) == 0 &&
			       path[5] >= 'a' && path[5] <= 'z' && path[6] == '/'
		       ? name
		       : NULL;
}

static void write_entry(struct json_writer *json, const struct mcp_options *options,
			const char *program, const char *distribution)
{
	json_write_member_string(json, "type", "stdio");
	json_write_member_string(json, "command", distribution != NULL ? "wsl.exe" : program);
	json_write_key(json, "args");
	json_write_array_begin(json);
	if (distribution != NULL) {
		json_write_string(json, "-d");
		json_write_string(json, distribution);
		json_write_string(json, "--");
		json_write_string(json, program);
	}
	json_write_string(json, "mcp");
	if (options->remote.where.url != NULL) {
		json_write_string(json, "--url");
		json_write_string(json, options->remote.where.url);
	}
	if (options->max_text != NULL) {
		json_write_string(json, "--max-text");
		json_write_string(json, options->max_text);
	}
	if (options->remote.session != NULL) {
		json_write_string(json, "--session");
		json_write_string(json, options->remote.session);
	}
	if (options->approve)
		json_write_string(json, "--approve");
	for (size_t at = 0; at < options->mount_count; at++) {
		json_write_string(json, "--mount");
		write_mount(json, options->mounts[at]);
	}
	json_write_array_end(json);
}

/* Keeps members that the person added to the entry, such as `env`. */
static int copy_others(struct json_writer *json, const struct json_value *entry, struct err *err)
{
	const struct json_value *value;
	const char *key;

	for (size_t i = 0; json_read_member_at(entry, i, &key, &value); i++) {
		cleanup_buf struct buf text = BUF_INIT(CONFIG_MAX);

		if (strcmp(key, "type") == 0 || strcmp(key, "command") == 0 ||
		    strcmp(key, "args") == 0)
			continue;
		if (json_read_dump(value, &text, err) < 0)
			return (int)err->code;
		json_write_key(json, key);
		json_write_raw(json, buf_text(&text), text.len);
	}
	return 0;
}

static int make(const struct buf *before, const struct place *place, const char *path,
		const struct mcp_options *options, bool take_out, struct buf *ret, struct err *err)
{
	cleanup_buf struct buf plain = BUF_INIT(CONFIG_MAX), entry = BUF_INIT(CONFIG_MAX);
	struct json_value *document = NULL;
	struct json_writer json;
	char program[PATH_MAX];
	int code;

	if (take_out)
		return config_take_out(before, place->key, NAME, ret, err);
	if (find_reckon(program, err) < 0 || config_plain(before, &plain, err) < 0)
		return (int)err->code;
	(void)json_read_parse(buf_text(&plain), plain.len, CONFIG_MAX, &document, err);
	json_write_init(&json, &entry);
	json_write_object_begin(&json);
	write_entry(&json, options, program, windows_distribution(path));
	code = copy_others(
		&json, json_read_member(json_read_member(document, place->key), NAME), err);
	json_write_object_end(&json);
	json_read_free(document);
	if (code < 0 || json_write_finish(&json, err) < 0)
		return (int)err->code;
	return config_put(before, place->key, NAME, &entry, ret, err);
}

/*
 * ---- printing the change ----------------------------------------------------------------------
 */

static size_t line_end(const char *text, size_t at, size_t len)
{
	const char *end = memchr(text + at, '\n', len - at);

	return end != NULL ? (size_t)(end - text) + 1 : len;
}

static void print_lines(char mark, const char *text, size_t from, size_t to)
{
	for (size_t at = from; at < to;) {
		const size_t end = line_end(text, at, to);

		(void)printf("%c %.*s%s", mark, (int)(end - at), text + at,
			     text[end - 1] == '\n' ? "" : "\n");
		at = end;
	}
}

/* Prints the lines that differ, without the common beginning and end. */
static void print_change(const struct buf *before, const struct buf *after)
{
	const char *a = buf_text(before), *b = buf_text(after);
	size_t first = 0, a_end = before->len, b_end = after->len, context;

	for (;;) {
		const size_t end_a = line_end(a, first, a_end), end_b = line_end(b, first, b_end);

		if (first >= a_end || first >= b_end || end_a != end_b ||
		    memcmp(a + first, b + first, end_a - first) != 0)
			break;
		first = end_a;
	}
	while (a_end > first && b_end > first && a[a_end - 1] == b[b_end - 1]) {
		a_end--;
		b_end--;
	}
	a_end = line_end(a, a_end > first ? a_end - 1 : first, before->len);
	b_end = line_end(b, b_end > first ? b_end - 1 : first, after->len);
	context = first;
	for (int lines = 0; lines < CONTEXT_LINES && context > 0; lines++)
		for (context--; context > 0 && b[context - 1] != '\n'; context--)
			;
	print_lines(' ', b, context, first);
	print_lines('-', a, first, a_end);
	print_lines('+', b, first, b_end);
}

/* ---- the file --------------------------------------------------------------------------------- */

static int write_file(const char *path, const struct buf *text, mode_t mode, struct err *err)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode);

	if (fd < 0 || fd_write_full(fd, buf_text(text), text->len, err) < 0 || fsync(fd) < 0)
		return err_sys(err, "%.300s", path);
	return 0;
}

static int make_folders(const char *path, struct err *err)
{
	char part[PATH_MAX];

	for (const char *at = strchr(path + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
		(void)snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return err_sys(err, "%.300s", part);
	}
	return 0;
}

/* Keeps the old text as a backup and replaces the file atomically. */
static int replace(const char *path, const struct buf *before, const struct buf *after,
		   struct err *err)
{
	char real[PATH_MAX], backup[PATH_MAX + 32], fresh[PATH_MAX + 32];
	struct stat stat_before;
	mode_t mode = 0600;

	if (realpath(path, real) == NULL)
		(void)snprintf(real, sizeof(real), "%s", path);
	if (stat(real, &stat_before) == 0)
		mode = stat_before.st_mode & 0777;
	if (access(real, F_OK) == 0 && access(real, W_OK) < 0)
		return err_sys(err, "%.300s", real);
	(void)snprintf(backup, sizeof(backup), "%s.before-reckon", real);
	(void)snprintf(fresh, sizeof(fresh), "%s.reckon-new", real);
	if (make_folders(real, err) < 0 ||
	    (before->len > 0 && write_file(backup, before, mode, err) < 0) ||
	    write_file(fresh, after, mode, err) < 0)
		return (int)err->code;
	if (rename(fresh, real) < 0)
		return err_sys(err, "%.300s", real);
	if (before->len > 0)
		(void)printf("the file as it was: %s\n", backup);
	return 0;
}

static int read_config(const char *path, struct buf *ret, struct err *err)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, "%.300s", path);
	return fd_read_all(fd, ret, err) < 0 ? err_wrap(err, "%.300s", path) : 0;
}

static const struct place *find_place(const char *client)
{
	for (size_t i = 0; client != NULL && i < ARRAY_LEN(places); i++)
		if (strcmp(places[i].client, client) == 0)
			return &places[i];
	return NULL;
}

static int install(const struct mcp_options *options, bool take_out, struct err *err)
{
	cleanup_buf struct buf before = BUF_INIT(CONFIG_MAX), after = BUF_INIT(CONFIG_MAX);
	const struct place *place = find_place(options->client);
	const char *home = getenv("HOME");
	char path[PATH_MAX];

	if (place == NULL) {
		(void)err_set(err, ERR_INVALID, "%s%.60s", options->client != NULL
			      ? "unknown client " : "missing --client",
			      options->client != NULL ? options->client : "");
		return err_remedy(err,
				  "one of claude-code, claude-desktop, cursor, gemini, vscode, "
				  "windsurf; any other: let it start `reckon mcp`");
	}
	if (!take_out && check_mounts(options, err) < 0)
		return (int)err->code;
	if (options->config == NULL && strcmp(place->client, "claude-desktop") == 0 &&
	    getenv("WSL_DISTRO_NAME") != NULL) {
		(void)err_set(err, ERR_INVALID,
			      "Claude Desktop is a program of Windows here: name its configuration "
			      "with --config");
		return err_remedy(err, "it is /mnt/c/Users/YOU/AppData/Roaming/Claude/"
				       "claude_desktop_config.json");
	}
	if (options->config == NULL && (home == NULL || home[0] != '/'))
		return err_set(err, ERR_INVALID, "HOME is not set: name the file with --config");
	if (options->config != NULL)
		(void)snprintf(path, sizeof(path), "%s", options->config);
	else
		(void)snprintf(path, sizeof(path), "%.2000s/%s", home, place->path);
	if (read_config(path, &before, err) < 0)
		return (int)err->code;
	if (make(&before, place, path, options, take_out, &after, err) < 0) {
		(void)err_wrap(err, "%.200s", path);
		return err_remedy(err, "nothing was changed: mend the file, or add the server "
				       "`reckon mcp` by hand");
	}
	if (before.len == after.len && memcmp(before.data, after.data, before.len) == 0) {
		(void)printf("%s needs no change\n", path);
		return 0;
	}
	(void)printf("%s:\n", path);
	print_change(&before, &after);
	if (replace(path, &before, &after, err) < 0)
		return (int)err->code;
	(void)printf("%s: start %s again\n", take_out ? "removed" : "installed", place->client);
	return 0;
}

int mcp_install(const struct opt_command *self, const struct mcp_options *options, bool take_out)
{
	struct err err;

	return install(options, take_out, &err) < 0 ? cli_complain_of(self, &err) : EXIT_CODE_OK;
}
