/*
 * cells.c - functions shared by commands that run cells in a daemon's session.
 *
 * Runs in:  reckon-client.
 * Reads:    answers of a daemon.
 * Never:    changes a session's settings, which are fixed when it is created.
 */
#include "cli/remote/cells.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/storage/storage.h"
#include "codec/json_get.h"

double remote_number(const struct json_value *value)
{
	double number = 0;
	int64_t whole = 0;

	if (json_read_int(value, &whole))
		return (double)whole;
	(void)json_read_double(value, &number);
	return number;
}

static int differs(const struct remote_cells *at, const char *option, struct err *err)
{
	(void)err_set(err, ERR_INVALID, "--%s cannot be changed: session %s already exists",
		      option, json_get_str(at->session, "name"));
	return err_remedy(err,
			  "leave it out, take another name, or end that one: reckon session rm "
			  "%s",
			  json_get_str(at->session, "name"));
}

/* Options that equal the session's settings are accepted, so that a script can always give them. */
int remote_check_same(const struct remote_cells *at, struct err *err)
{
	const reckon_limits *limits = &at->run->limits;
	const struct json_value *now = json_read_member(at->session, "limits");
	const struct {
		const char *option, *name;
		double value;
	} numbers[] = {
		{ "cpu-time", "cpu_s", (double)limits->cpu_ms / 1000 },
		{ "memory", "memory_bytes", (double)limits->memory_bytes },
		{ "disk", "disk_bytes", (double)limits->disk_bytes },
		{ "max-output", "output_bytes", (double)limits->output_bytes },
		{ "pids", "processes", limits->pids },
		{ "cpus", "cpu_percent", limits->cpu_percent },
	};
	const struct {
		const char *option, *value;
	} texts[] = {
		{ "template", at->run->template_name },
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i].value != NULL &&
		    strcmp(texts[i].value, json_get_str(at->session, texts[i].option)) != 0)
			return differs(at, texts[i].option, err);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i].value > 0 &&
		    fabs(numbers[i].value - remote_number(json_read_member(now, numbers[i].name))) >
			    0.0005)
			return differs(at, numbers[i].option, err);
	if (!storage_has_volumes(at->session, at->run))
		return differs(at, "volume", err);
	if (at->run->snapshot != NULL)
		return differs(at, "snapshot", err);
	return at->run->env_count > 0 ? differs(at, "env", err) : 0;
}

static int make(struct remote_cells *at, const char *name, const struct err *before,
		bool *ret_made, struct err *err)
{
	const struct remote_body body = { .name = name };

	if (storage_begin(at->client, at->run, &body, &at->session, err) == 0) {
		if (before->code == ERR_LOST)
			run_output_line("reckon: %s", before->text);
		run_output_line("reckon: made session %s (reckon session rm %s ends it)", name,
				name);
		*ret_made = true;
		return 0;
	}
	/* Another client created the session at the same moment. */
	if (strcmp(client_last(at->client)->code, "session_exists") != 0)
		return (int)err->code;
	if (remote_session(at->client, name, &at->session, err) < 0)
		return (int)err->code;
	return remote_check_same(at, err);
}

int remote_cells_open(struct remote_cells *at, const char *name, bool *ret_made, struct err *err)
{
	struct err before;
	int code;

	json_read_free(at->session);
	at->session = NULL;
	*ret_made = false;
	code = remote_session(at->client, name, &at->session, &before);
	if (code == 0)
		return remote_check_same(at, err);
	/* Only a daemon assigns ids, so a session cannot be created with one. */
	if ((code == ERR_NOT_FOUND || code == ERR_LOST) && strncmp(name, "se_", 3) != 0)
		return make(at, name, &before, ret_made, err);
	*err = before;
	return code;
}
