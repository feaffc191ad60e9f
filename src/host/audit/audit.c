/*
 * audit.c - adds entries to the audit when things happen.
 *
 * Runs in:  reckond's loop.
 * Reads:    the request that is being answered; both copies of the chain's end at start.
 * Never:    stores code, contents of files or keys: code is identified by its hash.
 */
#include "host/audit/audit.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "codec/json_write.h"
#include "host/audit/segment.h"
#include "host/host.h"

#define DENIED_NS (10ull * 1000000000u)

static void fill(const struct host *host, struct audit_entry *entry, const char *action,
		 const char *target, const char *outcome)
{
	const char *const texts[AUDIT_FIELDS] = {
		[AUDIT_ACTOR] = host->actor[0] != '\0' ? host->actor : "daemon",
		[AUDIT_TENANT] = host->about.tenant,
		[AUDIT_REQUEST] = host->about.request,
		[AUDIT_ACTION] = action,
		[AUDIT_TARGET] = target,
		[AUDIT_OUTCOME] = outcome,
	};

	memset(entry, 0, sizeof(*entry));
	clock_rfc3339_now(entry->field[AUDIT_AT]);
	for (size_t i = 0; i < AUDIT_FIELDS; i++)
		if (texts[i] != NULL)
			(void)snprintf(entry->field[i], sizeof(entry->field[i]), "%s", texts[i]);
}

static int add(struct host *host, struct audit_entry *entry, struct err *err)
{
	if (db_audit_add(host->db, &host->auditor.head, entry, err) < 0)
		return err_wrap(err, "audit");
	metrics_add(&host->seen.metrics, METRICS_AUDIT, 0, 1);
	return 0;
}

int audit_add(struct host *host, const char *action, const char *target, const char *outcome,
	      struct err *err, const char *detail, ...)
{
	struct audit_entry entry;
	va_list ap;

	fill(host, &entry, action, target, outcome);
	va_start(ap, detail);
	(void)vsnprintf(entry.field[AUDIT_DETAIL], sizeof(entry.field[AUDIT_DETAIL]), detail, ap);
	va_end(ap);
	return add(host, &entry, err);
}

void audit_note(struct host *host, const char *action, const char *target, const char *outcome,
		const char *detail, ...)
{
	struct audit_entry entry;
	struct err err;
	va_list ap;

	fill(host, &entry, action, target, outcome);
	va_start(ap, detail);
	(void)vsnprintf(entry.field[AUDIT_DETAIL], sizeof(entry.field[AUDIT_DETAIL]), detail, ap);
	va_end(ap);
	if (add(host, &entry, &err) < 0)
		log_line(LOG_ERROR, "an entry of the audit could not be kept",
			 "action=%s target=\"%s\" why=\"%s\"", action, target, err.text);
}

/* Savepoints work inside a transaction of the caller. */
int audit_begin(struct host *host, struct err *err)
{
	return db_savepoint(host->db, err);
}

int audit_end(struct host *host, int code, struct err *err)
{
	if (code >= 0 && db_release(host->db, err) == 0)
		return code;
	db_rollback_to(host->db);
	audit_again(host);
	return (int)err->code;
}

int audit_commit(struct host *host, int code, struct err *err)
{
	code = audit_end(host, code, err);
	if (code < 0 || transaction_sync(host, err) < 0)
		return (int)err->code;
	return code;
}

void audit_again(struct host *host)
{
	struct err err;

	if (db_audit_head(host->db, &host->auditor.head, &err) < 0)
		log_line(LOG_ERROR, "the end of the audit cannot be read", "why=\"%s\"", err.text);
}

/* ---- the second copy of the end ------------------------------------------------------------- */

static void head_written(struct host *host, const struct audit_head *head,
			 const struct err *failed)
{
	host->transactions.is_writing_head = false;
	if (failed->code != ERR_OK)
		log_line(LOG_ERROR, "the end of the audit could not be kept", "why=\"%s\"",
			 failed->text);
	else
		host->auditor.written = head->sequence;
}

static void write_head(struct host *host)
{
	struct auditor *auditor = &host->auditor;
	struct err err;

	if (host->transactions.is_writing_head || auditor->written == auditor->head.sequence ||
	    transaction_write_head(host, &auditor->head, head_written))
		return;
	/* There is no thread at the start and at the end of the daemon. */
	err_clear(&err);
	(void)audit_head_write(host->place.state_fd, &auditor->head, host->tenants.key_secret,
			       &err);
	head_written(host, &auditor->head, &err);
}

/*
 * What is wrong with the end of the chain, or NULL. `reckon audit verify` checks the chain itself.
 */
static const char *compare(const struct host *host, char text[160])
{
	const struct audit_head *head = &host->auditor.head;
	struct audit_head stored;
	bool sealed = false;
	struct err err;
	const int found = audit_head_read(host->place.state_fd, host->tenants.key_secret, &stored,
					  &sealed, &err);

	if (found == 0)
		return head->sequence > 0 ? "audit.head is missing" : NULL;
	if (found < 0 || !sealed)
		return found < 0 ? "audit.head cannot be read" : "audit.head was not written by us";
	if (stored.sequence > head->sequence) {
		(void)snprintf(text, 160, "entries %" PRIu64 " to %" PRIu64 " are missing",
			       head->sequence + 1, stored.sequence);
		return text;
	}
	if (stored.sequence == head->sequence &&
	    memcmp(stored.hash, head->hash, sizeof(stored.hash)) != 0)
		return "the last entry is another one";
	return NULL;
}

int audit_setup(struct host *host, struct err *err)
{
	const char *wrong;
	char text[160];

	if (db_audit_head(host->db, &host->auditor.head, err) < 0)
		return (int)err->code;
	wrong = compare(host, text);
	if (wrong != NULL) {
		/* A power cut can cause this, too. An entry records it permanently. */
		log_line(LOG_ERROR, "the audit has lost its end", "why=\"%s\"", wrong);
		audit_note(host, "audit.damage", "", "found", "%s", wrong);
	}
	audit_note(host, "daemon.start", "", "ok", "version=%s", RECKON_VERSION);
	write_head(host);
	return 0;
}

static void tell_denied(struct host *host)
{
	struct auditor *auditor = &host->auditor;

	if (auditor->denied == 0)
		return;
	audit_note(host, "request.denied", "", "denied", "count=%" PRIu64, auditor->denied);
	auditor->denied = 0;
}

void audit_denied(struct host *host)
{
	/* Counts, because one entry for each request of a stranger could fill the disk. */
	if (host->auditor.denied++ == 0)
		host->auditor.denied_ns = clock_mono_ns();
}

void audit_tick(struct host *host)
{
	if (host->auditor.denied > 0 && clock_mono_ns() - host->auditor.denied_ns > DENIED_NS)
		tell_denied(host);
	write_head(host);
}

void audit_stop(struct host *host)
{
	tell_denied(host);
	audit_note(host, lifecycle_is_upgrade(&host->life) ? "daemon.upgrade" : "daemon.stop", "",
		   "ok", "%s", "");
	write_head(host);
}

/* ---- as JSON -------------------------------------------------------------------------------- */

void audit_entry_write(struct json_writer *json, const struct audit_entry *entry)
{
	char hash[AUDIT_HASH_SIZE * 2 + 1];

	json_write_object_begin(json);
	json_write_member_uint(json, "sequence", entry->sequence);
	for (size_t i = 0; i < AUDIT_FIELDS; i++)
		json_write_member_string(json, audit_field_names[i], entry->field[i]);
	json_write_member_string(json, "hash",
				 sodium_bin2hex(hash, sizeof(hash), entry->hash,
						sizeof(entry->hash)));
	json_write_object_end(json);
}

char *audit_entry_json(const struct audit_entry *entry)
{
	cleanup_buf struct buf text = BUF_INIT((size_t)AUDIT_FIELDS * AUDIT_TEXT_SIZE * 8);
	struct json_writer json;
	struct err ignored;

	json_write_init(&json, &text);
	audit_entry_write(&json, entry);
	return mem_strdup(json_write_finish(&json, &ignored) == 0 ? buf_text(&text) : "{}");
}

const struct module audit_module = {
	.rolled_back = audit_again,
};
