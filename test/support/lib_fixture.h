/*
 * lib_fixture.h - an engine with a fake warden, a session, and accessors for records.
 */
#pragma once

#include "unit.h"

#include <reckon.h>

#include "codec/json_read.h"
#include "support/fake_warden.h"

struct fixture {
	struct fake_warden fake;
	char state[64];
	reckon_engine *engine;
	reckon_session *session;
};

void fixture_open(struct fixture *fixture, const struct fake_config *config,
		  const reckon_session_options *options);
void fixture_open_engine(struct fixture *fixture, const struct fake_config *config);
void fixture_close(struct fixture *fixture);

/* A finished execution and its parsed record. */
struct result {
	reckon_execution *execution;
	struct json_value *record;
};

/* Runs `code` and parses its record. */
struct result fixture_run(struct fixture *fixture, const char *code,
			  const reckon_execute_options *options);
void result_done(struct result *result);
#define cleanup_result __attribute__((cleanup(result_done)))

const char *result_status(const struct result *result);
const char *result_text(const struct result *result, const char *key);
/* The member error.name, or "". */
const char *result_error(const struct result *result);
const char *result_error_value(const struct result *result);
bool result_has_diagnostic(const struct result *result, const char *code);
const struct json_value *result_member(const struct result *result, const char *key);

/* Checks that the session is lost, and that the message contains `why`. */
void fixture_assert_lost(struct fixture *fixture, const char *why);
/* Checks that the kernel is lost, and that the next execution runs in a new one and reports it. */
void fixture_assert_kernel_lost(struct fixture *fixture, const char *why);
