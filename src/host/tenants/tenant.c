/*
 * tenant.c - tenants: finds, adds, changes and forgets them.
 *
 * Runs in:  reckond's loop.
 * Reads:    the database, at start.
 * Never:    frees a tenant: sessions and keys that are being closed may still refer to it.
 */
#include "host/tenants/tenant.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/db/tables/document.h"
#include "host/host.h"
#include "host/tenants/quota.h"

struct tenant *tenant_find(struct host *host, const char *id)
{
	for (struct tenant *at = host->tenants.first; at != NULL; at = at->next)
		if (!at->is_deleted && strcmp(at->row.id, id) == 0)
			return at;
	return NULL;
}

struct tenant *tenant_named(struct host *host, const char *name)
{
	for (struct tenant *at = host->tenants.first; at != NULL; at = at->next)
		if (!at->is_deleted && strcmp(at->row.name, name) == 0)
			return at;
	return NULL;
}

static struct tenant *take_in(struct host *host, const struct db_tenant *row)
{
	struct tenant *tenant = mem_new0(1, sizeof(*tenant)), **at = &host->tenants.first;

	tenant->row = *row;
	tenant->lane = pool_lane_new();
	tenant->file_lane = pool_lane_new();
	/* Sorted by id, and so by time, because pages of lists continue after an id. */
	while (*at != NULL && strcmp((*at)->row.id, row->id) > 0)
		at = &(*at)->next;
	tenant->next = *at;
	*at = tenant;
	host->tenants.count++;
	return tenant;
}

static int load_one(const struct db_tenant *row, void *arg, struct err *err)
{
	(void)err;
	(void)take_in(arg, row);
	return 0;
}

int tenant_setup(struct host *host, struct err *err)
{
	return db_tenant_list(host->db, load_one, host, err);
}

/* If there are several tenants, one tenant cannot use the last eighth of the threads. */
static unsigned workers_of(const struct host *host, const struct tenant *tenant)
{
	const unsigned all = (unsigned)host->config.workers, prewarmed = all / 8 > 0 ? all / 8 : 1;
	const uint64_t quota = quota_of(host, tenant, FRONT_QUOTA_WORKERS);

	if (quota != 0)
		return quota < all ? (unsigned)quota : all;
	if (host->tenants.count < 2 || all < 2)
		return all;
	return all - prewarmed;
}

/* ---- share of the processors ---------------------------------------------------------------- */

static struct tenant_share share_of(const struct host *host, const struct tenant *tenant)
{
	return (struct tenant_share){
		.weight = (uint32_t)quota_of(host, tenant, FRONT_QUOTA_CPU_WEIGHT),
		.percent = (uint32_t)quota_of(host, tenant, FRONT_QUOTA_CPU_PERCENT),
	};
}

static bool is_same(const struct tenant_share *one, const struct tenant_share *other)
{
	return one->weight == other->weight && one->percent == other->percent;
}

void tenant_share_note(const struct host *host, struct job *job)
{
	struct tenant *tenant = job->session->tenant;

	tenant->share = job->box.share = share_of(host, tenant);
}

/* Sets the share for existing sessions; new ones bring it with their OPEN. */
static void share_out(struct host *host, struct tenant *tenant)
{
	struct job *job = job_new(NULL, JOB_SHARE, 0);

	job->host = host;
	job->path = mem_strdup(tenant->row.id);
	job->box.share = tenant->share = share_of(host, tenant);
	pool_submit(host->pools.main, &job->item);
}

/* Does so only if the share has changed. */
static void share_again(struct host *host, struct tenant *tenant)
{
	const struct tenant_share now = share_of(host, tenant);

	if (tenant->sessions > 0 && !tenant->is_deleted && !is_same(&now, &tenant->share))
		share_out(host, tenant);
}

void tenant_apply(struct host *host)
{
	for (struct tenant *at = host->tenants.first; at != NULL && host->pools.main != NULL;
	     at = at->next) {
		const uint64_t weight = quota_of(host, at, FRONT_QUOTA_WEIGHT);

		pool_lane_set(host->pools.main, at->lane, weight != 0 ? (unsigned)weight : 1,
			      workers_of(host, at));
		pool_lane_set(host->pools.files, at->file_lane, weight != 0 ? (unsigned)weight : 1,
			      host->tenants.count < 2 ? HOST_FILE_WORKERS
						     : HOST_FILE_WORKERS * 3 / 4);
		share_again(host, at);
	}
}

void tenant_share_check(struct host *host, const struct job *job)
{
	struct tenant *tenant = job->session->tenant;
	const struct tenant_share now = share_of(host, tenant);

	/*
	 * The share changed while this job ran, and its old value may have reached the warden last.
	 */
	if (!is_same(&job->box.share, &now))
		share_out(host, tenant);
}

void tenant_share_done(struct job *job)
{
	if (job->error.code < 0)
		log_line(LOG_WARN, "a tenant's share of the processors is not in force",
			 "tenant=%s why=\"%s\"", job->path, job->error.message);
	job_free(job);
}

struct tenant *tenant_add(struct host *host, const struct db_tenant *row, struct err *err)
{
	struct db_tenant made = *row;

	if (host->tenants.count >= TENANTS_MAX) {
		(void)err_set(err, ERR_LIMIT, "there are %u tenants", TENANTS_MAX);
		return NULL;
	}
	if (id_new(made.id, "te", err) < 0)
		return NULL;
	clock_rfc3339_now(made.created_at);
	(void)snprintf(made.state, sizeof(made.state), "active");
	if (db_tenant_add(host->db, &made, err) < 0)
		return NULL;
	log_line(LOG_INFO, "tenant made", "tenant=%s", made.id);
	return take_in(host, &made);
}

struct tenant *tenant_for_admin(struct host *host, struct err *err)
{
	struct db_tenant row = { .name = "default" };
	struct tenant *first = tenant_find(host, DB_TENANT_FIRST);

	if (first != NULL && strcmp(first->row.state, "active") == 0)
		return first;
	for (struct tenant *at = host->tenants.first; at != NULL; at = at->next)
		if (!at->is_deleted && strcmp(at->row.state, "active") == 0)
			return at;
	if (tenant_named(host, row.name) != NULL)
		(void)snprintf(row.name, sizeof(row.name), "admin");
	return tenant_add(host, &row, err);
}

void tenant_forget(struct host *host, struct tenant *tenant)
{
	tenant->is_deleted = true;
	host->tenants.count--;
}

void tenant_changed(struct host *host, struct tenant *tenant, const struct db_tenant *row)
{
	tenant->row = *row;
	tenant_apply(host);
}

struct tenant *tenant_of_id(struct host *host, const struct request *req, const char *id)
{
	struct tenant *tenant;
	char message[96];

	if (id == NULL || strcmp(id, req->tenant->row.id) == 0)
		return req->tenant;
	/* Checked first, so that only an admin learns whether another tenant exists. */
	if ((req->key->row.scopes & FRONT_SCOPE_ADMIN) == 0) {
		refuse(host, req->id,
		       &(struct refusal){ .error = API_ERR_SCOPE,
					  .message = "another tenant takes a key with the scope "
						     "admin",
					  .quota = "admin" });
		return NULL;
	}
	tenant = tenant_find(host, id);
	(void)snprintf(message, sizeof(message), "there is no tenant %s", id);
	if (tenant == NULL)
		front_fail(host, req->id, API_ERR_TENANT_NOT_FOUND, message, "",
			  "list them: GET /reckon/v1/tenants", 0);
	return tenant;
}
