"""Every place in byred's source that changes something outside of it, found by reading the source.

`python -m tests.failpoints.places` prints them, `--write` writes what each module does into
docs/failpoints.md. A function of the library that is neither known to only look nor known to change
something is a finding: say which it is.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from byred import failpoint

ROOT = Path(__file__).parents[2]
ROOMS = ("agents", "workspace", "humans", "scheduler", "store", "api", "codex")
LEFT_OUT = ("codex/protocol", "codex/generate", "codex/rollout")
"""Generated code, what makes it, and what only reads records (in processes of its own)."""
PAGE = ROOT / "docs" / "failpoints.md"

METHODS = {
    "chmod": "chmod",
    "hardlink_to": "link",
    "mkdir": "mkdir",
    "rename": "rename",
    "rmdir": "rmdir",
    "symlink_to": "link",
    "touch": "touch",
    "unlink": "remove",
    "write_bytes": "write",
    "write_text": "write",
}
"""Methods of paths that change something."""
FUNCTIONS = {
    "os.chmod": "chmod",
    "os.chown": "chown",
    "os.ftruncate": "write",
    "os.mkfifo": "mkfifo",
    "os.umask": "",
    "os.pwrite": "write",
    "socket.create_server": "bind",
    "os.fchmod": "",  # of a file that is being written
    "os.fsync": "",
    "os.kill": "signal",
    "os.killpg": "signal",
    "os.link": "link",
    "os.makedirs": "mkdir",
    "os.mkdir": "mkdir",
    "os.remove": "remove",
    "os.rename": "rename",
    "os.replace": "rename",
    "os.rmdir": "rmdir",
    "os.symlink": "link",
    "os.truncate": "write",
    "os.unlink": "remove",
    "os.utime": "touch",
    "shutil.copy2": "write",
    "shutil.copyfile": "write",
    "shutil.copyfileobj": "",  # between files that were opened
    "shutil.copystat": "touch",
    "shutil.copytree": "mkdir",
    "shutil.move": "rename",
    "shutil.rmtree": "remove",
    "signal.pidfd_send_signal": "signal",
    "subprocess.Popen": "run",
    "subprocess.run": "run",
    "tempfile.TemporaryDirectory": "mkdir",
    "tempfile.TemporaryFile": "write",
    "tempfile.mkdtemp": "mkdir",
    "tempfile.mkstemp": "write",
    "asyncio.create_subprocess_exec": "run",
}
"""Functions of the library that change something."""
LOOKING = {
    name: frozenset(words.split())
    for name, words in {
        "os": """
            DirEntry F_OK O_CLOEXEC O_CREAT O_DIRECTORY O_EXCL O_NOFOLLOW O_NONBLOCK
            O_RDONLY O_RDWR O_WRONLY PRIO_PROCESS P_PIDFD PathLike R_OK SEEK_END SEEK_SET WEXITED
            WNOHANG W_OK X_OK access close cpu_count defpath devnull dup environ fdopen
            fsdecode fsencode fspath fstat fstatvfs get_terminal_size getegid geteuid getgid
            getgrouplist getgroups getloadavg getpid getppid getpriority getsid getuid
            getxattr listdir lseek lstat memfd_create open path pidfd_open pipe pread read
            readlink scandir sched_getaffinity sep set_blocking setpriority stat stat_result
            statvfs strerror sysconf uname wait4 waitid waitpid waitstatus_to_exitcode walk
        """,
        "shutil": "Error SameFileError disk_usage which",
        "signal": "SIGCONT SIGHUP SIGINT SIGKILL SIGSTOP SIGTERM Signals signal",
        "subprocess": "CompletedProcess DEVNULL PIPE STDOUT SubprocessError TimeoutExpired",
        "tempfile": "tempdir",
        "socket": """
            AF_INET AF_INET6 AF_UNIX IPPROTO_IPV6 IPV6_V6ONLY SOCK_NONBLOCK SOCK_STREAM
            SOL_SOCKET SO_PEERCRED SO_REUSEADDR error has_ipv6
        """,
    }.items()
}
"""What of the library only looks, or only names something."""
SOCKETS = {"socket.socket": ""}
"""A socket alone does nothing; what binds and connects is heard."""
SENT = {"pidfd_send_signal": "signal", "async_notify": "notice", "mkfifo": "mkfifo"}
"""What the interpreter does not tell of: its function reaches a failpoint by itself."""
CARRIED = {
    "codex.transport.StdioTransport.send": "codex.connection.Connection._send",
    "codex.transport.UnixTransport.send": "codex.connection.Connection._send",
    "api.connection.Connection._send": "api.connection.Connection._answer",
}
"""Functions that send for others, and the one that reaches the failpoint."""
GIT = frozenset({"git", "run_git", "ask_git", "patiently", "ask", "run"})


@dataclass
class Found:
    """The places, with what each does, and what is wrong, in sentences."""

    places: dict[str, set[str]] = field(default_factory=dict)
    reaching: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    imported: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)

    def add(self, place: str, effect: str) -> None:
        if effect:
            self.places.setdefault(place, set()).add(effect)


def sources() -> Iterator[tuple[str, str]]:
    """Give the modules by name, and their text."""
    paths = [ROOT / "byred" / "daemon.py"]
    for room in ROOMS:
        paths += sorted((ROOT / "byred" / room).rglob("*.py"))
    for path in paths:
        inside = path.relative_to(ROOT / "byred")
        if not any(str(inside).startswith(each) for each in LEFT_OUT):
            parts = inside.with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            yield name, path.read_text(encoding="utf-8")


def read(modules: Iterator[tuple[str, str]] | None = None) -> Found:
    """Read all modules, byred's unless others are given."""
    found = Found()
    for name, text in modules or sources():
        if f"byred.{name}" in failpoint.PLUMBING:
            continue
        _read_module(name, ast.parse(text), found)
    for place, by in CARRIED.items():
        if by not in found.reaching and place in found.places:
            found.wrong.append(f"{place} sends, and {by}, which reaches its failpoint, does not")
    return found


def _read_module(module: str, tree: ast.Module, found: Found) -> None:
    runs = any(
        isinstance(node, ast.ImportFrom)
        and node.module == "byred.workspace.process"
        and any(alias.name == "run" for alias in node.names)
        for node in ast.walk(tree)
    )

    found.imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }

    def walk(node: ast.AST, place: str, *, inside: bool) -> None:
        for child in ast.iter_child_nodes(node):
            below, within = place, inside
            if isinstance(child, ast.ClassDef) and not inside:
                below = f"{place}.{child.name}"
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and not inside:
                below, within = f"{place}.{child.name}", True
            _look(child, below, found, runs=runs)
            walk(child, below, inside=within)

    walk(tree, module, inside=False)


def _look(node: ast.AST, place: str, found: Found, *, runs: bool) -> None:
    if isinstance(node, ast.Attribute):
        _look_at_attribute(node, place, found)
    if not isinstance(node, ast.Call):
        return
    name, receiver = _called(node)
    if name == "reach":
        found.reaching.add(place)
    elif name == "write" and receiver.endswith(("database", "_people")):
        found.add(place, "commit")
    elif name in GIT and (receiver or name != "run"):
        found.add(place, _git(node))
    elif name == "run" and runs and not receiver:
        found.add(place, "run")
    elif name == "open" and _writes(node):
        found.add(place, "write")
    elif name == "replace" and receiver not in ("msgspec.structs", "dataclasses"):
        if len(node.args) == 1 and not node.keywords:
            found.add(place, "rename")
    elif name in ("send", "write") and receiver.rpartition(".")[2].lstrip("_") in (
        "transport",
        "websocket",
        "writer",
    ):
        found.add(place, "send")
        found.silent.add(place)


def _look_at_attribute(node: ast.Attribute, place: str, found: Found) -> None:
    whole = ast.unparse(node)
    module = whole.rpartition(".")[0]
    if whole in FUNCTIONS:
        found.add(place, FUNCTIONS[whole])
    elif whole in SOCKETS:
        pass
    elif module in LOOKING and module in found.imported:
        if node.attr not in LOOKING[module]:
            found.wrong.append(
                f"{place} uses {whole}: does it change anything? Say so in places.py"
            )
    elif node.attr in METHODS:
        found.add(place, METHODS[node.attr])
    if node.attr in SENT:
        found.add(place, SENT[node.attr])
        found.silent.add(place)


def _called(node: ast.Call) -> tuple[str, str]:
    if isinstance(node.func, ast.Name):
        return node.func.id, ""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr, ast.unparse(node.func.value)
    return "", ""


def _git(node: ast.Call) -> str:
    """Name a git command, as far as it stands in the source; empty when it changes nothing."""
    words: list[str] = []
    for argument in node.args:
        if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
            break
        words.append(argument.value)
    while words and words[0].startswith("-"):
        del words[: 2 if words[0] in ("-c", "-C", "--git-dir") else 1]
    if words:
        return failpoint.name_of_command(["git", *words])
    # Words that stand elsewhere; of something else that has this name, the first is no list.
    options = isinstance(node.args[0], ast.Constant | ast.Starred) if node.args else False
    return "git" if options else ""


def _writes(node: ast.Call) -> bool:
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    text = " ".join(ast.unparse(argument) for argument in given)
    if any(flag in text for flag in ("O_WRONLY", "O_RDWR", "O_CREAT")):
        return True
    modes = [each.value for each in given if isinstance(each, ast.Constant)]
    return any(
        isinstance(mode, str) and mode[:1] in tuple("wax") and len(mode) <= 3 for mode in modes
    )


def unheard(found: Found) -> list[str]:
    """Name the places whose effects nobody would hear of: no failpoint stands there."""
    return [
        f"{place} does what no audit tells of ({', '.join(sorted(found.places[place]))}): "
        "let it reach a failpoint before and after"
        for place in sorted(found.silent)
        if place not in found.reaching and place not in CARRIED
    ]


def table(found: Found) -> str:
    """Give the page's table: what each module does."""
    modules: dict[str, set[str]] = {}
    for place, effects in found.places.items():
        parts = place.split(".")
        # A module's name is in small letters, and what follows is its class or function.
        ends = next((i for i, part in enumerate(parts) if part != part.lower()), len(parts) - 1)
        kinds = {effect.split()[0] for effect in effects}
        modules.setdefault(".".join(parts[:ends]), set()).update(kinds)
    lines = ["| module | what it does |", "| --- | --- |"]
    lines += [f"| `{name}` | {', '.join(sorted(does))} |" for name, does in sorted(modules.items())]
    return "\n".join(lines) + "\n"


def listing(found: Found) -> str:
    """Give every function with what it does."""
    return "\n".join(
        f"{place}: {', '.join(sorted(effects))}" for place, effects in sorted(found.places.items())
    )


def main() -> int:
    found = read()
    wrong = found.wrong + unheard(found)
    print("\n".join(wrong) if wrong else listing(found))
    if "--write" in sys.argv and not wrong:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(text[: text.index("| module |")] + table(found), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
