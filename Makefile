# Every target makes the virtual environment itself; the second run needs no network.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

NODE   ?= vm

.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "flexlet needs Python 3.11 or newer; $(PYTHON) is older. Try: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "preparing $(VENV) (once; pinned packages from requirements/dev.txt)" >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

venv: $(STAMP) ## make the virtual environment

test: $(STAMP) ## fast tests: no root, no QEMU, no Go
	$(BIN)/python -m pytest -n auto

test-cluster: $(STAMP) lab-tools ## a real Kubernetes: kubectl against flexlet, a VM node in its cluster (needs Go)
	tools/kubernetes/build
	tools/kubernetes/build kubelet
	$(BIN)/python -m pytest -m cluster -n 2 --dist loadfile

test-vm: $(STAMP) lab-tools ## real machines: QEMU, cgroup v2, containerd, hot plug
	$(BIN)/python -m pytest -m vm

test-slow: $(STAMP) ## minutes of load and fuzzing
	$(BIN)/python -m pytest -m slow

cover: $(STAMP) ## tests with branch coverage of core/ and api/ (fails below 95% by line)
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -q tests/api tests/core tests/properties
	$(BIN)/python -m coverage report --include='src/flexlet/core/*,src/flexlet/api/*' --fail-under=95

lint: $(STAMP) ## ruff, mypy strict, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(STAMP) ## let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

up: $(STAMP) $(if $(filter vm%,$(NODE)),lab-tools) ## start a cluster; its node is a VM, or simulated: make up NODE=hollow=3
	$(BIN)/flexlet up --data .flexlet --node $(NODE)

demo: $(STAMP) lab-tools ## see it work: a real machine, a real runtime, resized and grown while they run
	$(BIN)/flexlet demo

lab-tools: $(STAMP) # QEMU and what builds its image: installed if we may, named if not
	@$(BIN)/python -c 'import sys; from flexlet.adapters import image; image.install_missing(lambda text: print(text, file=sys.stderr))'

bench: $(STAMP) ## measure: calc, start-up, store, API server beside the real one, a thousand nodes
	$(BIN)/python -m bench

lock: $(STAMP) ## compile requirements/dev.txt again (names, versions, hashes)
	$(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --extra fast \
	  pyproject.toml requirements/dev.in -o requirements/dev.txt

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage

.PHONY: help venv up demo lab-tools test test-vm test-cluster test-slow cover lint format bench lock clean
