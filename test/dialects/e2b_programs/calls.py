"""Calls of E2B's Python SDK that the other programs do not make: some work, others are refused by name."""
from e2b import AuthenticationException, NotFoundException, Sandbox, SandboxException, Template

sandbox = Sandbox.create(timeout=300)

# "user" and "root" are accepted and mean the same user; other names are refused.
for more in ({}, {"user": "user"}, {"user": "root"}):
    shown = sandbox.commands.run("id -u; echo $HOME", **more)
    assert shown.stdout == "1000\n/home/user\n", (more, shown)
    assert sandbox.files.list("/home/user", **more) == []
for call in (lambda: sandbox.commands.run("true", user="nobody"), lambda: sandbox.files.list("/", user="nobody"),
             lambda: sandbox.files.exists("a", user="nobody"), lambda: sandbox.files.read("a", user="nobody"),
             lambda: sandbox.files.make_dir("a", user="nobody"), lambda: sandbox.files.watch_dir("/home/user", user="nobody")):
    try:
        call()
        raise AssertionError("there is no such user")
    except AuthenticationException as error:
        assert "nobody" in str(error)

sandbox.git.init("repository")
assert sandbox.files.exists("repository/.git")
sandbox.git.configure_user("A B", "a@example.com")
sandbox.files.write("repository/a", "a")
sandbox.git.add("repository")
sandbox.git.commit("repository", "first")
assert sandbox.git.status("repository").is_clean

assert Template.exists("base") and not Template.exists("no-such-template")
assert Sandbox.delete_snapshot("no-such-snapshot") is False
if hasattr(sandbox, "update_network"):
    # A sandbox has no network: rules that deny access are accepted, those that allow it are refused.
    for network in ({}, {"deny_out": ["0.0.0.0/0"]}, {"allow_internet_access": False}):
        sandbox.update_network(network)
    for network in ({"allow_out": ["example.com"]}, {"allow_internet_access": True}):
        try:
            raise AssertionError(sandbox.update_network(network))
        except SandboxException as error:
            assert "400" in str(error) and "no network" in str(error), error
try:
    raise AssertionError(Sandbox.create("no-such-template"))
except NotFoundException as error:
    assert "template" in str(error)
except SandboxException as error:
    assert "404" in str(error), error
assert sandbox.get_mcp_url() == f"https://{sandbox.get_host(50005)}/mcp"
sandbox.kill()
