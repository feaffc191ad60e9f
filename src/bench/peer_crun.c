/*
 * peer_crun.c - measures the same work in a container of crun, a fast OCI runtime.
 *
 * Runs in:  reckon-bench.
 * Reads:    only exit codes and times.
 * Never:    needs an image: the root is empty, with the host's /usr and /etc and the template's
 *           tree bound into it, which costs crun less than an image's layers would.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "bench/bench.h"
#include "bench/proc.h"
#include "codec/json_write.h"

static void write_strings(struct json_writer *json, const char *key, const char *const *list)
{
	json_write_key(json, key);
	json_write_array_begin(json);
	for (size_t i = 0; list[i] != NULL; i++)
		json_write_string(json, list[i]);
	json_write_array_end(json);
}

static void write_process(struct json_writer *json, const char *python)
{
	const char *const args[] = { python, "-c", PEER_IMPORTS, NULL };
	const char *const env[] = { "PATH=/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8",
				    peer_env[0], peer_env[1], peer_env[2], peer_env[3], NULL };

	json_write_key(json, "process");
	json_write_object_begin(json);
	json_write_member_bool(json, "terminal", false);
	json_write_member_bool(json, "noNewPrivileges", true);
	json_write_member_string(json, "cwd", "/");
	json_write_key(json, "user");
	json_write_object_begin(json);
	json_write_member_uint(json, "uid", 0);
	json_write_member_uint(json, "gid", 0);
	json_write_object_end(json);
	write_strings(json, "args", args);
	write_strings(json, "env", env);
	json_write_object_end(json);
}

static void write_mount(struct json_writer *json, const char *type, const char *source,
			const char *target, const char *option)
{
	const char *const options[] = { "nosuid", strcmp(type, "bind") == 0 ? "bind" : "noexec",
					option, NULL };

	json_write_object_begin(json);
	json_write_member_string(json, "destination", target);
	json_write_member_string(json, "type", type);
	json_write_member_string(json, "source", source);
	write_strings(json, "options", options);
	json_write_object_end(json);
}

static void write_mounts(struct json_writer *json, const struct bench *bench)
{
	json_write_key(json, "mounts");
	json_write_array_begin(json);
	write_mount(json, "proc", "proc", "/proc", NULL);
	write_mount(json, "tmpfs", "tmpfs", "/dev", NULL);
	write_mount(json, "tmpfs", "tmpfs", "/tmp", NULL);
	write_mount(json, "bind", "/usr", "/usr", "ro");
	write_mount(json, "bind", "/etc", "/etc", "ro");
	write_mount(json, "bind", bench->tree, bench->tree, "ro");
	write_mount(json, "bind", bench->work, bench->work, "rw");
	json_write_array_end(json);
}

static void write_linux(struct json_writer *json)
{
	static const char *const namespaces[] = { "pid", "network", "ipc", "uts", "mount" };

	json_write_key(json, "linux");
	json_write_object_begin(json);
	json_write_key(json, "namespaces");
	json_write_array_begin(json);
	for (size_t i = 0; i < ARRAY_LEN(namespaces); i++) {
		json_write_object_begin(json);
		json_write_member_string(json, "type", namespaces[i]);
		json_write_object_end(json);
	}
	json_write_array_end(json);
	json_write_object_end(json);
}

static int make_config(const struct bench *bench, struct buf *ret, struct err *err)
{
	struct json_writer json;
	char python[3300];

	(void)snprintf(python, sizeof(python), "%s/bin/python3", bench->tree);
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "ociVersion", "1.0.0");
	write_process(&json, python);
	json_write_key(&json, "root");
	json_write_object_begin(&json);
	json_write_member_string(&json, "path", "rootfs");
	json_write_object_end(&json);
	write_mounts(&json, bench);
	write_linux(&json);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

/* Makes WORK/crun/config.json, and WORK/crun/rootfs with the links of a merged /usr. */
static int make_bundle(const struct bench *bench, struct err *err)
{
	static const char *const links[] = { "bin", "lib", "lib64", "sbin" };
	cleanup_buf struct buf config = BUF_INIT(64u * 1024u);
	cleanup_fd int fd = -1;
	char path[256], target[16];

	(void)snprintf(path, sizeof(path), "%s/crun", bench->work);
	if (mkdir(path, 0755) < 0)
		return err_sys(err, "make %s", path);
	(void)snprintf(path, sizeof(path), "%s/crun/rootfs", bench->work);
	if (mkdir(path, 0755) < 0)
		return err_sys(err, "make %s", path);
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		(void)snprintf(path, sizeof(path), "%s/crun/rootfs/%s", bench->work, links[i]);
		(void)snprintf(target, sizeof(target), "usr/%s", links[i]);
		if (symlink(target, path) < 0)
			return err_sys(err, "make %s", path);
	}
	(void)snprintf(path, sizeof(path), "%s/crun/config.json", bench->work);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_sys(err, "make %s", path);
	if (make_config(bench, &config, err) < 0)
		return (int)err->code;
	return fd_write_full(fd, config.data, config.len, err);
}

static int run_crun(const struct bench *bench, uint64_t *ret_ns, struct err *err)
{
	char bundle[128], name[64];
	const char *const argv[] = { "crun", "run", "--bundle", bundle, name, NULL };

	(void)snprintf(bundle, sizeof(bundle), "%s/crun", bench->work);
	(void)snprintf(name, sizeof(name), "reckon-bench-%d", (int)getpid());
	return proc_run(&(struct proc_command){ .argv = argv, .hides_unified = geteuid() == 0 },
			ret_ns, err);
}

void crun_open(struct bench *bench)
{
	char path[4096];
	struct err err;
	uint64_t ns;

	if (!proc_find("crun", path, sizeof(path)))
		bench_absent(bench, ROW_CRUN, "not installed: crun");
	else if (geteuid() != 0)
		bench_absent(bench, ROW_CRUN, "not measured: this bundle needs root");
	else if (make_bundle(bench, &err) < 0 || run_crun(bench, &ns, &err) < 0)
		bench_absent(bench, ROW_CRUN, "%s", err.text);
}

int peer_crun(struct bench *bench, struct err *err)
{
	uint64_t ns;

	if (run_crun(bench, &ns, err) < 0)
		return (int)err->code;
	samples_add(&bench->rows[ROW_CRUN].samples, (double)ns / 1e9);
	return 0;
}
