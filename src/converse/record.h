/*
 * record.h - what a model is told of a cell, out of the record reckon.execution/1.
 */
#pragma once

#include "codec/json_read.h"
#include "converse/converse.h"

/*
 * Status, text, images and how often it has failed so before. Everything is lent by the record,
 * which has to outlive the result.
 */
void converse_result_read(const struct json_value *record, struct converse_result *ret);
