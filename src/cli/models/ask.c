/*
 * ask.c - asks servers for their models, each with its own reckon-agent.
 *
 * Runs in:  reckon models.
 * Reads:    frames of agents, which src/agent_client checks.
 * Never:    connects to a server itself.
 */
#include <limits.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/models/catalog.h"
#include "cli/cli.h"
#include "agent_client/agent_client.h"

#define AT_ONCE 8u
#define ANSWER_MS 15000u
#define PATIENCE_NS (UINT64_C(20) * 1000000000) /* the longest wait for a frame of an agent */
#define POLL_MS 50

struct probe {
	struct catalog_row *row;
	struct agent_client *client;
	uint64_t deadline_ns;
};

static int begin(struct probe *probe, struct catalog_row *row, struct err *err)
{
	struct agent_client_model model = {
		.settings = row->settings,
		.model = row->choice.model,
		.base_url = row->choice.base_url,
		.key = row->choice.key,
		.headers = row->choice.entry != NULL ? row->choice.entry->headers : NULL,
	};
	char path[PATH_MAX];

	probe->row = row;
	probe->deadline_ns = clock_mono_ns() + PATIENCE_NS;
	model.settings.wall_ms = ANSWER_MS;
	agent_client_network(&model);
	if (cli_libexec_path("reckon-agent", path, err) < 0)
		return (int)err->code;
	return agent_client_open(path, &model, &probe->client, err);
}

static void fail(struct catalog_row *row, const struct err *why)
{
	row->state = CATALOG_FAILED;
	row->why = *why;
}

static void take_names(struct catalog_row *row, const struct agent_client_frame *frame)
{
	size_t len;
	const char *names = agent_client_read_text(frame, &len);
	struct err full; /* cannot happen: the buffer is as large as a frame may be */

	row->state = CATALOG_WORKS;
	row->count = agent_u64(frame->items, frame->count, AGENT_TAG_COUNT, 0);
	(void)buf_add(&row->names, names, len, &full);
}

static void take_end(struct catalog_row *row, const struct agent_client_frame *frame)
{
	struct agent_client_end end;
	struct err why;

	agent_client_read_end(frame, &end);
	err_set(&why, ERR_UNAVAILABLE, "%s", end.message[0] != '\0' ? end.message
								    : "it does not say why");
	err_remedy(&why, "%s", end.remedy);
	fail(row, &why);
}

/* Handles the available frames; true: the probe is over. */
static bool go_on(struct probe *probe)
{
	struct agent_client_frame frame;
	struct err err;
	int rc = agent_client_take(probe->client, &frame, &err);

	if (rc > 0 && frame.type == AGENT_READY) {
		rc = agent_client_list(probe->client, &err);
	} else if (rc > 0 && frame.type == AGENT_MODELS) {
		take_names(probe->row, &frame);
		return true;
	} else if (rc > 0) {
		take_end(probe->row, &frame);
		return true;
	}
	if (rc >= 0 && clock_mono_ns() > probe->deadline_ns)
		rc = err_set(&err, ERR_TIMEOUT, "reckon-agent does not respond");
	if (rc < 0)
		fail(probe->row, &err);
	return rc < 0;
}

/* Runs until all probes are over. */
static void ask_some(struct probe *probes, size_t count)
{
	size_t left = count;

	while (left > 0) {
		left = 0;
		for (size_t i = 0; i < count; i++) {
			if (probes[i].client == NULL)
				continue;
			if (go_on(&probes[i]))
				agent_client_close(TAKE_PTR(probes[i].client));
			else
				left++;
		}
		for (size_t i = 0; i < count && left > 0; i++)
			if (probes[i].client != NULL) {
				agent_client_wait(probes[i].client, -1, POLL_MS);
				break;
			}
	}
}

void catalog_ask(struct catalog *catalog)
{
	size_t next = 0;

	while (next < catalog->count) {
		struct probe probes[AT_ONCE] = { 0 };
		size_t count = 0;
		struct err err;

		for (; next < catalog->count && count < AT_ONCE; next++) {
			struct catalog_row *row = &catalog->rows[next];

			if (row->state != CATALOG_NOT_REQUESTED)
				continue;
			if (begin(&probes[count], row, &err) < 0)
				fail(row, &err);
			count++;
		}
		ask_some(probes, count);
	}
}
