/*
 * record.h - what a model is told of a cell, out of the record reckon.execution/1.
 */
#pragma once

#include "codec/json_read.h"
#include "agent_client/agent_client.h"

/*
 * Status, text, images and how often it has failed so before. Everything is lent by the record,
 * which has to outlive the result.
 */
void agent_client_result_read(const struct json_value *record, struct agent_client_result *ret);
