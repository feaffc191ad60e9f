/*
 * lost.c - notes that the session is lost, and says so at each later request.
 *
 * Runs in:  reckon repl.
 * Reads:    errors of calls that failed.
 * Never:    sends a request to a lost session.
 */
#include "cli/cli.h"
#include "cli/repl/repl.h"

void repl_say_lost(void)
{
	run_output_line("reckon: the session is gone, with its variables (%%restart begins a new "
			"one and puts back the files that were kept)");
}

bool repl_is_lost(struct repl *repl)
{
	if (!repl->lost)
		return false;
	repl_say_lost();
	return true;
}

void repl_failed(struct repl *repl, const char *what, struct err *err)
{
	int status;

	if (what != NULL)
		(void)err_wrap(err, "%.200s", what);
	status = cli_complain(err);
	if (repl->status == EXIT_CODE_OK)
		repl->status = status;
	repl_note_lost(repl, err);
}

void repl_note_lost(struct repl *repl, const struct err *err)
{
	repl->lost = repl->lost || err->code == ERR_LOST;
}

int repl_look(struct repl *repl, const struct session_look *look, struct json_value **ret,
	      struct err *err)
{
	cleanup_buf struct buf json = BUF_INIT(REPL_ANSWER_MAX);

	if (repl->session->ops->look(repl->session, look, &json, err) < 0)
		return (int)err->code;
	return json_read_parse(buf_text(&json), json.len, REPL_ANSWER_MAX, ret, err);
}
