/*
 * procview.c - how much memory and processor time a box uses, for programs that read /proc.
 *
 * Runs in:  the kernel, inside the box.
 * Reads:    /proc of the box's own processes.
 * Never:    knows anything of the host, or affects the host: receipts are measured outside.
 */
#include "inside/procview.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define FOLDER "/run/box"
#define REFRESH_NS (20ull * 1000000u)
#define PROCESSES_MAX 512 /* at most so many are read */

struct usage {
	uint64_t rss_kib;
	uint64_t user, system; /* ticks */
	unsigned processes, running;
	long last;
};

static size_t read_small(const char *path, char *ret, size_t size)
{
	/* The program owns the folder: a file that it put there must not block the kernel. */
	cleanup_fd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, ret, size - 1) : 0;

	ret[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static void write_small(const char *name, const char *text, size_t len)
{
	char path[64];
	cleanup_fd int fd = -1;

	(void)snprintf(path, sizeof(path), FOLDER "/%s", name);
	fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	/* Overwrite the file instead of emptying it first: a program may be reading it. */
	if (fd < 0 || pwrite(fd, text, len, 0) != (ssize_t)len || ftruncate(fd, (off_t)len) < 0)
		return;
}

static uint64_t number_after(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at != NULL ? strtoull(at + strlen(word), NULL, 10) : 0;
}

/* Fields between the state and the times in /proc/PID/stat. */
#define STAT_BEFORE_TIMES 10u

static const char *skip_words(const char *text, unsigned count)
{
	for (; count > 0; count--) {
		text += strspn(text, " ");
		text += strcspn(text, " ");
	}
	return text;
}

/* Parses a number and advances *text; 0 if there is none. */
static unsigned long take_number(const char **text)
{
	char *end;
	const unsigned long number = strtoul(*text, &end, 10);

	*text = end;
	return number;
}

static void add_process(const char *pid, struct usage *usage)
{
	unsigned long user = 0, system = 0, child_user = 0, child_system = 0;
	unsigned long resident = 0, shared = 0;
	const uint64_t page_kib = (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
	char path[64], text[1024], state = 0;
	const char *fields;

	(void)snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
	if (read_small(path, text, sizeof(text)) == 0 || (fields = strrchr(text, ')')) == NULL)
		return;
	if (fields[1] != ' ' || fields[2] == '\0')
		return;
	state = fields[2];
	fields = skip_words(fields + 3, STAT_BEFORE_TIMES);
	user = take_number(&fields);
	system = take_number(&fields);
	child_user = take_number(&fields);
	child_system = take_number(&fields);
	usage->user += user + child_user;
	usage->system += system + child_system;
	usage->processes++;
	usage->running += state == 'R' ? 1 : 0;
	(void)snprintf(path, sizeof(path), "/proc/%.16s/statm", pid);
	if (read_small(path, text, sizeof(text)) > 0) {
		fields = skip_words(text, 1);
		resident = take_number(&fields);
		shared = take_number(&fields);
		usage->rss_kib += (resident > shared ? resident - shared : 0) * page_kib;
	}
	if (strtol(pid, NULL, 10) > usage->last)
		usage->last = strtol(pid, NULL, 10);
}

static void measure(struct usage *usage)
{
	cleanup_dir DIR *dir = opendir("/proc");
	struct dirent *entry;
	unsigned seen = 0;

	while (dir != NULL && seen < PROCESSES_MAX && (entry = readdir(dir)) != NULL)
		if (isdigit((unsigned char)entry->d_name[0])) {
			add_process(entry->d_name, usage);
			seen++;
		}
}

static void write_memory(const struct usage *usage)
{
	char old[512], text[512];
	uint64_t total, used = usage->rss_kib;
	int len;

	if (read_small(FOLDER "/meminfo", old, sizeof(old)) == 0)
		return;
	total = number_after(old, "MemTotal:");
	used = used < total ? used : total;
	len = snprintf(text, sizeof(text),
		       "MemTotal:       %llu kB\nMemFree:        %llu kB\nMemAvailable:   %llu kB\n"
		       "Buffers:        0 kB\nCached:         0 kB\nSwapCached:     0 kB\n"
		       "Active:         %llu kB\nInactive:       0 kB\nSwapTotal:      0 kB\n"
		       "SwapFree:       0 kB\nShmem:          0 kB\nSlab:           0 kB\n"
		       "SReclaimable:   0 kB\n",
		       (unsigned long long)total, (unsigned long long)(total - used),
		       (unsigned long long)(total - used), (unsigned long long)used);
	write_small("meminfo", text, (size_t)len);
}

static double write_stat(const struct usage *usage, unsigned count, uint64_t begun)
{
	const uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec now;
	char text[8192];
	uint64_t up, busy = usage->user + usage->system, all;
	double seconds;
	int len;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	seconds = (double)(now.tv_sec - (time_t)begun) + (double)now.tv_nsec / 1e9;
	seconds = seconds > 0 ? seconds : 0;
	up = (uint64_t)(seconds * (double)hz);
	all = up * count;
	len = snprintf(text, sizeof(text), "cpu  %llu 0 %llu %llu 0 0 0 0 0 0\n",
		       (unsigned long long)usage->user, (unsigned long long)usage->system,
		       (unsigned long long)(all > busy ? all - busy : 0));
	for (unsigned i = 0; i < count; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len,
				"cpu%u %llu 0 %llu %llu 0 0 0 0 0 0\n", i,
				(unsigned long long)(usage->user / count),
				(unsigned long long)(usage->system / count),
				(unsigned long long)(up > busy / count ? up - busy / count : 0));
	len += snprintf(text + len, sizeof(text) - (size_t)len,
			"intr 0\nctxt 0\nbtime %llu\nprocesses %ld\nprocs_running %u\n"
			"procs_blocked 0\nsoftirq 0\n",
			(unsigned long long)begun, usage->last, usage->running);
	write_small("stat", text, (size_t)len);
	return seconds;
}

static void write_rest(const struct usage *usage, unsigned count, double seconds)
{
	const double hz = (double)sysconf(_SC_CLK_TCK);
	double idle = seconds * count - (double)(usage->user + usage->system) / hz;
	char text[128];
	int len = snprintf(text, sizeof(text), "%.2f %.2f\n", seconds, idle > 0 ? idle : 0);

	write_small("uptime", text, (size_t)len);
	len = snprintf(text, sizeof(text), "%u.00 %u.00 %u.00 %u/%u %ld\n", usage->running,
		       usage->running, usage->running, usage->running, usage->processes,
		       usage->last);
	write_small("loadavg", text, (size_t)len);
}

static bool is_due(void)
{
	static uint64_t last;
	const uint64_t now = clock_mono_ns();

	if (last != 0 && now - last < REFRESH_NS)
		return false;
	last = now;
	return true;
}

void procview_refresh(void)
{
	struct usage usage = { 0 };
	char old[8192];
	unsigned count;
	cpu_set_t set;

	if (!is_due() || read_small(FOLDER "/stat", old, sizeof(old)) == 0)
		return;
	count = sched_getaffinity(0, sizeof(set), &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
	count = count < 64 ? count : 64;
	measure(&usage);
	write_memory(&usage);
	write_rest(&usage, count, write_stat(&usage, count, number_after(old, "btime ")));
}

void procview_before_open(const char *path)
{
	static const char *const names[] = { "loadavg", "meminfo", "stat", "uptime" };

	if (strncmp(path, "/proc/", 6) != 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(path + 6, names[i]) == 0)
			procview_refresh();
}

void procview_after_cell(uint64_t begun_ns)
{
	if (clock_mono_ns() - begun_ns >= REFRESH_NS)
		procview_refresh();
}
