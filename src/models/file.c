/*
 * file.c - parses an INI text into providers, models and their prices.
 *
 * Runs in:  reckon, reckond and tests.
 * Reads:    a file that the user or the administrator wrote.
 * Never:    accepts an unknown name, or a key from a file that other users can read.
 */
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "models/row.h"

/* ---- entries ---- */

static struct models_entry *entry_new(enum models_section section, unsigned line, const char *name,
				      size_t len)
{
	struct models_entry *entry = mem_new0(1, sizeof(*entry));

	models_row_unset_all(entry);
	entry->section = section;
	entry->line = line;
	entry->name = mem_new0(len + 1, 1);
	memcpy(entry->name, name, len);
	return entry;
}

static void entry_free(struct models_entry *entry)
{
	if (entry->key != NULL)
		explicit_bzero(entry->key, strlen(entry->key));
	free(entry->name);
	free(entry->base_url);
	free(entry->key_env);
	free(entry->key_file);
	free(entry->key);
	free(entry->model);
	free(entry->headers);
	free(entry);
}

void models_free(struct models *models)
{
	if (models == NULL)
		return;
	for (size_t i = 0; i < models->count; i++)
		entry_free(models->entries[i]);
	free(models->entries);
	for (size_t i = 0; i < models->alias_count; i++) {
		free(models->aliases[i].pattern);
		free(models->aliases[i].model);
	}
	free(models->aliases);
	free(models);
}

static void models_free_fn(struct models **models)
{
	models_free(*models);
}
#define cleanup_models __attribute__((cleanup(models_free_fn)))

/* ---- the text ---- */

static const char *const section_names[] = { "[default]", "[provider …]", "[model …]",
					      "[aliases]" };

struct parsing {
	struct models *models;
	struct models_entry *entry; /* current section; NULL: an invalid one */
	struct ini_text text;
	bool is_secret, is_section; /* a section has begun, valid or not */
	uint32_t seen;	       /* rows seen in this section */
};

static void complain(struct parsing *parsing, const char *why)
{
	ini_text_complain(&parsing->text, parsing->text.line, why);
}

static bool is_name(const char *text, size_t len)
{
	static const char most[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	if (len == 0 || len > MODELS_NAME_MAX || memchr(most, text[0], sizeof(most) - 1) == NULL)
		return false;
	for (size_t i = 0; i < len; i++)
		if (memchr(most, text[i], sizeof(most) - 1) == NULL &&
		    memchr("._-", text[i], 3) == NULL)
			return false;
	return true;
}

/* PROVIDER/NAME; the server defines NAME, so it may contain any printable text. */
static bool is_model(const char *text, size_t len)
{
	const char *slash = memchr(text, '/', len);
	const size_t head = slash != NULL ? (size_t)(slash - text) : 0;

	if (slash == NULL || !is_name(text, head) || len - head - 1 == 0 ||
	    len - head - 1 > MODELS_MODEL_MAX)
		return false;
	for (size_t i = head; i < len; i++)
		if ((unsigned char)text[i] <= 0x20 || text[i] == 0x7f)
			return false;
	return true;
}

/* "default", "provider NAME", "model PROVIDER/NAME", "aliases". */
static bool read_section(const char *text, size_t len, enum models_section *ret,
			 const char **ret_name, size_t *ret_len)
{
	static const char *const words[] = { "default", "provider ", "model ", "aliases" };

	for (unsigned i = 0; i < ARRAY_LEN(words); i++) {
		const size_t word = strlen(words[i]);

		if (len < word || memcmp(text, words[i], word) != 0)
			continue;
		*ret = (enum models_section)i;
		while (word < len && text[word] == ' ') {
			text++;
			len--;
		}
		*ret_name = text + word;
		*ret_len = len - word;
		if (i == MODELS_DEFAULT || i == MODELS_ALIASES)
			return *ret_len == 0;
		return i == MODELS_PROVIDER ? is_name(*ret_name, *ret_len)
					    : is_model(*ret_name, *ret_len);
	}
	return false;
}

/*
 * Handles a line that begins with '['. inih truncates section names to 49 bytes, which model names
 * can exceed, so inih does not get these lines.
 */
static void take_section(void *arg, const char *line, size_t len)
{
	struct parsing *parsing = arg;
	const char *close = memchr(line, ']', len);
	const char *rest = close != NULL ? close + 1 : NULL, *name;
	struct models *models = parsing->models;
	enum models_section section;
	size_t name_len;

	parsing->entry = NULL;
	parsing->is_section = true;
	parsing->seen = 0;
	while (rest != NULL && rest < line + len && strchr(" \t\r", *rest) != NULL)
		rest++;
	if (rest == NULL || (rest < line + len && *rest != ';' && *rest != '#') ||
	    !read_section(line + 1, (size_t)(close - line - 1), &section, &name, &name_len)) {
		complain(parsing, "a section is [default], [provider NAME], [model PROVIDER/NAME] "
				  "or [aliases]");
		return;
	}
	if (models_entry_find(models, section, name, name_len) != NULL) {
		complain(parsing, "this section was there before");
		return;
	}
	if (models->count == MODELS_ENTRIES_MAX) {
		complain(parsing, "there are too many sections");
		return;
	}
	parsing->entry = entry_new(section, parsing->text.line, name, name_len);
	models->entries = mem_grow(models->entries, models->count + 1,
				   sizeof(struct models_entry *));
	models->entries[models->count++] = parsing->entry;
}

static void take_row(struct parsing *parsing, const struct models_row *row, const char *value)
{
	const uint32_t bit = models_row_bit(row);
	char text[240] = "";
	struct err err;

	if ((row->sections >> parsing->entry->section & 1u) == 0)
		(void)snprintf(text, sizeof(text), "\"%s\" has no place in %s", row->name,
			       section_names[parsing->entry->section]);
	else if ((parsing->seen & bit) != 0)
		(void)snprintf(text, sizeof(text), "\"%s\" was given before", row->name);
	else if (row->kind == MODELS_ROW_SECRET && !parsing->is_secret)
		(void)snprintf(text, sizeof(text), "\"%s\" in a file that others can read: chmod "
			       "600 it, or use key-file or key-env", row->name);
	else if (models_row_set(parsing->entry, row, value, &err) < 0)
		(void)snprintf(text, sizeof(text), "%.239s", err.text);
	parsing->seen |= bit;
	if (text[0] != '\0')
		complain(parsing, text);
}

static void take_alias(struct parsing *parsing, const char *pattern, const char *model)
{
	struct models *models = parsing->models;

	if (models->alias_count == MODELS_ALIASES_MAX) {
		complain(parsing, "there are too many aliases");
		return;
	}
	models->aliases = mem_grow(models->aliases, models->alias_count + 1,
				   sizeof(*models->aliases));
	models->aliases[models->alias_count++] = (struct models_alias){
		.line = parsing->text.line,
		.pattern = mem_strdup(pattern),
		.model = mem_strdup(model),
	};
}

static int take_pair(void *arg, const char *section, const char *name, const char *value)
{
	struct parsing *parsing = arg;
	const struct models_row *row = models_row_find(name);
	char text[240];

	(void)section;
	if (!parsing->is_section) {
		complain(parsing, "this stands before the first section");
	} else if (parsing->entry != NULL && parsing->entry->section == MODELS_ALIASES) {
		take_alias(parsing, name, value);
	} else if (row == NULL) {
		(void)snprintf(text, sizeof(text), "\"%.60s\" is not known", name);
		complain(parsing, text);
	} else if (parsing->entry != NULL) {
		take_row(parsing, row, value);
	}
	return 1;
}

/* ---- checks of the whole file ---- */

static const char *judge_provider(const struct models_entry *entry)
{
	struct models_provider provider;
	const bool is_known = models_provider_find(NULL, entry->name, strlen(entry->name),
						   &provider);

	if (is_known && entry->protocol != MODELS_UNSET)
		return "a provider that is built in has its protocol";
	if (is_known && provider.is_local &&
	    (entry->base_url != NULL || entry->key_env != NULL || entry->key_file != NULL ||
	     entry->key != NULL))
		return "a local model has neither address nor key";
	if (!is_known && entry->protocol == MODELS_UNSET)
		return "the provider needs \"protocol\": chat, responses, messages or gemini";
	if (!is_known && entry->base_url == NULL)
		return "the provider needs \"base-url\"";
	return NULL;
}

static const char *judge(const struct models *models, const struct models_entry *entry)
{
	const char *slash = strchr(entry->name, '/');
	struct models_provider provider;

	if ((entry->price_in == MODELS_UNSET) != (entry->price_out == MODELS_UNSET))
		return "\"price-in\" and \"price-out\" go together";
	if (entry->price_cached != MODELS_UNSET && entry->price_in == MODELS_UNSET)
		return "\"price-cached\" needs \"price-in\" and \"price-out\"";
	if (entry->price_written != MODELS_UNSET && entry->price_in == MODELS_UNSET)
		return "\"price-cache-write\" needs \"price-in\" and \"price-out\"";
	if ((entry->key != NULL) + (entry->key_file != NULL) > 1)
		return "\"key\" and \"key-file\" cannot be used together";
	if (entry->section == MODELS_PROVIDER)
		return judge_provider(entry);
	if (entry->section == MODELS_MODEL &&
	    !models_provider_find(models, entry->name, (size_t)(slash - entry->name), &provider))
		return "the model's provider is neither built in nor in this file";
	slash = entry->model != NULL ? strchr(entry->model, '/') : NULL;
	if (entry->section == MODELS_DEFAULT && entry->model != NULL &&
	    !models_provider_find(models, entry->model,
				  slash != NULL ? (size_t)(slash - entry->model)
						: strlen(entry->model), &provider))
		return "\"model\" names no provider that there is";
	return NULL;
}

static const char *judge_alias(const struct models *models, const struct models_alias *alias)
{
	const char *slash = strchr(alias->model, '/');
	const size_t len = strlen(alias->model);
	struct models_provider provider;

	if (slash != NULL ? !is_model(alias->model, len) : !is_name(alias->model, len))
		return "an alias means PROVIDER/NAME or PROVIDER";
	if (!models_provider_find(models, alias->model,
				  slash != NULL ? (size_t)(slash - alias->model) : len, &provider))
		return "the alias names no provider that there is";
	return NULL;
}

int models_parse(const char *text, size_t len, bool is_secret, struct models **ret,
		 struct ini_problems *problems, struct err *err)
{
	cleanup_models struct models *models = mem_new0(1, sizeof(*models));
	struct parsing parsing = { .models = models, .is_secret = is_secret,
				   .text = { .at = text, .end = text + len, .problems = problems,
					     .on_section = take_section, .arg = &parsing } };

	memset(problems, 0, sizeof(*problems));
	if (ini_text_end(&parsing.text,
			 ini_parse_stream(ini_text_next, &parsing.text, take_pair, &parsing),
			 err) < 0)
		/* A section with errors is incomplete: do not report what is missing in it. */
		return (int)err->code;
	for (size_t i = 0; i < models->count; i++) {
		const char *why = judge(models, models->entries[i]);

		if (why != NULL)
			ini_text_complain(&parsing.text, models->entries[i]->line, why);
	}
	for (size_t i = 0; i < models->alias_count; i++) {
		const char *why = judge_alias(models, &models->aliases[i]);

		if (why != NULL)
			ini_text_complain(&parsing.text, models->aliases[i].line, why);
	}
	if (ini_problems_check(problems, err) < 0)
		return (int)err->code;
	*ret = TAKE_PTR(models);
	return 0;
}

/* ---- the file ---- */

int models_load(const char *path, bool must_exist, struct models **ret,
		struct ini_problems *problems, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(MODELS_FILE_MAX);
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int rc;

	memset(problems, 0, sizeof(*problems));
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR) && !must_exist) {
		*ret = mem_new0(1, sizeof(**ret));
		return 0;
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "%.200s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "%.200s is not a file", path);
	if ((st.st_mode & S_IWOTH) != 0 || (st.st_uid != geteuid() && st.st_uid != 0)) {
		(void)err_set(err, ERR_DENIED, "%.200s can be written by others", path);
		return err_remedy(err,
				  "it says where your keys are sent: make it yours, chmod o-w it");
	}
	if (fd_read_all(fd, &text, err) < 0)
		return err_wrap(err, "%.200s", path);
	rc = models_parse(buf_text(&text), text.len, (st.st_mode & (S_IRWXG | S_IRWXO)) == 0, ret,
			  problems, err);
	if (text.data != NULL)
		explicit_bzero(text.data, text.cap);
	return rc < 0 ? err_wrap(err, "%.200s", path) : 0;
}

int models_user_file(char *ret, size_t size, bool *ret_named, struct err *err)
{
	const char *given = secure_getenv(MODELS_FILE_ENV), *home = secure_getenv("HOME");
	const char *xdg = secure_getenv("XDG_CONFIG_HOME");
	int len;

	*ret_named = given != NULL && given[0] != '\0';
	if (*ret_named)
		len = snprintf(ret, size, "%s", given);
	else if (xdg != NULL && xdg[0] == '/')
		len = snprintf(ret, size, "%s/reckon/models.ini", xdg);
	else
		len = snprintf(ret, size, "%s/.config/reckon/models.ini", home != NULL ? home : "");
	if (len < 0 || (size_t)len >= size)
		return err_set(err, ERR_INVALID, "the path of models.ini is too long");
	return 0;
}
