/*
 * window.c - a talk that stays within what its model can read.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    the talk.
 * Never:    touches a question, an answer, or the results that the model has not answered yet.
 *
 * What a cell printed is the part that grows, and the part that can be had again: the variables are
 * still there. So the oldest results go first, to their beginning and a line about the rest.
 */
#include <stdlib.h>

#include "agent/loop.h"
#include "base/utf8.h"

#define BYTES_PER_TOKEN 3u /* below what English and code have: rather too early than too late */
#define IMAGE_TOKENS 1500u
#define KEPT_BYTES 400u
#define SPARE_BYTES 200u

static uint64_t turn_bytes(const struct model_turn *turn)
{
	uint64_t bytes = turn->text.len;

	if (turn->blob.len > 0)
		return turn->blob.len;
	for (size_t i = 0; i < turn->call_count; i++)
		bytes += turn->calls[i].args.len;
	for (size_t i = 0; i < turn->result_count; i++)
		bytes += turn->results[i].text.len;
	return bytes;
}

uint64_t window_estimate(const struct model_talk *talk)
{
	uint64_t bytes = talk->system.len, images = 0;

	for (size_t i = 0; i < talk->count; i++) {
		bytes += turn_bytes(talk->turns[i]);
		images += talk->turns[i]->image_count;
	}
	return bytes / BYTES_PER_TOKEN + images * IMAGE_TOKENS;
}

static bool shorten_text(struct buf *text)
{
	const size_t before = text->len;
	size_t keep = KEPT_BYTES;
	struct err ignored; /* it gets shorter: there is room */

	if (before <= KEPT_BYTES + SPARE_BYTES)
		return false;
	keep -= utf8_incomplete_tail(text->data, keep);
	text->len = keep;
	(void)buf_addf(text, &ignored,
		       "\n[%zu more bytes of this older output were left out; variables and files "
		       "are still there: print again what you need]",
		       before - keep);
	return true;
}

/* Results of tools, and outputs that came as a message (fenced code, schema). */
static bool shorten(struct model_turn *turn)
{
	bool changed = false;

	if (turn->role != MODEL_ROLE_RESULTS)
		return false;
	for (size_t i = 0; i < turn->result_count; i++)
		changed |= shorten_text(&turn->results[i].text);
	if (turn->image_count > 0) {
		while (turn->image_count > 0) {
			struct model_image *image = &turn->images[--turn->image_count];

			free(image->mime);
			buf_done(&image->base64);
		}
		changed = true;
	}
	return changed;
}

bool window_fit(struct model_talk *talk, uint64_t tokens_max)
{
	for (size_t i = 0; i + 1 < talk->count && window_estimate(talk) > tokens_max; i++)
		(void)shorten(talk->turns[i]);
	return window_estimate(talk) <= tokens_max;
}
