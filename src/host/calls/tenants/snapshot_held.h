/* snapshot_held.h - snapshots that do not outlive the request that made them. */
#pragma once

#include <stdint.h>

#include "host/db/tables/snapshot.h"

struct host;
struct tenant;

struct held_snapshot;

/* Removes it, with its entry of the audit; in a transaction of its caller's. */
int snapshot_remove(struct host *host, struct tenant *tenant, const struct db_snapshot *row,
		    struct err *err);
/* From now on it goes with this request. */
void snapshot_hold(struct host *host, const struct db_snapshot *row, uint64_t request);
/* Those of these requests, which are over, go at the next tick. */
void snapshot_let_go(struct host *host, uint64_t first, uint64_t last);
void snapshot_tick(struct host *host);
/* What an earlier run left goes at the first tick. */
int snapshot_load(struct host *host, struct err *err);
