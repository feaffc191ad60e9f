/*
 * entry_write.c - a file or folder in the form of E2B: read from a list, and written.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    lists of reckond, whose names and attributes hostile programs chose.
 * Never:    sends a call.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "dialects/e2b/envd/inside.h"

#define METADATA_MAX ((size_t)1 << 16)

static const char *type_of(unsigned mode)
{
	return S_ISREG(mode)   ? "FILE_TYPE_FILE"
	       : S_ISDIR(mode) ? "FILE_TYPE_DIRECTORY"
			       : "FILE_TYPE_UNSPECIFIED";
}

/* The form of Go: letters for the type and special bits, then the permissions. */
static void write_permissions(struct json_writer *json, unsigned mode)
{
	const struct {
		bool is_set;
		char letter;
	} special[] = { { S_ISDIR(mode), 'd' },	 { S_ISLNK(mode), 'L' },
			{ S_ISBLK(mode) || S_ISCHR(mode), 'D' }, { S_ISFIFO(mode), 'p' },
			{ S_ISSOCK(mode), 'S' }, { (mode & S_ISUID) != 0, 'u' },
			{ (mode & S_ISGID) != 0, 'g' }, { S_ISCHR(mode), 'c' },
			{ (mode & S_ISVTX) != 0, 't' } };
	char text[24];
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_LEN(special); i++)
		if (special[i].is_set)
			text[len++] = special[i].letter;
	if (len == 0)
		text[len++] = '-';
	for (unsigned bit = 0; bit < 9; bit++)
		text[len++] = (mode & (0400u >> bit)) != 0 ? "rwx"[bit % 3] : '-';
	text[len] = '\0';
	json_write_member_string(json, "permissions", text);
}

void entry_write(struct json_writer *json, const struct entry *entry)
{
	char size[24];

	(void)snprintf(size, sizeof(size), "%" PRIu64, entry->size);
	json_write_object_begin(json);
	json_write_member_string(json, "name", entry->name);
	json_write_member_string(json, "type", type_of(entry->mode));
	json_write_member_string(json, "path", entry->path);
	json_write_member_string(json, "size", size);
	json_write_member_uint(json, "mode", entry->mode & 0777u);
	write_permissions(json, entry->link_mode);
	json_write_member_string(json, "owner", entry->owner != NULL ? entry->owner : "user");
	json_write_member_string(json, "group", entry->group != NULL ? entry->group : "user");
	json_write_member_string(json, "modifiedTime", entry->modified);
	if (entry->target != NULL)
		json_write_member_string(json, "symlinkTarget", entry->target);
	if (entry->metadata != NULL) {
		json_write_key(json, "metadata");
		json_write_raw(json, entry->metadata, strlen(entry->metadata));
	}
	json_write_object_end(json);
}

const char *entry_moment(const struct e2b *e2b, uint64_t ms)
{
	const time_t seconds = (time_t)(ms / 1000);
	char text[40] = "1970-01-01T00:00:00Z";
	struct tm tm;

	if (gmtime_r(&seconds, &tm) != NULL && tm.tm_year < 8100)
		(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return arena_text(e2b->arena, text, strlen(text));
}

const char *entry_metadata(const struct e2b *e2b, const struct json_value *attributes)
{
	cleanup_buf struct buf text = BUF_INIT(METADATA_MAX);
	const size_t prefix = strlen(INSIDE_ATTRIBUTES);
	const struct json_value *value;
	struct json_writer json;
	bool has_any = false;
	const char *key;
	struct err err;

	json_write_init(&json, &text);
	json_write_object_begin(&json);
	for (size_t i = 0; json_read_member_at(attributes, i, &key, &value); i++) {
		size_t len = 0;
		const char *one = json_read_text(value, &len);

		if (one == NULL || strncmp(key, INSIDE_ATTRIBUTES, prefix) != 0 ||
		    key[prefix] == '\0')
			continue;
		has_any = true;
		json_write_member_text(&json, key + prefix, one, len);
	}
	json_write_object_end(&json);
	return json_write_finish(&json, &err) == 0 && has_any
		       ? arena_text(e2b->arena, text.data, text.len)
		       : NULL;
}

bool entry_of_listed(const struct e2b *e2b, const struct json_value *file, struct entry *ret)
{
	const char *path = e2b_rpc_text(file, "path"), *kind = e2b_rpc_text(file, "kind");
	const char *modified = e2b_rpc_text(file, "modified");
	int64_t size = 0, mode = 0;

	(void)json_read_int(json_read_member(file, "size"), &size);
	(void)json_read_int(json_read_member(file, "mode"), &mode);
	*ret = (struct entry){
		.name = arena_text(e2b->arena, text_base_name(path), strlen(text_base_name(path))),
		.modified = arena_text(e2b->arena, modified, strlen(modified)),
		.size = size > 0 ? (uint64_t)size : 0,
		.mode = (strcmp(kind, "folder") == 0 ? S_IFDIR : S_IFREG) |
			((unsigned)mode & 07777u),
		.metadata = entry_metadata(e2b, json_read_member(file, "attributes")),
	};
	ret->link_mode = ret->mode;
	return strcmp(kind, "link") != 0;
}
