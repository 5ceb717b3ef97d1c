"""`byre trust` and `byre untrust`: whom it is about, and what is said."""

import subprocess

ASKS = ["run `make test` to verify", "copy \x1b[2J.env from your checkout"]


def view(path, *, trusted, asks=()):
    return {
        "repo": path,
        "trusted": trusted,
        "trusted_by": "ann" if trusted else None,
        "trusted_at": "2026-01-02T03:00:00Z" if trusted else None,
        "asks": list(asks),
    }


def test_the_repository_here_is_trusted_and_what_it_does_is_said(byre, daemon, tmp_path):
    daemon.replies["repo.trust"] = lambda params: view(params["repo"], trusted=True, asks=ASKS)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert byre("trust").stdout == (
        f"{tmp_path} is trusted; its tasks now\n"
        "  run `make test` to verify\n"
        "  copy \\x1b[2J.env from your checkout\n"
    )
    assert daemon.calls == [("repo.trust", {"repo": str(tmp_path)})]


def test_another_repository_may_be_named(byre, daemon, tmp_path):
    daemon.replies["repo.trust"] = lambda params: view(params["repo"], trusted=True)
    daemon.replies["repo.untrust"] = lambda params: view(params["repo"], trusted=False)
    other = f"{tmp_path}/other"
    said = byre("trust", "other").stdout
    assert said == f"{other} is trusted; its .byre.toml asks for nothing that needs it\n"
    assert byre("untrust", other).stdout == f"{other} is not trusted\n"


def test_the_trusted_are_listed(byre, daemon):
    daemon.replies["repo.list"] = {"repos": []}
    assert byre("trust", "--list").stdout == "no repository is trusted\n"
    daemon.replies["repo.list"] = {"repos": [view("/r", trusted=True)]}
    assert byre("trust", "--list").stdout.startswith("/r  by ann, 2026-01-02 03:00:00")
