"""The suite for a daemon that is not root: `pidns` then needs a user namespace."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TOP = HERE.parents[2]
NOBODY_ELSE = 54321
"""A user that no machine has."""
LIMIT = 600


@pytest.fixture
def user():
    """Run a command as another user, with a folder of their own."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip(
            "running as another user needs root; a run of the suite without it does the same"
        )
    with tempfile.TemporaryDirectory(prefix="byred-user-") as folder:
        os.chown(folder, NOBODY_ELSE, NOBODY_ELSE)
        ids = (f"--reuid={NOBODY_ELSE}", f"--regid={NOBODY_ELSE}", "--clear-groups")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "PYTHONPATH": os.pathsep.join([str(TOP), *filter(None, sys.path)]),
            "BYRED_TEST_LAUNCHERS": "plain,pidns",
        }

        def run(*words):
            return subprocess.run(
                ("setpriv", *ids, *words),
                env=environment,
                cwd=TOP,
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=False,
            )

        yield run, Path(folder)


def a_python(run):
    """One that this user may run and that finds our packages: ours may be in root's own folder."""
    trial = (
        "import os, sys, pytest, msgspec, byred; sys.exit(not os.access(sys.executable, os.X_OK))"
    )
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        if Path(python).exists() and run(python, "-c", trial).returncode == 0:
            return python
    pytest.skip("no Python here that another user may run")


@pytest.mark.timeout(LIMIT)
def test_the_suite_holds_without_root(user):
    run, folder = user
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", f"--basetemp={folder}/temp")
    files = [HERE / name for name in ("test_suite.py", "test_codex.py")]
    done = run(a_python(run), *words, *files)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 80
