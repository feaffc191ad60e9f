/* tools_list.h - JSON documents as C, made by embed.py. */
#pragma once

extern const char mcp_tools_json[];    /* tools.json: its entries, with commas between them */
extern const char mcp_tools_folders_json[]; /* the same with what tools_folders.json adds */
extern const char mcp_fixtures_json[]; /* fixtures.json */
