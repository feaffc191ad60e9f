/*
 * template.c - loads templates from disk.
 *
 * Runs in:  the warden.
 * Reads:    TEMPLATES/NAME/template.ini, which belongs to the same user.
 * Never:    serves a template that was rebuilt since: it loads it anew. Open sessions keep theirs.
 */
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "box/module.h"
#include "box/templates/template.h"

static bool name_is_safe(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len < WARDEN_NAME_SIZE && name[0] != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") ==
		       len;
}

/* "1G", "512M", "64k" or a plain number of bytes; 0 when it is none of these. */
static uint64_t parse_size(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	switch (*end) {
	case 'G': case 'g':
		return value << 30;
	case 'M': case 'm':
		return value << 20;
	case 'K': case 'k':
		return value << 10;
	default:
		return *end == '\0' ? value : 0;
	}
}

/* The template that is being read, and what is wrong with its first invalid line. */
struct reading {
	struct template *of;
	const char *why;
};

static const char *add_modules(struct template *of, const char *list)
{
	size_t used = strlen(of->modules);

	for (const char *at = list; *at != '\0';) {
		size_t n = strcspn(at, ", \t\n");

		if (n > 0 && used + n + 2 > sizeof(of->modules))
			return "modules: more than 1023 characters in all";
		if (n > 0) {
			if (used > 0)
				of->modules[used++] = ',';
			memcpy(of->modules + used, at, n);
			used += n;
			of->modules[used] = '\0';
		}
		at += n + (at[n] != '\0');
	}
	return NULL;
}

static const char *add_variable(struct template *of, const char *name, const char *value)
{
	const size_t size = sizeof(of->env[0]);

	if (of->env_count == STATE_ENV_MAX)
		return "[env]: more than 48 variables";
	if ((size_t)snprintf(of->env[of->env_count], size, "%s=%s", name, value) >= size)
		return "[env]: a name and its value have more than 158 characters";
	of->env_count++;
	return NULL;
}

static int on_ini_line(void *arg, const char *section, const char *name, const char *value)
{
	struct reading *reading = arg;
	struct template *of = reading->of;
	const char *why = NULL;

	if (strcmp(section, "preload") == 0 && strcmp(name, "modules") == 0)
		why = add_modules(of, value);
	else if (strcmp(section, "env") == 0)
		why = add_variable(of, name, value);
	else if (strcmp(section, "limits") == 0 && strcmp(name, "memory") == 0)
		of->memory_bytes = parse_size(value);
	if (reading->why == NULL)
		reading->why = why; /* ini_parse() names the first invalid line */
	return why == NULL;
}

static uint64_t ini_stamp(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return 0;
	return (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec + st.st_ino;
}

static int not_built(const char *name, struct err *err)
{
	(void)err_set(err, ERR_NOT_FOUND, "no template \"%s\" is built", name);
	return err_remedy(err, "reckon template ls names what can be built; reckon template add "
			       "makes one of your own");
}

static int load(struct warden *warden, const char *name, struct template *ret, struct err *err)
{
	struct reading reading = { .of = ret };
	char path[700];
	int line;

	memset(ret, 0, sizeof(*ret));
	for (int k = 0; k < ZYGOTE_KINDS; k++) {
		for (int i = 0; i < ZYGOTE_SLOTS; i++)
			ret->slots[k][i] = (struct zygote_proc){ .kind = (unsigned)k,
								 .sock = -1,
								 .root_ns_fd = -1,
								 .of = ret };
		ret->zygotes[k] = &ret->slots[k][0];
	}
	(void)snprintf(ret->name, sizeof(ret->name), "%s", name);
	(void)snprintf(path, sizeof(path), "%s/%s/template.ini", warden->template_dir, name);
	ret->stamp = ini_stamp(path);
	if (ret->stamp == 0)
		return not_built(name, err);
	line = ini_parse(path, on_ini_line, &reading);
	if (line != 0)
		return err_set(err, ERR_INVALID, "%s: line %d: %s", path, line,
			       reading.why != NULL ? reading.why : "it cannot be read");
	(void)snprintf(ret->tree, sizeof(ret->tree), "%.440s/%s/tree", warden->template_dir, name);
	if (access(ret->tree, F_OK) < 0)
		ret->tree[0] = '\0';
	ret->used = true;
	return 0;
}

/* The one without a session that was asked for the longest time ago; NULL: each has one. */
static struct template *longest_unused(struct warden *warden)
{
	bool has_session[STATE_TEMPLATES_MAX] = { false };
	struct template *ret = NULL;

	for (size_t slot = 0; slot < STATE_SESSIONS_MAX; slot++) {
		const struct session *at = warden->sessions[slot];

		if (at != NULL && (at->state == SESSION_OPEN || at->state == SESSION_FROZEN))
			has_session[at->of - warden->templates] = true;
	}
	for (size_t i = 0; i < STATE_TEMPLATES_MAX; i++)
		if (!has_session[i] &&
		    (ret == NULL || warden->templates[i].requested_ns < ret->requested_ns))
			ret = &warden->templates[i];
	return ret;
}

int template_find(struct warden *warden, const char *name, struct template **ret, struct err *err)
{
	struct template *free_entry = NULL;
	char path[700];

	if (!name_is_safe(name))
		return err_set(err, ERR_INVALID, "\"%.60s\" is not the name of a template", name);
	(void)snprintf(path, sizeof(path), "%s/%s/template.ini", warden->template_dir, name);
	for (size_t i = 0; i < STATE_TEMPLATES_MAX; i++) {
		struct template *at = &warden->templates[i];

		if (at->used && strcmp(at->name, name) == 0) {
			if (at->stamp == ini_stamp(path)) {
				at->requested_ns = clock_mono_ns();
				*ret = at;
				return 0;
			}
			template_drop(warden, at);
		}
		if (!at->used && free_entry == NULL)
			free_entry = at;
	}
	if (free_entry == NULL) {
		if (ini_stamp(path) == 0)
			return not_built(name, err); /* nothing makes room for a name */
		free_entry = longest_unused(warden);
		if (free_entry == NULL)
			return err_set(err, ERR_LIMIT, "sessions use %d templates",
				       STATE_TEMPLATES_MAX);
		template_drop(warden, free_entry);
	}
	if (load(warden, name, free_entry, err) < 0)
		return (int)err->code;
	free_entry->requested_ns = clock_mono_ns();
	*ret = free_entry;
	return 0;
}

void template_drop(struct warden *warden, struct template *of)
{
	MODULE_EACH(warden, template_dropped, warden, of);
	for (int k = 0; k < ZYGOTE_KINDS; k++)
		for (int i = 0; i < ZYGOTE_SLOTS; i++)
			zygote_forget(warden, &of->slots[k][i]);
	of->used = false;
}
