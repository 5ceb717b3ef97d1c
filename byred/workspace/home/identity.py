"""Whose commits are whose: naming the person beside the agent, and checking what was committed."""

import shlex
from pathlib import Path

from byred.workspace.home.environment import Identity
from byred.workspace.results.changes import Commit, Who, commits_between
from byred.workspace.trees.registration import write_file


async def deviating(path: Path, since: str, branch: str, identity: Identity) -> tuple[Commit, ...]:
    """Return the commits on HEAD since `since` whose author or committer is somebody else.

    Commits that a branch other than `branch` (the task's own), a remote branch or a tag has as
    well came from there, and are left out.
    """
    others = (f"--exclude={branch}", "--branches", "--remotes", "--tags")
    found = await commits_between(path, "HEAD", "--not", since, *others)
    expected = Who(identity.name, identity.email)
    return tuple(each for each in found if {each.author, each.committer} != {expected})


def write_co_author_hook(folder: Path, person: Identity) -> Path:
    """Write a git hook into `folder` that names `person` on each commit; return the folder.

    It is for `environment.build(hooks=…)`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    trailer = shlex.quote(f"Co-authored-by: {person.name} <{person.email}>")
    command = (
        f'git interpret-trailers --in-place --if-exists addIfDifferent --trailer {trailer} "$1"'
    )
    write_file(folder / "commit-msg", f"#!/bin/sh\nexec {command}\n", mode=0o755)
    return folder
