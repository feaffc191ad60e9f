/* openapi.h - the OpenAPI document, embedded: the process can open no file. */
#pragma once

extern const char openapi_json[];
extern const unsigned openapi_json_len;
