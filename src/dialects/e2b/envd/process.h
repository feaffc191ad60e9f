/*
 * process.h - declarations shared by the files of the service process.Process.
 *
 *   process.c         methods with one message and one answer: list, input, signals, sizes
 *   process_select.c  which process a message names
 *   process_stream.c  Start and Connect: a process's events as a stream
 */
#pragma once

#include "dialects/e2b/envd/envd.h"

void e2b_process(struct e2b *e2b, const char *method);
void e2b_process_start(struct e2b *e2b, const struct json_value *message);
void e2b_process_connect(struct e2b *e2b, const struct json_value *message);
/* Finds the process that the message's `process` names by pid or tag; `running_only`: only among
 * running ones. Its texts live as long as `call`. False: answered with an error. */
bool e2b_process_select(const struct e2b *e2b, const struct json_value *message, bool running_only,
			struct api_process *ret, struct call *call);
/* Reads the size in a message's `pty`; false: it has none. */
bool e2b_process_size(const struct json_value *message, struct api_pty *ret);
