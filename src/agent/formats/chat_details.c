/*
 * chat_details.c - joins the fragments of `reasoning_details` in Chat Completions.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    events of a stream, hostile.
 * Never:    interprets signatures and ciphertext, which only their maker understands.
 */
#include "agent/formats/chat_details.h"

#include <stdlib.h>
#include <string.h>

#include "agent/conversation/model.h"
#include "base/cleanup.h"
#include "base/mem.h"

/* Members that grow with each fragment, and members that one fragment has. */
static const char *const texts[] = { "text", "summary", "data" };
static const char *const words[] = { "type", "id", "format", "signature" };

#define WORD_MAX ((size_t)64 * 1024)

struct entry {
	int64_t index;
	struct buf texts[3];
	struct buf words[4];
	bool has_text[3];
};

struct details {
	struct entry entries[DETAILS_MAX];
	size_t count;
};

static struct entry *entry_of(struct details *details, int64_t index)
{
	struct entry *entry;

	for (size_t i = 0; i < details->count; i++)
		if (details->entries[i].index == index)
			return &details->entries[i];
	if (details->count == DETAILS_MAX)
		return NULL;
	entry = &details->entries[details->count++];
	entry->index = index;
	for (size_t i = 0; i < ARRAY_LEN(entry->texts); i++)
		entry->texts[i] = BUF_INIT(MODEL_TEXT_MAX);
	for (size_t i = 0; i < ARRAY_LEN(entry->words); i++)
		entry->words[i] = BUF_INIT(WORD_MAX);
	return entry;
}

static int take_fragment(struct details *details, const struct json_value *fragment,
			 int64_t position, struct err *err)
{
	struct entry *entry;
	int64_t index = position;

	(void)json_read_int(json_read_member(fragment, "index"), &index);
	entry = entry_of(details, index);
	for (size_t i = 0; entry != NULL && i < ARRAY_LEN(entry->texts); i++) {
		size_t len;
		const char *text = json_read_text(json_read_member(fragment, texts[i]), &len);

		entry->has_text[i] = entry->has_text[i] || text != NULL;
		if (text != NULL && buf_add(&entry->texts[i], text, len, err) < 0)
			return (int)err->code;
	}
	for (size_t i = 0; entry != NULL && i < ARRAY_LEN(entry->words); i++) {
		size_t len;
		const char *word = json_read_text(json_read_member(fragment, words[i]), &len);

		if (word == NULL || len == 0)
			continue;
		buf_clear(&entry->words[i]);
		if (buf_add(&entry->words[i], word, len, err) < 0)
			return (int)err->code;
	}
	return 0;
}

int details_take(struct details **details, const struct json_value *fragments, struct err *err)
{
	if (json_read_kind(fragments) != JSON_KIND_ARRAY || json_read_count(fragments) == 0)
		return 0;
	if (*details == NULL)
		*details = mem_new0(1, sizeof(**details));
	for (size_t i = 0; i < json_read_count(fragments); i++)
		if (take_fragment(*details, json_read_at(fragments, i), (int64_t)i, err) < 0)
			return (int)err->code;
	return 0;
}

static int write_entry(const struct entry *entry, struct buf *ret, struct err *err)
{
	struct json_writer writer;

	json_write_init(&writer, ret);
	json_write_object_begin(&writer);
	for (size_t i = 0; i < ARRAY_LEN(entry->words); i++)
		if (entry->words[i].len > 0)
			json_write_member_text(&writer, words[i], entry->words[i].data,
					       entry->words[i].len);
	for (size_t i = 0; i < ARRAY_LEN(entry->texts); i++)
		if (entry->has_text[i])
			json_write_member_text(&writer, texts[i], buf_text(&entry->texts[i]),
					       entry->texts[i].len);
	json_write_key(&writer, "index");
	json_write_int(&writer, entry->index);
	json_write_object_end(&writer);
	return json_write_finish(&writer, err);
}

int details_write(const struct details *details, struct buf *ret, struct err *err)
{
	buf_clear(ret);
	for (size_t i = 0; details != NULL && i < details->count; i++)
		if ((i > 0 && buf_addc(ret, ',', err) < 0) ||
		    write_entry(&details->entries[i], ret, err) < 0)
			return (int)err->code;
	return 0;
}

void details_free(struct details *details)
{
	for (size_t i = 0; details != NULL && i < details->count; i++) {
		for (size_t j = 0; j < ARRAY_LEN(details->entries[i].texts); j++)
			buf_done(&details->entries[i].texts[j]);
		for (size_t j = 0; j < ARRAY_LEN(details->entries[i].words); j++)
			buf_done(&details->entries[i].words[j]);
	}
	free(details);
}
