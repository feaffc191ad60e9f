/*
 * toy.h - what the files of the toy dialect share.
 *
 *   toy.c  which request is meant, the form of an error
 *   run.c  one request as six calls
 */
#pragma once

#include "dialects/call.h"

#define TOY_BODY_MAX (1u * 1024u * 1024u)

void toy_run(struct request *request);
