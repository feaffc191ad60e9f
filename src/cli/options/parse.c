/*
 * parse.c - parses sizes, durations and specifications.
 *
 * Runs in:  reckon.
 * Reads:    single arguments of the command line.
 * Never:    touches a file; never accepts a prefix and ignores the rest.
 */
#include "cli/options/parse.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "base/id.h"
#include "base/mem.h"
#include "base/utf8.h"

#define FRACTION_DIGITS 3
#define FRACTION_SCALE 1000u
#define SPEC_MAX 8192 /* more than two paths need */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Parses a decimal number with at most three digits after the point, in thousandths. Returns the
 * text after it, or NULL if there is no number or it is too large to scale.
 */
static const char *scan_milli(const char *text, uint64_t *ret_milli)
{
	uint64_t whole = 0, fraction = 0;
	unsigned digits = 0;

	if (!is_digit(*text))
		return NULL;
	for (; is_digit(*text); text++) {
		if (whole > (UINT64_MAX / FRACTION_SCALE - 9) / 10 - 1)
			return NULL;
		whole = whole * 10 + (uint64_t)(*text - '0');
	}
	if (*text == '.') {
		for (text++; is_digit(*text); text++, digits++) {
			if (digits == FRACTION_DIGITS)
				return NULL;
			fraction = fraction * 10 + (uint64_t)(*text - '0');
		}
		if (digits == 0)
			return NULL;
	}
	for (; digits < FRACTION_DIGITS; digits++)
		fraction *= 10;
	*ret_milli = whole * FRACTION_SCALE + fraction;
	return text;
}

static int bad_size(const char *text, struct err *err)
{
	err_set(err, ERR_INVALID, "invalid size '%.60s'", text);
	return err_remedy(err, "write a number and K, M, G or T, as in 512M or 1.5G");
}

int parse_size(const char *text, uint64_t *ret_bytes, struct err *err)
{
	static const char units[] = "KMGT";
	uint64_t milli, scale = 1;
	const char *rest = scan_milli(text, &milli);
	const char *unit;

	if (rest == NULL)
		return bad_size(text, err);
	if (*rest != '\0') {
		/* Accept small letters, too, as Docker does. */
		unit = strchr(units, toupper((unsigned char)*rest));
		if (unit == NULL)
			return bad_size(text, err);
		scale = UINT64_C(1) << (10 * (unit - units + 1));
		rest++;
		rest += *rest == 'i';
		rest += *rest == 'B' || *rest == 'b';
	} else if (milli % FRACTION_SCALE != 0) {
		return bad_size(text, err);
	}
	if (*rest != '\0' || milli > UINT64_MAX / scale)
		return bad_size(text, err);
	*ret_bytes = milli * scale / FRACTION_SCALE;
	return 0;
}

static int bad_duration(const char *text, struct err *err)
{
	err_set(err, ERR_INVALID, "invalid duration '%.60s'", text);
	return err_remedy(err, "write a number and ms, s, m or h, as in 30s or 1.5m");
}

int parse_duration(const char *text, uint64_t *ret_ms, struct err *err)
{
	uint64_t milli, scale;
	const char *rest = scan_milli(text, &milli);

	if (rest == NULL)
		return bad_duration(text, err);
	if (strcmp(rest, "ms") == 0) {
		/* The result is in whole milliseconds. */
		if (milli % FRACTION_SCALE != 0)
			return bad_duration(text, err);
		milli /= FRACTION_SCALE;
		scale = 1;
	} else if (*rest == '\0' || strcmp(rest, "s") == 0) {
		scale = 1;
	} else if (strcmp(rest, "m") == 0) {
		scale = 60;
	} else if (strcmp(rest, "h") == 0) {
		scale = 3600;
	} else {
		return bad_duration(text, err);
	}
	if (milli == 0 || milli > UINT64_MAX / scale)
		return bad_duration(text, err);
	*ret_ms = milli * scale;
	return 0;
}

int parse_cpus(const char *text, uint32_t *ret_percent, struct err *err)
{
	uint64_t milli;
	const char *rest = scan_milli(text, &milli);

	if (rest == NULL || *rest != '\0' || milli < 10 || milli % 10 != 0 ||
	    milli / 10 > UINT32_MAX) {
		err_set(err, ERR_INVALID, "invalid number of cores '%.60s'", text);
		return err_remedy(err, "write a number from 0.01, as in 1 or 0.5");
	}
	*ret_percent = (uint32_t)(milli / 10);
	return 0;
}

int parse_count(const char *text, uint64_t *ret_count, struct err *err)
{
	uint64_t milli;
	const char *rest = scan_milli(text, &milli);

	if (rest == NULL || *rest != '\0' || strchr(text, '.') != NULL) {
		err_set(err, ERR_INVALID, "invalid number '%.60s'", text);
		return err_remedy(err, "write digits only, as in 64");
	}
	*ret_count = milli / FRACTION_SCALE;
	return 0;
}

/* "FIRST-LAST" or "FIRST-", or with a colon; *ret_open: LAST is missing. */
static bool split_range(const char *text, uint64_t *ret_first, uint64_t *ret_last, bool *ret_open)
{
	char first[24], last[24];
	const size_t at = strcspn(text, "-:");
	struct err ignored; /* the caller's message quotes the whole text */

	if (text[at] == '\0' || at >= sizeof(first) || strlen(text + at + 1) >= sizeof(last))
		return false;
	memcpy(first, text, at);
	first[at] = '\0';
	memcpy(last, text + at + 1, strlen(text + at + 1) + 1);
	*ret_open = last[0] == '\0';
	return parse_count(first, ret_first, &ignored) == 0 &&
	       (*ret_open ||
		(parse_count(last, ret_last, &ignored) == 0 && *ret_last >= *ret_first));
}

int parse_range(const char *text, uint64_t *ret_offset, uint64_t *ret_length, struct err *err)
{
	uint64_t first = 0, last = 0;
	bool is_open = false;

	if (!split_range(text, &first, &last, &is_open)) {
		err_set(err, ERR_INVALID, "invalid range of bytes '%.60s'", text);
		return err_remedy(err, "write FIRST-LAST or FIRST-, counting from 0");
	}
	*ret_offset = first;
	*ret_length = is_open ? 0 : last - first + 1;
	return 0;
}

int parse_lines(const char *text, uint64_t *ret_first, uint64_t *ret_last, struct err *err)
{
	uint64_t first = 0, last = UINT64_MAX;
	bool is_open = false;

	if (!split_range(text, &first, &last, &is_open) || first == 0) {
		err_set(err, ERR_INVALID, "invalid range of lines '%.60s'", text);
		return err_remedy(err, "write FIRST:LAST or FIRST:, counting from 1");
	}
	*ret_first = first;
	*ret_last = last;
	return 0;
}

static bool is_name_char(char c, bool first)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
	       (!first && is_digit(c));
}

int parse_env(const char *text, struct err *err)
{
	const char *at = text;

	while (is_name_char(*at, at == text))
		at++;
	if (at == text || *at != '=' || !utf8_is_valid(text, strlen(text))) {
		err_set(err, ERR_INVALID, "invalid variable '%.60s': expected NAME=value", text);
		return err_remedy(err, "a name has letters, digits and _, as in LANG=C.UTF-8");
	}
	return 0;
}

int parse_template(const char *text, struct err *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	const size_t len = strlen(text);

	if (len == 0 || len > 63 || strspn(text, allowed) != len || strchr("._-", text[0])) {
		err_set(err, ERR_INVALID, "invalid template name '%.60s'", text);
		return err_remedy(err, "see reckon template ls");
	}
	return 0;
}

static char *dup_range(const char *from, const char *to)
{
	const size_t len = (size_t)(to - from);
	char *copy = mem_new0(len + 1, 1);

	memcpy(copy, from, len);
	return copy;
}

/* The last component of a path, without slashes at its end. */
static char *base_name(const char *path)
{
	const char *end = path + strlen(path);
	const char *from;

	while (end > path && end[-1] == '/')
		end--;
	for (from = end; from > path && from[-1] != '/'; from--)
		;
	return dup_range(from, end);
}

int parse_session(const char *text, struct err *err)
{
	/* Whether an id exists is for the daemon to say; here only its form is checked. */
	if (id_is_name(text, strlen(text), "se") ||
	    (strncmp(text, "se_", 3) == 0 && strlen(text) < ID_SIZE &&
	     strspn(text + 3, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == strlen(text + 3)))
		return 0;
	err_set(err, ERR_INVALID, "invalid session name '%.80s'", text);
	return err_remedy(err, "1 to 63 letters, digits, '.', '_' and '-'");
}

int parse_file_spec(const char *text, char **ret_file, char **ret_name, struct err *err)
{
	cleanup_free char *plain = mem_strdup(text);
	cleanup_free char *file = NULL;
	cleanup_free char *name = NULL;
	size_t len = strlen(plain);
	const char *colon;

	if (len > SPEC_MAX)
		return err_set(err, ERR_INVALID, "the file's name is too long");
	/* "data/" names the directory data: shells complete it with a slash. */
	while (len > 1 && plain[len - 1] == '/' && strchr(plain, ':') == NULL)
		plain[--len] = '\0';
	text = plain;
	colon = strrchr(text, ':');
	file = colon != NULL ? dup_range(text, colon) : mem_strdup(text);
	if (file[0] == '\0') {
		err_set(err, ERR_INVALID, "invalid file name '%.100s'", text);
		return err_remedy(err, "write FILE or FILE:NAME");
	}
	name = colon != NULL ? mem_strdup(colon + 1) : base_name(text);
	if (!fs_path_is_safe(name)) {
		err_set(err, ERR_INVALID, "'%.100s' is not a name in the workspace", name);
		return err_remedy(err, "write FILE:NAME with a relative NAME without '..'");
	}
	*ret_file = TAKE_PTR(file);
	*ret_name = TAKE_PTR(name);
	return 0;
}

static int check_target(const char *target, struct err *err)
{
	const size_t root = strlen("/mnt/");

	if (strncmp(target, "/mnt/", root) != 0 || !fs_path_is_safe(target + root)) {
		err_set(err, ERR_INVALID, "'%.100s' is not a place for a mount", target);
		return err_remedy(err, "the target is a path below /mnt, as in /mnt/input");
	}
	if (strcmp(target + root, "data") == 0 || strncmp(target + root, "data/", 5) == 0) {
		err_set(err, ERR_INVALID, "/mnt/data is the workspace itself");
		return err_remedy(err, "choose another target, as in /mnt/input");
	}
	return 0;
}

int parse_mount_spec(const char *text, char **ret_source, char **ret_target, bool *ret_writable,
		     struct err *err)
{
	const size_t len = strlen(text);
	const char *end = text + len;
	const char *split = NULL;
	cleanup_free char *source = NULL;
	cleanup_free char *target = NULL;
	bool writable = false;

	if (len > SPEC_MAX)
		return err_set(err, ERR_INVALID, "the directory's name is too long");
	if (len > 3 && (strcmp(end - 3, ":ro") == 0 || strcmp(end - 3, ":rw") == 0)) {
		writable = end[-1] == 'w';
		end -= 3;
	}
	for (const char *at = text; at < end; at++)
		if (*at == ':')
			split = at;
	source = dup_range(text, split != NULL ? split : end);
	if (source[0] == '\0') {
		err_set(err, ERR_INVALID, "invalid directory '%.100s'", text);
		return err_remedy(err, "write SRC[:DST][:ro|rw]");
	}
	if (split != NULL) {
		target = dup_range(split + 1, end);
		if (check_target(target, err) < 0)
			return (int)err->code;
	}
	*ret_source = TAKE_PTR(source);
	*ret_target = TAKE_PTR(target);
	*ret_writable = writable;
	return 0;
}

int parse_volume_spec(const char *text, char **ret_name, char **ret_path, bool *ret_read_only,
		      struct err *err)
{
	const size_t len = strlen(text);
	const char *end = text + len, *colon;
	cleanup_free char *name = NULL;
	cleanup_free char *path = NULL;
	bool read_only = false;

	if (len > SPEC_MAX)
		return err_set(err, ERR_INVALID, "the volume's name is too long");
	if (len > 3 && (strcmp(end - 3, ":ro") == 0 || strcmp(end - 3, ":rw") == 0)) {
		read_only = end[-1] == 'o';
		end -= 3;
	}
	colon = memchr(text, ':', (size_t)(end - text));
	name = dup_range(text, colon != NULL ? colon : end);
	if (!id_is_name(name, strlen(name), "-")) {
		err_set(err, ERR_INVALID, "invalid volume name '%.80s'", name);
		return err_remedy(err, "write NAME[:/mnt/PATH][:ro]; reckon volume ls shows what "
				       "there is");
	}
	if (colon != NULL) {
		path = dup_range(colon + 1, end);
		if (check_target(path, err) < 0)
			return (int)err->code;
	}
	*ret_name = TAKE_PTR(name);
	*ret_path = TAKE_PTR(path);
	*ret_read_only = read_only;
	return 0;
}
