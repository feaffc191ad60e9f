/*
 * connection.c - reads the connection file: where to listen, and the key that signs messages.
 *
 * Runs in:  reckon-jupyter.
 * Reads:    a file of the user.
 * Never:    signs with anything but HMAC-SHA256.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "codec/json_read.h"
#include "jupyter/jupyter.h"

#define FILE_MAX 65536u

static int read_text(const struct json_value *file, const char *name, char *ret, size_t size,
		     struct err *err)
{
	size_t len = 0;
	const char *text = json_read_text(json_read_member(file, name), &len);

	if (text == NULL || len >= size || strlen(text) != len)
		return err_set(err, ERR_INVALID, "%s is missing, or too long", name);
	(void)snprintf(ret, size, "%s", text);
	return 0;
}

static int read_port(const struct json_value *file, const char *name, unsigned *ret,
		     struct err *err)
{
	int64_t port;

	if (!json_read_int(json_read_member(file, name), &port) || port < 1 || port > 65535)
		return err_set(err, ERR_INVALID, "%s is not a port", name);
	*ret = (unsigned)port;
	return 0;
}

static int take(const struct json_value *file, struct jupyter_connection *ret, struct err *err)
{
	const struct {
		const char *name;
		unsigned *port;
	} ports[] = { { "shell_port", &ret->shell_port },
		      { "iopub_port", &ret->iopub_port },
		      { "stdin_port", &ret->stdin_port },
		      { "control_port", &ret->control_port },
		      { "hb_port", &ret->hb_port } };
	char scheme[32];

	for (size_t i = 0; i < ARRAY_LEN(ports); i++)
		if (read_port(file, ports[i].name, ports[i].port, err) < 0)
			return (int)err->code;
	if (read_text(file, "transport", ret->transport, sizeof(ret->transport), err) < 0 ||
	    read_text(file, "ip", ret->ip, sizeof(ret->ip), err) < 0 ||
	    read_text(file, "key", ret->key, sizeof(ret->key), err) < 0 ||
	    read_text(file, "signature_scheme", scheme, sizeof(scheme), err) < 0)
		return (int)err->code;
	if (strcmp(ret->transport, "tcp") != 0 && strcmp(ret->transport, "ipc") != 0)
		return err_set(err, ERR_INVALID, "transport is neither tcp nor ipc");
	if (strcmp(scheme, "hmac-sha256") != 0)
		return err_set(err, ERR_INVALID, "signature_scheme is not hmac-sha256");
	return 0;
}

int jupyter_connection_parse(const char *text, size_t len, struct jupyter_connection *ret,
			     struct err *err)
{
	struct json_value *file;
	int code;

	*ret = (struct jupyter_connection){ 0 };
	if (json_read_parse(text, len, FILE_MAX, &file, err) < 0)
		return (int)err->code;
	code = take(file, ret, err);
	json_read_free(file);
	return code;
}

int jupyter_connection_read(const char *path, struct jupyter_connection *ret, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(FILE_MAX);
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(err, "%.200s", path);
	if (fd_read_all(fd, &text, err) < 0 ||
	    jupyter_connection_parse(buf_text(&text), text.len, ret, err) < 0)
		return err_wrap(err, "%.200s", path);
	return 0;
}
