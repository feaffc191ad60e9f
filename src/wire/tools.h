/*
 * tools.h - how programs in a box find the socket on which they call tools.
 *
 * The processes that a kernel starts inherit the socket. A call is one packet, with a socket for
 * its reply (docs/internals/questions.md).
 */
#pragma once

#define TOOLS_FD 200			       /* where programs started by bash find it */
#define TOOLS_FD_VARIABLE "RECKON_TOOLS_FD"    /* its number, under other kernels */
#define TOOLS_CALL_MAX ((size_t)128 * 1024)
