/* tools_list.h - tools.json as C: its entries, with commas between them; made by embed.py. */
#pragma once

extern const char mcp_tools_json[];
