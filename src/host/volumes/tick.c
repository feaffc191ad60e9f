/*
 * tick.c - measures volumes while sessions can write to them, and ends sessions that write too
 * much; removes contents of removed volumes.
 *
 * Runs in:  reckond's loop.
 * Reads:    results of measuring jobs.
 * Never:    ends a session because of a volume that it cannot write to.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/statvfs.h>

#include "base/log.h"
#include "host/host.h"
#include "host/tenants/quota.h"
#include "host/volumes/work.h"

#define LOOK_NS 1000000000ull
#define SHARE 20u /* a measurement takes at most 1/20 of the time */
#define LEFT_BYTES (512ull << 20) /* with less free space on the disk, sessions with volumes end */
#define LEFT_SHARE 50u		  /* … or less than 1/50 of a small disk */

/* Ends sessions that can write to the volume; `volume` NULL: to any volume. */
static void end_writers(struct host *host, const struct volume *volume, const char *why)
{
	struct session *next;

	for (struct session *at = host->sessions.first; at != NULL; at = next) {
		const char *text = at->row.volumes;
		struct volume_mount mount;
		bool is_one = false;

		next = at->next;
		while (!is_one && volume_mount_next(&text, &mount))
			is_one = !mount.is_read_only &&
				 (volume == NULL || strcmp(mount.id, volume->id) == 0);
		if (is_one && life_is_live(at->life))
			session_end(at, API_ERR_SESSION_CLOSED, why, 0);
	}
}

static void measure(struct host *host, struct volume *volume)
{
	volume->is_measuring = true;
	volume->is_changed = false;
	volume->measured_ns = clock_mono_ns();
	volume_work_submit(host, volume_work_new(VOLUME_MEASURE, volume, ""), 0, -1);
}

void volume_measured(struct host *host, const struct job *job)
{
	const struct volume_work *work = job->volume;
	struct volume *volume = volume_by_id(host, work->id);
	char why[256] = "";
	bool has_grown;

	if (volume == NULL)
		return;
	volume->is_measuring = false;
	volume->took_ns = clock_mono_ns() - volume->measured_ns;
	if (work->err.code != ERR_OK) {
		log_line(LOG_WARN, "a volume could not be measured", "volume=%s why=\"%s\"",
			 volume->id, work->err.text);
		return;
	}
	has_grown = volume->is_measured && work->bytes > volume->bytes;
	volume->is_measured = true;
	volume_set_measured(volume, work->bytes, work->files);
	if (work->broken != NULL)
		(void)snprintf(why, sizeof(why), "its volume %s has %s", volume->name,
			       work->broken);
	else if (has_grown && volume->bytes > host->config.max_volume)
		(void)snprintf(why, sizeof(why),
			       "its volume %s takes %" PRIu64 " bytes, more than the %" PRIu64
			       " of max-volume", volume->name, volume->bytes,
			       host->config.max_volume);
	else if (has_grown && quota_disk_left(host, volume->tenant) == 0)
		(void)snprintf(why, sizeof(why),
			       "its volume %s grew past the tenant's quota disk_bytes",
			       volume->name);
	if (why[0] != '\0')
		end_writers(host, volume, why);
}

/* Checks free space, because measuring cannot see files that are open but have no name. */
static void look_at_disk(struct host *host)
{
	struct statvfs disk;
	uint64_t left, least;

	if (fstatvfs(host->place.state_fd, &disk) < 0)
		return;
	left = (uint64_t)disk.f_bavail * disk.f_frsize;
	least = MIN(LEFT_BYTES, (uint64_t)disk.f_blocks * disk.f_frsize / LEFT_SHARE);
	if (left < least)
		end_writers(host, NULL, "the disk of its volumes is full");
}

/* Sets is_written for volumes that running sessions can write to. Returns whether there are any. */
static bool look_at_sessions(struct host *host)
{
	bool ret = false;

	for (struct volume *at = host->volumes.first; at != NULL; at = at->next)
		at->is_written = false;
	for (const struct session *at = host->sessions.first; at != NULL; at = at->next) {
		const char *text = at->row.volumes;
		struct volume_mount mount;

		if (session_is_parked(at) || at->life == SESSION_PAUSED)
			continue;
		while (volume_mount_next(&text, &mount)) {
			struct volume *volume = volume_by_id(host, mount.id);

			if (volume != NULL && !mount.is_read_only)
				ret = volume->is_written = true;
		}
	}
	return ret;
}

static bool is_due(const struct volume *volume, uint64_t now)
{
	if (volume->is_measuring || volume->is_removed)
		return false;
	if (!volume->is_measured || volume->is_changed)
		return volume->measured_ns == 0 || now - volume->measured_ns >= LOOK_NS;
	return volume->is_written &&
	       now - volume->measured_ns >= MAX(LOOK_NS, volume->took_ns * SHARE);
}

void volumes_tick(struct host *host)
{
	const uint64_t now = clock_mono_ns();
	struct volume *next;

	if (host->volumes.first == NULL)
		return;
	if (now - host->volumes.looked_ns >= LOOK_NS) {
		host->volumes.looked_ns = now;
		if (look_at_sessions(host))
			look_at_disk(host);
	}
	volumes_settle(host);
	for (struct volume *at = host->volumes.first; at != NULL; at = next) {
		next = at->next;
		if (at->is_gone) {
			volume_work_submit(host, volume_work_new(VOLUME_EMPTY, at, ""), 0, -1);
			volume_free(host, at);
		} else if (is_due(at, now)) {
			measure(host, at);
		}
	}
}
