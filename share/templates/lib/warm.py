"""warm.py TREE - make matplotlib's font list and settings for a template; run by its own Python.

Runs in: the builder. Reads: the host's fonts. Never: writes outside TREE.
"""

import dataclasses
import os
import sys

# Scripts made elsewhere ask for fonts of Windows and macOS by name. Where Noto covers the same
# characters, the name leads there; a font that is installed is never replaced.
STAND_INS = {
    "Noto Sans CJK SC": [
        "SimHei", "SimSun", "Microsoft YaHei", "FangSong", "KaiTi", "STHeiti", "STSong",
        "Heiti SC", "PingFang SC", "Hiragino Sans GB", "Noto Sans SC", "Source Han Sans SC",
        "Source Han Sans CN", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Arial Unicode MS",
    ],
    "Noto Sans CJK TC": ["Microsoft JhengHei", "PingFang TC", "Heiti TC", "Noto Sans TC"],
    "Noto Sans CJK JP": [
        "MS Gothic", "MS PGothic", "Meiryo", "Yu Gothic", "Hiragino Sans", "IPAGothic",
        "IPAPGothic", "IPAexGothic", "TakaoGothic", "TakaoPGothic", "Noto Sans JP",
    ],
    "Noto Sans CJK KR": ["Malgun Gothic", "AppleGothic", "NanumGothic", "Noto Sans KR"],
}


def main(tree):
    cache = os.path.join(tree, "var", "cache", "matplotlib")
    os.makedirs(cache, exist_ok=True)
    os.environ["MPLCONFIGDIR"] = cache
    os.environ.pop("MATPLOTLIBRC", None)
    try:
        from matplotlib import font_manager
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        os.rmdir(cache)
        return

    manager = font_manager.fontManager
    known = {entry.name for entry in manager.ttflist}
    for family, names in STAND_INS.items():
        entries = [entry for entry in manager.ttflist if entry.name == family]
        for name in names:
            for entry in entries if name not in known else []:
                manager.ttflist.append(dataclasses.replace(entry, name=name))
    (listing,) = [name for name in os.listdir(cache) if name.startswith("fontlist")]
    font_manager.json_dump(manager, os.path.join(cache, listing))
    for name in os.listdir(cache):
        if name != listing:
            os.unlink(os.path.join(cache, name))

    families = ["sans-serif"] + [
        name for name in ("Noto Sans CJK JP", "Noto Sans CJK SC") if name in known
    ]
    if len(families) == 1:
        print("no Noto CJK fonts on this host: Chinese, Japanese and Korean text in figures "
              "will show as boxes (install fonts-noto-cjk, then build --force)")
    with open(os.path.join(tree, "etc", "matplotlibrc"), "w", encoding="utf-8") as file:
        file.write("backend: agg\n")
        file.write("font.family: " + ", ".join(families) + "\n")


main(sys.argv[1])
