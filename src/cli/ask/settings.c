/*
 * settings.c - settings for the model: instructions, temperature, effort.
 *
 * Runs in:  reckon ask.
 * Reads:    the command line, files of the user.
 * Never:    reads instructions from the current directory, where others may have put them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "cli/ask/ask.h"
#include "codec/json_write.h"

#define DOCUMENT_MAX (4 * ASK_SYSTEM_MAX)

static int read_file(const char *path, bool must_exist, struct buf *ret, struct err *err)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	const size_t before = ret->len;
	int rc;

	if (fd < 0 && errno == ENOENT && !must_exist)
		return 0;
	if (fd < 0)
		return err_sys(err, "%.200s", path);
	rc = fd_read_all(fd, ret, err);
	if (rc == ERR_LIMIT)
		return err_set(err, ERR_INVALID, "%.200s: instructions of more than %u KiB", path,
			       ASK_SYSTEM_MAX >> 10);
	if (rc == 0 && ret->len > before)
		rc = run_input_check_source(ret->data + before, ret->len - before, err);
	return rc < 0 ? err_wrap(err, "%.200s", path) : 0;
}

/* Reads the instructions for all questions, from the folder of models.ini. */
static int read_standing(struct buf *ret, struct err *err)
{
	const char *xdg = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
	const bool has_xdg = xdg != NULL && xdg[0] == '/';
	char path[PATH_MAX];

	if ((has_xdg ? snprintf(path, sizeof(path), "%s/reckon/instructions.md", xdg)
		     : snprintf(path, sizeof(path), "%s/.config/reckon/instructions.md",
				home != NULL ? home : "")) >= (int)sizeof(path))
		return err_set(err, ERR_INVALID, "the path of instructions.md is too long");
	return read_file(path, false, ret, err);
}

int ask_settings_take_temperature(struct ask *ask, const char *value, struct err *err)
{
	char *end;
	const double number = strtod(value, &end);

	if (value[0] < '0' || value[0] > '9' || *end != '\0' || strpbrk(value, "xXeE") != NULL ||
	    number > 2 || end[-1] == '.' ||
	    (value[0] == '0' && value[1] >= '0' && value[1] <= '9')) {
		(void)err_set(err, ERR_INVALID, "invalid temperature '%.60s'", value);
		return err_remedy(err, "from 0 to 2, as in 0.2");
	}
	ask->temperature = value;
	return 0;
}

int ask_settings_load(struct ask *ask, struct err *err)
{
	struct buf *text = &ask->system;

	*text = BUF_INIT(ASK_SYSTEM_MAX);
	if (read_standing(text, err) < 0)
		return (int)err->code;
	if (ask->system_option == NULL)
		return 0;
	if (text->len > 0 && buf_adds(text, "\n\n", err) < 0)
		return (int)err->code;
	if (ask->system_option[0] == '@')
		return read_file(ask->system_option + 1, true, text, err) < 0
			       ? err_wrap(err, "--system")
			       : 0;
	if (run_input_check_source(ask->system_option, strlen(ask->system_option), err) < 0 ||
	    buf_adds(text, ask->system_option, err) < 0)
		return err_set(err, ERR_INVALID, "--system: is not UTF-8 text of at most %u KiB",
			       ASK_SYSTEM_MAX >> 10);
	return 0;
}

static int write_document(const struct ask *ask, struct buf *ret, struct err *err)
{
	struct json_writer json;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "schema", "reckon.conversation/1");
	json_write_member_bool(&json, "code", true);
	if (ask->system.len > 0)
		json_write_member_text(&json, "instructions", ask->system.data, ask->system.len);
	json_write_key(&json, "sampling");
	json_write_object_begin(&json);
	if (ask->temperature != NULL) {
		json_write_key(&json, "temperature");
		json_write_raw(&json, ask->temperature, strlen(ask->temperature));
	}
	if (ask->effort != NULL)
		json_write_member_string(&json, "reasoning_effort", ask->effort);
	json_write_object_end(&json);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

int ask_settings_tell(struct ask *ask, struct err *err)
{
	cleanup_buf struct buf document = BUF_INIT(DOCUMENT_MAX);

	if (ask->system.len == 0 && ask->temperature == NULL && ask->effort == NULL)
		return 0;
	if (write_document(ask, &document, err) < 0)
		return (int)err->code;
	return agent_client_load(ask->driver.client, document.data, document.len, err);
}
