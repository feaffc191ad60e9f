"""Packages, units and containers agree with the build; tools/package-test installs them on a Debian."""
import ast
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"
SYSTEMD = ROOT / "packaging/systemd"
# Packages for a build that Build-Depends need not list: build-essential or meson depends on them.
IMPLIED = {"gcc", "libc6-dev", "make", "ninja-build"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder into which `meson install` has installed the build."""
    target = tmp_path_factory.mktemp("installed")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", target],
                   check=True, capture_output=True)
    return target


def install_list():
    """The paths that a build installs, with the prefix of a distribution (/usr)."""
    text = subprocess.run(["meson", "introspect", "--installed", BUILD], check=True,
                          capture_output=True, text=True).stdout
    prefix = "/usr/local/"
    for path in json.loads(text).values():
        yield "/usr/" + path[len(prefix):] if path.startswith(prefix) else path


def patterns(package):
    return [line.strip() for line in
            (ROOT / f"debian/{package}.install").read_text(encoding="utf-8").splitlines()]


def covers(pattern, path):
    """Matches as dh_install does: a glob for a file, or for a folder with its content."""
    parts, wanted = path.strip("/").split("/"), pattern.split("/")
    return len(parts) >= len(wanted) and all(
        pathlib.PurePath(part).match(want) for part, want in zip(parts, wanted))


def test_each_installed_file_is_in_one_package():
    packages = {name: patterns(name) for name in ("reckon", "libreckon0", "libreckon-dev")}
    listed = list(install_list())
    assert len(listed) > 20
    for path in listed:
        # debian/rules installs units where Debian 12 looks for them.
        path = path.replace("/usr/lib/systemd/", "/lib/systemd/")
        owners = [name for name, globs in packages.items() if any(covers(g, path) for g in globs)]
        assert len(owners) == 1, f"{path}: {owners}"
    for name, globs in packages.items():
        for glob in globs:
            assert any(covers(glob, path.replace("/usr/lib/systemd/", "/lib/systemd/"))
                       for path in [*listed, "/usr/lib/x/libreckon.a", "/usr/lib/x/libreckon.so",
                                    "/usr/lib/x/pkgconfig/reckon.pc"]), f"{name}: {glob}"


def test_a_package_builds_with_what_a_build_needs():
    control = (ROOT / "debian/control").read_text(encoding="utf-8")
    depends = set(re.findall(r"^ ([\w.+-]+)", control.split("Build-Depends:")[1].split("Standards")[0],
                             re.M))
    needed, section = set(), ""
    for line in (ROOT / "tools/packages.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif section == "build" and line.strip() and not line.startswith("#"):
            needed.add(line.split()[0].replace("libpython3.11-dev", "libpython3-dev"))
    assert needed - IMPLIED <= depends


def test_all_versions_are_equal():
    version = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text(encoding="utf-8"))[1]
    changelog = (ROOT / "debian/changelog").read_text(encoding="utf-8")
    assert changelog.startswith(f"reckon ({version}) ")
    assert f"\n## {version} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_an_installed_tree_is_complete(installed):
    prefix = installed / "usr/local"
    for path in ("bin/reckon", "libexec/reckon/reckond", "libexec/reckon/reckon-warden",
                 "include/reckon.h", "share/reckon/templates/data.lock", "share/man/man1/reckon.1",
                 "share/doc/reckon/docs/install.md", "lib/systemd/system/reckon.service",
                 "share/bash-completion/completions/reckon"):
        assert (prefix / path).is_file(), path
    for program in [prefix / "bin/reckon", *(prefix / "libexec/reckon").iterdir()]:
        assert os.access(program, os.X_OK), program


def test_a_program_builds_against_it(installed, tmp_path):
    environment = {**os.environ, "PKG_CONFIG_SYSROOT_DIR": str(installed), "PKG_CONFIG_PATH": str(
        next(installed.rglob("reckon.pc")).parent)}
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "reckon"], check=True, text=True,
                           capture_output=True, env=environment).stdout.split()
    # All paths must be those of the installed tree, not of this machine.
    assert all(str(installed) in flag for flag in flags if flag[:2] in ("-I", "-L"))
    subprocess.run(["cc", ROOT / "examples/embed.c", "-o", tmp_path / "embed", *flags], check=True)


# ---- systemd ------------------------------------------------------------------------------------

SERVICES = ("reckon.service", "reckon-warden@.service")
OTHERS = ("reckon.slice", "reckon.socket", "reckon-warden.socket")


def rendered(tmp_path):
    """Copies the units with the programs of the build; returns the path of the service."""
    for name in OTHERS:
        shutil.copy(SYSTEMD / name, tmp_path)
    for name in SERVICES:
        text = (BUILD / "packaging" / name).read_text(encoding="utf-8")
        assert not re.search(r"@\w+@", text)
        text = re.sub(r"(ExecStart=|ExecStopPost=)\S+/libexec/reckon/", rf"\1{BUILD}/libexec/", text)
        (tmp_path / name).write_text(
            re.sub(r"ExecStart=\S+/bin/reckon ", f"ExecStart={BUILD}/bin/reckon ", text))
    return tmp_path / "reckon.service"


def test_systemd_understands_the_units(tmp_path):
    rendered(tmp_path)
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no",
                           *(tmp_path / name for name in (*SERVICES, *OTHERS))],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def directives(name):
    return re.findall(r"^(\w+=.*)", (SYSTEMD / f"{name}.in").read_text(encoding="utf-8"), re.M)


def test_the_warden_unit_has_the_walls_of_the_service():
    """The warden's unit has the same walls as the service, because the warden was a part of it."""
    service, warden = (set(directives(name)) for name in SERVICES)
    of_its_own = {each.split("=")[0] for each in warden - service}
    assert of_its_own == {"Description", "CollectMode", "Type", "ExecStart", "TimeoutStopSec",
                          "StandardOutput", "ReadWritePaths"}
    walls = re.compile("Protect|Private|Capability|Ambient|NoNew|Device|Keyring|Limit|Delegate|UMask")
    assert not [each for each in service - warden if walls.match(each)]


def exposure(unit):
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", unit],
                          capture_output=True, text=True, check=True)
    return float(re.search(r"exposure level for \S+ ([\d.]+)", done.stdout)[1])


def test_the_documented_exposure_is_up_to_date(tmp_path):
    """docs/install.md has the exposure levels as root and with rootless.conf, so that a directive that
    gets lost is noticed."""
    unit = rendered(tmp_path)
    documented = re.findall(r"exposure ([\d.]+)", (ROOT / "docs/install.md").read_text(encoding="utf-8"))
    as_root = exposure(unit)
    with open(unit, "a", encoding="utf-8") as file:
        file.write((SYSTEMD / "rootless.conf").read_text(encoding="utf-8"))
    assert [f"{as_root}", f"{exposure(unit)}"] == documented


def test_each_directive_that_is_off_has_a_reason():
    text = (SYSTEMD / "reckon.service.in").read_text(encoding="utf-8")
    on = set(re.findall(r"^(\w+)=", text, re.M))
    off = set(re.findall(r"\b[A-Z][A-Za-z]+\b", text.split("# Off, each")[1]))
    for name in ("PrivateUsers", "ProtectKernelTunables", "ProtectControlGroups", "PrivateDevices",
                 "RestrictNamespaces", "SystemCallFilter", "MemoryDenyWriteExecute",
                 "RestrictAddressFamilies", "ProtectHostname", "ProtectClock", "ProtectSystem",
                 "ProtectHome", "NoNewPrivileges", "CapabilityBoundingSet", "PrivateTmp"):
        assert (name in on) != (name in off), name


def test_sysusers_and_tmpfiles_are_valid(tmp_path):
    subprocess.run(["systemd-sysusers", "--dry-run", SYSTEMD / "reckon.sysusers"], check=True,
                   capture_output=True)
    if os.geteuid() != 0:
        pytest.skip("directories of root need root")
    subprocess.run(["systemd-tmpfiles", "--create", f"--root={tmp_path}",
                    SYSTEMD / "reckon.tmpfiles"], check=True, capture_output=True)
    assert (tmp_path / "run/reckon").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "var/lib/reckon").stat().st_mode & 0o777 == 0o755


# ---- AppArmor, containers -----------------------------------------------------------------------

def test_apparmor_understands_the_profile(tmp_path):
    """A parser older than 4.0 does not know the rule userns, and gets the profile without it."""
    profile = (BUILD / "packaging/reckon.apparmor").read_text(encoding="utf-8")
    assert "\n  userns,\n" in profile and "/libexec/reckon/reckon-warden" in profile
    parser = shutil.which("apparmor_parser", path=os.environ["PATH"] + ":/sbin:/usr/sbin")
    version = subprocess.run([parser, "--version"], check=True, capture_output=True, text=True).stdout
    if int(re.search(r"version (\d+)", version)[1]) < 4:
        profile = profile.replace("abi <abi/4.0>,", "").replace("  userns,\n", "")
    (tmp_path / "reckon").write_text(profile)
    subprocess.run([parser, "-Q", "-K", tmp_path / "reckon"], check=True, capture_output=True)


def test_the_container_filter_allows_boxes_and_little_else():
    profile = json.loads((ROOT / "packaging/container/seccomp.json").read_text(encoding="utf-8"))
    allowed, refused, _ = (set(rule["names"]) for rule in profile["syscalls"])
    assert {"unshare", "setns", "clone", "clone3", "mount", "move_mount", "open_tree", "pivot_root",
            "mount_setattr", "sethostname", "ptrace", "seccomp"} <= allowed
    assert not allowed & refused
    assert not allowed & {"bpf", "keyctl", "init_module", "kexec_load", "userfaultfd", "reboot",
                          "open_by_handle_at", "io_uring_setup", "perf_event_open", "syslog"}
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    source = (ROOT / "packaging/container/make-seccomp").read_text(encoding="utf-8")
    tree = next(node for node in ast.parse(source).body if isinstance(node, ast.Assign))
    named = {name for names in ast.literal_eval(tree.value).values() for name in names.split()}
    assert refused == named  # make-seccomp generated the file


def test_the_documented_container_options_are_up_to_date():
    options = json.loads((ROOT / "packaging/container/options.json").read_text(encoding="utf-8"))
    recipe = (ROOT / "packaging/container/Containerfile").read_text(encoding="utf-8")
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    assert f"--uid {options['user']['uid']} " in recipe and "\nUSER reckon\n" in recipe
    assert options["capabilities"] == [] and "--cap-drop ALL" in page
    assert options["noNewPrivileges"] and "no-new-privileges" in page
    assert options["maskedPaths"] == [] and "systempaths=unconfined" in page
    assert "seccomp=packaging/container/seccomp.json" in page
