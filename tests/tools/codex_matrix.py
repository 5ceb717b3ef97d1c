"""Run the core of the client's suite against several versions of the real codex.

`python tests/tools/codex_matrix.py [--write docs/versions.md] [VERSION …]` fetches each version
(wheels of `openai-codex-cli-bin` through pip; those that have no wheel from npm's `@openai/codex`)
into a cache, runs the tests on it, and prints a table: a row a behaviour, a column a version.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = ("test_session.py", "test_crash.py", "test_turn_failures.py", "test_requests.py")
VERSIONS = ("0.144.4", "0.154.0", "0.163.0", "newest")
BEGIN, END = "<!-- matrix: written by make matrix -->", "<!-- end of matrix -->"
SLOW = 900


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "byred" / "codex"


def newest() -> str:
    """Ask npm, else pip, which version is the newest that can be installed."""
    if shutil.which("npm"):
        asked = subprocess.run(
            ["npm", "view", "@openai/codex", "version", "--json"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if asked.returncode == 0:
            return str(json.loads(asked.stdout))
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", "openai-codex-cli-bin"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = re.search(r"\((\d+\.\d+\.\d+)\)", asked.stdout)
    if found is None:
        raise SystemExit("cannot tell which version of codex is the newest")
    return found[1]


def fetch(version: str) -> Path:
    """Return the program of that version, fetched unless it is in the cache."""
    home = cache() / version
    found = sorted(home.glob("**/bin/codex"))
    if not found:
        home.mkdir(parents=True, exist_ok=True)
        fetch_wheel(version, home) or fetch_npm(version, home)
        found = sorted(home.glob("**/bin/codex"))
    if not found:
        raise SystemExit(f"cannot get codex {version} from pip or npm")
    return found[0]


def fetch_wheel(version: str, home: Path) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
                *("-d", folder, f"openai-codex-cli-bin=={version}"),
            ],
            check=False,
            timeout=SLOW,
            stderr=subprocess.DEVNULL,
        )
        for wheel in Path(folder).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                for member in archive.infolist():
                    path = Path(archive.extract(member, home))
                    # The sandbox's own programs lie beside codex, and zipfile forgets modes.
                    path.chmod((member.external_attr >> 16) & 0o777 or 0o644)
        return done.returncode == 0


def fetch_npm(version: str, home: Path) -> None:
    if not shutil.which("npm"):
        return
    machine = "arm64" if platform.machine() in ("aarch64", "arm64") else "x64"
    package = f"@openai/codex@{version}-linux-{machine}"
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(home), package]
    subprocess.run(command, check=True, timeout=SLOW, stdout=subprocess.DEVNULL)


def run(program: Path) -> dict[str, str]:
    """Run the core on one program and return, for each behaviour, how it went."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        tests = [str(ROOT / "tests" / "codex" / name) for name in CORE]
        subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
                *(f"--junitxml={report}", "--timeout=120", *tests),
            ],
            check=False,
            cwd=ROOT,
            env={**os.environ, "BYRED_TEST_CODEX": str(program)},
            stdout=subprocess.DEVNULL,
        )
        return read(report)


def read(report: Path) -> dict[str, str]:
    """Return the worst outcome of each test function: no, else the reason of a skip, else yes."""
    outcomes: dict[str, str] = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        name = re.sub(r"\[.*", "", case.get("name", ""))
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            outcome = "NO"
        elif skipped is not None:
            outcome = skipped.get("message", "skipped")
        else:
            outcome = "yes"
        if outcome == "NO" or outcomes.get(name, "yes") == "yes":
            outcomes[name] = outcome
    return outcomes


def table(results: dict[str, dict[str, str]]) -> str:
    names = list(dict.fromkeys(name for outcomes in results.values() for name in outcomes))
    lines = [
        "| behaviour | " + " | ".join(results) + " |",
        "| --- |" + " --- |" * len(results),
    ]
    for name in names:
        words = name.removeprefix("test_").replace("_", " ")
        cells = (outcomes.get(name, "not run") for outcomes in results.values())
        lines.append(f"| {words} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("versions", nargs="*", default=list(VERSIONS))
    parser.add_argument("--write", type=Path, help="the page whose table is to be replaced")
    options = parser.parse_args()
    results = {}
    for wanted in options.versions:
        version = newest() if wanted == "newest" else wanted
        sys.stderr.write(f"codex {version} …\n")
        results[version] = run(fetch(version))
    printed = table(results)
    sys.stdout.write(printed + "\n")
    if options.write:
        page = options.write.read_text()
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        options.write.write_text(f"{before}{BEGIN}\n{printed}\n{END}{after}")
    return int(any("NO" in outcomes.values() for outcomes in results.values()))


if __name__ == "__main__":
    raise SystemExit(main())
