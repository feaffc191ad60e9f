/* openapi.h - the OpenAPI document, embedded: the process cannot open files. */
#pragma once

extern const char openapi_json[];
extern const unsigned openapi_json_len;
