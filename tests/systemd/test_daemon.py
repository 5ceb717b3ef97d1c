"""The real daemon as the shipped service, under a real systemd, with agents at work."""

import json
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tomli_w

SCRIPT = r'''
[[scripts]]
name = "sandbox"
match = "sandbox"
[[scripts.steps]]
shell = "(touch /var/lib/byred/outside && echo written || echo refused) > outside.txt 2>&1"
[[scripts.steps]]
shell = "git add . && git commit --quiet --no-gpg-sign -m Look && git log -1 --format=%an"
[[scripts.steps]]
say = "Done."

[[scripts]]
name = "long"
match = "long"
[[scripts.steps]]
shell = "echo started > started.txt; until [ -e /var/lib/byred/go ]; do sleep 0.1; done"
[[scripts.steps]]
shell = "git add . && git commit --quiet --no-gpg-sign -m Long; git log -1 --format=%an"
[[scripts.steps]]
say = "Done."

[[scripts]]
name = "short"
[[scripts.steps]]
shell = """
echo 'int main(void) { return 0; }' > a.c && cc -o a a.c && ./a && \
git add a.c && git commit -qm Build"""
[[scripts.steps]]
say = "Done."
'''

# The model is apart from the daemon, as a real one is, and there when the daemon is not.
MODEL = """
[Service]
Type=exec
WorkingDirectory=/
ExecStart=/opt/byred/.venv/bin/python -m byred.testing.model --scripts /run/share/scripts.toml \
    --port {port}
"""

BYRE = "/opt/byred/.venv/bin/byre"
AS_BYRED = [
    "setpriv",
    "--reuid=byred",
    "--regid=byred",
    "--init-groups",
    "env",
    "HOME=/var/lib/byred",
]
REPOSITORY = "/var/lib/byred/repository"
NEW_REPOSITORY = f"""
git init -q -b main {REPOSITORY}
git -C {REPOSITORY} -c user.name=a -c user.email=a@b commit -q --allow-empty -m Begin
"""


class Daemon:
    def __init__(self, machine, codex_config: dict[str, object]) -> None:
        self.machine = machine
        self._codex_config = tomli_w.dumps({"codex": {"config": codex_config}})

    def start(self) -> None:
        self.machine.run("systemctl", "start", "byred", check=False)
        if self.machine.show("byred", "ActiveState") != "active":
            pytest.fail(self.log())

    def log(self) -> str:
        return self.machine.run("journalctl", "-u", "byred", "--no-pager", "-n", "50")

    @property
    def pid(self) -> int:
        return int(self.machine.show("byred", "MainPID"))

    def byre(self, *arguments: str) -> dict[str, object]:
        return json.loads(self.machine.run(BYRE, "--json", *arguments))

    def submit(self, prompt: str) -> int:
        return self.byre("submit", "--repo", REPOSITORY, prompt)["id"]

    def wait_until(self, task: int, *states: str) -> dict[str, object]:
        script = f'{BYRE} --json show {task} | sed -E \'s/.*"state":"([a-z_]+)".*/\\1/\''
        try:
            self.machine.wait_for("sh", "-c", script, until=states)
        except AssertionError as error:
            why = self.machine.run(BYRE, "explain", str(task), check=False)
            why += "\n" + self.machine.run(BYRE, "logs", str(task), check=False)
            raise AssertionError(f"{error}\n{why}\n{self.log()}") from None
        return self.byre("show", str(task))

    def configure(self, text: str) -> None:
        path = self.machine.inside("/etc/byred/byred.toml")
        path.write_text(f"{text}\n{self._codex_config}")

    def start_long(self) -> int:
        """Submit a task and wait until its command runs."""
        task = self.submit("Take long")
        worktree = self.wait_until(task, "running")["worktree"]
        self.machine.wait_for("sh", "-c", f"cat {worktree}/started.txt", until=("started",))
        return task

    def configure_more(self, text: str) -> None:
        """Add to the settings as they are."""
        path = self.machine.inside("/etc/byred/byred.toml")
        path.write_text(f"{text}\n{path.read_text()}")

    def go_on_to_the_end(self, task: int) -> dict[str, object]:
        """Let the long command end; give the task, which has to have done its work once."""
        self.machine.run("touch", "/var/lib/byred/go")
        ended = self.wait_until(task, "succeeded", "failed")
        assert ended["state"] == "succeeded", ended
        log = self.machine.run(*AS_BYRED, "git", "-C", ended["worktree"], "log", "--format=%s")
        assert log.count("Long") == 1
        return ended

    def wait_for_processes(self, number: int) -> None:
        """Wait until so many are left in the group of the service."""
        script = "cat $(find /sys/fs/cgroup/system.slice/byred.service -name cgroup.procs) | wc -l"
        self.machine.wait_for("sh", "-c", script, until=(str(number),))

    def wait_for_limit(self, limit: int) -> None:
        script = f"{BYRE} --json status | grep -o '\"max_running\":{limit}\\b'"
        self.machine.wait_for("sh", "-c", script, until=(f'"max_running":{limit}',))

    def wait_for_log(self, text: str) -> None:
        script = f"journalctl -u byred --no-pager | grep -cF '{text}' >/dev/null && echo found"
        self.machine.wait_for("sh", "-c", script, until=("found",))

    def text(self, path: str) -> str:
        return self.machine.run("cat", path)


@pytest.fixture(scope="module")
def manual() -> str:
    """Give the commands of docs/operations.md that make a service of a checkout."""
    text = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    (commands,) = re.findall(r"(?ms)^```sh\n(sudo cp .*?)^```$", text)
    return "mkdir -p /usr/local/bin /etc/sysusers.d /etc/tmpfiles.d\n" + commands.replace(
        "sudo ", ""
    )


@pytest.fixture(scope="module")
def installed(machine, manual: str) -> Daemon:
    """Install byred as docs/operations.md says, with a script for a model."""
    (machine.share / "scripts.toml").write_text(SCRIPT)
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    machine.install("model.service", MODEL.format(port=port))
    machine.run("systemctl", "start", "model")
    find = "journalctl -u model -o cat --no-pager | grep base_url"
    machine.wait_for("sh", "-c", f"{find} > /dev/null && echo listening", until=("listening",))
    told = machine.run("sh", "-exc", manual, check=False)
    daemon = Daemon(machine, json.loads(machine.run("sh", "-c", find))["config"])
    assert machine.show("byred", "ActiveState") == "active", told + "\n" + daemon.log()
    assert machine.show("byred", "FragmentPath") == "/etc/systemd/system/byred.service"
    machine.run("systemctl", "stop", "byred")
    return daemon


@pytest.fixture
def daemon(installed: Daemon) -> Iterator[Daemon]:
    """Give the service, running; it is stopped and its state is gone afterwards."""
    machine = installed.machine
    machine.run("systemctl", "reset-failed", "byred", check=False)
    machine.run(*AS_BYRED, "sh", "-exc", NEW_REPOSITORY)
    installed.configure("")
    installed.start()
    yield installed
    machine.run("systemctl", "stop", "byred")
    left = machine.processes("byred")
    machine.run("sh", "-c", "rm -rf /var/lib/byred/*")
    assert left == []


def test_it_is_started_when_its_socket_answers(daemon: Daemon) -> None:
    assert daemon.machine.show("byred", "ActiveState") == "active"
    assert daemon.byre("status")["pid"] == daemon.pid
    owner = daemon.machine.run("stat", "-c", "%U:%G %a", "/run/byred/byred.sock")
    assert owner == "byred:byred 600"


def test_an_agent_builds_and_commits_under_the_hardening(daemon: Daemon) -> None:
    task = daemon.wait_until(daemon.submit("Build, short"), "succeeded", "failed")
    assert task["state"] == "succeeded", task
    assert "Build" in daemon.machine.run(
        *AS_BYRED, "git", "-C", task["worktree"], "log", "--oneline"
    )


def test_codexs_own_sandbox_works_under_the_hardening(daemon: Daemon) -> None:
    daemon.configure('[codex]\nsandbox = "workspace-write"\n')
    daemon.machine.run("systemctl", "restart", "byred")
    task = daemon.wait_until(daemon.submit("Try the sandbox"), "succeeded", "failed")
    assert task["state"] == "succeeded", task
    tree = task["worktree"]
    assert "refused" in daemon.text(f"{tree}/outside.txt")
    assert "Look" in daemon.machine.run(*AS_BYRED, "git", "-C", tree, "log", "--oneline")


@pytest.mark.promise("bad_config_keeps_running")
def test_a_reload_is_followed_and_a_bad_one_is_not(daemon: Daemon) -> None:
    pid = daemon.pid
    daemon.configure("[scheduler]\nmax_running = 7\n")
    daemon.machine.run("systemctl", "reload", "byred")
    daemon.wait_for_limit(7)
    daemon.configure("[scheduler]\nmax_running = 0\n")
    daemon.machine.run("systemctl", "reload", "byred")
    daemon.wait_for_log("scheduler.max_running: expected a number of at least 1")
    daemon.configure("[scheduler]\nmax_running = 8\n")
    daemon.wait_for_limit(8)
    assert daemon.pid == pid
    assert daemon.machine.show("byred", "ActiveState") == "active"


@pytest.mark.promise("no_process_left")
def test_nothing_of_a_task_is_left_after_a_stop(daemon: Daemon) -> None:
    daemon.start_long()
    assert len(daemon.machine.processes("byred")) > 2
    daemon.machine.run("systemctl", "stop", "byred")
    assert daemon.machine.show("byred", "Result") == "success"
    assert daemon.machine.processes("byred") == []
    assert daemon.machine.run("sh", "-c", "pgrep -u byred || true") == ""


SCHEMA = "/opt/byred/byred/store/schema"
NEWER = f"""
mkdir /run/schema && cp {SCHEMA}/*.sql /run/schema && chmod 755 /run/schema
echo 'CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT;' > /run/schema/{{number:04}}_later.sql
mount --bind /run/schema {SCHEMA}
"""


@pytest.fixture
def trouble(daemon: Daemon, how: str) -> Iterator[Callable[[str], None]]:
    """What happens to a daemon with agents at work."""
    machine = daemon.machine

    def happen(how: str) -> None:
        match how:
            case "restart":
                machine.run("systemctl", "restart", "byred")
            case "reload":
                daemon.configure_more("[scheduler]\nmax_running = 7\n")
                machine.run("systemctl", "reload", "byred")
                daemon.wait_for_limit(7)
            case "upgrade":
                known = len(list(Path(__file__).parents[2].glob("byred/store/schema/*.sql")))
                machine.run("sh", "-exc", NEWER.format(number=known + 1))
                machine.run("systemctl", "restart", "byred")
            case "crash" | "hang":
                signal = "KILL" if how == "crash" else "STOP"
                machine.run("systemctl", "kill", f"--signal={signal}", "--kill-whom=main", "byred")
                script = "systemctl show --value -p NRestarts byred"
                machine.wait_for("sh", "-c", script, until=("1",))
                machine.wait_for_state("byred", "active")

    drop_in = "byred.service.d/watchdog.conf"
    # Only where it has to pass: on a busy machine 4 s would be too little for any other.
    machine.install(drop_in, f"[Service]\nWatchdogSec={'4s' if how == 'hang' else '30s'}\n")
    yield happen
    machine.run("sh", "-c", f"umount {SCHEMA} && rm -r /run/schema", check=False)
    machine.inside(f"/run/systemd/system/{drop_in}").unlink()
    machine.run("systemctl", "daemon-reload")


@pytest.mark.promise("no_task_lost")
@pytest.mark.parametrize("how", ["restart", "crash", "hang", "upgrade"])
def test_a_task_goes_on_after(daemon: Daemon, trouble: Callable[[str], None], how: str) -> None:
    daemon.machine.run("systemctl", "restart", "byred")
    task = daemon.start_long()
    pid = daemon.pid
    trouble(how)
    assert daemon.pid != pid
    daemon.go_on_to_the_end(task)


def test_wrong_settings_end_it_for_good(daemon: Daemon) -> None:
    daemon.machine.run("systemctl", "stop", "byred")
    daemon.configure("[scheduler]\nmax_runing = 1\n")
    daemon.machine.run("systemctl", "start", "byred", check=False)
    daemon.machine.wait_for_state("byred", "failed")
    assert daemon.machine.show("byred", "ExecMainStatus") == "2"
    assert daemon.machine.show("byred", "NRestarts") == "0"
    daemon.wait_for_log(
        "byred: /etc/byred/byred.toml: scheduler.max_runing: unknown key; did you mean max_running?"
    )


@pytest.fixture
def surviving(daemon: Daemon) -> Iterator[Daemon]:
    """Let agents outlive the daemon, as docs/operations.md says."""
    machine = daemon.machine
    machine.run("systemctl", "stop", "byred")
    daemon.configure('[codex]\ntransport = "unix"\n')
    machine.install("byred.service.d/survive.conf", "[Service]\nKillMode=process\n")
    daemon.start()
    yield daemon
    machine.inside("/run/systemd/system/byred.service.d/survive.conf").unlink()
    machine.run("systemctl", "daemon-reload")


@pytest.mark.promise("agents_outlive_the_daemon")
@pytest.mark.parametrize("how", ["restart", "crash", "hang", "reload", "upgrade"])
def test_an_agent_works_on_over(
    surviving: Daemon, trouble: Callable[[str], None], how: str
) -> None:
    daemon = surviving
    daemon.machine.run("systemctl", "restart", "byred")
    task = daemon.start_long()
    find = ("sh", "-c", "pgrep -u byred -f 'until .* /var/lib/byred/go' | sort -n | head -1")
    command = daemon.machine.run(*find)
    assert command
    trouble(how)
    assert daemon.machine.run(*find) == command
    ended = daemon.go_on_to_the_end(task)
    assert ended["attempt"] == 1
    daemon.wait_for_processes(1)


@pytest.mark.promise("no_process_left")
def test_agents_on_sockets_end_with_the_daemon_where_the_settings_say_so(
    surviving: Daemon,
) -> None:
    daemon = surviving
    daemon.configure('[daemon]\nend_agents = true\n[codex]\ntransport = "unix"\n')
    daemon.machine.run("systemctl", "restart", "byred")
    daemon.start_long()
    daemon.machine.run("systemctl", "stop", "byred")
    assert daemon.machine.show("byred", "Result") == "success"
    assert daemon.machine.processes("byred") == []
    assert daemon.machine.run("sh", "-c", "pgrep -u byred || true") == ""
