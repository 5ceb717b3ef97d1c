"""Where a verb's text comes from: the argument, standard input, or the person's editor."""

import contextlib
import os
from collections.abc import Iterator

from byred.cli.app import App
from byred.cli.errors import CommandError, WrongUsageError

_SCISSORS = "------------------------ >8 ------------------------"
_EDITORS = ("sensible-editor", "editor", "nano", "vi")  # when nobody chose one


def given_text(app: App, text: str, *, doing: str) -> str:
    """The text of an argument, where `-` means standard input.

    Raises WrongUsageError when it is empty or not text.
    """
    if text == "-":
        try:
            text = app.stdin.read().removesuffix("\n")
        except UnicodeDecodeError as error:
            raise WrongUsageError(
                f"cannot {doing}: standard input is not text in {error.encoding}; convert it first"
            ) from error
    return _refuse_empty(text, doing)


@contextlib.contextmanager
def edited_text(app: App, *, doing: str, advice: str) -> Iterator[str]:
    """Let a person write a text in an editor, and hand it to the body of the `with`.

    `advice` is shown below a line that cuts it off. The file is removed when the body succeeds;
    when it can't do its work the sentence names the file, so that nothing written is lost.
    """
    import tempfile  # noqa: PLC0415 - slow to load, and only this way of writing needs it

    handle, path = tempfile.mkstemp(prefix="byre-", suffix=".md")
    with os.fdopen(handle, "w") as file:
        file.write(f"\n{_SCISSORS}\n{advice}\n")
    try:
        _edit(app, path, doing)
        with open(path) as file:  # noqa: PTH123 - pathlib costs 6 ms at the start
            written = file.read().partition(_SCISSORS)[0].strip()
        text = _refuse_empty(written, doing)
    except BaseException:
        os.unlink(path)  # noqa: PTH108 - as above
        raise
    try:
        yield text
    except CommandError as error:
        error.args = (f"{error} (your text is kept in {path})",)
        raise
    os.unlink(path)  # noqa: PTH108 - as above


def _edit(app: App, path: str, doing: str) -> None:
    import shlex  # noqa: PLC0415 - only an editor needs these three
    import shutil  # noqa: PLC0415
    import subprocess  # noqa: PLC0415

    chosen = app.environ.get("VISUAL") or app.environ.get("EDITOR")
    editor = shlex.split(chosen) if chosen else [e for e in _EDITORS if shutil.which(e)][:1]
    if not editor:
        raise WrongUsageError(
            f"cannot {doing}: there is no editor to write in; set EDITOR, or give the text or -"
        )
    try:
        ended = subprocess.run([*editor, path], check=False)
    except OSError as error:
        raise WrongUsageError(
            f"cannot {doing}: the editor {editor[0]} does not start ({error.strerror}); set EDITOR"
        ) from error
    if ended.returncode != 0:
        raise WrongUsageError(
            f"cannot {doing}: the editor {editor[0]} ended with status {ended.returncode};"
            " write again, or give the text or -"
        )


def _refuse_empty(text: str, doing: str) -> str:
    if not text.strip():
        raise WrongUsageError(
            f"cannot {doing}: the text is empty; write it, or give it as argument"
        )
    return text
