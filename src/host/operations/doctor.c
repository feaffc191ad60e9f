/*
 * doctor.c - reckond doctor: checks a state directory and the daemon that uses it.
 *
 * Runs in:  a separate reckond, for `reckon doctor --service`; the daemon may run at the same time.
 * Reads:    the state directory, /proc of the daemon and its front, one answer of the daemon.
 * Never:    writes or repairs anything.
 */
#include "host/operations/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_write.h"
#include "host/host.h"

#define MIB ((uint64_t)1 << 20)
#define DISK_GOOD (1024 * MIB)
#define DISK_BAD (64 * MIB)
#define FILES_GOOD 65536u
#define FILES_BAD 4096u

/* ---- the host and the directory ------------------------------------------------------------- */

static void check_directory(struct doctor *doctor)
{
	struct stat st;

	if (fstat(doctor->state_fd, &st) < 0)
		doctor_say(doctor, DOCTOR_BAD, "state directory", "", "%s", strerror(errno));
	else if (st.st_uid != geteuid())
		doctor_say(doctor, DOCTOR_BAD, "state directory", "run this as its owner",
			   "%.100s belongs to uid %u", doctor->state_dir, st.st_uid);
	else if ((st.st_mode & 022) != 0)
		doctor_say(doctor, DOCTOR_BAD, "state directory", "chmod go-w it",
			   "%.100s can be written by others", doctor->state_dir);
	else
		doctor_say(doctor, DOCTOR_OK, "state directory", "", "%.200s", doctor->state_dir);
}

static void check_disk(struct doctor *doctor)
{
	struct statvfs disk;
	uint64_t free_bytes;

	if (fstatvfs(doctor->state_fd, &disk) < 0) {
		doctor_say(doctor, DOCTOR_BAD, "free disk", "", "%s", strerror(errno));
		return;
	}
	free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	doctor_say(doctor,
		   free_bytes >= DISK_GOOD  ? DOCTOR_OK
		   : free_bytes >= DISK_BAD ? DOCTOR_PARTIAL
				     : DOCTOR_BAD,
		   "free disk", "free some space where the state directory is",
		   "%" PRIu64 " MiB of %" PRIu64 ", %" PRIu64 " files", free_bytes / MIB,
		   (uint64_t)disk.f_blocks * disk.f_frsize / MIB, (uint64_t)disk.f_favail);
	if (disk.f_files > 0 && disk.f_favail < 10000)
		doctor_say(doctor, DOCTOR_PARTIAL, "free files",
			   "remove some, or use another file system",
			   "room for %" PRIu64 " files", (uint64_t)disk.f_favail);
}

static void check_descriptors(struct doctor *doctor)
{
	struct rlimit files = { 0 };

	(void)getrlimit(RLIMIT_NOFILE, &files);
	doctor_say(doctor,
		   files.rlim_max >= FILES_GOOD  ? DOCTOR_OK
		   : files.rlim_max >= FILES_BAD ? DOCTOR_PARTIAL
					  : DOCTOR_BAD,
		   "descriptors", "raise the limit: LimitNOFILE=65536, or ulimit -Hn",
		   "up to %" PRIu64 ": each connection takes two, each session some",
		   (uint64_t)files.rlim_max);
}

/* ---- the database --------------------------------------------------------------------------- */

static int note_last(const struct audit_entry *entry, void *arg, struct err *err)
{
	(void)err;
	*(struct audit_entry *)arg = *entry;
	return 0;
}

/* A clock that was set back makes new ids older than existing ones. */
static void check_clock(struct doctor *doctor, const struct audit_entry *last)
{
	char now[CLOCK_RFC3339_SIZE];

	clock_rfc3339_now(now);
	if (time(NULL) < (time_t)1735689600) /* 2025 */
		doctor_say(doctor, DOCTOR_BAD, "clock", "set it", "it says %s", now);
	else if (last->sequence > 0 && strcmp(now, last->field[AUDIT_AT]) < 0)
		doctor_say(doctor, DOCTOR_PARTIAL, "clock", "see whether it was set back",
			   "it says %s, but the audit has %.30s already", now, last->field[AUDIT_AT]);
	else
		doctor_say(doctor, DOCTOR_OK, "clock", "", "%s", now);
}

static void check_audit(struct doctor *doctor, const struct audit_entry *last)
{
	unsigned char secret[32];
	struct audit_head stored;
	bool sealed = false;
	struct err err;
	int found = db_secret_find(doctor->db, DB_SECRET_KEY, secret, &err);

	if (found < 0) {
		doctor_say(doctor, DOCTOR_BAD, "audit", "see to the database first",
			   "%.200s", err.text);
		return;
	}
	if (found == 0 && last->sequence == 0) {
		doctor_say(doctor, DOCTOR_OK, "audit", "", "no daemon has begun one");
		return;
	}
	if (found == 0) {
		doctor_say(doctor, DOCTOR_BAD, "audit", "restore a copy of the database",
			   "the secret that seals it is gone");
		return;
	}
	found = audit_head_read(doctor->state_fd, secret, &stored, &sealed, &err);
	if (found == 1 && sealed && stored.sequence <= last->sequence)
		doctor_say(doctor, DOCTOR_OK, "audit", "", "%" PRIu64 " entries, the end is whole",
			   last->sequence);
	else
		doctor_say(doctor, DOCTOR_BAD, "audit", "see reckon audit verify",
			   "its end and " AUDIT_HEAD_FILE " do not belong together");
}

static void check_database(struct doctor *doctor)
{
	struct audit_entry last = { .sequence = 0 };
	struct audit_head head;
	struct err err;

	if (db_open_existing(doctor->state_fd, doctor->state_dir, &doctor->db, &err) < 0) {
		doctor_say(doctor, DOCTOR_BAD, "database",
			   err.remedy[0] != '\0' ? err.remedy : "restore a copy", "%.200s", err.text);
		check_clock(doctor, &last);
		return;
	}
	if (db_check(doctor->db, &err) < 0)
		doctor_say(doctor, DOCTOR_BAD, "database",
			   "stop the daemon, keep a copy, and restore one",
			   "%.200s", err.text);
	else
		doctor_say(doctor, DOCTOR_OK, "database", "", "whole");
	if (db_audit_head(doctor->db, &head, &err) == 0 && head.sequence > 0)
		(void)db_audit_list(doctor->db, head.sequence - 1, 1, note_last, &last, &err);
	check_clock(doctor, &last);
	check_audit(doctor, &last);
	db_close(doctor->db);
}

/* ---- the command ---------------------------------------------------------------------------- */

static const char *const state_names[] = { "ok", "partial", "bad", "absent" };

static void print_text(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->count; i++) {
		const struct doctor_check *check = &doctor->checks[i];

		(void)printf("%-16s %-8s %s\n", check->name, state_names[check->state],
			     check->detail);
		if (check->remedy[0] != '\0')
			(void)printf("%-16s %-8s %s\n", "", "", check->remedy);
	}
}

static int print_json(const struct doctor *doctor, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(1u << 20);
	struct json_writer json;

	json_write_init(&json, &text);
	json_write_object_begin(&json);
	json_write_member_string(&json, "state_dir", doctor->state_dir);
	json_write_key(&json, "checks");
	json_write_array_begin(&json);
	for (size_t i = 0; i < doctor->count; i++) {
		const struct doctor_check *check = &doctor->checks[i];

		json_write_object_begin(&json);
		json_write_member_string(&json, "name", check->name);
		json_write_member_string(&json, "state", state_names[check->state]);
		json_write_member_string(&json, "detail", check->detail);
		json_write_member_string(&json, "remedy",
					 check->remedy[0] != '\0' ? check->remedy : NULL);
		json_write_object_end(&json);
	}
	json_write_array_end(&json);
	json_write_object_end(&json);
	if (json_write_finish(&json, err) < 0)
		return (int)err->code;
	(void)printf("%s\n", buf_text(&text));
	return 0;
}

int doctor_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "state", required_argument, NULL, 's' },
		{ "json", no_argument, NULL, 'j' },
		{ "strict", no_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	cleanup_free struct doctor *doctor = mem_new0(1, sizeof(*doctor));
	struct config config = { .state_dir = "" };
	bool json = false, strict = false, wrong = false;
	struct err err;
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (opt == 's')
			(void)snprintf(config.state_dir, sizeof(config.state_dir), "%s", optarg);
		else if (opt == 'j')
			json = true;
		else if (opt == 't')
			strict = true;
		else
			return 2;
	config_choose_state(&config);
	doctor->state_dir = config.state_dir;
	doctor->state_fd = open(config.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (doctor->state_fd < 0 || sodium_init() < 0) {
		(void)err_sys(&err, "open %.200s", config.state_dir);
		(void)fprintf(stderr, "reckon: doctor: %s\n", err.text);
		return 125;
	}
	check_directory(doctor);
	check_disk(doctor);
	check_descriptors(doctor);
	check_database(doctor);
	doctor_check_daemon(doctor);
	for (size_t i = 0; i < doctor->count; i++)
		wrong |= doctor->checks[i].state == DOCTOR_BAD ||
			 doctor->checks[i].state == DOCTOR_PARTIAL;
	if (!json)
		print_text(doctor);
	else if (print_json(doctor, &err) < 0)
		return 125;
	(void)close(doctor->state_fd);
	return strict && wrong ? 1 : 0;
}
