"""Writes a JSON document, made compact, as a C file: embed.py INPUT OUTPUT NAME [inner [ADDITIONS]]

`inner`: without the outer brackets, so that more entries can follow. ADDITIONS: a JSON document
of additions to tools, by name: `description`, `actions` and `properties`.
"""
import json
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def add(tools, additions):
    for tool in tools:
        more = additions.get(tool["name"], {"description": "", "actions": [], "properties": {}})
        tool["description"] += more["description"]
        properties = tool["inputSchema"]["properties"]
        if more["actions"]:
            properties["action"]["enum"] += more["actions"]
        properties.update(more["properties"])


def main():
    document = read(sys.argv[1])
    if len(sys.argv) > 5:
        add(document, read(sys.argv[5]))
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=True)
    if sys.argv[4:5] == ["inner"]:
        text = text[1:-1]
    rows = [json.dumps(text[at:at + 80]) for at in range(0, len(text), 80)]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(f'#include "dialects/mcp/tools_list.h"\n\nconst char {sys.argv[3]}[] =\n\t')
        file.write("\n\t".join(rows))
        file.write(";\n")


if __name__ == "__main__":
    main()
