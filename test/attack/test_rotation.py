"""The warden replaces zygotes, so that few sessions share an address layout and a hash seed."""
import time

import pytest
from attack import Driver, Refused
from test_lifecycle import zygotes_of

pytestmark = pytest.mark.one_user
LAYOUT = "import os; answer = [id(object), hash('x'), [int(line.split('-')[0], 16) for line in " \
         "open('/proc/self/maps') if 'libc.so' in line][0]]"


@pytest.fixture
def rotating(place, state):
    """The driver of a private warden that replaces a zygote after three kernels."""
    driver = Driver(place, state, "--private", env={"RECKON_ROTATE": "3"})
    yield driver
    driver.close()


def until_replaced(driver, before):
    """Opens sessions, which must all work, until one has another layout; returns that layout."""
    for _ in range(100):
        box = driver.open(flags=4, prelude=False)
        layout = box.ask(LAYOUT)
        box.close()
        if layout != before:
            return layout
        time.sleep(0.05)
    raise AssertionError("the zygote was never replaced")


def test_layout_and_hashes_change(rotating):
    box = rotating.open(flags=4, prelude=False)
    first = box.ask("x = {'kept': 1}\n" + LAYOUT)
    seen = [first]
    for _ in range(2):
        seen.append(until_replaced(rotating, seen[-1]))
    for column in zip(*seen):
        assert len(set(column)) == 3, seen
    assert box.ask(LAYOUT) == first and box.ask("answer = x") == {"kept": 1}


def test_a_session_outlives_its_zygote(rotating):
    """A session runs, lists variables, times out and can be branched after its zygote has ended."""
    box = rotating.open(flags=4, prelude=False)
    first = box.ask("x = 41; open('f', 'w').write('file')\n" + LAYOUT)
    old = set(zygotes_of(rotating, "reckon-zygote-python"))
    until_replaced(rotating, until_replaced(rotating, first))
    assert not old & set(zygotes_of(rotating, "reckon-zygote-python"))
    if box.about["has_twin"]:
        copy = box.branch()
        assert copy.ask("answer = [x + 1, open('f').read()]") == [42, "file"]
        assert copy.branch().ask("answer = x") == 41
        assert copy.ask(LAYOUT) == first
    assert box.ask("answer = x") == 41
    assert "x" in {item["name"] for item in box.variables()}
    assert box.run("while True: pass", timeout_ms=300)["status"] == "timeout"
    assert box.ask("answer = x") == 41


def test_old_zygotes_do_not_pile_up(rotating):
    """Old zygotes end, so the number of the warden's zygote processes does not grow."""
    seen, layout = [], None
    for _ in range(3):
        layout = until_replaced(rotating, layout)
        time.sleep(0.3)
        seen.append(len(zygotes_of(rotating, "reckon-zygote-python")))
    assert max(seen) <= 8, seen


def test_bash_zygotes_are_replaced(rotating):
    if not rotating.place.user.is_root:
        pytest.skip("only root can look at the maps of a kernel")
    seen = set()
    for _ in range(40):
        box = rotating.open(language="bash")
        with open(f"/proc/{box.pid}/maps", encoding="utf-8") as maps:
            seen.add([line.split("-")[0] for line in maps if "libc.so" in line][0])
        box.close()
        if len(seen) > 1:
            break
        time.sleep(0.05)
    assert len(seen) > 1


SCAN = r'''
import hashlib, re
call = __import__("ctypes").CDLL(None).prctl
call(4, 1, 0, 0, 0)
found, own = set(), "OWN" + "canary" + "1"
with open("/proc/self/mem", "rb") as mem:
    for line in open("/proc/self/maps"):
        span, mode = line.split()[:2]
        low, high = (int(x, 16) for x in span.split("-"))
        if mode[0] != "r" or "[v" in line or high - low > 64 << 20: continue
        try:
            mem.seek(low); data = mem.read(high - low)
        except (OSError, ValueError): continue
        found.update(m.decode() for m in re.findall(rb"(?:OWN|SEC)canary\w+", data))
answer = sorted(found)
'''


@pytest.mark.parametrize("flags", [0, 2, 4])
def test_the_environment_of_the_warden_is_not_in_a_kernel(place, state, flags):
    """Environment variables of the process that started the warden do not reach a kernel."""
    driver = Driver(place, state, "--private", env={"API_KEY": "SEC" + "canaryA", "RECKON_X": "SEC"
                                                    + "canaryB", "PATH": "/usr/bin:/SECcanaryC"})
    try:
        answer = driver.open(flags=flags, prelude=False).ask(SCAN)
        assert "OWNcanary1" in answer, "the scan must find its own canary"
        assert not [name for name in answer if name.startswith("SECcanary")], answer
    finally:
        driver.close()


@pytest.mark.parametrize("library", ["random.random()", "numpy.random.random()"])
def test_sessions_draw_different_random_numbers(rotating, library):
    template = "data" if "numpy" in library else "python"
    if not (rotating.place.templates / template / "template.ini").exists():
        pytest.skip(f"the template {template} is not built")
    name = library.split(".")[0]
    boxes = [rotating.open(template, flags=4, prelude=False) for _ in range(4)]
    if boxes[0].about["has_twin"]:
        boxes.append(boxes[0].branch())
    streams = [box.ask(f"import {name}; answer = [{library} for _ in range(50)]") for box in boxes]
    values = [value for stream in streams for value in stream]
    assert len(set(values)) == len(values)


def test_sessions_use_at_most_32_templates(place, state):
    """Sessions can use 32 templates at once; a template without sessions makes room for another."""
    folder = place.folder("many-templates")
    for number in range(34):
        (folder / f"t{number}").mkdir()
        (folder / f"t{number}/template.ini").write_text(f"[template]\nname = t{number}\npython = 3.11\n")
    driver = Driver(place, state, "--private", env={"RECKON_TEMPLATES": str(folder)})
    try:
        boxes = [driver.open(f"t{number}", prelude=False) for number in range(32)]
        with pytest.raises(Refused) as refused:
            driver.open("t32", prelude=False)
        assert "sessions use 32 templates" in refused.value.message
        for number in (3, 7):
            boxes[number].close()
        with pytest.raises(Refused) as refused:
            driver.open("t99", prelude=False)
        assert "no template" in refused.value.message
        more = [driver.open(f"t{number}", prelude=False) for number in (32, 33)]
        with pytest.raises(Refused):
            driver.open("t3", prelude=False)
        more[0].close()
        for box in (driver.open("t3", prelude=False), more[1], boxes[0], boxes[31]):
            assert box.ask("answer = 6 * 7") == 42
    finally:
        driver.close()
