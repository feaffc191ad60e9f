/* log.h - the log of the database: its length, and the thread that checkpoints it. */
#pragma once

struct db;

/* Call before the first answer, when db_relax() has decided whether anything is synced. */
void db_log_begin(struct db *db);
void db_log_end(struct db *db); /* db_close() calls it */
