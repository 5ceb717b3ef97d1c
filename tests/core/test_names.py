"""Names made from a task, held against git itself."""

import os
import subprocess
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from byred.core.errors import InvalidError
from byred.core.names import (
    SLUG_LENGTH,
    TITLE_LENGTH,
    check_branch,
    check_template,
    fill,
    slug_of,
    title_of,
)

# What git and file systems stumble over, close together.
NASTY = st.text(alphabet="abZ09-_./\\~^:?*[@{} \x00\x1f\x7f\n\u0301é漢\u2028", max_size=24)
ANY = st.text(max_size=200)


def git_takes(name: str) -> bool:
    """Ask git whether a branch may have this name."""
    # No repository above: `@{-1}` and the like must not be looked up in one.
    command = ["git", "check-ref-format", "--branch", name]
    environment = {**os.environ, "GIT_DIR": "/nonexistent"}
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    return done.returncode == 0


@given(st.one_of(ANY, NASTY))
@example("HEAD")
@example("...")
@example("-.lock")
@example("ﷺ" * 40)
@example("a" * 500)
@example("漢" * 500)
@example("\U0001f600" * 500)
@example("e\u0301" * 300)
def test_a_slug_is_always_safe_in_a_branch_and_in_a_folder_name(title: str) -> None:
    slug = slug_of(title)
    check_branch(f"byre/1-{slug}")
    check_branch(slug if slug != "head" else "x")
    assert 1 <= len(slug) <= SLUG_LENGTH
    assert len(slug.encode()) <= 3 * SLUG_LENGTH
    assert not set(slug) & set("/\\.\x00 _\n")
    assert not slug.startswith("-")
    assert not slug.endswith("-")
    assert "--" not in slug


@settings(max_examples=60)
@given(st.one_of(ANY, NASTY))
def test_git_takes_a_branch_that_is_named_by_a_slug(title: str) -> None:
    assert git_takes(f"byre/1-{slug_of(title)}")


@given(ANY)
def test_a_slug_of_a_slug_is_the_same(title: str) -> None:
    assert slug_of(slug_of(title)) == slug_of(title)


@given(ANY)
def test_two_spellings_of_one_title_give_one_slug(title: str) -> None:
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert slug_of(unicodedata.normalize(form, title)) == slug_of(title)


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Fix the door", "fix-the-door"),
        ("  Fix:  the_door!! ", "fix-the-door"),
        ("Ünïcode Straße", "ünïcode-strasse"),
        ("ПРОВЕРКА связи", "проверка-связи"),
        ("日本語のタイトル", "日本語のタイトル"),
        ("हिन्दी में", "हिन्दी-में"),
        ("שלום עולם", "שלום-עולם"),
        ("ﬁne ①", "fine-1"),
        ("!!!", "task"),
        ("", "task"),
        ("\U0001f600", "task"),
        ("../../etc/passwd", "etc-passwd"),
        ("a.lock", "a-lock"),
    ],
)
def test_a_slug_keeps_the_words_of_any_script(title: str, slug: str) -> None:
    assert slug_of(title) == slug


def test_a_long_title_is_cut_between_words_and_a_long_word_within() -> None:
    assert slug_of("rewrite the " + "word " * 30) == "rewrite-the-word-word-word-word-word"
    assert slug_of("x" * 90) == "x" * SLUG_LENGTH


@settings(max_examples=150)
@given(NASTY.filter(lambda name: "\x00" not in name and name != "@"))
@example("HEAD")
@example("a//b")
@example("/a")
@example("a/")
@example("-a")
@example("a.lock/b")
@example("a/.b")
@example("a..b")
@example("a@{b")
@example("@{-1}")
@example("a\x7fb")
@example("refs/heads/HEAD")
@example("a.lock.")
def test_a_branch_is_refused_just_where_git_refuses_it(name: str) -> None:
    try:
        check_branch(name)
    except InvalidError:
        accepted = False
    else:
        accepted = True
    assert accepted == git_takes(name)


@pytest.mark.parametrize("name", ["@", "a\x00b", "a\ud800b"])
def test_a_branch_that_no_command_line_could_carry_is_refused(name: str) -> None:
    with pytest.raises(InvalidError) as refused:
        check_branch(name)
    assert repr(name) in str(refused.value)


@given(ANY)
def test_a_title_is_one_short_line_of_the_prompt(prompt: str) -> None:
    title = title_of(prompt)
    assert len(title) <= TITLE_LENGTH
    assert len(title.splitlines()) <= 1
    assert title == title.strip()
    assert title.removesuffix("…") in prompt


def test_a_title_is_the_first_line_that_says_something() -> None:
    assert title_of("\n \n  Mend the door \nand the window") == "Mend the door"
    assert title_of("") == ""
    assert title_of("w" * 73) == "w" * 71 + "…"
    assert title_of("w" * 72) == "w" * 72


def test_a_template_is_filled_with_what_it_names() -> None:
    name = fill("{owner}/byre/{id}-{slug}", task_id=17, slug="mend", owner="ada")
    assert name == "ada/byre/17-mend"
    assert fill("{{{id}}}", task_id=1, slug="s") == "{1}"


@pytest.mark.parametrize(
    "template",
    [
        "{name}",
        "{}",
        "{0}",
        "{id",
        "id}",
        "{id!r}",
        "{id:04}",
        "{slug.x}",
        "{slug[0]}",
        "{id:{id}}",
    ],
)
def test_a_template_with_anything_else_is_refused_and_says_what_there_is(template: str) -> None:
    with pytest.raises(InvalidError) as refused:
        check_template(template)
    assert repr(template) in str(refused.value)
    assert "use {id}, {owner}, {slug}" in str(refused.value)


@given(st.text(alphabet="{}idslugowner!:.-/ 0[]", max_size=20))
def test_a_template_that_is_accepted_can_be_filled(template: str) -> None:
    try:
        check_template(template)
    except InvalidError:
        return
    fill(template, task_id=1, slug="s", owner="o")
