/*
 * sha256.h - SHA-256 of bytes, for protocols that send it. No side effects.
 */
#pragma once

#include <stddef.h>

#define SHA256_TEXT_SIZE 65

/* In hexadecimal, lower case. */
void sha256_text(const void *bytes, size_t len, char ret[SHA256_TEXT_SIZE]);
