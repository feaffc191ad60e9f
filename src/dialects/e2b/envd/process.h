/*
 * process.h - the service process.Process: what its files share.
 *
 *   process.c         one message, one answer: lists, input, signals, sizes
 *   process_select.c  which process a message is about
 *   process_stream.c  Start and Connect: a process's events as a stream
 */
#pragma once

#include "dialects/e2b/envd/envd.h"

void e2b_process(struct e2b *e2b, const char *method);
void e2b_process_start(struct e2b *e2b, const struct json_value *message);
void e2b_process_connect(struct e2b *e2b, const struct json_value *message);
/* The process that the message's `process` selects, by pid or tag; with `running_only` none that has
 * ended. Its texts are the call's. False when that was answered with an error. */
bool e2b_process_select(const struct e2b *e2b, const struct json_value *message, bool running_only,
			struct api_process *ret, struct call *call);
/* Of a message's `pty`; false: there is none. */
bool e2b_process_size(const struct json_value *message, struct api_pty *ret);
