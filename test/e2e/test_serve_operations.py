"""Running the daemon: its configuration, what it tells of itself, how it stops and starts."""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


# ---- configuration ------------------------------------------------------------------------------

def test_the_documented_options_are_those_that_there_are(reckon):
    reckond = next(folder / "reckond" for folder in reckon.place.program_dirs
                   if (folder / "reckond").exists())
    tables = subprocess.run([reckond, "describe"], stdout=subprocess.PIPE, check=True, text=True)
    assert tables.stdout in (ROOT / "docs" / "configuration.md").read_text()


def test_check_config_says_all_that_is_wrong(reckon):
    path = reckon.file("bad.conf", "[server]\nwrokers = 3\nworkers = 0\n\n[log]\nlog-level = loud\n")
    done = reckon("serve", "--config", path, "--check-config").expect(2)
    for line, words in ((2, "wrokers"), (3, "1 to 1024"), (6, "debug info warn error")):
        assert any(f"line {line}: " in text and words in text for text in done.err.splitlines()), done
    good = reckon.file("good.conf", "[server]\nworkers = 3\n")
    assert "good" in reckon("serve", "--config", good, "--check-config").expect(0).out
    assert "workers" in reckon("serve", "--config", good, "--workers=0").expect(2).err
    assert "nowhere" in reckon("serve", "--config", "/nowhere", "--check-config").expect(125).err
