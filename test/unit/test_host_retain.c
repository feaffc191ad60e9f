/*
 * test_host_retain.c - retention deletes old rows and the rows that refer to them, no others.
 *
 * Runs in:  the unit suite.
 * Reads:    a database of its own.
 * Never:    waits: the times are in the ids.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "host/db/inner.h"
#include "host/operations/retain.h"
#include "host/monotonic.h"

static char dir[64];
static int state_fd;
static struct db *db;
static struct err err;

static int set_up(void **state)
{
	(void)state;
	state_fd = unit_mkdir(dir);
	assert_ok(&err, db_open(state_fd, dir, &db, &err));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	db_close(db);
	(void)close(state_fd);
	unit_rmdir(dir);
	return 0;
}

static int64_t count(const char *table)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	char sql[128];

	(void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
	assert_ok(&err, db_prepare(db, sql, &statement, &err));
	assert_int_equal(db_step(db, statement, &err), 1);
	return sqlite3_column_int64(statement, 0);
}

/* Sessions se_1 to se_4, two executions each: two ended in 2020, one in 9999, the last is live. */
static void fill(void)
{
	static const char sql[] =
		"INSERT INTO session(id, state, template, language, limits, idle_ms, created_at,"
		" ended_at) VALUES('se_1', 'closed', 't', 'l', x'', 1, 'x', '2020-01-01T00:00:00Z'),"
		" ('se_2', 'lost', 't', 'l', x'', 1, 'x', '2020-01-02T00:00:00Z'),"
		" ('se_3', 'closed', 't', 'l', x'', 1, 'x', '9999-01-01T00:00:00Z'),"
		" ('se_4', 'live', 't', 'l', x'', 1, 'x', NULL);"
		"INSERT INTO execution(id, session, sequence, status, created_at, request_hash, code)"
		" SELECT 'ex_' || substr(s.id, 4) || n.n, s.id, n.n,"
		" CASE s.id || n.n WHEN 'se_42' THEN 'pending' ELSE 'ok' END, 'x', x'', x''"
		" FROM session s, (SELECT 1 AS n UNION SELECT 2) n;"
		"INSERT INTO version(session, path, artifact, size, source, execution, created_at)"
		" SELECT session, 'p', 'ar_1', 1, 'execution', id, 'x' FROM execution;"
		"INSERT INTO session_name SELECT id, 'n' FROM session";

	assert_ok(&err, db_exec(db, sql, &err));
	assert_int_equal(count("execution"), 8);
}

UNIT_TEST(old_rows_are_deleted_with_the_rows_that_refer_to_them)
{
	unsigned removed = 0;

	fill();
	assert_ok(&err, db_retain_executions(db, "ex_2", 1, &removed, &err));
	assert_int_equal(removed, 1);
	assert_int_equal(count("version WHERE execution = 'ex_11'"), 0);
	assert_ok(&err, db_retain_executions(db, "ex_2", 64, &removed, &err));
	assert_int_equal(removed, 1);
	assert_ok(&err, db_retain_executions(db, "ex_2", 64, &removed, &err));
	assert_int_equal(removed, 0);
	assert_int_equal(count("execution"), 6);
	assert_int_equal(count("version"), 6);
	/* A live session and one that ended after the cutoff stay, however old their ids are. */
	assert_ok(&err, db_retain_sessions(db, "se_9", (uint64_t)time(NULL) - 60, 1, &removed, &err));
	assert_int_equal(removed, 1);
	assert_ok(&err, db_retain_sessions(db, "se_9", (uint64_t)time(NULL) - 60, 8, &removed, &err));
	assert_int_equal(removed, 1);
	assert_int_equal(count("session"), 2);
	assert_int_equal(count("session_name"), 2);
	assert_int_equal(count("execution"), 4);
	assert_int_equal(count("version"), 4);
	/* An execution that has not ended stays. */
	assert_ok(&err, db_retain_executions(db, "ex_9", 64, &removed, &err));
	assert_int_equal(removed, 3);
	assert_int_equal(count("execution WHERE status = 'pending'"), 1);
}

UNIT_TEST(an_id_contains_its_creation_time)
{
	char id[ID_SIZE];

	assert_ok(&err, id_new(id, "ex", &err));
	assert_false(retain_is_expired(3600 * 1000, id));
	memcpy(id + 3, "01JD8Z4J9Q", 10); /* 2024 */
	assert_true(retain_is_expired(3600 * 1000, id));
	assert_false(retain_is_expired(0, id));
	assert_false(retain_is_expired(UINT64_MAX, id));
	assert_ok(&err, id_new(id, "run", &err));
	assert_false(retain_is_expired(3600 * 1000, id));
	memcpy(id + 4, "01JD8Z4J9Q", 10);
	assert_true(retain_is_expired(3600 * 1000, id));
	assert_false(retain_is_expired(3600 * 1000, "ex_none"));
	assert_false(retain_is_expired(3600 * 1000, "01JD8Z4J9Q0000000000000000"));
	assert_false(retain_is_expired(3600 * 1000, ""));
}

#define HOUR_MS (3600ull * 1000)
#define BEGAN_MS 1700000000000ull

/* A clock that leaps ahead expires nothing until it has been ahead for a day. */
UNIT_TEST(a_leap_ahead_counts_only_after_a_day)
{
	const uint64_t year = 365 * 24 * HOUR_MS, boot = 5 * HOUR_MS;
	struct monotonic mono = { 0 };

	assert_int_equal(monotonic_at(&mono, BEGAN_MS, boot), BEGAN_MS);
	assert_int_equal(monotonic_at(&mono, BEGAN_MS + 1000, boot + 1000), BEGAN_MS + 1000);
	/* A correction by a few seconds is not a leap. */
	assert_int_equal(monotonic_at(&mono, BEGAN_MS + 7000, boot + 2000), BEGAN_MS + 7000);
	assert_false(mono.has_leapt);
	assert_int_equal(monotonic_at(&mono, BEGAN_MS + year, boot + 3000), BEGAN_MS + 8000);
	assert_true(mono.has_leapt);
	/* Time continues meanwhile. */
	assert_int_equal(monotonic_at(&mono, BEGAN_MS + year, boot + HOUR_MS),
			 BEGAN_MS + 5000 + HOUR_MS);
	assert_int_equal(monotonic_at(&mono, BEGAN_MS + year, boot + 25 * HOUR_MS),
			 BEGAN_MS + year);
	assert_false(mono.has_leapt);
}

UNIT_TEST(a_clock_that_is_set_back_counts_at_once)
{
	const uint64_t year = 365 * 24 * HOUR_MS, boot = 5 * HOUR_MS;
	struct monotonic mono = { 0 };

	(void)monotonic_at(&mono, BEGAN_MS, boot);
	assert_int_equal(monotonic_at(&mono, BEGAN_MS - year, boot + 1000), BEGAN_MS - year);
	assert_false(mono.has_leapt);
	/* After a leap ahead and back, time continues as before. */
	(void)monotonic_at(&mono, BEGAN_MS, boot + 2000);
	assert_true(mono.has_leapt);
	assert_int_equal(monotonic_at(&mono, BEGAN_MS - year + 2000, boot + 3000),
			 BEGAN_MS - year + 2000);
	assert_false(mono.has_leapt);
}

/* A strict clock ignores for a day that the wall clock is set back; it follows it otherwise. */
UNIT_TEST(a_strict_clock_ignores_a_setback_for_a_day)
{
	const uint64_t boot = 50000, day = 24 * HOUR_MS;
	struct strict strict = { 0 };

	assert_int_equal(strict_at(&strict, BEGAN_MS, boot), BEGAN_MS);
	strict_tick_at(&strict, BEGAN_MS, boot);
	strict_tick_at(&strict, BEGAN_MS + 1000, boot + 1000);
	/* Slewed a little: the wall clock is right. */
	strict_tick_at(&strict, BEGAN_MS + 2100, boot + 2000);
	assert_int_equal(strict_at(&strict, BEGAN_MS + 3100, boot + 3000), BEGAN_MS + 3100);
	/* The wall clock is set back by a day: time continues. */
	for (uint64_t i = 1; i < 24; i++) {
		const uint64_t now = boot + 2000 + i * HOUR_MS;

		strict_tick_at(&strict, BEGAN_MS + 2100 + i * HOUR_MS - day, now);
		assert_int_equal(strict_at(&strict, BEGAN_MS + 2100 + i * HOUR_MS - day, now),
				 BEGAN_MS + 2100 + i * HOUR_MS);
	}
	/* Right again; then a day ahead, which counts until the wall clock is set right. */
	strict_tick_at(&strict, BEGAN_MS + day, boot + day);
	strict_tick_at(&strict, BEGAN_MS + 2 * day, boot + day + 1000);
	assert_int_equal(strict_at(&strict, BEGAN_MS + 2 * day, boot + day + 1000),
			 BEGAN_MS + 2 * day);
	strict_tick_at(&strict, BEGAN_MS + day + 2200, boot + day + 2000);
	assert_true(strict_at(&strict, BEGAN_MS + day + 3000, boot + day + 3000) <
		    BEGAN_MS + day + 4000);
	/* A wall clock that stays set back for a day counts as right. */
	strict_tick_at(&strict, BEGAN_MS, boot + day + 3000);
	strict_tick_at(&strict, BEGAN_MS + day, boot + 2 * day + 3000);
	assert_int_equal(strict_at(&strict, BEGAN_MS + day + 1000, boot + 2 * day + 4000),
			 BEGAN_MS + day + 1000);
}

int main(void)
{
	return unit_run(set_up, tear_down);
}
