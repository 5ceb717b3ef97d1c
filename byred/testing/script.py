"""The script that plays the model: its values, and how they are read from TOML or JSON.

A file holds several scripts. Each has a name, steps, and usually `match`, a regular expression that
is searched in the first user text of a conversation; the first script that matches is played, and
the one without `match`, if there is one, to everybody else. A step is what one request gets.

This module knows what a script may say and says where a file is wrong. Which step a conversation
has reached and what is sent for it is `byred.testing.play`'s.
"""

import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_GATE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_PLACE = re.compile(r"scripts\[(\d+)\](?:\.steps\[(\d+)\])?")
_HELP = "docs/scripted-model.md shows the form"


class ScriptError(ValueError):
    """A script can't be used: the message says which file, which place, and what was expected."""


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The base of everything in a script: frozen, and strict about unknown keys."""


class Usage(Value, frozen=True):
    """The tokens that the reply reports; the total is `input` plus `output`."""

    input: int = 100
    cached_input: int = 0
    output: int = 20
    reasoning: int = 0


class Ask(Value, frozen=True):
    """A call of `ask_human` in the namespace `byre`; what is left out is not in its arguments."""

    text: str
    options: tuple[str, ...] = ()
    context: str | None = None
    default: str | None = None
    deadline: str | None = None


class Call(Value, frozen=True):
    """A call of any tool.

    A table as `arguments` is sent as JSON after its placeholders are filled in; a string is sent
    exactly as it is, so that a script can send what no schema allows.
    """

    name: str
    namespace: str | None = None
    arguments: str | dict[str, Any] = {}


class Part(Value, frozen=True):
    """One of the calls of a `parallel` step: exactly one of its fields."""

    shell: str | None = None
    ask: Ask | str | None = None
    call: Call | None = None

    def __post_init__(self) -> None:
        """Refuse none and more than one."""
        _exactly_one(self, "shell", "ask", "call")


class Error(Value, frozen=True):
    """What a request gets instead of a reply.

    With `status`, an HTTP reply with that status; without, a stream that says `response.failed`.
    `body` replaces the JSON that is otherwise made of the other fields; `resets_in` (seconds) adds
    the reset time of a usage limit.
    """

    status: int | None = None
    code: str = "server_error"
    message: str = "the script says so"
    resets_in: int | None = None
    body: str | dict[str, Any] | None = None

    def __post_init__(self) -> None:
        """Refuse what is no error status."""
        lowest, highest = 400, 599
        if self.status is not None and not lowest <= self.status <= highest:
            raise ValueError(f"expected an HTTP status from 400 to 599, got {self.status}")
        if self.status is None and self.body is not None:
            raise ValueError("`body` needs a `status`: an error in the stream has no body")


class Step(Value, frozen=True):
    """What one request gets: reasoning, then a message, then calls, each of them optional.

    `error` and `cut` come first: they meet `times` requests of the conversation, then the rest of
    the step is played, if it has any. `cut` is the number of events after which the connection
    breaks (1: right after `response.created`). `delay` holds the reply for seconds, or until the
    gate of that name is opened; `pause` (seconds) stands before each chunk of `stream`. `headers`
    go with the HTTP reply, whatever it is.
    """

    reasoning: str | None = None
    say: str | None = None
    stream: str | tuple[str, ...] | None = None
    shell: str | None = None
    ask: Ask | str | None = None
    call: Call | None = None
    parallel: tuple[Part, ...] = ()
    error: Error | None = None
    cut: int | None = None
    times: int = 1
    delay: float | str | None = None
    pause: float = 0.0
    headers: dict[str, str] = {}
    usage: Usage = Usage()

    def __post_init__(self) -> None:
        """Refuse steps that do nothing or contradict themselves."""
        _at_most_one(self, "say", "stream")
        _at_most_one(self, "shell", "ask", "call", "parallel")
        _at_most_one(self, "error", "cut")
        if not self.count and not self.has_trouble:
            raise ValueError(
                "expected at least one of reasoning, say, stream, shell, ask, call, parallel, "
                "error, cut"
            )
        if self.cut is not None and self.cut < 1:
            raise ValueError("expected `cut` to be 1 (after response.created) or more")
        if self.times < 1:
            raise ValueError("expected `times` to be 1 or more")
        if self.pause < 0 or (isinstance(self.delay, (int, float)) and self.delay < 0):
            raise ValueError("expected `delay` and `pause` to be 0 or more seconds")
        if isinstance(self.delay, str) and not _GATE.fullmatch(self.delay):
            raise ValueError(
                "expected `delay` to be a number of seconds or the name of a gate "
                f"(a letter, then letters, digits, - and _), got {self.delay!r}"
            )
        for name, value in self.headers.items():
            if not re.fullmatch(r"[A-Za-z0-9-]+", name) or "\r" in value or "\n" in value:
                raise ValueError(f"expected an HTTP header, got {name!r} with {value!r}")

    @property
    def count(self) -> int:
        """How many items the step leaves in the conversation, once its trouble is over."""
        texts = (self.reasoning, self.say, self.stream)
        return sum(text is not None for text in texts) + len(self.parts)

    @property
    def has_trouble(self) -> bool:
        """Whether the step begins with an error or a cut."""
        return self.error is not None or self.cut is not None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The calls of the step, in order."""
        if self.shell is not None or self.ask is not None or self.call is not None:
            return (Part(shell=self.shell, ask=self.ask, call=self.call),)
        return self.parallel


class Script(Value, frozen=True):
    """A named list of steps, for the conversations whose first user text `match` is found in.

    `compact` is the summary that codex gets when it asks for one.
    """

    name: str
    steps: tuple[Step, ...]
    match: str | None = None
    compact: str = "The script goes on where it was."

    def __post_init__(self) -> None:
        """Refuse names that can't travel in an id, and broken expressions."""
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"expected a name of letters, digits, - and _ (at most 64), got {self.name!r}"
            )
        if self.match is not None:
            try:
                re.compile(self.match)
            except re.error as error:
                raise ValueError(
                    f"expected `match` to be a regular expression, got {self.match!r}: {error}"
                ) from error


class _File(Value, frozen=True):
    scripts: tuple[Script, ...]


def check(scripts: tuple[Script, ...]) -> None:
    """Raise `ScriptError` unless there are scripts, all named apart, at most one not matching."""
    if not scripts:
        raise ScriptError("expected at least one script")
    names = [script.name for script in scripts]
    for name in names:
        if names.count(name) > 1:
            raise ScriptError(f"expected every script to have its own name, got {name!r} twice")
    plain = [script.name for script in scripts if script.match is None]
    if len(plain) > 1:
        raise ScriptError(
            f"expected at most one script without `match`, got {', '.join(plain)}: "
            "the first of them would hide the others"
        )


def choose(scripts: tuple[Script, ...], first_text: str) -> Script | None:
    """The script for a conversation that begins with `first_text`, or None when no one fits."""
    for script in scripts:
        if script.match is not None and re.search(script.match, first_text):
            return script
    return next((script for script in scripts if script.match is None), None)


def parse(text: str, *, source: str = "the script", form: str = "toml") -> tuple[Script, ...]:
    """The scripts in `text`, whose `form` is `toml` or `json`; `source` names it in messages.

    Raises `ScriptError` with the source, the place and what was expected there.
    """
    try:
        data = tomllib.loads(text) if form == "toml" else msgspec.json.decode(text)
    except (tomllib.TOMLDecodeError, msgspec.DecodeError) as error:
        raise ScriptError(
            f"cannot load scripts from {source}: it is not {form.upper()}: {error}"
        ) from error
    try:
        scripts = msgspec.convert(data, _File).scripts
        check(scripts)
    except msgspec.ValidationError as error:
        raise ScriptError(
            f"cannot load scripts from {source}: {_placed(str(error), data)}; {_HELP}"
        ) from error
    except ScriptError as error:
        raise ScriptError(f"cannot load scripts from {source}: {error}; {_HELP}") from error
    return scripts


def load(path: Path) -> tuple[Script, ...]:
    """The scripts in the file `path` (`.json`, else TOML). Reads the disk: not for the loop."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScriptError(f"cannot load scripts from {path}: {error}") from error
    return parse(text, source=str(path), form="json" if path.suffix == ".json" else "toml")


def builtin(name: str) -> tuple[Script, ...]:
    """The scripts shipped with byred under `name`: `default` or `demo`. Reads the disk."""
    folder = resources.files("byred.testing") / "scripts"
    known = sorted(file.name.removesuffix(".toml") for file in folder.iterdir())
    if name not in known:
        raise ScriptError(
            f"cannot load the built-in scripts {name!r}: expected one of {', '.join(known)}"
        )
    return parse((folder / f"{name}.toml").read_text("utf-8"), source=f"the built-in {name}")


def _placed(message: str, data: Any) -> str:
    """Turn msgspec's message, which ends with the place, into one that begins with it."""
    what, _, path = message.partition(" - at ")
    place = path.strip("`").removeprefix("$").removeprefix(".") or "its top"
    found = _PLACE.match(place)
    if found:
        script = data["scripts"][int(found[1])]
        name = script.get("name") if isinstance(script, dict) else None
        place += f" (script {name!r})" if isinstance(name, str) else ""
    return f"at {place}: {what[:1].lower()}{what[1:]}"


def _given(value: Value, *names: str) -> list[str]:
    return [name for name in names if getattr(value, name) not in (None, ())]


def _at_most_one(value: Value, *names: str) -> None:
    given = _given(value, *names)
    if len(given) > 1:
        raise ValueError(f"expected at most one of {', '.join(names)}, got {' and '.join(given)}")


def _exactly_one(value: Value, *names: str) -> None:
    _at_most_one(value, *names)
    if not _given(value, *names):
        raise ValueError(f"expected one of {', '.join(names)}")
