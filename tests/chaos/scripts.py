"""What the scripted model does in a chaos run.

After `Done.` each script has another step, which is played when the task is told something or is
forked. Every commit is of a file whose name and content are the task's alone, so that merges of
different tasks go together and a commit that is made again says that there is nothing to commit.
"""

from byred.testing.script import Ask, Error, Part, Script, Step


def commit(name: str) -> str:
    """Commit a file; `{slug}` is the first prompt's, the branch the task's own."""
    return (
        f"git branch --show-current > {{slug}}-{name}.txt && git add {{slug}}-{name}.txt && "
        f"git commit -q -m {{slug}}-{name} && git rev-parse HEAD"
    )


MORE = (Step(say="Done."), Step(shell=commit("more")), Step(say="Done again."))

SCRIPTS = (
    Script(
        name="asks",
        match="asks one",
        steps=(
            Step(shell=commit("before")),
            Step(ask=Ask(text="Which way?", options=("left", "right"))),
            Step(shell=commit("after")),
            *MORE,
        ),
    ),
    Script(
        name="asks-two",
        match="asks two",
        steps=(
            Step(
                parallel=(Part(ask=Ask(text="First thing?")), Part(ask=Ask(text="Second thing?")))
            ),
            Step(shell=commit("after")),
            *MORE,
        ),
    ),
    Script(
        name="slow",
        match="runs slowly",
        steps=(
            Step(shell="(setsid sleep 60 >/dev/null 2>&1 &) ; sleep 1; " + commit("one")),
            Step(shell="sleep 1; " + commit("two"), delay=0.3),
            Step(shell=commit("three"), delay=0.3),
            *MORE,
        ),
    ),
    Script(
        name="listens",
        match="listens",
        steps=(
            Step(
                shell="(setsid python3 -m http.server --bind 127.0.0.1 $PORT >/dev/null 2>&1 &) ; "
                + commit("one")
            ),
            Step(shell="sleep 0.5; " + commit("two")),
            *MORE,
        ),
    ),
    Script(
        name="fails",
        match="fails first",
        steps=(
            Step(shell=commit("one")),
            Step(error=Error(status=400, message="not like this"), shell=commit("two")),
            *MORE,
        ),
    ),
    Script(name="quick", steps=(Step(shell=commit("one")), Step(shell=commit("two")), *MORE)),
)
PROMPTS = ("asks one", "asks two", "runs slowly", "listens", "fails first", "is quick")
