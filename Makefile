# The commands of this checkout. Each makes .venv first when it is missing or out of date.

PYTHON ?= python3
VENV := .venv
HERE := $(VENV)/bin
N ?= 300
SEED ?= 1
FLIGHT ?= 20
TRANSPORT ?= unix

.PHONY: help venv demo test check format chaos failpoints bench matrix protocol protocol-diff reference requirements clean

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

venv: $(VENV)/.made ## make .venv with everything in it, the pinned codex too

$(VENV)/.made: $(VENV)/.pinned pyproject.toml
	$(HERE)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.pinned: requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "byred needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(HERE)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

demo: venv ## the main job on a scripted model: no account, no network
	$(HERE)/byre demo

test: venv ## the whole suite
	$(HERE)/python -m pytest -n auto --maxprocesses 4 --dist loadfile

check: venv ## lint, format, types, the contract of the rooms
	$(HERE)/ruff check .
	$(HERE)/ruff format --check .
	$(HERE)/mypy
	$(HERE)/lint-imports

format: venv ## let ruff mend what it can
	$(HERE)/ruff check --fix .
	$(HERE)/ruff format .

chaos: venv ## trouble at random, then check everything: make chaos N=300 SEED=1 TRANSPORT=stdio
	$(HERE)/python -m tests.chaos --kills $(N) --seed $(SEED) --flight $(FLIGHT) --transport $(TRANSPORT)

failpoints: venv ## kill at every failpoint, one by one: make failpoints TRANSPORT=stdio
	$(HERE)/python -m tests.failpoints --transport $(TRANSPORT)

bench: venv ## figures, as ratios in one run
	$(HERE)/python -m tests.bench

matrix: venv ## the client's core against every supported codex (fetches them)
	$(HERE)/python tests/tools/codex_matrix.py --write docs/versions.md

protocol: venv ## write byred/codex/protocol from the codex in .venv
	$(HERE)/python -m byred.codex.generate
	$(HERE)/ruff format byred/codex/protocol

reference: venv ## write docs/client-reference.md from the docstrings
	$(HERE)/python tests/tools/client_reference.py

protocol-diff: venv ## what another codex changes in the surface that byred uses: make protocol-diff BIN=/path/to/codex
	@test -n "$(BIN)" || { echo "name the other codex: make protocol-diff BIN=/path/to/codex" >&2; exit 2; }
	$(HERE)/python -m byred.codex.generate.diff $(BIN)

requirements: ## pin again, after a change of pyproject.toml (needs uv on PATH)
	uv pip compile pyproject.toml --group dev --extra codex --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --universal --quiet -o requirements/dev.txt
	uv pip compile pyproject.toml --extra codex --generate-hashes --no-emit-index-url --no-header --python-version 3.11 --universal --quiet -o requirements/run.txt

clean: ## remove what this Makefile made
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
