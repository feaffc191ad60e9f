/*
 * command.c - commands of a chat: lines that begin with "/".
 *
 * Runs in:  reckon chat.
 * Reads:    a line that the person types, files that it names.
 * Never:    sends a command to a model.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"
#include "cli/options/parse.h"

static void complain(const char *command, struct err *err)
{
	(void)err_wrap(err, "/%s", command);
	(void)cli_complain(err);
}

static void on_help(struct ask *ask, const char *rest);

static void on_cost(struct ask *ask, const char *rest)
{
	const struct agent_usage *sum = &ask->chat_usage;
	char cost[64] = "";

	(void)rest;
	if (ask_has_price(ask))
		(void)snprintf(cost, sizeof(cost), ", cost %.4f", (double)sum->cost_micro / 1e6);
	run_output_line("%s/%s: %llu cell%s, %llu tokens in (%llu cached), %llu out%s",
			ask->provider, ask->model, (unsigned long long)sum->steps,
			sum->steps == 1 ? "" : "s", (unsigned long long)sum->in,
			(unsigned long long)sum->cached, (unsigned long long)sum->out, cost);
}

static void on_save(struct ask *ask, const char *rest)
{
	struct err err;

	if (rest[0] == '\0') {
		(void)err_set(&err, ERR_INVALID,
			      "missing argument FILE, which ends in .ipynb, .py, .md "
			      "or .json");
		complain("save", &err);
	} else if (journal_save_check(rest, &err) < 0 ||
		   journal_save(&ask->keep.journal, rest, false, ask->view.run.out_path, &err) <
			   0) {
		complain("save", &err);
	} else {
		run_output_line("saved as %s", rest);
	}
}

static int put_file(struct ask *ask, const char *spec, struct err *err)
{
	cleanup_free char *path = NULL, *name = NULL;
	cleanup_fd int fd = -1;
	struct run_file file;
	struct stat st;

	if (parse_file_spec(spec, &path, &name, err) < 0)
		return (int)err->code;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "%.200s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, "%.200s: is not a regular file", path);
	file = (struct run_file){ .path = path, .name = name, .fd = fd };
	if (ask_place_put(ask, &file, err) < 0)
		return (int)err->code;
	run_output_line("%s is in /mnt/data", name);
	/* The next question tells the model about the file. */
	return buf_addf(&ask->note, err, "%sThe person put a file into /mnt/data: %s.",
			ask->note.len > 0 ? " " : "", name);
}

static void on_file(struct ask *ask, const char *rest)
{
	struct err err;

	if (rest[0] == '\0')
		(void)err_set(&err, ERR_INVALID, "missing argument FILE or FILE:NAME");
	else if (put_file(ask, rest, &err) == 0)
		return;
	complain("file", &err);
}

static void on_model(struct ask *ask, const char *rest)
{
	ask_change_model(ask, rest);
}

static void on_undo(struct ask *ask, const char *rest)
{
	(void)rest;
	ask_change_undo(ask);
}

static void on_thoughts(struct ask *ask, const char *rest)
{
	(void)rest;
	ask_thoughts_show(ask);
}

static const struct {
	const char *name, *operand, *what;
	void (*run)(struct ask *ask, const char *rest);
} commands[] = {
	{ "help", "", "these", on_help },
	{ "file", "FILE[:NAME]", "put a file into the session", on_file },
	{ "model", "[PROVIDER/NAME]", "go on with another model, or say which it is", on_model },
	{ "undo", "", "take the last question and its answer back", on_undo },
	{ "thoughts", "", "what the model thought at the last question", on_thoughts },
	{ "cost", "", "what this chat has used so far", on_cost },
	{ "save", "FILE", "the chat as .ipynb, .py, .md or .json", on_save },
};

static void on_help(struct ask *ask, const char *rest)
{
	(void)ask;
	(void)rest;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		run_output_line("/%s %-*s %s", commands[i].name,
				20 - (int)strlen(commands[i].name), commands[i].operand,
				commands[i].what);
}

bool ask_chat_command(struct ask *ask, const char *line)
{
	const size_t len = strcspn(line, " \t");
	const char *rest = line + len + strspn(line + len, " \t");

	if (line[0] != '/' || len < 2 || memchr(line + 1, '/', len - 1) != NULL)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (strlen(commands[i].name) == len - 1 &&
		    memcmp(commands[i].name, line + 1, len - 1) == 0) {
			commands[i].run(ask, rest);
			return true;
		}
	run_output_line("reckon: there is no /%.*s; /help lists what there is", (int)len - 1,
			line + 1);
	return true;
}
