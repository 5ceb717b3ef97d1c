"""Scripts are read from TOML and JSON; what is wrong is named with file, place, expectation."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byred.testing.script import (
    Ask,
    Call,
    Error,
    Part,
    Script,
    ScriptError,
    Step,
    builtin,
    check,
    choose,
    load,
    parse,
)


def test_a_file_of_scripts_is_read_in_its_order():
    scripts = parse("""
[[scripts]]
name = "first"
match = "(?i)colour"

[[scripts.steps]]
ask = { text = "Which?", options = ["red", "blue"] }

[[scripts.steps]]
shell = "echo {answer} > colour.txt"
delay = "gate-1"

[[scripts]]
name = "second"
steps = [{ parallel = [{ shell = "true" }, { call = { name = "x", arguments = "{" } }] }]
""")
    assert scripts == (
        Script(
            "first",
            (
                Step(ask=Ask("Which?", ("red", "blue"))),
                Step(shell="echo {answer} > colour.txt", delay="gate-1"),
            ),
            match="(?i)colour",
        ),
        Script("second", (Step(parallel=(Part(shell="true"), Part(call=Call("x", None, "{")))),)),
    )


def test_json_says_the_same_as_toml(tmp_path):
    scripts = [{"name": "a", "steps": [{"say": "x", "usage": {"input": 5}}, {"cut": 1}]}]
    path = tmp_path / "scripts.json"
    path.write_text(json.dumps({"scripts": scripts}))
    toml = '[[scripts]]\nname = "a"\nsteps = [{say = "x", usage = {input = 5}}, {cut = 1}]'
    assert load(path) == parse(toml)


@pytest.mark.parametrize("name", ["default", "demo"])
def test_the_built_in_scripts_are_sound_and_play_to_any_prompt(name):
    scripts = builtin(name)
    check(scripts)
    assert choose(scripts, "whatever it is") is not None


HEAD = '[[scripts]]\nname = "a"\n'
WRONG = [
    ("x", "it is not TOML: Expected '='"),
    ("", "at its top: object missing required field `scripts`"),
    ("scripts = []", "expected at least one script"),
    ("scripts = 1", "at scripts: expected `array`, got `int`"),
    ("scripts = [1]", "at scripts[0]: expected `object`, got `int`"),
    ('[[scripts]]\nname = "a b"\nsteps = []', "at scripts[0] (script 'a b'): expected a name"),
    (HEAD + "steps = [{say = 1}]", "at scripts[0].steps[0].say (script 'a'): expected `str"),
    (HEAD + "steps = [{sya = 1}]", "(script 'a'): object contains unknown field `sya`"),
    (HEAD + "steps = [{}]", "at scripts[0].steps[0] (script 'a'): expected at least one of reason"),
    (HEAD + "steps = [{delay = 1}]", "expected at least one of reasoning"),
    (HEAD + 'steps = [{say = "x", stream = "y"}]', "at most one of say, stream, got say and stre"),
    (HEAD + 'steps = [{ask = "x", shell = "y"}]', "at most one of shell, ask, call, parallel, got"),
    (HEAD + "steps = [{cut = 1, error = {}}]", "expected at most one of error, cut"),
    (HEAD + "steps = [{cut = 0}]", "expected `cut` to be 1"),
    (HEAD + "steps = [{cut = 1, times = 0}]", "expected `times` to be 1"),
    (HEAD + 'steps = [{say = "x", delay = -1}]', "expected `delay` and `pause` to be 0 or more"),
    (HEAD + 'steps = [{say = "x", delay = "2s"}]', "a number of seconds or the name of a gate"),
    (HEAD + 'steps = [{say = "x", headers = {"a b" = "c"}}]', "expected an HTTP header, got 'a b'"),
    (HEAD + 'steps = [{say = "x", headers = {a = "b\\r\\nc: d"}}]', "expected an HTTP header"),
    (HEAD + "steps = [{error = {status = 200}}]", "from 400 to 599, got 200"),
    (HEAD + 'steps = [{error = {body = "x"}}]', "`body` needs a `status`"),
    (HEAD + 'steps = [{parallel = [{shell = "x"}, {}]}]', "steps[0].parallel[1] (script 'a'): exp"),
    (HEAD + 'match = "("\nsteps = []', "expected `match` to be a regular expression, got '('"),
    (HEAD + "steps = []\n" + HEAD + 'match = "x"\nsteps = []', "got 'a' twice"),
    (
        HEAD + 'steps = []\n[[scripts]]\nname = "b"\nsteps = []',
        "expected at most one script without `match`, got a, b",
    ),
]


@pytest.mark.parametrize(("text", "expected"), WRONG)
def test_what_is_wrong_is_said_with_file_place_and_expectation(tmp_path, text, expected):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ScriptError) as raised:
        load(path)
    message = str(raised.value)
    assert message.startswith(f"cannot load scripts from {path}: ")
    assert expected in message
    assert "\n" not in message


def test_a_file_that_is_not_there_or_no_text_is_a_script_error(tmp_path):
    with pytest.raises(ScriptError, match="No such file"):
        load(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(ScriptError, match="can't decode"):
        load(tmp_path / "bytes.toml")


def test_an_unknown_built_in_names_the_known_ones():
    with pytest.raises(ScriptError, match="expected one of default, demo"):
        builtin("demos")


def test_the_first_script_that_matches_wins_and_the_plain_one_gets_the_rest():
    plain = Script("plain", (), match=None)
    b, bc = Script("b", (), match="b"), Script("bc", (), match="b|c")
    assert choose((plain, b, bc), "abc") is b
    assert choose((plain, b, bc), "c") is bc
    assert choose((plain, b, bc), "a") is plain
    assert choose((b, bc), "a") is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)
fields = st.sampled_from([*Step.__struct_fields__, "other"])


@given(
    st.dictionaries(st.sampled_from(["scripts", "x"]), json_values)
    | st.fixed_dictionaries(
        {
            "scripts": st.lists(
                st.fixed_dictionaries(
                    {"name": st.text(), "steps": st.lists(st.dictionaries(fields, json_values))}
                )
            )
        }
    )
)
def test_any_json_is_a_script_or_a_script_error_of_one_line(data):
    text = msgspec.json.encode(data).decode()
    try:
        scripts = parse(text, form="json")
    except ScriptError as error:
        assert str(error).startswith("cannot load scripts from the script: ")  # noqa: PT017
    else:
        assert all(isinstance(script, Script) for script in scripts)


def test_an_error_needs_no_status():
    assert parse(HEAD + 'steps = [{error = {code = "x"}}]')[0].steps[0].error == Error(code="x")
