/*
 * items.h - the items of a response's output: sent as they grow, and collected for the whole.
 *
 *   items.c        messages, reasoning, cells, calls of the application's tools
 *   items_shell.c  commands of a shell
 *   items_send.c   functions for all items
 */
#pragma once

#include "dialects/openai/openai.h"

/* ---- items_send.c ---- */
int items_give_up(const struct items *items); /* -1 */
/* Begins an event with the open item's position; `id` NULL: the item has it, or it has none. */
void items_event_of(struct items *items, struct json_writer *json, struct buf *out,
		    const char *type, const char *id);
int items_send(struct items *items, const char *type, const struct buf *item);
/* Completes the item. `conversation_item`: its form in a conversation. */
int items_finish(struct items *items, const struct buf *item, const struct buf *conversation_item);
/* The id of the open or next item. */
void items_id(const struct items *items, const char *prefix, char ret[NAME_SIZE]);
void items_container(const struct items *items, char ret[NAME_SIZE]);

/* ---- items_shell.c ---- */
/* Whether the open output belongs to this command's call. `command`: from RUN_CELL. */
bool items_shell_goes_on(const struct items *items, const struct json_value *command);
/* The open call must be this command's, or none is open. */
int items_command(struct items *items, const struct json_value *command);
int items_command_record(struct items *items, const struct json_value *record);
/* Completes the output with what there is. */
int items_close_shell(struct items *items);
/* Adds a call that the application runs; no item may be open. */
int items_local_commands(struct items *items, const struct json_value *call);
