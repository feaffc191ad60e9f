/*
 * tool_cell.h - tools of a conversation that code in the session answers: each call becomes a cell.
 *
 *   {"name": "look_up", …, "cell": {"before": "import json; look_up(**json.loads(", "quoted": true,
 *                                    "after": "))"}}
 *
 * The cell is `before`, the arguments as a JSON object in one line, and `after`; with `quoted` the
 * object is written as a JSON string. The cell's output is the result for the model.
 */
#pragma once

#include "agent/conversation/model.h"
#include "codec/json_read.h"

/* Reads the "cell" of a tool that was just added; a tool without it is unchanged. */
int tool_cell_read(const struct json_value *tool, struct model_tool *ret, struct err *err);
/* Writes the "cell" member into the tool's object. */
void tool_cell_write(const struct model_tool *tool, struct json_writer *writer);
/* Appends the code for a call. */
int tool_cell_code(const struct model_tool *tool, const struct buf *args, struct buf *ret,
		   struct err *err);
/* Removes these tools if the model cannot call tools. */
void tool_cell_drop_all(struct model_conversation *conv);
