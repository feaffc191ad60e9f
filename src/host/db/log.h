/* log.h - the log of the database: its length, and the thread that takes it into the tables. */
#pragma once

struct db;

/* Before the first answer, when it is known whether anything is synced (db_relax()). */
void db_log_begin(struct db *db);
void db_log_end(struct db *db); /* db_close() does it */
