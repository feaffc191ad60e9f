"""Makes a C file of a JSON document, compact: embed.py INPUT OUTPUT NAME [inner]

`inner`: without the brackets around it, so that more entries can follow.
"""
import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = json.dumps(json.load(file), separators=(",", ":"), ensure_ascii=True)
    if sys.argv[4:] == ["inner"]:
        text = text[1:-1]
    rows = [json.dumps(text[at:at + 80]) for at in range(0, len(text), 80)]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(f'#include "dialects/mcp/tools_list.h"\n\nconst char {sys.argv[3]}[] =\n\t')
        file.write("\n\t".join(rows))
        file.write(";\n")


if __name__ == "__main__":
    main()
