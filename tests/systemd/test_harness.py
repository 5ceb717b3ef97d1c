"""The throw-away machine itself: what the other tests stand on."""

from pathlib import Path

NOTIFIER = """
[Service]
Type=notify
ExecStart=/bin/sh -c 'systemd-notify --ready --status=hello && exec sleep 1000'
NotifyAccess=all
"""


def test_a_service_that_says_it_is_ready_is_active(machine) -> None:
    machine.install("tiny.service", NOTIFIER)
    machine.run("systemctl", "start", "tiny")
    assert machine.show("tiny", "ActiveState") == "active"
    assert machine.show("tiny", "StatusText") == "hello"
    assert len(machine.processes("tiny")) == 1
    machine.run("systemctl", "stop", "tiny")
    assert machine.processes("tiny") == []


def test_what_systemd_empties_is_not_the_machines_own(machine, tmp_path: Path) -> None:
    ours = tmp_path / "precious"
    ours.touch()
    for folder in ("/tmp", "/var/tmp", "/run", "/etc", "/var/lib", "/root"):
        assert machine.run("stat", "-f", "-c", "%T", folder) == "tmpfs"
    assert machine.run("sh", "-c", f"ls {ours.parent} 2>&1 || true").endswith(
        "No such file or directory"
    )
    machine.run("sh", "-c", "touch /etc/byred-was-here /var/lib/byred-was-here")
    assert not Path("/etc/byred-was-here").exists()
    assert not Path("/var/lib/byred-was-here").exists()
