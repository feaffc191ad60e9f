/*
 * cmd_doctor.c - reckon doctor: checks this host's isolation and the daemon.
 *
 * Runs in:  reckon.
 * Reads:    what the engine found, as JSON.
 * Never:    reports a wall as working when it is not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/term/look.h"
#include "codec/json_get.h"
#include "reckon.h"

#define DOCTOR_JSON_MAX ((size_t)1024 * 1024)

enum { OPT_JSON = OPT_LONG, OPT_STRICT, OPT_SERVICE, OPT_STATE };

struct doctor {
	bool json, strict, service;
	const char *state; /* the daemon's state directory, or NULL */
};

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct doctor *doctor = arg;

	if (id == OPT_OPERAND) {
		err_set(err, ERR_INVALID, "unexpected argument '%.100s'", value);
		return err_remedy(err, "see reckon doctor --help");
	}
	if (id == OPT_JSON)
		doctor->json = true;
	else if (id == OPT_SERVICE)
		doctor->service = true;
	else if (id == OPT_STATE)
		doctor->state = value;
	else
		doctor->strict = true;
	return 0;
}

/*
 * An optional feature that this host lacks: it counts as missing only for sessions that ask for it.
 */
static bool is_absent(const struct json_value *wall)
{
	return strcmp(json_get_str(wall, "state"), "absent") == 0;
}

static bool is_standing(const struct json_value *wall)
{
	return strcmp(json_get_str(wall, "state"), "on") == 0;
}

static bool is_optional(const struct json_value *wall)
{
	bool optional = false;

	(void)json_read_bool(json_read_member(wall, "optional"), &optional);
	return optional;
}

static bool is_missing(const struct json_value *wall)
{
	return !is_standing(wall) && !is_absent(wall);
}

static const char *colour_of(const struct json_value *wall)
{
	if (!term_has_colour(STDOUT_FILENO) || is_absent(wall))
		return "";
	if (is_standing(wall))
		return "\x1b[32m";
	return strcmp(json_get_str(wall, "state"), "partial") == 0 ? "\x1b[33m" : "\x1b[31m";
}

static void print_wall(const struct json_value *wall)
{
	const char *colour = colour_of(wall);

	(void)printf("%-22s %s%-8s%s %s\n", json_get_str(wall, "name"), colour,
		     json_get_str(wall, "state"), colour[0] != '\0' ? "\x1b[0m" : "",
		     json_get_str(wall, "detail"));
	if (!is_standing(wall) && json_get_str(wall, "remedy")[0] != '\0')
		(void)printf("%-31s -> %s\n", "", json_get_str(wall, "remedy"));
}

static void print_walls(const struct json_value *walls, bool optional)
{
	(void)printf("\n%-22s %-8s %s\n", optional ? "OPTIONAL" : "EVERY HOST", "STATE", "DETAIL");
	for (size_t i = 0; i < json_read_count(walls); i++)
		if (is_optional(json_read_at(walls, i)) == optional)
			print_wall(json_read_at(walls, i));
}

static size_t count_missing(const struct json_value *walls, bool with_optional)
{
	size_t missing = 0;

	for (size_t i = 0; i < json_read_count(walls); i++) {
		const struct json_value *wall = json_read_at(walls, i);

		missing += is_missing(wall) && (with_optional || !is_optional(wall));
	}
	return missing;
}

/* One sentence: whether this host can run code, and whether all walls work. */
static void print_verdict(const struct json_value *document, const struct json_value *walls)
{
	const size_t missing = count_missing(walls, false);
	const char *separator = "";

	if (json_read_count(walls) == 0) {
		(void)printf("Nothing is known of this host's walls.\n");
		return;
	}
	if (missing == 0) {
		(void)printf("Every wall stands");
	} else {
		(void)printf("%zu wall%s that every host should have %s missing or partial (",
			     missing, missing == 1 ? "" : "s", missing == 1 ? "is" : "are");
		for (size_t i = 0; i < json_read_count(walls); i++) {
			const struct json_value *wall = json_read_at(walls, i);

			if (!is_missing(wall) || is_optional(wall))
				continue;
			(void)printf("%s%s", separator, json_get_str(wall, "name"));
			separator = ", ";
		}
		(void)printf(")");
	}
	if (json_read_count(json_read_member(document, "templates")) == 0)
		(void)printf(", and no template is built (reckon template build data)");
	(void)printf(".\n");
}

/* The templates for `reckon run -t`, and whether the checks ran as root or as a user. */
static void print_host(const struct json_value *document)
{
	const struct json_value *templates = json_read_member(document, "templates");
	const size_t count = json_read_count(templates);
	bool rootless = false;

	(void)json_read_bool(json_read_member(document, "rootless"), &rootless);
	(void)printf("reckon %s, %s; templates:", json_get_str(document, "version"),
		     rootless ? "without root" : "as root");
	for (size_t i = 0; i < count; i++)
		(void)printf(" %s", json_read_text(json_read_at(templates, i), NULL));
	(void)printf(count > 0 ? "\n" : " none\n");
}

static int show(const struct doctor *doctor, const char *json)
{
	struct json_value *document;
	const struct json_value *walls;
	struct err err;
	size_t missing;

	if (json_read_parse(json, strlen(json), DOCTOR_JSON_MAX, &document, &err) < 0) {
		err_wrap(&err, "doctor");
		(void)cli_complain(&err);
		return EXIT_CODE_RECKON;
	}
	walls = json_read_member(document, "walls");
	if (doctor->json) {
		(void)printf("%s\n", json);
	} else {
		print_verdict(document, walls);
		print_host(document);
		print_walls(walls, false);
		print_walls(walls, true);
	}
	missing = count_missing(walls, true);
	/* An empty list proves nothing, so --strict has to fail. */
	if (json_read_count(walls) == 0)
		missing++;
	json_read_free(document);
	return doctor->strict && missing > 0 ? EXIT_CODE_FAILED : EXIT_CODE_OK;
}

/* Runs `reckond doctor`, because reckond knows the layout of its state directory. */
static int look_at_service(const struct doctor *doctor)
{
	char name[] = "reckond", mode[] = "doctor", json[] = "--json", strict[] = "--strict";
	char state[4200];
	char *argv[6] = { name, mode };
	int count = 2;

	if (doctor->json)
		argv[count++] = json;
	if (doctor->strict)
		argv[count++] = strict;
	if (doctor->state != NULL) {
		(void)snprintf(state, sizeof(state), "--state=%s", doctor->state);
		argv[count++] = state;
	}
	return cli_exec_libexec(name, argv);
}

static int cmd_doctor(const struct opt_command *self, int argc, char **argv)
{
	/* A private warden, because the shared one may run in another namespace or container. */
	const reckon_engine_options options = { .size = sizeof(options), .private_warden = 1 };
	struct doctor doctor = { 0 };
	reckon_engine *engine = NULL;
	cleanup_free char *json = NULL;
	reckon_error error;
	struct err err;
	int rc = opt_parse(self, argc, argv, take, &doctor, &err);
	int status;

	if (rc != 0)
		return cli_settle(self, rc, &err);
	if (doctor.service || doctor.state != NULL)
		return look_at_service(&doctor);
	if (reckon_engine_open(&options, &engine, &error) < 0)
		return cli_complain_reckon("doctor", &error);
	if (reckon_engine_doctor(engine, &json, &error) < 0)
		status = cli_complain_reckon("doctor", &error);
	else
		status = show(&doctor, json);
	reckon_engine_close(engine);
	return status;
}

static const struct opt_item doctor_items[] = {
	{ OPT_JSON, "json", NULL, "as JSON", OPT_HINT_NONE, NULL, false },
	{ OPT_STRICT, "strict", NULL, "exit with 1 if an isolation wall is missing", OPT_HINT_NONE,
	  NULL, false },
	{ OPT_SERVICE, "service", NULL, "check this host's daemon instead", OPT_HINT_NONE, NULL,
	  false },
	{ OPT_STATE, "state", "DIR", "state directory of the daemon to check", OPT_HINT_DIR, NULL,
	  false },
};

const struct opt_command cmd_doctor_table = {
	.name = "doctor",
	.operands = "",
	.summary = "check this host's isolation and how to improve it",
	.items = doctor_items,
	.count = ARRAY_LEN(doctor_items),
	.run = cmd_doctor,
};
