"""Templates built with E2B's Python SDK: every kind of step, logs, names and tags, failures."""
import asyncio
import inspect
import os
import pathlib
import tempfile

from e2b import AsyncSandbox, AsyncTemplate, Sandbox, Template, wait_for_file
from e2b.exceptions import BuildException

# The SDK of 2025 calls the name an alias and has no tags.
IS_OLD = "name" not in inspect.signature(Template.build).parameters
NAME = "alias" if IS_OLD else "name"


def refused(call, kind, *words):
    try:
        result = call()
    except kind as error:
        assert all(word in str(error) for word in words), error
        return
    raise AssertionError(result)


context = pathlib.Path(tempfile.mkdtemp())
(context / "app/pages").mkdir(parents=True)
(context / "app/main.py").write_text("print('main')\n")
HIDDEN = "shown" if IS_OLD else ".hidden"  # the SDK of 2025 does not upload hidden files
(context / "app/pages" / HIDDEN).write_text("hidden")
(context / "notes.txt").write_text("notes")
(context / "a.csv").write_text("a")
(context / "b.csv").write_text("b")
(context / "run me").write_text("#!/bin/sh\necho \"ran $COLOUR\"\n")
(context / "latest").symlink_to("notes.txt")

entries = []
template = (
    Template(file_context_path=context)
    .from_base_image()
    .set_envs({"COLOUR": "a 'red' \"$(id)\" `id`", "BOTH": "$COLOUR!", "LINES": "one\ntwo"})
    .set_workdir("/home/user/project")
    .copy("app", "src")
    .copy("notes.txt", "/home/user/project/kept/renamed.txt")
    .copy("*.csv", "tables/", mode=0o600)
    .copy("run me", "/home/user/bin/", user="root", mode=0o755)
    .copy("latest", "/home/user/")
    .run_cmd("echo from $PWD; echo to stderr >&2; printf 'no end'")
    .run_cmd(["cat src/main.py > made.txt", "echo \"$BOTH\" >> made.txt"])
    .make_dir("deep/er", mode=0o700)
    .set_user("user")
    .run_cmd("touch /tmp/lost; (sleep 300 &) ; 'bin/run me' 2>/dev/null || ~/bin/run\\ me", user="root")
)
info = Template.build(template, **{NAME: "team/My-Project"}, on_build_logs=entries.append)
messages = [(entry.level, entry.message) for entry in entries]
for wanted in (("info", "from /home/user/project"), ("warn", "to stderr"), ("info", "no end"), ("info", "WORKDIR /home/user/project"),
               ("info", "COPY app src"), ("warn", "root is the ordinary user of a sandbox")):
    assert wanted in messages, (wanted, messages)
assert any(level == "warn" and "not kept" in message for level, message in messages), messages
assert any(message.startswith("image e2bdev/base") for _, message in messages), messages

with Sandbox.create("my-project", timeout=300) as sandbox:
    shown = sandbox.commands.run("pwd; cat made.txt; echo \"$COLOUR|$BOTH|$LINES\"; ls -A")
    assert shown.stdout == (
        "/home/user/project\nprint('main')\na 'red' \"$(id)\" `id`!\na 'red' \"$(id)\" `id`|a 'red' \"$(id)\" `id`!|one\ntwo\n"
        "deep\nkept\nmade.txt\nsrc\ntables\n"), shown
    assert sandbox.files.read(f"project/src/pages/{HIDDEN}") == "hidden"
    assert sandbox.files.read("project/kept/renamed.txt") == "notes"
    assert sandbox.commands.run("cat tables/a.csv tables/b.csv; stat -c %a tables/a.csv deep/er; readlink ~/latest", cwd="/home/user/project"
                                ).stdout == "ab600\n700\nnotes.txt\n"
    assert sandbox.commands.run("~/bin/run\\ me; ls -A ~").stdout == "ran a 'red' \"$(id)\" `id`\nbin\nlatest\nproject\n"
    assert not sandbox.files.exists("/tmp/lost")
    assert sandbox.get_info().template_id == "my-project" and sandbox.get_info().metadata == {}
    assert [each.sandbox_id for each in Sandbox.list().next_items()] == [sandbox.sandbox_id]
    # The client's variables and directory override those of the template.
    with Sandbox.create("team/my-project:default", timeout=300, envs={"COLOUR": "blue"}) as other:
        assert other.commands.run("echo $COLOUR; pwd", cwd="/tmp").stdout == "blue\n/tmp\n"

# A template that is based on another inherits its variables and working directory.
Template.build(Template(file_context_path=context).from_template("my-project").run_cmd("echo $COLOUR > second.txt").copy("app/pages", "."),
               **{NAME: "second"})
with Sandbox.create("second", timeout=300) as sandbox:
    assert sandbox.commands.run(f"cat second.txt {HIDDEN}; pwd").stdout == "a 'red' \"$(id)\" `id`\nhidden/home/user/project\n"

# The error of a failed build names the step, and no template exists.
failed = []
for steps, words in (
        (Template().from_base_image().run_cmd("true").run_cmd("echo before; echo why >&2; exit 7"), ("exit 7", "exit status 7")),
        (Template().from_base_image().run_cmd("apt-get install -y nothing"), ("apt-get", "exit status")),
        (Template().from_base_image().set_workdir("/srv/app"), ("/srv/app", "not be kept")),
        (Template(file_context_path=context).from_base_image().copy("notes.txt", "/opt/notes.txt"), ("/opt/notes.txt", "not be kept")),
        (Template().from_base_image().set_user("nobody"), ("user",)),
        (Template().from_image("alpine:3.20"), ("alpine:3.20", "no images")),
        (Template().from_image("base", username="a", password="b"), ("registry",)),
        (Template().from_template("no-such"), ("template",)),
        (Template().from_base_image().set_start_cmd("exit 3", wait_for_file("/tmp/never")), ("start command", "3"))):
    refused(lambda steps=steps: Template.build(steps, **{NAME: "failed"}, on_build_logs=failed.append), BuildException, *words)
    refused(lambda: Sandbox.create("failed"), Exception, "template")
assert ("warn", "why") in [(entry.level, entry.message) for entry in failed]
assert IS_OLD or not Template.exists("failed")

# A background build. Its start command runs in each sandbox, and create() returns when that is ready.
served = (Template().from_base_image().set_workdir("/home/user/served").set_envs({"WORD": "up"})
          .set_start_cmd("sleep 0.3; (echo $WORD; pwd) > /tmp/half; mv /tmp/half /tmp/up; sleep 1000", wait_for_file("/tmp/up")))
info = Template.build_in_background(served, **{NAME: "served"})
status = Template.get_build_status(info)
assert status.status.value in ("building", "ready") and status.template_id == info.template_id, status
while (status := Template.get_build_status(info, logs_offset=0)).status.value != "ready":
    assert status.status.value == "building", status
entries = Template.get_build_status(info, logs_offset=1).log_entries
assert [entry.message for entry in entries] == ["WORKDIR /home/user/served", "ENV WORD", f"start: {served._template._start_cmd}"], entries
with Sandbox.create("served", timeout=300) as sandbox:
    assert sandbox.files.read("/tmp/up") == "up\n/home/user/served\n"
    assert [each.cmd for each in sandbox.commands.list()] == ["/bin/bash"]


async def asynchronous():
    lines = []
    built = await AsyncTemplate.build(AsyncTemplate(file_context_path=context).from_base_image().copy("notes.txt", "/home/user/"),
                                      **{NAME: "of-async"}, on_build_logs=lambda entry: lines.append(entry.message))
    assert "COPY notes.txt /home/user/" in lines, lines
    async with await AsyncSandbox.create("of-async", timeout=300) as sandbox:
        assert await sandbox.files.read("notes.txt") == "notes"
    again = await AsyncTemplate.build_in_background(AsyncTemplate().from_template("of-async").run_cmd("rm notes.txt"), **{NAME: "of-async"})
    assert again.build_id != built.build_id
    while (status := await AsyncTemplate.get_build_status(again)).status.value != "ready":
        assert status.status.value == "building", status
        await asyncio.sleep(0.05)
    async with await AsyncSandbox.create("of-async", timeout=300) as sandbox:
        assert not await sandbox.files.exists("notes.txt")

asyncio.run(asynchronous())
assert Sandbox.list_snapshots().next_items() == [] if hasattr(Sandbox, "list_snapshots") else True

if not IS_OLD:
    first = Template.build(Template().from_base_image().run_cmd("echo 1 > n"), "tagged:v1", tags=["stable", "v1"])
    assert first.tags == ["v1", "stable"], first
    assert not Template.exists("tagged") and Template.exists("tagged:v1")
    second = Template.build(Template().from_base_image().run_cmd("echo 2 > n"), "tagged")
    assert second.tags == ["default"]

    def numbers(*tags):
        found = []
        for tag in tags:
            with Sandbox.create(f"tagged:{tag}" if tag else "tagged", timeout=300) as one:
                found.append(one.files.read("n").strip())
        return found

    assert numbers("v1", "stable", "", "default") == ["1", "1", "2", "2"]
    assigned = Template.assign_tags("tagged", ["stable", "latest"])
    assert (assigned.build_id, assigned.tags) == (second.build_id, ["stable", "latest"])
    assert numbers("v1", "stable", "latest") == ["1", "2", "2"]
    tags = {each.tag: each.build_id for each in Template.get_tags("tagged")}
    assert tags == {"v1": first.build_id, "stable": second.build_id, "latest": second.build_id, "default": second.build_id}
    Template.remove_tags("team/tagged", ["v1", "none"])
    assert set(each.tag for each in Template.get_tags("tagged")) == {"stable", "latest", "default"}
    refused(lambda: Sandbox.create("tagged:v1"), Exception, "template")
    refused(lambda: Template.assign_tags("tagged:v1", ["x"]), Exception, "tag")
    refused(lambda: Template.get_tags("no-such"), Exception, "template")
    refused(lambda: Template.remove_tags("no-such", ["x"]), Exception, "template")

    async def more():
        assert (await AsyncTemplate.assign_tags("tagged", ["a"])).tags == ["a"]
        await AsyncTemplate.remove_tags("tagged", ["a"])
        assert "a" not in [each.tag for each in await AsyncTemplate.get_tags("tagged")]
        assert await AsyncTemplate.exists("tagged")
    asyncio.run(more())

# All tests have passed. The SDK sometimes aborts while Python exits, after uploads and asyncio.
os._exit(0)
