/*
 * main.c - reckond audit: shows or verifies the audit of a state directory, without the daemon.
 *
 * Runs in:  a separate reckond, for `reckon audit`; the daemon may run at the same time.
 * Reads:    STATE/reckond.db, STATE/audit, STATE/audit.head.
 * Never:    writes.
 *
 *   verify    checks the chain from the first existing entry, then its end against audit.head
 *   ls        entries, one line each
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "host/audit/segment.h"
#include "host/db/inner.h"
#include "host/host.h"

#define STATUS_BROKEN 1
#define TRIES 5u

struct audited {
	struct db *db;
	int state_fd;
	unsigned char secret[32];
	uint64_t after, limit;
	bool is_json;
};

/* ---- verify --------------------------------------------------------------------------------- */

struct chain {
	struct audit_head head; /* end of the part that is verified */
	struct audit_head stored; /* contents of audit.head */
	bool has_stored, is_met;
	struct audit_head start;  /* end of the part that was removed */
	char removed[320];	  /* detail of the entry that must record the removal */
	uint64_t removal_sequence, count; /* number of that entry; number of entries */
	char wrong[200];
};

static int check_one(const struct audit_entry *entry, void *arg, struct err *err)
{
	struct chain *chain = arg;
	unsigned char want[AUDIT_HASH_SIZE];

	if (entry->sequence != chain->head.sequence + 1) {
		(void)snprintf(chain->wrong, sizeof(chain->wrong),
			       "entry %" PRIu64 " is missing", chain->head.sequence + 1);
		return err_set(err, ERR_INVALID, "broken");
	}
	audit_hash(&chain->head, entry, want);
	if (memcmp(want, entry->hash, sizeof(want)) != 0) {
		(void)snprintf(chain->wrong, sizeof(chain->wrong),
			       "entry %" PRIu64 " is not what was written", entry->sequence);
		return err_set(err, ERR_INVALID, "broken");
	}
	chain->head.sequence = entry->sequence;
	memcpy(chain->head.hash, want, sizeof(want));
	chain->count++;
	if (strcmp(entry->field[AUDIT_ACTION], AUDIT_PRUNE) == 0 &&
	    strcmp(entry->field[AUDIT_DETAIL], chain->removed) == 0)
		chain->removal_sequence = entry->sequence;
	if (chain->has_stored && chain->stored.sequence == entry->sequence)
		chain->is_met = memcmp(chain->stored.hash, want, sizeof(want)) == 0;
	return 0;
}

/* Compares the end of the chain with audit.head. */
static void check_end(const struct audited *of, struct chain *chain)
{
	bool sealed = false;
	struct err err;
	struct audit_head ignored;
	const int found = audit_head_read(of->state_fd, of->secret, &ignored, &sealed, &err);

	if (found < 0)
		(void)snprintf(chain->wrong, sizeof(chain->wrong), "%.150s", err.text);
	else if (found == 0 && chain->head.sequence > 0)
		(void)snprintf(chain->wrong, sizeof(chain->wrong), "%s is missing",
			       AUDIT_HEAD_FILE);
	else if (found == 1 && !sealed)
		(void)snprintf(chain->wrong, sizeof(chain->wrong), "%s has another seal than ours",
			       AUDIT_HEAD_FILE);
	else if (chain->has_stored && chain->stored.sequence > chain->head.sequence)
		(void)snprintf(chain->wrong, sizeof(chain->wrong),
			       "entries %" PRIu64 " to %" PRIu64 " are missing: the end was cut "
			       "off, or a power cut took it",
			       chain->head.sequence + 1, chain->stored.sequence);
	else if (chain->has_stored && !chain->is_met)
		(void)snprintf(chain->wrong, sizeof(chain->wrong),
			       "entry %" PRIu64 " is another one than %s says",
			       chain->stored.sequence, AUDIT_HEAD_FILE);
}

/* If the log starts after entry 1, a later entry must record the removal. */
static void check_start(struct chain *chain)
{
	if (chain->start.sequence > 0 && chain->removal_sequence == 0)
		(void)snprintf(chain->wrong, sizeof(chain->wrong),
			       "entries 1 to %" PRIu64 " are missing, and no entry says that they "
			       "were removed", chain->start.sequence);
}

/* ERR_INVALID: chain->wrong has the reason. */
static int follow(const struct audited *of, struct chain *chain, struct err *err)
{
	char hash[AUDIT_HASH_SIZE * 2 + 1];
	int code;

	if (audit_beginning(of->state_fd, of->db, &chain->start, err) < 0)
		return (int)err->code;
	chain->head = chain->start;
	(void)snprintf(chain->removed, sizeof(chain->removed), AUDIT_PRUNE_DETAIL,
		       chain->start.sequence,
		       sodium_bin2hex(hash, sizeof(hash), chain->start.hash, AUDIT_HASH_SIZE));
	code = audit_walk(of->state_fd, of->db, of->secret, 0, 0, check_one, chain, err);
	if (code >= 0 && chain->has_stored && chain->stored.sequence == chain->start.sequence)
		chain->is_met = memcmp(chain->stored.hash, chain->start.hash, AUDIT_HASH_SIZE) == 0;
	return code;
}

static void tell(const struct chain *chain)
{
	char hash[AUDIT_HASH_SIZE * 2 + 1];

	(void)sodium_bin2hex(hash, sizeof(hash), chain->head.hash, AUDIT_HASH_SIZE);
	if (chain->start.sequence == 0)
		(void)printf("reckon: the audit is whole: %" PRIu64 " entries, %s\n", chain->count,
			     hash);
	else
		(void)printf("reckon: the audit is whole from entry %" PRIu64 " on: %" PRIu64
			     " entries, %s\n"
			     "reckon: entries 1 to %" PRIu64 " were removed, as entry %" PRIu64
			     " says; what they were cannot be verified any more\n",
			     chain->start.sequence + 1, chain->count, hash, chain->start.sequence,
			     chain->removal_sequence);
}

static int verify(struct audited *of, struct err *err)
{
	struct chain chain = { .wrong = "" };
	unsigned tries = 0;
	bool sealed;
	int code;

	do {
		chain = (struct chain){ .wrong = "" };
		/* Read before the table: a running daemon writes entries first, then audit.head. */
		chain.has_stored =
			audit_head_read(of->state_fd, of->secret, &chain.stored, &sealed, err) == 1;
		/*
		 * A read transaction: we still see rows that the daemon moves meanwhile; but it may
		 * remove a file.
		 */
		if (db_run(of->db, "BEGIN", err) < 0)
			return (int)err->code;
		code = follow(of, &chain, err);
		db_rollback(of->db);
	} while (code < 0 && err->errnum == ENOENT && ++tries < TRIES);
	if (code < 0 && chain.wrong[0] == '\0' && err->code == ERR_INVALID)
		(void)snprintf(chain.wrong, sizeof(chain.wrong), "%.190s", err->text);
	if (code < 0 && chain.wrong[0] == '\0')
		return code;
	if (chain.wrong[0] == '\0')
		check_start(&chain);
	if (chain.wrong[0] == '\0')
		check_end(of, &chain);
	if (chain.wrong[0] != '\0') {
		(void)printf("reckon: the audit is broken: %s\n", chain.wrong);
		return STATUS_BROKEN;
	}
	tell(&chain);
	return 0;
}

/* ---- ls ------------------------------------------------------------------------------------- */

/* For a terminal: replaces control characters, because clients choose these texts. */
static void put_plain(const char *text)
{
	for (; *text != '\0'; text++)
		(void)putchar((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text);
}

static int print_one(const struct audit_entry *entry, void *arg, struct err *err)
{
	const struct audited *of = arg;

	(void)err;
	if (of->is_json) {
		char *line = audit_entry_json(entry);

		(void)printf("%s\n", line);
		free(line);
		return 0;
	}
	(void)printf("%" PRIu64, entry->sequence);
	for (size_t i = 0; i < AUDIT_FIELDS; i++) {
		if (entry->field[i][0] == '\0')
			continue;
		if (i == AUDIT_AT)
			(void)printf(" ");
		else
			(void)printf(" %s=", audit_field_names[i]);
		put_plain(entry->field[i]);
	}
	(void)printf("\n");
	return 0;
}

static int list(struct audited *of, struct err *err)
{
	int code;

	if (db_run(of->db, "BEGIN", err) < 0)
		return (int)err->code;
	code = audit_walk(of->state_fd, of->db, of->secret, of->after, (unsigned)of->limit,
			  print_one, of, err);
	db_rollback(of->db);
	return code;
}

/* ---- the command ---------------------------------------------------------------------------- */

static int open_state(const char *state, struct audited *of, struct err *err)
{
	int found;

	of->state_fd = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (of->state_fd < 0)
		return err_sys(err, "open %.200s", state);
	if (sodium_init() < 0)
		return err_set(err, ERR_UNAVAILABLE, "libsodium does not start");
	if (db_open_existing(of->state_fd, state, &of->db, err) < 0)
		return (int)err->code;
	found = db_secret_find(of->db, DB_SECRET_KEY, of->secret, err);
	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "no daemon has used this database");
	return found < 0 ? found : 0;
}

static int complain(const struct err *err)
{
	(void)fprintf(stderr, "reckon: audit: %s%s%s%s\n", err->text,
		      err->remedy[0] != '\0' ? " (" : "", err->remedy,
		      err->remedy[0] != '\0' ? ")" : "");
	return err->code == ERR_INVALID ? 2 : 125;
}

static int take_number(const char *name, const char *text, uint64_t *ret, struct err *err)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || *ret > INT64_MAX)
		return err_set(err, ERR_INVALID, "--%s takes a number", name);
	return 0;
}

static int take_options(int argc, char **argv, struct audited *of, char *state, size_t size,
			struct err *err)
{
	static const struct option options[] = {
		{ "state", required_argument, NULL, 's' },
		{ "after", required_argument, NULL, 'a' },
		{ "limit", required_argument, NULL, 'l' },
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		err_clear(err);
		if (opt == 's')
			(void)snprintf(state, size, "%s", optarg);
		else if (opt == 'a')
			(void)take_number("after", optarg, &of->after, err);
		else if (opt == 'l')
			(void)take_number("limit", optarg, &of->limit, err);
		else if (opt == 'j')
			of->is_json = true;
		else
			return err_set(err, ERR_INVALID, "unknown option");
		if (err->code < 0)
			return (int)err->code;
	}
	if (optind != argc - 1 ||
	    (strcmp(argv[optind], "ls") != 0 && strcmp(argv[optind], "verify") != 0))
		return err_set(err, ERR_INVALID, "expected ls or verify");
	return 0;
}

int audit_main(int argc, char **argv)
{
	struct audited of = { .state_fd = -1 };
	struct config config = { .state_dir = "" };
	struct err err;
	int code;

	if (take_options(argc, argv, &of, config.state_dir, sizeof(config.state_dir), &err) < 0)
		return complain(&err);
	config_choose_state(&config);
	if (open_state(config.state_dir, &of, &err) < 0)
		return complain(&err);
	code = strcmp(argv[optind], "verify") == 0 ? verify(&of, &err) : list(&of, &err);
	db_close(of.db);
	(void)close(of.state_fd);
	return code < 0 ? complain(&err) : code;
}
