/*
 * main.c - reckond backup, reckond restore: backups of a state directory, also while a daemon runs.
 *
 * Runs in:  a separate reckond, for `reckon backup` and `reckon restore`.
 * Reads:    its command line.
 * Never:    exits with 0 if something is missing: then it exits with 1.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host/backup/backup.h"
#include "host/host.h"

#define STATUS_WRONG 1

static int complain(const char *mode, const struct err *err)
{
	(void)fprintf(stderr, "reckon: %s: %s%s%s%s\n", mode, err->text,
		      err->remedy[0] != '\0' ? " (" : "", err->remedy,
		      err->remedy[0] != '\0' ? ")" : "");
	return err->code == ERR_INVALID ? 2 : 125;
}

static int take_keep(const char *text, uint64_t *ret, struct err *err)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (text[0] < '1' || text[0] > '9' || *end != '\0' || errno != 0)
		return err_set(err, ERR_INVALID, "--keep takes a number, from 1");
	return 0;
}

static int take_options(int argc, char **argv, struct backup_options *ret, struct err *err)
{
	static const struct option options[] = {
		{ "state", required_argument, NULL, 's' },
		{ "snapshot", required_argument, NULL, 'n' },
		{ "keep", required_argument, NULL, 'k' },
		{ "verify", no_argument, NULL, 'v' },
		{ "objects", no_argument, NULL, 'o' },
		{ NULL, 0, NULL, 0 },
	};
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 's')
			(void)snprintf(ret->state, sizeof(ret->state), "%s", optarg);
		else if (opt == 'n')
			ret->snapshot = optarg;
		else if (opt == 'v')
			ret->verify_only = true;
		else if (opt == 'o')
			ret->objects_only = true;
		else if (opt != 'k')
			return err_set(err, ERR_INVALID, "unknown option");
		else if (take_keep(optarg, &ret->keep, err) < 0)
			return (int)err->code;
	}
	if (optind != argc - 1)
		return err_set(err, ERR_INVALID, "missing argument DIRECTORY");
	ret->target = argv[optind];
	return 0;
}

int backup_main(int argc, char **argv)
{
	const bool restores = strcmp(argv[0], "restore") == 0;
	struct backup_options options = { .state = "" };
	struct backup_counts counts = { 0 };
	struct config config = { .state_dir = "" };
	struct err err;
	int code;

	(void)umask(077);
	if (take_options(argc, argv, &options, &err) < 0)
		return complain(argv[0], &err);
	(void)snprintf(config.state_dir, sizeof(config.state_dir), "%s", options.state);
	config_choose_state(&config);
	(void)snprintf(options.state, sizeof(options.state), "%s", config.state_dir);
	if (sodium_init() < 0)
		return complain(argv[0], &(struct err){ .code = ERR_UNAVAILABLE,
							.text = "libsodium does not start" });
	code = restores		      ? backup_restore(&options, &counts, &err)
	       : options.verify_only ? backup_verify(&options, &counts, &err)
				      : backup_make(&options, &counts, &err);
	if (code < 0)
		return complain(argv[0], &err);
	(void)printf("reckon: %" PRIu64 " objects, %" PRIu64 " bytes; copied %" PRIu64 ", %" PRIu64
		     " bytes; %" PRIu64 " missing or damaged\n",
		     counts.objects, counts.bytes, counts.new_objects, counts.new_bytes,
		     counts.wrong);
	return counts.wrong > 0 ? STATUS_WRONG : 0;
}
