/*
 * embed.c - Reckon in a C program: two cells in one session, printed as records.
 *
 * Runs in:  your program; build with `cc embed.c -lreckon`.
 * Reads:    nothing.
 * Never:    needs a daemon: the library starts a warden if none runs.
 */
#include <stdio.h>
#include <string.h>

#include <reckon.h>

static int run(reckon_session *session, const char *code)
{
	reckon_execution *done;
	reckon_error err;

	if (reckon_execute(session, code, strlen(code), NULL, &done, &err) < 0) {
		fprintf(stderr, "%s\n%s\n", err.message, err.remedy);
		return 125;
	}
	puts(reckon_execution_record(done));
	int status = reckon_execution_exit_code(done);
	reckon_execution_free(done);
	return status;
}

int main(int argc, char **argv)
{
	reckon_engine *engine = NULL;
	reckon_session *session = NULL;
	reckon_error err;
	int status;

	if (argc > 1) {
		printf("usage: %s (runs two cells and prints their records)\n", argv[0]);
		return 0;
	}
	if (reckon_engine_open(NULL, &engine, &err) < 0 ||
	    reckon_session_open(engine, NULL, &session, &err) < 0) {
		fprintf(stderr, "%s\n%s\n", err.message, err.remedy);
		reckon_engine_close(engine);
		return 125;
	}
	status = run(session, "answer = 6 * 7");
	if (status == 0)
		status = run(session, "answer");
	reckon_session_close(session);
	reckon_engine_close(engine);
	return status;
}
