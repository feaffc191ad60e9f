"""Limits of template.ini at their edges: a line beyond a limit is refused, and not left out."""
import pytest

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


def modules(n):
    """Module names of `n` characters in all, in lines that the reader takes whole."""
    names = ["m" * 99] * (n // 100) + (["m" * (n % 100)] if n % 100 else [])
    assert len(",".join(names)) == n
    return "[preload]\n" + "".join(f"modules = {name}\n" for name in names)


@pytest.mark.parametrize("most, words, lines", [
    (48, "more than 48 variables", lambda n: "[env]\n" + "".join(f"V{number} = 1\n" for number in range(n))),
    (158, "more than 158 characters", lambda n: f"[env]\nV = {'x' * (n - 1)}\n"),
    (1023, "more than 1023 characters", modules),
], ids=["variables", "variable", "modules"])
def test_lines(reckon, place, most, words, lines):
    folder = place.folder(f"templates-{most}")
    reckon.env["RECKON_TEMPLATES"] = str(folder)
    for over in (0, 1):
        name = f"t{most}-{over}"
        (folder / name).mkdir()
        (folder / name / "template.ini").write_text(
            f"[template]\nname = {name}\npython = 3.11\n" + lines(most + over))
        done = reckon("run", "-t", name, "-c", "import os; print(os.environ.get('V47', os.environ.get('V', ''))[-1:])")
        if over == 0:
            assert words not in done.err and (done.out in ("1\n", "x\n") or most == 1023), done
        else:
            assert done.status != 0 and words in done.err and "line " in done.err, done
