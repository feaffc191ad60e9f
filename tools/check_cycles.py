#!/usr/bin/env python3
"""Fail if translation units of one target call each other in a cycle.

usage: check_cycles.py BUILD [--show]

The calls are read from the symbols of the objects (nm), so neither a macro nor a header can hide one.
A call through a pointer is not an edge: a lower layer uses one to notify a higher layer. KNOWN has
the sizes of existing cycles: none may grow and none may be added; enter the new size of one that
shrinks, so that it does not grow again.
"""
import collections
import pathlib
import subprocess
import sys

KNOWN = {}  # target: sizes
FOREIGN = {"libllhttp"}


def units(build):
    """Yields (target, unit, wanted, defined) of each object of src."""
    objects = sorted(build.glob("src/**/*.a.p/*.o"))
    for at in range(0, len(objects), 200):
        batch = objects[at:at + 200]
        run = subprocess.run(["nm", "-A", "-g", *batch], check=True, text=True,
                             stdout=subprocess.PIPE)
        found = {path: (set(), set()) for path in batch}
        for line in run.stdout.splitlines():
            path, _, rest = line.partition(":")
            *_, kind, name = rest.split()
            found[pathlib.Path(path)][0 if kind in "Uwv" else 1].add(name)
        for path, (wanted, defined) in found.items():
            yield path.parent.name.removesuffix(".a.p"), path.name.removesuffix(".o"), wanted, defined


def graphs(build):
    """{target: {unit: units that it calls}}"""
    targets = collections.defaultdict(list)
    for target, *unit in units(build):
        targets[target].append(unit)
    for target, found in targets.items():
        home = {name: unit for unit, _, defined in found for name in defined}
        yield target, {unit: {home[name] for name in wanted if name in home} - {unit}
                       for unit, wanted, _ in found}


def circles(graph):
    """The strongly connected components of more than one unit (Tarjan)."""
    index, low, stack, on, found = {}, {}, [], set(), []

    def visit(unit):
        index[unit] = low[unit] = len(index)
        stack.append(unit)
        on.add(unit)
        for other in sorted(graph[unit]):
            if other not in index:
                visit(other)
                low[unit] = min(low[unit], low[other])
            elif other in on:
                low[unit] = min(low[unit], index[other])
        if low[unit] == index[unit]:
            part = []
            while not part or part[-1] != unit:
                part.append(stack.pop())
                on.discard(part[-1])
            if len(part) > 1:
                found.append(sorted(part))

    sys.setrecursionlimit(10000)
    for unit in sorted(graph):
        if unit not in index:
            visit(unit)
    return sorted(found, key=len, reverse=True)


def main():
    build, show = pathlib.Path(sys.argv[1]), "--show" in sys.argv
    bad = False
    for target, graph in sorted(graphs(build)):
        parts = [] if target in FOREIGN else circles(graph)
        sizes, known = [len(part) for part in parts], KNOWN.get(target, [])
        if sizes != known:
            bad = True
            print(f"{target}: {sizes}, of which KNOWN says {known}")
        for part in parts if show or sizes != known else ():
            print(f"{target}: {len(part)} units: {' '.join(part)}")
            for unit in part if show else ():
                print(f"    {unit} -> {' '.join(sorted(graph[unit] & set(part)))}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
