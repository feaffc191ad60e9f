/*
 * toy.h - declarations shared by the files of the toy dialect.
 *
 *   toy.c  routes, the error format
 *   run.c  one request as six calls
 */
#pragma once

#include "dialects/call.h"

#define TOY_BODY_MAX (1u * 1024u * 1024u)

void toy_run(struct request *request);
