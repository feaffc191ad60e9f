/*
 * tool_cell.h - tools of a conversation that code in the session answers: a call of one is a cell.
 *
 *   {"name": "look_up", …, "cell": {"before": "import json; look_up(**json.loads(", "quoted": true,
 *                                    "after": "))"}}
 *
 * The cell is `before`, the arguments as a JSON object in one line, and `after`; with `quoted` the
 * object stands as a JSON string. What the cell gives is what the model is told.
 */
#pragma once

#include "agent/conversation/model.h"
#include "codec/json_read.h"

/* What a document says of a tool, which was just added; one without "cell" stays what it is. */
int tool_cell_read(const struct json_value *tool, struct model_tool *ret, struct err *err);
/* Appends the member, within the tool's object. */
void tool_cell_write(const struct model_tool *tool, struct json_writer *writer);
/* The code of a call. */
int tool_cell_code(const struct model_tool *tool, const struct buf *args, struct buf *ret,
		   struct err *err);
/* Takes them away where nothing can call them: a model that has no calls runs code by itself. */
void tool_cell_drop_all(struct model_conversation *conv);
