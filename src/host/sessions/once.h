/*
 * once.h - data of a request for a one-execution session, until its code is queued.
 */
#pragma once

#include "wire/front.h"

struct asking;

struct once {
	char key[FRONT_KEY_MAX + 1]; /* Idempotency-Key of the request; "": none */
	unsigned char hash[32];	     /* of the request's content */
	struct asking *asking;
};
