/*
 * test_agent_wire.c - streams of each provider decode the same wherever they are cut.
 *
 * Runs in:  the unit suite.
 * Reads:    the corpora of the providers' fuzzers: valid and broken streams of each protocol.
 * Never:    expects an event, or a character, to come in one piece.
 */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/formats/provider.h"
#include "base/cleanup.h"
#include "base/file/fd.h"
#include "codec/sse.h"

#define STREAM_MAX ((size_t)1 << 20)
#define EVERY_CUT_MAX 20000u /* bytes; of longer ones every 97th cut */

static const char *corpus;

struct reader {
	const struct provider *provider;
	struct decoder decoder;
	struct buf pieces; /* what the decoder showed during the stream */
};

static int take(const struct sse_event *event, void *arg, struct err *err)
{
	struct reader *reader = arg;

	return reader->provider->event(&reader->decoder, event->name, event->data, event->len,
				       err);
}

static void show(const char *text, size_t len, bool is_thought, void *arg)
{
	struct reader *reader = arg;
	struct err err;

	assert_ok(&err, buf_addc(&reader->pieces, is_thought ? 'T' : 't', &err));
	assert_ok(&err, buf_add(&reader->pieces, text, len, &err));
}

/*
 * Writes the decoded stream to `ret` as text. The decoder gets the stream up to `cut` first, then
 * the rest; if `piece` is not 0, it gets at most so many bytes at once.
 */
static void read_stream(const struct provider *provider, const struct buf *stream, size_t cut,
			size_t piece, struct buf *ret)
{
	struct reader reader = { .provider = provider, .pieces = BUF_INIT(STREAM_MAX) };
	struct model_turn turn;
	struct sse sse;
	struct err err;
	int rc = 0;

	model_turn_init(&turn, MODEL_ROLE_MODEL);
	decoder_init(&reader.decoder, &turn);
	reader.decoder.piece = show;
	reader.decoder.arg = &reader;
	sse_init(&sse, MODEL_EVENT_MAX, take, &reader);
	for (size_t at = 0; at < stream->len && rc == 0;) {
		size_t n = at < cut ? cut - at : stream->len - at;

		if (piece > 0 && n > piece)
			n = piece;
		rc = sse_feed(&sse, stream->data + at, n, &err);
		at += n;
	}
	if (rc == 0)
		rc = sse_end(&sse, &err);
	assert_ok(&err, model_turn_settle(&turn, "code", 1, &err));
	buf_clear(ret);
	assert_ok(&err, buf_addf(ret, &err, "rc %d ended %d fault %d '%s' stop %d in %llu out %llu\n%s\n%s\n"
				 "%s\n", rc, reader.decoder.ended, reader.decoder.fault.kind,
				 reader.decoder.fault.text, turn.stop,
				 (unsigned long long)turn.usage.in,
				 (unsigned long long)turn.usage.out, buf_text(&turn.text),
				 buf_text(&turn.thoughts), buf_text(&reader.pieces)));
	for (size_t i = 0; i < turn.call_count; i++)
		assert_ok(&err, buf_addf(ret, &err, "%s %s %s\n", turn.calls[i].id,
					 turn.calls[i].name, buf_text(&turn.calls[i].args)));
	assert_ok(&err, buf_add(ret, buf_text(&turn.blob), turn.blob.len, &err));
	sse_done(&sse);
	decoder_done(&reader.decoder);
	buf_done(&reader.pieces);
	model_turn_done(&turn);
}

static void assert_cuts_change_nothing(const struct provider *provider, const struct buf *stream)
{
	const size_t step = stream->len <= EVERY_CUT_MAX ? 1 : 97;
	cleanup_buf struct buf whole = BUF_INIT(STREAM_MAX), cut = BUF_INIT(STREAM_MAX);

	read_stream(provider, stream, 0, 0, &whole);
	for (size_t at = 1; at < stream->len; at += step) {
		read_stream(provider, stream, at, 0, &cut);
		assert_string_equal(buf_text(&cut), buf_text(&whole));
	}
	for (size_t piece = 1; piece <= 3; piece++) {
		read_stream(provider, stream, 0, piece, &cut);
		assert_string_equal(buf_text(&cut), buf_text(&whole));
	}
}

static size_t read_corpus(const char *name, const struct provider *provider)
{
	char path[512];
	struct dirent *entry;
	size_t count = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "%s/agent_%s", corpus, name);
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		cleanup_buf struct buf stream = BUF_INIT(STREAM_MAX);
		cleanup_fd int fd = -1;
		struct err err;

		if (entry->d_name[0] == '.')
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		assert_ok(&err, fd_read_all(fd, &stream, &err));
		buf_consume(&stream, stream.len > 0 ? 1 : 0); /* for the fuzzer only */
		assert_cuts_change_nothing(provider, &stream);
		count++;
	}
	(void)closedir(dir);
	return count;
}

UNIT_TEST(chat_stream_decodes_the_same_wherever_it_is_cut)
{
	assert_true(read_corpus("chat", &provider_chat) >= 8);
}

UNIT_TEST(responses_stream_decodes_the_same_wherever_it_is_cut)
{
	assert_true(read_corpus("responses", &provider_responses) >= 5);
}

UNIT_TEST(messages_stream_decodes_the_same_wherever_it_is_cut)
{
	assert_true(read_corpus("messages", &provider_messages) >= 8);
}

UNIT_TEST(gemini_stream_decodes_the_same_wherever_it_is_cut)
{
	assert_true(read_corpus("gemini", &provider_gemini) >= 5);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	corpus = argv[1];
	return unit_run(NULL, NULL);
}
