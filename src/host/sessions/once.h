/*
 * once.h - a session for one execution: what its request brought, until its code is to run.
 */
#pragma once

#include "wire/front.h"

struct asking;

struct once {
	char key[FRONT_KEY_MAX + 1]; /* of the request; "": it has none */
	unsigned char hash[32];	     /* of all that was asked for with it */
	struct asking *asking;
};
