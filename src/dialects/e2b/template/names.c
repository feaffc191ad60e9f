/*
 * names.c - names of templates, and tags.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    texts from clients.
 * Never:    accepts a name that cannot be the id of a document.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/template/template.h"

#define CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789_.-"
#define TAG_CHARACTERS CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

bool template_is_tag(const char *tag)
{
	const size_t len = strlen(tag);

	return len >= 1 && len <= TEMPLATE_TAG_MAX && strspn(tag, TAG_CHARACTERS) == len;
}

bool template_name_of(const char *given, struct template_name *ret)
{
	const char *slash = strrchr(given, '/');
	const char *name = slash != NULL ? slash + 1 : given;
	const size_t len = strcspn(name, ":");

	*ret = (struct template_name){ 0 };
	if (len < 1 || len > TEMPLATE_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		ret->name[i] = (char)tolower((unsigned char)name[i]);
	/* Ids of snapshots begin with sn_. */
	if (strspn(ret->name, CHARACTERS) != len || strncmp(ret->name, "sn_", 3) == 0)
		return false;
	if (name[len] == '\0')
		return true;
	if (!template_is_tag(name + len + 1))
		return false;
	(void)snprintf(ret->tag, sizeof(ret->tag), "%s", name + len + 1);
	return true;
}

bool template_take_name(const struct e2b *e2b, const char *given, struct template_name *ret)
{
	if (given != NULL && template_name_of(given, ret))
		return true;
	e2b_refuse(e2b, 400,
		   "a template is called NAME or NAME:TAG, each of 1 to 63 letters, digits, "
		   "'_', '.' and '-', and NAME does not begin with sn_");
	return false;
}

bool template_take_tags(const struct e2b *e2b, const struct json_value *given, struct api_list *ret)
{
	const size_t count = json_read_count(given);
	const char **tags = arena_new(e2b->arena, count + 1, sizeof(*tags));

	if (given != NULL && json_read_kind(given) != JSON_KIND_NULL &&
	    json_read_kind(given) != JSON_KIND_ARRAY) {
		e2b_refuse(e2b, 400, "tags is a list of texts");
		return false;
	}
	if (count > TEMPLATE_TAGS_MAX) {
		e2b_refuse(e2b, 400, "more than 32 tags at once");
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		size_t len;
		const char *tag = json_read_text(json_read_at(given, i), &len);

		if (tag == NULL || strlen(tag) != len || !template_is_tag(tag)) {
			e2b_refuse(e2b, 400,
				   "a tag has 1 to 63 letters, digits, '_', '.' and '-'");
			return false;
		}
		tags[i] = arena_text(e2b->arena, tag, strlen(tag));
	}
	*ret = (struct api_list){ tags, count };
	return true;
}
