"""Writes a JSON document, made compact, as a C file: embed_json.py INPUT OUTPUT"""
import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = json.dumps(json.load(file), separators=(",", ":"), ensure_ascii=True)
    rows = [", ".join(str(byte) for byte in text.encode()[at:at + 24])
            for at in range(0, len(text), 24)]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write('#include "dialects/native/openapi.h"\n\nconst char openapi_json[] = {\n\t')
        file.write(",\n\t".join(rows))
        file.write(f"\n}};\nconst unsigned openapi_json_len = {len(text)};\n")


if __name__ == "__main__":
    main()
