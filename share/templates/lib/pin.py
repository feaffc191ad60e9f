"""pin.py REPORT [BASE.lock] - turn pip's installation report into a lock file with hashes.

Runs in: the builder. Reads: what `pip install --dry-run --report` wrote. Never: writes an address.
"""

import json
import re
import sys


def main(report, base=None):
    pins = {}
    if base:
        with open(base, encoding="utf-8") as file:
            for line in file.read().replace("\\\n", " ").splitlines():
                if line.strip() and not line.startswith("#"):
                    pin, *hashes = line.split()
                    pins[pin.split("==")[0]] = (pin, hashes)
    with open(report, encoding="utf-8") as file:
        for item in json.load(file)["install"]:
            name = re.sub(r"[-_.]+", "-", item["metadata"]["name"]).lower()
            pin = f"{name}=={item['metadata']['version']}"
            if name in pins and pins[name][0] == pin:
                continue  # the base's own hashes cover more machines
            info = item["download_info"].get("archive_info")
            if not info or not info.get("hash", "").startswith("sha256="):
                sys.exit(f"{name}: not a wheel with a hash; only wheels can be pinned")
            pins[name] = (pin, ["--hash=sha256:" + info["hash"][len("sha256="):]])
    for name in sorted(pins):
        pin, hashes = pins[name]
        print(" \\\n    ".join([pin, *hashes]))


main(*sys.argv[1:])
