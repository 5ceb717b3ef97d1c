"""The tables of types and enums against what the binaries say of themselves."""

from __future__ import annotations

import json
import os
import re
import subprocess

import pytest

from byred.codex.rollout import enums
from byred.codex.rollout.record import Record
from byred.codex.rollout.types import EVENTS, ITEMS
from byred.codex.rollout.types.envelope import ENVELOPE
from byred.codex.rollout.types.turn_items import TURN_ITEMS

UNIONS = {"EventMsg": EVENTS, "ResponseItem": ITEMS, "TurnItem": TURN_ITEMS}
VERSION = re.compile(r"\d+\.\d+\.\d+")


def spoken(record: type[Record]) -> tuple[str, str]:
    """The first and last version that a class says it is written by."""
    assert record.__doc__
    found = VERSION.findall(record.__doc__)
    return found[0], found[-1]


@pytest.mark.parametrize("union", UNIONS)
def test_every_variant_of_every_version_has_a_class_with_its_members(known, union):
    for version, tables in known.items():
        for tag, members in tables[union].items():
            record = UNIONS[union][tag]
            assert record.tag == tag
            assert set(members) <= set(record.fields.values()), (version, tag)


@pytest.mark.parametrize("union", UNIONS)
def test_no_class_is_for_a_variant_that_no_version_has(known, union):
    every = {tag for tables in known.values() for tag in tables[union]}
    assert set(UNIONS[union]) == every


def test_every_kind_of_line_has_a_type(known):
    every = {kind for tables in known.values() for kind in tables["lines"]}
    assert set(ENVELOPE) == every - {"event_msg", "response_item"}
    assert len(known["0.171.0"]["lines"]) == 13


def test_some_fifty_events_and_more_are_known():
    assert len(EVENTS) >= 80
    assert len(ITEMS) >= 18
    assert len(TURN_ITEMS) >= 20


@pytest.mark.parametrize("union", UNIONS)
def test_every_class_says_which_versions_write_it(known, union):
    versions = list(known)
    for tag, record in UNIONS[union].items():
        having = [version for version in versions if tag in known[version][union]]
        assert spoken(record) == (having[0], having[-1])


def test_the_enums_are_those_of_the_binaries_version_by_version(known):
    for version, tables in known.items():
        assert version in enums.VERSIONS
        for name, values in tables["enums"].items():
            cls = getattr(enums, name)
            table = enums.KNOWN[cls]
            assert {value for value, having in table.items() if version in having} == set(values)
            assert {str(member) for member in cls} == set(table)


def test_the_enums_that_people_set_have_the_strings_that_codex_reads():
    assert [str(value) for value in enums.AskForApproval] == [
        "untrusted",
        "on-failure",
        "on-request",
        "granular",
        "never",
    ]
    assert enums.KNOWN[enums.AskForApproval]["on-failure"] == ("0.136.0",)
    assert [str(value) for value in enums.SandboxMode] == [
        "read-only",
        "workspace-write",
        "danger-full-access",
    ]
    assert set(enums.AutoCompactTokenLimitScope) == {"total", "body_after_prefix"}


def test_the_environment_policy_has_the_strings_that_the_binary_names(real_codex, tmp_path):
    """No schema has this one: the binary names its values when it is given a wrong one."""
    done = _codex(
        real_codex, tmp_path, "-c", 'shell_environment_policy.inherit="wrong"', "features", "list"
    )
    named = re.search(r"expected (?:one of )?((?:`[a-z]+`(?:, | or )?)+)", done.stderr)
    assert named, done.stderr
    assert set(re.findall(r"`([a-z]+)`", named[1])) == set(enums.ShellEnvironmentPolicyInherit)


def test_the_binary_of_this_checkout_says_what_the_tables_say(real_codex, tmp_path, known):
    version = _codex(real_codex, tmp_path, "--version").stdout.split()[-1]
    assert version in known, f"run tests/tools/make_rollout_types.py with codex {version}"
    out = tmp_path / "schema"
    _codex(
        real_codex, tmp_path, "app-server", "generate-internal-json-schema", "--out", str(out)
    ).check_returncode()
    schema = json.loads((out / "RolloutLine.json").read_text())
    kinds = {option["properties"]["type"]["enum"][0] for option in schema["oneOf"]}
    assert kinds == set(known[version]["lines"])
    for union, table in UNIONS.items():
        tags = {
            option["properties"]["type"]["enum"][0]
            for option in schema["definitions"][union]["oneOf"]
            if "enum" in option.get("properties", {}).get("type", {})
        }
        assert tags <= set(known[version][union]) <= set(table)


def _codex(binary, home, *arguments):
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home)}
    return subprocess.run(
        [str(binary), *arguments],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
