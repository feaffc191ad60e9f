/*
 * items.h - the items of a response's output: sent as they grow, and kept for the whole.
 *
 *   items.c        messages, thoughts, cells, calls of the application's tools
 *   items_shell.c  commands of a shell
 *   items_send.c   what all of them have
 */
#pragma once

#include "dialects/openai/openai.h"

/* ---- items_send.c ---- */
int items_give_up(const struct items *items); /* -1 */
/* An event with the place of the open item; `id` NULL: it stands in the item itself, or nowhere. */
void items_event_of(struct items *items, struct json_writer *json, struct buf *out,
		    const char *type, const char *id);
int items_send(struct items *items, const char *type, const struct buf *item);
/* The item is complete. `kept`: as a conversation has it. */
int items_finish(struct items *items, const struct buf *item, const struct buf *kept);
/* Of the item that is open, or comes next. */
void items_id(const struct items *items, const char *prefix, char ret[NAME_SIZE]);
void items_container(const struct items *items, char ret[NAME_SIZE]);

/* ---- items_shell.c ---- */
/* Whether the call whose output is open has it. `command`: of RUN_CELL. */
bool items_shell_goes_on(const struct items *items, const struct json_value *command);
/* What is open is this call's, or nothing is. */
int items_command(struct items *items, const struct json_value *command);
int items_command_record(struct items *items, const struct json_value *record);
/* Its output, however much of it there is. */
int items_close_shell(struct items *items);
/* A call that the application runs; nothing is open. */
int items_local_commands(struct items *items, const struct json_value *call);
