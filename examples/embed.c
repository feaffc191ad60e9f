#include <reckon.h>
#include <stdio.h>

int main(void)
{
	reckon_engine *engine;
	reckon_session *session;
	reckon_execution *done;
	reckon_error err;

	if (reckon_engine_open(NULL, &engine, &err) < 0 ||
	    reckon_session_open(engine, NULL, &session, &err) < 0 ||
	    reckon_execute(session, "v = 6\nv * 7", 11, NULL, &done, &err) < 0)
		return fprintf(stderr, "%s (%s)\n", err.message, err.remedy);
	puts(reckon_execution_record(done)); /* one line of JSON */
	reckon_execution_free(done);
	reckon_engine_close(engine); /* ends its sessions too */
	return 0;
}
