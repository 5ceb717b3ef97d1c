"""The generated protocol: what the pinned binary says, the same bytes every time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from byred.codex.binary import NEWEST_TESTED, find_binary
from byred.codex.generate import surface
from byred.codex.generate.__main__ import main as generate
from byred.codex.generate.diff import compare
from byred.codex.generate.diff import main as diff
from byred.codex.generate.schema import Reader, ask_schema, snake
from byred.codex.protocol import methods, types

PROTOCOL = Path(methods.__file__).parent

TINY = {
    "definitions": {
        "ClientRequest": {
            "oneOf": [
                {
                    "properties": {
                        "method": {"enum": ["turn/start"]},
                        "params": {"$ref": "#/x/Params"},
                    }
                }
            ]
        },
        "ServerNotification": {
            "oneOf": [{"properties": {"method": {"enum": ["new"]}, "params": {"$ref": "#/x/New"}}}]
        },
        "ServerRequest": {"oneOf": []},
        "Params": {
            "type": "object",
            "properties": {
                "class": {"type": "string"},
                "wire": {"type": ["integer", "null"]},
                "_meta": True,
                "threadID": {"type": "string"},
            },
            "required": ["class"],
        },
        "v2": {
            "New": {
                "oneOf": [
                    {
                        "type": "object",
                        "properties": {
                            "type": {"enum": ["one"], "type": "string"},
                            "value": {"type": "string"},
                            "both": {"type": "string"},
                        },
                        "required": ["type", "value", "both"],
                    },
                    {
                        "type": "object",
                        "properties": {
                            "type": {"enum": ["two"], "type": "string"},
                            "value": {"type": "integer"},
                            "both": {"type": "string"},
                            "loop": {"$ref": "#/x/New"},
                        },
                        "required": ["type", "both"],
                    },
                ]
            }
        },
    }
}


@pytest.fixture(scope="module")
def pinned() -> Path:
    return find_binary().path


def test_the_protocol_is_what_the_pinned_binary_says_byte_for_byte(tmp_path, pinned):
    for folder in ("one", "two"):
        assert generate(["--bin", str(pinned), "--out", str(tmp_path / folder)]) == 0
        for name in ("__init__.py", "methods.py", "types.py"):
            made = (tmp_path / folder / name).read_bytes()
            assert made == (PROTOCOL / name).read_bytes()


def test_the_newest_version_that_is_tested_is_in_the_table_of_versions():
    table = (Path(__file__).parents[2] / "docs" / "versions.md").read_text()
    assert f"| {methods.SCHEMA_VERSION} | {NEWEST_TESTED} |" in table


def test_every_method_has_a_name_and_the_surface_has_types():
    def names(kind) -> set[str]:
        return {value for name, value in vars(kind).items() if name.isupper()}

    assert len(names(methods.ClientMethod)) == 172
    assert len(names(methods.NotificationMethod)) == 85
    assert len(names(methods.ServerRequestMethod)) == 11
    assert set(types.NOTIFICATIONS) == names(methods.NotificationMethod)
    assert set(types.SERVER_REQUESTS) == names(methods.ServerRequestMethod)
    assert set(types.SERVER_RESULTS) == names(methods.ServerRequestMethod)
    assert set(types.CLIENT_RESULTS) == set(surface.CLIENT_RESULTS)
    assert set(types.CLIENT_RESULTS) <= names(methods.ClientMethod)


@pytest.mark.parametrize("fields", [surface.SENT_FIELDS, surface.READ_FIELDS])
def test_what_byred_relies_on_is_in_the_types(fields):
    for name, wires in fields.items():
        known = {item.wire for item in getattr(types, name)._fields.values()}
        assert set(wires) <= known, name


def test_a_union_keeps_every_alternatives_fields():
    protocol = Reader(TINY).read()
    fields = {item.name: item for item in protocol.classes["New"].fields}
    assert set(fields) == {"type", "value", "both", "loop"}
    assert fields["both"].required
    assert not fields["loop"].required
    assert fields["value"].shape.annotation == "Any"
    assert fields["loop"].shape.annotation == "New"
    assert protocol.enums["NewType"].values == ("one", "two")


def test_names_that_python_or_records_need_get_an_underscore():
    fields = {item.wire: item.name for item in Reader(TINY).read().classes["Params"].fields}
    assert fields == {
        "class": "class_",
        "wire": "wire_",
        "_meta": "meta",
        "threadID": "thread_id",
    }
    assert snake("text_elements") == "text_elements"
    assert snake("mcpServerURL") == "mcp_server_url"


def test_a_difference_that_byred_does_not_feel_breaks_nothing(pinned):
    whole = ask_schema(pinned)
    old, new = Reader(whole).read(), Reader(whole).read()
    assert list(compare(old, new)) == []
    turn = whole["definitions"]["v2"]["Turn"]["properties"]
    turn["brandNew"] = {"type": "string"}
    turn.pop("durationMs")
    changes = list(compare(old, Reader(whole).read()))
    assert [each.text for each in changes] == ["- Turn.durationMs", "+ Turn.brandNew"]
    assert not any(each.breaks for each in changes)


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda v2: v2["Turn"]["properties"].pop("status"), "- Turn.status"),
        (
            lambda v2: v2["Turn"]["properties"].update(status={"type": "integer"}),
            "~ Turn.status: str → int",
        ),
        (
            lambda v2: v2["TurnSteerParams"]["required"].append("clientUserMessageId"),
            None,
        ),
        (
            lambda v2: (
                v2["TurnSteerParams"]["properties"].update(must={"type": "string"}),
                v2["TurnSteerParams"]["required"].append("must"),
            ),
            "+ TurnSteerParams.must (required)",
        ),
    ],
)
def test_a_difference_that_byred_would_feel_is_marked(pinned, spoil, text):
    whole = ask_schema(pinned)
    old = Reader(whole).read()
    spoil(whole["definitions"]["v2"])
    broken = [each.text for each in compare(old, Reader(whole).read()) if each.breaks]
    assert broken == ([] if text is None else [text])


def test_methods_that_are_gone_are_marked(pinned):
    whole = ask_schema(pinned)
    old = Reader(whole).read()
    for union, gone in (
        ("ClientRequest", {"turn/steer", "marketplace/add"}),
        ("ServerNotification", {"turn/completed", "fs/changed"}),
    ):
        part = whole["definitions"][union]
        part["oneOf"] = [
            each for each in part["oneOf"] if each["properties"]["method"]["enum"][0] not in gone
        ]
    changes = {each.text: each.breaks for each in compare(old, Reader(whole).read())}
    assert changes["- client method turn/steer"] is True
    assert changes["- client method marketplace/add"] is False
    assert changes["- notification turn/completed"] is True
    assert changes["- notification fs/changed"] is False


def test_the_tools_say_what_is_wrong(tmp_path, capsys):
    broken = tmp_path / "codex"
    broken.write_text("#!/bin/sh\necho codex-cli 0.1.2\n")
    broken.chmod(0o755)
    assert generate(["--bin", str(broken), "--out", str(tmp_path / "out")]) == 1
    assert "cannot get the schema" in capsys.readouterr().err
    assert diff([str(tmp_path / "none")]) == 2
    assert "is not a program that can be run" in capsys.readouterr().err


def test_the_diff_of_a_binary_with_itself_is_empty(pinned, capsys):
    assert diff([str(pinned), "--base", str(pinned)]) == 0
    assert "0 differences" in capsys.readouterr().out


def test_importing_the_client_imports_nothing_heavy():
    code = (
        "import sys; import byred.codex; byred.codex.Client; byred.codex.StdioTransport;"
        "print(sorted({'pydantic','jsonschema','websockets','structlog','mcp','anyio'}"
        " & {name.partition('.')[0] for name in sys.modules}))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.strip() == "[]"
