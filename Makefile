# Two commands matter: `make run` patrols this host, `make test` runs the tests.
# Needed: Python 3.11 or newer with venv and pip, make, git. Nothing here needs root or installs system packages.

VENV := .venv
BIN := $(VENV)/bin
# The first Python that is new enough; PYTHON=... chooses another.
PYTHON ?= $(shell for python in python3 python3.11 python3.12 python3.13 python3.14; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; done)
INSTALLED := $(VENV)/.installed
WORKERS ?= auto
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help run test test-long test-live-model lint types format lock sample map bench clean systemd-check systemd-boot

help: ## Says what can be made
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' $(MAKEFILE_LIST) | expand -t 22

run: $(INSTALLED) ## Patrols this host: no configuration, no model, no root (ARGS="--json" for options)
	@$(BIN)/patrol run $(ARGS)

# Compiled modules are kept whatever the environment says: the tests start hundreds of processes of the same code.
test test-long test-live-model: export PYTHONDONTWRITEBYTECODE =

test: $(INSTALLED) ## Runs the tests (ARGS="tests/cli" for some of them)
	$(BIN)/pytest -n $(WORKERS) -m "not long" $(ARGS)

test-long: $(INSTALLED) ## Runs the long proofs as well, with their full counts
	$(BIN)/pytest -n $(WORKERS) $(ARGS)

test-live-model: $(INSTALLED) ## Patrols through a real small model, built first (LIVE_MODEL_FOLDER=...; else build/live-model)
	$(BIN)/pytest -n 0 -m live_model tests/live $(ARGS)

lint: $(INSTALLED) ## Checks style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED) ## Checks types
	$(BIN)/mypy

format: $(INSTALLED) ## Formats the code
	$(BIN)/ruff format .

lock: $(INSTALLED) ## Resolves requirements.lock anew, with a hash for every file
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
		--no-emit-index-url --no-header --extra dev --extra build --extra postgres --extra anthropic --extra google pyproject.toml -o requirements.lock

sample: $(INSTALLED) ## Writes config/patrol.example.toml from the settings' schema
	$(BIN)/patrol config sample > config/patrol.example.toml

map: $(INSTALLED) ## Writes the map of the tree into docs/architecture.md
	$(BIN)/python -m tests.architecture

bench: $(INSTALLED) ## Measures start-up, detection, recovery, findings, runs, models and the daemon (ARGS="detect --sizes 1000")
	$(BIN)/python -m tests.bench $(ARGS)

systemd-check: ## Checks the units of systemd/ and prints how exposed they are
	@systemd/check.sh

systemd-boot: ## Boots a Debian in a container, installs the units there by the docs and tries them; as root
	@tests/systemd_boot/boot.sh $(ARGS)

clean: ## Removes what was made, but no data of yours
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis

$(INSTALLED): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "Patrol needs Python 3.11 or newer: install it, or name it with PYTHON=..." >&2; exit 1; }
	@test -x $(BIN)/python || { echo "Making $(VENV) and installing what requirements.lock names ..." >&2; $(PYTHON) -m venv $(VENV) || \
		{ echo "Making $(VENV) failed. On Debian: apt install python3-venv" >&2; exit 1; }; }
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
