# The front door: `make help` lists what there is.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
# Which sample of faults `make mutants` draws.
SEED ?= 11
VENV := .venv
BIN := $(VENV)/bin
RUN_READY := $(VENV)/.runtime-ready
DEV_READY := $(VENV)/.dev-ready
# The kernels' machine code, built with the package; an edited kernel is compiled again.
KERNELS := src/recrawl/kernels/_native.abi3.so
BENCH_READY := $(VENV)/.bench-ready
DOCS_READY := $(VENV)/.docs-ready
RELEASE_READY := $(VENV)/.release-ready
# Tests of one file stay together: many share what is slow to make.
SIDE_BY_SIDE := --numprocesses auto --maxprocesses 4 --dist loadfile
# Bytecode is written when a module is first imported, and most are never imported here: compiling all
# of them takes half of an installation. Tests start hundreds of processes, so it has to be written.
unexport PYTHONDONTWRITEBYTECODE
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(KERNELS) ## Crawl a small web for a minute and see how fresh the copy really is
	@$(BIN)/recrawl demo
	@echo "To watch this in a browser: make dashboard"

.PHONY: dashboard
dashboard: $(DEV_READY) $(KERNELS) ## Crawl the same small web for ten minutes and watch it in a browser
	@$(BIN)/recrawl demo --serve

.PHONY: test
test: $(DEV_READY) $(KERNELS) ## Run the tests (offline, about ten minutes on two cores)
	$(BIN)/python -m pytest $(SIDE_BY_SIDE)

# Two at a time: the kernels are compiled while the developers' tools are installed, and types, which
# keep one core busy for a minute, are checked beside the tests.
.PHONY: check
check: ## Run everything that has to pass: format, lint, types, layers and tests
	@$(MAKE) --no-print-directory --jobs=2 lint types test

.PHONY: lint
lint: $(DEV_READY) ## Check the format, the style and the layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

.PHONY: types
types: $(DEV_READY) ## Check the types
	$(BIN)/mypy

.PHONY: kernels
kernels: $(KERNELS) ## Compile the kernels whose sources have changed, for example after a git pull

.PHONY: format
format: $(DEV_READY) ## Format the code and apply automatic lint fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: bench
bench: $(BENCH_READY) $(KERNELS) ## Run the benchmarks and write the measured tables and pictures into docs/
	$(BIN)/python -m benchmarks

.PHONY: bench-quick
bench-quick: $(DEV_READY) $(KERNELS) ## Check whether anything has become slower than in the last release (two minutes)
	$(BIN)/python -m benchmarks quick

.PHONY: mutants
mutants: $(DEV_READY) ## Plant faults in the code and check that the tests find them (resumes if interrupted)
	$(BIN)/python -m tools.mutants --seed $(SEED)

.PHONY: docs
docs: $(DOCS_READY) ## Build the documentation site in build/site; a broken link fails the build
	$(BIN)/python tools/gather_docs.py build/docs
	$(BIN)/zensical build --strict --clean
	@echo "Read it: build/site/index.html"

.PHONY: dist
dist: $(RELEASE_READY) ## Build the source distribution and the wheel in dist/ and check them
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*

COMPILE := uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --upgrade

.PHONY: lock
lock: ## Pin the latest version of every dependency, with hashes (needs uv)
	$(COMPILE) --extra build -o requirements/runtime.txt
	$(COMPILE) --extra dev -c requirements/runtime.txt -o requirements/dev.txt
	$(COMPILE) --extra bench -c requirements/dev.txt -o requirements/bench.txt
	$(COMPILE) --extra docs -c requirements/dev.txt -o requirements/docs.txt
	$(COMPILE) --extra build --extra release -c requirements/dev.txt -o requirements/release.txt

.PHONY: clean
clean: ## Remove the environment and build products
	rm -rf $(VENV) $(KERNELS) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "recrawl needs Python 3.11 or newer; choose one with: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(RUN_READY): pyproject.toml requirements/runtime.txt | $(BIN)/python
	@echo "Setting up $(VENV) (once)"
	@$(INSTALL) --require-hashes -r requirements/runtime.txt
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(KERNELS): $(shell find src/recrawl tools -name '*.py' -o -name '*.c') | $(RUN_READY)
	@$(BIN)/python -m tools.build_kernels --fast || \
		echo "Going on without them: each kernel is compiled when it is first used."
	@touch -c $@

$(DEV_READY): requirements/dev.txt $(RUN_READY)
	@echo "Adding the developers' tools to $(VENV) (once)"
	@$(INSTALL) --require-hashes -r requirements/dev.txt
	@touch $@

$(BENCH_READY): requirements/bench.txt $(DEV_READY)
	@echo "Adding what benchmarks compare with to $(VENV) (once)"
	@$(INSTALL) --require-hashes -r requirements/bench.txt
	@touch $@

$(DOCS_READY): requirements/docs.txt | $(BIN)/python
	@echo "Adding what builds the site to $(VENV) (once)"
	@$(INSTALL) --require-hashes -r requirements/docs.txt
	@touch $@

$(RELEASE_READY): requirements/release.txt $(RUN_READY)
	@echo "Adding what builds distributions to $(VENV) (once)"
	@$(INSTALL) --require-hashes -r requirements/release.txt
	@touch $@
