"""%time and %timeit."""

import math
import time
import timeit

_UNITS = ((1.0, "s"), (1e3, "ms"), (1e6, "μs"), (1e9, "ns"))
_SPANS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def text(seconds, precision=3):
    """A duration in IPython's format: 1min 3s, 12.5 ms."""
    if seconds >= 60:
        parts = []
        for length, unit in _SPANS:
            if seconds >= length:
                parts.append(f"{int(seconds // length)}{unit}")
                seconds %= length
        return " ".join(parts)
    order = min(-int(math.floor(math.log10(seconds)) // 3), 3) if seconds > 0 else 3
    scale, unit = _UNITS[max(order, 0)]
    return f"{seconds * scale:.{precision}g} {unit}"


class Clock:
    """Measures how long something takes."""

    def __init__(self):
        self._cpu, self._wall = _cpu(), time.perf_counter()

    def read(self):
        """Seconds of wall time, user CPU time and system CPU time."""
        wall = time.perf_counter() - self._wall
        return wall, *(now - then for now, then in zip(_cpu(), self._cpu))

    def say(self):
        wall, user, system = self.read()
        print(f"CPU times: user {text(user)}, sys: {text(system)}, total: {text(user + system)}\n"
              f"Wall time: {text(wall)}")


def _cpu():
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime, used.ru_stime


class TimeitResult:
    """The result of %timeit -o."""

    def __init__(self, loops, repeat, all_runs):
        self.loops, self.repeat, self.all_runs = loops, repeat, all_runs
        self.timings = [run / loops for run in all_runs]
        self.best, self.worst = min(self.timings), max(self.timings)

    @property
    def average(self):
        return math.fsum(self.timings) / len(self.timings)

    @property
    def stdev(self):
        mean = self.average
        return math.sqrt(math.fsum((x - mean) ** 2 for x in self.timings) / len(self.timings))

    def __str__(self):
        runs, loops = len(self.timings), self.loops
        return (f"{text(self.average)} ± {text(self.stdev)} per loop (mean ± std. dev. of {runs} "
                f"run{'' if runs == 1 else 's'}, {loops:,} loop{'' if loops == 1 else 's'} each)")

    def _repr_pretty_(self, p, _cycle):
        p.text(f"<TimeitResult : {self}>")


def run(statement, setup, names, options):
    """Times a statement; `options` maps "n" (loops), "r" (repeat), "q" and "o"."""
    timer = timeit.Timer(statement, setup, globals=names)
    repeat = int(options.get("r", 7))
    loops = int(options.get("n", 0))
    if loops == 0:
        loops, _taken = timer.autorange()
    result = TimeitResult(loops, repeat, timer.repeat(repeat, loops))
    if "q" not in options:
        print(result)
    return result if "o" in options else None
