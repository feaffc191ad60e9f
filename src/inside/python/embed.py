"""Writes the Python layer (py/*.py) into a C source: embed.py OUTPUT FILE..."""

import pathlib
import sys


def module_of(path):
    """py/hints/frames.py is _reckon.hints_frames; of other folders only the file's name counts."""
    path = pathlib.Path(path)
    is_hint = path.parent.name == "hints" and path.stem not in ("hints", "repair", "trial")
    return {"data_hints": "hints_tables"}.get(path.stem, f"hints_{path.stem}" if is_hint else path.stem)


names = []
with open(sys.argv[1], "w", encoding="ascii") as out:
    out.write('#include "inside/python/python.h"\n\n')
    for path in sys.argv[2:]:
        name = module_of(path)
        names.append(name)
        with open(path, "rb") as source:
            data = source.read() + b"\0"
        out.write(f"static const char text_{name}[] = {{\n")
        for at in range(0, len(data), 24):
            line = ",".join(str(b if b < 128 else b - 256) for b in data[at : at + 24])
            out.write(f"\t{line},\n")
        out.write("};\n\n")
    out.write("const struct python_layer_file python_layer_files[] = {\n")
    for name in names:
        out.write(f'\t{{ "{name}", text_{name} }},\n')
    out.write("\t{ 0 },\n};\n")
