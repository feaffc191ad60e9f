/*
 * file.c - an INI text becomes providers, models and their prices.
 *
 * Runs in:  reckon, reckond and tests.
 * Reads:    a file of the user's or the administrator's.
 * Never:    takes a name that it does not know, or a key from a file that others can read.
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
#include "base/fd.h"
#include "base/mem.h"
#include "models/models.h"

/* ---- the rows ---- */

enum kind { KIND_TEXT, KIND_URL, KIND_NAME, KIND_PATH, KIND_SECRET, KIND_CHOICE, KIND_COUNT,
	    KIND_AMOUNT, KIND_SECONDS };

#define IN_DEFAULT (1u << MODELS_DEFAULT)
#define IN_PROVIDER (1u << MODELS_PROVIDER)
#define IN_MODEL (1u << MODELS_MODEL)
#define IN_ANY (IN_DEFAULT | IN_PROVIDER | IN_MODEL)

#define AT(member) offsetof(struct models_entry, member)

static const struct row {
	unsigned sections;
	const char *name;
	enum kind kind;
	size_t offset;
	uint64_t max; /* of a count, an amount's millionths, seconds; the places of a choice */
	const char *choices;
} rows[] = {
	{ IN_DEFAULT | IN_PROVIDER, "model", KIND_TEXT, AT(model), MODELS_MODEL_MAX, NULL },
	{ IN_PROVIDER, "protocol", KIND_CHOICE, AT(protocol), AGENT_PROTOCOL_COUNT_,
	  "chat responses messages gemini" },
	{ IN_PROVIDER, "base-url", KIND_URL, AT(base_url), MODELS_URL_MAX, NULL },
	{ IN_PROVIDER, "key-env", KIND_NAME, AT(key_env), 100, NULL },
	{ IN_PROVIDER, "key-file", KIND_PATH, AT(key_file), 4095, NULL },
	{ IN_PROVIDER, "key", KIND_SECRET, AT(key), MODELS_KEY_MAX, NULL },
	{ IN_PROVIDER | IN_MODEL, "calling", KIND_CHOICE, AT(calling), AGENT_CALLING_COUNT_,
	  "tools fenced schema" },
	{ IN_PROVIDER | IN_MODEL, "images", KIND_CHOICE, AT(images), 2, "no yes" },
	{ IN_ANY, "context", KIND_COUNT, AT(context_tokens), 100000000, NULL },
	{ IN_ANY, "answer-tokens", KIND_COUNT, AT(answer_tokens), 1000000, NULL },
	{ IN_DEFAULT | IN_PROVIDER, "retries", KIND_COUNT, AT(retries), 100, NULL },
	{ IN_PROVIDER | IN_MODEL, "price-in", KIND_AMOUNT, AT(price_in), 0, NULL },
	{ IN_PROVIDER | IN_MODEL, "price-cached", KIND_AMOUNT, AT(price_cached), 0, NULL },
	{ IN_PROVIDER | IN_MODEL, "price-out", KIND_AMOUNT, AT(price_out), 0, NULL },
	{ IN_DEFAULT, "max-steps", KIND_COUNT, AT(steps_max), 1000, NULL },
	{ IN_DEFAULT, "max-tokens", KIND_COUNT, AT(tokens_max), UINT32_MAX, NULL },
	{ IN_DEFAULT, "max-time", KIND_SECONDS, AT(wall_ms), 7 * 86400, NULL },
	{ IN_DEFAULT, "budget", KIND_AMOUNT, AT(budget_micro), 0, NULL },
};

_Static_assert(ARRAY_LEN(rows) <= 32, "a bit for each says whether it was there");

static const char *const section_names[] = { "[default]", "[provider …]", "[model …]" };

/* ---- values ---- */

bool models_amount_read(const char *text, const char **ret_end, uint64_t *ret)
{
	uint64_t value = 0, unit = 1000000;
	size_t digits = 0;

	for (; *text >= '0' && *text <= '9'; text++, digits++) {
		value = value * 10 + (uint64_t)(*text - '0');
		if (value > 1000000)
			return false;
	}
	value *= unit;
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9'; text++, digits++) {
			if (unit == 1)
				return false; /* what is dropped would be a lie */
			unit /= 10;
			value += (uint64_t)(*text - '0') * unit;
		}
	if (digits == 0 || value > UINT64_C(1000000000000))
		return false;
	*ret_end = text;
	*ret = value;
	return true;
}

int models_url_check(const char *url, const char *what, struct err *err)
{
	const char *host = NULL;

	if (strncmp(url, "https://", 8) == 0)
		host = url + 8;
	else if (strncmp(url, "http://", 7) == 0)
		host = url + 7;
	if (host == NULL || *host == '\0' || *host == '/') {
		err_set(err, ERR_INVALID, "%s: '%.100s' is no address", what, url);
		return err_remedy(err, "it begins with https:// or http://");
	}
	for (const char *at = url; *at != '\0'; at++)
		if ((unsigned char)*at <= 0x20 || *at == 0x7f)
			return err_set(err, ERR_INVALID, "%s: it holds a space or control character",
				       what);
	if (strpbrk(host, "?#") != NULL)
		return err_set(err, ERR_INVALID, "%s: it ends before '?' and '#'", what);
	if (memchr(host, '@', strcspn(host, "/")) != NULL)
		return err_set(err, ERR_INVALID, "%s: no name and password belong there", what);
	if (strlen(url) > MODELS_URL_MAX)
		return err_set(err, ERR_INVALID, "%s: it is too long", what);
	return 0;
}

static bool is_variable(const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
	static const char rest[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return text[0] != '\0' && strchr(letters, text[0]) != NULL &&
	       text[strspn(text, rest)] == '\0';
}

static bool is_plain(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

static int check_text(const struct row *row, const char *what, const char *value, struct err *err)
{
	if (value[0] == '\0' || strlen(value) > row->max || !is_plain(value))
		return err_set(err, ERR_INVALID, "%s takes 1 to %llu characters of text", what,
			       (unsigned long long)row->max);
	if (row->kind == KIND_URL)
		return models_url_check(value, what, err);
	if (row->kind == KIND_NAME && !is_variable(value))
		return err_set(err, ERR_INVALID, "%s takes the name of a variable", what);
	if (row->kind == KIND_PATH && value[0] != '/' && strncmp(value, "~/", 2) != 0)
		return err_set(err, ERR_INVALID, "%s takes a path from / or ~/ on", what);
	return 0;
}

static int read_choice(const struct row *row, const char *what, const char *value, uint64_t *ret,
		       struct err *err)
{
	const size_t len = strlen(value);
	const char *at = row->choices;

	for (uint64_t i = 0; i < row->max; i++) {
		const size_t word = strcspn(at, " ");

		if (word == len && memcmp(at, value, len) == 0) {
			*ret = i;
			return 0;
		}
		at += word + (at[word] == ' ');
	}
	return err_set(err, ERR_INVALID, "%s takes one of: %s", what, row->choices);
}

/* Digits, and for seconds one unit. */
static int read_count(const struct row *row, const char *what, const char *value, uint64_t *ret,
		      struct err *err)
{
	const size_t digits = strspn(value, "0123456789");
	const uint64_t min = strcmp(row->name, "retries") == 0 ? 0 : 1;
	uint64_t factor = 1, number = 0;
	bool good = digits > 0 && digits <= 12;

	if (good && row->kind == KIND_SECONDS && value[digits] != '\0') {
		const char *unit = strchr("s1m2h3d4", value[digits]);

		good = unit != NULL && value[digits] > '9' && value[digits + 1] == '\0';
		if (good)
			factor = (const uint64_t[]){ 1, 60, 3600, 86400 }[unit[1] - '1'];
	} else if (good) {
		good = value[digits] == '\0';
	}
	if (good)
		number = strtoull(value, NULL, 10) * factor;
	if (!good || number < min || number > row->max)
		return err_set(err, ERR_INVALID, "%s takes %s from %llu to %llu", what,
			       row->kind == KIND_SECONDS ? "seconds (or 5m, 2h)" : "a number",
			       (unsigned long long)min, (unsigned long long)row->max);
	*ret = row->kind == KIND_SECONDS ? number * 1000 : number;
	return 0;
}

static int read_number(const struct row *row, const char *what, const char *value, uint64_t *ret,
		       struct err *err)
{
	const char *end;

	if (row->kind == KIND_CHOICE)
		return read_choice(row, what, value, ret, err);
	if (row->kind != KIND_AMOUNT)
		return read_count(row, what, value, ret, err);
	if (!models_amount_read(value, &end, ret) || *end != '\0')
		return err_set(err, ERR_INVALID, "%s takes an amount as in 1.25", what);
	return 0;
}

static int set(struct models_entry *entry, const struct row *row, const char *value,
	       struct err *err)
{
	char what[32];
	uint64_t number;
	char *text;

	(void)snprintf(what, sizeof(what), "\"%s\"", row->name);
	if (row->kind <= KIND_SECRET) {
		if (check_text(row, what, value, err) < 0)
			return (int)err->code;
		text = mem_strdup(value);
		memcpy((char *)entry + row->offset, &text, sizeof(text));
		return 0;
	}
	if (read_number(row, what, value, &number, err) < 0)
		return (int)err->code;
	memcpy((char *)entry + row->offset, &number, sizeof(number));
	return 0;
}

/* ---- entries ---- */

static struct models_entry *entry_new(enum models_section section, unsigned line, const char *name,
				      size_t len)
{
	struct models_entry *entry = mem_new0(1, sizeof(*entry));
	const uint64_t unset = MODELS_UNSET;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].kind > KIND_SECRET)
			memcpy((char *)entry + rows[i].offset, &unset, sizeof(unset));
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
	free(entry);
}

void models_free(struct models *models)
{
	if (models == NULL)
		return;
	for (size_t i = 0; i < models->count; i++)
		entry_free(models->entries[i]);
	free(models->entries);
	free(models);
}

static void models_free_fn(struct models **models)
{
	models_free(*models);
}
#define cleanup_models __attribute__((cleanup(models_free_fn)))

const struct models_entry *models_entry_find(const struct models *models,
					     enum models_section section, const char *name,
					     size_t name_len)
{
	for (size_t i = 0; models != NULL && i < models->count; i++) {
		const struct models_entry *entry = models->entries[i];

		if (entry->section == section && strlen(entry->name) == name_len &&
		    memcmp(entry->name, name, name_len) == 0)
			return entry;
	}
	return NULL;
}

/* ---- the text ---- */

struct parsing {
	struct models *models;
	struct models_entry *entry; /* of the section that is read; NULL: of one that is wrong */
	struct models_problems *problems;
	const char *at, *end;
	unsigned line;
	unsigned problem_line; /* the last line that has one already */
	bool is_secret, is_section; /* a section was begun, good or not */
	uint32_t seen;	       /* rows of this section */
};

static void complain(struct parsing *parsing, unsigned line, const char *text)
{
	struct models_problems *problems = parsing->problems;

	if (line != 0 && parsing->problem_line == line)
		return;
	parsing->problem_line = line;
	if (problems->count < MODELS_PROBLEMS_MAX) {
		problems->list[problems->count].line = line;
		(void)snprintf(problems->list[problems->count].text,
			       sizeof(problems->list[problems->count].text), "%s", text);
	}
	problems->count++;
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

/* PROVIDER/NAME, whose second half is the server's and may be anything that can be typed. */
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

/* "default", "provider NAME", "model PROVIDER/NAME". */
static bool read_section(const char *text, size_t len, enum models_section *ret,
			 const char **ret_name, size_t *ret_len)
{
	static const char *const words[] = { "default", "provider ", "model " };

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
		if (i == MODELS_DEFAULT)
			return *ret_len == 0;
		return i == MODELS_PROVIDER ? is_name(*ret_name, *ret_len)
					    : is_model(*ret_name, *ret_len);
	}
	return false;
}

/*
 * A line that begins with '['. inih would keep 49 bytes of a section's name, which is less than
 * models have, so it does not get to see them.
 */
static void take_section(struct parsing *parsing, const char *line, size_t len)
{
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
		complain(parsing, parsing->line,
			 "a section is [default], [provider NAME] or [model PROVIDER/NAME]");
		return;
	}
	if (models_entry_find(models, section, name, name_len) != NULL) {
		complain(parsing, parsing->line, "this section was there before");
		return;
	}
	if (models->count == MODELS_ENTRIES_MAX) {
		complain(parsing, parsing->line, "there are too many sections");
		return;
	}
	parsing->entry = entry_new(section, parsing->line, name, name_len);
	models->entries = mem_grow(models->entries, models->count + 1,
				   sizeof(struct models_entry *));
	models->entries[models->count++] = parsing->entry;
}

/* The text of a file ends without a NUL. */
static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
			return false;
	return true;
}

/* inih asks for lines; what it would cut, or join to the line before, is a problem instead. */
static char *next_line(char *ret, int size, void *arg)
{
	struct parsing *parsing = arg;
	const size_t left = (size_t)(parsing->end - parsing->at);
	const char *newline = memchr(parsing->at, '\n', left), *line = parsing->at;
	const size_t len = newline != NULL ? (size_t)(newline - line) : left;
	const char *why = NULL;
	bool is_for_inih = false;

	if (left == 0)
		return NULL;
	parsing->line++;
	parsing->at += len + (newline != NULL);
	if (memchr(line, '\0', len) != NULL)
		why = "the line has a NUL byte";
	else if (len > 0 && line[0] == '[')
		take_section(parsing, line, len);
	else if (len + 2 > (size_t)size)
		why = "the line is too long";
	else if (len > 0 && (line[0] == ' ' || line[0] == '\t'))
		why = is_blank(line, len) ? NULL : "the line begins with a space";
	else
		is_for_inih = true;
	if (why != NULL)
		complain(parsing, parsing->line, why);
	if (is_for_inih)
		memcpy(ret, line, len);
	memcpy(ret + (is_for_inih ? len : 0), "\n", 2);
	return ret;
}

/* "base_url" is "base-url". */
static const struct row *find_row(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *known = rows[i].name, *given = name;

		while (*known != '\0' && (*known == *given || (*known == '-' && *given == '_'))) {
			known++;
			given++;
		}
		if (*known == '\0' && *given == '\0')
			return &rows[i];
	}
	return NULL;
}

static void take_row(struct parsing *parsing, const struct row *row, const char *value)
{
	const uint32_t bit = 1u << (unsigned)(row - rows);
	char text[240] = "";
	struct err err;

	if ((row->sections >> parsing->entry->section & 1u) == 0)
		(void)snprintf(text, sizeof(text), "\"%s\" has no place in %s", row->name,
			       section_names[parsing->entry->section]);
	else if ((parsing->seen & bit) != 0)
		(void)snprintf(text, sizeof(text), "\"%s\" was given before", row->name);
	else if (row->kind == KIND_SECRET && !parsing->is_secret)
		(void)snprintf(text, sizeof(text), "\"%s\" in a file that others can read: chmod "
			       "600 it, or use key-file or key-env", row->name);
	else if (set(parsing->entry, row, value, &err) < 0)
		(void)snprintf(text, sizeof(text), "%.239s", err.text);
	parsing->seen |= bit;
	if (text[0] != '\0')
		complain(parsing, parsing->line, text);
}

static int take_pair(void *arg, const char *section, const char *name, const char *value)
{
	struct parsing *parsing = arg;
	const struct row *row = find_row(name);
	char text[240];

	(void)section;
	if (!parsing->is_section) {
		complain(parsing, parsing->line, "this stands before the first section");
	} else if (row == NULL) {
		(void)snprintf(text, sizeof(text), "\"%.60s\" is not known", name);
		complain(parsing, parsing->line, text);
	} else if (parsing->entry != NULL) {
		take_row(parsing, row, value);
	}
	return 1;
}

/* ---- what can be judged when all of it is there ---- */

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
	if ((entry->key != NULL) + (entry->key_file != NULL) > 1)
		return "\"key\" and \"key-file\" exclude each other";
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

int models_parse(const char *text, size_t len, bool is_secret, struct models **ret,
		 struct models_problems *problems, struct err *err)
{
	cleanup_models struct models *models = mem_new0(1, sizeof(*models));
	struct parsing parsing = { .models = models, .problems = problems, .at = text,
				   .end = text + len, .is_secret = is_secret };
	int line;

	memset(problems, 0, sizeof(*problems));
	line = ini_parse_stream(next_line, &parsing, take_pair, &parsing);
	if (line != 0) {
		bool is_known = false;

		for (unsigned i = 0; i < problems->count && i < MODELS_PROBLEMS_MAX; i++)
			is_known |= line > 0 && problems->list[i].line == (unsigned)line;
		if (!is_known)
			complain(&parsing, line > 0 ? (unsigned)line : 0,
				 "this is neither [section] nor key = value");
	}
	/* Half of a section that was wrong already would be judged for what is missing in it. */
	for (size_t i = 0; problems->count == 0 && i < models->count; i++) {
		const char *why = judge(models, models->entries[i]);

		if (why != NULL)
			complain(&parsing, models->entries[i]->line, why);
	}
	if (problems->count > 0)
		return err_set(err, ERR_INVALID, "line %u: %s", problems->list[0].line,
			       problems->list[0].text);
	*ret = TAKE_PTR(models);
	return 0;
}

/* ---- the file ---- */

int models_load(const char *path, bool must_exist, struct models **ret,
		struct models_problems *problems, struct err *err)
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
		return err_set(err, ERR_INVALID, "%.200s is no file", path);
	if ((st.st_mode & S_IWOTH) != 0 || (st.st_uid != geteuid() && st.st_uid != 0)) {
		(void)err_set(err, ERR_DENIED, "%.200s can be written by others", path);
		return err_remedy(err, "it says where your keys are sent: make it yours, chmod o-w it");
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
