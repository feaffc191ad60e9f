/*
 * transaction.c - commits changes of the loop in groups, and holds answers until they are synced.
 *
 * Runs in:  reckond's loop; sync_run() in a thread.
 * Reads:    the database.
 * Never:    sends an answer before its transaction is committed and synced.
 *
 * The loop commits all finished jobs in one transaction, with the changes in their workspaces
 * (whose contents are in the store already, and synced). Their answers wait in fronts/conn.c until
 * the log is synced. If the commit or the sync fails, every answer becomes an error.
 *
 * A sync takes longer if the disk is busy, and a loop that waits for it cannot start cells: then
 * each tenant would wait for the syncs of all others. So while other jobs are running, a thread
 * syncs. Transactions have numbers: `committed` is the last one in the log, `synced` the last one
 * on the disk. A sync covers all transactions that were committed before it began, and the next
 * sync may begin before its end (SYNCS_MAX). Answers that are made meanwhile may depend on
 * transactions that are not synced yet, so they wait, too. If no other job is running, the loop
 * syncs itself, which saves two thread switches.
 *
 * A request that writes has its own transaction.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"

#define SYNCS_MAX 2u
#define BUSY_NS (10ull * 1000000000u) /* how long to wait for another process that writes */

struct sync {
	struct pool_item item; /* first */
	struct host *host;
	int fd, errnum;
	uint64_t upto, took_ns;
	transaction_head_fn *head_done; /* not NULL: writes audit.head instead of syncing */
	struct audit_head head;
	struct err failed;
};

static bool is_pending(const struct host *host)
{
	return host->transactions.committed > host->transactions.synced;
}

uint64_t transaction_of_reply(const struct host *host)
{
	if (host->transactions.is_open)
		return host->transactions.current;
	return is_pending(host) ? host->transactions.committed : 0;
}

/* ---- sessions in transactions --------------------------------------------------------------- */

void transaction_note(struct session *session)
{
	struct host *host = session->host;

	if (!host->transactions.is_open)
		return;
	session->transactions.last = host->transactions.current;
	if (session->transactions.is_listed)
		return;
	session->transactions.is_listed = true;
	session->transactions.next = host->transactions.sessions;
	host->transactions.sessions = session;
}

void transaction_forget(struct session *session)
{
	struct session **at = &session->host->transactions.sessions;

	if (!session->transactions.is_listed)
		return;
	while (*at != session)
		at = &(*at)->transactions.next;
	*at = session->transactions.next;
	session->transactions.is_listed = false;
}

static struct session *next_of_transaction(struct host *host)
{
	struct session *session = host->transactions.sessions;

	if (session != NULL) {
		host->transactions.sessions = session->transactions.next;
		session->transactions.is_listed = false;
	}
	return session;
}

/* Restores sessions that also have a part in other transactions. */
static void put_back(struct host *host, struct session *left)
{
	while (left != NULL) {
		struct session *at = left;

		left = at->transactions.next;
		at->transactions.is_listed = true;
		at->transactions.next = host->transactions.sessions;
		host->transactions.sessions = at;
	}
}

static void push(struct session **list, struct session *session)
{
	session->transactions.next = *list;
	*list = session;
}

/* ---- results -------------------------------------------------------------------------------- */

/* All transactions up to `synced` are synced. */
static void note_synced(struct host *host)
{
	struct session *left = NULL, *at;

	while ((at = next_of_transaction(host)) != NULL) {
		if (at->transactions.is_unborn &&
		    at->transactions.birth <= host->transactions.synced)
			at->transactions.is_unborn = false;
		MODULE_EACH(host, session_transactions_synced, at, host->transactions.synced);
		if (at->transactions.last > host->transactions.synced)
			push(&left, at);
		else
			at->transactions.is_uncommitted = false;
	}
	put_back(host, left);
	MODULE_EACH(host, transactions_synced, host);
}

/*
 * Transactions from `first` on have failed. Returns the sessions whose rows were never stored. What
 * their kernels did cannot be undone, but is reported.
 */
static struct session *note_failed(struct host *host, uint64_t first, const struct err *failed)
{
	/* Earlier transactions are still being synced. */
	const bool others_wait = host->transactions.synced + 1 < first;
	struct session *left = NULL, *lost = NULL, *at;

	MODULE_EACH(host, rolled_back, host);
	while ((at = next_of_transaction(host)) != NULL) {
		const bool is_lost = at->transactions.is_unborn && at->transactions.birth >= first;

		if (at->transactions.last < first) {
			push(&left, at);
			continue;
		}
		if (at->transactions.is_uncommitted)
			at->looks.forgets = true;
		if (at->transactions.is_uncommitted && life_has_ended(at->life))
			at->transactions.is_end_unsaved = true;
		MODULE_EACH(host, session_transactions_failed, at, first, failed);
		if (is_lost)
			at->transactions.is_unborn = false;
		at->transactions.last = first - 1;
		if (is_lost && at->life == SESSION_OPENING)
			at->transactions.early_failed = *failed; /* reported when its box is open */
		/* A session without a row has no part in earlier transactions. */
		if (!others_wait || is_lost)
			at->transactions.is_uncommitted = false;
		if (is_lost)
			push(&lost, at);
		else if (others_wait)
			push(&left, at);
	}
	put_back(host, left);
	return lost;
}

static void end_lost(struct session *lost, const struct err *failed)
{
	while (lost != NULL) {
		struct session *at = lost;

		lost = at->transactions.next;
		MODULE_EACH(at->host, session_lost, at, failed);
	}
}

static void fail(struct host *host, uint64_t first, const struct err *failed)
{
	struct session *lost;

	log_line(LOG_ERROR, "what was done could not be kept", "why=\"%s\"", failed->text);
	lost = note_failed(host, first, failed);
	MODULE_EACH(host, transactions_failed, host, first, failed);
	end_lost(lost, failed);
}

void transaction_fail(struct host *host, const struct err *err)
{
	if (host->transactions.is_open && host->transactions.failed.code == ERR_OK)
		host->transactions.failed = *err;
	if (host->transactions.is_open)
		return;
	log_line(LOG_ERROR, "what was done could not be kept", "why=\"%s\"", err->text);
	db_rollback(host->db);
	MODULE_EACH(host, rolled_back, host);
}

/* ---- syncs ---------------------------------------------------------------------------------- */

static void sync_run(struct pool_item *item)
{
	struct sync *sync = (struct sync *)(void *)item;
	const uint64_t begun_ns = clock_mono_ns();

	/* Renaming audit.head may wait for the disk, as a sync does. */
	if (sync->head_done != NULL)
		(void)audit_head_write(sync->host->place.state_fd, &sync->head,
				       sync->host->tenants.key_secret,
				       &sync->failed);
	else
		sync->errnum = fdatasync(sync->fd) < 0 ? errno : 0;
	sync->took_ns = clock_mono_ns() - begun_ns;
}

bool transaction_write_head(struct host *host, const struct audit_head *head,
			    transaction_head_fn *done)
{
	struct sync *sync;

	if (host->transactions.pool == NULL)
		return false;
	sync = mem_new0(1, sizeof(*sync));
	sync->host = host;
	sync->head_done = done;
	sync->head = *head;
	host->transactions.is_writing_head = true;
	pool_submit(host->transactions.pool, &sync->item);
	return true;
}

static void sync_failed(struct host *host, struct err *err)
{
	const uint64_t first = host->transactions.synced + 1;

	db_sync_failed(host->db);
	host->transactions.synced = host->transactions.committed;
	fail(host, first, err);
}

/* Syncs all commits in the loop. */
static void sync_now(struct host *host)
{
	const uint64_t begun_ns = clock_mono_ns();
	struct err err;

	if (db_sync(host->db, &err) < 0) {
		sync_failed(host, &err);
		return;
	}
	metrics_observe(&host->seen.metrics, METRICS_SYNC, 0, clock_mono_ns() - begun_ns);
	host->transactions.synced = host->transactions.committed;
	note_synced(host);
	MODULE_EACH(host, settled, host);
}

/* False: no thread can do it. */
static bool sync_begin(struct host *host)
{
	const int fd = db_sync_fd(host->db);
	struct sync *sync;

	if (fd < 0)
		return false;
	sync = mem_new0(1, sizeof(*sync));
	sync->fd = fd;
	sync->upto = host->transactions.requested_upto = host->transactions.committed;
	host->transactions.syncing++;
	pool_submit(host->transactions.pool, &sync->item);
	return true;
}

static void sync_done(struct host *host, const struct sync *sync)
{
	struct err err;

	host->transactions.syncing--;
	metrics_observe(&host->seen.metrics, METRICS_SYNC, 0, sync->took_ns);
	if (sync->errnum != 0 && is_pending(host)) {
		errno = sync->errnum;
		(void)err_sys(&err, "database: sync the log");
		sync_failed(host, &err);
	} else if (sync->errnum == 0) {
		/* The last requested sync also covers later transactions that changed nothing. */
		const bool is_all =
			sync->upto == host->transactions.requested_upto && db_is_synced(host->db);
		const uint64_t upto = is_all ? host->transactions.committed : sync->upto;

		if (upto > host->transactions.synced)
			host->transactions.synced = upto;
		note_synced(host);
	}
}

static void on_synced(unsigned ready, void *arg)
{
	struct host *host = arg;
	struct pool_item *item;

	(void)ready;
	pool_clear(host->transactions.pool);
	while ((item = pool_take(host->transactions.pool)) != NULL) {
		struct sync *sync = (struct sync *)(void *)item;

		if (sync->head_done != NULL)
			sync->head_done(host, &sync->head, &sync->failed);
		else
			sync_done(host, sync);
		free(sync);
	}
	if (is_pending(host) && host->transactions.requested_upto < host->transactions.committed &&
	    !sync_begin(host))
		sync_now(host);
	MODULE_EACH(host, settled, host);
}

/* ---- transactions --------------------------------------------------------------------------- */

/*
 * If another process is writing the database, the loop continues and tries again later; after
 * BUSY_NS the changes fail.
 */
bool transaction_begin(struct host *host)
{
	const uint64_t now = clock_mono_ns();
	struct err err;
	int code;

	reserve_look(host);
	code = db_try_begin(host->db, &err);
	if (code == 1 && host->transactions.busy_since_ns == 0)
		host->transactions.busy_since_ns = now;
	if (code == 1 && now - host->transactions.busy_since_ns < BUSY_NS)
		return false;
	if (code == 0)
		host->transactions.busy_since_ns = 0;
	host->transactions.current = host->transactions.committed + 1;
	host->transactions.is_open = true;
	if (code != 0)
		transaction_fail(host, &err);
	return true;
}

/* Whether more jobs than those of the caller are waiting or running. */
static bool others_work(const struct host *host, size_t own)
{
	return pool_load(host->pools.main) + pool_load(host->pools.files) > own;
}

static void end_transaction(struct host *host, size_t own)
{
	const uint64_t begun_ns = clock_mono_ns();
	struct err failed = host->transactions.failed, err;
	bool was_pending;

	if (failed.code == ERR_OK && db_commit(host->db, &err) < 0)
		failed = err;
	db_rollback(host->db); /* if it failed before */
	host->transactions.is_open = false;
	err_clear(&host->transactions.failed);
	if (failed.code != ERR_OK) {
		fail(host, host->transactions.current, &failed);
		return;
	}
	metrics_observe(&host->seen.metrics, METRICS_COMMIT, 0, clock_mono_ns() - begun_ns);
	was_pending = is_pending(host);
	host->transactions.committed = host->transactions.current;
	/* on_synced() starts the next sync. */
	if (was_pending && (host->transactions.syncing >= SYNCS_MAX || db_is_synced(host->db)))
		return;
	if ((was_pending || others_work(host, own)) && !db_is_synced(host->db) && sync_begin(host))
		return;
	sync_now(host);
}

void transaction_end(struct host *host)
{
	end_transaction(host, 0);
}

int transaction_join(struct host *host, bool *ret_is_own, struct err *err)
{
	*ret_is_own = false;
	if (host->transactions.is_open)
		return 0;
	reserve_look(host);
	if (db_begin(host->db, err) < 0)
		return (int)err->code;
	host->transactions.current = host->transactions.committed + 1;
	host->transactions.is_open = *ret_is_own = true;
	return 0;
}

void transaction_leave(struct host *host, bool is_own, size_t own_jobs)
{
	if (is_own)
		end_transaction(host, own_jobs);
}

int transaction_sync(struct host *host, struct err *err)
{
	/* transaction_end() syncs it. */
	return host->transactions.is_open ? 0 : db_sync(host->db, err);
}

int transaction_setup(struct host *host, struct err *err)
{
	if (pool_new(SYNCS_MAX + 1, sync_run, &host->transactions.pool, err) < 0 ||
	    loop_io_new(host->loop, pool_fd(host->transactions.pool), on_synced, host,
			&host->transactions.io,
			err) < 0)
		return (int)err->code;
	loop_io_want(host->transactions.io, LOOP_READ);
	pool_hurry(host->transactions.pool); /* only used while other jobs are running */
	return 0;
}

void transaction_stop(struct host *host)
{
	struct pollfd done = { .events = POLLIN };

	if (host->transactions.pool == NULL)
		return;
	done.fd = pool_fd(host->transactions.pool);
	while (host->transactions.syncing > 0 || host->transactions.is_writing_head)
		if (poll(&done, 1, -1) > 0)
			on_synced(0, host);
	pool_free(TAKE_PTR(host->transactions.pool));
}
