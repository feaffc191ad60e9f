/*
 * write.c - writes what happens in a run as lines for read.c.
 *
 * Runs in:  reckon ask, reckon chat.
 * Reads:    texts of a person, a model and a box.
 * Never:    writes an API key, or a line that read.c would refuse.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/journal/journal.h"
#include "codec/json_write.h"
#include "agent_client/outcome.h"

static void begin(struct json_writer *writer, struct buf *ret, const char *type)
{
	char now[CLOCK_RFC3339_SIZE];

	clock_rfc3339_now(now);
	json_write_init(writer, ret);
	json_write_object_begin(writer);
	json_write_member_string(writer, "type", type);
	json_write_member_string(writer, "at", now);
}

static int end(struct json_writer *writer, struct err *err)
{
	json_write_object_end(writer);
	return json_write_finish(writer, err);
}

/* Removes NUL bytes: many JSON readers refuse \u0000. */
static void write_text(struct json_writer *writer, const char *key, const char *text, size_t len)
{
	struct buf clean = BUF_INIT(len + 1);
	struct err full; /* cannot happen: the result is no longer than `text` */

	if (memchr(text, '\0', len) == NULL) {
		json_write_member_text(writer, key, text, len);
		return;
	}
	for (size_t i = 0; i < len; i++)
		if (text[i] != '\0')
			(void)buf_addc(&clean, text[i], &full);
	json_write_member_text(writer, key, buf_text(&clean), clean.len);
	buf_done(&clean);
}

int journal_write_run(struct buf *ret, const char *id, const char *command, struct err *err)
{
	struct json_writer writer;

	begin(&writer, ret, "run");
	json_write_member_string(&writer, "schema", JOURNAL_SCHEMA);
	json_write_member_string(&writer, "id", id);
	json_write_member_string(&writer, "command", command);
	json_write_member_string(&writer, "version", RECKON_VERSION);
	return end(&writer, err);
}

static void write_amount(struct json_writer *writer, const char *key, uint64_t micro)
{
	char text[40];
	const int len = snprintf(text, sizeof(text), "%llu.%06llu",
				 (unsigned long long)(micro / 1000000),
				 (unsigned long long)(micro % 1000000));

	json_write_key(writer, key);
	json_write_raw(writer, text, (size_t)len);
}

int journal_write_setting(struct buf *ret, const struct journal_setting *setting, struct err *err)
{
	const struct agent_settings *settings = setting->settings;
	struct json_writer writer;

	begin(&writer, ret, "setting");
	json_write_member_string(&writer, "model", setting->model);
	json_write_member_string(&writer, "base_url", setting->base_url);
	json_write_member_string(&writer, "language", setting->language);
	json_write_member_string(&writer, "template", setting->template_name);
	json_write_member_string(&writer, "calling", setting->calling);
	json_write_key(&writer, "limits");
	json_write_object_begin(&writer);
	json_write_member_limit(&writer, "steps", settings->steps_max);
	json_write_member_limit(&writer, "tokens", settings->tokens_max);
	json_write_key(&writer, "wall_s");
	json_write_seconds(&writer, settings->wall_ms * 1000000u);
	json_write_member_limit(&writer, "context_tokens", settings->context_tokens);
	json_write_member_limit(&writer, "answer_tokens", settings->answer_tokens);
	if (settings->budget_micro > 0)
		write_amount(&writer, "budget", settings->budget_micro);
	else
		json_write_member_string(&writer, "budget", NULL);
	json_write_object_end(&writer);
	return end(&writer, err);
}

int journal_write_session(struct buf *ret, const char *id, const char *name, const char *url,
			struct err *err)
{
	struct json_writer writer;

	begin(&writer, ret, "session");
	json_write_member_string(&writer, "id", id);
	json_write_member_string(&writer, "name", name);
	json_write_member_string(&writer, "url", url);
	return end(&writer, err);
}

int journal_write_file(struct buf *ret, const char *path, const char *name, struct err *err)
{
	struct json_writer writer;

	begin(&writer, ret, "file");
	json_write_member_string(&writer, "path", path);
	json_write_member_string(&writer, "name", name);
	return end(&writer, err);
}

int journal_write_text(struct buf *ret, enum journal_kind kind, const char *text, size_t len,
		     struct err *err)
{
	struct json_writer writer;

	begin(&writer, ret,
	      kind == JOURNAL_QUESTION ? "question"
	      : kind == JOURNAL_PROSE  ? "said"
				       : "note");
	write_text(&writer, "text", text, len);
	return end(&writer, err);
}

/* A compromised agent can report any number; it must not make the run unreadable. */
static uint64_t bounded(uint64_t count)
{
	return count < JOURNAL_TOKENS_MAX ? count : JOURNAL_TOKENS_MAX;
}

static void write_usage(struct json_writer *writer, const struct agent_usage *usage, bool has_cost)
{
	const struct agent_usage safe = {
		.requests = bounded(usage->requests),
		.steps = bounded(usage->steps),
		.in = bounded(usage->in),
		.cached = bounded(usage->cached),
		.out = bounded(usage->out),
		.reasoning = bounded(usage->reasoning),
		.cost_micro = bounded(usage->cost_micro),
	};

	outcome_write_usage(writer, &safe);
	outcome_write_cost(writer, &safe, has_cost);
}

int journal_write_undo(struct buf *ret, struct err *err)
{
	struct json_writer writer;

	begin(&writer, ret, "undo");
	return end(&writer, err);
}

int journal_write_resume(struct buf *ret, struct err *err)
{
	struct json_writer writer;

	begin(&writer, ret, "resume");
	return end(&writer, err);
}

int journal_write_usage(struct buf *ret, const struct agent_usage *usage, bool has_cost,
		      struct err *err)
{
	struct json_writer writer;

	begin(&writer, ret, "usage");
	write_usage(&writer, usage, has_cost);
	return end(&writer, err);
}

int journal_write_cell(struct buf *ret, size_t number, const char *code, size_t len,
		     struct err *err)
{
	struct json_writer writer;

	begin(&writer, ret, "cell");
	json_write_member_uint(&writer, "cell", number);
	write_text(&writer, "code", code, len);
	return end(&writer, err);
}

int journal_write_execution(struct buf *ret, size_t number, const char *id, struct err *err)
{
	struct json_writer writer;

	begin(&writer, ret, "execution");
	json_write_member_uint(&writer, "cell", number);
	json_write_member_string(&writer, "id", id);
	return end(&writer, err);
}

int journal_write_record(struct buf *ret, size_t number, const char *record, size_t len,
		       struct err *err)
{
	struct json_writer writer;

	begin(&writer, ret, "record");
	json_write_member_uint(&writer, "cell", number);
	json_write_key(&writer, "record");
	json_write_raw(&writer, record, len);
	return end(&writer, err);
}

int journal_write_brief(struct buf *ret, size_t number, const struct journal_brief *brief,
		      struct err *err)
{
	struct json_writer writer;

	begin(&writer, ret, "record");
	json_write_member_uint(&writer, "cell", number);
	json_write_member_string(&writer, "record", NULL);
	json_write_member_string(&writer, "status", brief->status);
	write_text(&writer, "text", brief->output, brief->output_len);
	json_write_member_uint(&writer, "left_out", brief->left_out);
	return end(&writer, err);
}

int journal_write_answer(struct buf *ret, const struct journal_end *answer, struct err *err)
{
	struct json_writer writer;

	begin(&writer, ret, "answer");
	if (answer->text != NULL)
		write_text(&writer, "text", answer->text, answer->len);
	else
		json_write_member_string(&writer, "text", NULL);
	json_write_member_string(&writer, "stop", agent_stop_name(answer->stop));
	json_write_member_string(&writer, "message", answer->message);
	outcome_write_checked(&writer, answer->checked);
	write_usage(&writer, answer->usage, answer->has_cost);
	return end(&writer, err);
}
