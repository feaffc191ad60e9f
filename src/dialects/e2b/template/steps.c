/*
 * steps.c - turns the steps of a build into lines of its script.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    steps from clients.
 * Never:    writes an unquoted text into the script; only values of ENV expand variables.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "dialects/e2b/template/template.h"

#define STEPS_MAX 100u
#define HASH_LEN 64u
#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"

struct steps {
	const struct e2b *e2b;
	struct buf *out;
	const char **hashes;
	size_t hash_count;
	struct err err;	 /* set when `out` is full */
	bool is_refused; /* another error was found and answered */
};

/* ---- parts ---------------------------------------------------------------------------------- */

static bool add(struct steps *steps, const char *text)
{
	return buf_adds(steps->out, text, &steps->err) == 0;
}

static bool add_word(struct steps *steps, const char *text)
{
	return add(steps, " ") && text_quote_for_shell(text, steps->out, &steps->err) == 0;
}

static bool refuse(struct steps *steps, const char *message)
{
	steps->is_refused = true;
	e2b_refuse(steps->e2b, 400, message);
	return false;
}

bool template_is_hash(const char *hash)
{
	return strlen(hash) == HASH_LEN && strspn(hash, "0123456789abcdef") == HASH_LEN;
}

static bool is_name(const char *name)
{
	return strlen(name) > 0 && strchr("0123456789", name[0]) == NULL &&
	       strspn(name, NAME_CHARACTERS "0123456789") == strlen(name);
}

/* As in a Dockerfile: $NAME and ${NAME} are expanded, and no command runs. */
static bool add_value(struct steps *steps, const char *value)
{
	bool good = add(steps, "\"");

	for (; good && *value != '\0'; value++) {
		if (*value == '"' || *value == '\\' || *value == '`' ||
		    (*value == '$' && (value[1] == '(' || value[1] == '[')))
			good = add(steps, "\\");
		good = good && buf_addc(steps->out, *value, &steps->err) == 0;
	}
	return good && add(steps, "\"");
}

/* Both `user` and `root` are the box's one user. `group`: USER:GROUP is allowed. */
static bool is_user(const char *name, bool group)
{
	static const char *const known[] = { "user", "root", "1000", "0" };

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		const size_t len = strlen(known[i]);

		if (strncmp(name, known[i], len) == 0 &&
		    (name[len] == '\0' ||
		     (group && name[len] == ':' && is_user(name + len + 1, false))))
			return true;
	}
	return false;
}

static bool take_user(struct steps *steps, const char *name)
{
	if (name == NULL || name[0] == '\0' || is_user(name, true))
		return true;
	return refuse(steps, "a step names a user other than `user` and `root`: a sandbox has one "
			     "user, whom both mean");
}

/* ---- steps ---------------------------------------------------------------------------------- */

typedef bool step_fn(struct steps *steps, const char *const *args, size_t count,
		     const char *hash);

static bool write_run(struct steps *steps, const char *const *args, size_t count, const char *hash)
{
	(void)hash;
	if (count < 1 || count > 2)
		return refuse(steps, "RUN has a command, and may name a user");
	if (count == 2 && !take_user(steps, args[1]))
		return false;
	if (count == 2 && args[1][0] == 'r' &&
	    !add(steps, "say warn 'root is the ordinary user of a sandbox'\n"))
		return false;
	return add(steps, "run") && add_word(steps, args[0]) && add(steps, "\n");
}

static bool write_env(struct steps *steps, const char *const *args, size_t count, const char *hash)
{
	(void)hash;
	if (count == 0 || count % 2 != 0)
		return refuse(steps, "ENV has names and values");
	for (size_t i = 0; i < count; i += 2) {
		if (!is_name(args[i]))
			return refuse(steps, "ENV has a name that is not one of a variable");
		if (!add(steps, "say info 'ENV ") || !add(steps, args[i]) ||
		    !add(steps, "'; export ") || !add(steps, args[i]) || !add(steps, "=") ||
		    !add_value(steps, args[i + 1]) || !add(steps, "; NAMES+=(") ||
		    !add(steps, args[i]) || !add(steps, ")\n"))
			return false;
	}
	return true;
}

static bool write_workdir(struct steps *steps, const char *const *args, size_t count,
			  const char *hash)
{
	(void)hash;
	if (count != 1 || args[0][0] == '\0')
		return refuse(steps, "WORKDIR has one folder");
	return add(steps, "workdir") && add_word(steps, args[0]) && add(steps, "\n");
}

static bool write_user(struct steps *steps, const char *const *args, size_t count,
		       const char *hash)
{
	(void)hash;
	if (count != 1 || args[0][0] == '\0')
		return refuse(steps, "USER has one name");
	return take_user(steps, args[0]) && add(steps, "say info 'USER ") && add(steps, args[0]) &&
	       add(steps, "'\n");
}

static bool is_mode(const char *mode)
{
	return strlen(mode) <= 4 && strspn(mode, "01234567") == strlen(mode);
}

static bool write_copy(struct steps *steps, const char *const *args, size_t count,
		       const char *hash)
{
	if (count < 2 || count > 4 || args[0][0] == '\0' || args[1][0] == '\0')
		return refuse(steps, "COPY has what is copied and where to, and may name a user "
				     "and a mode");
	if (hash == NULL || !template_is_hash(hash))
		return refuse(steps, "COPY has no filesHash, which is 64 hexadecimal digits");
	if (count == 4 && !is_mode(args[3]))
		return refuse(steps, "the mode of COPY is four octal digits");
	if (count > 2 && !take_user(steps, args[2]))
		return false;
	steps->hashes[steps->hash_count++] = arena_text(steps->e2b->arena, hash, strlen(hash));
	return add(steps, "copy") && add_word(steps, hash) && add_word(steps, args[0]) &&
	       add_word(steps, args[1]) && add_word(steps, count == 4 ? args[3] : "") &&
	       add(steps, "\n");
}

static bool write_step(struct steps *steps, size_t number, const struct json_value *step)
{
	static const struct {
		const char *type;
		step_fn *fn;
	} known[] = { { "RUN", write_run },
		      { "ENV", write_env },
		      { "WORKDIR", write_workdir },
		      { "USER", write_user },
		      { "COPY", write_copy } };
	const char *type = json_read_text(json_read_member(step, "type"), NULL);
	const struct json_value *given = json_read_member(step, "args");
	const size_t count = json_read_count(given);
	const char **args = arena_new(steps->e2b->arena, count + 1, sizeof(*args));
	size_t len;

	if (json_read_kind(given) != JSON_KIND_NULL && json_read_kind(given) != JSON_KIND_ARRAY)
		return refuse(steps, "args is a list of texts");
	for (size_t i = 0; i < count; i++) {
		args[i] = json_read_text(json_read_at(given, i), &len);
		if (args[i] == NULL || strlen(args[i]) != len)
			return refuse(steps, "args is a list of texts without NUL");
	}
	if (buf_addf(steps->out, &steps->err, "step %zu\n", number) < 0)
		return false;
	for (size_t i = 0; type != NULL && i < ARRAY_LEN(known); i++)
		if (strcmp(known[i].type, type) == 0)
			return known[i].fn(steps, args, count,
					   json_read_text(json_read_member(step, "filesHash"),
							  NULL));
	return refuse(steps, "a step is one of RUN, ENV, WORKDIR, USER and COPY");
}

/* ---- the script ----------------------------------------------------------------------------- */

/* What the base template has already set, then `note` as an entry of the log. */
static bool write_base(struct steps *steps, const struct build *build, const char *note)
{
	const char *const *env = build->env.items;

	for (size_t i = 0; i < build->env.count; i++) {
		const size_t len = strcspn(env[i], "=");

		if (!add(steps, "NAMES+=(") ||
		    buf_add(steps->out, env[i], len, &steps->err) < 0 || !add(steps, ")\n"))
			return false;
	}
	if (build->workdir != NULL &&
	    (!add(steps, "W=") || text_quote_for_shell(build->workdir, steps->out, &steps->err) < 0 ||
	     !add(steps, "\n")))
		return false;
	return add(steps, "say info") && add_word(steps, note) && add(steps, "\n");
}

static bool write_variable(struct steps *steps, const char *name, const char *value)
{
	return value == NULL ||
	       (add(steps, name) && text_quote_for_shell(value, steps->out, &steps->err) == 0 &&
		add(steps, "\n"));
}

static bool write_all(struct steps *steps, const struct json_value *given,
		      const struct build *build, const char *note)
{
	const size_t count = json_read_count(given);

	if (!add(steps, template_script_head) || !write_base(steps, build, note))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!write_step(steps, i + 1, json_read_at(given, i)))
			return false;
	return write_variable(steps, "START=", build->start) &&
	       write_variable(steps, "READY=", build->ready) && add(steps, template_script_tail);
}

int template_write_steps(const struct e2b *e2b, const struct json_value *body,
			 const struct build *build, const char *note, struct buf *ret,
			 struct api_list *ret_hashes)
{
	const struct json_value *given = json_read_member(body, "steps");
	struct steps steps = { .e2b = e2b, .out = ret };

	if (json_read_kind(given) != JSON_KIND_NULL && json_read_kind(given) != JSON_KIND_ARRAY) {
		e2b_refuse(e2b, 400, "steps is a list");
		return -1;
	}
	if (json_read_count(given) > STEPS_MAX) {
		e2b_refuse(e2b, 400, "more than 100 steps");
		return -1;
	}
	steps.hashes = arena_new(e2b->arena, STEPS_MAX, sizeof(*steps.hashes));
	if (write_all(&steps, given, build, note)) {
		*ret_hashes = (struct api_list){ steps.hashes, steps.hash_count };
		return 0;
	}
	if (!steps.is_refused)
		e2b_refuse(e2b, 400, "the steps and commands are longer than 110 KiB");
	return -1;
}
