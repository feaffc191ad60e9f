/*
 * record.h - makes the model's result of a cell from its record (reckon.execution/1).
 */
#pragma once

#include "codec/json_read.h"
#include "agent_client/agent_client.h"

/*
 * Reads status, text, images and how often the cell has failed like this. The result points into
 * the record, which must outlive it.
 */
void agent_client_result_read(const struct json_value *record, struct agent_client_result *ret);
