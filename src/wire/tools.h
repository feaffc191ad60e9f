/*
 * tools.h - how programs in a box find the socket on which they call tools.
 *
 * A kernel hands the socket down to what it starts. A call is one packet, with a socket for its
 * answer (docs/internals/questions.md).
 */
#pragma once

#define TOOLS_FD 200			       /* where bash's programs find it */
#define TOOLS_FD_VARIABLE "RECKON_TOOLS_FD"    /* its number, where another kernel names one */
#define TOOLS_CALL_MAX ((size_t)128 * 1024)
